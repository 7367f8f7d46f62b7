//! The sending half: RFC 9293's SND variables, the bytes they speak of, and
//! the rules about when a byte may leave.

mod nagle;
mod persist;
mod pins;
mod scoreboard;
mod store;
mod window;

pub(crate) use nagle::Nagle;
pub(crate) use persist::Persist;
pub use pins::Token;
pub(crate) use pins::{Pin, PinKind, Pins};
pub(crate) use scoreboard::{Scoreboard, Stretch, Tick};
pub(crate) use store::SendRing;
pub(crate) use window::SendWindow;
