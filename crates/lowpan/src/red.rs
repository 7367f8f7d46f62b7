//! Random early detection on the queue towards the radio (Floyd and Jacobson
//! 1993; RFC 7567), counted in datagrams, with ECN (RFC 3168).
//!
//! The average is brought up to date when a datagram arrives and when one
//! leaves. The verdict falls when a datagram is about to leave, before its
//! first fragment: half way it could not be marked any more, and what is
//! marked then tells of the queue as it is now.

use redpoll_base::{Ecn, Rng};

/// Parameters. The queue is a few datagrams long, so an average over hundreds
/// of packets, as for Internet routers, would say nothing; Kumar et al. 2020
/// do not tell theirs. The defaults are chosen, not measured by others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedConfig {
    /// The average moves by 1 / 2^`weight_shift` of the difference. Default 2,
    /// a quarter.
    pub weight_shift: u8,
    /// The average from which datagrams are marked, in sixteenths of a
    /// datagram. Default 16, one.
    pub min_threshold: u8,
    /// The average from which all are marked, in sixteenths of a datagram.
    /// Default 48, three: half of six slots.
    pub max_threshold: u8,
    /// The probability just below `max_threshold`, in 1/256. Default 26, a
    /// tenth.
    pub max_probability: u8,
}

impl Default for RedConfig {
    fn default() -> Self {
        RedConfig {
            weight_shift: 2,
            min_threshold: 16,
            max_threshold: 48,
            max_probability: 26,
        }
    }
}

/// What becomes of a datagram that is about to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Send,
    /// It gets the CE codepoint.
    Mark,
    /// It does not understand marks.
    Drop,
}

/// The average and the dice.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    rng: Rng,
    /// Of the queue's length, in 1/4096 of a datagram.
    average: u32,
}

impl Red {
    pub(crate) fn new(config: RedConfig, seed: u64) -> Self {
        Red {
            config,
            rng: Rng::new(seed),
            average: 0,
        }
    }

    /// The queue has now `len` datagrams.
    pub(crate) fn on_change(&mut self, len: u8) {
        let target = u32::from(len) << 12;
        let shift = u32::from(self.config.weight_shift.min(12));
        let part = target.abs_diff(self.average) >> shift;
        self.average = match target > self.average {
            true => self.average.saturating_add(part),
            false => self.average.saturating_sub(part),
        };
    }

    /// The verdict on a datagram with this codepoint.
    pub(crate) fn judge(&mut self, ecn: Ecn) -> Verdict {
        if !self.strikes() {
            return Verdict::Send;
        }
        // RFC 3168 §5: who is not capable of ECN loses the packet instead.
        match ecn {
            Ecn::NotEct => Verdict::Drop,
            Ecn::Ect0 | Ecn::Ect1 | Ecn::Ce => Verdict::Mark,
        }
    }

    fn strikes(&mut self) -> bool {
        let least = u32::from(self.config.min_threshold) << 8;
        let most = u32::from(self.config.max_threshold) << 8;
        if self.average < least {
            return false;
        }
        if self.average >= most {
            return true;
        }
        let above = self.average.saturating_sub(least);
        // Both sides of p = max_p · above / (most - least), multiplied out.
        let dice = self
            .rng
            .below(most.saturating_sub(least).saturating_mul(16));
        dice.saturating_mul(16) < above.saturating_mul(u32::from(self.config.max_probability))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(len: u8, times: u32) -> Red {
        let mut red = Red::new(RedConfig::default(), 1);
        for _ in 0..times {
            red.on_change(len);
        }
        red
    }

    fn strikes_in_10_000(mut red: Red) -> u32 {
        (0..10_000).map(|_| u32::from(red.strikes())).sum()
    }

    #[test]
    fn below_the_lower_threshold_nothing_and_above_the_upper_all() {
        assert_eq!(strikes_in_10_000(after(0, 9)), 0);
        assert_eq!(strikes_in_10_000(after(1, 90)), 0, "the average nears one");
        assert_eq!(strikes_in_10_000(after(4, 90)), 10_000);
    }

    #[test]
    fn between_the_thresholds_by_the_average() {
        // Half way between them: half of a tenth.
        let half = strikes_in_10_000(after(2, 90));
        assert!((450..560).contains(&half), "{half}");
    }

    #[test]
    fn a_short_burst_passes() {
        let mut red = after(0, 1);
        red.on_change(3);
        assert_eq!(red.judge(Ecn::NotEct), Verdict::Send, "{red:?}");
    }

    #[test]
    fn who_cannot_be_told_loses_the_datagram() {
        let mut red = after(6, 90);
        assert_eq!(red.judge(Ecn::Ect0), Verdict::Mark);
        assert_eq!(red.judge(Ecn::Ce), Verdict::Mark);
        assert_eq!(red.judge(Ecn::NotEct), Verdict::Drop);
    }
}
