//! An interpreter of packetdrill's syntax, for our own scripts.
//!
//! A script is a list of timed events, one a line:
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
//! *Times* are absolute (`.5`) or relative to the event before (`+.5`), a range
//! (`+.2~+.4`), anything (`*`), or the begin and end of a call that waits
//! (`+0...+.3`). A packet must be sent at its time give or take
//! `--tolerance_usecs`, 1000 by default.
//!
//! *Packets* come in (`<`) or must go out (`>`). Numbers are relative to the
//! SYNs. Options of a packet that goes out must be those named, in their order;
//! `...` at their end (or alone) stands for any others. `TS val * ecr *` takes
//! any timestamps; a number for our own `val` is a name for the live one, and
//! an `ecr` is compared. `FO` is a Fast Open option, with a cookie in hexadecimal or
//! without. `[ect0]`, `[ect1]`, `[ce]`, `[noecn]` behind the
//! direction name the IP header's ECN field. `win` is compared if it is named.
//! `< icmp unreachable port_unreachable [1:101(100)]` is an error about what we
//! sent; also `address_unreachable`, `no_route` and `admin_prohibited`.
//!
//! *Calls* are those of [`Sockets`](crate::Sockets), and descriptors have the
//! numbers that the script gives them.
//!
//! It is stricter than the tool: what was sent and not expected is an error
//! also at the end; every byte sent, received and read is compared with what
//! was written; and a call that would wait must say so. It knows one
//! connection at a time (a SYN from another port begins the next, or a SYN after a
//! reset; its bytes count from its socket on), and neither `%{ }%`, shell commands, UDP, nor events
//! of several lines.

mod calls;
mod parse;
mod runner;
mod scan;
mod segment;
mod symbols;

use std::fmt;

/// Why a script failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The line of the script, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Failure {}

/// Runs a script against the engine.
///
/// # Errors
/// A line that cannot be read, or the first thing that is not as the script
/// says.
pub fn run(text: &str) -> Result<(), Failure> {
    runner::Runner::run(&parse::script(text)?)
}

#[cfg(test)]
mod tests;
