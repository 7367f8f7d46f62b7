//! The services of a leaf, as a client on the leaf's parent sees them.

#[path = "../../../socket/tests/fake/air.rs"]
mod air;
mod bench;
mod echo;
mod sharing;
mod web;
