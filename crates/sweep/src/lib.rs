//! Sweeps: a scenario run for every combination of its keys' values, or for random points, each
//! with several seeds.
//!
//! A [`Plan`] is read from a file and has [`Point`]s. [`Plan::jobs`] returns the runs that a
//! results file ([`redpoll_experiments::Results`]) lacks. [`redpoll_experiments::conduct`]
//! distributes these runs over all cores and stores each result. [`Table::flows`] and
//! [`Table::nodes`] return tables of the stored results, with a row for each run and flow or node.
//! A table is written as CSV or Parquet.
//!
//! [`tune`] searches for the values of a scenario's keys that are best within limits.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod draw;
mod plan;
mod table;
pub mod tune;

pub use plan::{Plan, PlanError, Point};
pub use table::Table;
