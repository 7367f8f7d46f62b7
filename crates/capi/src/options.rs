//! Options of sockets, and the state of a connection.
//!
//! The socket layer has the options that change TCP's behaviour. The options that follow from the
//! node's configuration, or that POSIX programs set by habit, are here.

use redpoll_socket::Errno;
use redpoll_socket::posix::{Fd, Opt};

use crate::error::{Code, code, reference};
use crate::handle::RpNode;
use crate::measure::RpTcpInfo;
use crate::socket::descriptor;

const SOCKET: i32 = 1;
const IPV6: i32 = 41;
const TCP: i32 = 6;
const UDP: i32 = 17;
const AF_INET6: i32 = 10;

/// An option that the socket layer lacks.
#[derive(Clone, Copy)]
enum Fixed {
    ReuseAddr,
    SendBuffer,
    ReceiveBuffer,
    Protocol,
    Domain,
    V6Only,
}

impl Fixed {
    /// Returns the option whose numbers in Linux are `level` and `name`.
    fn of(level: i32, name: i32) -> Option<Fixed> {
        Some(match (level, name) {
            (SOCKET, 2) => Fixed::ReuseAddr,
            (SOCKET, 7) => Fixed::SendBuffer,
            (SOCKET, 8) => Fixed::ReceiveBuffer,
            (SOCKET, 38) => Fixed::Protocol,
            (SOCKET, 39) => Fixed::Domain,
            (IPV6, 26) => Fixed::V6Only,
            _ => return None,
        })
    }

    fn value(self, node: &mut RpNode, fd: Fd) -> Result<i32, Errno> {
        let buffers = node.buffers;
        let is_stream = node.sockets(0).option(fd, Opt::Type)? == 1;
        Ok(match self {
            Fixed::ReuseAddr | Fixed::V6Only => 1,
            Fixed::SendBuffer if is_stream => buffers.send.into(),
            Fixed::SendBuffer => 0,
            Fixed::ReceiveBuffer if is_stream => buffers.receive.into(),
            Fixed::ReceiveBuffer => buffers.udp.into(),
            Fixed::Protocol if is_stream => TCP,
            Fixed::Protocol => UDP,
            Fixed::Domain => AF_INET6,
        })
    }

    /// Accepts the only value that the option has.
    fn set(self, value: i32) -> Result<(), Errno> {
        match self {
            Fixed::ReuseAddr | Fixed::V6Only if value != 0 => Ok(()),
            Fixed::ReuseAddr | Fixed::V6Only => Err(Errno::EINVAL),
            _ => Err(Errno::ENOPROTOOPT),
        }
    }
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_setsockopt(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    level: i32,
    name: i32,
    value: i32,
) -> Code {
    // SAFETY: by this function's conditions.
    let found = unsafe { RpNode::find(node) };
    let answer = found.and_then(|node| {
        let fd = descriptor(fd)?;
        if let Some(option) = Fixed::of(level, name) {
            option.value(node, fd)?;
            return option.set(value);
        }
        let option = Opt::of(level, name).ok_or(Errno::ENOPROTOOPT)?;
        node.sockets(now_us).set_option(fd, option, value)
    });
    code(answer.map(|()| 0))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `value` to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_getsockopt(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    level: i32,
    name: i32,
    value: *mut i32,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, value) = unsafe { (RpNode::find(node), reference(value)) };
    let answer = found.and_then(|node| {
        let (fd, value) = (descriptor(fd)?, value?);
        *value = match Fixed::of(level, name) {
            Some(option) => option.value(node, fd)?,
            None => {
                let option = Opt::of(level, name).ok_or(Errno::ENOPROTOOPT)?;
                node.sockets(now_us).option(fd, option)?
            }
        };
        Ok(())
    });
    code(answer.map(|()| 0))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `info` to a `struct
/// rp_tcp_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_tcp_info(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    info: *mut RpTcpInfo,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, out) = unsafe { (RpNode::find(node), reference(info)) };
    let answer = found.and_then(|node| {
        let (out, sockets) = (out?, node.sockets(now_us));
        let connection = sockets.tcp(descriptor(fd)?)?;
        *out = RpTcpInfo::of(connection);
        Ok(())
    });
    code(answer.map(|()| 0))
}
