//! `fcntl`, `ioctl` and socket options. See *the contract* in the parent module.

use std::ffi::{c_int, c_long, c_ulong, c_void};

use libc::socklen_t;

use super::pointers::{bytes, put};
use super::{SHIM, User, code, done};
use crate::Errno;

pub(super) extern "C" fn fcntl(_: User, fd: c_int, command: c_int, argument: c_long) -> c_int {
    code(SHIM.call(|sockets| match command {
        libc::F_GETFL => {
            let nonblocking = sockets.is_nonblocking(fd)?;
            Ok(libc::O_RDWR | if nonblocking { libc::O_NONBLOCK } else { 0 })
        }
        libc::F_SETFL => {
            let on = argument as c_int & libc::O_NONBLOCK != 0;
            sockets.set_nonblocking(fd, on).map(|()| 0)
        }
        libc::F_GETFD | libc::F_SETFD if sockets.exists(fd) => Ok(0),
        _ => Err(Errno::EINVAL),
    }))
}

pub(super) unsafe extern "C" fn ioctl(
    _: User,
    fd: c_int,
    request: c_ulong,
    value: *mut c_int,
) -> c_int {
    let count = SHIM.call(|sockets| match request {
        // SIOCINQ has the value of FIONREAD, and SIOCOUTQ that of TIOCOUTQ.
        libc::FIONREAD => sockets.readable(fd),
        libc::TIOCOUTQ => sockets.unacked(fd),
        _ => Err(Errno::EINVAL),
    });
    done(count.and_then(|count| {
        let count = c_int::try_from(count).unwrap_or(c_int::MAX);
        // SAFETY: the contract.
        unsafe { put(value.cast(), size_of::<c_int>(), &count.to_ne_bytes()) }
    }))
}

pub(super) unsafe extern "C" fn getsockopt(
    _: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    if len.is_null() {
        return done(Err(Errno::EFAULT));
    }
    let answer = SHIM.call(|sockets| sockets.option(fd, level, name));
    done(answer.and_then(|words| {
        let raw: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // SAFETY: the contract: `len` is not null, `value` is valid for `*len`.
        unsafe {
            put(value, *len as usize, &raw)?;
            *len = (*len).min(raw.len() as socklen_t);
        }
        Ok(())
    }))
}

pub(super) unsafe extern "C" fn setsockopt(
    _: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: the contract.
    let raw = unsafe { bytes(value, len as usize) };
    done(raw.and_then(|raw| {
        let words: Vec<i32> = raw
            .chunks_exact(4)
            .filter_map(|word| Some(i32::from_ne_bytes(word.try_into().ok()?)))
            .collect();
        SHIM.call(|sockets| sockets.set_option(fd, level, name, &words))
    }))
}
