//! Q-Block1 (RFC 9177): a body in many non-confirmable messages. Several messages are in transit at
//! the same time. The server reports the missing blocks. Q-Block1 is separate from
//! [`Endpoint`](crate::Endpoint): each body has a [`QuickSender`] and a [`QuickReceiver`], which do
//! not store the body, so it may be longer than memory.

mod message;
mod receiver;
mod sender;

use redpoll_base::Duration;

use crate::block::BlockSize;

pub use receiver::{QuickReceiver, Taken};
pub use sender::{QuickAnswer, QuickSender};

/// Blocks of the longest body: four MiB in blocks of 1,024 bytes. A receiver has a bit for each.
pub const QUICK_BLOCKS_MAX: u32 = 4_096;

/// Parameters of RFC 9177 §7.2. Both ends must have the same parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuickConfig {
    /// Bytes of a block.
    pub block: BlockSize,
    /// MAX_PAYLOADS, at least 1: number of messages that are sent without a response of the server.
    /// Default 10.
    pub max_payloads: u16,
    /// NON_TIMEOUT: the pause after MAX_PAYLOADS messages without a report from the server. Default
    /// 2 s.
    pub non_timeout: Duration,
    /// ACK_RANDOM_FACTOR in percent, at least 100. Default 150.
    pub ack_random_percent: u32,
    /// NON_MAX_RETRANSMIT, at most 10. Default 4.
    pub non_max_retransmit: u8,
}

impl Default for QuickConfig {
    fn default() -> Self {
        QuickConfig {
            block: BlockSize::LARGEST,
            max_payloads: 10,
            non_timeout: Duration::from_secs(2),
            ack_random_percent: 150,
            non_max_retransmit: 4,
        }
    }
}

impl QuickConfig {
    /// NON_RECEIVE_TIMEOUT: twice NON_TIMEOUT, and "greater than NON_TIMEOUT_RANDOM by at least
    /// one second" (RFC 9177 §7.2).
    pub fn non_receive_timeout(&self) -> Duration {
        let longest = self.non_timeout.times(self.ack_random_percent.into());
        let least = longest.divided_by(100).plus(Duration::from_secs(1));
        self.non_timeout.times(2).max(least)
    }

    /// Returns the number of blocks of a body of `bytes`; `None` if it is too large.
    pub fn blocks(&self, bytes: u64) -> Option<u32> {
        let blocks = bytes.div_ceil(self.block.bytes() as u64);
        u32::try_from(blocks)
            .ok()
            .filter(|it| *it <= QUICK_BLOCKS_MAX)
    }

    /// Returns the first block after the MAX_PAYLOADS_SET of block `num`.
    fn set_end(&self, num: u32) -> u32 {
        let payloads = u32::from(self.max_payloads.max(1));
        (num / payloads).saturating_add(1).saturating_mul(payloads)
    }
}
