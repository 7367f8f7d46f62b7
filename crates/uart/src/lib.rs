//! A node whose radio is at the other end of a byte stream: a serial line, a socket.
//!
//! On one side is whoever has the radio, such as the simulator, and asks; on the other side
//! is a node, such as firmware on a microcontroller or in an emulator, and answers. Each
//! [`Request`] says what has happened and when: a frame has come in, a work of the radio is
//! done, the time that the node asked for is there. Its [`Answer`] says what the radio is to
//! do (the [`RadioWork`](redpoll_mac::RadioWork) of the radio seam) and when the node wants
//! to be asked again. So the side with the radio has the one clock, and the same requests
//! bring the same answers, byte for byte, wherever the node runs.
//!
//! # On the wire
//!
//! Messages are framed as by HDLC-like framing (RFC 1662 §4): between flags 0x7e, with 0x7d
//! as escape, and the FCS-32 of its appendix C.3 behind them. Whatever bytes come between
//! two messages cost those that they touch and no other. The first byte of a message has
//! [`VERSION`] in its upper four bits and its kind in the lower four; numbers are
//! little-endian, as in IEEE 802.15.4.
//!
//! | request | kind | behind the first byte |
//! |---|---|---|
//! | all of them | | number (2), time in microseconds (8), and then |
//! | [`Begin`] | 0 | PAN (2), short address (2), extended address (8), abilities of the radio (1), prefix (16), parent's short address (2), secret (16), random numbers (16), first tag (2) |
//! | time | 1 | nothing |
//! | frame | 2 | RSSI in dBm (1), LQI (1), 1 if the acknowledgement had the frame-pending bit (1), the frame without FCS |
//! | done | 3 | 0 loaded, 1 channel busy, 2 sent, 3 acknowledged, 4 acknowledged with frame pending, 5 not acknowledged |
//!
//! | from the node | kind | behind the first byte |
//! |---|---|---|
//! | hello | 8 | nothing: it has just been switched on |
//! | answer | 9 | number of the request (2), when to be asked again (8; all ones: never), works |
//! | stranger | 10 | number of the request (2): the node has not been told to begin |
//! | text | 11 | a piece of text for whoever looks after the node |
//!
//! Works are, one after the other: 0 load, with a length (1) and the frame; 1 transmit; 2
//! transmit after a clear channel assessment; 3 listen; 4 doze; 5 sleep; 6 source match, with
//! a short address (2) and whether there is something for it (1).
//!
//! One request is under way at a time. One without an answer is repeated as it was; a node
//! answers the number that it answered last with the same bytes again, and does nothing else.
//! A node that is switched on says hello, and answers whatever it is asked as a stranger until
//! it is asked to begin; one that is asked to begin in the middle begins anew.
//!
//! What there is: [`hdlc`] does the framing, `request` and `answer` are the messages,
//! [`Asker`] is the end with the radio, [`Answerer`] that with the node; [`LineRadio`] is the
//! radio that a node sees there, and [`LineServer`] offers a radio to a node elsewhere.
//!
//! Not here: who carries the bytes, and how long an end waits for the other.
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
pub use asker::{Asker, AskerCounters, Heard};
pub use line::{LineRadio, Port};
pub use request::{Begin, News, Request};
pub use server::LineServer;

/// The version of this protocol. A message of another one is no message.
pub const VERSION: u8 = 1;
/// No message is longer, in bytes without flags, escapes and check sequence.
pub const MESSAGE_MAX: usize = 192;

/// The first byte of a message.
const fn head(kind: u8) -> u8 {
    VERSION << 4 | kind
}
