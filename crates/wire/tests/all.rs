//! All integration tests as one program, which is linked once. `cargo test -p redpoll-wire --test
//! all NAME` runs the tests whose path contains NAME.

mod common;
mod independent_decoders;
mod random_bytes;
mod round_trip;
mod tshark;
