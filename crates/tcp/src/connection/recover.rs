//! Consequences of acknowledgments, timers and reports of the link for losses and the congestion
//! window (RFC 5681, RFC 6582, RFC 6675, RFC 8985, RFC 9937).

use redpoll_base::Bytes;

use super::Connection;
use super::acknowledge::AckInfo;
use crate::Algorithms;
use crate::ahead::Span;
use crate::congestion::Congestion;
use crate::recovery::{DUP_THRESH, Evidence, Loss, Mode, Progress, Prr, Undo};
use crate::send::{SendStore, Tick};
use crate::timers::Timer;

/// Time in milliseconds, in addition to half a round trip, after which the peer is assumed to have
/// dropped data that it reported by SACK.
const LEAST_DOUBT_MS: u32 = 10;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Updates losses, cwnd and timers after an acknowledgment at or above SND.UNA.
    pub(super) fn respond(&mut self, info: &AckInfo) {
        if info.is_duplicate {
            self.stats.count(|stats| &mut stats.dup_acks_received);
        }
        let (mode, delivered) = (info.mode, self.delivered(info));
        let pipe = self.use_of_window(info.advance);
        let is_undone = self.undo_if_spurious(info);
        if info.is_over && !is_undone {
            self.on_recovered(mode);
        }
        let lost = self.find_losses(info);
        self.check_probe(info);
        self.heed_echo(info);
        match self.episode.mode() {
            // RFC 3168 §6.1.2: no growth on an ACK with ECE. RFC 4015 §3.4: "the value of cwnd must
            // not be changed any further for that ACK".
            Mode::Open | Mode::Timeout if info.is_marked || is_undone => {}
            // Growth depends on the mode in which the data were sent.
            Mode::Open | Mode::Timeout => self.grow(mode, info.advance, pipe),
            Mode::Fast => self.reduce_proportionally(delivered, info.advance > 0 && lost == 0),
        }
        if info.advance > 0 {
            self.restart_retransmission_timer();
        }
        if delivered > 0 {
            self.arm_probe();
        }
    }

    /// Returns DeliveredData (RFC 9937 §6.2).
    fn delivered(&self, info: &AckInfo) -> u32 {
        if self.has_sack() {
            info.delivered
        } else if info.is_duplicate {
            self.eff_snd_mss()
        } else {
            info.advance.wrapping_sub(info.told)
        }
    }

    /// Returns the estimate of the bytes in the network (RFC 9937 §6.2).
    pub(super) fn in_flight(&self) -> u32 {
        let in_flight = self.board.in_flight();
        if self.has_sack() {
            return in_flight;
        }
        // RFC 3042: before recovery, two segments may follow duplicate ACKs. RFC 5681 §3.2: in
        // recovery, the limit is "the number of outstanding segments", even if the peer repeats
        // ACKs.
        let mss = self.eff_snd_mss();
        let limit = match self.episode.mode() {
            Mode::Open | Mode::Timeout => mss.wrapping_mul(2),
            Mode::Fast => self.prr.recover_fs(),
        };
        in_flight.saturating_sub(self.episode.dup_acked(mss).min(limit))
    }

    /// Marks data as lost if this acknowledgment proves the loss. Returns the number of bytes.
    fn find_losses(&mut self, info: &AckInfo) -> u32 {
        if self.has_sack() {
            // RFC 8985 §6.2, step 4: a D-SACK widens the reordering window. After a timeout or a
            // probe it does not widen the window, because lost ACKs then suffice to make a segment
            // arrive twice.
            let by_time = info.mode != Mode::Timeout && !self.tlp.is_repeat();
            if by_time && info.dsack.is_some() {
                self.rack.on_dsack(self.snd.flight());
            }
            return self.detect_by_time(info.delivered);
        }
        let is_hole = if info.advance > 0 {
            // RFC 6582 §3.2, step 3: "retransmit the first unacknowledged segment", unless a report
            // of the link has caused that already.
            self.episode.mode() == Mode::Fast && !self.board.front_was_sent_again()
        } else {
            info.is_duplicate && self.episode.on_dup_ack()
        };
        let bytes = if is_hole { self.lose_first() } else { 0 };
        self.on_found(bytes, false, info.delivered)
    }

    /// Detects losses by time and sets the timer (RFC 8985 §6.2, step 5). `delivered` is the number
    /// of bytes that the current ACK delivered.
    pub(super) fn detect_by_time(&mut self, delivered: u32) -> u32 {
        if self.board.is_empty() {
            self.timers.cancel(Timer::Reordering);
            return 0;
        }
        let mss = self.eff_snd_mss();
        let reached = u32::from(DUP_THRESH).wrapping_sub(1).wrapping_mul(mss);
        let eager = !self.episode.is_open() || self.board.arrived() > reached;
        let (now, pins) = (self.tick(), &self.pins);
        if !self.has_rack() {
            // RFC 6675 §4: data are lost if "more than (DupThresh - 1) * SMSS bytes" beyond them
            // have arrived.
            let bytes = self.board.lose_before(reached, |span| pins.overlaps(span));
            return self.on_found(bytes, false, delivered);
        }
        let found = self.rack.detect(
            &mut self.board,
            now,
            eager,
            self.rtt.srtt().unwrap_or(0),
            self.episode.began(),
            |span| pins.overlaps(span),
        );
        match found.later {
            Some(ms) => self.timers.start(Timer::Reordering, ms.into()),
            None => self.timers.cancel(Timer::Reordering),
        }
        self.on_found(found.bytes, found.again, delivered)
    }

    /// Marks the segment at SND.UNA as lost, unless the link has yet to send it.
    fn lose_first(&mut self) -> u32 {
        let end = self.eff_snd_mss().min(self.snd.flight());
        let first = self.pins.unpinned_part(Span::new(0, end));
        if first.start == 0 {
            self.board.lose(first)
        } else {
            0
        }
    }

    /// Responds to `bytes` newly lost bytes; `again` if some of them had been retransmitted.
    /// Returns `bytes`.
    fn on_found(&mut self, bytes: u32, again: bool, delivered: u32) -> u32 {
        if bytes == 0 {
            return 0;
        }
        self.stats.on_loss(Loss::Fast);
        // RFC 5681 §4.3: the loss of a retransmission is a further sign of congestion.
        if self.episode.is_open() || again {
            self.enter_recovery(delivered);
        }
        self.hold_back();
        bytes
    }

    /// Starts or restarts fast recovery (RFC 9937 §6.1). `delivered` is the number of bytes that
    /// the current ACK delivered.
    pub(super) fn enter_recovery(&mut self, delivered: u32) {
        let flight = self.snd.flight();
        if self.episode.is_open() {
            self.undo = Undo::begin(self.snd.una, flight, self.cc.ssthresh());
        }
        self.cc.on_loss(&self.flow());
        self.ecn.on_reduced(self.snd.flight());
        if self.episode.mode() == Mode::Timeout {
            return self.episode.begin_again(self.tick());
        }
        self.episode.begin(flight, self.tick());
        let recover_fs = flight
            .saturating_sub(self.board.arrived())
            .wrapping_add(delivered);
        self.prr = Prr::begin(recover_fs);
        if !self.has_prr() {
            // RFC 6675 §5, step 4.2: cwnd = ssthresh.
            self.cc.set_cwnd(self.cc.ssthresh());
        }
        self.tlp.reset();
        self.timers.cancel(Timer::LossProbe);
    }

    /// Limits cwnd, so that data newly known to have left the network do not cause a burst.
    fn hold_back(&mut self) {
        if self.has_prr() && self.episode.mode() == Mode::Fast {
            let most = self.in_flight().wrapping_add(self.eff_snd_mss());
            self.cc.limit_cwnd(most.min(self.cc.ssthresh()));
        }
    }

    /// Reduces cwnd proportionally (RFC 9937 §6.2).
    fn reduce_proportionally(&mut self, delivered: u32, is_safe: bool) {
        if !self.has_prr() {
            return;
        }
        let progress = Progress {
            delivered: if self.has_sack() {
                delivered
            } else {
                self.prr.plausible(delivered)
            },
            in_flight: self.in_flight(),
            is_safe,
        };
        let (ssthresh, mss) = (self.cc.ssthresh(), self.eff_snd_mss());
        if let Some(cwnd) = self.prr.on_ack(progress, ssthresh, mss) {
            self.cc.set_cwnd(cwnd);
        }
    }

    /// Returns the maximum use of the window in this round trip, before `advance` bytes were
    /// acknowledged. Data that wait for the link count as well, because nothing is sent before the
    /// link has room.
    fn use_of_window(&mut self, advance: u32) -> u32 {
        let given = self.outbox.end() - self.snd.una;
        let used = given.min(self.snd.wnd()).wrapping_add(advance);
        self.pipe.on_ack(advance, used, self.snd.flight())
    }

    /// Increases cwnd (RFC 5681 §3.1, RFC 3465). RFC 7661 §4.3: a window of which the application
    /// uses less than half shows nothing about the path. It does not grow, which avoids a later
    /// burst.
    fn grow(&mut self, mode: Mode, bytes: u32, pipe: u32) {
        let flow = self.flow();
        if pipe.wrapping_mul(2) < self.cc.cwnd() {
            return self.cc.on_unfilled(bytes, &flow);
        }
        match mode {
            Mode::Open => self.cc.on_ack(bytes, 2, &flow),
            // RFC 3465 §2.3: L is 1 after a timeout.
            Mode::Timeout => self.cc.on_ack(bytes, 1, &flow),
            Mode::Fast => {}
        }
    }

    fn on_recovered(&mut self, mode: Mode) {
        if mode == Mode::Fast {
            self.cc.on_recovered(&self.flow());
        }
        self.rack.on_recovered();
    }

    /// Undoes the response to a spurious loss or timeout (RFC 3522, RFC 2883, RFC 5682; RFC 4015
    /// §3). Returns whether this ACK revealed one.
    fn undo_if_spurious(&mut self, info: &AckInfo) -> bool {
        // RFC 3522 §3.2, step 5: if all ACKs were lost, the timeout was justified.
        let is_first = info.advance > 0 && self.undo.on_first_ack(info.echo);
        let by_echo = is_first && info.dsack.is_none() && self.snd.una < self.snd.nxt;
        let by_dsack = info
            .dsack
            .is_some_and(|block| self.undo.on_dsack(block, self.eff_snd_mss()));
        let by_order = self.episode.is_in_doubt() && self.was_timeout_spurious(info);
        if by_order {
            self.rtt.on_hasty_timeout();
        }
        if !by_echo && !by_dsack && !by_order {
            return false;
        }
        let Some(pipe_prev) = self.undo.take() else {
            return false;
        };
        self.stats.count(|stats| &mut stats.undone_reductions);
        let mss = self.eff_snd_mss();
        // RFC 4015 §3.1, step 9: cwnd is not restored if the ACK reports congestion.
        if !info.is_marked {
            self.cc.on_undone(pipe_prev, info.advance, &self.flow());
        }
        // At least one segment, because PRR may have left a smaller cwnd.
        self.cc.set_cwnd(self.cc.cwnd().max(mss));
        self.episode.cancel();
        self.board.take_back();
        true
    }

    /// Evaluates an acknowledgment after a timeout (RFC 5682).
    fn was_timeout_spurious(&mut self, info: &AckInfo) -> bool {
        // A gap that SACK reports excludes a spurious timeout.
        let is_repaired = self.board.arrived() == 0 && !self.board.front_was_sent_again();
        self.episode.judge(Evidence {
            is_news: info.delivered > 0,
            is_advance: info.advance > 0,
            is_duplicate: info.is_duplicate,
            is_partial: info.advance > 0 && self.episode.is_partial() && is_repaired,
            has_sack: self.has_sack(),
            is_beyond: self.episode.is_beyond(self.rack.fack()),
        })
    }

    /// Responds to an echo of a mark (RFC 3168 §6.1.2, RFC 8511): a queue on the path is filling
    /// up. The response is milder than to a loss, because the queue has not dropped a packet yet.
    /// There is one response per window, to losses or marks.
    fn heed_echo(&mut self, info: &AckInfo) {
        if info.is_marked && self.ecn.is_news() {
            if self.episode.is_open() {
                self.stats.count(|stats| &mut stats.ecn_reductions);
                self.cc.on_mark(&self.flow());
                // This reduction is justified: no later ACK undoes this or an earlier reduction.
                self.undo = Undo::default();
            }
            self.ecn.on_reduced(self.snd.flight());
        }
    }

    /// Evaluates a tail loss probe (RFC 8985 §7.4.2). In recovery, the probe repaired the loss of a
    /// retransmission, a further sign of congestion (RFC 5681 §4.3).
    fn check_probe(&mut self, info: &AckInfo) {
        let (una, advance) = (self.snd.una - info.advance, info.advance);
        let is_repaired = self.tlp.on_ack(una, advance, info.dsack, info.is_bare);
        if !is_repaired {
            return;
        }
        let is_in_recovery = !self.episode.is_open();
        self.enter_recovery(info.delivered);
        if !is_in_recovery {
            self.episode.cancel();
            self.cc.on_recovered(&self.flow());
        }
    }

    /// Returns whether there are data for a loss probe: new data that the peer's window permits, or
    /// old data. Old data are probed outside recovery if no gap is known, and in fast recovery if
    /// all lost data were retransmitted. After a timeout there is no probe.
    fn can_probe(&self) -> bool {
        let has_old = match self.episode.mode() {
            Mode::Open => self.board.in_flight() == self.snd.flight(),
            Mode::Fast => !self.board.has_lost(),
            Mode::Timeout => return false,
        };
        let nxt = self.snd.nxt;
        has_old || self.outbox.end() > nxt && self.snd.room_from(nxt) > 0
    }

    /// Starts the tail loss probe's timer after new data were sent or acknowledged (RFC 8985 §7.2).
    ///
    /// The RFC sends no probe in recovery, because the data in flight elicit ACKs. In low-power
    /// networks only about two segments are in flight, and ACKs are lost, too. If the send buffer
    /// is full, one lost segment or ACK would leave only the retransmission timer. So fast recovery
    /// has a probe: new data, or old data as in RFC 6675 §4, rule 4 (ADR 66).
    ///
    /// Before the first RTT measurement the timer is not started. RFC 8985 §7.2 requires a timer of
    /// 1 s, but §7.3 forbids its probe, so it would only delay the retransmission timer.
    pub(super) fn arm_probe(&mut self) {
        let may = self.has_tail_probes()
            && self.has_sack()
            && !self.tlp.is_active()
            && self.snd.flight() > 0
            && self.can_probe();
        let Some(srtt) = self.rtt.srtt().filter(|_| may) else {
            return self.timers.cancel(Timer::LossProbe);
        };
        let mut pto = u32::from(srtt).wrapping_mul(2);
        if self.snd.flight() <= self.eff_snd_mss() {
            pto = pto.wrapping_add(self.params.delayed_ack.get());
        }
        if let Some(rto) = self.timers.remaining(Timer::Retransmission) {
            pto = pto.min(rto);
        }
        self.timers.start(Timer::LossProbe, pto);
    }

    /// Processes the timeout of the probe timer (RFC 8985 §7.3).
    pub(super) fn on_probe_timeout(&mut self) {
        // Data that the link has yet to send serve as the probe.
        if self.pins.is_empty() && self.can_probe() {
            self.tlp.on_timeout();
        }
        // RFC 8985 §7.3: "The sender MUST re-arm the RTO timer."
        self.restart_retransmission_timer();
    }

    /// Restarts or stops the retransmission timer (RFC 6298 §5.2 and §5.3).
    pub(super) fn restart_retransmission_timer(&mut self) {
        if self.snd.flight() == 0 {
            self.timers.cancel(Timer::Retransmission);
        } else if self.board.front_has_arrived() {
            // RFC 2018 §8: a peer that does not acknowledge data which it reported by SACK may have
            // dropped these data. Reordered ACKs look the same, and half a round trip
            // distinguishes the cases.
            let half = u32::from(self.rtt.srtt().unwrap_or(0)) / 2;
            let patience = half.wrapping_add(LEAST_DOUBT_MS);
            self.timers.start(Timer::Retransmission, patience);
        } else {
            self.start_rto();
        }
    }

    pub(super) fn start_rto(&mut self) {
        self.timers.start(Timer::Retransmission, self.rto_ms());
    }

    /// Processes an expiry of the retransmission timer; `is_first` for the first expiry since
    /// SND.UNA advanced.
    pub(super) fn enter_timeout_recovery(&mut self, is_first: bool) {
        let (flight, tick) = (self.snd.flight(), self.tick());
        if is_first && self.episode.is_open() {
            self.undo = Undo::begin(self.snd.una, flight, self.cc.ssthresh());
        }
        self.cc.on_timeout(is_first, &self.flow());
        self.ecn.on_reduced(self.snd.flight());
        // Timestamps reveal a spurious timeout sooner, by the first acknowledgment.
        let doubt = !self.ts.is_enabled() && self.algorithms.doubts_timeouts();
        self.episode.on_timeout(flight, tick, doubt);
        self.stats.on_loss(Loss::Timeout);
        self.tlp.reset();
        self.timers.cancel(Timer::LossProbe);
        self.timers.cancel(Timer::Reordering);
        // RFC 2018 §8: a peer that has the first segment and does not acknowledge it has dropped
        // what it reported by SACK.
        if self.board.front_has_arrived() {
            self.board.forget_arrived();
        }
        // RFC 8985 §6.3. All segments count as lost if their state is unknown for lack of SACK, or
        // if the last one was sent too long ago ([`Tick::REACH_MS`]) for a comparison of ticks.
        self.lose_first();
        let silent_ms = self.timers.now().wrapping_sub(self.last_sent);
        let by_time = self.has_rack() && self.has_sack() && silent_ms < Tick::REACH_MS;
        for (span, stretch) in self.board.walk(Span::ALL) {
            let is_held = self.pins.overlaps(span);
            if !is_held && (!by_time || self.rack.is_overdue(stretch, tick)) {
                stretch.lose();
            }
        }
        self.rack.on_break();
    }

    /// Marks `span` as lost after the link gave it up; `again` if it was a retransmission. This has
    /// the effect of three duplicate ACKs.
    pub(super) fn on_link_loss(&mut self, span: Span, again: bool) {
        if self.board.lose(span) == 0 {
            return;
        }
        if self.episode.is_open() {
            self.enter_recovery(0);
        }
        self.stats.on_loss(Loss::Link);
        if again {
            self.episode.on_not_retransmitted();
        }
        self.hold_back();
    }
}
