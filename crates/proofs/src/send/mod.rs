//! The model of the sender's scoreboard.

mod scoreboard_model;

crate::device!(scoreboard, "tcp-src-send-scoreboard.rs");

pub use scoreboard_model::{Defect, ScoreboardModel};
