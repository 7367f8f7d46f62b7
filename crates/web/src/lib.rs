//! The live view: a page that shows a simulated mesh while it runs, and lets its reader change it.
//!
//! ```text
//!   simulation's thread               server's thread                browser
//!   World ── live_changes ──▶ Desk ══▶ Scribe ──▶ Hub ── WebSocket ──▶ page
//!         ◀─ command ──────── Desk ◀══ requests ◀────── WebSocket ────
//! ```
//!
//! - [`Desk`] is the simulation's end: it observes the world while a browser is connected, and
//!   carries out requests. It never waits for the server.
//! - [`Server`] listens, checks each request ([`guard`]), and serves the page ([`assets`]).
//! - [`Scribe`] turns the tape of a world into messages ([`message`]), one JSON object each,
//!   and follows the segments of each TCP connection.
//! - [`story`] writes the messages of a run to a file, and reads them from any position.
//! - [`layers`] decodes a frame for the list of packets.
//! - [`clock`] controls the progress of a run: pause, speed, one frame at a time.
//!
//! Without the feature `server` the crate has only the parts that make messages, which also run in
//! a browser.
//!
//! Memory is bounded: for messages to the server, messages kept for browsers that connect later, and
//! messages that a slow browser has not read. A browser that falls behind gets a new snapshot
//! and delays no other.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

#[cfg(feature = "server")]
pub mod assets;
pub mod clock;
#[cfg(feature = "server")]
mod desk;
#[cfg(feature = "server")]
pub mod guard;
#[cfg(feature = "server")]
mod hub;
pub mod layers;
pub mod message;
mod scribe;
#[cfg(feature = "server")]
mod seats;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
pub mod story;

#[cfg(feature = "server")]
pub use desk::Desk;
pub use scribe::Scribe;
#[cfg(feature = "server")]
pub use server::{Server, ServerError};
