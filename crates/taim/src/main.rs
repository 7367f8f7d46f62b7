//! The program `redpoll-taim`: TAiM's daemon and its firewall rules, without the rest of Redpoll.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    redpoll_taim::standalone::main()
}
