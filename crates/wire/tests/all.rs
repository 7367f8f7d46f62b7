//! All that is tested from outside, as one program: it is linked once, and not once a
//! file. `cargo test -p redpoll-wire --test all NAME` runs what has the name in its path.

mod common;
mod independent_decoders;
mod random_bytes;
mod round_trip;
mod tshark;
