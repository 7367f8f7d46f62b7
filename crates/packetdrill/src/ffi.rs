//! packetdrill's C interface: the only module with unsafe code.
//!
//! packetdrill passes pointers as to system calls. Each pointer is null, or valid for the
//! accompanying length during the call. Each `SAFETY` comment here and in the submodules refers to
//! this as *the contract*.
//!
//! - `calls`: descriptors, connections, `poll`;
//! - `transfer`: reading and writing;
//! - `options`: `fcntl`, `ioctl`, socket options;
//! - `device`: the tool's packets and its clock;
//! - `absent`: unsupported calls;
//! - `pointers`: arguments of calls.

mod absent;
mod calls;
mod device;
mod options;
mod pointers;
mod transfer;

use std::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_void};
use std::ptr;

use absent::{epoll_create, epoll_ctl, epoll_wait, pipe, splice};
use calls::{accept, bind, close, connect, free, listen, poll, shutdown, socket};
use device::{gettimeofday, netdev_receive, netdev_send, usleep};
use libc::{iovec, msghdr, nfds_t, pollfd, sockaddr, socklen_t};
use libc::{size_t, ssize_t, timeval};
use options::{fcntl, getsockopt, ioctl, setsockopt};
use transfer::{read, readv, recv, recvfrom, recvmsg, send, sendmsg, sendto, write, writev};

use crate::Settings;
use crate::shim::Shim;
use crate::sockets::Answer;

/// State of the process, which runs a single script.
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

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Interface>() == 33 * 8);

/// Fills in `interface`. packetdrill looks this symbol up.
///
/// # Safety
/// `flags` is null or a C string; `interface` is valid for writing an [`Interface`].
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
    // SAFETY: valid for writing, by this function's contract.
    unsafe { interface.write(filled) }
}

/// Returns the value of a call, or sets `errno` and returns -1.
fn number<T: TryInto<isize>>(answer: Answer<T>) -> ssize_t {
    match answer {
        Ok(value) => value.try_into().unwrap_or(isize::MAX),
        Err(error) => {
            // SAFETY: the returned pointer always points to this thread's errno.
            unsafe { *libc::__errno_location() = error.into() }
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
