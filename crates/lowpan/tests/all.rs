//! All that is tested from outside, as one program: it is linked once, and not once a
//! file. `cargo test -p redpoll-lowpan --test all NAME` runs what has the name in its path.

mod common;
mod forwarding;
mod fragmentation;
mod indirect;
mod pipe;
mod reassembly;
mod rfc8931;
mod rfc8931_relay;
mod sending;
