//! Reading and writing. See *the contract* in the parent module.

use std::ffi::{c_int, c_void};
use std::net::SocketAddr;
use std::ptr;

use libc::{iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use redpoll_socket::posix::{MSG_FASTOPEN, blocking};

use super::pointers::{address, bytes, gather, put, scatter, vectors};
use super::{SHIM, User, number};
use crate::Errno;
use crate::host::endpoint;
use crate::sockets::{Answer, supported};

/// Maximum number of bytes of a call; larger than any window.
const MOST: usize = 1 << 16;

fn receive(fd: c_int, len: usize, flags: c_int) -> Answer<Vec<u8>> {
    let fd = SHIM.descriptor(fd)?;
    let mut out = vec![0; len.min(MOST)];
    // With MSG_TRUNC the caller of this function discards the bytes.
    let flags = flags & !libc::MSG_TRUNC;
    let received = blocking::recv(&mut &SHIM, fd, &mut out, flags);
    out.truncate(supported("recv with these flags", received)?);
    Ok(out)
}

/// Sends all of `data`; a non-blocking call sends only what fits in the buffer.
fn transmit(fd: c_int, data: &[u8], flags: c_int) -> Answer<usize> {
    let fd = SHIM.descriptor(fd)?;
    let flags = flags & !libc::MSG_NOSIGNAL;
    let sent = blocking::send(&mut &SHIM, fd, data, flags);
    supported("send with these flags", sent)
}

pub(super) unsafe extern "C" fn read(
    _: User,
    fd: c_int,
    data: *mut c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: the contract.
    unsafe { recv(ptr::null_mut(), fd, data, len, 0) }
}

pub(super) unsafe extern "C" fn readv(
    _: User,
    fd: c_int,
    to: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: the contract.
    unsafe { receive_into(fd, to, count as usize, 0) }
}

pub(super) unsafe extern "C" fn recv(
    _: User,
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // With MSG_TRUNC TCP discards the bytes (tcp(7)).
    let discard = flags & libc::MSG_TRUNC != 0;
    number(receive(fd, len, flags).and_then(|received| {
        if !discard {
            // SAFETY: the contract.
            unsafe { put(data, len, &received) }?;
        }
        Ok(received.len())
    }))
}

pub(super) unsafe extern "C" fn recvfrom(
    user: User,
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    flags: c_int,
    _addr: *mut sockaddr,
    _addr_len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the contract. A stream socket does not report the peer's address.
    unsafe { recv(user, fd, data, len, flags) }
}

pub(super) unsafe extern "C" fn recvmsg(
    _: User,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the contract: null or valid.
    let Some(message) = (unsafe { message.as_mut() }) else {
        return number::<usize>(Err(Errno::EFAULT));
    };
    message.msg_namelen = 0;
    message.msg_controllen = 0;
    message.msg_flags = 0;
    // SAFETY: the contract.
    unsafe { receive_into(fd, message.msg_iov, message.msg_iovlen as _, flags) }
}

/// # Safety
/// The contract, for `to` and its vectors.
unsafe fn receive_into(fd: c_int, to: *const iovec, count: usize, flags: c_int) -> ssize_t {
    // SAFETY: the contract.
    let to = unsafe { vectors(to, count) };
    number(to.and_then(|to| {
        let room = to.iter().map(|vector| vector.iov_len).sum();
        let received = receive(fd, room, flags)?;
        // SAFETY: the contract.
        unsafe { scatter(to, &received) }?;
        Ok(received.len())
    }))
}

pub(super) unsafe extern "C" fn write(
    _: User,
    fd: c_int,
    data: *const c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: the contract.
    unsafe { send(ptr::null_mut(), fd, data, len, 0) }
}

pub(super) unsafe extern "C" fn writev(
    _: User,
    fd: c_int,
    from: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: the contract.
    unsafe { send_from(fd, from, count as usize, 0) }
}

pub(super) unsafe extern "C" fn send(
    _: User,
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the contract.
    let data = unsafe { bytes(data, len) };
    number(data.and_then(|data| transmit(fd, data, flags)))
}

pub(super) unsafe extern "C" fn sendto(
    _: User,
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
    addr: *const sockaddr,
    addr_len: socklen_t,
) -> ssize_t {
    // SAFETY: the contract.
    let (data, to) = unsafe { (bytes(data, len), destination(addr, addr_len)) };
    number(data.and_then(|data| transmit_to(fd, data, flags, to?)))
}

pub(super) unsafe extern "C" fn sendmsg(
    _: User,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the contract: null or valid.
    let Some(message) = (unsafe { message.as_ref() }) else {
        return number::<usize>(Err(Errno::EFAULT));
    };
    // SAFETY: the contract, for the vectors and the address.
    let (data, to) = unsafe {
        let vectors = vectors(message.msg_iov, message.msg_iovlen as _);
        let to = destination(message.msg_name.cast(), message.msg_namelen);
        (vectors.and_then(|from| gather(from)), to)
    };
    number(data.and_then(|data| transmit_to(fd, &data, flags, to?)))
}

/// Returns the destination, if the caller gave one.
///
/// # Safety
/// The contract, for `addr`.
unsafe fn destination(addr: *const sockaddr, len: socklen_t) -> Answer<Option<SocketAddr>> {
    if addr.is_null() || len == 0 {
        return Ok(None);
    }
    // SAFETY: the contract.
    unsafe { address(addr, len) }.map(Some)
}

fn transmit_to(fd: c_int, data: &[u8], flags: c_int, to: Option<SocketAddr>) -> Answer<usize> {
    let Some(to) = to else {
        return match flags & MSG_FASTOPEN {
            0 => transmit(fd, data, flags),
            _ => Err(Errno::EINVAL),
        };
    };
    if flags & MSG_FASTOPEN != 0 {
        let below = SHIM.call(|sockets| sockets.begin(fd))?;
        return blocking::send_fast(&mut &SHIM, below, data, endpoint(to), flags);
    }
    if SHIM.call(|sockets| sockets.opens_by_sending(fd))? {
        return SHIM.call(|sockets| sockets.send_to(fd, data, flags, to));
    }
    // A connected stream socket ignores the address.
    transmit(fd, data, flags)
}

/// # Safety
/// The contract, for `from` and its vectors.
unsafe fn send_from(fd: c_int, from: *const iovec, count: usize, flags: c_int) -> ssize_t {
    // SAFETY: the contract.
    let data = unsafe { vectors(from, count).and_then(|from| gather(from)) };
    number(data.and_then(|data| transmit(fd, &data, flags)))
}
