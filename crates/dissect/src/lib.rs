//! Captures of IEEE 802.15.4 networks: reading the files that people have, and decoding their
//! frames layer by layer.
//!
//! - [`capture`]: file formats and link types, from a file to frames.
//!
//! `redpoll dissect`, `redpoll why` and the live view share this crate, so that one decoder
//! answers for all three.

pub mod capture;
