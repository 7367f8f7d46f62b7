//! Congestion control: how much may be in the network.

mod choice;
#[cfg(feature = "other-engines")]
mod chosen;
#[cfg(feature = "other-engines")]
mod cubic;
mod newreno;

pub use choice::CongestionChoice;
pub(crate) use newreno::InitialWindow;

/// What a connection has.
#[cfg(feature = "other-engines")]
pub(crate) use chosen::Chosen as Congestion;
/// What a connection has.
#[cfg(not(feature = "other-engines"))]
pub(crate) use newreno::NewReno as Congestion;
