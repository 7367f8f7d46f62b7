//! Estimates from a flow's segments: bytes, round-trip times, retransmission timeout of its ends.

use redpoll_base::{Duration, Instant};

use super::segment::{From, Segment};

/// Greatest plausible advance of a sequence number, above any window in these networks. A larger
/// advance is accepted only if the next segment begins where this segment ends.
const ADVANCE_MAX: i32 = 1 << 20;
/// Greatest plausible distance of an acknowledgment below the other end's data: an unscaled window.
/// A number that an off-path attacker guesses is plausible with a chance of 2^-16.
const ANSWER_MAX: i32 = 0xffff;

/// An end sends a new byte after an acknowledgment of all its data. The time between both is a
/// round-trip sample, if it is at most this limit while the flow has no retransmission timeout.
const FIRST_MAX: Duration = Duration::from_secs(60);

/// A round-trip time, smoothed as in RFC 6298 §2.
#[derive(Clone, Copy, Debug)]
struct Smoothed {
    /// SRTT in microseconds; 0 before the first sample.
    srtt: u32,
    /// RTTVAR in microseconds.
    rttvar: u32,
}

impl Smoothed {
    fn sample(&mut self, time: Duration) {
        let sample = u32::try_from(time.as_micros()).unwrap_or(u32::MAX).max(1);
        if self.srtt == 0 {
            self.srtt = sample;
            self.rttvar = sample >> 1;
            return;
        }
        let deviation = self.srtt.abs_diff(sample);
        // RFC 6298 §2.3, beta 1/4 and alpha 1/8.
        self.rttvar = self.rttvar.saturating_sub(self.rttvar >> 2);
        self.rttvar = self.rttvar.saturating_add(deviation >> 2);
        self.srtt = self.srtt.saturating_sub(self.srtt >> 3);
        self.srtt = self.srtt.saturating_add(sample >> 3).max(1);
    }
}

/// Data and acknowledgments of one end of a flow.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Whether a segment of this end was seen, so that `high` is valid.
    is_known: bool,
    /// Whether this end has acknowledged data of the other end.
    has_answered: bool,
    has_ended: bool,
    /// Sequence number after the last sequence number that this end sent.
    high: u32,
    /// End of the last segment that was too far from `high`.
    jump: Option<u32>,
    /// Timed segment: the sequence number after it, and the time it passed.
    timed: Option<(u32, Instant)>,
    /// Time when all data of this end was acknowledged. This end's next new byte gives a round-trip
    /// sample.
    freed: Option<Instant>,
    /// Round-trip time from here to this end.
    round: Smoothed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Observed {
    Bytes(u32),
    /// Sequence numbers that are impossible for this flow.
    Nonsense,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    lower: Side,
    upper: Side,
    is_reset: bool,
}

impl Estimate {
    pub(super) const NEW: Estimate = Estimate {
        lower: Side::NEW,
        upper: Side::NEW,
        is_reset: false,
    };

    fn sides(&mut self, from: From) -> (&mut Side, &mut Side) {
        match from {
            From::Lower => (&mut self.lower, &mut self.upper),
            From::Upper => (&mut self.upper, &mut self.lower),
        }
    }

    pub(super) fn on_segment(&mut self, now: Instant, from: From, segment: &Segment) -> Observed {
        if segment.syn && segment.ack.is_none() && self.is_over() {
            // A new connection uses the same ports (RFC 9293 §3.6.1).
            *self = Estimate::NEW;
        }
        let expected = self.rto();
        let (sender, other) = self.sides(from);
        if let Some(ack) = segment.ack {
            sender.acknowledges(now, other, ack, segment.takes() == 0);
        }
        let told = sender.sends(now, segment, expected);
        if segment.fin && told != Observed::Nonsense {
            sender.has_ended = true;
        }
        // RFC 9293 §3.5.3: a reset is valid only with an expected sequence number.
        if segment.rst && told != Observed::Nonsense && sender.is_known {
            self.is_reset = true;
        }
        told
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.lower.has_answered && self.upper.has_answered
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_reset || self.lower.has_ended && self.upper.has_ended
    }

    /// Returns the round-trip time between both ends, including the waiting time here. `None`
    /// before each side has a sample.
    pub(super) fn rtt(&self) -> Option<Duration> {
        let (a, b) = (self.lower.round.srtt, self.upper.round.srtt);
        (a > 0 && b > 0).then(|| Duration::from_micros(u64::from(a).saturating_add(b.into())))
    }

    /// Returns SRTT + 4 RTTVAR of both sides (RFC 6298 §2); `None` as for [`Estimate::rtt`].
    pub(super) fn rto(&self) -> Option<Duration> {
        let variation = u64::from(self.lower.round.rttvar)
            .saturating_add(self.upper.round.rttvar.into())
            .saturating_mul(4);
        Some(self.rtt()?.plus(Duration::from_micros(variation)))
    }
}

impl Side {
    const NEW: Side = Side {
        is_known: false,
        has_answered: false,
        has_ended: false,
        high: 0,
        jump: None,
        timed: None,
        freed: None,
        round: Smoothed { srtt: 0, rttvar: 0 },
    };

    /// Handles an acknowledgment of `other`'s data. `is_bare`: the segment has no data, SYN or FIN.
    fn acknowledges(&mut self, now: Instant, other: &mut Side, ack: u32, is_bare: bool) {
        if !other.is_known {
            return;
        }
        let behind = other.high.wrapping_sub(ack).cast_signed();
        if !(0..=ANSWER_MAX).contains(&behind) {
            return;
        }
        self.has_answered = true;
        if let Some((end, at)) = other.timed
            && ack.wrapping_sub(end).cast_signed() >= 0
        {
            self.round.sample(now.since(at));
            other.timed = None;
        }
        if is_bare && behind == 0 {
            other.freed.get_or_insert(now);
        }
    }

    /// Handles a segment of this end; `expected` is the flow's retransmission timeout so far.
    fn sends(&mut self, now: Instant, segment: &Segment, expected: Option<Duration>) -> Observed {
        let takes = segment.takes();
        let end = segment.seq.wrapping_add(takes);
        if !self.is_known {
            self.is_known = true;
            self.high = end;
            self.timed = (takes > 0).then_some((end, now));
            return Observed::Bytes(segment.len);
        }
        let beyond = end.wrapping_sub(self.high).cast_signed();
        let goes_on = self.jump == Some(segment.seq);
        if beyond > ADVANCE_MAX || beyond < ADVANCE_MAX.saturating_neg() {
            if !goes_on {
                self.jump = Some(end);
                return Observed::Nonsense;
            }
            self.jump = None;
            self.high = end;
            self.timed = None;
            return Observed::Bytes(segment.len);
        }
        self.jump = None;
        if beyond <= 0 {
            if takes > 0 {
                // Karn's algorithm (RFC 6298 §3): after a retransmission, an acknowledgment does
                // not show which of the two transmissions it answers.
                self.timed = None;
            }
            return Observed::Bytes(0);
        }
        self.high = end;
        if takes > 0 && self.timed.is_none() {
            self.timed = Some((end, now));
        }
        if let Some(at) = self.freed.take() {
            // A time above the retransmission timeout is not a sample: the end was idle, or missed
            // the acknowledgment.
            let time = now.since(at);
            if time <= expected.unwrap_or(FIRST_MAX) {
                self.round.sample(time);
            }
        }
        let flags = takes.saturating_sub(segment.len);
        Observed::Bytes(beyond.cast_unsigned().saturating_sub(flags))
    }
}
