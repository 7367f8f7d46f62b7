//! Calls to join and leave multicast groups.

use redpoll_base::Addr;
use redpoll_socket::Errno;

use crate::error::{Code, code, value};
use crate::groups::AVAILABLE;
use crate::handle::RpNode;
use crate::socket::descriptor;

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `group` to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_udp_join(node: *mut RpNode, fd: i32, group: *const u8) -> Code {
    // SAFETY: by this function's conditions.
    let (found, group) = unsafe { (RpNode::find(node), value(group.cast::<[u8; 16]>())) };
    code(found.and_then(|node| {
        let group = Addr(group?);
        let joined = node.sockets(0).join_group(descriptor(fd)?, &group);
        let missing = |errno| match errno {
            Errno::ENOMEM if !AVAILABLE => Errno::EOPNOTSUPP,
            errno => errno,
        };
        joined.map(|()| 0).map_err(missing)
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `group` to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_udp_leave(node: *mut RpNode, fd: i32, group: *const u8) -> Code {
    // SAFETY: by this function's conditions.
    let (found, group) = unsafe { (RpNode::find(node), value(group.cast::<[u8; 16]>())) };
    code(found.and_then(|node| {
        let group = Addr(group?);
        let left = node.sockets(0).leave_group(descriptor(fd)?, &group);
        left.map(|()| 0)
    }))
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_udp_is_for_group(node: *mut RpNode, fd: i32) -> Code {
    // SAFETY: by this function's conditions.
    let found = unsafe { RpNode::find(node) };
    code(found.and_then(|node| {
        let is_for_group = node.sockets(0).is_for_group(descriptor(fd)?)?;
        Ok(is_for_group.into())
    }))
}
