//! The sending half: RFC 9293's SND variables, the data to send, and the rules for when to send.

mod chain;
mod nagle;
mod persist;
mod pins;
mod ring;
mod scoreboard;
mod store;
mod window;

pub use chain::{Chain, ChainSlot};
pub(crate) use nagle::Nagle;
pub(crate) use persist::Persist;
pub use pins::Token;
pub(crate) use pins::{Pin, PinKind, Pins};
pub use ring::SendRing;
pub(crate) use scoreboard::{Scoreboard, Stretch, TIMED, Tick};
pub use store::SendStore;
pub(crate) use store::SendStoreExt;
pub(crate) use window::SendWindow;
