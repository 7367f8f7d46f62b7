//! Congestion control chosen at run time, for simulations that compare algorithms.

use super::given::{Given, GivenCongestion};

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CongestionChoice {
    /// RFC 5681 and RFC 6582, as on devices.
    #[default]
    NewReno,
    /// RFC 9438.
    Cubic,
    /// No congestion control: only the peer's window limits the bytes in the network. RFC 5681
    /// forbids this, because the filled queues and ignored losses harm other flows.
    Off,
    /// An algorithm from outside of this crate.
    Given(Given),
}

impl CongestionChoice {
    /// Returns the algorithm `by`. When a connection begins, [`GivenCongestion::begin`] is called
    /// with `place`.
    pub const fn given(by: &'static dyn GivenCongestion, place: u32) -> CongestionChoice {
        CongestionChoice::Given(Given::new(by, place))
    }
}
