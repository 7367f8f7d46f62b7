//! Published studies of TCP over IEEE 802.15.4, repeated in the simulator.
//!
//! Each study is a [`Study`] of the crate `experiments`, which runs, stores, judges and shows it. A
//! study's `criteria.toml` states the purpose of each row, and the band that judges the row. The
//! criteria are written before the results are known. A criterion that does not hold is a finding.
//!
//! | folder | contents |
//! | --- | --- |
//! | `vocabulary/` | parts that several studies share: floors, scenes, profiles, probes, readings |
//! | `studies/NAME/` | a study: its figures, its scenarios, its `criteria.toml` |
//!
//! | to change | open |
//! | --- | --- |
//! | the cases and readings of a figure | `studies/NAME/` |
//! | its criteria | `studies/NAME/criteria.toml` |
//! | the nodes of a study | `vocabulary/profiles.rs`, `vocabulary/floors.rs` |
//! | samples during a run | `vocabulary/probes/`, or `probes.rs` of a study |
//! | how studies are run, stored, judged and shown | the crate `experiments` |
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod studies;
mod vocabulary;

use redpoll_experiments::{Study, Unknown};

pub use studies::STUDIES;

/// The fingerprint of this program's sources that determine the result of a study's run: those of
/// [`redpoll_experiments::FINGERPRINT`], and the probes of all studies.
pub const FINGERPRINT: &str = env!("REDPOLL_FINGERPRINT");

/// Returns the study called `name`, ignoring case. An error lists the names of all studies.
pub fn find(name: &str) -> Result<&'static Study, Unknown> {
    redpoll_experiments::find(STUDIES, name)
}
