//! The parameters of a MAC.

use redpoll_base::Duration;
use redpoll_wire::ieee802154::Address;

use crate::{Ifs, Promised, RadioCaps};

/// Parameters of a [`Mac`](crate::Mac).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MacConfig {
    /// PAN identifier of this node. Default 0x7270.
    pub pan_id: u16,
    /// Short address of this node. The default, 0xffff, and 0xfffe mean that it has none; its
    /// frames then carry the extended address.
    pub short: u16,
    /// This node's EUI-64, big-endian as printed.
    pub extended: [u8; 8],
    /// Functions of the radio. Default: Imm-ACKs only.
    pub caps: RadioCaps,
    /// Bytes of security that the driver or the radio adds to and removes from every frame except
    /// acknowledgments: the auxiliary security header and the MIC of IEEE 802.15.4-2015 §9. They
    /// reduce the payload. Default 0.
    pub security_bytes: u8,
    /// Number of retries of a frame. Default 9: the ten attempts of Kumar et al. 2020's published
    /// configuration. macMaxFrameRetries in IEEE 802.15.4 is 3.
    pub max_frame_retries: u8,
    /// Backoff exponent of the first backoff, macMinBE. Default 3; values over
    /// `max_be` count as `max_be`.
    pub min_be: u8,
    /// Largest backoff exponent, macMaxBE. Default 5; values over 8 count as 8,
    /// the limit in IEEE 802.15.4.
    pub max_be: u8,
    /// Busy channel assessments after which another backoff follows, macMaxCSMABackoffs. Default 4,
    /// so the fifth is a channel access failure. With 255, CSMA-CA never fails.
    pub max_csma_backoffs: u8,
    /// Rule for the space between two frames. Default [`Ifs::Minimum`].
    pub ifs: Ifs,
    /// Channel access of a frame that the previous frame announced. Default [`Promised::Csma`].
    pub promised: Promised,
    /// `d` of Kumar et al. 2020 §7.1: after a failed attempt the MAC waits for a time uniform in
    /// [0, d], then restarts CSMA-CA. Collided frames of hidden terminals therefore rarely collide
    /// again. Default 40 ms.
    pub link_retry_delay: Duration,
    /// Number of retries of a data request, and of a frame to a node that listens only briefly.
    /// Default 4: the five attempts per poll of Kumar et al. 2020's published configuration.
    /// OpenThread does not retry frames to sleepy nodes.
    pub indirect_retries: u8,
    /// [`Self::link_retry_delay`] for the frames of [`Self::indirect_retries`]. It is smaller,
    /// because the other node keeps its receiver on meanwhile (Kumar et al. 2020 §8.2.3). Default 5
    /// ms; the paper gives no number.
    pub indirect_retry_delay: Duration,
    /// Whether the receiver is off during the backoffs of CSMA-CA, as in AT86RF2xx chips that
    /// perform CSMA-CA: *deaf listening* (Kumar et al. 2020 §4.2). Default false. With
    /// [`Rest::Sleep`](crate::Rest::Sleep), the receiver is off during backoffs in any case.
    pub deaf_backoff: bool,
    /// Time after a received frame within which copies of it are dropped. It must exceed the time
    /// for which a neighbour repeats a frame. Default 3 s.
    pub duplicate_timeout: Duration,
}

impl MacConfig {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }

    /// Returns the address in this node's frames: the short one if it has one.
    pub const fn address(&self) -> Address {
        match self.has_short() {
            true => Address::Short(self.short),
            false => Address::Extended(self.extended),
        }
    }

    pub(crate) const fn has_short(&self) -> bool {
        // 0xffff: none; 0xfffe: associated, but uses the extended address.
        self.short < 0xfffe
    }
}

impl Default for MacConfig {
    fn default() -> Self {
        MacConfig {
            pan_id: 0x7270,
            short: 0xffff,
            extended: [0; 8],
            caps: RadioCaps {
                auto_ack: true,
                ..RadioCaps::default()
            },
            security_bytes: 0,
            max_frame_retries: 9,
            min_be: 3,
            max_be: 5,
            max_csma_backoffs: 4,
            ifs: Ifs::Minimum,
            promised: Promised::Csma,
            link_retry_delay: Duration::from_millis(40),
            indirect_retries: 4,
            indirect_retry_delay: Duration::from_millis(5),
            deaf_backoff: false,
            duplicate_timeout: Duration::from_secs(3),
        }
    }
}
