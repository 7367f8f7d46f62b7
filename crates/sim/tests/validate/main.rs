//! Checks against independent sources; `docs/validation.md` lists the source of each.
//!
//! The checks are short by default. With `REDPOLL_VALIDATE=long` (`make validate`) they are as long
//! as for that page's figures. Checks whose programs are missing are skipped, and named in the file
//! that `REDPOLL_SKIPPED` names.

mod contention;
mod frame_errors;
mod macs;
mod ns3;
mod pipe;
mod saturation;
mod script;
mod shares;
mod table;
mod throughput;

fn is_long() -> bool {
    std::env::var_os("REDPOLL_VALIDATE").is_some_and(|value| value == "long")
}
