//! All integration tests as one program, which is linked once. `cargo test -p redpoll-coap --test
//! all NAME` runs the tests whose path contains NAME.

mod cocoa;
mod common;
mod random;
mod rfc7252;
mod rfc7252_groups;
mod rfc7959;
mod rfc9175;
mod rfc9177;
