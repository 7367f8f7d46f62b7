//! The ways to CLOSED (RFC 9293 §3.6 and §3.5.3).

use redpoll_base::{Bytes, Instant};

use super::Connection;
use crate::Error;
use crate::keepalive::Keepalive;
use crate::reset::Reset;
use crate::send::Persist;
use crate::state::{Cause, Closed, Phase, Synchronized};
use crate::timers::Timer;

impl<B: Bytes> Connection<B> {
    /// Follows the table of transitions.
    pub(super) fn transition(&mut self, now: Instant, cause: Cause) {
        let Phase::Synchronized(state) = self.phase else {
            return;
        };
        match state.on(cause) {
            None => self.closed(),
            Some(next) if next == state => {}
            Some(next) => {
                self.phase = Phase::Synchronized(next);
                match next {
                    Synchronized::TimeWait => self.enter_time_wait(now),
                    Synchronized::FinWait2 => self.start_fin_wait_2(now),
                    _ => {}
                }
            }
        }
    }

    /// "Start the time-wait timer, turn off the other timers."
    fn enter_time_wait(&mut self, now: Instant) {
        self.timers.cancel_all();
        self.persist = Persist::default();
        self.keepalive = Keepalive::default();
        self.start_time_wait(now);
    }

    pub(super) fn start_time_wait(&mut self, now: Instant) {
        self.timers
            .start(Timer::TimeWait, now, self.params.time_wait.duration());
    }

    pub(super) fn start_fin_wait_2(&mut self, now: Instant) {
        if let Some(limit) = self.params.fin_wait_2 {
            self.timers.start(Timer::FinWait2, now, limit.duration());
        }
    }

    /// Both directions closed normally. What arrived can still be read.
    pub(super) fn closed(&mut self) {
        self.enter_closed(None);
    }

    /// The connection ends by an error; "all segment queues should be flushed".
    pub(super) fn fail(&mut self, error: Error) {
        self.outbox.clear();
        self.inbox.clear();
        self.enter_closed(Some(error));
    }

    /// Likewise, and the peer is told.
    pub(super) fn fail_with_reset(&mut self, error: Error) {
        // RFC 9293 §3.10.5: in these states there is a peer to tell.
        let tell = match self.phase {
            Phase::SynReceived(_) => true,
            Phase::Synchronized(state) => !matches!(
                state,
                Synchronized::Closing | Synchronized::LastAck | Synchronized::TimeWait
            ),
            Phase::SynSent(_) | Phase::Closed(_) => false,
        };
        if tell {
            self.reset = Some(Reset::aborting(self.snd.nxt));
        }
        self.fail(error);
    }

    fn enter_closed(&mut self, error: Option<Error>) {
        self.phase = Phase::Closed(Closed { error });
        self.pins.clear();
        self.timers.cancel_all();
        self.events.closed();
    }
}
