//! Timestamps and protection against wrapped sequence numbers (RFC 7323).

use core::num::NonZero;

use redpoll_base::Duration;

use crate::seq::Low;
use crate::{Segment, SeqNum, TimestampOption};

/// RFC 7323 §5.5: age from which TS.Recent is invalid, in steps of [`STEP_BITS`].
const OUTDATED_AFTER: u16 = ((24 * 24 * 60 * 60 * 1_000u32) >> STEP_BITS) as u16;

/// The age of TS.Recent is counted in steps of 2^16 ms, about a minute.
const STEP_BITS: u32 = 16;

#[derive(Clone, Debug)]
pub(crate) struct Timestamps {
    /// Offset of the clock (RFC 7323 §7.1).
    offset: u32,
    /// TS.Recent: the value to echo.
    recent: u32,
    /// Time when TS.Recent was set, in steps of [`STEP_BITS`], never 0. `None` if the option is not
    /// in use (Snd.TS.OK is false).
    recent_at: Option<NonZero<u16>>,
    /// Last.ACK.sent; 16 bits suffice, because RCV.NXT is at most a window ahead.
    last_ack_sent: Low,
}

impl Timestamps {
    pub(crate) fn new() -> Self {
        Timestamps {
            offset: 0,
            recent: 0,
            recent_at: None,
            last_ack_sent: Low::of(SeqNum(0)),
        }
    }

    /// Sets the offset before the first segment. RFC 7323 §7.1: "RECOMMENDED to generate a random,
    /// per-connection offset".
    pub(crate) fn set_offset(&mut self, offset: u32) {
        self.offset = offset;
    }

    /// Returns TSval at a time in milliseconds, wrapping (RFC 7323 §5.4).
    fn value(&self, ms: u32) -> u32 {
        ms.wrapping_add(self.offset)
    }

    fn steps(now: u32) -> NonZero<u16> {
        NonZero::new((now >> STEP_BITS) as u16).unwrap_or(NonZero::<u16>::MIN)
    }

    pub(crate) fn enable(&mut self, value: u32, now: u32) {
        self.recent = value;
        self.recent_at = Some(Self::steps(now));
    }

    pub(crate) const fn is_enabled(&self) -> bool {
        self.recent_at.is_some()
    }

    /// Returns TSval at this time, TS.Recent, and its age in milliseconds.
    pub(crate) fn frozen(&self, ms: u32) -> [u32; 3] {
        let age = self.recent_at.map_or(0, |at| self.age(at, ms));
        [self.value(ms), self.recent, u32::from(age) << STEP_BITS]
    }

    /// Restores the values that [`frozen`](Self::frozen) returned `slept` ago. TSval continues from
    /// there, even if the clock restarted.
    pub(crate) fn restore(&mut self, is_enabled: bool, was: [u32; 3], slept: Duration, ms: u32) {
        let [value, recent, age] = was;
        // Plus 1, because `slept` is rounded down to whole milliseconds.
        let value = value.wrapping_add(slept.millis_wrapping()).wrapping_add(1);
        self.offset = value.wrapping_sub(ms);
        if is_enabled {
            self.enable(recent, ms);
            let age = age.saturating_add(slept.millis_saturating()) >> STEP_BITS;
            let age = (age as u16).min(OUTDATED_AFTER.wrapping_add(1));
            let at = Self::steps(ms).get().wrapping_sub(age);
            self.recent_at = Some(NonZero::new(at).unwrap_or(NonZero::<u16>::MAX));
        }
    }

    fn age(&self, at: NonZero<u16>, now: u32) -> u16 {
        Self::steps(now).get().wrapping_sub(at.get())
    }

    /// Returns the option of a segment other than the first SYN.
    pub(crate) fn option(&self, ms: u32) -> Option<TimestampOption> {
        // RFC 7323 §3.2: every segment carries the option once it is negotiated.
        self.is_enabled().then(|| TimestampOption {
            value: self.value(ms),
            echo: self.recent,
        })
    }

    /// Returns the option of a SYN without ACK, whose TSecr is 0 (RFC 7323 §3.2).
    pub(crate) fn offer(&self, ms: u32) -> TimestampOption {
        TimestampOption {
            value: self.value(ms),
            echo: 0,
        }
    }

    /// Returns whether a segment is an old duplicate (RFC 7323 §5.3, R1).
    pub(crate) fn is_old(&self, theirs: TimestampOption, now: u32) -> bool {
        // RFC 7323 §5.5: an outdated TS.Recent does not invalidate a segment.
        let outdated = || {
            let at = self.recent_at;
            at.is_none_or(|at| self.age(at, now) > OUTDATED_AFTER)
        };
        SeqNum(theirs.value) < SeqNum(self.recent) && !outdated()
    }

    /// Updates TS.Recent (RFC 7323 §5.3, R3 and §4.3 (2)) from a segment that is not
    /// [old](Self::is_old). `nxt` is RCV.NXT.
    pub(crate) fn on_acceptable(
        &mut self,
        theirs: TimestampOption,
        seq: SeqNum,
        nxt: SeqNum,
        now: u32,
    ) {
        let is_due = seq <= self.last_ack_sent.last_up_to(nxt);
        if is_due && self.is_enabled() {
            self.recent = theirs.value;
            self.recent_at = Some(Self::steps(now));
        }
    }

    pub(crate) fn on_ack_sent(&mut self, ack: SeqNum) {
        self.last_ack_sent = Low::of(ack);
    }

    /// Returns the clock value of our segment whose timestamp `seg` echoes. `None` if timestamps
    /// are not in use, or if the echo is 0.
    pub(crate) fn echo(&self, seg: &Segment<'_>) -> Option<u32> {
        let option = seg.options.timestamps.filter(|_| self.is_enabled())?;
        (option.echo != 0).then(|| option.echo.wrapping_sub(self.offset))
    }

    /// Returns whether a SYN with this timestamp may open a new connection in place of one in
    /// TIME-WAIT (RFC 9293 §3.6.1, SHLD-4).
    pub(crate) fn is_newer(&self, theirs: TimestampOption) -> bool {
        self.is_enabled() && SeqNum(theirs.value) > SeqNum(self.recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Options};

    fn ts(value: u32) -> TimestampOption {
        TimestampOption { value, echo: 0 }
    }

    /// The example of RFC 7323 §4.3: segments in order, acknowledgments delayed.
    #[test]
    fn the_oldest_unacknowledged_segment_is_echoed() {
        let mut state = Timestamps::new();
        state.enable(0, 0);
        state.on_ack_sent(SeqNum(100));
        state.on_acceptable(ts(1), SeqNum(100), SeqNum(100), 0);
        state.on_acceptable(ts(2), SeqNum(200), SeqNum(200), 0);
        state.on_acceptable(ts(3), SeqNum(300), SeqNum(300), 0);
        assert_eq!(state.option(0).unwrap().echo, 1);
    }

    /// The example of RFC 7323 §4.3: a hole, then the segment that fills it.
    #[test]
    fn the_segment_that_fills_the_hole_is_echoed() {
        let mut state = Timestamps::new();
        state.enable(0, 0);
        for (value, seq, ack, echo) in [
            (1, 100, 200, 1),
            (3, 300, 200, 1),
            (2, 200, 400, 2),
            (5, 500, 400, 2),
            (4, 400, 600, 4),
        ] {
            if value == 1 {
                state.on_ack_sent(SeqNum(100));
            }
            state.on_acceptable(ts(value), SeqNum(seq), SeqNum(seq), 0);
            assert_eq!(state.option(0).unwrap().echo, echo);
            state.on_ack_sent(SeqNum(ack));
        }
    }

    #[test]
    fn old_is_relative_and_goes_out_of_date() {
        let mut state = Timestamps::new();
        state.enable(5, 0);
        let soon = 1;
        assert!(state.is_old(ts(4), soon));
        assert!(state.is_old(ts(u32::MAX), soon));
        assert!(!state.is_old(ts(5), soon));
        assert!(!state.is_old(ts(6), soon));
        let weeks = 25 * 24 * 3600 * 1000;
        assert!(!state.is_old(ts(4), weeks));
    }

    #[test]
    fn an_echo_of_zero_is_none() {
        let mut state = Timestamps::new();
        state.set_offset(10);
        state.enable(0, 0);
        let echo = |echo| {
            state.echo(&Segment {
                src_port: 1,
                dst_port: 2,
                seq: SeqNum(0),
                ack: SeqNum(0),
                flags: Flags::ACK,
                window: 0,
                options: Options {
                    timestamps: Some(TimestampOption { value: 0, echo }),
                    ..Options::default()
                },
                payload: &[],
            })
        };
        assert_eq!(echo(900), Some(890));
        assert_eq!(echo(0), None);
    }
}
