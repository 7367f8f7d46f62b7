//! The files of finished runs, and the pages, pictures and comparisons made from them.
//!
//! | to change | open |
//! | --- | --- |
//! | how tables are written to CSV or Parquet and read again | [`table`] |
//! | the files of a result | [`folder`] |
//! | how a run's report is read | [`report`] |
//! | how two results are compared | [`compare`] |
//! | the page of a result | [`page`] |
//! | pictures | [`picture`]; their frames and colours are the studies'
//! ([`redpoll_experiments::page`]) |
//! | the samples during a run | [`series`] |
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

pub mod compare;
pub mod folder;
pub mod page;
pub mod picture;
pub mod report;
pub mod series;
pub mod table;
