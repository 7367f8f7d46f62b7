//! All integration tests as one program, which is linked once. `cargo test -p redpoll-mac --test
//! all NAME` runs the tests whose path contains NAME.

mod bench;
mod burst;
mod cycled;
mod ifs;
mod random;
mod receiving;
mod security;
mod sending;
mod sleepy;
mod software_ack;
mod timing;
