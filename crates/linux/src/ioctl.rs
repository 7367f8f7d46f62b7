//! The ioctl requests that a TUN interface needs, each bound to the type of its argument, because
//! they have no safe wrapper.

use std::io;
use std::marker::PhantomData;
use std::net::Ipv6Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

pub(crate) struct Request<T> {
    number: libc::c_ulong,
    argument: PhantomData<T>,
}

impl<T> Request<T> {
    /// # Safety
    ///
    /// For `number` the kernel must expect a pointer to a `T`, must stay
    /// within it and must leave a valid `T` behind.
    const unsafe fn new(number: libc::c_ulong) -> Self {
        Request {
            number,
            argument: PhantomData,
        }
    }
}

/// A route, for `SIOCADDRT` on an IPv6 socket (`struct in6_rtmsg` of linux/ipv6_route.h). Defined
/// here because the fields of `libc::in6_rtmsg` are private.
#[repr(C)]
pub(crate) struct In6Rtmsg {
    dst: [u8; 16],
    src: [u8; 16],
    gateway: [u8; 16],
    kind: u32,
    dst_len: u16,
    src_len: u16,
    metric: u32,
    info: libc::c_ulong,
    flags: u32,
    ifindex: libc::c_int,
}

impl In6Rtmsg {
    /// Returns a route to `prefix/len` over the interface, with the kernel's usual metric.
    pub(crate) fn new((prefix, len): (Ipv6Addr, u8), ifindex: libc::c_int) -> Self {
        In6Rtmsg {
            dst: prefix.octets(),
            src: [0; 16],
            gateway: [0; 16],
            kind: 0,
            dst_len: len.into(),
            src_len: 0,
            metric: 0,
            info: 0,
            flags: libc::RTF_UP.into(),
            ifindex,
        }
    }
}

/// A name or an interface's attributes (`struct ifreq` of linux/if.h).
pub(crate) type Ifreq = libc::ifreq;

// SAFETY: linux/if_tun.h and drivers/net/tun.c: TUNSETIFF takes a `struct ifreq`.
pub(crate) const TUNSETIFF: Request<Ifreq> = unsafe { Request::new(libc::TUNSETIFF as _) };
// SAFETY: netdevice(7): SIOCGIFFLAGS takes a `struct ifreq`.
pub(crate) const SIOCGIFFLAGS: Request<Ifreq> = unsafe { Request::new(libc::SIOCGIFFLAGS as _) };
// SAFETY: netdevice(7): SIOCSIFFLAGS takes a `struct ifreq`.
pub(crate) const SIOCSIFFLAGS: Request<Ifreq> = unsafe { Request::new(libc::SIOCSIFFLAGS as _) };
// SAFETY: netdevice(7): SIOCSIFMTU takes a `struct ifreq`.
pub(crate) const SIOCSIFMTU: Request<Ifreq> = unsafe { Request::new(libc::SIOCSIFMTU as _) };
// SAFETY: netdevice(7): SIOCGIFINDEX takes a `struct ifreq`.
pub(crate) const SIOCGIFINDEX: Request<Ifreq> = unsafe { Request::new(libc::SIOCGIFINDEX as _) };
// SAFETY: net/ipv6/af_inet6.c: on an AF_INET6 socket SIOCSIFADDR takes a `struct in6_ifreq`.
pub(crate) const SIOCSIFADDR_IN6: Request<libc::in6_ifreq> =
    unsafe { Request::new(libc::SIOCSIFADDR as _) };
// SAFETY: net/ipv6/af_inet6.c: on an AF_INET6 socket SIOCADDRT takes a `struct in6_rtmsg`.
pub(crate) const SIOCADDRT_IN6: Request<In6Rtmsg> = unsafe { Request::new(libc::SIOCADDRT as _) };

pub(crate) fn call<T>(
    fd: BorrowedFd<'_>,
    request: &Request<T>,
    argument: &mut T,
) -> io::Result<()> {
    // The type of `request` differs between C libraries; the number fits every type.
    let number = request.number as _;
    // SAFETY: `argument` is a live, exclusively borrowed `T`. The caller of `Request::new`
    // promised that the kernel expects a `T` for this number.
    match unsafe { libc::ioctl(fd.as_raw_fd(), number, std::ptr::from_mut(argument)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Returns an empty `ifreq` that names an interface. Fails with [`io::ErrorKind::InvalidInput`] if
/// the name is empty, longer than 15 bytes or holds a character that the kernel refuses.
pub(crate) fn ifreq(name: &str) -> io::Result<Ifreq> {
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_graphic() && b != b'/' && b != b':');
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || !plain {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "an interface name has 1 to 15 printable characters, neither '/' nor ':'",
        ));
    }
    let mut request = Ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_ifindex: 0 },
    };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

pub(crate) fn name_of(request: &Ifreq) -> String {
    request
        .ifr_name
        .iter()
        .take_while(|&&c| c != 0)
        .map(|&c| char::from(c as u8))
        .collect()
}

/// Returns the interface flags that the kernel left in an `ifreq` after [`SIOCGIFFLAGS`].
pub(crate) fn flags_of(request: &Ifreq) -> libc::c_short {
    // SAFETY: every field of the union is plain old data that any bytes are valid for.
    unsafe { request.ifr_ifru.ifru_flags }
}

/// Returns the interface index that the kernel left in an `ifreq` after [`SIOCGIFINDEX`].
pub(crate) fn index_of(request: &Ifreq) -> libc::c_int {
    // SAFETY: every field of the union is plain old data that any bytes are valid for.
    unsafe { request.ifr_ifru.ifru_ifindex }
}
