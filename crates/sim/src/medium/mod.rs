//! How radio waves travel: who hears whom, how loud, and what gets through.

mod config;

pub use config::{Config, ListedLink, Sinr, UnitDisk};
