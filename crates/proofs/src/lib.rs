//! Exhaustive small models of Redpoll's mechanisms.
//!
//! A model runs the code of a device crate and a naive reference side by side, and [`explore`]s
//! every sequence of events up to a depth. Most models have finitely many states, and the explorer
//! visits all of them. The reference is written for clarity: sets of bytes, lists, large integers.
//!
//! If a crate does not export a mechanism, `build.rs` includes the file of that crate, so that the
//! model checks the original code. `tests/` runs each model, and plants a defect in each, which the
//! model must find. [ADR 65](../../../docs/adr/0065-small-models.md) states the reasons.
//!
//! `cargo test -p redpoll-proofs` takes seconds. `make proofs` explores deeper, with
//! `REDPOLL_PROOFS=deep`.
#![forbid(unsafe_code)]

mod explore;

pub mod counters;
pub mod cursor;
pub mod iphc;
pub mod numbers;
pub mod recv;
pub mod ring;
pub mod rpl;
pub mod send;
pub mod taim;
pub mod tcp;

/// Includes the copy of a device crate's source file.
macro_rules! device {
    ($name:ident, $file:literal) => {
        #[allow(dead_code, reason = "the model uses only a part of the included file")]
        mod $name {
            include!(concat!(env!("OUT_DIR"), "/", $file));
        }
    };
}
pub(crate) use device;

device!(ahead, "tcp-src-ahead.rs");
device!(seq, "tcp-src-seq.rs");

pub use explore::{Bounds, Model, Outcome, explore, hash_of, is_deep};

// The included files use these types by their paths in `redpoll-tcp`.
pub(crate) use redpoll_wire::tcp::{SeqNum, SeqRange};

/// Provides the maximum number of SACK blocks, which the included files read.
pub(crate) struct SackBlocks;

impl SackBlocks {
    pub(crate) const MOST: usize = 4;
}
