//! Options of sockets, and the state of a connection.
//!
//! The socket layer has the options that change TCP's behaviour. The options that follow from the
//! node's configuration, or that POSIX programs set by habit, are here.

use redpoll_base::Duration;
use redpoll_socket::Errno;
use redpoll_socket::posix::{Fd, Opt};
use redpoll_tcp::State;

use crate::error::{Code, code, reference};
use crate::handle::RpNode;
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
/// `node` is null or points to a node, `value` to an `int`.
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

/// `struct rp_tcp_info`; `redpoll.h` describes each member.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpTcpInfo {
    pub srtt_us: u32,
    pub rto_us: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub in_flight: u32,
    pub mss: u32,
    pub send_room: u32,
    pub receive_queue: u32,
    pub state: u32,
}

/// Returns Linux's number of a state.
fn number(state: State) -> u32 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

fn bytes(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// # Safety
/// `node` is null or points to a node, `info` to a `struct rp_tcp_info`.
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
        let info = connection.info();
        *out = RpTcpInfo {
            srtt_us: info.srtt.map_or(0, micros),
            rto_us: micros(info.rto),
            cwnd: info.cwnd,
            ssthresh: info.ssthresh,
            in_flight: info.in_flight,
            mss: info.eff_snd_mss,
            send_room: bytes(connection.send_room()),
            receive_queue: bytes(connection.recv_queue()),
            state: number(connection.state()),
        };
        Ok(())
    });
    code(answer.map(|()| 0))
}
