//! All integration tests as one program, which is linked once. `cargo test -p redpoll-studies
//! --test all NAME` runs the tests whose path contains NAME.

#[path = "../../experiments/tests/common/mod.rs"]
mod common;
mod criteria;
mod hurni2012;
mod page;
mod study;
