#![doc = include_str!("../README.md")]
//!
//! | I want to change | open |
//! | --- | --- |
//! | the request, and the answers that are accepted | `fetch.rs` |
//! | how response headers are parsed | `head.rs` |
//! | when flash is written | `pages.rs` |
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]
#![warn(missing_docs)]

mod fetch;
mod head;
mod pages;

pub use fetch::{Fetch, HEAD_MAX, Have, Refused, TooLong};
pub use head::{ETAG_MAX, ETag};
pub use pages::Pages;
