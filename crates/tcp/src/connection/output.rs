//! Construction of segments.

use redpoll_base::{Bytes, Ecn, Instant};

use super::Connection;
use super::marks::Marks;
use super::reasons::Plan;
use crate::ahead::{Ahead, Span};
use crate::congestion::Congestion;
use crate::options::{MAX_OPTIONS, SACK_HEAD};
use crate::recovery::Loss;
use crate::send::{PinKind, SendStore, SendStoreExt, Tick, Token};
use crate::state::Phase;
use crate::timers::Timer;
use crate::{Algorithms, Flags, Header, SackBlocks, SeqRange, UserTimeout};

/// A segment for the link: the complete header, and a token for the payload.
#[derive(Clone, Debug)]
pub struct SegmentDesc {
    /// Identifies the segment in [`read`](Connection::read),
    /// [`on_segment_sent`](Connection::on_segment_sent) and
    /// [`on_segment_lost`](Connection::on_segment_lost).
    pub token: Token,
    /// The encoded header; its checksum covers the payload.
    pub header: Header,
    /// Length of the payload in bytes.
    pub payload_len: u16,
    /// ECN field of the IP header.
    pub ecn: Ecn,
}

impl From<Header> for SegmentDesc {
    /// Describes a segment without payload and without a connection, whose outcome is ignored.
    fn from(header: Header) -> Self {
        SegmentDesc {
            token: Token::UNPINNED,
            header,
            payload_len: 0,
            ecn: Ecn::NotEct,
        }
    }
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Returns the next segment to send, or `None` if there is nothing to send now.
    ///
    /// `max_len` is the number of bytes that the link accepts for TCP header and payload, at least
    /// 60. The link must report each segment exactly once by
    /// [`on_segment_sent`](Self::on_segment_sent) or [`on_segment_lost`](Self::on_segment_lost). It
    /// may hold at most four segments with data, and further acknowledgments.
    #[inline(never)] // size
    pub fn poll_segment(&mut self, now: Instant, max_len: usize) -> Option<SegmentDesc> {
        self.timers.enter(now);
        let mut desc = SegmentDesc::from(Header::EMPTY);
        let mut payload = SeqRange::default();
        if let Some(reset) = self.reset.take() {
            // A reset is not part of the sequence space and pins nothing.
            let ours = self.ts.is_enabled();
            let ours = ours.then(|| self.ts.offer(self.timers.now()));
            reset.begin(&mut desc.header, ours);
            self.stats.count(|stats| &mut stats.segments_sent);
        } else {
            self.restart_after_idle();
            let plan = self.reason_to_send(max_len)?;
            payload = self.draft(&plan, &mut desc);
            self.settle();
        }
        let sum = self.outbox.sum(payload);
        desc.payload_len = payload.len() as u16;
        desc.header
            .end(&self.local, &self.remote, payload.len(), sum);
        Some(desc)
    }

    /// Returns whether [`poll_segment`](Self::poll_segment) would return a segment with data, as
    /// far as the connection knows before it makes the segment.
    pub fn has_segment(&self) -> bool {
        self.reason_to_send(usize::MAX)
            .is_some_and(|plan| !plan.range().is_empty())
    }

    /// Restarts congestion control after an idle period (RFC 5681 §4.1).
    fn restart_after_idle(&mut self) {
        if self.snd.flight() > 0 || !self.has_unsent() {
            return;
        }
        let idle_ms = self.timers.now().wrapping_sub(self.last_sent);
        // Tests the minimum timeout first, because the current timeout takes longer to compute.
        let may = idle_ms >= self.params.min_rto.get();
        if may && idle_ms > self.rto_ms() {
            self.cc.on_idle(self.initial_window(), &self.flow());
        }
    }

    /// Writes the planned segment and records its transmission. Returns the range of its payload.
    fn draft(&mut self, plan: &Plan, desc: &mut SegmentDesc) -> SeqRange {
        let ms = self.timers.now();
        // RFC 3168 §6.1.5 and §6.1.6: neither retransmissions nor probes are ECN-capable. §6.1.1:
        // no SYN is, with or without data.
        let is_new = plan.len > 0
            && plan.kind == PinKind::First
            && plan.seq == self.snd.nxt
            && !plan.flags.syn();
        desc.ecn = self.ecn.field(is_new);
        let flags = plan.flags.with(self.ecn_flags(plan, is_new));
        let window = self.window_to_announce();
        desc.header.begin(flags, window, plan.seq, self.rcv.nxt);
        self.put_options(ms, plan, &mut desc.header);
        if plan.is_pure_ack() {
            self.note_empty(plan);
        } else {
            desc.token = self.note_sequence(ms, plan);
        }
        if is_new {
            self.ecn.on_new_data_sent();
        }
        if plan.flags.ack() {
            self.acks.on_sent(plan.is_pure_ack());
            self.timers.cancel(Timer::DelayedAck);
            self.ts.on_ack_sent(self.rcv.nxt);
            self.inbox.on_reported();
        }
        self.stats.count(|stats| &mut stats.segments_sent);
        let first = plan.seq + u32::from(plan.flags.syn());
        SeqRange::new(first, first + plan.len)
    }

    /// Returns ECE and CWR for the segment (RFC 3168 §6.1).
    fn ecn_flags(&self, plan: &Plan, is_new: bool) -> Flags {
        if plan.flags.syn() {
            self.ecn.syn_flags(plan.flags.ack())
        } else {
            self.ecn.flags(is_new)
        }
    }

    /// Returns the window to announce (RFC 9293 §3.8.6.2.2).
    fn window_to_announce(&mut self) -> u16 {
        if matches!(self.phase, Phase::SynSent(_)) {
            // Before the peer's SYN there is no right edge: announces the free space.
            return u16::try_from(self.inbox.room()).unwrap_or(u16::MAX);
        }
        self.rcv
            .announce(self.inbox.room(), self.inbox.capacity(), self.eff_snd_mss())
    }

    fn put_options(&mut self, ms: u32, plan: &Plan, header: &mut Header) {
        let mut timestamps = self.ts.option(ms);
        if plan.flags.syn() {
            // RFC 9293 §3.7.1: the MSS option should be in every SYN.
            header.put_mss(self.params.mss);
            let cookie = if plan.flags.ack() {
                None
            } else {
                if self.marks.has(Marks::TIMESTAMPS) {
                    timestamps = Some(self.ts.offer(ms));
                }
                self.syn_cookie()
            };
            header.put_timestamps(timestamps, self.has_sack());
            if let Some(timeout) = self.uto.offer() {
                header.put_user_timeout(timeout);
            }
            if let Some(cookie) = &cookie {
                header.put_fast_open(cookie);
            }
        } else {
            header.put_timestamps(timestamps, false);
            if let Some(timeout) = self.owed_user_timeout() {
                header.put_user_timeout(timeout);
                self.uto.on_sent();
            }
            let count = self.sack_block_count();
            header.put_sack(self.inbox.sack_blocks(self.rcv.nxt), count);
        }
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
                // The first half of a split segment, without PSH, does not count as small.
                if plan.flags.contains(Flags::PSH) && plan.len < self.eff_snd_mss() {
                    self.nagle
                        .on_small_sent(Ahead::by(range.end.since(self.snd.una)));
                }
            }
        }
        if plan.len > 0 {
            self.stats.count(|stats| &mut stats.data_segments_sent);
            self.stats.add(|stats| &mut stats.bytes_sent, plan.len);
        }
        let span = Span::from(self.snd.una, range);
        self.pins.insert(span, plan.kind)
    }

    /// Reports sent data to the scoreboard and to loss recovery.
    fn note_on_board(&mut self, range: SeqRange) {
        if self.synchronized().is_none() {
            return;
        }
        if self.board.is_empty() {
            self.rack.on_break();
        }
        self.prr.on_sent(range.len());
        let span = Span::from(self.snd.una, range);
        self.board.on_made(span, Tick::of_ms(self.last_sent));
        if self.tlp.is_due() {
            self.stats.count(|stats| &mut stats.tail_probes);
            let again = range.start < self.snd.nxt;
            self.tlp.on_sent(Ahead::by(span.end), again);
        }
    }

    fn note_retransmission(&mut self, plan: &Plan) {
        if plan.seq >= self.snd.nxt {
            return;
        }
        let end = Ahead::by(plan.range().end.since(self.snd.una));
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
        // If our SYN was not lost, another one is sent only to answer a SYN of the peer. This does
        // not count as a retransmission.
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

    pub(super) fn sack_block_count(&self) -> usize {
        let known = self.inbox.sack_block_count();
        if known == 0 || !self.has_sack() {
            return 0;
        }
        let room = MAX_OPTIONS.wrapping_sub(usize::from(self.option_space()));
        known.min(room.wrapping_sub(SACK_HEAD) / SackBlocks::BLOCK_LEN)
    }

    /// Returns the user timeout option that is still to be announced: "in the first packet that
    /// does not have the SYN flag set" (RFC 5482 §3), and again after a change of the timeout. If
    /// the segment has SACK blocks, they leave no room, and the option waits for a later segment.
    pub(super) fn owed_user_timeout(&self) -> Option<UserTimeout> {
        self.uto.owed().filter(|_| self.sack_block_count() == 0)
    }
}
