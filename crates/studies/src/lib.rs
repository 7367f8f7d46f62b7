//! Published studies of TCP over IEEE 802.15.4, run again in the simulator.
//!
//! Each is a [`Study`] of the crate `experiments`, which runs, stores, judges and shows it.
//! A study's `criteria.toml` states the purpose of each row, and the band that judges the row.
//! It is written before the numbers are looked at. A criterion
//! that does not hold is a finding.
//!
//! | folder | what |
//! | --- | --- |
//! | `vocabulary/` | what several studies share: floors, scenes, profiles, probes, readers |
//! | `studies/NAME/` | a study: its figures, its scenarios, its `criteria.toml` |
//!
//! | I want to change | open |
//! | --- | --- |
//! | what a figure runs and reads | `studies/NAME/` |
//! | what it is judged by | `studies/NAME/criteria.toml` |
//! | what a study's nodes are like | `vocabulary/profiles.rs`, `vocabulary/floors.rs` |
//! | what is looked at during a run | `vocabulary/probes/`, or `probes.rs` of a study |
//! | how studies are run, stored, judged and shown | the crate `experiments` |
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![warn(clippy::match_bool)]

mod studies;
mod vocabulary;

use redpoll_experiments::{Study, Unknown};

pub use studies::STUDIES;

/// The fingerprint of the sources of this program that decide the result of a study's run: those
/// of [`redpoll_experiments::FINGERPRINT`], and the probes of all studies.
pub const FINGERPRINT: &str = env!("REDPOLL_FINGERPRINT");

/// The study called `name`, in capitals or not.
///
/// # Errors
///
/// That there is none, with the names of all.
pub fn find(name: &str) -> Result<&'static Study, Unknown> {
    redpoll_experiments::find(STUDIES, name)
}
