//! HTTP servers inside programs with other tasks: a server with limits for slow clients ([`http`]),
//! and [`PageServer`], which serves one text. Another thread writes the text for each request.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

pub mod http;
mod page;

pub use page::{Page, PageKind, PageServer};
