//! Calls of every node: its address, timers, events, echo requests and its end.

use redpoll_base::{Addr, Instant};
use redpoll_socket::Errno;
use redpoll_stack::NodeEvent;

use crate::error::{Code, bytes, bytes_mut, code, reference};
use crate::handle::RpNode;

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_node_end(node: *mut RpNode) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { RpNode::find(node) }.map(|node| {
        node.end();
        0
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `address` to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_address(node: *mut RpNode, address: *mut u8) -> Code {
    // SAFETY: by this function's conditions.
    let (found, out) = unsafe { (RpNode::find(node), bytes_mut(address, 16)) };
    code(found.and_then(|node| {
        out?.copy_from_slice(&node.node().address().0);
        Ok(0)
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `at_us` to a `uint64_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_poll_at(node: *mut RpNode, at_us: *mut u64) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { RpNode::find(node) }.and_then(|node| {
        // SAFETY: by this function's conditions.
        let at = unsafe { reference(at_us) }?;
        let Some(wake) = node.node().poll_at() else {
            return Ok(0);
        };
        *at = wake.at.as_micros();
        Ok(1)
    }))
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_on_timeout(node: *mut RpNode, now_us: u64) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { RpNode::find(node) }.map(|node| {
        node.node().on_timeout(Instant::from_micros(now_us));
        0
    }))
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_poll_event(node: *mut RpNode) -> Code {
    // SAFETY: by this function's conditions.
    code(
        unsafe { RpNode::find(node) }.map(|node| match node.node().poll_event() {
            None => 0,
            Some(NodeEvent::AddressInUse) => 2,
            Some(NodeEvent::EchoReply { .. }) => 3,
            Some(_) => 1,
        }),
    )
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `address` to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_ping(
    node: *mut RpNode,
    now_us: u64,
    address: *const u8,
    ident: u16,
    seq: u16,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, address) = unsafe { (RpNode::find(node), bytes(address, 16)) };
    code(found.and_then(|node| {
        let mut to = [0; 16];
        to.copy_from_slice(address?);
        let now = Instant::from_micros(now_us);
        let sent = node.node().ping(now, Addr(to), ident, seq, 0);
        sent.or(Err(Errno::ENETUNREACH)).map(|()| 0)
    }))
}
