//! packetdrill's C interface: the only module with unsafe code.
//!
//! packetdrill passes pointers as system calls take them, and trusts them as
//! much: they are null, or good for the length that comes with them, for the
//! time of the call. Each `SAFETY` below refers to this as *the contract*.

mod pointers;

use std::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_void};
use std::ptr;
use std::slice;

use libc::{EAFNOSUPPORT, EAGAIN, EBADF, EFAULT, EINPROGRESS, EINVAL, ENOSYS, EPROTONOSUPPORT};
use libc::{iovec, msghdr, nfds_t, pollfd, sockaddr, socklen_t};
use libc::{size_t, ssize_t, timeval};
use pointers::{address, bytes, gather, put, put_address, scatter, vectors};
use redpoll_base::Duration;

use crate::shim::Shim;
use crate::sockets::Answer;
use crate::{Errno, Settings, Shutdown, Wait};

/// The process runs one script.
static SHIM: Shim = Shim::new();

type User = *mut c_void;

/// `struct interface`: the functions that packetdrill calls.
#[repr(C)]
pub struct Interface {
    userdata: User,
    free: extern "C" fn(User),
    socket: extern "C" fn(User, c_int, c_int, c_int) -> c_int,
    bind: unsafe extern "C" fn(User, c_int, *const sockaddr, socklen_t) -> c_int,
    listen: extern "C" fn(User, c_int, c_int) -> c_int,
    accept: unsafe extern "C" fn(User, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    connect: unsafe extern "C" fn(User, c_int, *const sockaddr, socklen_t) -> c_int,
    read: unsafe extern "C" fn(User, c_int, *mut c_void, size_t) -> ssize_t,
    readv: unsafe extern "C" fn(User, c_int, *const iovec, c_int) -> ssize_t,
    recv: unsafe extern "C" fn(User, c_int, *mut c_void, size_t, c_int) -> ssize_t,
    recvfrom: unsafe extern "C" fn(
        User,
        c_int,
        *mut c_void,
        size_t,
        c_int,
        *mut sockaddr,
        *mut socklen_t,
    ) -> ssize_t,
    recvmsg: unsafe extern "C" fn(User, c_int, *mut msghdr, c_int) -> ssize_t,
    write: unsafe extern "C" fn(User, c_int, *const c_void, size_t) -> ssize_t,
    writev: unsafe extern "C" fn(User, c_int, *const iovec, c_int) -> ssize_t,
    send: unsafe extern "C" fn(User, c_int, *const c_void, size_t, c_int) -> ssize_t,
    sendto: unsafe extern "C" fn(
        User,
        c_int,
        *const c_void,
        size_t,
        c_int,
        *const sockaddr,
        socklen_t,
    ) -> ssize_t,
    sendmsg: unsafe extern "C" fn(User, c_int, *const msghdr, c_int) -> ssize_t,
    fcntl: extern "C" fn(User, c_int, c_int, c_long) -> c_int,
    ioctl: unsafe extern "C" fn(User, c_int, c_ulong, *mut c_int) -> c_int,
    close: extern "C" fn(User, c_int) -> c_int,
    shutdown: extern "C" fn(User, c_int, c_int) -> c_int,
    getsockopt:
        unsafe extern "C" fn(User, c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int,
    setsockopt: unsafe extern "C" fn(User, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    poll: unsafe extern "C" fn(User, *mut pollfd, nfds_t, c_int) -> c_int,
    netdev_send: unsafe extern "C" fn(User, *const c_void, size_t) -> c_int,
    netdev_receive: unsafe extern "C" fn(User, *mut c_void, *mut size_t, *mut c_longlong) -> c_int,
    usleep: extern "C" fn(User, c_uint) -> c_int,
    gettimeofday: unsafe extern "C" fn(User, *mut timeval, *mut c_void) -> c_int,
    epoll_create: extern "C" fn(User, c_int) -> c_int,
    epoll_ctl: extern "C" fn(User, c_int, c_int, c_int, *mut c_void) -> c_int,
    epoll_wait: extern "C" fn(User, c_int, *mut c_void, c_int, c_int) -> c_int,
    pipe: extern "C" fn(User, *mut c_int) -> c_int,
    splice: extern "C" fn(
        User,
        c_int,
        *mut c_longlong,
        c_int,
        *mut c_longlong,
        size_t,
        c_uint,
    ) -> c_int,
}

/// 33 slots of eight bytes.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Interface>() == 33 * 8);

/// Fills in `interface`. packetdrill looks this symbol up.
///
/// # Safety
/// `flags` is null or a C string; `interface` is good for an [`Interface`] to
/// be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(
    flags: *const c_char,
    interface: *mut Interface,
) {
    let flags = if flags.is_null() {
        "".into()
    } else {
        // SAFETY: not null, so a C string, by this function's contract.
        unsafe { CStr::from_ptr(flags) }.to_string_lossy()
    };
    SHIM.begin(Settings::parse(&flags));
    let filled = Interface {
        userdata: ptr::null_mut(),
        free,
        socket,
        bind,
        listen,
        accept,
        connect,
        read,
        readv,
        recv,
        recvfrom,
        recvmsg,
        write,
        writev,
        send,
        sendto,
        sendmsg,
        fcntl,
        ioctl,
        close,
        shutdown,
        getsockopt,
        setsockopt,
        poll,
        netdev_send,
        netdev_receive,
        usleep,
        gettimeofday,
        epoll_create,
        epoll_ctl,
        epoll_wait,
        pipe,
        splice,
    };
    // SAFETY: good for writing, by this function's contract.
    unsafe { interface.write(filled) }
}

// What calls return.

/// Sets `errno` where it fails.
fn number<T: TryInto<isize>>(answer: Answer<T>) -> ssize_t {
    match answer {
        Ok(value) => value.try_into().unwrap_or(isize::MAX),
        Err(Errno(error)) => {
            // SAFETY: it always points to this thread's errno.
            unsafe { *libc::__errno_location() = error }
            -1
        }
    }
}

fn code<T: TryInto<isize>>(answer: Answer<T>) -> c_int {
    number(answer) as c_int
}

fn done(answer: Answer<()>) -> c_int {
    code(answer.map(|()| 0i32))
}

// Descriptors: numbers of real ones, because packetdrill closes in the end
// what is still open with the C library's close.

fn new_descriptor() -> Answer<c_int> {
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    let failed = || std::io::Error::last_os_error().raw_os_error();
    if fd < 0 {
        return Err(Errno(failed().unwrap_or(libc::EMFILE)));
    }
    Ok(fd)
}

fn give_back(fd: c_int) {
    // SAFETY: takes no pointer; the number is from `new_descriptor`, and
    // whoever else knew of it is closing it.
    unsafe { libc::close(fd) };
}

extern "C" fn free(_: User) {
    SHIM.end();
}

extern "C" fn socket(_: User, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
    let kind = kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
    code(SHIM.call(|sockets| {
        if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
            return Err(Errno(EAFNOSUPPORT));
        }
        if kind != libc::SOCK_STREAM || !matches!(protocol, 0 | libc::IPPROTO_TCP) {
            return Err(Errno(EPROTONOSUPPORT));
        }
        let fd = new_descriptor()?;
        sockets.socket(fd)?;
        sockets.set_nonblocking(fd, nonblocking)?;
        Ok(fd)
    }))
}

unsafe extern "C" fn bind(_: User, fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the contract.
    let addr = unsafe { address(addr, len) };
    done(addr.and_then(|addr| SHIM.call(|sockets| sockets.bind(fd, addr))))
}

extern "C" fn listen(_: User, fd: c_int, _backlog: c_int) -> c_int {
    done(SHIM.call(|sockets| sockets.listen(fd)))
}

unsafe extern "C" fn accept(_: User, fd: c_int, addr: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let accepted = waiting(fd, Wait::Readable(fd), 0, |sockets| {
        sockets.accept(fd, new_descriptor)
    });
    code(accepted.and_then(|(fd, peer)| {
        // SAFETY: the contract.
        unsafe { put_address(addr, len, peer) }?;
        Ok(fd)
    }))
}

unsafe extern "C" fn connect(_: User, fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the contract.
    let begun = unsafe { address(addr, len) }
        .and_then(|addr| SHIM.call(|sockets| sockets.connect(fd, addr)));
    let may_wait = SHIM.call(|sockets| Ok(!sockets.is_nonblocking(fd)?));
    done(match (begun, may_wait) {
        (Err(Errno(EINPROGRESS)), Ok(true)) => SHIM.wait(Wait::Connected(fd), None, |sockets| {
            sockets.connect_result(fd)
        }),
        (begun, _) => begun,
    })
}

/// A call that waits, unless the descriptor or the flags say otherwise.
fn waiting<T>(
    fd: c_int,
    wait: Wait,
    flags: c_int,
    call: impl FnMut(&mut crate::Sockets) -> Answer<T>,
) -> Answer<T> {
    let nonblocking = SHIM.call(|sockets| sockets.is_nonblocking(fd))?;
    if nonblocking || flags & libc::MSG_DONTWAIT != 0 {
        return SHIM.call(call);
    }
    SHIM.wait(wait, None, call)
}

/// Receives up to `len` bytes.
fn receive(fd: c_int, len: usize, flags: c_int) -> Answer<Vec<u8>> {
    waiting(fd, Wait::Readable(fd), flags, |sockets| {
        // No more than there is, whatever the caller has room for.
        let mut out = vec![0; len.min(sockets.readable(fd).unwrap_or(0)).max(len.min(1))];
        let count = sockets.recv(fd, &mut out, flags)?;
        out.truncate(count);
        Ok(out)
    })
}

/// Sends all of `data`, or as much as can be sent without waiting.
fn transmit(fd: c_int, data: &[u8], flags: c_int) -> Answer<usize> {
    let mut sent = 0;
    let answer = waiting(fd, Wait::Writable(fd), flags, |sockets| {
        sent += sockets.send(fd, &data[sent..], flags)?;
        let rest = sent < data.len();
        let wait = rest && !sockets.is_nonblocking(fd)? && flags & libc::MSG_DONTWAIT == 0;
        if wait { Err(Errno(EAGAIN)) } else { Ok(sent) }
    });
    if sent > 0 { Ok(sent) } else { answer }
}

unsafe extern "C" fn read(_: User, fd: c_int, data: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: the contract.
    unsafe { recv(ptr::null_mut(), fd, data, len, 0) }
}

unsafe extern "C" fn readv(_: User, fd: c_int, to: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the contract.
    unsafe { receive_into(fd, to, count as usize, 0) }
}

unsafe extern "C" fn recv(
    _: User,
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // With MSG_TRUNC TCP throws the bytes away (tcp(7)).
    let discard = flags & libc::MSG_TRUNC != 0;
    number(receive(fd, len, flags).and_then(|received| {
        if !discard {
            // SAFETY: the contract.
            unsafe { put(data, len, &received) }?;
        }
        Ok(received.len())
    }))
}

unsafe extern "C" fn recvfrom(
    user: User,
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    flags: c_int,
    _addr: *mut sockaddr,
    _addr_len: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the contract. A stream has no addresses to tell.
    unsafe { recv(user, fd, data, len, flags) }
}

unsafe extern "C" fn recvmsg(_: User, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the contract: null or good.
    let Some(message) = (unsafe { message.as_mut() }) else {
        return number::<usize>(Err(Errno(EFAULT)));
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

unsafe extern "C" fn write(_: User, fd: c_int, data: *const c_void, len: size_t) -> ssize_t {
    // SAFETY: the contract.
    unsafe { send(ptr::null_mut(), fd, data, len, 0) }
}

unsafe extern "C" fn writev(_: User, fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the contract.
    unsafe { send_from(fd, from, count as usize, 0) }
}

unsafe extern "C" fn send(
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

unsafe extern "C" fn sendto(
    user: User,
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
    _addr: *const sockaddr,
    _addr_len: socklen_t,
) -> ssize_t {
    // SAFETY: the contract. A connected stream ignores the address.
    unsafe { send(user, fd, data, len, flags) }
}

unsafe extern "C" fn sendmsg(_: User, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the contract: null or good.
    match unsafe { message.as_ref() } {
        // SAFETY: the contract.
        Some(m) => unsafe { send_from(fd, m.msg_iov, m.msg_iovlen as _, flags) },
        None => number::<usize>(Err(Errno(EFAULT))),
    }
}

/// # Safety
/// The contract, for `from` and its vectors.
unsafe fn send_from(fd: c_int, from: *const iovec, count: usize, flags: c_int) -> ssize_t {
    // SAFETY: the contract.
    let data = unsafe { vectors(from, count).and_then(|from| gather(from)) };
    number(data.and_then(|data| transmit(fd, &data, flags)))
}

extern "C" fn fcntl(_: User, fd: c_int, command: c_int, argument: c_long) -> c_int {
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
        _ => Err(Errno(EINVAL)),
    }))
}

unsafe extern "C" fn ioctl(_: User, fd: c_int, request: c_ulong, value: *mut c_int) -> c_int {
    let count = SHIM.call(|sockets| match request {
        // Also named SIOCINQ and SIOCOUTQ.
        libc::FIONREAD => sockets.readable(fd),
        libc::TIOCOUTQ => sockets.unacked(fd),
        _ => Err(Errno(EINVAL)),
    });
    done(count.and_then(|count| {
        let count = c_int::try_from(count).unwrap_or(c_int::MAX);
        // SAFETY: the contract.
        unsafe { put(value.cast(), size_of::<c_int>(), &count.to_ne_bytes()) }
    }))
}

extern "C" fn close(_: User, fd: c_int) -> c_int {
    let known = SHIM.call(|sockets| Ok(sockets.exists(fd)));
    if known != Ok(true) {
        return done(Err(Errno(EBADF)));
    }
    let answer = SHIM.call(|sockets| sockets.close(fd));
    give_back(fd);
    done(answer)
}

extern "C" fn shutdown(_: User, fd: c_int, how: c_int) -> c_int {
    let how = match how {
        libc::SHUT_RD => Shutdown::Read,
        libc::SHUT_WR => Shutdown::Write,
        libc::SHUT_RDWR => Shutdown::Both,
        _ => return done(Err(Errno(EINVAL))),
    };
    done(SHIM.call(|sockets| sockets.shutdown(fd, how)))
}

unsafe extern "C" fn getsockopt(
    _: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    if len.is_null() {
        return done(Err(Errno(EFAULT)));
    }
    let answer = SHIM.call(|sockets| sockets.option(fd, level, name));
    done(answer.and_then(|words| {
        let raw: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // SAFETY: the contract: `len` is not null, `value` is good for `*len`.
        unsafe {
            put(value, *len as usize, &raw)?;
            *len = (*len).min(raw.len() as socklen_t);
        }
        Ok(())
    }))
}

unsafe extern "C" fn setsockopt(
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

unsafe extern "C" fn poll(_: User, fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
    let fds: &mut [pollfd] = if count == 0 {
        &mut []
    } else if fds.is_null() {
        return done(Err(Errno(EFAULT)));
    } else {
        // SAFETY: the contract: not null, so good for `count` of them.
        unsafe { slice::from_raw_parts_mut(fds, count as usize) }
    };
    let wait = Wait::Poll(fds.iter().map(|fd| (fd.fd, fd.events)).collect());
    // A negative timeout is none.
    let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    let answer = SHIM.wait(wait, timeout, |sockets| {
        for fd in &mut *fds {
            fd.revents = sockets.poll_one(fd.fd, fd.events);
        }
        match fds.iter().filter(|fd| fd.revents != 0).count() {
            0 => Err(Errno(EAGAIN)),
            ready => Ok(ready),
        }
    });
    match answer {
        Err(Errno(EAGAIN)) => 0,
        answer => code(answer),
    }
}

unsafe extern "C" fn netdev_send(_: User, packet: *const c_void, len: size_t) -> c_int {
    // SAFETY: the contract.
    let packet = unsafe { bytes(packet, len) };
    done(packet.and_then(|packet| SHIM.send(packet)))
}

unsafe extern "C" fn netdev_receive(
    _: User,
    packet: *mut c_void,
    len: *mut size_t,
    time_us: *mut c_longlong,
) -> c_int {
    // Never -1: packetdrill would ask again for ever. No bytes is an error too.
    let received = SHIM.receive().ok().flatten();
    // SAFETY: the contract: `len` and `time_us` are good, `packet` for `*len`.
    unsafe {
        let room = *len;
        *len = 0;
        if let Some(received) = received
            && put(packet, room, &received.bytes).is_ok()
        {
            *len = received.bytes.len().min(room);
            *time_us = received.at.as_micros() as c_longlong;
        }
    }
    0
}

extern "C" fn usleep(_: User, us: c_uint) -> c_int {
    done(SHIM.sleep(Duration::from_micros(us.into())))
}

unsafe extern "C" fn gettimeofday(_: User, time: *mut timeval, _zone: *mut c_void) -> c_int {
    done(SHIM.time().map(|now| {
        let us = now.as_micros();
        // SAFETY: the contract: null or good.
        if let Some(time) = unsafe { time.as_mut() } {
            time.tv_sec = (us / 1_000_000) as libc::time_t;
            time.tv_usec = (us % 1_000_000) as libc::suseconds_t;
        }
    }))
}

// What is not supported.

fn absent() -> c_int {
    done(Err(Errno(ENOSYS)))
}

extern "C" fn epoll_create(_: User, _: c_int) -> c_int {
    absent()
}

extern "C" fn epoll_ctl(_: User, _: c_int, _: c_int, _: c_int, _: *mut c_void) -> c_int {
    absent()
}

extern "C" fn epoll_wait(_: User, _: c_int, _: *mut c_void, _: c_int, _: c_int) -> c_int {
    absent()
}

extern "C" fn pipe(_: User, _: *mut c_int) -> c_int {
    absent()
}

extern "C" fn splice(
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
