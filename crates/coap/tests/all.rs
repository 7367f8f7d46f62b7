//! All that is tested from outside, as one program: it is linked once, and not once a
//! file. `cargo test -p redpoll-coap --test all NAME` runs what has the name in its path.

mod cocoa;
mod common;
mod random;
mod rfc7252;
mod rfc7959;
mod rfc9175;
mod rfc9177;
