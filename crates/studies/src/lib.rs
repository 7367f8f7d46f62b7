//! Published studies of TCP over IEEE 802.15.4, run again in the simulator.
//!
//! A [`Study`] is a list of [`Figure`]s. A figure says which [`Case`]s it takes
//! (a scenario with changes, and for how many seeds), which number it reads from
//! each run, what the paper gives for it, and by what criterion it is held to be
//! reproduced. [`conduct`] runs the cases on all cores and keeps what they gave
//! in a [`Results`] file; [`Figure::rows`] makes rows of that, and [`page`] a
//! page with pictures.
//!
//! Criteria are written next to the scenario, before its numbers are looked at.
//! One that does not hold is a finding.
//!
//! | I want to change | open |
//! | --- | --- |
//! | what a figure runs, reads, and is judged by | `kumar2020/` |
//! | the scenarios under the figures | `kumar2020/scenes.rs` |
//! | how runs are spread over cores, and kept | `conduct.rs`, `results.rs` |
//! | what is seen of frames on the air | `watch/` |
//! | how spread and verdict are worked out | `figure.rs` |
//! | the pictures | `page/` |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod case;
mod conduct;
mod figure;
pub mod kumar2020;
pub mod page;
mod results;
mod run;
mod select;
mod watch;

pub use case::{Case, Length, Probe, Scene};
pub use conduct::{Job, Outcome, conduct, jobs};
pub use figure::{Criterion, Fact, Figure, Point, Row, Table, X};
pub use results::{Results, ResultsError};
pub use run::Run;
pub use select::{Unknown, find, select};
pub use watch::View;

/// A published study.
#[derive(Debug)]
pub struct Study {
    /// Its short name, as on the command line.
    pub name: &'static str,
    /// Who, what, where and when.
    pub citation: &'static str,
    /// Its figures and tables, in the order in which they are told.
    pub figures: fn() -> Vec<Figure>,
}

/// All studies.
pub const STUDIES: &[Study] = &[kumar2020::STUDY];
