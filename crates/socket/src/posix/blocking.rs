//! Blocking calls, which wait in a method of the caller.
//!
//! An RTOS, a host and a simulator wait in different ways, so the caller implements [`Waiter`]: the
//! lock around node and table, the clock and the sleep. The calls here are those of POSIX, with
//! O_NONBLOCK and `MSG_DONTWAIT`.

use redpoll_base::Duration;
use redpoll_stack::Profile;
use redpoll_tcp::Endpoint;

use super::{Answer, Fd, MSG_DONTWAIT, Poll, Sockets, Wait};
use crate::Errno;

/// Access of a thread to the sockets, and its way to wait.
pub trait Waiter {
    /// The profile of the node. Every [`Memory`](redpoll_base::Memory) is a profile.
    type Profile: Profile;

    /// Makes one call, and lets the node send the resulting packets.
    ///
    /// # Errors
    /// The errors of `call`.
    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Sockets<'_, Self::Profile>) -> Answer<T>,
    ) -> Answer<T>;

    /// Makes a call at once, and again whenever the condition `wait` may hold, until the result is
    /// not `EAGAIN` or `timeout` has passed.
    ///
    /// An event between an attempt and the following sleep must not be missed: the event must end
    /// the sleep at once. A mutex with a condition variable meets this requirement.
    ///
    /// # Errors
    /// The errors of the call, `EAGAIN` after the timeout, and the errors of the sleep itself.
    fn wait<T>(
        &mut self,
        wait: Wait<'_>,
        timeout: Option<Duration>,
        attempt: impl FnMut(&mut Sockets<'_, Self::Profile>) -> Answer<T>,
    ) -> Answer<T>;
}

/// Makes a call that waits, unless O_NONBLOCK of the socket or MSG_DONTWAIT in the flags forbids
/// waiting.
fn waiting<W: Waiter, T>(
    waiter: &mut W,
    fd: Fd,
    wait: Wait<'_>,
    flags: i32,
    attempt: impl FnMut(&mut Sockets<'_, W::Profile>) -> Answer<T>,
) -> Answer<T> {
    if !may_wait(waiter, fd, flags)? {
        return waiter.call(attempt);
    }
    waiter.wait(wait, None, attempt)
}

fn may_wait(waiter: &mut impl Waiter, fd: Fd, flags: i32) -> Answer<bool> {
    let nonblocking = waiter.call(|sockets| sockets.is_nonblocking(fd))?;
    Ok(!nonblocking && flags & MSG_DONTWAIT == 0)
}

/// Opens a connection.
///
/// # Errors
/// As [`Sockets::connect`]; `EINPROGRESS` only with O_NONBLOCK.
pub fn connect(waiter: &mut impl Waiter, fd: Fd, remote: Endpoint) -> Answer<()> {
    match waiter.call(|sockets| sockets.connect(fd, remote)) {
        Err(Errno::EINPROGRESS) => finish_connect(waiter, fd),
        begun => begun,
    }
}

/// Waits for the connection that `connect` started.
///
/// # Errors
/// As [`connect`].
pub fn finish_connect(waiter: &mut impl Waiter, fd: Fd) -> Answer<()> {
    if !may_wait(waiter, fd, 0)? {
        return Err(Errno::EINPROGRESS);
    }
    waiter.wait(Wait::Connected(fd), None, |sockets| {
        sockets.connect_result(fd)
    })
}

/// Returns the next connection of a listening socket, and its peer.
///
/// # Errors
/// As [`Sockets::accept`]; `EAGAIN` only with O_NONBLOCK.
pub fn accept(waiter: &mut impl Waiter, fd: Fd) -> Answer<(Fd, Endpoint)> {
    waiting(waiter, fd, Wait::Readable(fd), 0, |sockets| {
        sockets.accept(fd)
    })
}

/// Receives at least one byte; 0 is the end of the stream.
///
/// # Errors
/// As [`Sockets::recv`]; `EAGAIN` only if the call may not wait.
pub fn recv(waiter: &mut impl Waiter, fd: Fd, out: &mut [u8], flags: i32) -> Answer<usize> {
    waiting(waiter, fd, Wait::Readable(fd), flags, |sockets| {
        sockets.recv(fd, out, flags)
    })
}

/// Receives a datagram.
///
/// # Errors
/// As [`Sockets::recv_from`]; `EAGAIN` only if the call may not wait.
pub fn recv_from(
    waiter: &mut impl Waiter,
    fd: Fd,
    out: &mut [u8],
    flags: i32,
) -> Answer<(usize, Endpoint)> {
    waiting(waiter, fd, Wait::Readable(fd), flags, |sockets| {
        sockets.recv_from(fd, out, flags)
    })
}

/// Sends all of `data`, or as much as fits if the call may not wait. After an error, returns the
/// number of bytes accepted before it.
///
/// # Errors
/// As [`Sockets::send`], if no byte was accepted.
pub fn send(waiter: &mut impl Waiter, fd: Fd, data: &[u8], flags: i32) -> Answer<usize> {
    let wait = may_wait(waiter, fd, flags)?;
    let mut sent = 0usize;
    let mut attempt = |sockets: &mut Sockets<'_, _>| {
        let rest = data.get(sent..).unwrap_or_default();
        sent = sent.saturating_add(sockets.send(fd, rest, flags)?);
        if wait && sent < data.len() {
            return Err(Errno::EAGAIN);
        }
        Ok(sent)
    };
    let answer = if wait {
        waiter.wait(Wait::Writable(fd), None, &mut attempt)
    } else {
        waiter.call(&mut attempt)
    };
    if sent > 0 { Ok(sent) } else { answer }
}

/// Opens a connection to `remote` and sends all of `data`, or as much as fits if the call may not
/// wait (`sendto` with MSG_FASTOPEN).
///
/// # Errors
/// As [`Sockets::send_fast`]; `EINPROGRESS` only if the call may not wait.
pub fn send_fast(
    waiter: &mut impl Waiter,
    fd: Fd,
    data: &[u8],
    remote: Endpoint,
    flags: i32,
) -> Answer<usize> {
    let begun = waiter.call(|sockets| sockets.send_fast(fd, data, remote));
    if !may_wait(waiter, fd, flags)? {
        return begun;
    }
    let sent = match begun {
        Err(Errno::EINPROGRESS) => 0,
        begun => begun?,
    };
    finish_connect(waiter, fd)?;
    let rest = data.get(sent..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(sent);
    }
    Ok(sent.saturating_add(send(waiter, fd, rest, flags)?))
}

/// Waits until one of `all` is ready, or `timeout` has passed, and returns how many are.
///
/// # Errors
/// Only those of the `waiter`.
pub fn poll(
    waiter: &mut impl Waiter,
    all: &mut [Poll],
    timeout: Option<Duration>,
) -> Answer<usize> {
    // Waiting only reads the conditions in `all`. The call after it writes the results.
    let mut ready = 0;
    let list: &[Poll] = all;
    let answer = waiter.wait(Wait::Poll(list), timeout, |sockets| {
        ready = list
            .iter()
            .filter(|one| sockets.poll_one(one.fd, one.events) != 0)
            .count();
        if ready > 0 {
            Ok(())
        } else {
            Err(Errno::EAGAIN)
        }
    });
    match answer {
        Err(Errno::EAGAIN) | Ok(()) => waiter.call(|sockets| sockets.poll(all)),
        Err(error) => Err(error),
    }
}
