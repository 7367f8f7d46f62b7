//! Access to the medium: the time at which a frame may be transmitted.
//!
//! An [`Access`] replaces parts of the CSMA-CA of a [`Mac`](crate::Mac). Devices have [`CsmaCa`],
//! which replaces nothing. A method whose receivers are mostly off has a [`Cycle`].
//!
//! - `contention.rs`: the backoffs of one attempt; `csma.rs`: those of CSMA-CA;
//! - `cycle.rs`: the decisions of a method whose receivers are mostly off.

mod contention;
mod csma;
mod cycle;

use core::convert::Infallible;
use core::fmt::Debug;

use redpoll_base::{Duration, Rng};

pub(crate) use contention::{AccessFailure, Contention};
pub use cycle::{
    Cargo, Channel, Cycle, CycleEvent, CycleProperties, CycleStatus, Cycled, CycledResult, Errand,
    Meaning, Move, Target,
};

/// A method of access to the medium. The default functions implement that of IEEE 802.15.4-2015.
pub trait Access: Clone + Debug {
    /// Radio operations of this method in addition to those of every radio:
    /// [`RadioWork::Cycled`](crate::RadioWork::Cycled). [`Infallible`] if there are none.
    type Work: Copy + PartialEq + Eq + Debug;
    /// The results of the operations that `Work` describes:
    /// [`RadioResult::Cycled`](crate::RadioResult::Cycled).
    type Done: Copy + PartialEq + Eq + Debug + Into<CycledResult>;
    /// The [`Cycle`] of a method whose receivers are mostly off; [`Infallible`] for other methods.
    type Cycle: Cycle<Self::Work>;

    /// Starts the method when its MAC is made. `rng` is the random number generator of that MAC.
    fn begin(&mut self, rng: &mut Rng) {
        let _ = rng;
    }

    /// Returns the method's [`Cycle`]; `None` if the receiver is always on and frames are not
    /// repeated. The result does not change after [`Self::begin`].
    fn cycle(&self) -> Option<&Cycled<Self::Cycle>> {
        None
    }

    /// Returns the cycle as [`Self::cycle`] does, but mutable.
    fn cycle_mut(&mut self) -> Option<&mut Cycled<Self::Cycle>> {
        None
    }

    /// Returns a backoff that replaces one of CSMA-CA; `None` selects CSMA-CA. `was_busy` is
    /// whether the channel was busy during this attempt. `max_csma_backoffs` of
    /// [`MacConfig`](crate::MacConfig) limits the number of backoffs.
    fn backoff(&self, was_busy: bool, rng: &mut Rng) -> Option<Duration> {
        let _ = (was_busy, rng);
        None
    }

    /// Returns a constant part of the delay before a retransmission, in addition to
    /// [`MacConfig::link_retry_delay`](crate::MacConfig::link_retry_delay).
    fn retry_pause(&self) -> Duration {
        Duration::ZERO
    }
}

/// Unslotted CSMA-CA (IEEE 802.15.4-2015 §6.2.5.1) and a receiver that is always on, or sleeps as
/// the upper layer decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CsmaCa;

impl Access for CsmaCa {
    type Work = Infallible;
    type Done = Infallible;
    type Cycle = Infallible;
}
