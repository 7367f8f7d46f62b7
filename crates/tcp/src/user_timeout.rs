//! The user timeout option (RFC 5482): each end announces how long it keeps a connection with
//! unacknowledged data.

use core::num::NonZero;

use redpoll_base::{Duration, divide};

use crate::config::Config;

pub(crate) const ON: bool = cfg!(feature = "more-options");

/// RFC 5482 §3.1, L_LIMIT, in seconds: "at least 100 seconds". The default maximum of the
/// retransmission timeout is less, 60 s.
const LEAST: u32 = 100;

/// The granularity bit (RFC 5482 §3.3): the unit is minutes.
const MINUTES: u16 = 1 << 15;

/// A user timeout as encoded in the option: 1 s to 22 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserTimeout(NonZero<u16>);

impl UserTimeout {
    const LEAST: UserTimeout = UserTimeout(NonZero::new(LEAST as u16).unwrap());

    /// Decodes the option's value; `None` for values that RFC 5482 §3.4 reserves.
    pub(crate) const fn from_bits(bits: u16) -> Option<UserTimeout> {
        match NonZero::new(bits) {
            Some(bits) if bits.get() != MINUTES => Some(UserTimeout(bits)),
            _ => None,
        }
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0.get()
    }

    /// Returns the timeout.
    pub const fn duration(self) -> Duration {
        Duration::from_millis_u32(self.seconds().wrapping_mul(1_000))
    }

    /// Returns the timeout in seconds, less than 2^21.
    #[inline(never)] // size
    const fn seconds(self) -> u32 {
        let count = (self.bits() & !MINUTES) as u32;
        let unit = if self.bits() & MINUTES == 0 { 1 } else { 60 };
        count.wrapping_mul(unit)
    }
}

impl From<Duration> for UserTimeout {
    /// Rounds up to seconds, or to minutes above nine hours.
    fn from(duration: Duration) -> Self {
        let ms = duration.millis_saturating();
        let seconds = divide(ms.saturating_sub(1), 1_000).wrapping_add(1);
        let bits = if seconds < u32::from(MINUTES) {
            seconds as u16
        } else {
            let minutes = divide(seconds.wrapping_sub(1), 60).wrapping_add(1);
            minutes.min(u32::from(MINUTES - 1)) as u16 | MINUTES
        };
        UserTimeout(NonZero::new(bits).unwrap_or(NonZero::<u16>::MIN))
    }
}

/// Use of the option on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserTimeoutOption {
    /// ADV_UTO: timeout announced to the peer.
    pub advertise: Duration,
    /// U_LIMIT: maximum that is adopted from a peer, so that it cannot hold memory for weeks.
    pub most: Duration,
}

/// State of RFC 5482 §3: ENABLED, ADV_UTO, CHANGEABLE, and whether to announce.
#[derive(Clone, Debug)]
pub(crate) struct Negotiation {
    /// ADV_UTO; `None` if the option is not in use.
    advertise: Option<UserTimeout>,
    most: UserTimeout,
    /// Whether the peer may change our user timeout, because the application set none.
    changeable: bool,
    /// Whether the next segment other than a SYN carries the option.
    owed: bool,
}

impl Negotiation {
    pub(crate) fn new<A>(config: &Config<A>) -> Self {
        let option = config.user_timeout_option.filter(|_| ON);
        Negotiation {
            advertise: option.map(|option| option.advertise.into()),
            most: option.map_or(UserTimeout::LEAST, |option| option.most.into()),
            changeable: config.user_timeout.is_none(),
            owed: option.is_some(),
        }
    }

    pub(crate) fn offer(&self) -> Option<UserTimeout> {
        self.advertise.filter(|_| ON)
    }

    pub(crate) fn owed(&self) -> Option<UserTimeout> {
        self.offer().filter(|_| self.owed)
    }

    pub(crate) fn on_sent(&mut self) {
        self.owed = false;
    }

    /// Sets the timeout of the application, which the peer cannot change, and announces it.
    pub(crate) fn on_set(&mut self, timeout: Option<Duration>) {
        self.changeable = false;
        if !ON {
            return;
        }
        if let (Some(advertise), Some(timeout)) = (&mut self.advertise, timeout) {
            *advertise = timeout.into();
            self.owed = true;
        }
    }

    /// Returns `USER_TIMEOUT = min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT))` in milliseconds
    /// (RFC 5482 §3.1), or `None` if the timeout does not change.
    pub(crate) fn adopt(&self, theirs: Option<UserTimeout>) -> Option<u32> {
        let ours = self.offer().filter(|_| self.changeable)?;
        let theirs = theirs.unwrap_or(ours).seconds();
        let most = self.most.seconds().max(LEAST);
        let seconds = ours.seconds().max(theirs).max(LEAST).min(most);
        Some(seconds.wrapping_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_up_to_nine_hours_and_minutes_beyond() {
        let bits = |ms| UserTimeout::from(Duration::from_millis(ms)).bits();
        assert_eq!(bits(0), 1);
        assert_eq!(bits(1_001), 2);
        assert_eq!(bits(32_767_000), 32_767);
        assert_eq!(bits(32_767_001), MINUTES | 547);
        assert_eq!(bits(u64::MAX / 2_000), MINUTES | 32_767);
        let minutes = UserTimeout::from_bits(MINUTES | 547).unwrap();
        assert_eq!(minutes.duration(), Duration::from_secs(547 * 60));
    }

    #[test]
    fn reserved_values_are_none() {
        assert_eq!(UserTimeout::from_bits(0), None);
        assert_eq!(UserTimeout::from_bits(MINUTES), None);
    }
}
