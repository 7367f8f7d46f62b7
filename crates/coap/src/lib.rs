//! CoAP without I/O, for clients and servers alike: reliable messages,
//! duplicates, requests and responses (RFC 7252), block-wise transfers
//! (RFC 7959), and retransmission timeouts by RFC 7252 or by CoCoA. Beside it is Q-Block1
//! (RFC 9177).
//!
//! An [`Endpoint`] is one UDP port. Datagrams come in by
//! [`input`](Endpoint::input) and go out by
//! [`poll_datagram`](Endpoint::poll_datagram); it wants to be called by
//! [`poll_at`](Endpoint::poll_at) and tells what happened by
//! [`poll_event`](Endpoint::poll_event). It has no clock and no socket, and
//! its memory, which it takes from a heap, is bounded by its [`Config`]. It needs
//! no standard library.
//!
//! ```
//! use redpoll_base::{Addr, Instant, Rng};
//! use redpoll_coap::{Config, Endpoint, Event, Method, Peer, Request, Response, Status};
//!
//! let mut client = Endpoint::new(Config::default(), Rng::new(1));
//! let mut server = Endpoint::new(Config::default(), Rng::new(2));
//! let here = Peer { addr: Addr::UNSPECIFIED, port: 1 };
//! let there = Peer { addr: Addr::UNSPECIFIED, port: 5683 };
//! let now = Instant::ZERO;
//!
//! client.request(now, there, Request::new(Method::Get, "hello"))?;
//! let (_, datagram) = client.poll_datagram().unwrap();
//! server.input(now, here, &datagram);
//! let Some(Event::Request { id, .. }) = server.poll_event() else { unreachable!() };
//! server.respond(now, id, Response::new(Status::Content).with_payload(*b"hi"));
//! let (_, datagram) = server.poll_datagram().unwrap();
//! client.input(now, there, &datagram);
//! let Some(Event::Response { response, .. }) = client.poll_event() else { unreachable!() };
//! assert_eq!(response.payload, b"hi");
//! # Ok::<(), redpoll_coap::Busy>(())
//! ```
//!
//! What it does not do: observe (RFC 7641: the option is ignored, as an
//! elective one may be), multicast, proxies, DTLS.
//!
//! | I want to change | open |
//! | --- | --- |
//! | what a message may look like | `message.rs`, `options.rs` |
//! | when a message is repeated | `reliable.rs`, `rto.rs`, `cocoa.rs` |
//! | how many may go unconfirmed | `unconfirmed.rs` |
//! | what counts as a duplicate | `seen.rs` |
//! | how long an answer a stranger gets | `echo.rs` |
//! | blocks as a client | `transfer.rs` |
//! | bodies in many messages at a time | `quick/` |
//! | blocks as a server | `assembly.rs`, `representations.rs` |
//! | the order in which all that is asked | `endpoint/` |
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]
#![warn(missing_docs)]

#[macro_use]
extern crate alloc;

mod assembly;
mod block;
mod cocoa;
mod config;
mod echo;
mod endpoint;
mod message;
mod options;
mod quick;
mod reliable;
mod representations;
mod request;
mod rto;
mod seen;
mod transfer;
mod unconfirmed;

pub use coap_lite::{RequestType as Method, ResponseType as Status};

pub use block::{BlockSize, Part};
pub use config::{Config, RtoPolicy, Transmission};
pub use endpoint::{Busy, Counters, Endpoint, Event, Expect, Failure, IncomingId, RequestId};
pub use message::Peer;
pub use quick::{QUICK_BLOCKS_MAX, QuickAnswer, QuickConfig, QuickReceiver, QuickSender, Taken};
pub use request::{Incoming, Request, Response};
