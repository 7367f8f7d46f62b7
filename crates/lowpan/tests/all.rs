//! All integration tests as one program, which is linked once. `cargo test -p redpoll-lowpan --test
//! all NAME` runs the tests whose path contains NAME.

mod common;
#[cfg(feature = "forwarding")]
mod forwarding;
mod fragmentation;
mod indirect;
mod pipe;
mod reassembly;
#[cfg(feature = "recovery")]
mod rfc8931;
#[cfg(feature = "recovery")]
mod rfc8931_relay;
mod sending;
