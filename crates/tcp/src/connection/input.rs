//! Processing of an arriving segment (RFC 9293 §3.10.7).

use core::ops::ControlFlow::{self, Break, Continue};

use redpoll_base::{Bytes, Instant};

use super::Connection;
use super::marks::Marks;
use crate::recv::Arrival;
use crate::reset::Reset;
use crate::send::SendStore;
use crate::state::{Cause, Phase, Synchronized};
use crate::timers::Timer;
use crate::{Algorithms, Error, Flags, IpMeta, Segment, SeqNum, SeqRange};

/// Result of a step of segment processing: continue, or stop.
pub(super) type Step = ControlFlow<()>;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Processes a segment of this connection.
    pub fn input(&mut self, now: Instant, meta: &IpMeta, seg: &Segment<'_>) {
        self.timers.enter(now);
        self.stats.count(|stats| &mut stats.segments_received);
        if !seg.payload.is_empty() {
            self.stats.count(|stats| &mut stats.data_segments_received);
        }
        let (Continue(()) | Break(())) = match self.phase {
            Phase::Closed(_) => self.closed_state(seg),
            Phase::SynSent(state) => self.syn_sent_state(seg, state),
            Phase::SynReceived(_) | Phase::Synchronized(_) => self.other_states(meta, seg),
        };
        self.settle();
    }

    /// Processes a segment in CLOSED (RFC 9293 §3.10.7.1).
    fn closed_state(&mut self, seg: &Segment<'_>) -> Step {
        self.answer_by_reset(seg)
    }

    /// Processes a segment in SYN-RECEIVED or a synchronised state (RFC 9293 §3.10.7.4).
    #[inline(never)] // size
    fn other_states(&mut self, meta: &IpMeta, seg: &Segment<'_>) -> Step {
        self.check_timestamp(seg)?; // before the others: RFC 7323 §5.3
        let is_predicted = self.is_predicted(seg);
        if !is_predicted {
            self.check_sequence(seg)?; // first
            self.check_rst(seg)?; // second
            // Third, check security: not implemented.
            self.check_syn(seg)?; // fourth
        }
        self.check_ack(seg)?; // fifth
        self.remember_timestamp(seg);
        self.note_mark(meta, seg);
        if is_predicted {
            return self.process_text(seg);
        }
        self.heed_user_timeout(seg);
        // Sixth, check the URG bit: ignored.
        self.process_text(seg)?; // seventh
        self.process_fin(seg) // eighth
    }

    /// Header prediction: returns whether the segment is the next one of a transfer, or a plain
    /// acknowledgment, as nearly all are. Most steps can be skipped then.
    fn is_predicted(&self, seg: &Segment<'_>) -> bool {
        let flags = seg.flags.with(Flags::PSH);
        flags == Flags::ACK.with(Flags::PSH)
            && seg.seq == self.rcv.nxt
            && self.synchronized() == Some(Synchronized::Established)
            && seg.options.user_timeout.is_none()
            && !self.inbox.has_fin()
    }

    /// Checks the timestamp (RFC 7323 §5.3, R1), and its presence (RFC 7323 §3.2).
    fn check_timestamp(&mut self, seg: &Segment<'_>) -> Step {
        // RFC 7323 §5.2: a reset is not subject to the check.
        if !self.ts.is_enabled() || seg.flags.rst() {
            return Continue(());
        }
        let now = self.timers.now();
        let is_old = seg.options.timestamps.map(|it| self.ts.is_old(it, now));
        if is_old == Some(false) {
            return Continue(());
        }
        // The sender of a SYN may have lost this connection and its timestamps. RFC 5961 §4.2
        // answers every such SYN.
        if seg.flags.syn() {
            return self.challenge();
        }
        self.stats.count(|stats| &mut stats.bad_segments);
        // RFC 7323 §3.2: "If a non-<RST> segment is received without a TSopt, a TCP SHOULD silently
        // drop the segment." A segment with an old timestamp is answered.
        if is_old.is_some() {
            self.answer_unacceptable(seg);
        }
        Break(())
    }

    /// Updates TS.Recent (RFC 7323 §5.3, R3), after the other checks, so that a blind attacker
    /// cannot change it. RFC 7323 §5.2: a reset does not update it.
    fn remember_timestamp(&mut self, seg: &Segment<'_>) {
        if let Some(theirs) = seg.options.timestamps {
            self.ts
                .on_acceptable(theirs, seg.seq, self.rcv.nxt, self.timers.now());
        }
    }

    /// Adopts the peer's user timeout (RFC 5482 §3.1) from a segment that passed the checks.
    pub(super) fn heed_user_timeout(&mut self, seg: &Segment<'_>) {
        if seg.options.user_timeout.is_some() {
            self.adopt_user_timeout(seg.options.user_timeout);
        }
    }

    /// Processes a mark on data inside the window (RFC 3168 §6.1.3 and §6.1.5).
    fn note_mark(&mut self, meta: &IpMeta, seg: &Segment<'_>) {
        if !seg.payload.is_empty() {
            self.ecn.on_data(meta.ecn, seg.flags);
        }
    }

    /// First, check sequence number.
    fn check_sequence(&mut self, seg: &Segment<'_>) -> Step {
        if !seg.flags.rst() && self.is_peers_syn_again(seg) {
            // RFC 3168 §6.1.1: one SYN without ECN-setup disables ECN.
            self.ecn.on_peer_syn(seg.flags, seg.flags.ack());
            // Simultaneous open: the peer repeats its SYN with an ACK. "Old portions" are trimmed,
            // here the SYN.
            if seg.flags.ack() {
                return Continue(());
            }
            // Our SYN-ACK was lost or is late. It is repeated, even if the peer's SYN also has data
            // or a FIN inside the window.
            if let Some(syn) = self.phase.our_syn() {
                syn.due = true;
            }
            return Break(());
        }
        // RFC 5961 §3.2: only the sequence number of a reset matters.
        let len = if seg.flags.rst() { 0 } else { seg.len() };
        if self.rcv.accepts(seg.seq, len) && !self.is_beyond_the_end(seg.seq) {
            return Continue(());
        }
        if seg.flags.rst() {
            self.stats.count(|stats| &mut stats.bad_segments);
            return Break(());
        }
        // Eighth step, in TIME-WAIT: the peer repeats its FIN.
        if self.synchronized() == Some(Synchronized::TimeWait)
            && seg.flags.fin()
            && seg.end() == self.rcv.nxt
        {
            self.prolong_time_wait();
        }
        if seg.flags.syn() {
            // RFC 5961 §4.2: a SYN elicits a challenge ACK "irrespective of the sequence number".
            return self.challenge();
        }
        self.answer_unacceptable(seg);
        self.check_ack_at_the_edge(seg)
    }

    /// Returns whether the state is TIME-WAIT and `seq` is at the right edge of the window. In
    /// other states, an empty segment at this edge is accepted for its acknowledgment.
    fn is_beyond_the_end(&self, seq: SeqNum) -> bool {
        seq == self.rcv.edge()
            && seq != self.rcv.nxt
            && self.synchronized() == Some(Synchronized::TimeWait)
    }

    /// Processes the ACK field of an unacceptable segment that starts at RCV.NXT or one sequence
    /// number below. RFC 9293 §3.10.7.4: with a window of zero "special allowance should be made to
    /// accept valid ACKs". Otherwise two ends that probe each other's closed window could deadlock.
    /// If the acknowledgment of an accepted probe is lost, the peer's further segments start one
    /// sequence number below RCV.NXT.
    fn check_ack_at_the_edge(&mut self, seg: &Segment<'_>) -> Step {
        if seg.seq == self.rcv.nxt || seg.seq + 1 == self.rcv.nxt {
            self.check_ack(seg)?;
        }
        Break(())
    }

    /// Returns whether `seg` repeats the peer's SYN while our SYN is not acknowledged.
    fn is_peers_syn_again(&self, seg: &Segment<'_>) -> bool {
        match self.phase {
            Phase::SynReceived(state) => {
                // RCV.NXT counts text of a Fast Open, but not text queued in a simultaneous open.
                let text = if state.passive { state.text } else { 0 };
                seg.flags.syn() && seg.seq + 1 + u32::from(text) == self.rcv.nxt
            }
            _ => false,
        }
    }

    /// Answers an unacceptable segment. RFC 9293 §3.10.7.4: "an acknowledgment should be sent in
    /// reply". The rate is limited, so that two ends do not answer each other forever, and not
    /// every repeated old segment elicits an answer. The limit for text and FIN is higher, because
    /// our acknowledgments to the peer may have been lost.
    fn answer_unacceptable(&mut self, seg: &Segment<'_>) {
        let now = self.timers.now();
        let may = if seg.is_empty() {
            self.challenge.admit(now)
        } else {
            self.challenge.admit_text(now)
        };
        if !may {
            return;
        }
        let text = SeqRange::new(seg.seq, seg.seq + seg.payload.len() as u32);
        self.inbox.note_duplicate(self.rcv.nxt, text);
        if !text.is_empty() && text.start < self.rcv.nxt {
            self.acks.on_duplicate();
        } else {
            self.acks.require();
        }
    }

    /// Answers an unexpected segment with a reset, at a limited rate.
    pub(super) fn answer_by_reset(&mut self, seg: &Segment<'_>) -> Step {
        if self.challenge.admit(self.timers.now()) {
            self.reset = Reset::answering(seg).or(self.reset);
        }
        Break(())
    }

    /// Answers with a challenge ACK (RFC 5961), at a limited rate, and stops.
    fn challenge(&mut self) -> Step {
        self.stats.count(|stats| &mut stats.bad_segments);
        if self.challenge.admit(self.timers.now()) {
            self.stats.count(|stats| &mut stats.challenge_acks);
            self.acks.require();
        }
        Break(())
    }

    /// Second, check the RST bit.
    fn check_rst(&mut self, seg: &Segment<'_>) -> Step {
        if !seg.flags.rst() {
            return Continue(());
        }
        // RFC 5961 §3.2: only a reset exactly at RCV.NXT is accepted. (The first step dropped
        // resets outside the window.)
        if seg.seq != self.rcv.nxt {
            return if self.rcv.contains(seg.seq) {
                self.challenge()
            } else {
                Break(())
            };
        }
        match self.phase {
            Phase::SynReceived(state) if !state.passive => self.fail(Error::Refused),
            Phase::Synchronized(Synchronized::TimeWait) => self.closed(),
            _ => self.fail(Error::Reset),
        }
        Break(())
    }

    /// Fourth, check the SYN bit.
    fn check_syn(&mut self, seg: &Segment<'_>) -> Step {
        if !seg.flags.syn() || self.is_peers_syn_again(seg) {
            return Continue(());
        }
        match self.phase {
            // RFC 9293 §3.10.7.4: "If the connection was initiated with a passive OPEN, then return
            // this connection to the LISTEN state."
            Phase::SynReceived(state) if state.passive => {
                self.fail(Error::Reset);
                Break(())
            }
            // RFC 5961 §4.2: a challenge ACK answers a SYN with any sequence number.
            _ => self.challenge(),
        }
    }

    /// Fifth, check the ACK field.
    fn check_ack(&mut self, seg: &Segment<'_>) -> Step {
        if !seg.flags.ack() {
            return Break(());
        }
        match self.phase {
            Phase::SynReceived(state) => self.syn_received_ack(seg, state),
            // RFC 5961 §5.2: `(SND.UNA - MAX.SND.WND) =< SEG.ACK =< SND.NXT`.
            _ if !self.snd.is_plausible_ack(seg.ack) => self.refuse_ack(seg),
            _ => {
                self.marks.clear(Marks::THAWED);
                self.on_heard();
                self.acknowledge(seg)
            }
        }
    }

    /// Answers an unacceptable acknowledgment with a challenge ACK (RFC 5961 §5.2). A restored
    /// connection ends instead if the peer acknowledges bytes that were never sent. Such a
    /// connection was restored from an old copy, and is desynchronized by a loss of memory (RFC
    /// 9293 §3.5.1). It must not send different data with sequence numbers that the peer has
    /// already received.
    fn refuse_ack(&mut self, seg: &Segment<'_>) -> Step {
        if self.marks.has(Marks::THAWED) && self.snd.una < seg.ack {
            self.fail(Error::Reset);
            return self.answer_by_reset(seg);
        }
        self.challenge()
    }

    /// Records that a segment of the peer passed the checks.
    pub(super) fn on_heard(&mut self) {
        self.persist.on_heard();
        if matches!(self.synchronized(), Some(Synchronized::TimeWait) | None) {
            return;
        }
        if let Some(idle) = self.keepalive.on_heard(&self.params) {
            self.timers.start(Timer::Keepalive, idle);
        }
    }

    /// Seventh, process the segment text.
    pub(super) fn process_text(&mut self, seg: &Segment<'_>) -> Step {
        let receiving = self.synchronized().is_some_and(Synchronized::may_receive);
        if seg.payload.is_empty() || !receiving {
            return Continue(());
        }
        let seq = seg.seq + u32::from(seg.flags.syn());
        let before = self.rcv.nxt;
        let (nxt, arrival) = self.inbox.take(before, self.rcv.edge(), seq, seg.payload);
        self.rcv.advance(nxt);
        self.stats
            .add(|stats| &mut stats.bytes_received, nxt.since(before));
        match arrival {
            Arrival::Nothing if seq < before => self.acks.on_duplicate(),
            // A window probe, or text beyond a FIN: acknowledges what was received.
            Arrival::Nothing => self.acks.require(),
            Arrival::InOrder => {
                if self.acks.on_in_order(self.params.ack_every)
                    && !self.timers.is_running(Timer::DelayedAck)
                {
                    let delay = self.params.delayed_ack.get();
                    self.timers.start(Timer::DelayedAck, delay);
                }
            }
            Arrival::FilledGap => self.acks.on_gap_filled(),
            Arrival::OutOfOrder => {
                self.stats.count(|stats| &mut stats.out_of_order_segments);
                let with_sack = self.has_sack();
                self.acks.on_out_of_order(with_sack);
            }
        }
        if nxt != before {
            self.events.readable();
        }
        Continue(())
    }

    /// Processes the FIN bit (eighth step), or a FIN whose gap was just filled. A FIN exactly at
    /// the right edge of the window is accepted. It needs no buffer, and a refusal would cost the
    /// peer a timeout.
    pub(super) fn process_fin(&mut self, seg: &Segment<'_>) -> Step {
        if !self.synchronized().is_some_and(Synchronized::may_receive) {
            // The peer's data are complete: a further FIN is only acknowledged.
            if seg.flags.fin() {
                self.answer_unacceptable(seg);
            }
            return Break(());
        }
        let fin = seg.end() - 1;
        if seg.flags.fin() && self.rcv.nxt <= fin && fin <= self.rcv.edge() {
            self.inbox.on_fin(self.rcv.nxt, fin);
            // The FIN is acknowledged at once, in order or beyond a gap.
            self.acks.require();
        }
        if self.inbox.fin_is_next(self.rcv.nxt) {
            self.rcv.advance(self.rcv.nxt + 1);
            self.acks.require();
            self.events.peer_closed();
            self.transition(Cause::FinReceived);
        }
        Continue(())
    }
}
