//! Timestamps and protection against wrapped sequence numbers (RFC 7323).

use crate::{Segment, SeqNum, TimestampOption};

/// RFC 7323 §5.5: after this long without news TS.Recent is no longer valid.
/// In steps of [`STEP_BITS`].
const OUTDATED_AFTER: u16 = ((24 * 24 * 60 * 60 * 1_000u32) >> STEP_BITS) as u16;

/// The age of TS.Recent is counted in steps of 2^16 ms: about a minute.
const STEP_BITS: u32 = 16;

/// The timestamp state of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Timestamps {
    /// Snd.TS.OK: both SYNs carried the option.
    enabled: bool,
    /// Added to the clock (RFC 7323 §7.1).
    offset: u32,
    /// TS.Recent: what to echo.
    recent: u32,
    /// When TS.Recent was set, in steps of [`STEP_BITS`].
    recent_at: u16,
    /// Last.ACK.sent.
    last_ack_sent: SeqNum,
}

impl Timestamps {
    pub(crate) const fn new() -> Self {
        Timestamps {
            enabled: false,
            offset: 0,
            recent: 0,
            recent_at: 0,
            last_ack_sent: SeqNum(0),
        }
    }

    /// RFC 7323 §7.1: "generate timestamps using a random, per-connection
    /// timestamp offset". Before anything is sent.
    pub(crate) fn set_offset(&mut self, offset: u32) {
        self.offset = offset;
    }

    /// TSval at this moment in milliseconds, wrapping (RFC 7323 §5.4).
    fn value(&self, ms: u32) -> u32 {
        ms.wrapping_add(self.offset)
    }

    fn steps(now: u32) -> u16 {
        (now >> STEP_BITS) as u16
    }

    /// Both ends sent the option on their SYN; the peer's said `value`.
    pub(crate) fn enable(&mut self, value: u32, now: u32) {
        self.enabled = true;
        self.recent = value;
        self.recent_at = Self::steps(now);
    }

    pub(crate) const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The option for a segment that is not a first SYN.
    pub(crate) fn option(&self, ms: u32) -> Option<TimestampOption> {
        // RFC 7323 §3.2: in every segment once negotiated.
        self.enabled.then(|| TimestampOption {
            value: self.value(ms),
            echo: self.recent,
        })
    }

    /// The option for a SYN without ACK, whose TSecr is zero (RFC 7323 §3.2).
    pub(crate) fn offer(&self, ms: u32) -> TimestampOption {
        TimestampOption {
            value: self.value(ms),
            echo: 0,
        }
    }

    /// RFC 7323 §5.3, R1: whether a segment is an old duplicate.
    pub(crate) fn is_old(&self, theirs: TimestampOption, now: u32) -> bool {
        // RFC 7323 §5.5: an outdated TS.Recent proves nothing.
        let outdated = || Self::steps(now).wrapping_sub(self.recent_at) > OUTDATED_AFTER;
        SeqNum(theirs.value) < SeqNum(self.recent) && !outdated()
    }

    /// RFC 7323 §5.3, R3 and §4.3 (2): remembers what to echo.
    pub(crate) fn on_acceptable(&mut self, theirs: TimestampOption, seq: SeqNum, now: u32) {
        if seq <= self.last_ack_sent && !self.is_old(theirs, now) {
            self.recent = theirs.value;
            self.recent_at = Self::steps(now);
        }
    }

    /// A segment with this acknowledgment leaves.
    pub(crate) fn on_ack_sent(&mut self, ack: SeqNum) {
        self.last_ack_sent = ack;
    }

    /// What the clock was when the segment left whose timestamp is echoed, if
    /// timestamps are in use.
    pub(crate) fn echo(&self, seg: &Segment<'_>) -> Option<u32> {
        let option = seg.options.timestamps.filter(|_| self.enabled)?;
        (option.echo != 0).then(|| option.echo.wrapping_sub(self.offset))
    }

    /// The milliseconds since the segment left whose timestamp is echoed, if the echo
    /// makes sense (RFC 7323 §4.1; a zero echo comes from stacks that have
    /// nothing to echo).
    pub(crate) fn elapsed(&self, theirs: TimestampOption, now: u32) -> Option<u32> {
        if !self.enabled || theirs.echo == 0 {
            return None;
        }
        let ms = self.value(now).wrapping_sub(theirs.echo);
        // An echo from the future or from weeks ago is not ours.
        (ms < 1 << 22).then_some(ms)
    }

    /// Whether a SYN with this timestamp may open a new connection in place
    /// of one in TIME-WAIT (RFC 9293 §3.6.1, SHLD-4).
    pub(crate) fn is_newer(&self, theirs: TimestampOption) -> bool {
        self.enabled && SeqNum(theirs.value) > SeqNum(self.recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ts(value: u32) -> TimestampOption {
        TimestampOption { value, echo: 0 }
    }

    /// The example of RFC 7323 §4.3: segments in order, acknowledgments delayed.
    #[test]
    fn the_oldest_unacknowledged_segment_is_echoed() {
        let mut state = Timestamps::new();
        state.enable(0, 0);
        state.on_ack_sent(SeqNum(100));
        state.on_acceptable(ts(1), SeqNum(100), 0);
        state.on_acceptable(ts(2), SeqNum(200), 0);
        state.on_acceptable(ts(3), SeqNum(300), 0);
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
            state.on_acceptable(ts(value), SeqNum(seq), 0);
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
    fn echoes_from_the_future_and_zero_are_not_measured() {
        let mut state = Timestamps::new();
        state.enable(0, 0);
        let now = 1000;
        let echo = |echo| state.elapsed(TimestampOption { value: 0, echo }, now);
        assert_eq!(echo(900), Some(100));
        assert_eq!(echo(1001), None);
        assert_eq!(echo(0), None);
    }
}
