//! What a MAC must be told.

use redpoll_base::Duration;

use crate::RadioCaps;

/// Parameters of a [`Mac`](crate::Mac).
#[derive(Clone, Debug)]
pub struct MacConfig {
    /// The PAN that this node belongs to. Default 0x7270.
    pub pan_id: u16,
    /// This node's short address. The default, 0xffff, and 0xfffe mean that it
    /// has none; then its frames carry the extended address.
    pub short: u16,
    /// This node's EUI-64, big-endian as printed.
    pub extended: [u8; 8],
    /// What the radio does by itself. Default: Imm-ACKs only.
    pub caps: RadioCaps,
    /// Failed attempts that are followed by another one; the attempts are one
    /// more. Default 9: the ten attempts of Kumar et al. 2020's published
    /// configuration. The standard's macMaxFrameRetries is 3.
    pub max_frame_retries: u8,
    /// Backoff exponent of the first backoff, macMinBE. Default 3; values over
    /// `max_be` count as `max_be`.
    pub min_be: u8,
    /// Largest backoff exponent, macMaxBE. Default 5; values over 8 count as 8,
    /// the standard's limit.
    pub max_be: u8,
    /// Busy channel assessments after which another backoff follows,
    /// macMaxCSMABackoffs. Default 4, so the fifth is a channel access failure.
    pub max_csma_backoffs: u8,
    /// `d` of Kumar et al. 2020 §7.1: after a failed attempt the MAC waits for
    /// a time uniform in [0, d], then starts CSMA-CA afresh, so that frames
    /// which hidden terminals made collide do not collide again. Default 40 ms.
    pub link_retry_delay: Duration,
    /// How long a frame heard can suppress a repetition of itself. Longer than
    /// a neighbour goes on repeating a frame. Default 3 s.
    pub duplicate_timeout: Duration,
}

impl MacConfig {
    /// Whether this node has a short address.
    pub(crate) const fn has_short(&self) -> bool {
        // 0xffff: none; 0xfffe: associated, but uses the extended one.
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
            max_frame_retries: 9,
            min_be: 3,
            max_be: 5,
            max_csma_backoffs: 4,
            link_retry_delay: Duration::from_millis(40),
            duplicate_timeout: Duration::from_secs(3),
        }
    }
}
