//! Congestion control: how much may be in the network.

mod newreno;

pub(crate) use newreno::{InitialWindow, NewReno};
