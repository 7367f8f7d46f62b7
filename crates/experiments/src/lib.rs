//! Experiments with Redpoll's simulator: cases, runs on all cores, the results file, rows with
//! their verdicts, and pages with pictures.
//!
//! A [`Study`] is a list of [`Figure`]s. A figure declares its [`Case`]s (a scenario with changes,
//! a probe and the number of seeds), the number that it reads from each run, and how it summarises
//! these numbers. [`conduct`] runs the cases on all cores and stores their results in a [`Results`]
//! file. [`Figure::rows`] computes rows from these results, and [`page`] a page with pictures.
//!
//! A study's `criteria.toml` states the purpose of each row, and the band that judges the row. The
//! criteria are written before the results are known. A criterion that does not hold is a finding.
//!
//! This crate contains no published study; the crate `studies` does.
//!
//! | to change | open |
//! | --- | --- |
//! | a case and its run | `case.rs`, `probe.rs` |
//! | the result of a run, and how numbers are read from it | `run.rs` |
//! | how runs are distributed over cores, and stored | `conduct.rs`, `results.rs` |
//! | how a figure declares its rows | `figure.rs` |
//! | how spread and verdict are computed | `row.rs`, `criteria.rs` |
//! | how studies and figures are found by name | `select.rs` |
//! | the page and its charts | `page/` |
//! | the sources that the fingerprint covers | `fingerprint.rs` next to `src/` |
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod case;
mod conduct;
mod criteria;
mod error;
mod figure;
pub mod page;
mod probe;
mod results;
mod row;
mod run;
mod select;
mod study;

pub use case::{Case, CaseError, Guests, Probed, Scene};
pub use conduct::{Job, Outcome, conduct, jobs};
pub use criteria::{Band, Judgement, Purpose};
pub use error::{CriteriaError, ResultsError, StudyError};
pub use figure::{At, Entry, Figure, Handle, Line, Metric, Shade, VERDICT, X};
pub use probe::{Look, Probe};
pub use results::{FINGERPRINT, Results, StoredRun};
pub use row::{Row, RowDetails};
pub use run::{Gap, Reading, Run, mean, numbers, quantile};
pub use select::{Unknown, find, select};
pub use study::{Hue, LinksError, MeasuredLinks, OverLinks, Study, bind};
