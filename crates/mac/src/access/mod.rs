//! Access to the medium: when a frame may go on the air.
//!
//! A method says how long to wait before the radio is told to assess the channel and
//! send, and hears when the channel was busy. What has to wake
//! its receiver first is in `duty/`, behind the feature `duty-cycled`.

mod csma;
#[cfg(feature = "duty-cycled")]
mod duty;

use redpoll_base::{Duration, Rng};

use crate::MacConfig;
use csma::Csma;
#[cfg(feature = "duty-cycled")]
pub(crate) use duty::{Cargo, Duty, Errand, Meaning, Move, Target};
#[cfg(feature = "duty-cycled")]
pub use duty::{DutyConfig, DutyCounters, LayerConfig, Method, Release};

/// The channel was busy once too often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessFailure;

/// The way to the medium of one attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Unslotted CSMA-CA by this MAC.
    Csma(Csma),
    /// CSMA-CA by the radio ([`RadioCaps::csma`](crate::RadioCaps)): a busy channel is
    /// a failure.
    Radio,
}

impl Access {
    /// An attempt begins, with this macMinBE.
    pub(crate) fn start(config: &MacConfig, min_be: u8) -> Self {
        match config.caps.csma {
            true => Access::Radio,
            false => Access::Csma(Csma::start(config, min_be)),
        }
    }

    /// How long to wait before the channel is assessed.
    pub(crate) fn delay(&self, rng: &mut Rng) -> Duration {
        match self {
            Access::Csma(csma) => csma.backoff(rng),
            Access::Radio => Duration::ZERO,
        }
    }

    /// The channel was busy; whether another [delay](Self::delay) follows.
    pub(crate) fn on_busy(&mut self, config: &MacConfig) -> Result<(), AccessFailure> {
        match self {
            Access::Csma(csma) => csma.on_busy(config),
            Access::Radio => Err(AccessFailure),
        }
    }
}
