//! HDLC-like framing (RFC 1662 §4) with a check sequence of 32 bits (appendix C.3), without
//! its address and control fields.

use redpoll_wire::hdlc::{self, Check as _, Fcs32};

pub use redpoll_wire::hdlc::Frame;

use crate::MESSAGE_MAX;

/// Decoder that finds frames among bytes.
pub type Deframer = hdlc::Deframer<Fcs32, [u8; MESSAGE_MAX + Fcs32::LEN]>;

/// Sends `message` as a frame, byte for byte.
pub fn send(message: &[u8], put: impl FnMut(u8)) {
    hdlc::send::<Fcs32>(message, |_| false, put);
}
