//! The state of a connection.

use redpoll_base::{Duration, Instant};
use redpoll_wire::tcp::SeqNum;

use super::Params;
use super::packet::{Acknowledgment, Scaling, Segment, Timestamps};
use crate::taim::Ends;

const PATIENCE: Duration = Duration::from_secs(60);
/// Window in bytes that is assumed while the scale is unknown.
const UNSCALED_MAX: u32 = 65_535;
/// Largest window scale shift (RFC 7323 §2.3).
const SHIFT_MAX: u8 = 14;

/// Memory for a connection; `None` if free.
#[derive(Clone, Copy, Debug)]
pub struct FlowSlot(pub(super) Option<Flow>);

impl FlowSlot {
    /// A free slot.
    pub const EMPTY: FlowSlot = FlowSlot(None);
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) ends: Ends,
    /// State of both ends: first of the lower end, which has the lower address and port, then of
    /// the upper end.
    sides: [Side; 2],
    /// Time of the last segment of either end.
    pub(super) used: Instant,
    /// Time of the last segment of either end that its receiver accepts.
    fitted: Instant,
    /// Whether an end has sent a FIN.
    is_closing: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Sequence number after the last byte that passed; `None` before the first segment.
    pub(super) end: Option<SeqNum>,
    /// Highest plausible acknowledgment that this end has sent.
    pub(super) acked: Option<SeqNum>,
    /// Sequence number that this end expects next, by its acknowledgments; `None` before the first.
    expects: Option<SeqNum>,
    /// Window that this end announced last, unscaled.
    pub(super) window: u16,
    /// Window that this end announced last, in bytes; 65,535 while the window scale is unknown.
    reach: u32,
    scaling: Scaling,
    timestamps: Option<Timestamps>,
    /// Smoothed round-trip time from here to the other end, in microseconds.
    rtt_us: Option<u64>,
    /// Timed segment, which passed once: the sequence number after it, and the time when it passed.
    timed: Option<(SeqNum, Instant)>,
    /// Whether this end needs the acknowledgment of data that the other end has already
    /// acknowledged.
    pub(super) answer: bool,
    /// Time at which the acknowledgment to this end is repeated, unless this end sends earlier.
    pub(super) again: Option<Instant>,
}

impl Side {
    const NEW: Side = Side {
        end: None,
        acked: None,
        expects: None,
        window: 0,
        reach: UNSCALED_MAX,
        scaling: Scaling::Unseen,
        timestamps: None,
        rtt_us: None,
        timed: None,
        answer: false,
        again: None,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DataKind {
    /// No data, or a segment with other content in addition to data, which the cache does not copy.
    Other,
    /// The next data in sequence.
    New,
    /// Data that has passed before, or data beyond a gap.
    OutOfSequence,
    /// Acknowledged data, without other new information.
    Acknowledged,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) kind: DataKind,
    /// The new cumulative acknowledgment of the other end's data.
    pub(super) acked: Option<SeqNum>,
    /// Whether the packet repeats the last acknowledgment, without other new information.
    pub(super) is_duplicate: bool,
}

impl Flow {
    pub(super) const fn new(ends: Ends, now: Instant) -> Flow {
        Flow {
            ends,
            sides: [Side::NEW, Side::NEW],
            used: now,
            fitted: now,
            is_closing: false,
        }
    }

    pub(super) fn side(&self, upper: bool) -> &Side {
        let [lower_side, upper_side] = &self.sides;
        if upper { upper_side } else { lower_side }
    }

    pub(super) fn side_mut(&mut self, upper: bool) -> &mut Side {
        let [lower_side, upper_side] = &mut self.sides;
        if upper { upper_side } else { lower_side }
    }

    /// Returns RTT_est: the round-trip time from here to the target of the segments that one end
    /// sends: the upper end if `upper`, otherwise the lower end.
    pub(super) fn rtt(&self, upper: bool, params: &Params) -> Duration {
        let known = self.side(upper).rtt_us.map(Duration::from_micros);
        known.unwrap_or(params.initial_rtt)
    }

    /// Returns whether the receiver certainly accepts a segment's acknowledgment and options: the
    /// SEQ is in the announced window, and not before data that passed (RFC 9293 §3.10.7.4). An
    /// attacker may have forged any other segment.
    fn takes(&self, it: &Segment) -> bool {
        let Some(expects) = self.side(!it.from_upper).expects else {
            // In SYN-SENT a SYN is acceptable by its acknowledgment (RFC 9293 §3.10.7.3).
            return it.flags.syn();
        };
        let end = self.side(it.from_upper).end;
        let least = end.filter(|end| self.is_within(it, expects, *end));
        !it.flags.syn() && self.is_within(it, expects, it.seq) && least.unwrap_or(expects) <= it.seq
    }

    /// Returns whether `number` is in the window of the receiver of `it`, or is the first number
    /// after that window.
    fn is_within(&self, it: &Segment, expects: SeqNum, number: SeqNum) -> bool {
        number.since(expects) <= self.side(!it.from_upper).reach
    }

    /// Returns whether the reset `it` ends the connection, or the SYN `it` begins another one. The
    /// ends do not accept every reset and SYN either (RFC 5961 §3 and §4).
    pub(super) fn ends_with(&self, now: Instant, it: &Segment) -> bool {
        let expects = self.side(!it.from_upper).expects;
        let is_open = self.sides.iter().all(|side| side.acked.is_some()) && !self.is_closing;
        let is_believed = match it.flags.rst() {
            true => expects.is_none_or(|expects| self.is_within(it, expects, it.seq)),
            false => !is_open,
        };
        is_believed || self.is_stale(now)
    }

    fn is_stale(&self, now: Instant) -> bool {
        now.since(self.fitted) > PATIENCE
    }

    /// Returns whether no segment has matched the state for a minute, and the segment `it` does not
    /// match the state, either.
    pub(super) fn is_over(&self, now: Instant, it: &Segment) -> bool {
        self.is_stale(now) && !self.takes(it)
    }

    /// Updates the state for a segment that is forwarded, or queued if `waits`.
    pub(super) fn on_segment(
        &mut self,
        now: Instant,
        it: &Segment,
        waits: bool,
        params: &Params,
    ) -> Change {
        self.used = now;
        if it.flags.fin() {
            self.is_closing = true;
            let [lower, upper] = &mut self.sides;
            (lower.again, upper.again) = (None, None);
        }
        let (from, to) = (it.from_upper, !it.from_upper);
        let fits = self.takes(it);
        let is_duplicate = fits
            && it.len == 0
            && it.is_bare()
            && it.ack.is_some()
            && self.side(from).acked == it.ack
            && self.side(from).window == it.window;
        let said = self.side(from).expects;
        let is_more = |ack: &SeqNum| said.is_none_or(|said| *ack > said);
        let is_news = self.side(from).window != it.window || it.ack.as_ref().is_some_and(is_more);
        let acked = it.ack.filter(|ack| fits && self.advances(from, *ack));
        if let Some(ack) = acked {
            let side = self.side_mut(from);
            (side.acked, side.expects) = (Some(ack), Some(ack));
            if it.flags.syn() {
                self.side_mut(to).on_answer(ack);
            }
            self.side_mut(to).sample(now, ack, params.rtt_weight);
            // The cache repeats no acknowledgment while the connection closes, because a closed end
            // answers an ACK with a RST (RFC 9293 §3.10.7.1).
            if params.acknowledges_again && it.is_plain() && !self.is_closing {
                let wait = params.timeout(self.rtt(from, params));
                self.side_mut(to).again = Some(now + wait);
            }
        }
        self.hear(now, it, fits);
        let told = self.side(to).acked;
        let is_acked = told.is_some_and(|told| it.end() <= told);
        // A single byte before the expected one is a keepalive (RFC 9293 §3.8.4).
        let asks = it.len <= 1 && told == Some(it.end());
        let is_unknown = self.side(to).expects.is_none();
        let side = self.side_mut(from);
        let is_next = side.end.is_none_or(|end| end == it.seq);
        let kind = match it.len {
            0 => DataKind::Other,
            _ if !it.is_plain() => DataKind::Other,
            _ if is_acked && !asks && !is_news => DataKind::Acknowledged,
            _ if is_acked => DataKind::Other,
            _ if is_next => DataKind::New,
            _ => DataKind::OutOfSequence,
        };
        side.again = None;
        let is_timed = kind == DataKind::New || params.times_handshake && it.flags.syn();
        side.on_sent(now, it, is_timed && !waits, fits || is_next || is_unknown);
        Change {
            kind,
            acked,
            is_duplicate,
        }
    }

    /// Stores the acknowledgment, window and options of a segment. A segment that the receiver
    /// would not accept is ignored, unless it is the first one. A segment with an older
    /// acknowledgment than before is ignored, too.
    fn hear(&mut self, now: Instant, it: &Segment, fits: bool) {
        let other = self.side(!it.from_upper).scaling;
        if fits {
            self.fitted = now;
        }
        let side = self.side_mut(it.from_upper);
        if !fits && side.expects.is_some() {
            return;
        }
        let is_late = match (it.ack, side.acked) {
            (Some(ack), Some(acked)) => acked > ack,
            _ => false,
        };
        if is_late {
            return;
        }
        side.expects = side.expects.or(it.ack);
        side.window = it.window;
        side.timestamps = it.timestamps.or(side.timestamps);
        let window = u32::from(it.window);
        if it.flags.syn() {
            (side.scaling, side.reach) = (it.scaling, window);
            return;
        }
        side.reach = match [side.scaling, other] {
            [Scaling::By(shift), Scaling::By(_)] => window << shift.min(SHIFT_MAX),
            [Scaling::Unseen, _] | [_, Scaling::Unseen] => UNSCALED_MAX,
            _ => window,
        };
    }

    /// Returns whether `ack` is higher than all earlier acknowledgments of the same end, and covers
    /// only data that passed here.
    fn advances(&self, from: bool, ack: SeqNum) -> bool {
        let sent = self.side(!from).end;
        let is_possible = sent.is_some_and(|end| ack <= end);
        let known = self.side(from).acked;
        is_possible && known.is_none_or(|known| ack > known)
    }

    /// Returns the other end's acknowledgment for an end that retransmitted acknowledged data.
    pub(super) fn acknowledgment(&self, to_upper: bool) -> Option<Acknowledgment> {
        let peer = self.side(!to_upper);
        let Ends { lower, upper } = self.ends;
        let (from, to) = if to_upper {
            (lower, upper)
        } else {
            (upper, lower)
        };
        Some(Acknowledgment {
            from,
            to,
            seq: peer.end?,
            ack: peer.acked?,
            window: peer.window,
            timestamps: peer.timestamps,
        })
    }
}

impl Side {
    /// Records a segment that this end sent. `counts`: the receiver accepts the segment, so it is
    /// probably not forged.
    fn on_sent(&mut self, now: Instant, it: &Segment, is_timed: bool, counts: bool) {
        let end = it.end();
        if self.end.is_none_or(|known| end > known) {
            if is_timed && counts {
                self.timed.get_or_insert((end, now));
            }
            if counts {
                self.end = Some(end);
            }
        } else if it.len > 0 {
            // Karn's algorithm (RFC 6298 §3): a retransmission gives no round-trip sample.
            self.timed = None;
        }
    }

    /// Handles the answer to a SYN. The SYN's sender retransmits unacknowledged data of the SYN as
    /// the first data (RFC 7413 §4.2.2).
    fn on_answer(&mut self, ack: SeqNum) {
        if self.end != Some(ack) {
            (self.end, self.timed) = (Some(ack), None);
        }
    }

    pub(super) fn on_passed(&mut self, now: Instant, end: SeqNum) {
        self.timed.get_or_insert((end, now));
    }

    pub(super) fn on_repeated(&mut self) {
        self.timed = None;
    }

    /// Adds a round-trip sample if `ack` acknowledges the timed segment.
    fn sample(&mut self, now: Instant, ack: SeqNum, weight: u8) {
        let Some((end, since)) = self.timed else {
            return;
        };
        if end > ack {
            return;
        }
        self.timed = None;
        let sample = now.since(since).as_micros();
        self.rtt_us = Some(match self.rtt_us {
            None => sample,
            Some(old) => {
                let weight = u32::from(weight.min(7));
                let old_part = old.saturating_sub(old.wrapping_shr(weight));
                old_part.saturating_add(sample.wrapping_shr(weight))
            }
        });
    }
}
