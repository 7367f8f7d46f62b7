//! Blocking calls of sockets, which wait in a hook of the caller.

use core::ffi::c_void;

use redpoll_base::Duration;
use redpoll_socket::Errno;
use redpoll_socket::posix::blocking::{self, Waiter};
use redpoll_socket::posix::{Answer, Poll, Sockets, Wait};

use crate::endpoint::RpEndpoint;
use crate::error::{Code, bytes, bytes_mut, code, place, put, value};
use crate::groups::Kind;
use crate::handle::RpNode;
use crate::socket::{descriptor, polled};

type Hook = Option<unsafe extern "C" fn(*mut c_void)>;

/// `struct rp_waiter`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpWaiter {
    pub node: *mut RpNode,
    pub context: *mut c_void,
    pub now: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub wait: Option<unsafe extern "C" fn(*mut c_void, u64) -> i32>,
    pub lock: Hook,
    pub unlock: Hook,
}

/// A wait without an end.
const FOR_EVER: u64 = u64::MAX;

impl RpWaiter {
    /// # Safety
    /// `pointer` is null or points to a `struct rp_waiter` whose members fulfil the conditions that
    /// `redpoll.h` states.
    unsafe fn find(pointer: *const RpWaiter) -> Result<RpWaiter, Errno> {
        // SAFETY: by this function's conditions.
        let waiter = unsafe { value(pointer) }?;
        match (waiter.now, waiter.wait, waiter.lock, waiter.unlock) {
            (Some(_), Some(_), Some(_), Some(_)) | (Some(_), Some(_), None, None) => Ok(waiter),
            _ => Err(Errno::EFAULT),
        }
    }

    fn now(&self) -> u64 {
        // SAFETY: `find` has checked that the hook exists; the hook fulfils the conditions that
        // `redpoll.h` states.
        self.now.map_or(0, |now| unsafe { now(self.context) })
    }

    fn run(&self, hook: Hook) {
        if let Some(hook) = hook {
            // SAFETY: the hook fulfils the conditions that `redpoll.h` states, see `find`.
            unsafe { hook(self.context) }
        }
    }
}

impl Waiter for RpWaiter {
    type Profile = Kind;

    fn call<T>(&mut self, call: impl FnOnce(&mut Sockets<'_, Kind>) -> Answer<T>) -> Answer<T> {
        self.run(self.lock);
        let now = self.now();
        // SAFETY: the node is the caller's, and the lock is held.
        let answer =
            unsafe { RpNode::find(self.node) }.and_then(|node| call(&mut node.sockets(now)));
        self.run(self.unlock);
        answer
    }

    fn wait<T>(
        &mut self,
        _: Wait<'_>,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Sockets<'_, Kind>) -> Answer<T>,
    ) -> Answer<T> {
        let until = match timeout {
            None => FOR_EVER,
            Some(timeout) => self.now().saturating_add(timeout.as_micros()),
        };
        loop {
            match self.call(&mut attempt) {
                Err(Errno::EAGAIN) if self.now() < until => {}
                answer => return answer,
            }
            let Some(wait) = self.wait else {
                return Err(Errno::EFAULT);
            };
            // SAFETY: the hook fulfils the conditions that `redpoll.h` states, see `find`.
            let woken = unsafe { wait(self.context, until) };
            if woken < 0 {
                // A blocking call returns EAGAIN only after its timeout. An EAGAIN of the hook
                // therefore becomes ETIMEDOUT.
                let error = Errno::from(woken.saturating_neg());
                return Err(if error == Errno::EAGAIN {
                    Errno::ETIMEDOUT
                } else {
                    error
                });
            }
        }
    }
}

/// # Safety
/// `redpoll.h` states the conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_wait_connect(
    waiter: *const RpWaiter,
    fd: i32,
    peer: *const RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    let (waiter, peer) = unsafe { (RpWaiter::find(waiter), value(peer)) };
    code(waiter.and_then(|mut waiter| {
        blocking::connect(&mut waiter, descriptor(fd)?, peer?.endpoint()).map(|()| 0)
    }))
}

/// # Safety
/// `redpoll.h` states the conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_wait_accept(
    waiter: *const RpWaiter,
    fd: i32,
    peer: *mut RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { RpWaiter::find(waiter) }.and_then(|mut waiter| {
        // SAFETY: by this function's conditions.
        let peer = unsafe { place(peer) }?;
        let (accepted, remote) = blocking::accept(&mut waiter, descriptor(fd)?)?;
        put(peer, RpEndpoint::of(remote));
        Ok(accepted.into())
    }))
}

/// # Safety
/// `redpoll.h` states the conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_wait_send(
    waiter: *const RpWaiter,
    fd: i32,
    data: *const u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (waiter, data) = unsafe { (RpWaiter::find(waiter), bytes(data, len)) };
    code(waiter.and_then(|mut waiter| blocking::send(&mut waiter, descriptor(fd)?, data?, 0)))
}

/// # Safety
/// `redpoll.h` states the conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_wait_recv(
    waiter: *const RpWaiter,
    fd: i32,
    out: *mut u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (waiter, out) = unsafe { (RpWaiter::find(waiter), bytes_mut(out, len)) };
    code(waiter.and_then(|mut waiter| blocking::recv(&mut waiter, descriptor(fd)?, out?, 0)))
}

/// # Safety
/// `redpoll.h` states the conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_wait_recvfrom(
    waiter: *const RpWaiter,
    fd: i32,
    out: *mut u8,
    len: usize,
    peer: *mut RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    let (waiter, out) = unsafe { (RpWaiter::find(waiter), bytes_mut(out, len)) };
    code(waiter.and_then(|mut waiter| {
        // SAFETY: by this function's conditions.
        let peer = unsafe { place(peer) }?;
        let (len, from) = blocking::recv_from(&mut waiter, descriptor(fd)?, out?, 0)?;
        put(peer, RpEndpoint::of(from));
        Ok(len)
    }))
}

/// # Safety
/// `redpoll.h` states the conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_wait_sendto(
    waiter: *const RpWaiter,
    fd: i32,
    data: *const u8,
    len: usize,
    peer: *const RpEndpoint,
) -> Code {
    // SAFETY: by this function's conditions.
    let (waiter, data, peer) = unsafe { (RpWaiter::find(waiter), bytes(data, len), value(peer)) };
    code(waiter.and_then(|mut waiter| {
        let (fd, data, to) = (descriptor(fd)?, data?, peer?.endpoint());
        waiter.wait(Wait::Writable(fd), None, |sockets| {
            sockets.send_to(fd, data, to)
        })
    }))
}

/// # Safety
/// `redpoll.h` states the conditions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_wait_poll(
    waiter: *const RpWaiter,
    all: *mut Poll,
    count: usize,
    timeout_ms: i32,
) -> Code {
    // SAFETY: by this function's conditions.
    let (waiter, all) = unsafe { (RpWaiter::find(waiter), polled(all, count)) };
    code(waiter.and_then(|mut waiter| {
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        blocking::poll(&mut waiter, all?, timeout)
    }))
}
