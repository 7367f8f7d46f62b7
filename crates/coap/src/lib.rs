#![doc = include_str!("../README.md")]
//!
//! # Interface
//!
//! Datagrams come in by [`input`](Endpoint::input) and go out by
//! [`poll_datagram`](Endpoint::poll_datagram). [`poll_at`](Endpoint::poll_at) is the time of the
//! next timeout; [`poll_event`](Endpoint::poll_event) reports requests, responses and failures.
//! [`Config`] limits the memory of the endpoint.
//!
//! | I want to change | open |
//! | --- | --- |
//! | the format of messages | `message.rs`, `options.rs` |
//! | the times of retransmissions | `reliable.rs`, `rto.rs`, `cocoa.rs` |
//! | the limits of non-confirmable messages | `unconfirmed.rs` |
//! | the detection of duplicates | `seen.rs` |
//! | the maximum length of an answer to an unverified peer | `echo.rs` |
//! | blocks as a client | `transfer.rs` |
//! | bodies with several blocks in transit | `quick/` |
//! | blocks as a server | `assembly.rs`, `representations.rs` |
//! | the order in which an endpoint processes a message | `endpoint/` |
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
