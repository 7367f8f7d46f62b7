//! All that is tested from outside, as one program: it is linked once, and not once a
//! file. `cargo test -p redpoll-experiments --test all NAME` runs what has the name in its path.

mod common;
mod criteria;
mod fingerprint;
mod page;
mod results;
mod rows;
