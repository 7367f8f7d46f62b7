//! Tuning: values of a scenario's keys that are best within limits, such as the least current
//! of a sensor whose readings must arrive within seconds.
//!
//! A [`Goal`] is read from a file. [`search()`] looks for it with seeds from 1 up; what it finds is
//! judged with other seeds ([`Verdicts`]) and written as constants ([`constants`]). Neither knows
//! where runs come from: [`Runs`] has those run that a results file does not have.
//!
//! | I want to change | open |
//! | --- | --- |
//! | what a goal's file may have | `goal.rs` |
//! | a figure that may be best or limited | `figure.rs` |
//! | which points are tried | `space.rs`, `search.rs` |
//! | when a point is better than another | `standing.rs` |
//! | what is said of the best, and what limits it | `verdict.rs` |
//! | which runs are missing | `runs.rs` |
//! | the constants, what is told as JSON | `constants.rs`, `object.rs` |

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
