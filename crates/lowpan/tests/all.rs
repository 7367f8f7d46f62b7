//! All integration tests as one program, which is linked once. `cargo test -p redpoll-lowpan --test
//! all NAME` runs the tests whose path contains NAME.

mod common;
mod forwarding;
mod fragmentation;
mod indirect;
mod pipe;
mod reassembly;
mod rfc8931;
mod rfc8931_relay;
mod sending;
