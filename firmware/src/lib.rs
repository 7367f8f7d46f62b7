//! The parts that an image needs in addition to the engines: start code, output, and a clock that
//! counts instructions. This is not a runtime for products: it keeps the code around the measured
//! parts as small as possible.
#![no_std]
#![warn(missing_docs)]

pub mod board;
pub mod heap;
pub mod host;
#[cfg(feature = "leaf")]
pub mod leaf;
pub mod memory;
pub mod place;
pub mod stack;
mod start;
pub mod stopwatch;
pub mod unknown;
