//! The simulator in a browser. A worker of the page loads this crate as WebAssembly, and shows
//! its runs on the page of the live view.
//!
//! ```text
//!   page ── requests ──▶ worker ── input, handle ──▶ Engine ── turn ──▶ Run ──▶ World
//!        ◀── messages ──        ◀── lines ─────────
//! ```
//!
//! - [`Engine`] carries out the requests of the page, and contains the present run.
//! - [`Run`] is a world with its clock. It advances in slices, so that the worker can listen to the
//!   page between them.
//! - Module `exports` has the functions that the worker calls. All data are JSON texts, so the
//!   crate needs no generated bindings, and no tool whose version must match a library.
//!
//! The messages are those of [`redpoll_web::message`]. The page acknowledges what it has shown, and
//! a run waits for a page that is behind.
#![deny(unsafe_code)]

mod engine;
#[cfg(target_family = "wasm")]
pub mod exports;
mod run;

pub use engine::Engine;
pub use run::{NODES_MAX, Run};
