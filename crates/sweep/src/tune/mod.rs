//! Tuning: the best values of a scenario's keys within limits, such as the least current of a
//! sensor whose readings must arrive within seconds.
//!
//! A [`Goal`] is read from a file. [`search()`] uses the seeds from 1 up. Other seeds judge its
//! result ([`Verdicts`]), which is written as constants ([`constants`]). The search and the
//! verdicts are independent of the source of runs: [`Runs`] requests the runs that a results file
//! lacks.
//!
//! | to change | open |
//! | --- | --- |
//! | the keys of a goal's file | `goal.rs` |
//! | the figures that may be optimised or limited | `figure.rs` |
//! | the points that are tried | `space.rs`, `search.rs` |
//! | when a point is better than another | `standing.rs` |
//! | the report of the best point, and what limits it | `verdict.rs` |
//! | which runs are missing | `runs.rs` |
//! | the constants, the JSON output | `constants.rs`, `object.rs` |

pub mod constants;
mod figure;
mod goal;
mod object;
mod runs;
mod search;
mod space;
mod standing;
mod verdict;

pub use figure::{Figure, digits};
pub use goal::Goal;
pub use object::json;
pub use runs::{Conduct, Runs, Tuned};
pub use search::{Effort, Found, Measure, Stage, search};
pub use space::{Parameter, Point, Side, Space, Values};
pub use standing::{Aims, Sample, Standing, Trust, Verdict};
pub use verdict::{Bound, Judged, Line, Neighbour, Verdicts, to_judge};
