//! Congestion control: how much may be in the network.

mod choice;
#[cfg(feature = "other-engines")]
mod chosen;
#[cfg(feature = "other-engines")]
mod cubic;
#[cfg(feature = "other-engines")]
mod given;
mod newreno;
mod pipe;

pub use choice::CongestionChoice;
#[cfg(feature = "other-engines")]
pub use given::{CongestionEvent, CongestionNews, CongestionWindow, GivenCongestion};
pub(crate) use newreno::InitialWindow;
pub(crate) use pipe::Pipe;

/// What a connection has.
#[cfg(feature = "other-engines")]
pub(crate) use chosen::{Chosen as Congestion, Present};
/// What a connection has.
#[cfg(not(feature = "other-engines"))]
pub(crate) use newreno::NewReno as Congestion;
