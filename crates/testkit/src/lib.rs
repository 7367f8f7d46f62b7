//! Tools for the tests of the TCP engine.
//!
//! - [`Host`] and the macros [`send!`], [`recv!`] and [`recv_nothing!`]: one connection against a
//!   scripted peer, segment by segment. A test reads like a packet trace.
//! - [`Pair`]: two connections and a link between them that delays, loses, reorders and duplicates,
//!   in virtual time and reproducible by its seed.
//! - [`skipped`]: reports a skipped test and the reason.
//! - [`requests`](fn@requests): HTTP requests, some of which a server must refuse.
//! - [`Wire`]: one direction of a link for whole packets, with configurable faults.
//! - [`Between`]: two connections and an adversary between them, which forges segments according to
//!   the bytes of an input; also for the fuzz target.
//!
//! ```
//! use redpoll_tcp::{Config, State};
//! use redpoll_testkit::{Host, SYN, SYN_ACK, recv, recv_nothing, send};
//!
//! let config = Config { timestamps: false, ..Config::default() };
//! let mut t = Host::connect(&config, 1024, 1024);
//! recv!(t, flags SYN, seq 0, win 1024, mss 1220);
//! send!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
//! recv!(t, seq 1, ack 1);
//! recv_nothing!(t);
//! assert_eq!(t.conn.state(), State::Established);
//! ```
#![forbid(unsafe_code)]

mod between;
mod host;
mod pair;
mod record;
mod requests;
mod skip;
mod wire;

pub use between::Between;
pub use host::{Buffer, Host, IRS, ISS, LOCAL, REMOTE, from_peer, inward, ms, outward};
pub use pair::{Link, Outcome, Pair, Plan, Report, pattern};
pub use record::{FIN_ACK, RST, RST_ACK, Record, SYN, SYN_ACK};
pub use requests::requests;
pub use skip::{has_terminals, no_terminal, skipped};
pub use wire::{Badness, Wire, WireCounters};

/// Passes a segment from the peer: `send!(t, seq 1, ack 1, data b"abc")`.
#[macro_export]
macro_rules! send {
    ($host:expr, $($word:ident $value:expr),* $(,)?) => {
        $host.send($crate::Record::new()$(.$word($value))*)
    };
}

/// Checks that the connection sends this segment next: `recv!(t, seq 1, ack 4)`, or exactly at a
/// time: `recv!(t, at 1000, seq 1, ack 4)`.
#[macro_export]
macro_rules! recv {
    ($host:expr, $($word:ident $value:expr),* $(,)?) => {
        $host.recv($crate::Record::new()$(.$word($value))*)
    };
}

/// Checks that the connection sends nothing now, or until a time: `recv_nothing!(t, until 999)`.
#[macro_export]
macro_rules! recv_nothing {
    ($host:expr) => {
        $host.recv_nothing()
    };
    ($host:expr, until $ms:expr) => {{
        $host.run_until($ms);
        $host.recv_nothing()
    }};
}
