//! Reads captures of IEEE 802.15.4 networks, and decodes their frames layer by layer.
//!
//! - [`capture`]: file formats and link types, from a file to frames;
//! - [`dissector`]: from a frame to its layers, with the modules below;
//! - [`mac`]: headers of IEEE 802.15.4; [`keys`]: decryption of secured frames;
//! - [`thread`]: the keys of Thread networks;
//! - [`lowpan`]: 6LoWPAN headers, header compression, fragments;
//! - [`ip`]: IPv6, tunnels, source routes; [`upper`]: the layers above;
//! - [`layer`]: fields with their names.
//!
//! `redpoll dissect`, `redpoll why` and the live view share this crate, so all three use the same
//! decoder.

pub mod capture;
pub mod dissector;
pub mod ip;
pub mod keys;
pub mod layer;
pub mod lowpan;
pub mod mac;
pub mod thread;
pub mod upper;

pub use dissector::{Dissector, Frame, Reading};
pub use keys::Keys;
