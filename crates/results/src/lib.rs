//! What runs leave behind, and what is made of it.
//!
//! | I want to change | open |
//! | --- | --- |
//! | how tables become CSV or Parquet, and are read again | [`table`] |
//! | which files a result has | [`folder`] |
//! | how a run's result is read | [`report`] |
//! | how two results are compared | [`compare`] |
//! | the page of a result | [`page`] |
//! | pictures | [`picture`]; their frames and colours are the studies' ([`redpoll_experiments::page`]) |
//! | what is sampled while a run goes on | [`series`] |
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![warn(clippy::match_bool)]

pub mod compare;
pub mod folder;
pub mod page;
pub mod picture;
pub mod report;
pub mod series;
pub mod table;
