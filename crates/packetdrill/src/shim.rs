//! The sockets of packetdrill's threads: one lock, virtual time, and blocking calls.
//!
//! packetdrill has two threads. The first runs the script; the second makes a blocking call while
//! the first continues. The first thread advances the time. When the blocking call becomes ready,
//! the time must not advance until the second thread has returned and read the clock: the time is
//! *handed off*.
//!
//! The tests of the shared library in `tests/abi.rs` cover this module.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time;

use redpoll_base::{Duration, Instant};
use redpoll_socket::posix::blocking::Waiter;
use redpoll_socket::posix::{self, Fd, Poll, Wait};

use crate::host::HostProfile;
use crate::sockets::Answer;
use crate::{Errno, SentPacket, Settings, Sockets};

/// Virtual time that passes at each read of the clock, which packetdrill reads in a loop.
const LOOK: Duration = Duration::from_micros(1);
/// Longest wait of the first thread in a call. A correct script never reaches it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest virtual wait for a packet. By default the first keep-alive probe is sent after two
/// hours.
const LONGEST_SILENCE: Duration = Duration::from_secs(6 * 60 * 60);
/// Maximum real time that the second thread gets to read the clock.
const HAND_OFF: time::Duration = time::Duration::from_millis(200);

pub(crate) struct Shim {
    state: Mutex<Option<State>>,
    changed: Condvar,
}

struct State {
    sockets: Sockets,
    first: ThreadId,
    waiting: Option<Waiting>,
    hand_off: bool,
}

struct Waiting {
    wait: Reason,
    deadline: Option<Instant>,
    released: bool,
}

/// The condition on which a call waits: a [`Wait`] in a form that the other thread can check.
enum Reason {
    One(Wait<'static>),
    Poll(Vec<Poll>),
}

impl Reason {
    fn of(wait: Wait<'_>) -> Reason {
        match wait {
            Wait::Readable(fd) => Reason::One(Wait::Readable(fd)),
            Wait::Writable(fd) => Reason::One(Wait::Writable(fd)),
            Wait::Connected(fd) => Reason::One(Wait::Connected(fd)),
            Wait::Poll(all) => Reason::Poll(all.to_vec()),
        }
    }

    fn wait(&self) -> Wait<'_> {
        match self {
            Reason::One(wait) => *wait,
            Reason::Poll(all) => Wait::Poll(all),
        }
    }
}

impl State {
    /// Releases the waiting call if it is ready or its deadline has passed.
    fn release(&mut self, changed: &Condvar) {
        let now = self.sockets.now();
        if let Some(waiting) = &mut self.waiting
            && !waiting.released
            && (self
                .sockets
                .call(|sockets| sockets.is_ready(waiting.wait.wait()))
                || waiting.deadline.is_some_and(|d| d <= now))
        {
            waiting.released = true;
            self.hand_off = true;
            changed.notify_all();
        }
    }

    fn alarm(&self) -> Option<Instant> {
        let waiting = self.waiting.as_ref().filter(|waiting| !waiting.released)?;
        waiting.deadline
    }

    fn in_first_thread(&self) -> bool {
        self.first == thread::current().id()
    }
}

struct Held<'a> {
    shim: &'a Shim,
    guard: MutexGuard<'a, Option<State>>,
}

impl<'a> Held<'a> {
    fn state(&mut self) -> Answer<&mut State> {
        self.guard.as_mut().ok_or(Errno::ENOSYS)
    }

    fn wait(self) -> Held<'a> {
        let guard = self.shim.changed.wait(self.guard);
        Held {
            guard: guard.unwrap_or_else(PoisonError::into_inner),
            ..self
        }
    }

    /// Waits until the second thread has read the time at which its blocking call returned.
    fn handed_off(self) -> Held<'a> {
        let pending = |state: &mut Option<State>| state.as_ref().is_some_and(|s| s.hand_off);
        let waited = self
            .shim
            .changed
            .wait_timeout_while(self.guard, HAND_OFF, pending);
        let (mut guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = guard.as_mut() {
            state.hand_off = false;
        }
        Held { guard, ..self }
    }

    /// Advances the time to `target`. If `for_packet`, stops at the first packet.
    fn advance(mut self, target: Instant, for_packet: bool) -> Answer<Held<'a>> {
        loop {
            self = self.handed_off();
            let shim = self.shim;
            let state = self.state()?;
            let idle = state.alarm().is_none() && state.sockets.deadline().is_none();
            if for_packet && (idle || state.sockets.has_packet()) {
                return Ok(self);
            }
            let limit = state.alarm().map_or(target, |alarm| alarm.min(target));
            let fired = state.sockets.step(limit);
            state.release(&shim.changed);
            if !fired && state.sockets.now() >= target && !state.hand_off {
                return Ok(self);
            }
        }
    }
}

impl Shim {
    /// Returns a shim without state; call [`begin`](Self::begin) first.
    pub(crate) const fn new() -> Shim {
        Shim {
            state: Mutex::new(None),
            changed: Condvar::new(),
        }
    }

    /// Creates a new state; the calling thread becomes the first thread.
    pub(crate) fn begin(&self, settings: Settings) {
        *self.lock().guard = Some(State {
            sockets: Sockets::new(settings),
            first: thread::current().id(),
            waiting: None,
            hand_off: false,
        });
    }

    pub(crate) fn end(&self) {
        *self.lock().guard = None;
    }

    fn lock(&self) -> Held<'_> {
        Held {
            shim: self,
            guard: self.state.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(crate) fn call<T>(&self, call: impl FnOnce(&mut Sockets) -> Answer<T>) -> Answer<T> {
        let mut held = self.lock();
        let state = held.state()?;
        let answer = call(&mut state.sockets);
        state.release(&self.changed);
        answer
    }

    pub(crate) fn descriptor(&self, number: i32) -> Answer<Fd> {
        self.call(|sockets| sockets.fd(number))
    }

    pub(crate) fn send(&self, packet: &[u8]) -> Answer<()> {
        self.call(|sockets| {
            sockets.input(packet);
            Ok(())
        })
    }

    /// Waits for the node's next packet; `None` if the node sends none within [`LONGEST_SILENCE`].
    pub(crate) fn receive(&self) -> Answer<Option<SentPacket>> {
        let mut held = self.lock();
        let target = held.state()?.sockets.now() + LONGEST_SILENCE;
        let mut held = held.advance(target, true)?;
        Ok(held.state()?.sockets.next_packet())
    }

    pub(crate) fn sleep(&self, span: Duration) -> Answer<()> {
        let mut held = self.lock();
        let target = held.state()?.sockets.now() + span;
        held.advance(target, false)?;
        Ok(())
    }

    pub(crate) fn time(&self) -> Answer<Instant> {
        let mut held = self.lock();
        let state = held.state()?;
        if state.hand_off && !state.in_first_thread() {
            state.hand_off = false;
            self.changed.notify_all();
            return Ok(state.sockets.now());
        }
        let mut held = held.handed_off();
        let target = held.state()?.sockets.now() + LOOK;
        let mut held = held.advance(target, false)?;
        Ok(held.state()?.sockets.now())
    }
}

impl Waiter for &Shim {
    type Profile = HostProfile;

    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut posix::Sockets<'_, HostProfile>) -> Answer<T>,
    ) -> Answer<T> {
        Shim::call(self, |sockets| sockets.call(call))
    }

    fn wait<T>(
        &mut self,
        wait: Wait<'_>,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut posix::Sockets<'_, HostProfile>) -> Answer<T>,
    ) -> Answer<T> {
        let mut held = self.lock();
        let begin = held.state()?.sockets.now();
        let deadline = timeout.map(|timeout| begin + timeout);
        loop {
            let state = held.state()?;
            let answer = state.sockets.call(&mut attempt);
            let now = state.sockets.now();
            let again = matches!(answer, Err(Errno::EAGAIN));
            if !again || deadline.is_some_and(|deadline| deadline <= now) {
                state.release(&self.changed);
                return answer;
            }
            if state.in_first_thread() {
                let limit = deadline.unwrap_or(begin + PATIENCE);
                if now >= limit {
                    eprintln!(
                        "redpoll-packetdrill: a call of the script waits for longer than any \
                        event can take"
                    );
                    return answer;
                }
                state.sockets.step(limit);
                continue;
            }
            state.waiting = Some(Waiting {
                wait: Reason::of(wait),
                deadline,
                released: false,
            });
            // The released call waits again, so its hand-off is over.
            state.hand_off = false;
            self.changed.notify_all();
            while held.state()?.waiting.as_ref().is_some_and(|w| !w.released) {
                held = held.wait();
            }
            held.state()?.waiting = None;
        }
    }
}
