//! Errors as numbers and as texts, and pointers that are checked before they are dereferenced.

use core::ffi::{CStr, c_char};

use redpoll_socket::Errno;

/// The result of a call: a count, a descriptor or 0, or a negative `RP_E*`.
pub(crate) type Code = core::ffi::c_int;

pub(crate) fn code(answer: Result<usize, Errno>) -> Code {
    match answer {
        Ok(count) => Code::try_from(count).unwrap_or(Code::MAX),
        Err(errno) => -Code::from(errno),
    }
}

/// Returns the value at `pointer`, or an error if the pointer is null or misaligned.
///
/// # Safety
/// If the pointer is neither null nor misaligned, it points to a `T` that no other code uses during
/// the lifetime of the reference.
pub(crate) unsafe fn reference<'a, T>(pointer: *mut T) -> Result<&'a mut T, Errno> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Errno::EFAULT);
    }
    // SAFETY: by this function's conditions.
    Ok(unsafe { &mut *pointer })
}

/// Returns a copy of the value at `pointer`, which other code may read too.
///
/// # Safety
/// If the pointer is neither null nor misaligned, it points to a `T` that no other code changes
/// during the call.
pub(crate) unsafe fn value<T: Copy>(pointer: *const T) -> Result<T, Errno> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Errno::EFAULT);
    }
    // SAFETY: by this function's conditions.
    Ok(unsafe { pointer.read() })
}

#[cfg(feature = "node")]
/// Returns the place for an optional result, whose `pointer` may be null.
///
/// # Safety
/// As [`reference`].
pub(crate) unsafe fn place<'a, T>(pointer: *mut T) -> Result<Option<&'a mut T>, Errno> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: by this function's conditions.
    unsafe { reference(pointer) }.map(Some)
}

#[cfg(feature = "node")]
pub(crate) fn put<T>(place: Option<&mut T>, value: T) {
    if let Some(place) = place {
        *place = value;
    }
}

/// Returns `len` bytes to read. The pointer is only checked if `len` is not 0.
///
/// # Safety
/// If `len` is not 0, `pointer` points to `len` bytes that no other code changes during the
/// lifetime of the slice.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, len: usize) -> Result<&'a [u8], Errno> {
    if len == 0 {
        return Ok(&[]);
    }
    check(pointer, len)?;
    // SAFETY: by this function's conditions; `check` limits `len` to `isize::MAX` bytes.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Returns `len` bytes to write. The pointer is only checked if `len` is not 0.
///
/// # Safety
/// If `len` is not 0, `pointer` points to `len` bytes that no other code uses during the lifetime
/// of the slice.
pub(crate) unsafe fn bytes_mut<'a>(pointer: *mut u8, len: usize) -> Result<&'a mut [u8], Errno> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(pointer, len)?;
    // SAFETY: by this function's conditions; `check` limits `len` to `isize::MAX` bytes.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, len) })
}

fn check(pointer: *const u8, len: usize) -> Result<(), Errno> {
    if pointer.is_null() {
        return Err(Errno::EFAULT);
    }
    match isize::try_from(len) {
        Ok(_) => Ok(()),
        Err(_) => Err(Errno::EINVAL),
    }
}

fn meaning(code: Code) -> &'static CStr {
    if code >= 0 {
        return c"no error";
    }
    match Errno::from(code.saturating_neg()) {
        Errno::EBADF => c"RP_EBADF: not an open descriptor",
        Errno::EAGAIN => c"RP_EAGAIN: the call would block; try again later",
        Errno::ENOMEM => c"RP_ENOMEM: not enough memory",
        Errno::EFAULT => c"RP_EFAULT: invalid pointer",
        Errno::EINVAL => c"RP_EINVAL: invalid argument, or not allowed now",
        Errno::EMFILE => c"RP_EMFILE: no free descriptor or connection",
        Errno::EPIPE => c"RP_EPIPE: this side can no longer send",
        Errno::EDESTADDRREQ => c"RP_EDESTADDRREQ: the destination is missing",
        Errno::EMSGSIZE => c"RP_EMSGSIZE: the data do not fit into one datagram",
        Errno::ENOPROTOOPT => c"RP_ENOPROTOOPT: unknown option",
        Errno::EPROTONOSUPPORT => c"RP_EPROTONOSUPPORT: unknown protocol",
        Errno::EOPNOTSUPP => c"RP_EOPNOTSUPP: not supported by this kind of socket or node",
        Errno::EADDRINUSE => c"RP_EADDRINUSE: the port is in use, or no port is free",
        Errno::EADDRNOTAVAIL => c"RP_EADDRNOTAVAIL: not an address of this node",
        Errno::ENETUNREACH => c"RP_ENETUNREACH: no route to the destination",
        Errno::ECONNABORTED => c"RP_ECONNABORTED: the connection was aborted on this side",
        Errno::ECONNRESET => c"RP_ECONNRESET: the peer reset the connection",
        Errno::EISCONN => c"RP_EISCONN: the socket is connected, or listens",
        Errno::ENOTCONN => c"RP_ENOTCONN: the socket is not connected",
        Errno::ETIMEDOUT => c"RP_ETIMEDOUT: the peer did not answer",
        Errno::ECONNREFUSED => c"RP_ECONNREFUSED: the peer refused the connection",
        Errno::EHOSTUNREACH => c"RP_EHOSTUNREACH: a router reported the peer as unreachable",
        Errno::EALREADY => c"RP_EALREADY: the handshake is already in progress",
        Errno::EINPROGRESS => c"RP_EINPROGRESS: the handshake has started",
        _ => c"unknown error",
    }
}

/// `redpoll.h` describes this function.
#[unsafe(no_mangle)]
pub extern "C" fn rp_strerror(code: Code) -> *const c_char {
    meaning(code).as_ptr()
}
