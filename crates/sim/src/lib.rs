//! Redpoll's discrete-event simulator.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod air;
pub mod fault;
pub mod kernel;
pub mod medium;
pub mod memory;
pub mod node;
pub mod oracle;
pub mod radio;
pub mod report;
pub mod scenario;
pub mod topology;
pub mod trace;
pub mod traffic;
pub mod world;
