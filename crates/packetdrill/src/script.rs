//! An interpreter of packetdrill's syntax for the project's own scripts.
//!
//! A script is a list of timed events, one per line:
//!
//! ```text
//! --so_flags=rcvbuf=4096,ts=0              // as the tool's, and before all events
//! 0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//! +0   bind(3, ..., ...) = 0
//! +0   listen(3, 1) = 0
//! +.1  < S 0:0(0) win 8192 <mss 1000>
//! +0   > S. 0:0(0) ack 1 win 4096 <mss 1220>
//! +.1  < . 1:1(0) ack 1 win 8192
//! +0   accept(3, ..., ...) = 4
//! ```
//!
//! *Times* are absolute (`.5`) or relative to the previous event (`+.5`), a range (`+.2~+.4`), any
//! time (`*`), or the begin and end of a blocking call (`+0...+.3`). A packet must be sent at its
//! time within `--tolerance_usecs`, 1000 by default.
//!
//! *Packets* arrive (`<`) or must be sent (`>`). Numbers are relative to the SYNs. A sent packet
//! must have the given options in their order; `...` at the end (or alone) matches any others. `TS
//! val * ecr *` matches any timestamps. A number as our own `val` names the live timestamp, and an
//! `ecr` is compared. `FO` is a Fast Open option with or without a hexadecimal cookie. `[ect0]`,
//! `[ect1]`, `[ce]`, `[noecn]` after the direction are values of the IP header's ECN field. `win`
//! is compared if given. `< icmp unreachable port_unreachable [1:101(100)]` is an error about a
//! sent segment; also `address_unreachable`, `no_route` and `admin_prohibited`.
//!
//! *Calls* are those of [`Sockets`](crate::Sockets), and descriptors have the numbers in the
//! script.
//!
//! The interpreter is stricter than the tool. An unexpected packet is an error, also at the end.
//! Every byte sent, received and read is compared with the written bytes. A call that would wait
//! must have an end time. The interpreter supports one connection at a time: a SYN from another
//! port or after a reset begins the next, whose bytes count from its socket on. It does not support
//! `%{ }%`, shell commands, UDP, or events of several lines.

mod calls;
mod parse;
mod runner;
mod scan;
mod segment;
mod symbols;

use std::fmt;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Line of the script, from 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Failure {}

/// Runs a script against the engine. Fails at a line that cannot be parsed, or at the first
/// difference from the script.
pub fn run(text: &str) -> Result<(), Failure> {
    runner::Runner::run(&parse::script(text)?)
}

#[cfg(test)]
mod tests;
