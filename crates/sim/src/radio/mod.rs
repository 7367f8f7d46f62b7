//! Radio chips: their states, their timing and what they do by themselves.

mod config;

pub use config::{Config, Model};
