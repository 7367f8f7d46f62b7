//! Files of measurements that a scenario can name: connectivity of a testbed in the K7 format, and
//! traces of noise.
//!
//! Errors contain their line and column. Sizes are bounded: `lines` limits bytes and lines, and
//! each format its rows.

mod k7;
mod lines;
mod noise;

pub use k7::{K7, K7Link, Record};
pub use lines::{FileError, open};
pub use noise::NoiseTrace;
