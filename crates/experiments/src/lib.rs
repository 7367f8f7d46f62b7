//! Experiments with Redpoll's simulator: cases, runs on all cores, the results file, rows with
//! their verdicts, and pages with pictures.
//!
//! A [`Study`] is a list of [`Figure`]s. A figure says which [`Case`]s it takes
//! (a scenario with changes, what is looked at in it, and for how many seeds),
//! which number it reads from each run, and how it summarises these numbers.
//! [`conduct`] runs the cases on all cores and keeps what they gave in a
//! [`Results`] file; [`Figure::rows`] makes rows of that, and [`page`] a page with
//! pictures.
//!
//! A study's `criteria.toml` states the purpose of each row, and the band that judges the row.
//! It is written before the numbers are looked at. A criterion
//! that does not hold is a finding.
//!
//! This crate knows no published study. The crate `studies` contains those.
//!
//! | I want to change | open |
//! | --- | --- |
//! | what a case is, and how it is run | `case.rs`, `probe.rs` |
//! | what a run gave, and how numbers are read from it | `run.rs` |
//! | how runs are spread over cores, and kept | `conduct.rs`, `results.rs` |
//! | how a figure declares its rows | `figure.rs` |
//! | how spread and verdict are worked out | `row.rs`, `criteria.rs` |
//! | how studies and figures are found by name | `select.rs` |
//! | the page and its charts | `page/` |
//! | which sources the fingerprint covers | `fingerprint.rs` beside `src/` |
#![forbid(unsafe_code)]
#![warn(missing_docs)]
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

pub use case::{Case, CaseError, Probed, Scene};
pub use conduct::{Job, Outcome, conduct, jobs};
pub use criteria::{Band, Judgement, Kind};
pub use error::{CriteriaError, ResultsError, StudyError};
pub use figure::{Entry, Figure, Handle, Line, Metric, Shade, VERDICT, X};
pub use probe::{Look, Probe};
pub use results::{FINGERPRINT, Kept, Results};
pub use row::{Row, Told};
pub use run::{Gap, Reading, Run, mean, numbers, quantile};
pub use select::{Unknown, find, select};
pub use study::{Hue, LinksError, MeasuredLinks, OverLinks, Study, bind};
