#![doc = include_str!("../README.md")]
//!
//! # Interface
//!
//! A [`Connection`] owns no clock, no socket, no heap and no thread; the caller owns its buffers. A
//! [`Listener`] answers connection requests without storing them; a [`SynCache`] stores each in 48
//! bytes until the handshake is complete.
//!
//! [`input`](Connection::input) and `on_*` take segments and reports, `poll_*` return results;
//! time is an argument. After each call, poll [`poll_event`](Connection::poll_event) until it
//! returns `None`, and arm a timer by [`poll_at`](Connection::poll_at).
//!
//! The engine makes a segment only when the link has room for it.
//! [`poll_segment`](Connection::poll_segment) returns its header and pins its bytes. The link
//! [reads](Connection::read) them piece by piece while it sends, and reports the outcome with
//! [`on_segment_sent`](Connection::on_segment_sent) or
//! [`on_segment_lost`](Connection::on_segment_lost). The retransmission timer starts at that
//! report, and the engine does not retransmit bytes that the link still holds.
//!
//! # A transfer
//!
//! Two ends and a link that never fails:
//!
//! ```
//! use redpoll_base::{Addr, Ecn, Instant};
//! use redpoll_tcp::{
//!     Action, Config, Connection, Endpoint, IpMeta, Listener, Segment, SendRing, SeqNum,
//! };
//!
//! let (a, b) = (Endpoint::new(Addr([1; 16]), 49152), Endpoint::new(Addr([2; 16]), 80));
//! let (config, now) = (Config::default(), Instant::ZERO);
//!
//! // The next segment of one end, as the bytes of an IP packet's payload.
//! fn next(from: &mut Connection<[u8; 512]>, now: Instant) -> Option<Vec<u8>> {
//!     let desc = from.poll_segment(now, 1280)?;
//!     let mut bytes = desc.header.as_bytes().to_vec();
//!     let mut payload = vec![0; usize::from(desc.payload_len)];
//!     from.read(desc.token, 0, &mut payload).unwrap();
//!     bytes.extend(payload);
//!     from.on_segment_sent(desc.token, now);
//!     Some(bytes)
//! }
//!
//! let store = || SendRing::new([0; 512]);
//! let mut client = Connection::connect(now, &config, a, b, SeqNum(7), store(), [0; 512]);
//! client.send(now, b"hello").unwrap();
//!
//! let meta = IpMeta { src: a.addr, dst: b.addr, ecn: Ecn::NotEct, hop_limit: 64 };
//! let back = IpMeta { src: b.addr, dst: a.addr, ..meta };
//!
//! let syn = next(&mut client, now).unwrap();
//! let listener = Listener::new(b);
//! let Action::Accept(request) = listener.input(&meta, &Segment::parse(&meta, &syn).unwrap())
//! else { panic!("not a connection request") };
//! let mut server = Connection::accept(now, &config, request, SeqNum(99), store(), [0; 512]);
//!
//! loop {
//!     let mut idle = true;
//!     while let Some(bytes) = next(&mut server, now) {
//!         client.input(now, &back, &Segment::parse(&back, &bytes).unwrap());
//!         idle = false;
//!     }
//!     while let Some(bytes) = next(&mut client, now) {
//!         server.input(now, &meta, &Segment::parse(&meta, &bytes).unwrap());
//!         idle = false;
//!     }
//!     if idle { break }
//! }
//! let mut out = [0; 16];
//! assert_eq!(server.recv(now, &mut out), Ok(5));
//! assert_eq!(&out[..5], b"hello");
//! ```
//!
//! # Limits
//!
//! The urgent pointer is neither sent nor used, and windows are not scaled, because a window
//! of 64 KiB is larger than a node's memory.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]
#![warn(missing_docs)]

mod ahead;
mod algorithms;
mod challenge;
mod config;
mod congestion;
mod connection;
mod ecn;
mod endpoint;
mod error;
mod event;
mod fast_open;
mod frozen;
mod header;
mod isn;
mod keepalive;
mod listener;
mod options;
mod pmtu;
mod reconnect;
mod recovery;
mod recv;
mod recycled;
mod reset;
mod rtt;
mod sack;
mod segment;
mod send;
mod seq;
mod state;
mod stats;
mod syn_cache;
mod syn_cookie;
mod timers;
mod timestamps;
mod user_timeout;

pub use algorithms::{Algorithms, Standard};
pub use config::{Config, EcnUse, Keepalive};
pub use congestion::{Congestion, FlowState, NewReno};
pub(crate) use connection::Opening;
pub use connection::{Connection, IcmpKind, Info, SegmentDesc};
pub use endpoint::Endpoint;
pub use error::{Error, Gone, ParseError, RecvError, SendError};
pub use event::{Event, Expect, Trouble};
pub use fast_open::{FastOpenCookie, FastOpenServer, FastOpenServers, ON as FAST_OPEN};
pub use frozen::{FreezeError, ThawError};
pub use header::{Fields, Header};
pub use isn::IsnGenerator;
pub use listener::{Action, Listener, Request, Terms};
pub use options::{Extra, Options, TimestampOption};
pub use pmtu::ON as PATH_MTU;
pub use reconnect::{Reconnect, ReconnectPolicy};
pub use recycled::Recycled;
pub use reset::reset_reply;
pub use sack::SackBlocks;
pub use segment::{Incoming, IpMeta, Segment};
pub use send::{Chain, ChainSlot, SendRing, SendStore, Token};
pub use state::State;
pub use stats::{Retransmissions, Stats};
pub use syn_cache::{Answer, Cookies, HalfOpen, Handshake, Overflow, SynAck, SynCache};
pub use user_timeout::{UserTimeout, UserTimeoutOption};

pub(crate) use redpoll_wire::ipv6::next_header::TCP as PROTOCOL;
pub use redpoll_wire::tcp::SeqNum;
pub(crate) use redpoll_wire::tcp::{Flags, SeqRange};
