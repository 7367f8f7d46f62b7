//! Redpoll's discrete-event simulator.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod fault;
pub mod kernel;
pub mod medium;
pub mod memory;
pub mod radio;
