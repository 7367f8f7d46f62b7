//! The live view: a page that shows a simulated mesh while it runs, and lets its reader
//! change it.
//!
//! ```text
//!   simulation's thread               server's thread                browser
//!   World ── live_changes ──▶ Desk ══▶ Scribe ──▶ Hub ── WebSocket ──▶ page
//!         ◀─ command ──────── Desk ◀══ requests ◀────── WebSocket ────
//! ```
//!
//! - [`Desk`] is the simulation's end: it observes the world while a browser is connected, and
//!   carries out requests. It never waits for the server.
//! - [`Server`] listens, checks each request ([`guard`]), and contains the page ([`assets`]).
//! - [`Scribe`] turns the tape of a world into messages ([`message`]), one JSON object each,
//!   and follows the segments of each TCP connection.
//! - [`story`] keeps the messages of a run in a file, and finds its way in one.
//! - [`layers`] takes a frame apart for the list of packets.
//!
//! Memory is bounded: for messages to the server, messages kept for the next browser, and
//! messages that a slow browser has not read. A browser that falls behind gets a new snapshot
//! and delays no other.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

pub mod assets;
mod desk;
pub mod guard;
mod hub;
pub mod layers;
pub mod message;
mod scribe;
mod seats;
mod server;
pub mod story;

pub use desk::Desk;
pub use scribe::Scribe;
pub use server::{Server, ServerError};
