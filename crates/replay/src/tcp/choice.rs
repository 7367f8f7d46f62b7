//! Congestion control by name, chosen while the program runs: for simulations that compare.

use super::given::{Given, GivenCongestion};

/// The congestion control of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CongestionChoice {
    /// RFC 5681 and RFC 6582: that of a device.
    #[default]
    NewReno,
    /// RFC 9438.
    Cubic,
    /// The peer's window alone limits the bytes in the network. RFC 5681 forbids it, because the
    /// queues that it fills and the losses that it ignores harm other flows.
    Off,
    /// One from outside of this crate.
    Given(Given),
}

impl CongestionChoice {
    /// The one that `by` has for `place`, which is told when a connection begins.
    pub const fn given(by: &'static dyn GivenCongestion, place: u32) -> CongestionChoice {
        CongestionChoice::Given(Given::new(by, place))
    }
}
