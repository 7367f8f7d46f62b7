//! A segment arrives (RFC 9293 §3.10.7).

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

/// A step of segment processing: go on, or be done with the segment.
pub(super) type Step = ControlFlow<()>;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// A segment for this connection arrived.
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

    /// RFC 9293 §3.10.7.1: CLOSED STATE.
    fn closed_state(&mut self, seg: &Segment<'_>) -> Step {
        self.answer_by_reset(seg)
    }

    /// RFC 9293 §3.10.7.4: Other States.
    #[inline(never)] // size
    fn other_states(&mut self, meta: &IpMeta, seg: &Segment<'_>) -> Step {
        self.check_timestamp(seg)?; // RFC 7323 §5.3: before all others
        let is_predicted = self.is_predicted(seg);
        if !is_predicted {
            self.check_sequence(seg)?; // first
            self.check_rst(seg)?; // second
            // Third, check security: there is none.
            self.check_syn(seg)?; // fourth
        }
        self.check_ack(seg)?; // fifth
        self.remember_timestamp(seg);
        self.note_mark(meta, seg);
        if is_predicted {
            return self.process_text(seg);
        }
        self.heed_user_timeout(seg);
        // Sixth, check the URG bit: it is ignored.
        self.process_text(seg)?; // seventh
        self.process_fin(seg) // eighth
    }

    /// Header prediction: in a transfer nearly every segment is the next one,
    /// or an acknowledgment beside it, and says nothing else. Then most steps
    /// have nothing to check.
    fn is_predicted(&self, seg: &Segment<'_>) -> bool {
        let flags = seg.flags.with(Flags::PSH);
        flags == Flags::ACK.with(Flags::PSH)
            && seg.seq == self.rcv.nxt
            && self.synchronized() == Some(Synchronized::Established)
            && seg.options.user_timeout.is_none()
            && !self.inbox.has_fin()
    }

    /// RFC 7323 §5.3, R1, and §3.2 on segments without the option.
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
        // The sender of a SYN may have forgotten this connection and all of its
        // timestamps. RFC 5961 §4.2 tells it, whatever it says.
        if seg.flags.syn() {
            return self.challenge();
        }
        self.stats.count(|stats| &mut stats.bad_segments);
        // "If a non-<RST> segment is received without a TSopt, a TCP SHOULD
        // silently drop the segment."
        if is_old.is_some() {
            self.answer_unacceptable(seg);
        }
        Break(())
    }

    /// RFC 7323 §5.3, R3. Not before the other checks: what a blind attacker
    /// can send must not move TS.Recent. §5.2: nothing is taken from a reset.
    fn remember_timestamp(&mut self, seg: &Segment<'_>) {
        if let Some(theirs) = seg.options.timestamps {
            self.ts
                .on_acceptable(theirs, seg.seq, self.rcv.nxt, self.timers.now());
        }
    }

    /// RFC 5482 §3.1: what the peer wants, when it has passed the checks.
    pub(super) fn heed_user_timeout(&mut self, seg: &Segment<'_>) {
        if seg.options.user_timeout.is_some() {
            self.adopt_user_timeout(seg.options.user_timeout);
        }
    }

    /// RFC 3168 §6.1.3 and §6.1.5: a mark counts on data inside the window.
    fn note_mark(&mut self, meta: &IpMeta, seg: &Segment<'_>) {
        if !seg.payload.is_empty() {
            self.ecn.on_data(meta.ecn, seg.flags);
        }
    }

    /// First, check sequence number.
    fn check_sequence(&mut self, seg: &Segment<'_>) -> Step {
        if !seg.flags.rst() && self.is_peers_syn_again(seg) {
            // RFC 3168 §6.1.1: one SYN without ECN-setup is enough to refuse.
            self.ecn.on_peer_syn(seg.flags, seg.flags.ack());
            // Simultaneous open: the peer's SYN comes again with its ACK. "Old
            // portions" are trimmed off, and that is the SYN.
            if seg.flags.ack() {
                return Continue(());
            }
            // Our answer was lost, or is slow. With text or a FIN this SYN
            // reaches into the window, and has the same answer.
            if let Some(syn) = self.phase.our_syn() {
                syn.due = true;
            }
            return Break(());
        }
        // RFC 5961 §3.2: a reset's own sequence number is what counts.
        let len = if seg.flags.rst() { 0 } else { seg.len() };
        if self.rcv.accepts(seg.seq, len) && !self.is_beyond_the_end(seg.seq) {
            return Continue(());
        }
        if seg.flags.rst() {
            self.stats.count(|stats| &mut stats.bad_segments);
            return Break(());
        }
        // Eighth step, in TIME-WAIT: the peer's FIN comes again.
        if self.synchronized() == Some(Synchronized::TimeWait)
            && seg.flags.fin()
            && seg.end() == self.rcv.nxt
        {
            self.prolong_time_wait();
        }
        if seg.flags.syn() {
            // RFC 5961 §4.2: "irrespective of the sequence number".
            return self.challenge();
        }
        self.answer_unacceptable(seg);
        self.check_ack_at_the_edge(seg)
    }

    /// Whether the connection is in TIME-WAIT and `seq` is at the edge, where an
    /// empty segment is otherwise accepted for its acknowledgment.
    fn is_beyond_the_end(&self, seq: SeqNum) -> bool {
        seq == self.rcv.edge()
            && seq != self.rcv.nxt
            && self.synchronized() == Some(Synchronized::TimeWait)
    }

    /// RFC 9293 §3.10.7.4: with a window of zero "special allowance should be
    /// made to accept valid ACKs".
    ///
    /// Two ends that probe each other's closed window would else never hear of
    /// each other again: a probe may have been taken whose acknowledgment was
    /// lost, and what its sender says then comes from one number below.
    fn check_ack_at_the_edge(&mut self, seg: &Segment<'_>) -> Step {
        if seg.seq == self.rcv.nxt || seg.seq + 1 == self.rcv.nxt {
            self.check_ack(seg)?;
        }
        Break(())
    }

    /// Whether this is the SYN that we know, while ours is not acknowledged.
    fn is_peers_syn_again(&self, seg: &Segment<'_>) -> bool {
        match self.phase {
            Phase::SynReceived(state) => {
                // Text that waits for the handshake is not acknowledged.
                let text = if state.passive { state.text } else { 0 };
                seg.flags.syn() && seg.seq + 1 + u32::from(text) == self.rcv.nxt
            }
            _ => false,
        }
    }

    /// "If an incoming segment is not acceptable, an acknowledgment should be
    /// sent in reply."
    ///
    /// At a limited rate: two ends must not answer each other's answers for ever,
    /// and whoever repeats an old segment must not have an answer to each. Text and
    /// FIN are answered more often: the peer may have lost our acknowledgments.
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

    /// A reset answers a segment that makes no sense here, at a limited rate.
    pub(super) fn answer_by_reset(&mut self, seg: &Segment<'_>) -> Step {
        if self.challenge.admit(self.timers.now()) {
            self.reset = Reset::answering(seg).or(self.reset);
        }
        Break(())
    }

    /// RFC 5961: answers with an ACK, at a limited rate, and drops.
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
        // RFC 5961 §3.2: only a reset exactly at RCV.NXT is obeyed. (One
        // outside the window was dropped in the first step.)
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
            // "If the connection was initiated with a passive OPEN, then
            // return this connection to the LISTEN state."
            Phase::SynReceived(state) if state.passive => {
                self.fail(Error::Reset);
                Break(())
            }
            // RFC 5961 §4.2: a challenge ACK, irrespective of the number.
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

    /// RFC 5961 §5.2: a challenge ACK. But where a connection was just taken up from what was
    /// written down, and the peer has bytes that were never sent, that was a copy which the
    /// connection has outlived. It is one of RFC 9293 §3.5.1, desynchronized by a loss of
    /// memory, and knows that it is: it ends, before it says other things under numbers that
    /// the peer has heard.
    fn refuse_ack(&mut self, seg: &Segment<'_>) -> Step {
        if self.marks.has(Marks::THAWED) && self.snd.una < seg.ack {
            self.fail(Error::Reset);
            return self.answer_by_reset(seg);
        }
        self.challenge()
    }

    /// The peer is there: a segment of its came through the checks.
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
            // A window probe, or text beyond a FIN: say what is expected.
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

    /// Eighth, check the FIN bit; also a FIN whose gap was filled just now.
    ///
    /// A FIN exactly at the right edge of the window is taken: it needs no
    /// buffer, and refusing it would cost the peer a timeout.
    pub(super) fn process_fin(&mut self, seg: &Segment<'_>) -> Step {
        if !self.synchronized().is_some_and(Synchronized::may_receive) {
            // The peer's stream is at its end: another FIN is only acknowledged.
            if seg.flags.fin() {
                self.answer_unacceptable(seg);
            }
            return Break(());
        }
        let fin = seg.end() - 1;
        if seg.flags.fin() && self.rcv.nxt <= fin && fin <= self.rcv.edge() {
            self.inbox.on_fin(self.rcv.nxt, fin);
            // Answered at once, be it in order or beyond a gap.
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
