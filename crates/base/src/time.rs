//! Time as an argument: microseconds since an origin that the caller chooses.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time, in microseconds since the caller's origin. Arithmetic saturates: an instant
/// never wraps and never panics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time in microseconds, never negative. Arithmetic saturates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The caller's origin of time.
    pub const ZERO: Instant = Instant(0);
    /// Later than every event: "never" as an instant.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// Returns the instant `us` microseconds after the origin.
    pub const fn from_micros(us: u64) -> Self {
        Instant(us)
    }

    /// Returns the instant `ms` milliseconds after the origin.
    pub const fn from_millis(ms: u64) -> Self {
        Instant(ms.saturating_mul(1_000))
    }

    /// Returns the microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the whole milliseconds since the origin, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the whole milliseconds since the origin, rounded down, modulo 2^32. With division by
    /// software it takes a tenth of the instructions of [`as_millis`](Self::as_millis).
    pub const fn millis_wrapping(self) -> u32 {
        Duration(self.0).millis_wrapping()
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    #[inline(never)] // size
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// An empty span.
    pub const ZERO: Duration = Duration(0);
    /// The longest possible span.
    pub const MAX: Duration = Duration(u64::MAX);

    /// Returns a span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Duration(us)
    }

    /// Returns a span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms.saturating_mul(1_000))
    }

    /// Returns a span of `ms` milliseconds, computed with two 32-bit products: a 64-bit product is
    /// a library call on some processors. It does not overflow.
    #[inline(never)]
    pub const fn from_millis_u32(ms: u32) -> Self {
        let low = (ms & 0xffff).wrapping_mul(1_000);
        let high = (ms >> 16).wrapping_mul(1_000);
        Duration(((high as u64) << 16).wrapping_add(low as u64))
    }

    /// Returns a span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Duration(s.saturating_mul(1_000_000))
    }

    /// Returns the span in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the span in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the span in whole milliseconds, rounded down, modulo 2^32; see
    /// [`Instant::millis_wrapping`].
    pub const fn millis_wrapping(self) -> u32 {
        // A thousand is 8 times 125. The remainder by 125 comes from the remainders of the powers
        // of 2^16. The number minus this remainder is divisible by 125, and that division is a
        // product with the inverse.
        const INVERSE_OF_125: u32 = 0x26e9_78d5;
        let eighths = self.0 >> 3;
        let (low, high) = (eighths as u32, (eighths >> 32) as u32);
        let sum = (low & 0xffff)
            .wrapping_add((low >> 16).wrapping_mul(36))
            .wrapping_add((high & 0xffff).wrapping_mul(46))
            .wrapping_add((high >> 16).wrapping_mul(31));
        // The sum is below 2^23, and after this step below 2^17, so that the next product fits.
        let sum = (sum & 0xffff).wrapping_add((sum >> 16).wrapping_mul(36));
        let quotient = sum.wrapping_mul(16_778) >> 21;
        let mut remainder = sum.wrapping_sub(quotient.wrapping_mul(125));
        if remainder > 125 {
            // The quotient was one too high.
            remainder = remainder.wrapping_add(125);
        }
        low.wrapping_sub(remainder).wrapping_mul(INVERSE_OF_125)
    }

    /// Returns the span in whole milliseconds, rounded down, at most 2^32 - 1.
    #[inline(never)] // size
    pub const fn millis_saturating(self) -> u32 {
        const TOO_LONG: u64 = (1 << 32) * 1_000;
        if self.0 < TOO_LONG {
            self.millis_wrapping()
        } else {
            u32::MAX
        }
    }

    /// Returns whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the span times `factor`, saturating.
    pub const fn times(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }

    /// Returns the span divided by `divisor`; unchanged if the divisor is zero.
    pub const fn divided_by(self, divisor: u64) -> Duration {
        match self.0.checked_div(divisor) {
            Some(us) => Duration(us),
            None => self,
        }
    }

    /// Returns the saturating sum; `const`, for constants.
    pub const fn plus(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or zero.
    pub const fn minus(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline(never)] // size
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        self.0 = self.0.saturating_add(d.0);
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.since(earlier)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        self.plus(d)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        self.0 = self.0.saturating_add(d.0);
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        self.minus(d)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} us", self.0)
    }
}

/// The time when a component must be called again. A sleeping CPU may be up to `slack` late, so
/// that several wake-ups become one. A simulator always wakes at `at`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// Time of the component's next timer.
    pub at: Instant,
    /// Acceptable delay of the call.
    pub slack: Duration,
}

impl Wake {
    /// Returns a wake-up at `at` without slack.
    pub const fn exactly(at: Instant) -> Self {
        Wake {
            at,
            slack: Duration::ZERO,
        }
    }

    /// Returns a wake-up at `at` that may be up to `slack` late.
    pub const fn within(at: Instant, slack: Duration) -> Self {
        Wake { at, slack }
    }
}

/// Returns the earlier of two wake-ups. Its slack is reduced so that its latest time is not after
/// the latest time of the other wake-up.
pub fn earliest(a: Option<Wake>, b: Option<Wake>) -> Option<Wake> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    let at = a.at.min(b.at);
    let latest = |wake: Wake| wake.at.0.saturating_add(wake.slack.0);
    let slack = latest(a).min(latest(b)).saturating_sub(at.0);
    Some(Wake::within(at, Duration(slack)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Instant::ZERO - Instant::from_millis(1), Duration::ZERO);
        assert_eq!(
            Instant::FAR_FUTURE + Duration::from_secs(1),
            Instant::FAR_FUTURE
        );
        assert_eq!(Duration::ZERO - Duration::from_secs(1), Duration::ZERO);
        assert_eq!(
            Duration::from_millis(3).divided_by(0),
            Duration::from_millis(3)
        );
    }

    #[test]
    fn milliseconds_without_a_division_are_the_same() {
        let mut us = 0u64;
        for step in 0..1_000_000u64 {
            for us in [us, step, step * 1_000, step * 1_000 + 999] {
                let span = Duration::from_micros(us);
                assert_eq!(span.millis_wrapping(), span.as_millis() as u32, "{us}");
                let most = u64::from(u32::MAX);
                assert_eq!(
                    u64::from(span.millis_saturating()),
                    span.as_millis().min(most)
                );
                let ms = Duration::from_millis(u64::from(us as u32));
                assert_eq!(Duration::from_millis_u32(us as u32), ms);
            }
            us = us
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(step);
        }
        let span = Duration::MAX;
        assert_eq!(span.millis_wrapping(), span.as_millis() as u32);
    }

    #[test]
    fn a_joined_wake_lies_within_both_tolerances() {
        let a = Wake::within(Instant::from_millis(10), Duration::from_millis(50));
        let b = Wake::within(Instant::from_millis(20), Duration::from_millis(5));
        let joined = earliest(Some(a), Some(b)).unwrap();
        assert_eq!(joined.at, Instant::from_millis(10));
        assert_eq!(joined.slack, Duration::from_millis(15));
        assert_eq!(earliest(None, Some(b)), Some(b));
    }

    #[test]
    fn units_convert_and_operators_agree() {
        extern crate std;
        let ms = Duration::from_millis(1_500);
        assert_eq!((ms.as_micros(), ms.as_millis()), (1_500_000, 1_500));
        assert_eq!(ms.times(2), Duration::from_secs(3));
        assert_eq!(ms.divided_by(3), Duration::from_micros(500_000));
        assert_eq!(ms + ms - ms, ms);
        assert!(!ms.is_zero() && Duration::ZERO.is_zero());
        assert_eq!(Duration::MAX.times(2), Duration::MAX);
        let mut sum = ms;
        sum += ms;
        assert_eq!(sum, Duration::from_secs(3));
        let mut at = Instant::from_micros(250);
        at += ms;
        assert_eq!((at.as_micros(), at.as_millis()), (1_500_250, 1_500));
        assert_eq!(at.millis_wrapping(), 1_500);
        assert_eq!(at - Instant::from_micros(250), ms);
        assert_eq!(std::format!("{at:?} {ms:?}"), "1.500250 s 1500000 us");
        assert_eq!(Wake::exactly(at), Wake::within(at, Duration::ZERO));
    }
}
