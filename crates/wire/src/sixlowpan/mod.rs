//! 6LoWPAN: IPv6 over IEEE 802.15.4 (RFC 4944), with header compression (RFC 6282).
//!
//! Not implemented: mesh addressing and broadcast headers (RFC 4944 §5.2, §11.1; Redpoll routes
//! above 6LoWPAN), and the older HC1 compression.

mod address;
mod context;
pub mod fragment;
pub mod iphc;
mod nhc;
pub mod recoverable;
#[cfg(test)]
mod tests;
mod traffic;

pub use context::{Context, Contexts};

/// The meaning of the first byte of a frame's payload (RFC 4944 §5.1, RFC 6282 §5, RFC 8931 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispatch {
    /// An uncompressed IPv6 packet follows the dispatch byte.
    Ipv6Uncompressed,
    /// A compressed header; see [`iphc`].
    Iphc,
    /// The first fragment of a datagram; see [`fragment`].
    First,
    /// A later fragment; see [`fragment`].
    Next,
    /// A fragment that can be recovered; see [`recoverable`].
    Recoverable,
    /// An acknowledgment of recoverable fragments.
    RecoverableAck,
    /// A mesh addressing header.
    Mesh,
    /// A broadcast header.
    Bc0,
    /// Not a 6LoWPAN frame, or an empty one.
    NotALowpan,
    /// Reserved, or HC1.
    Unknown(u8),
}

/// The dispatch byte before an uncompressed IPv6 packet (RFC 4944 §5.1).
pub const IPV6_DISPATCH: u8 = 0b0100_0001;

/// Returns the type of `payload`, a frame's payload or the part after another 6LoWPAN header.
pub fn dispatch(payload: &[u8]) -> Dispatch {
    match payload.first() {
        None | Some(0..=0x3f) => Dispatch::NotALowpan,
        Some(&IPV6_DISPATCH) => Dispatch::Ipv6Uncompressed,
        Some(0b0101_0000) => Dispatch::Bc0,
        Some(0b0110_0000..=0b0111_1111) => Dispatch::Iphc,
        Some(0b1000_0000..=0b1011_1111) => Dispatch::Mesh,
        Some(0b1100_0000..=0b1100_0111) => Dispatch::First,
        Some(0b1110_0000..=0b1110_0111) => Dispatch::Next,
        Some(0b1110_1000..=0b1110_1001) => Dispatch::Recoverable,
        Some(0b1110_1010..=0b1110_1011) => Dispatch::RecoverableAck,
        Some(&other) => Dispatch::Unknown(other),
    }
}
