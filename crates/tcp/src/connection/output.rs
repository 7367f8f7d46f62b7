//! What to send: one ordered list of reasons, and the making of a segment.

use redpoll_base::{Bytes, Ecn, Instant};

use super::Connection;
use super::marks::Marks;
use crate::ahead::{Ahead, Span};
use crate::header::{self, Fields, Flags, Header};
use crate::options::{self, MAX_OPTIONS, SACK_HEAD};
use crate::recovery::Loss;
use crate::reset::Reset;
use crate::send::{PinKind, SendStore, Tick, Token};
use crate::state::{Phase, Synchronized};
use crate::timers::Timer;
use crate::{Extra, Options, SackBlocks, SeqNum, SeqRange, UserTimeout};

/// A segment that the link is to send: the header as it was when the segment
/// was made, and the name of the payload.
#[derive(Clone, Debug)]
pub struct SegmentDesc {
    /// Names the segment in [`read`](Connection::read),
    /// [`on_segment_sent`](Connection::on_segment_sent) and
    /// [`on_segment_lost`](Connection::on_segment_lost).
    pub token: Token,
    /// The encoded header; its checksum covers the payload.
    pub header: Header,
    /// Length of the payload in bytes.
    pub payload_len: u16,
    /// What the IP header's ECN field shall say.
    pub ecn: Ecn,
}

impl From<Header> for SegmentDesc {
    /// A segment without payload that no connection made, and none wants to
    /// hear of.
    fn from(header: Header) -> Self {
        SegmentDesc {
            token: Token::UNPINNED,
            header,
            payload_len: 0,
            ecn: Ecn::NotEct,
        }
    }
}

/// A segment that there is a reason to send.
#[derive(Clone, Copy, Debug)]
struct Plan {
    seq: SeqNum,
    /// Payload bytes.
    len: u32,
    flags: Flags,
    kind: PinKind,
}

/// A segment that was decided on, but for its bytes.
#[derive(Debug)]
struct Draft {
    token: Token,
    fields: Fields,
    payload: SeqRange,
    ecn: Ecn,
}

impl Plan {
    /// A segment that occupies no sequence number.
    fn empty(seq: SeqNum) -> Plan {
        Plan {
            seq,
            len: 0,
            flags: Flags::ACK,
            kind: PinKind::First,
        }
    }

    /// The sequence numbers that the segment occupies.
    fn range(&self) -> SeqRange {
        let controls = u32::from(self.flags.syn()).saturating_add(u32::from(self.flags.fin()));
        SeqRange::new(self.seq, self.seq + self.len.saturating_add(controls))
    }

    fn is_pure_ack(&self) -> bool {
        self.range().is_empty()
    }
}

impl<B: Bytes, S: SendStore> Connection<B, S> {
    /// The next segment to send, or `None` if there is nothing to send now.
    ///
    /// `max_len` is how many bytes of TCP header and payload the link takes;
    /// 60 or more. Each segment ends with exactly one call of
    /// [`on_segment_sent`](Self::on_segment_sent) or
    /// [`on_segment_lost`](Self::on_segment_lost). The link may hold at most
    /// four segments with data at once; acknowledgments come beyond that.
    #[inline(never)]
    pub fn poll_segment(&mut self, now: Instant, max_len: usize) -> Option<SegmentDesc> {
        self.timers.enter(now);
        let draft = match self.reset.take() {
            Some(reset) => self.draft_reset(reset),
            None => {
                self.restart_after_idle();
                let plan = self.reason_to_send(max_len)?;
                let draft = self.draft(&plan);
                self.settle();
                draft
            }
        };
        // Last, so that the header is made where the caller wants it: it is
        // large to move.
        Some(SegmentDesc {
            token: draft.token,
            header: Header::encode_over(
                &draft.fields,
                &self.local,
                &self.remote,
                draft.payload.len(),
                self.outbox.sum(draft.payload),
            ),
            payload_len: draft.payload.len() as u16,
            ecn: draft.ecn,
        })
    }

    /// Whether [`poll_segment`](Self::poll_segment) has a segment with data to
    /// give, as far as can be told without making it.
    pub fn has_segment(&self) -> bool {
        self.reason_to_send(usize::MAX)
            .is_some_and(|plan| !plan.range().is_empty())
    }

    /// Every reason to send a segment, the most pressing first.
    fn reason_to_send(&self, max_len: usize) -> Option<Plan> {
        self.handshake(max_len)
            .or_else(|| self.duplicate_ack())
            .or_else(|| self.retransmission(max_len))
            .or_else(|| self.loss_probe(max_len))
            .or_else(|| self.new_data(max_len))
            .or_else(|| self.window_probe(max_len))
            .or_else(|| self.keepalive_probe())
            .or_else(|| self.acknowledgment())
    }

    /// Our SYN, in SYN-SENT without and in SYN-RECEIVED with an ACK.
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

    /// RFC 5681 §4.2: tells of a gap; without data, or it would not count.
    fn duplicate_ack(&self) -> Option<Plan> {
        // With SACK nobody counts, and every segment tells of the gap.
        let owed = self.acks.owes_duplicate() && self.synchronized().is_some();
        owed.then(|| Plan::empty(self.snd.nxt))
    }

    /// The front of what is believed lost.
    fn retransmission(&self, max_len: usize) -> Option<Plan> {
        if !self.board.has_lost() || self.is_new_data_first(max_len) {
            return None;
        }
        let una = self.snd.una;
        let lost = self.board.first_lost(|run| self.pins.unpinned_part(run));
        let lost = lost.range(una);
        // A closed window is for probes; a window that shrank is not, old
        // data may go beyond it (RFC 9293 §3.8.6, MAY-7).
        if lost.is_empty() || self.snd.wnd() == 0 || !self.may_send_sequence() {
            return None;
        }
        // RFC 9293 §3.8.6: what is sent again may be packed anew. Where
        // nothing follows that was sent, new data fills the segment up.
        let data_end = self.outbox.end();
        let sendable = data_end.min(self.snd.una + self.snd.wnd());
        let limit = if lost.end == self.snd.nxt {
            lost.end.max(sendable)
        } else {
            lost.end
        };
        let len = (limit.min(data_end) - lost.start).min(self.mss_for(max_len));
        let fin = lost.end > data_end && lost.start + len == data_end;
        let plan = self.data_plan(lost.start, len, fin, PinKind::Again);
        let may = self.episode.is_urgent() || self.fits_cwnd(&plan);
        (may && !plan.range().is_empty()).then_some(plan)
    }

    /// Whether something lost would be sent again now.
    pub(super) fn would_repair(&self) -> bool {
        self.retransmission(usize::MAX).is_some()
    }

    /// RFC 5682 §2.1, step 2b: after a timeout that may have been too early,
    /// new data goes before what is believed lost, if some can go.
    fn is_new_data_first(&self, max_len: usize) -> bool {
        let tries = self.episode.tries_new_data(self.snd.flight());
        tries.is_some_and(|some_went| some_went || self.new_data(max_len).is_some())
    }

    /// RFC 8985 §7.3: new data if there is any and the peer takes it, or else
    /// the last segment again; cwnd does not matter.
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
        if !self.episode.is_open() {
            return None;
        }
        let fin = self.marks.has(Marks::CLOSING) && nxt > data_end;
        let end = nxt.min(data_end);
        let len = (end - self.snd.una).min(mss);
        let plan = self.data_plan(end - len, len, fin, PinKind::Again);
        (!plan.range().is_empty()).then_some(plan)
    }

    /// Data that was not sent before, and the FIN behind it.
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
        let (unsent, window) = (self.outbox.end() - start, self.snd.room_from(start));
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

    /// Whether the segment would be one alone that waits for a delayed ACK:
    /// nothing follows it, and those before it have their ACKs, as every second
    /// segment has (RFC 5681 §4.2). In two halves, it is answered at once.
    /// Only full-sized ones are split: the halves take hardly more frames. And
    /// only where the application has chosen delay over small segments, by
    /// switching off Nagle's algorithm. A FIN is answered at once anyway.
    fn would_wait(&self, plan: &Plan, mss: u32) -> bool {
        let is_last = plan.flags.contains(Flags::PSH) && !plan.flags.fin();
        !self.marks.has(Marks::NAGLE) && is_last && plan.len >= mss && self.board.is_even()
    }

    /// RFC 9293 §3.8.6.2.1, rules 1 to 3: no silly windows. The fourth is in
    /// [`window_probe`](Self::window_probe).
    fn is_worth_sending(&self, plan: &Plan, unsent: u32, mss: u32) -> bool {
        if plan.range().is_empty() {
            return false;
        }
        // (1) a full-sized segment.
        if plan.len >= mss {
            return true;
        }
        // The bracketed condition is the Nagle algorithm's. A FIN says that
        // nothing more will come to wait for.
        let nagle_holds = self.marks.has(Marks::NAGLE) && !plan.flags.fin() && self.nagle.holds();
        // (2) all that is there, or (3) half the largest window seen.
        let all = plan.len == unsent;
        let half = plan.len >= self.snd.max_wnd() / 2;
        !nagle_holds && (all || half)
    }

    /// RFC 9293 §3.8.6.1: an octet into a closed window; or, as the override
    /// of §3.8.6.2.1, what a window takes that is open but small.
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
        // The FIN is an octet like any other when nothing else is left.
        let fin = self.marks.has(Marks::CLOSING) && unsent == 0;
        Some(self.data_plan(start, len, fin, kind)).filter(|plan| !plan.range().is_empty())
    }

    /// RFC 9293 §3.8.4: SEG.SEQ = SND.NXT-1 and no data.
    fn keepalive_probe(&self) -> Option<Plan> {
        let due = self.keepalive.is_due() && self.synchronized().is_some();
        due.then(|| Plan::empty(self.snd.nxt - 1))
    }

    /// `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`.
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

    /// Whether a segment may be made that occupies sequence numbers.
    fn may_send_sequence(&self) -> bool {
        self.synchronized().is_some_and(Synchronized::may_send)
            && !self.pins.is_full()
            && !self.link.is_resting()
    }

    /// Whether there is something that was never sent.
    fn has_unsent(&self) -> bool {
        self.outbox.end() > self.snd.nxt || self.fin_is_unsent()
    }

    fn fin_is_unsent(&self) -> bool {
        self.marks.has(Marks::CLOSING) && self.snd.nxt <= self.outbox.end()
    }

    /// The payload of a full-sized segment on a link that takes `max_len`.
    fn mss_for(&self, max_len: usize) -> u32 {
        let header = header::BASE_LEN.saturating_add(usize::from(self.option_space()));
        let link = u32::try_from(max_len.saturating_sub(header)).unwrap_or(u32::MAX);
        // SACK blocks come and go: they take of the payload (RFC 6691 §2).
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

    /// How many blocks to report by SACK now: as many as there is room for.
    fn sack_block_count(&self) -> usize {
        let known = self.inbox.sack_block_count();
        if known == 0 || !self.has_sack() {
            return 0;
        }
        let room = MAX_OPTIONS.saturating_sub(usize::from(self.option_space()));
        known.min(room.saturating_sub(SACK_HEAD) / SackBlocks::BLOCK_LEN)
    }

    /// RFC 5482 §3: "in the first packet that does not have the SYN flag set",
    /// and when it changes. SACK blocks may leave no room: it waits for them.
    fn owed_user_timeout(&self) -> Option<UserTimeout> {
        self.uto.owed().filter(|_| self.sack_block_count() == 0)
    }

    /// What to report by SACK now.
    fn sack_blocks(&self) -> Option<SackBlocks> {
        match self.sack_block_count() {
            0 => None,
            count => Some(self.inbox.sack_blocks(self.rcv.nxt).first(count)),
        }
    }

    /// RFC 5681 §3.1: no more in the network than cwnd. What has arrived beyond
    /// a gap is not there: that gives limited transmit (RFC 3042). The FIN is
    /// free.
    #[inline(never)]
    fn fits_cwnd(&self, plan: &Plan) -> bool {
        self.in_flight().saturating_add(plan.len) <= self.cc.cwnd()
    }

    /// RFC 5681 §4.1.
    fn restart_after_idle(&mut self) {
        if self.snd.flight() > 0 || !self.has_unsent() {
            return;
        }
        let idle_ms = self.timers.now().wrapping_sub(self.last_sent);
        // The least timeout first: to know the present one takes longer.
        let may = idle_ms >= self.params.min_rto.get();
        if may && idle_ms > self.rto_ms() {
            self.cc.on_idle(self.eff_snd_mss());
        }
    }

    /// What the planned segment says; takes note of it everywhere.
    fn draft(&mut self, plan: &Plan) -> Draft {
        let ms = self.timers.now();
        // RFC 3168 §6.1.5 and §6.1.6: not what is sent again, nor probes.
        let is_new = plan.len > 0 && plan.kind == PinKind::First && plan.seq == self.snd.nxt;
        let ecn = self.ecn.field(is_new);
        let fields = Fields {
            seq: plan.seq,
            ack: self.rcv.nxt,
            flags: plan.flags.with(self.ecn_flags(plan, is_new)),
            window: self.window_to_announce(),
            options: self.options(ms, plan),
        };
        if fields.options.user_timeout.is_some() && !plan.flags.syn() {
            self.uto.on_sent();
        }
        let token = if plan.is_pure_ack() {
            self.note_empty(plan);
            Token::UNPINNED
        } else {
            self.note_sequence(ms, plan)
        };
        if is_new {
            self.ecn.on_new_data_sent();
        }
        if plan.flags.ack() {
            self.acks.on_sent(plan.is_pure_ack());
            self.timers.cancel(Timer::DelayedAck);
            if self.has_sack() && self.acks.wants_repeat() {
                let delay = self.params.delayed_ack.get() / 2;
                self.timers.start(Timer::DelayedAck, delay);
            }
            self.ts.on_ack_sent(self.rcv.nxt);
            self.inbox.on_reported();
        }
        self.stats.count(|stats| &mut stats.segments_sent);
        let first = plan.seq + u32::from(plan.flags.syn());
        Draft {
            token,
            fields,
            payload: SeqRange::new(first, first + plan.len),
            ecn,
        }
    }

    /// RFC 3168 §6.1: ECE and CWR.
    fn ecn_flags(&self, plan: &Plan, is_new: bool) -> Flags {
        if plan.flags.syn() {
            self.ecn.syn_flags(plan.flags.ack())
        } else {
            self.ecn.flags(is_new)
        }
    }

    /// RFC 9293 §3.8.6.2.2.
    fn window_to_announce(&mut self) -> u16 {
        if matches!(self.phase, Phase::SynSent(_)) {
            // Nothing is known of the peer's numbers, but the room is.
            return u16::try_from(self.inbox.room()).unwrap_or(u16::MAX);
        }
        self.rcv
            .announce(self.inbox.room(), self.inbox.capacity(), self.eff_snd_mss())
    }

    fn options(&self, ms: u32, plan: &Plan) -> Options {
        let mut options = Options {
            mss: None,
            timestamps: self.ts.option(ms),
            ..Options::default()
        };
        if plan.flags.syn() {
            // RFC 9293 §3.7.1: in every SYN.
            options.mss = Some(self.params.mss);
            options.sack_permitted = self.has_sack();
            options.user_timeout = self.uto.offer();
            if !plan.flags.ack() {
                if let Some(cookie) = self.syn_cookie() {
                    options.extra = Extra::FastOpen(cookie);
                }
                if self.marks.has(Marks::TIMESTAMPS) {
                    options.timestamps = Some(self.ts.offer(ms));
                }
            }
        } else {
            if let Some(blocks) = self.sack_blocks() {
                options.extra = Extra::Sack(blocks);
            }
            options.user_timeout = self.owed_user_timeout();
        }
        options
    }

    fn note_empty(&mut self, plan: &Plan) {
        self.stats.count(|stats| &mut stats.acks_sent);
        if plan.seq != self.snd.nxt {
            self.keepalive.on_probe_sent();
        }
    }

    fn note_sequence(&mut self, ms: u32, plan: &Plan) -> Token {
        let range = plan.range();
        self.last_sent = ms;
        self.note_retransmission(plan);
        if let Some(syn) = self.phase.our_syn() {
            syn.due = false;
        }
        if self.persist.is_due() {
            self.persist.on_probe_sent();
            self.stats.count(|stats| &mut stats.window_probes);
        }
        match plan.kind {
            PinKind::Probe => self.snd.on_probe_sent(range.end),
            PinKind::First | PinKind::Again => {
                self.note_on_board(range);
                self.snd.on_sent(range.end);
                // The first half of a split segment has company.
                if plan.flags.contains(Flags::PSH) && plan.len < self.eff_snd_mss() {
                    self.nagle
                        .on_small_sent(Ahead::by(range.end - self.snd.una));
                }
            }
        }
        if plan.len > 0 {
            self.stats.count(|stats| &mut stats.data_segments_sent);
            self.stats.add(|stats| &mut stats.bytes_sent, plan.len);
        }
        let span = Span::beyond(self.snd.una, range);
        self.pins.insert(span, plan.kind)
    }

    /// Data leaves: the mechanisms of loss recovery take note.
    fn note_on_board(&mut self, range: SeqRange) {
        if self.synchronized().is_none() {
            return;
        }
        if self.board.is_empty() {
            self.rack.on_break();
        }
        self.prr.on_sent(range.len());
        let span = Span::beyond(self.snd.una, range);
        self.board.on_made(span, Tick::of_ms(self.last_sent));
        if self.tlp.is_due() {
            self.stats.count(|stats| &mut stats.tail_probes);
            let again = range.start < self.snd.nxt;
            let end = self.snd.nxt.max(range.end) - self.snd.una;
            self.tlp.on_sent(Ahead::by(end), again);
        }
    }

    fn note_retransmission(&mut self, plan: &Plan) {
        if plan.seq >= self.snd.nxt {
            return;
        }
        let end = Ahead::by(plan.range().end - self.snd.una);
        self.rtt.on_retransmission(end, self.last_sent);
        if !self.episode.is_open() {
            self.undo
                .on_retransmission(plan.range().len(), self.last_sent);
        }
        let is_tail = self.tlp.is_due();
        if !is_tail {
            self.episode.on_retransmitted();
        }
        let syn_lost = self.phase.our_syn().map(|syn| syn.lost);
        // Simultaneous open: the SYN goes out again to carry an ACK.
        let Some(loss) = syn_lost.unwrap_or(Some(self.stats.loss())) else {
            return;
        };
        self.stats.count(|stats| {
            let by_cause = &mut stats.retransmissions;
            match loss {
                _ if plan.kind == PinKind::Probe => &mut by_cause.probe,
                _ if is_tail => &mut by_cause.tail,
                Loss::Timeout => &mut by_cause.rto,
                Loss::Fast => &mut by_cause.fast,
                Loss::Link => &mut by_cause.link_lost,
                Loss::PathMtu => &mut by_cause.path_mtu,
            }
        });
    }

    /// A reset: it belongs to no sequence and pins nothing.
    fn draft_reset(&mut self, reset: Reset) -> Draft {
        let mut fields = reset.fields();
        // RFC 7323 §5.2: an abort's reset carries timestamps as well; §3.2:
        // without ACK it echoes nothing.
        if fields.options.timestamps.is_none() && self.ts.is_enabled() {
            fields.options.timestamps = Some(self.ts.offer(self.timers.now()));
        }
        self.stats.count(|stats| &mut stats.segments_sent);
        Draft {
            token: Token::UNPINNED,
            fields,
            payload: SeqRange::default(),
            ecn: Ecn::NotEct,
        }
    }

    /// Whether something waits that only the peer's window holds back: then
    /// the persist timer runs. One that takes a full segment holds nothing back.
    pub(super) fn is_held_by_window(&self) -> bool {
        let flight = self.snd.flight();
        let waits = if flight == 0 {
            self.has_unsent()
        } else {
            // With the rest in flight the retransmission timer runs, unless it
            // has run out and the window let nothing follow.
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
