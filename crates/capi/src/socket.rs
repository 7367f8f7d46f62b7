//! Non-blocking calls of sockets.

use redpoll_base::{Addr, Duration};
use redpoll_socket::Errno;
use redpoll_socket::posix::{Fd, Poll, Protocol, Shutdown, Sockets};
use redpoll_stack::transport::Endpoint;

use crate::endpoint::RpEndpoint;
use crate::error::{Code, bytes, bytes_mut, code, place, put, reference, value};
use crate::groups::Kind;
use crate::handle::RpNode;

pub(crate) fn descriptor(fd: i32) -> Result<Fd, Errno> {
    Fd::try_from(fd).or(Err(Errno::EBADF))
}

/// Runs `call` with the sockets of a node.
///
/// # Safety
/// As [`RpNode::find`].
unsafe fn with(
    node: *mut RpNode,
    now_us: u64,
    call: impl FnOnce(&mut Sockets<'_, Kind>) -> Result<usize, Errno>,
) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { RpNode::find(node) }.and_then(|node| call(&mut node.sockets(now_us))))
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_socket(node: *mut RpNode, now_us: u64, kind: i32) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let protocol = match kind {
                1 => Protocol::Tcp,
                2 => Protocol::Udp,
                _ => return Err(Errno::EPROTONOSUPPORT),
            };
            sockets.socket(protocol).map(usize::from)
        })
    }
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_bind(node: *mut RpNode, now_us: u64, fd: i32, port: u16) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let local = Endpoint::new(Addr::UNSPECIFIED, port);
            sockets.bind(descriptor(fd)?, local).map(|()| 0)
        })
    }
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_listen(node: *mut RpNode, now_us: u64, fd: i32, backlog: i32) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            sockets.listen(descriptor(fd)?, backlog).map(|()| 0)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `peer` to a `struct
/// rp_endpoint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_accept(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    peer: *mut RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let peer = place(peer)?;
            let (accepted, remote) = sockets.accept(descriptor(fd)?)?;
            put(peer, RpEndpoint::of(remote));
            Ok(accepted.into())
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `peer` to a `struct
/// rp_endpoint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_connect(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    peer: *const RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let remote = value(peer)?.endpoint();
            sockets.connect(descriptor(fd)?, remote).map(|()| 0)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `data` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_send(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    data: *const u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            sockets.send(descriptor(fd)?, bytes(data, len)?, 0)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `out` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_recv(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    out: *mut u8,
    len: usize,
    flags: i32,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            sockets.recv(descriptor(fd)?, bytes_mut(out, len)?, flags)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, `data` to `len` bytes, and `peer`
/// to a `struct rp_endpoint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_sendto(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    data: *const u8,
    len: usize,
    peer: *const RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let to = value(peer)?.endpoint();
            sockets.send_to(descriptor(fd)?, bytes(data, len)?, to)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, `out` to `len` bytes, and `peer` to
/// a `struct rp_endpoint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_recvfrom(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    out: *mut u8,
    len: usize,
    peer: *mut RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let peer = place(peer)?;
            let (len, from) = sockets.recv_from(descriptor(fd)?, bytes_mut(out, len)?, 0)?;
            put(peer, RpEndpoint::of(from));
            Ok(len)
        })
    }
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_shutdown(node: *mut RpNode, now_us: u64, fd: i32, how: i32) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let how = match how {
                0 => Shutdown::Read,
                1 => Shutdown::Write,
                2 => Shutdown::Both,
                _ => return Err(Errno::EINVAL),
            };
            sockets.shutdown(descriptor(fd)?, how).map(|()| 0)
        })
    }
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_close(node: *mut RpNode, now_us: u64, fd: i32) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            sockets.close(descriptor(fd)?).map(|()| 0)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `out` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_freeze(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    out: *mut u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            sockets.freeze(descriptor(fd)?, bytes_mut(out, len)?)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `frozen` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thaw(
    node: *mut RpNode,
    now_us: u64,
    slept_us: u64,
    frozen: *mut u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let slept = Duration::from_micros(slept_us);
            sockets
                .thaw(slept, bytes_mut(frozen, len)?)
                .map(usize::from)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `all` to `count` structs
/// `rp_pollfd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_poll(
    node: *mut RpNode,
    now_us: u64,
    all: *mut Poll,
    count: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe { with(node, now_us, |sockets| sockets.poll(polled(all, count)?)) }
}

/// Returns the `count` entries at `all`. Rejects a null or misaligned pointer and a large count.
///
/// # Safety
/// If `count` is not 0, `all` is null or points to `count` structs.
pub(crate) unsafe fn polled<'a>(all: *mut Poll, count: usize) -> Result<&'a mut [Poll], Errno> {
    if count == 0 {
        return Ok(&mut []);
    }
    if all.is_null() || !all.is_aligned() {
        return Err(Errno::EFAULT);
    }
    // A node has at most this number of descriptors.
    if count > usize::from(Fd::MAX) {
        return Err(Errno::EINVAL);
    }
    // SAFETY: by this function's conditions.
    Ok(unsafe { core::slice::from_raw_parts_mut(all, count) })
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `local` to a `struct
/// rp_endpoint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_getsockname(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    local: *mut RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let local = reference(local)?;
            *local = RpEndpoint::of(sockets.local(descriptor(fd)?)?);
            Ok(0)
        })
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `peer` to a `struct
/// rp_endpoint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_getpeername(
    node: *mut RpNode,
    now_us: u64,
    fd: i32,
    peer: *mut RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    unsafe {
        with(node, now_us, |sockets| {
            let peer = reference(peer)?;
            *peer = RpEndpoint::of(sockets.remote(descriptor(fd)?)?);
            Ok(0)
        })
    }
}
