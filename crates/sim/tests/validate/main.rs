//! Checks from outside the model; `docs/validation.md` has the source of each.
//!
//! Short by default; with `REDPOLL_VALIDATE=long` (`make validate`) as long as
//! the figures of that page. What this machine lacks is skipped, and named in
//! the file that `REDPOLL_SKIPPED` names.

mod contention;
mod frame_errors;
mod macs;
mod ns3;
mod pipe;
mod saturation;
mod script;
mod table;
mod throughput;

/// Whether these are the long checks.
fn is_long() -> bool {
    std::env::var_os("REDPOLL_VALIDATE").is_some_and(|value| value == "long")
}
