//! Decodes a frame for the page: MAC header, 6LoWPAN, IPv6, and the layer above. The dissector
//! (`redpoll_dissect`) decodes the fields.
//!
//! - [`open`]: the parts that the page shows;
//! - [`words`]: one line for a list, and all layers with their fields.

pub mod open;
pub mod words;

pub use open::Opened;
pub use redpoll_dissect::upper::tcp::Tcp;
pub use words::{Layer, Line};
