//! The targets, one file each.

mod bdx;
mod cache;
mod capture;
mod coap;
mod command;
mod fetch;
mod fragment;
mod frames;
mod hdlc;
mod icmpv6;
mod ieee802154;
mod iphc;
mod ipv6;
mod k7;
mod multicast;
mod node;
mod noise;
mod quick;
mod recording;
mod recovery;
mod rpl;
mod scenario;
mod security;
mod slip;
mod spinel;
mod taim;
mod tcp;
mod tcp_header;
mod uart;
mod udp;
mod world;

/// Heap memory for the nodes and tables of all targets.
enum Heap {}

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
    const JOINS_FRAGMENTS: bool = true;
}

/// A function that takes bytes and panics if it finds a mistake.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        /// All targets, sorted by name.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), run: $name::run }),*];
    };
}

targets! {
    bdx, cache, capture, coap, command, fetch, fragment, frames, hdlc, icmpv6, ieee802154,
    iphc, ipv6, k7, multicast, node, noise, quick, recording, recovery, rpl, scenario,
    security, slip, spinel, taim, tcp, tcp_header, uart, udp, world,
}
