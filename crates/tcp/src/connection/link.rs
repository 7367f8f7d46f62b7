//! Interface to the link, which reads segments and reports their outcome.

use redpoll_base::{Bytes, Instant};

use super::Connection;
use crate::recovery::Loss;
use crate::send::{Pin, PinKind, SendStore, SendStoreExt, Tick, Token};
use crate::timers::Timer;
use crate::{Algorithms, Gone};

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Copies payload of the segment `token`, starting at `offset`, to `out`. Returns the number of
    /// bytes, which is 0 at the end of the payload.
    ///
    /// The bytes do not change until the segment is reported sent or lost.
    ///
    /// # Errors
    /// [`Gone`] if all of the segment was acknowledged, or the connection was reset or aborted. The
    /// link need not send the rest of the segment, but must still report it.
    pub fn read(&self, token: Token, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        if token.is_unpinned() {
            return Ok(0);
        }
        let pin = self.pins.get(token).ok_or(Gone)?;
        let mut range = pin.range(self.snd.una);
        // Skips the sequence number of our SYN, for which `outbox` has no byte.
        range.start = range.start.max(self.outbox.range().start);
        let offset = u32::try_from(offset).unwrap_or(u32::MAX).min(range.len());
        range.start += offset;
        Ok(self.outbox.read(range, out))
    }

    /// Reports that the link delivered the segment to the next hop. The retransmission timer starts
    /// now (RFC 6298 §5.1), because the segment was not in the network before.
    #[inline(never)] // size
    pub fn on_segment_sent(&mut self, token: Token, now: Instant) {
        self.timers.enter(now);
        if let Some(pin) = self.release(token) {
            self.last_sent = self.timers.now();
            self.link.on_sent();
            // The persist timer handles probes.
            if pin.kind() != PinKind::Probe {
                let again = pin.kind() == PinKind::Again;
                self.board
                    .on_sent(pin.span(), again, Tick::of_ms(self.last_sent));
                self.start_retransmission_timer(&pin);
            }
            if pin.kind() == PinKind::First {
                self.rtt.on_sent(pin.end(), self.last_sent);
            }
            if pin.kind() != PinKind::Probe && self.synchronized().is_some() {
                self.arm_probe();
            }
        }
        self.settle();
    }

    /// Reports that the link gave up the segment.
    #[inline(never)] // size
    pub fn on_segment_lost(&mut self, token: Token, now: Instant) {
        self.timers.enter(now);
        if let Some(pin) = self.release(token) {
            self.stats.count(|stats| &mut stats.link_losses);
            self.link.on_lost();
            if pin.kind() != PinKind::Probe {
                self.resend_after_link_loss(&pin);
            }
            if self.link.is_resting() && !self.timers.is_running(Timer::Retransmission) {
                self.start_rto();
            }
        }
        self.settle();
    }

    /// Releases the pin. Returns `None` if it is already gone: the report is too late.
    fn release(&mut self, token: Token) -> Option<Pin> {
        let pin = self.pins.release(token)?;
        self.free_acked();
        Some(pin)
    }

    fn resend_after_link_loss(&mut self, pin: &Pin) {
        if let Some(syn) = self.phase.our_syn() {
            syn.due = true;
            syn.lost.get_or_insert(Loss::Link);
            return;
        }
        self.on_link_loss(pin.span(), pin.kind() == PinKind::Again);
    }

    /// Restarts the timer, so that it does not expire within one RTO after the transmission of the
    /// segment at SND.UNA, which it would retransmit (RFC 6298 §5). Our answer to a repeated SYN
    /// does not restart it; otherwise, a peer that repeats its SYN would keep a half-open
    /// connection forever.
    fn start_retransmission_timer(&mut self, pin: &Pin) {
        let is_first = pin.span().start == 0 && self.synchronized().is_some();
        if is_first || !self.timers.is_running(Timer::Retransmission) {
            self.start_rto();
        }
    }

    /// Adjusts the timers that depend on several conditions. Every event ends with this call.
    pub(super) fn settle(&mut self) {
        // Usually the peer's window is open and no timer must be started: skips `settle_persist`.
        let is_timed = self.timers.is_running(Timer::Retransmission) || self.snd.flight() == 0;
        let is_open = self.snd.wnd() >= self.eff_snd_mss();
        if is_timed && is_open && !self.timers.is_running(Timer::Persist) {
            self.persist.stop();
        } else if !self.is_closed() {
            self.settle_persist();
        }
        if let Some(timeout) = self.params.user_timeout {
            self.settle_user_timeout(timeout.get());
        }
    }

    /// Runs the persist timer if only the peer's window blocks data.
    #[inline(never)] // size
    fn settle_persist(&mut self) {
        if !self.is_held_by_window() {
            if self.timers.is_running(Timer::Persist) {
                self.timers.cancel(Timer::Persist);
                // The retransmission timer replaces the persist timer.
                self.restart_retransmission_timer();
            }
            // The count of probes is kept until the window opens.
            if self.snd.wnd() > 0 {
                self.persist.stop();
            }
            self.settle_retransmission();
            return;
        }
        let turns = self.persist.on_window(self.snd.wnd() > 0);
        let waits = self.persist.is_due() || self.timers.is_running(Timer::Persist);
        if turns || !waits {
            self.timers.cancel(Timer::Retransmission);
            let max = self.params.max_rto.get();
            let interval = self.persist.interval(self.rto_ms(), max);
            self.timers.start(Timer::Persist, interval);
        }
    }

    /// Starts the retransmission timer if data are outstanding again although it is off: a timeout
    /// was undone, or data that the link lost were reported received.
    fn settle_retransmission(&mut self) {
        let on_its_way = self.synchronized().is_some()
            && self.snd.flight() > 0
            && self.pins.is_empty()
            && !self.would_repair();
        if on_its_way && !self.timers.is_running(Timer::Retransmission) {
            self.start_rto();
        }
    }

    fn settle_user_timeout(&mut self, timeout: u32) {
        if self.is_closed() {
            return;
        }
        if self.snd.una == self.snd.nxt && self.outbox.end() <= self.snd.nxt {
            self.timers.cancel(Timer::User);
        } else if !self.timers.is_running(Timer::User) {
            self.timers.start(Timer::User, timeout);
        }
    }
}
