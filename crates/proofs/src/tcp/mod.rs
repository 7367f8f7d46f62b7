//! TCP connections with small windows: a pair over a bad link, and one connection with any peer.

mod pair;
mod peer;

pub use pair::{Ends, Link, PairModel};
pub use peer::{Forgery, PeerModel, Situation};

use redpoll_base::{Addr, Ecn};
use redpoll_tcp::{Connection, Endpoint, IpMeta};

use crate::hash_of;

type Conn = Connection<Vec<u8>>;

const ENDPOINTS: [Endpoint; 2] = [
    Endpoint {
        addr: Addr([1; 16]),
        port: 1,
    },
    Endpoint {
        addr: Addr([2; 16]),
        port: 2,
    },
];

/// The smallest MSS that a connection accepts, so that few bytes make several segments.
const MSS: u16 = 64;

/// Returns the IP header of packets that an end sends.
fn meta(from: usize) -> IpMeta {
    IpMeta {
        src: ENDPOINTS[from].addr,
        dst: ENDPOINTS[1 - from].addr,
        ecn: Ecn::NotEct,
        hop_limit: 64,
    }
}

/// Returns byte `offset` of the stream that an end sends.
fn pattern(side: usize, offset: usize) -> u8 {
    (offset % 251) as u8 ^ (side as u8 * 0x80)
}

/// Returns a hash of a connection without its counters, because states with different counters can
/// behave identically.
fn key_of(conn: &Conn) -> u64 {
    let text = format!("{conn:?}");
    hash_of(&text.split(", stats: ").next())
}
