//! All that is tested from outside, as one program: it is linked once, and not once a
//! file. `cargo test -p redpoll-mac --test all NAME` runs what has the name in its path.

mod bench;
mod burst;
mod ifs;
mod random;
mod receiving;
mod security;
mod sending;
mod sleepy;
mod software_ack;
mod timing;
