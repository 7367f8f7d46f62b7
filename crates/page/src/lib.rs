//! HTTP for programs that do other work: a server with limits for slow clients ([`http`]), and
//! [`PageServer`], which serves one text that another thread writes for each request.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

pub mod http;
mod page;

pub use page::{Page, PageKind, PageServer};
