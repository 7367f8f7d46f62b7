//! Matter's bulk data exchange (BDX, Matter Core Specification 1.0, 11.21) as its firmware updates
//! use it. The receiver requests a block of 1,024 bytes at a time. Messages use the message
//! reliability protocol (MRP, 4.11), which retransmits each message until it is acknowledged, with
//! at most five transmissions.
//!
//! Messages are not encrypted and lack the 16 bytes of their integrity check, like those of the
//! compared protocols. Not implemented: transfers that the sender drives, transfers without
//! acknowledgment, metadata, and the messages before and after a transfer (QueryImage).
//!
//! `input` passes a datagram to an end, `poll_datagram` returns the datagrams that the end sends,
//! and `poll_at` returns the time at which `on_timeout` is due. An end stores at most one block,
//! for retransmission.

mod exchange;
mod message;
mod provider;
mod receiver;

use redpoll_base::Duration;

pub use message::DATAGRAM_MAX;
pub use provider::{Provider, Wanted};
pub use receiver::{Piece, Receiver};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest block that a receiver requests, at most [`BLOCK_MAX`] bytes.
    pub block: u16,
    /// SESSION_ACTIVE_INTERVAL of the other end: 300 ms.
    pub active_interval: Duration,
    /// SESSION_IDLE_INTERVAL of the other end, from which no message has arrived for
    /// SESSION_ACTIVE_THRESHOLD: 500 ms.
    pub idle_interval: Duration,
}

/// "Maximum Block Size requested by OTA Requestors over non-TCP transports SHALL be no
/// larger than 1024 bytes" (11.19.3.3).
pub const BLOCK_MAX: usize = 1_024;

impl Default for Config {
    fn default() -> Self {
        Config {
            block: BLOCK_MAX as u16,
            active_interval: Duration::from_millis(300),
            idle_interval: Duration::from_millis(500),
        }
    }
}
