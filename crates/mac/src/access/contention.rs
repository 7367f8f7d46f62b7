//! The backoffs before the channel assessments of one attempt to transmit.

use redpoll_base::{Duration, Rng};

use super::Access;
use super::csma::Csma;
use crate::MacConfig;

/// The last allowed channel assessment found the channel busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessFailure;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contention {
    Csma(Csma),
    /// The radio performs CSMA-CA ([`RadioCaps::csma`](crate::RadioCaps)); its result is final.
    Radio,
}

impl Contention {
    pub(crate) fn start(config: &MacConfig, min_be: u8) -> Self {
        match config.caps.csma {
            true => Contention::Radio,
            false => Contention::Csma(Csma::start(config, min_be)),
        }
    }

    /// Returns the backoff before the channel assessment.
    pub(crate) fn delay(&self, access: &impl Access, rng: &mut Rng) -> Duration {
        match self {
            Contention::Csma(csma) => match access.backoff(csma.was_busy(), rng) {
                Some(backoff) => backoff,
                None => csma.backoff(rng),
            },
            Contention::Radio => Duration::ZERO,
        }
    }

    /// Handles a busy channel; returns whether another [delay](Self::delay) follows.
    pub(crate) fn on_busy(&mut self, config: &MacConfig) -> Result<(), AccessFailure> {
        match self {
            Contention::Csma(csma) => csma.on_busy(config),
            Contention::Radio => Err(AccessFailure),
        }
    }
}
