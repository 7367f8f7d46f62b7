//! A frame taken apart: MAC header, 6LoWPAN, IPv6, and what is in it.
//!
//! - [`open`]: from the bytes on the air to an IPv6 packet, or the beginning of one;
//! - [`tcp`]: the header of a segment;
//! - [`words`]: one line for a list, and all layers with their fields.

pub mod open;
pub mod tcp;
pub mod words;

pub use open::Opened;
pub use tcp::Tcp;
pub use words::{Layer, Line};
