//! The transitions to CLOSED (RFC 9293 §3.6 and §3.5.3).

use redpoll_base::{Bytes, Duration, Instant, event};

use super::Connection;
use super::marks::Marks;
use crate::keepalive::KeepaliveProbes;
use crate::recovery::Expiry;
use crate::reset::Reset;
use crate::send::{Persist, SendStore, SendStoreExt};
use crate::state::{Cause, Closed, Phase, Synchronized};
use crate::timers::Timer;
use crate::{Algorithms, Error};

/// Consecutive timeouts or window probes after which an orphan counts as stalled.
const STALLED: u8 = 3;

/// Milliseconds after our last segment, about 7 s, within which the peer of an orphan in FIN-WAIT-2
/// must close. [`STALLED`] timeouts that start with 1 s take as long. A comparison with a multiple
/// of 256 needs less code.
const IDLE_MS: u32 = 7_168;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    pub(super) fn transition(&mut self, cause: Cause) {
        let Phase::Synchronized(state) = self.phase else {
            return;
        };
        match state.on(cause) {
            None => self.closed(),
            Some(next) if next == state => {}
            Some(next) => {
                self.phase = Phase::Synchronized(next);
                self.log_state();
                if next == Synchronized::TimeWait {
                    self.enter_time_wait();
                }
            }
        }
    }

    pub(super) fn log_state(&self) {
        let (local, remote) = (self.local.port, self.remote.port);
        event!(Debug, "port {local} to {remote}: {}", self.state());
    }

    /// RFC 9293 §3.10.7.4: "Start the time-wait timer, turn off the other timers".
    fn enter_time_wait(&mut self) {
        self.timers.cancel_all();
        self.persist = Persist::default();
        self.keepalive = KeepaliveProbes::default();
        self.start_time_wait();
    }

    fn start_time_wait(&mut self) {
        self.timers
            .start(Timer::Linger, self.params.time_wait.get());
    }

    /// Orphans the connection: the application has closed and will not read any more. TCP has
    /// `limit` to deliver the remaining data and exchange both FINs; then it resets the connection.
    /// An application that has only closed "may continue to RECEIVE until the TCP receiver is told
    /// that the remote peer has CLOSED also" (RFC 9293 §3.6), without a time limit.
    ///
    /// RFC 9293 §3.8.6.1, MUST-37, keeps a connection open while the peer answers window probes;
    /// the application may abort it. An orphan has no such application, so a peer that never
    /// accepts data or never closes would hold the memory forever.
    pub fn orphan(&mut self, now: Instant, limit: Duration) {
        let over = self.is_closed() || self.synchronized() == Some(Synchronized::TimeWait);
        self.timers.enter(now);
        if !over {
            self.end_within(limit.millis_saturating());
            self.marks.set(Marks::ORPHANED);
        }
    }

    /// Returns the priority with which a new connection may take the memory of this one, lowest
    /// value first; `None` if it may not. In TIME-WAIT the value is the remaining time in
    /// milliseconds, or `None` while the connection owes the acknowledgment of the peer's FIN.
    /// [Orphans](Self::orphan) follow, from [`ORPHAN_TURN`](Self::ORPHAN_TURN) on. An orphan
    /// qualifies after three consecutive timeouts or window probes without progress, or in
    /// FIN-WAIT-2 seven seconds after our last segment. If the peer sends afterwards, the node
    /// answers with a reset.
    pub fn spare_turn(&self) -> Option<u32> {
        let left = self.timers.remaining(Timer::Linger)?;
        let state = self.synchronized();
        if state == Some(Synchronized::TimeWait) {
            return (!self.acks.is_due()).then_some(left);
        }
        let idle = self.timers.now().wrapping_sub(self.last_sent);
        let stalls = match state {
            Some(Synchronized::FinWait2) => idle >= IDLE_MS,
            _ => self.rto.retries().max(self.persist.probes()) >= STALLED,
        };
        let yields = self.marks.has(Marks::ORPHANED) && stalls;
        yields.then_some(left | Self::ORPHAN_TURN)
    }

    /// Lowest value that [`spare_turn`](Self::spare_turn) returns for an orphan.
    pub const ORPHAN_TURN: u32 = 1 << 31;

    /// Limits the time until the connection ends. It never extends this time.
    fn end_within(&mut self, limit: u32) {
        let left = self.timers.remaining(Timer::Linger);
        if left.is_none_or(|left| left > limit) {
            self.timers.start(Timer::Linger, limit);
        }
    }

    pub(super) fn on_linger_timeout(&mut self) {
        match self.synchronized() {
            Some(Synchronized::TimeWait) => self.transition(Cause::TimeWaitOver),
            // A reset is unnecessary now: the next segment of the peer will be answered by a reset.
            Some(Synchronized::FinWait2) => self.fail(Error::TimedOut),
            _ => self.give_up(),
        }
    }

    /// Restarts TIME-WAIT after the peer retransmitted its FIN. RFC 9293 §3.10.7.4: "restart the 2
    /// MSL timeout". At most [`Config::max_retries`](crate::Config::max_retries) restarts follow,
    /// which suffices for a peer that receives no ACK.
    pub(super) fn prolong_time_wait(&mut self) {
        if self.rto.on_timeout(self.params.max_retries) != Expiry::GiveUp {
            self.start_time_wait();
        }
    }

    /// Ends the connection after both directions closed normally. Received data can still be read.
    pub(super) fn closed(&mut self) {
        self.enter_closed(None);
    }

    /// Ends the connection by an error. RFC 9293 §3.10.7.4: "all segment queues should be flushed".
    #[inline(never)] // size
    pub(super) fn fail(&mut self, error: Error) {
        self.inbox.clear();
        self.enter_closed(Some(error));
    }

    pub(super) fn fail_with_reset(&mut self, error: Error) {
        // RFC 9293 §3.10.5 lists the states in which the peer gets a reset.
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
        self.log_state();
        // Without pins the link does not read the bytes, and they return to the application.
        self.pins.clear();
        self.outbox.clear();
        self.timers.cancel_all();
        self.events.closed();
    }
}
