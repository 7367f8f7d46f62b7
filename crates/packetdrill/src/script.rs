//! An interpreter of packetdrill's syntax for the project's own scripts.
//!
//! A script is a list of timed events, one per line:
//!
//! ```text
//! --so_flags=rcvbuf=4096,ts=0              // as in packetdrill; before all events
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
//! time (`*`), or the start and end of a blocking call (`+0...+.3`). A packet must be sent at its
//! time within `--tolerance_usecs`, 1000 by default.
//!
//! *Packets* arrive (`<`) or must be sent (`>`). Numbers are relative to the SYN of each direction.
//! A sent packet must have the given options in this order; `...` at the end, or alone, matches any
//! further options. `TS val * ecr *` matches any timestamps. A number as the `val` of a sent packet
//! is a name for the engine's timestamp: the same number must always stand for the same timestamp.
//! An arriving packet with this number as its `ecr` echoes that timestamp. The `ecr` of a sent
//! packet must be equal to the given number. `FO` is a Fast Open option, with or without a
//! hexadecimal cookie. `[ect0]`, `[ect1]`, `[ce]` and `[noecn]` after the direction give the ECN
//! field of the IP header. `win`, if given, must be equal. `< icmp unreachable port_unreachable
//! [1:101(100)]` is an error about a sent segment; further codes are `address_unreachable`,
//! `no_route` and `admin_prohibited`.
//!
//! *Calls* are those of [`Sockets`](crate::Sockets); the script chooses the descriptor numbers.
//!
//! The interpreter is stricter than packetdrill. An unexpected packet is an error, also at the end.
//! Every byte sent, received and read is compared with the written bytes. A call that would block
//! must have an end time. The interpreter supports one connection at a time: a SYN from another
//! port or after a reset begins the next connection, whose bytes count from the creation of its
//! socket. The interpreter does not support `%{ }%`, shell commands, UDP, or multi-line events.

mod calls;
mod parse;
mod runner;
mod scan;
mod segment;
mod symbols;

use std::fmt;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Line number in the script, counted from 1.
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
/// difference between the script and the engine.
pub fn run(text: &str) -> Result<(), Failure> {
    runner::Runner::run(&parse::script(text)?)
}

#[cfg(test)]
mod tests;
