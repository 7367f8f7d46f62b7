//! Chaos: random scenarios with random faults, and the smallest scenario that still fails.
//!
//! [`generate`] draws a scenario file from a seed. [`examine`] runs the file and returns what the
//! oracle, the scenario's demands (`[oracle]`) and the panic handler found. [`shrink`] removes
//! parts of a failing file as long as the same kind of failure remains. [`campaign`] does all
//! of this for many seeds on several threads.
//!
//! A failing scenario is a file, so `redpoll run FILE` repeats the failure.
//!
//! | to change | open |
//! | --- | --- |
//! | the scenarios that are drawn | `generate/` |
//! | what counts as a failure, and as the same failure | `examine.rs`, `kind.rs` |
//! | how a scenario becomes smaller | `shrink.rs` |
//! | how seeds are distributed over threads | `campaign.rs` |
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod campaign;
mod draw;
mod examine;
mod generate;
mod kind;
mod shrink;

pub use campaign::{Campaign, Finding, Plan, Progress, campaign};
pub use examine::{Failure, Limits, Verdict, examine, examine_with};
pub use generate::{Invalid, generate};
pub use kind::Kind;
pub use shrink::{Shrunk, shrink};
