//! Arguments of calls: pointers, by *the contract* of the parent module.

use std::ffi::c_void;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{ptr, slice};

use libc::{iovec, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};

use crate::Errno;
use crate::sockets::Answer;

/// # Safety
/// The contract: `data` is null or valid for reading `len` bytes.
pub(super) unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Answer<&'a [u8]> {
    match (data.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Errno::EFAULT),
        // SAFETY: as above.
        _ => Ok(unsafe { slice::from_raw_parts(data.cast(), len) }),
    }
}

/// # Safety
/// The contract: `data` is null or valid for writing `len` bytes.
pub(super) unsafe fn put(data: *mut c_void, len: usize, from: &[u8]) -> Answer<()> {
    let count = from.len().min(len);
    match (data.is_null(), count) {
        (_, 0) => {}
        (true, _) => return Err(Errno::EFAULT),
        // SAFETY: the contract: `data` is not null, so valid for `len` bytes; `from` belongs to
        // this crate.
        _ => unsafe { ptr::copy_nonoverlapping(from.as_ptr(), data.cast(), count) },
    }
    Ok(())
}

/// # Safety
/// The contract: `vectors` is null or valid for reading `count` vectors.
pub(super) unsafe fn vectors<'a>(vectors: *const iovec, count: usize) -> Answer<&'a [iovec]> {
    match (vectors.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Errno::EFAULT),
        // SAFETY: as above.
        _ => Ok(unsafe { slice::from_raw_parts(vectors, count) }),
    }
}

/// # Safety
/// The contract: each vector is null or valid for reading its length.
pub(super) unsafe fn gather(vectors: &[iovec]) -> Answer<Vec<u8>> {
    let mut all = Vec::new();
    for vector in vectors {
        // SAFETY: as above.
        all.extend_from_slice(unsafe { bytes(vector.iov_base, vector.iov_len) }?);
    }
    Ok(all)
}

/// # Safety
/// The contract: each vector is null or valid for writing its length.
pub(super) unsafe fn scatter(vectors: &[iovec], mut from: &[u8]) -> Answer<()> {
    for vector in vectors {
        let (here, rest) = from.split_at(vector.iov_len.min(from.len()));
        // SAFETY: as above.
        unsafe { put(vector.iov_base, vector.iov_len, here) }?;
        from = rest;
    }
    Ok(())
}

/// # Safety
/// The contract: `addr` is null or valid for reading `len` bytes.
pub(super) unsafe fn address(addr: *const sockaddr, len: socklen_t) -> Answer<SocketAddr> {
    // SAFETY: as above.
    let raw = unsafe { bytes(addr.cast(), len as usize) }?;
    let Some((family, rest)) = raw.split_first_chunk::<2>() else {
        return Err(Errno::EINVAL);
    };
    match (i32::from(u16::from_ne_bytes(*family)), rest) {
        (libc::AF_INET, &[p0, p1, a, b, c, d, ..]) => {
            let port = u16::from_be_bytes([p0, p1]);
            Ok((Ipv4Addr::new(a, b, c, d), port).into())
        }
        (libc::AF_INET6, &[p0, p1, _, _, _, _, ref rest @ ..]) => {
            let Some((addr, _)) = rest.split_first_chunk::<16>() else {
                return Err(Errno::EINVAL);
            };
            Ok((Ipv6Addr::from(*addr), u16::from_be_bytes([p0, p1])).into())
        }
        (libc::AF_INET | libc::AF_INET6, _) => Err(Errno::EINVAL),
        _ => Err(Errno::EAFNOSUPPORT),
    }
}

/// # Safety
/// The contract: `len` is null or valid, and so is `addr` for `*len` bytes.
pub(super) unsafe fn put_address(
    addr: *mut sockaddr,
    len: *mut socklen_t,
    from: SocketAddr,
) -> Answer<()> {
    if addr.is_null() || len.is_null() {
        return Ok(());
    }
    let (family, size) = match from {
        SocketAddr::V4(_) => (libc::AF_INET, size_of::<sockaddr_in>()),
        SocketAddr::V6(_) => (libc::AF_INET6, size_of::<sockaddr_in6>()),
    };
    let mut raw = (family as u16).to_ne_bytes().to_vec();
    raw.extend(from.port().to_be_bytes());
    match from {
        SocketAddr::V4(from) => raw.extend(from.ip().octets()),
        SocketAddr::V6(from) => {
            raw.extend([0; 4]);
            raw.extend(from.ip().octets());
        }
    }
    raw.resize(size, 0);
    // SAFETY: the contract: `addr` and `len` are not null, so they are valid.
    unsafe {
        put(addr.cast(), *len as usize, &raw)?;
        *len = size as socklen_t;
    }
    Ok(())
}
