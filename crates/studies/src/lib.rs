//! Published studies of TCP over IEEE 802.15.4, run again in the simulator.
//!
//! A [`Study`] is a list of [`Figure`]s. A figure says which [`Case`]s it takes
//! (a scenario with changes, what is looked at in it, and for how many seeds),
//! which number it reads from each run, and what it makes of those numbers.
//! [`conduct`] runs the cases on all cores and keeps what they gave in a
//! [`Results`] file; [`Figure::rows`] makes rows of that, and [`page`] a page with
//! pictures.
//!
//! What a row is for and by which band it is judged stands in the study's
//! `criteria.toml`, which is written before the numbers are looked at. A criterion
//! that does not hold is a finding.
//!
//! | folder | what |
//! | --- | --- |
//! | `engine/` | cases, runs, the results file, rows, verdicts, selection, the page |
//! | `vocabulary/` | what several studies share: floors, scenes, profiles, probes, readers |
//! | `studies/NAME/` | a study: its figures, its scenarios, its `criteria.toml` |
//!
//! | I want to change | open |
//! | --- | --- |
//! | what a figure runs and reads | `studies/NAME/` |
//! | what it is judged by | `studies/NAME/criteria.toml` |
//! | what a study's nodes are like | `vocabulary/profiles.rs`, `vocabulary/floors.rs` |
//! | what is looked at during a run | `vocabulary/probes/`, or `probes.rs` of a study |
//! | how runs are spread over cores, and kept | `engine/conduct.rs`, `engine/results.rs` |
//! | how spread and verdict are worked out | `engine/row.rs`, `engine/criteria.rs` |
//! | the page | `engine/page/` |
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod engine;
mod studies;
mod vocabulary;

pub use engine::case::{Case, CaseError, Probed, Scene};
pub use engine::conduct::{Job, Outcome, conduct, jobs};
pub use engine::criteria::{Band, CriteriaError, Judgement, Kind, bind};
pub use engine::figure::{Entry, Figure, Handle, Line, Metric, Shade, VERDICT, X};
pub use engine::page;
pub use engine::probe::{Look, Probe};
pub use engine::results::{FINGERPRINT, Kept, Results, ResultsError};
pub use engine::row::{Row, Told};
pub use engine::run::{Gap, Reading, Run};
pub use engine::select::{Unknown, find, select};
pub use engine::study::{Hue, LinksError, MeasuredLinks, Study, StudyError};
pub use studies::STUDIES;
