//! The ordered list of reasons to send a segment (RFC 9293 §3.8.6, RFC 5681, RFC 6675 §5).

use redpoll_base::Bytes;
use redpoll_wire::tcp::HeaderView;

use super::Connection;
use super::marks::Marks;
use crate::congestion::Congestion;
use crate::options;
use crate::send::{PinKind, SendStore};
use crate::state::{Phase, Synchronized};
use crate::timers::Timer;
use crate::{Algorithms, Flags, SeqNum, SeqRange};

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seq: SeqNum,
    /// Payload in bytes.
    pub(super) len: u32,
    pub(super) flags: Flags,
    pub(super) kind: PinKind,
}

impl Plan {
    /// Plans a segment that occupies no sequence numbers: without data, SYN or FIN.
    fn empty(seq: SeqNum) -> Plan {
        Plan {
            seq,
            len: 0,
            flags: Flags::ACK,
            kind: PinKind::First,
        }
    }

    pub(super) fn range(&self) -> SeqRange {
        let controls = u32::from(self.flags.syn()).wrapping_add(u32::from(self.flags.fin()));
        SeqRange::new(self.seq, self.seq + self.len.wrapping_add(controls))
    }

    pub(super) fn is_pure_ack(&self) -> bool {
        self.range().is_empty()
    }
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    pub(super) fn reason_to_send(&self, max_len: usize) -> Option<Plan> {
        self.handshake(max_len)
            .or_else(|| self.duplicate_ack())
            .or_else(|| self.retransmission(max_len))
            .or_else(|| self.loss_probe(max_len))
            .or_else(|| self.new_data(max_len))
            .or_else(|| self.window_probe(max_len))
            .or_else(|| self.keepalive_probe())
            .or_else(|| self.acknowledgment())
    }

    /// Plans our SYN, without ACK in SYN-SENT and with ACK in SYN-RECEIVED.
    fn handshake(&self, max_len: usize) -> Option<Plan> {
        let (syn, flags, len) = match self.phase {
            Phase::SynSent(state) => (state.syn, Flags::SYN, self.syn_data(max_len)),
            Phase::SynReceived(state) => (state.syn, Flags::SYN.with(Flags::ACK), 0),
            Phase::Synchronized(_) | Phase::Closed(_) => return None,
        };
        let with_the_link = self.pins.covers(0);
        let again = self.snd.nxt != self.snd.una;
        (syn.due && !with_the_link && !self.link.is_resting()).then_some(Plan {
            seq: self.snd.una,
            len,
            flags,
            kind: if again {
                PinKind::Again
            } else {
                PinKind::First
            },
        })
    }

    /// Plans a duplicate ACK that reports a gap (RFC 5681 §4.2); it must not contain data.
    fn duplicate_ack(&self) -> Option<Plan> {
        // With SACK the peer does not count duplicates, and every segment reports the gap.
        let owed = self.acks.owes_duplicate() && self.synchronized().is_some();
        owed.then(|| Plan::empty(self.snd.nxt))
    }

    fn retransmission(&self, max_len: usize) -> Option<Plan> {
        if !self.board.has_lost() || self.is_new_data_first(max_len) {
            return None;
        }
        let una = self.snd.una;
        let lost = self.board.first_lost(|run| self.pins.unpinned_part(run));
        let lost = lost.range(una);
        // Probes handle a closed window. Old data may exceed a window that shrank (RFC 9293 §3.8.6,
        // MAY-7).
        if lost.is_empty() || self.snd.wnd() == 0 || !self.may_send_sequence() {
            return None;
        }
        // RFC 9293 §3.8.6: a retransmission may be packaged differently. If it ends at SND.NXT, new
        // data fill up the segment.
        let data_end = self.outbox.end();
        let sendable = data_end.min(self.snd.una + self.snd.wnd());
        let limit = if lost.end == self.snd.nxt {
            lost.end.max(sendable)
        } else {
            lost.end
        };
        let len = limit
            .min(data_end)
            .since(lost.start)
            .min(self.mss_for(max_len));
        let fin = lost.end > data_end && lost.start + len == data_end;
        let plan = self.data_plan(lost.start, len, fin, PinKind::Again);
        let may = self.episode.is_urgent() || self.fits_cwnd(&plan);
        (may && !plan.range().is_empty()).then_some(plan)
    }

    pub(super) fn would_repair(&self) -> bool {
        self.retransmission(usize::MAX).is_some()
    }

    /// Returns whether new data precede retransmissions, after a timeout that may be spurious (RFC
    /// 5682 §2.1, step 2b).
    fn is_new_data_first(&self, max_len: usize) -> bool {
        let tries = self.episode.tries_new_data(self.snd.flight());
        tries.is_some_and(|some_went| some_went || self.new_data(max_len).is_some())
    }

    /// Plans a tail loss probe, regardless of cwnd (RFC 8985 §7.3): new data if there are any and
    /// the peer's window allows it, otherwise the last segment that the peer has not reported.
    fn loss_probe(&self, max_len: usize) -> Option<Plan> {
        if !self.tlp.is_due() || !self.pins.is_empty() || !self.may_send_sequence() {
            return None;
        }
        let (nxt, data_end) = (self.snd.nxt, self.outbox.end());
        let mss = self.mss_for(max_len);
        let new = (data_end - nxt).min(self.snd.room_from(nxt)).min(mss);
        if new > 0 {
            return Some(self.data_plan(nxt, new, false, PinKind::First));
        }
        let sent = if self.episode.is_open() {
            SeqRange::new(self.snd.una, nxt)
        } else {
            // RFC 6675 §4, rule 4: in recovery, the probe includes "the highest outstanding
            // unSACKed sequence number".
            self.board.last_in_flight().range(self.snd.una)
        };
        let fin = self.marks.has(Marks::CLOSING) && sent.end > data_end;
        let end = sent.end.min(data_end);
        let len = (end - sent.start).min(mss);
        let plan = self.data_plan(end - len, len, fin, PinKind::Again);
        (!plan.range().is_empty()).then_some(plan)
    }

    /// Plans data that were not sent before, and a FIN after them.
    fn new_data(&self, max_len: usize) -> Option<Plan> {
        if !self.has_unsent() {
            return None;
        }
        let start = self.snd.nxt;
        let tries_new = self.episode.tries_new_data(self.snd.flight()).is_some();
        let old_first = self.board.has_lost() && !tries_new;
        let blocked = old_first || self.pins.covers(self.snd.flight());
        if blocked || !self.may_send_sequence() {
            return None;
        }
        let (unsent, window) = (self.outbox.end().since(start), self.snd.room_from(start));
        let mss = self.mss_for(max_len);
        let len = unsent.min(window).min(mss);
        let fin = self.fin_is_unsent() && len == unsent && window > len;
        let plan = self.data_plan(start, len, fin, PinKind::First);
        if !self.is_worth_sending(&plan, unsent, mss) || !self.fits_cwnd(&plan) {
            return None;
        }
        if self.would_wait(&plan, mss) {
            return Some(self.data_plan(start, len.div_ceil(2), false, PinKind::First));
        }
        Some(plan)
    }

    /// Returns whether the segment would wait alone for a delayed ACK: it is the last one, and an
    /// even number of segments is outstanding. The peer acknowledges every second segment at once
    /// (RFC 5681 §4.2), so two halves would not wait. Only full-sized segments are split, because
    /// their halves take hardly more frames. The Nagle algorithm must be off: then the application
    /// prefers low delay to few segments. A FIN is answered at once anyway.
    fn would_wait(&self, plan: &Plan, mss: u32) -> bool {
        let is_last = plan.flags.contains(Flags::PSH) && !plan.flags.fin();
        !self.marks.has(Marks::NAGLE) && is_last && plan.len >= mss && self.board.is_even()
    }

    /// Returns whether the segment avoids silly windows (RFC 9293 §3.8.6.2.1, rules 1 to 3).
    /// [`window_probe`](Self::window_probe) implements the fourth rule.
    fn is_worth_sending(&self, plan: &Plan, unsent: u32, mss: u32) -> bool {
        if plan.range().is_empty() {
            return false;
        }
        // RFC 9293 §3.8.6.2.1, rule 1: the segment is full-sized.
        if plan.len >= mss {
            return true;
        }
        // RFC 9293 brackets the Nagle condition in rules 2 and 3. No data follow a FIN.
        let nagle_holds = self.marks.has(Marks::NAGLE) && !plan.flags.fin() && self.nagle.holds();
        // RFC 9293 §3.8.6.2.1, rule 2: the segment has all remaining data. Rule 3: the segment
        // fills half of the largest window that the peer has offered.
        let all = plan.len == unsent;
        let half = plan.len >= self.snd.max_wnd() / 2;
        !nagle_holds && (all || half)
    }

    /// Plans a window probe: one octet into a closed window (RFC 9293 §3.8.6.1), or, as the
    /// override of §3.8.6.2.1, as much as fits in a small window.
    fn window_probe(&self, max_len: usize) -> Option<Plan> {
        if !self.persist.is_due() || !self.pins.is_empty() || !self.may_send_sequence() {
            return None;
        }
        let old = self.board.has_lost();
        let start = if old { self.snd.una } else { self.snd.nxt };
        let unsent = self.outbox.end() - start;
        let window = self.snd.room_from(start);
        let (most, kind) = match window {
            0 => (1, PinKind::Probe),
            open if old => (open.min(self.mss_for(max_len)), PinKind::Again),
            open => (open.min(self.mss_for(max_len)), PinKind::First),
        };
        let len = unsent.min(most);
        // If only the FIN is unsent, the probe carries the FIN instead of an octet.
        let fin = self.marks.has(Marks::CLOSING) && unsent == 0;
        Some(self.data_plan(start, len, fin, kind)).filter(|plan| !plan.range().is_empty())
    }

    /// Plans a keep-alive probe (RFC 9293 §3.8.4): SEG.SEQ = SND.NXT-1 and no data.
    fn keepalive_probe(&self) -> Option<Plan> {
        let due = self.keepalive.is_due() && self.synchronized().is_some();
        due.then(|| Plan::empty(self.snd.nxt - 1))
    }

    /// Plans an acknowledgment: `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`.
    fn acknowledgment(&self) -> Option<Plan> {
        let may = !matches!(self.phase, Phase::SynSent(_) | Phase::Closed(_));
        (may && self.acks.is_due()).then(|| Plan::empty(self.snd.nxt))
    }

    fn data_plan(&self, seq: SeqNum, len: u32, fin: bool, kind: PinKind) -> Plan {
        let mut flags = Flags::ACK;
        // RFC 9293 §3.9.1.2, MUST-61: PSH "in the last buffered segment".
        if len > 0 && seq + len == self.outbox.end() {
            flags = flags.with(Flags::PSH);
        }
        if fin {
            flags = flags.with(Flags::FIN);
        }
        Plan {
            seq,
            len,
            flags,
            kind,
        }
    }

    /// Returns whether a segment that occupies sequence numbers may be made.
    fn may_send_sequence(&self) -> bool {
        self.synchronized().is_some_and(Synchronized::may_send)
            && !self.pins.is_full()
            && !self.link.is_resting()
    }

    /// Returns whether there are data or a FIN that were never sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.outbox.end() > self.snd.nxt || self.fin_is_unsent()
    }

    fn fin_is_unsent(&self) -> bool {
        self.marks.has(Marks::CLOSING) && self.snd.nxt <= self.outbox.end()
    }

    /// Returns the payload of a full-sized segment on a link that accepts `max_len` bytes.
    fn mss_for(&self, max_len: usize) -> u32 {
        let header = HeaderView::MIN_LEN.wrapping_add(usize::from(self.option_space()));
        let link = u32::try_from(max_len.saturating_sub(header)).unwrap_or(u32::MAX);
        // SACK blocks, whose number varies, reduce the payload (RFC 6691 §2).
        let sack = options::sack_space(self.sack_block_count());
        let segment = self.eff_snd_mss().min(link);
        let uto = match self.owed_user_timeout() {
            Some(_) => options::USER_TIMEOUT_LEN,
            None => 0,
        };
        segment
            .saturating_sub(u32::try_from(sack.saturating_add(uto)).unwrap_or(u32::MAX))
            .min(self.snd.most_at_once())
            .max(1)
    }

    /// Returns whether cwnd allows the segment (RFC 5681 §3.1). Data received beyond a gap do not
    /// count as in the network. This rule implements limited transmit (RFC 3042). A FIN does not
    /// count as a byte.
    #[inline(never)] // size
    fn fits_cwnd(&self, plan: &Plan) -> bool {
        self.in_flight().wrapping_add(plan.len) <= self.cc.cwnd()
    }

    /// Returns whether only the peer's window blocks data, so that the persist timer must run. A
    /// window that takes a full segment does not block.
    pub(super) fn is_held_by_window(&self) -> bool {
        let flight = self.snd.flight();
        let waits = if flight == 0 {
            self.has_unsent()
        } else {
            // With data in flight the retransmission timer runs, unless it has expired and the
            // window prevents the retransmission.
            self.board.front_is_lost()
                && (flight == self.board.lost() || !self.timers.is_running(Timer::Retransmission))
        };
        waits
            && self.pins.is_empty()
            && self.may_send_sequence()
            && !self.would_repair()
            && self.new_data(usize::MAX).is_none()
    }
}
