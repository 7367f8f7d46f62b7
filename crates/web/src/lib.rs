//! The live view: a page that shows a simulated mesh while it runs, and lets its reader
//! change it.
//!
//! ```text
//!   simulation's thread               server's thread                browser
//!   World ── live_changes ──▶ Desk ══▶ Scribe ──▶ Hub ── WebSocket ──▶ page
//!         ◀─ command ──────── Desk ◀══ requests ◀────── WebSocket ────
//! ```
//!
//! - [`Desk`] is the simulation's end: it looks at the world while somebody watches, and
//!   carries out what they ask for. It never waits for the server.
//! - [`Server`] listens, checks who asks ([`guard`]), and has the page in it ([`assets`]).
//! - [`Scribe`] turns what a world has written down into messages ([`message`]), one JSON
//!   object each, and puts the segments of each TCP connection together.
//! - [`story`] keeps the messages of a run in a file, and finds its way in one.
//! - [`layers`] takes a frame apart for the list of packets.
//!
//! Apart from the view, [`PageServer`] serves one text that a daemon writes anew for each client,
//! with the same limits for slow clients.
//!
//! Memory is bounded: what waits for the server, what the server keeps for the next
//! browser, and what a slow browser has not taken yet. A browser that falls behind gets a
//! fresh snapshot; nobody waits for it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod assets;
mod desk;
pub mod guard;
mod http;
mod hub;
pub mod layers;
pub mod message;
mod page;
mod scribe;
mod seats;
mod server;
pub mod story;

pub use desk::Desk;
pub use page::{Page, PageKind, PageServer};
pub use scribe::Scribe;
pub use server::{Server, ServerError};
