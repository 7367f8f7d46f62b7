//! A frame taken apart for the page: MAC header, 6LoWPAN, IPv6, and the layer above. The decoding
//! is the dissector's (`redpoll_dissect`).
//!
//! - [`open`]: the parts that the page shows;
//! - [`words`]: one line for a list, and all layers with their fields.

pub mod open;
pub mod words;

pub use open::Opened;
pub use redpoll_dissect::upper::tcp::Tcp;
pub use words::{Layer, Line};
