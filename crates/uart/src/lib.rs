#![doc = include_str!("../README.md")]
//!
//! # On the wire
//!
//! HDLC-like framing (RFC 1662 §4) delimits messages: flags 0x7e, escape byte 0x7d, and the
//! FCS-32 of its appendix C.3 after the message. Bytes between two messages damage only the
//! messages that they touch. The first byte of a message has [`VERSION`] in its upper four bits
//! and its kind in the lower four. Numbers are little-endian, as in IEEE 802.15.4.
//!
//! | request | kind | after the first byte |
//! |---|---|---|
//! | all of them | | number (2), time in microseconds (8), and then |
//! | [`Begin`] | 0 | PAN (2), short address (2), extended address (8), abilities of the radio (1), prefix (16), parent's short address (2), secret (16), random numbers (16), first tag (2) |
//! | time | 1 | nothing |
//! | frame | 2 | RSSI in dBm (1), LQI (1), 1 if the acknowledgement had the frame-pending bit (1), the frame without FCS |
//! | done | 3 | 0 loaded, 1 channel busy, 2 sent, 3 acknowledged, 4 acknowledged with frame pending, 5 not acknowledged |
//!
//! | from the node | kind | after the first byte |
//! |---|---|---|
//! | hello | 8 | nothing: the node has been switched on |
//! | answer | 9 | number of the request (2), time of the next request (8; all ones: never), operations |
//! | not begun | 10 | number of the request (2): the node has received no begin |
//! | text | 11 | a piece of text for the operator |
//!
//! Operations follow one another: 0 load, with a length (1) and the frame; 1 transmit; 2 transmit
//! after a clear channel assessment; 3 listen; 4 doze; 5 sleep; 6 source match, with a short
//! address (2) and whether a frame waits for it (1).
//!
//! One request is in progress at a time. A request without an answer is repeated unchanged. A
//! node that has already answered this number repeats the same bytes and does nothing else. A
//! node that is switched on sends hello, and answers each request with "not begun" until it
//! receives begin. A node that receives begin while it runs starts again.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod answer;
mod answerer;
mod asker;
mod cursor;
pub mod hdlc;
mod line;
mod request;
mod server;

pub use answer::{Answer, Reply, Work, Works};
pub use answerer::Answerer;
pub use asker::{Asker, AskerCounters, AskerEvent};
pub use line::{LineRadio, Port};
pub use request::{Begin, Request, RequestEvent};
pub use server::LineServer;

/// The version of this protocol. A message of another version is ignored.
pub const VERSION: u8 = 1;
/// Bytes of the longest message, without flags, escapes and check sequence.
pub const MESSAGE_MAX: usize = 192;

const fn head(kind: u8) -> u8 {
    VERSION << 4 | kind
}
