//! The space between two frames of one sender (IEEE 802.15.4-2015 §6.2.4), in
//! which the receiver of the first one gets through with it.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::timing;

/// The frame check sequence, which frames at the seam to the radio lack.
const FCS: usize = 2;

/// From the order to send until the first bit is on the air: the channel is
/// assessed, and the radio turns around.
const ASSESSMENT: Duration =
    Duration::from_micros(timing::CCA_US.saturating_add(timing::TURNAROUND_US));

/// How a MAC keeps the interframe space: 640 µs (LIFS) behind a frame of more
/// than 18 bytes (aMaxSIFSFrameSize), 192 µs (SIFS) behind a shorter one,
/// counted from the end of its acknowledgement if it asked for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ifs {
    /// The next frame begins no sooner. Loading, backoff and assessment overlap the space.
    #[default]
    Minimum,
    /// The service of the next frame begins only then, with loading and
    /// CSMA-CA behind the space; so do ns-3 and radios that are busy meanwhile.
    Sequential,
    /// No space is kept. The standard does not allow that.
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

    /// The exchange of a frame of `mpdu_len` bytes, without its FCS, is over,
    /// acknowledgement included.
    pub(crate) fn on_exchange_end(&mut self, now: Instant, mpdu_len: usize) {
        let psdu_len = mpdu_len.saturating_add(FCS);
        let space = match psdu_len <= timing::MAX_SIFS_PSDU {
            true => timing::SIFS_US,
            false => timing::LIFS_US,
        };
        self.until = now + Duration::from_micros(space);
    }

    /// When the service of the next frame may begin.
    pub(crate) fn service_from(&self) -> Instant {
        match self.how {
            Ifs::Sequential => self.until,
            Ifs::Minimum | Ifs::Off => Instant::ZERO,
        }
    }

    /// When the radio may be ordered to assess the channel and send.
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
