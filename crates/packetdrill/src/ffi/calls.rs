//! Descriptors, connections and `poll`. See *the contract* in the parent module.

use std::ffi::c_int;
use std::slice;

use libc::{nfds_t, pollfd, sockaddr, socklen_t};
use redpoll_base::Duration;
use redpoll_socket::posix::{Poll, blocking};

use super::pointers::{address, put_address};
use super::{SHIM, User, code, done};
use crate::sockets::Answer;
use crate::{Errno, Shutdown};

// Descriptors are real file descriptors, because packetdrill finally closes open ones with the C
// library's `close`.

fn new_descriptor() -> Answer<c_int> {
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    let failed = || std::io::Error::last_os_error().raw_os_error();
    if fd < 0 {
        return Err(Errno::from(failed().unwrap_or(libc::EMFILE)));
    }
    Ok(fd)
}

fn give_back(fd: c_int) {
    // SAFETY: takes no pointer. The number is from `new_descriptor`, and no code that knows the
    // number uses it any longer.
    unsafe { libc::close(fd) };
}

pub(super) extern "C" fn free(_: User) {
    SHIM.end();
}

pub(super) extern "C" fn socket(_: User, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
    let kind = kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
    code(SHIM.call(|sockets| {
        if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
            return Err(Errno::EAFNOSUPPORT);
        }
        if kind != libc::SOCK_STREAM || !matches!(protocol, 0 | libc::IPPROTO_TCP) {
            return Err(Errno::EPROTONOSUPPORT);
        }
        let fd = new_descriptor()?;
        sockets.socket(fd)?;
        sockets.set_nonblocking(fd, nonblocking)?;
        Ok(fd)
    }))
}

pub(super) unsafe extern "C" fn bind(
    _: User,
    fd: c_int,
    addr: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: the contract.
    let addr = unsafe { address(addr, len) };
    done(addr.and_then(|addr| SHIM.call(|sockets| sockets.bind(fd, addr))))
}

pub(super) extern "C" fn listen(_: User, fd: c_int, _backlog: c_int) -> c_int {
    done(SHIM.call(|sockets| sockets.listen(fd)))
}

pub(super) unsafe extern "C" fn accept(
    _: User,
    fd: c_int,
    addr: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    let accepted = SHIM.descriptor(fd).and_then(|listener| {
        let accepted = blocking::accept(&mut &SHIM, listener)?;
        SHIM.call(|sockets| sockets.adopt(accepted, new_descriptor))
    });
    code(accepted.and_then(|(fd, peer)| {
        // SAFETY: the contract.
        unsafe { put_address(addr, len, peer) }?;
        Ok(fd)
    }))
}

pub(super) unsafe extern "C" fn connect(
    _: User,
    fd: c_int,
    addr: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: the contract.
    let begun = unsafe { address(addr, len) }
        .and_then(|addr| SHIM.call(|sockets| sockets.connect(fd, addr)));
    done(match begun {
        Err(Errno::EINPROGRESS) => SHIM
            .descriptor(fd)
            .and_then(|fd| blocking::finish_connect(&mut &SHIM, fd)),
        begun => begun,
    })
}

pub(super) extern "C" fn close(_: User, fd: c_int) -> c_int {
    let known = SHIM.call(|sockets| Ok(sockets.exists(fd)));
    if known != Ok(true) {
        return done(Err(Errno::EBADF));
    }
    let answer = SHIM.call(|sockets| sockets.close(fd));
    give_back(fd);
    done(answer)
}

pub(super) extern "C" fn shutdown(_: User, fd: c_int, how: c_int) -> c_int {
    let how = match how {
        libc::SHUT_RD => Shutdown::Read,
        libc::SHUT_WR => Shutdown::Write,
        libc::SHUT_RDWR => Shutdown::Both,
        _ => return done(Err(Errno::EINVAL)),
    };
    done(SHIM.call(|sockets| sockets.shutdown(fd, how)))
}

/// Returns the descriptor that [`Host`](crate::Host) uses for packetdrill's descriptor `fd`, for
/// `poll`: a negative `fd` unchanged, and `c_int::MAX` for an unknown one.
fn below(fd: c_int) -> c_int {
    let unknown = if fd < 0 { fd } else { c_int::MAX };
    SHIM.descriptor(fd).map_or(unknown, c_int::from)
}

pub(super) unsafe extern "C" fn poll(
    _: User,
    fds: *mut pollfd,
    count: nfds_t,
    timeout_ms: c_int,
) -> c_int {
    let fds: &mut [pollfd] = if count == 0 {
        &mut []
    } else if fds.is_null() {
        return done(Err(Errno::EFAULT));
    } else {
        // SAFETY: the contract: not null, so valid for `count` entries.
        unsafe { slice::from_raw_parts_mut(fds, count as usize) }
    };
    let mut all: Vec<Poll> = fds
        .iter()
        .map(|one| Poll {
            fd: below(one.fd),
            events: one.events,
            revents: 0,
        })
        .collect();
    // A negative timeout means no timeout.
    let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    let answer = blocking::poll(&mut &SHIM, &mut all, timeout);
    for (fd, one) in fds.iter_mut().zip(all) {
        fd.revents = one.revents;
    }
    code(answer)
}
