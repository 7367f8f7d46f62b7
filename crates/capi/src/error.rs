//! Errors as numbers, and pointers that are looked at before they are followed.

use redpoll_socket::Errno;

/// The result of a call: a count, a descriptor or 0, or a negative `RP_E*`.
pub(crate) type Code = core::ffi::c_int;

/// Returns the code of a result.
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

/// Writes `value` to `place`, unless it is `None`.
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
    // SAFETY: by this function's conditions, and no object is longer than `check` allows.
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
    // SAFETY: by this function's conditions, and no object is longer than `check` allows.
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
