//! The space between two frames of one sender (IEEE 802.15.4-2015 §6.2.4), in which the receiver
//! processes the first one.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::timing;

/// Bytes of the frame check sequence, which frames at the radio interface lack.
const FCS: usize = 2;

/// Time from the transmit command to the first bit on the air: channel assessment and turnaround.
const ASSESSMENT: Duration =
    Duration::from_micros(timing::CCA_US.saturating_add(timing::TURNAROUND_US));

/// Rule for the interframe space: 640 µs (LIFS) after a frame of more than 18 bytes
/// (aMaxSIFSFrameSize), 192 µs (SIFS) after a shorter one, from the end of its acknowledgment if
/// requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ifs {
    /// The next frame begins after the space. Loading, backoff and assessment overlap the space.
    #[default]
    Minimum,
    /// The service of the next frame, including loading and CSMA-CA, begins after the space, as in
    /// ns-3 and with radios that can do nothing during the space.
    Sequential,
    /// No space, which the standard does not allow.
    Off,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    how: Ifs,
    until: Instant,
}

impl Spacing {
    pub(crate) const fn new(how: Ifs) -> Self {
        let until = Instant::ZERO;
        Spacing { how, until }
    }

    /// Handles the end of the exchange of a frame of `mpdu_len` bytes without FCS, including its
    /// acknowledgment.
    pub(crate) fn on_exchange_end(&mut self, now: Instant, mpdu_len: usize) {
        let psdu_len = mpdu_len.saturating_add(FCS);
        let space = match psdu_len <= timing::MAX_SIFS_PSDU {
            true => timing::SIFS_US,
            false => timing::LIFS_US,
        };
        self.until = now + Duration::from_micros(space);
    }

    pub(crate) fn service_from(&self) -> Instant {
        match self.how {
            Ifs::Sequential => self.until,
            Ifs::Minimum | Ifs::Off => Instant::ZERO,
        }
    }

    pub(crate) fn assess_from(&self) -> Instant {
        match self.how {
            Ifs::Minimum => {
                let us = self
                    .until
                    .as_micros()
                    .saturating_sub(ASSESSMENT.as_micros());
                Instant::from_micros(us)
            }
            Ifs::Sequential | Ifs::Off => Instant::ZERO,
        }
    }
}
