//! Expired timers (RFC 9293 §3.10.8).

use redpoll_base::{Bytes, Instant};

use super::Connection;
use crate::event::Trouble;
use crate::recovery::{Expiry, Loss};
use crate::send::SendStore;
use crate::state::Phase;
use crate::timers::Timer;
use crate::{Algorithms, Error};

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Processes the timers that have expired by `now`, if any.
    pub fn on_timeout(&mut self, now: Instant) {
        let floor = self.timers.enter(now);
        while let Some(timer) = self.timers.take_expired(floor) {
            match timer {
                Timer::Retransmission => self.on_retransmission_timeout(),
                Timer::LossProbe | Timer::Reordering if !self.has_rack() => {}
                Timer::LossProbe => self.on_probe_timeout(),
                Timer::Reordering => {
                    self.detect_by_time(0);
                }
                Timer::Persist => self.on_persist_timeout(),
                Timer::DelayedAck => self.acks.require(),
                Timer::Keepalive => self.on_keepalive_timeout(),
                Timer::Linger => self.on_linger_timeout(),
                // RFC 9293 §3.10.8: "For any state if the user timeout expires, flush all queues,
                // signal the user ... delete the TCB."
                Timer::User => self.fail(Error::UserTimeout),
            }
        }
        self.settle();
    }

    /// Processes the retransmission timeout (RFC 6298 §5.4 to §5.6). The timer starts again when
    /// the link has sent the segment.
    fn on_retransmission_timeout(&mut self) {
        self.link.on_timeout();
        // Nothing to retransmit if the link still holds the segment at SND.UNA, or if everything
        // has been acknowledged.
        let outstanding = self.snd.una < self.snd.nxt;
        if self.pins.covers(0) || !outstanding {
            return;
        }
        let handshake = matches!(self.phase, Phase::SynSent(_) | Phase::SynReceived(_));
        let retries = if handshake {
            self.params.syn_retries
        } else {
            self.patience()
        };
        let is_first = self.rto.is_first();
        match self.rto.on_timeout(retries) {
            // A user timeout replaces the retry limit: 255 retries are too few for a user timeout
            // of several hours.
            Expiry::GiveUp if !handshake && self.params.user_timeout.is_some() => {}
            Expiry::GiveUp => return self.give_up(),
            Expiry::Warn => self.events.trouble(Trouble::NoAnswer),
            Expiry::Retransmit => {}
        }
        self.stats.count(|stats| &mut stats.rtos);
        if let Some(syn) = self.phase.our_syn() {
            syn.due = true;
            syn.lost = Some(Loss::Timeout);
            if matches!(self.phase, Phase::SynSent(_)) && !is_first {
                self.ecn.on_syns_lost();
            }
            return;
        }
        if !is_first {
            self.suspect_path_mtu();
        }
        self.enter_timeout_recovery(is_first);
    }

    /// Returns R2 as a number of retries; without limit if a user timeout replaces R2.
    fn patience(&self) -> u8 {
        match self.params.user_timeout {
            Some(_) => u8::MAX,
            None => self.params.max_retries,
        }
    }

    /// Ends the connection after R2 was reached (RFC 9293 §3.8.3 (c)).
    pub(super) fn give_up(&mut self) {
        self.fail_with_reset(Error::TimedOut);
    }

    fn on_persist_timeout(&mut self) {
        let goes_on = self.persist.on_timeout(self.patience());
        if !goes_on && self.params.user_timeout.is_none() {
            self.give_up();
        }
    }

    fn on_keepalive_timeout(&mut self) {
        // MUST-26: keepalives are sent only if no sent data are outstanding. Otherwise the
        // retransmission timer detects a dead peer.
        if self.snd.flight() > 0 {
            let interval = self.params.keepalive_interval.get();
            self.timers.start(Timer::Keepalive, interval);
            return;
        }
        match self.keepalive.on_timeout(&self.params) {
            Some(interval) => self.timers.start(Timer::Keepalive, interval),
            None => self.give_up(),
        }
    }
}
