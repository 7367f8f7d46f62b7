//! TCP Fast Open (RFC 7413): the cookie, its generation and check at a server, and the client's
//! memory of servers.
//!
//! `connection/fast_open.rs` writes and reads data on a SYN. `syn_cache.rs` answers requests.

mod cookie;
mod servers;

/// Whether Fast Open is compiled in: feature `more-options`.
pub const ON: bool = cfg!(feature = "more-options");

pub use cookie::FastOpenCookie;
pub use servers::{FastOpenServer, FastOpenServers};
