//! All integration tests as one program, so that they are linked once. `cargo test -p
//! redpoll-experiments --test all NAME` runs the tests whose path contains NAME.

mod common;
mod criteria;
mod fingerprint;
mod page;
mod results;
mod rows;
