//! Congestion control by name, chosen while the program runs: for simulations that
//! compare. Only with the feature `other-engines` is there anything to choose; without it
//! the choice takes neither memory nor code.

#[cfg(feature = "other-engines")]
use super::given::{Given, GivenCongestion};

/// Which congestion control a connection has ([`Config::congestion`](crate::Config)). The
/// default is [`NEW_RENO`](Self::NEW_RENO).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CongestionChoice {
    #[cfg(feature = "other-engines")]
    pub(super) name: Name,
}

#[cfg(feature = "other-engines")]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Name {
    #[default]
    NewReno,
    Cubic,
    Off,
    Given(Given),
}

impl CongestionChoice {
    /// RFC 5681 and RFC 6582: what a device has.
    pub const NEW_RENO: CongestionChoice = CongestionChoice {
        #[cfg(feature = "other-engines")]
        name: Name::NewReno,
    };

    /// RFC 9438.
    #[cfg(feature = "other-engines")]
    pub const CUBIC: CongestionChoice = CongestionChoice { name: Name::Cubic };

    /// The peer's window alone limits what is out. RFC 5681 forbids it: others pay, with
    /// the queues that it fills and the losses that it does not answer to.
    #[cfg(feature = "other-engines")]
    pub const OFF: CongestionChoice = CongestionChoice { name: Name::Off };

    /// One that `by` has; `place` tells it which, when a connection begins.
    #[cfg(feature = "other-engines")]
    pub const fn given(by: &'static dyn GivenCongestion, place: u32) -> CongestionChoice {
        CongestionChoice {
            name: Name::Given(Given::new(by, place)),
        }
    }
}
