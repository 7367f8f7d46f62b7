//! Common parts of Redpoll's programs: exit codes and messages ([`output`]), the log ([`log`]),
//! reports to a service manager ([`notify`]), and dropping privileges ([`rights`]).
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod journal;
pub mod log;
pub mod notify;
pub mod output;
pub mod rights;

/// Exit code of a failure, such as an error of the system.
pub const FAILED: u8 = 1;
/// Exit code for unusable arguments.
pub const USAGE: u8 = 2;

/// An exit code and the line that explains it.
pub type Failure = (u8, String);
