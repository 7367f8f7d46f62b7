//! Unsupported calls.

use std::ffi::{c_int, c_longlong, c_uint, c_void};

use libc::size_t;

use super::{User, done};
use crate::Errno;

fn absent() -> c_int {
    done(Err(Errno::ENOSYS))
}

pub(super) extern "C" fn epoll_create(_: User, _: c_int) -> c_int {
    absent()
}

pub(super) extern "C" fn epoll_ctl(_: User, _: c_int, _: c_int, _: c_int, _: *mut c_void) -> c_int {
    absent()
}

pub(super) extern "C" fn epoll_wait(
    _: User,
    _: c_int,
    _: *mut c_void,
    _: c_int,
    _: c_int,
) -> c_int {
    absent()
}

pub(super) extern "C" fn pipe(_: User, _: *mut c_int) -> c_int {
    absent()
}

pub(super) extern "C" fn splice(
    _: User,
    _: c_int,
    _: *mut c_longlong,
    _: c_int,
    _: *mut c_longlong,
    _: size_t,
    _: c_uint,
) -> c_int {
    absent()
}
