//! TCP Fast Open (RFC 7413): the cookie, how a server makes and checks it, and
//! what a client remembers of servers.
//!
//! How data get onto a SYN and off it is in `connection/fast_open.rs`, and the
//! answer to a request in `syn_cache.rs`.

mod cookie;
mod servers;

/// Whether Fast Open is there: the feature `more-options`.
pub const ON: bool = cfg!(feature = "more-options");

pub use cookie::FastOpenCookie;
pub use servers::{FastOpenServer, FastOpenServers};
