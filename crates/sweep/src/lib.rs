//! Sweeps: a scenario run for every combination of its keys' values, or for points drawn at
//! random, each with several seeds.
//!
//! A [`Plan`] is read from a file and has [`Point`]s. [`Plan::jobs`] are the runs that a results
//! file ([`redpoll_experiments::Results`]) does not have yet, for
//! [`redpoll_experiments::conduct`], which spreads them over all cores and keeps each as it ends.
//! [`Table::flows`] and [`Table::nodes`] make tables of what is kept, a row for each run and
//! flow or node, which are written as CSV or Parquet.
//!
//! [`tune`] searches such keys for values that are best within limits.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![warn(clippy::match_bool)]

mod draw;
mod plan;
mod table;
pub mod tune;

pub use plan::{Plan, PlanError, Point};
pub use table::Table;
