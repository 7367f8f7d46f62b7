//! The fifth step in the synchronised states: what an acknowledgment means
//! (RFC 9293 §3.10.7.4, RFC 5681, RFC 6582, RFC 6298).

use core::ops::ControlFlow::{Break, Continue};

use redpoll_base::{Bytes, Instant};

use super::Connection;
use super::input::Step;
use crate::recovery::{DupAck, Loss, NewAck};
use crate::state::Cause;
use crate::stats::count;
use crate::timers::Timer;
use crate::{Segment, SeqNum, SeqRange};

impl<B: Bytes> Connection<B> {
    /// "ESTABLISHED STATE", and in addition what the other states add to it.
    pub(super) fn acknowledge(&mut self, now: Instant, seg: &Segment<'_>) -> Step {
        if self.snd.is_new_ack(seg.ack) {
            self.on_new_ack(now, seg);
        } else if self.is_duplicate_ack(seg) {
            self.on_duplicate_ack();
        }
        // "If SND.UNA =< SEG.ACK =< SND.NXT, the send window should be updated."
        if self.snd.una <= seg.ack {
            self.snd.update(seg);
        }
        if self.closing && self.snd.una > self.outbox.end() {
            self.transition(now, Cause::FinAcked);
        }
        if self.is_closed() {
            Break(())
        } else {
            Continue(())
        }
    }

    /// RFC 5681 §2, DUPLICATE ACKNOWLEDGMENT, (a) to (e).
    fn is_duplicate_ack(&self, seg: &Segment<'_>) -> bool {
        self.snd.flight() > 0
            && seg.is_empty()
            && seg.ack == self.snd.una
            && u32::from(seg.window) == self.snd.wnd
    }

    /// `SND.UNA < SEG.ACK =< SND.NXT`.
    fn on_new_ack(&mut self, now: Instant, seg: &Segment<'_>) {
        let bytes = self.acked_bytes(seg.ack);
        self.stats.bytes_acked = self.stats.bytes_acked.wrapping_add(bytes);
        self.measure_rtt(now, seg);

        self.snd.on_ack(seg.ack);
        self.resend.on_ack(seg.ack);
        self.nagle.on_ack(seg.ack);
        self.pins.on_ack(seg.ack);
        self.free_acked();
        self.rto.on_progress();
        self.link.on_sent();

        self.grow_or_repair(bytes);
        self.restart_retransmission_timer(now);
        self.timers.cancel(Timer::User);
    }

    /// The payload bytes that `ack` newly acknowledges: not the FIN.
    fn acked_bytes(&self, ack: SeqNum) -> u32 {
        ack.min(self.outbox.end()) - self.snd.una
    }

    /// Frees the bytes that are acknowledged and not pinned.
    pub(super) fn free_acked(&mut self) {
        let freed = self.outbox.free_before(self.pins.oldest(self.snd.una));
        if freed && self.starved {
            self.starved = false;
            self.events.writable();
        }
    }

    /// RFC 6298 §3 and RFC 7323 §4: a round-trip time, if this ACK gives one.
    pub(super) fn measure_rtt(&mut self, now: Instant, seg: &Segment<'_>) {
        let echoed = seg
            .options
            .timestamps
            .and_then(|theirs| self.ts.elapsed(theirs, now));
        if let Some(rtt) = self.rtt.on_ack(seg.ack, now, echoed) {
            self.rto.on_measurement();
            count(&mut self.stats.rtt_samples);
            self.stats.last_rtt = rtt;
        }
    }

    /// Congestion control and loss recovery after an ACK of `bytes` new bytes.
    fn grow_or_repair(&mut self, bytes: u32) {
        let mss = self.eff_snd_mss();
        match self.fast.on_new_ack(self.snd.una) {
            NewAck::Normal => self.cc.on_ack(bytes, mss),
            NewAck::Partial => {
                // RFC 6582 §3.2, step 3: "retransmit the first unacknowledged
                // segment".
                self.cc.on_partial_ack(bytes, mss);
                if self.fast.is_unrepaired(self.snd.una) {
                    self.resend_first(Loss::Fast);
                }
            }
            NewAck::Full => self.cc.on_full_ack(self.snd.flight(), mss),
        }
    }

    /// RFC 5681 §3.2 and RFC 6582 §3.2, steps 2 and 4.
    fn on_duplicate_ack(&mut self) {
        count(&mut self.stats.dup_acks_received);
        let mss = self.eff_snd_mss();
        let flight = self.snd.flight();
        let segments = flight.div_ceil(mss.max(1));
        match self.fast.on_dup_ack(self.snd.una, self.snd.nxt, segments) {
            DupAck::Wait => {}
            DupAck::Enter => {
                self.cc.on_fast_retransmit(flight, mss);
                self.resend_first(Loss::Fast);
            }
            DupAck::Inflate => self.cc.on_dup_ack(mss),
        }
    }

    /// The segment at SND.UNA is lost, unless the link has yet to send it.
    fn resend_first(&mut self, loss: Loss) {
        let end = (self.snd.una + self.eff_snd_mss()).min(self.snd.nxt);
        let first = self.pins.unpinned_part(SeqRange::new(self.snd.una, end));
        if first.start == self.snd.una {
            self.resend.add(first, loss);
        }
    }

    /// RFC 6298 §5.2 and §5.3.
    fn restart_retransmission_timer(&mut self, now: Instant) {
        if self.snd.flight() == 0 {
            self.timers.cancel(Timer::Retransmission);
        } else {
            self.timers.start(Timer::Retransmission, now, self.rto());
        }
    }
}
