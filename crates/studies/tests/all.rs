//! All that is tested from outside, as one program: it is linked once, and not once a
//! file. `cargo test -p redpoll-studies --test all NAME` runs what has the name in its path.

#[path = "../../experiments/tests/common/mod.rs"]
mod common;
mod criteria;
mod hurni2012;
mod page;
mod study;
