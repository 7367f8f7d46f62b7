//! The IEEE 802.15.4 MAC of a node in a network without beacons: unslotted
//! CSMA-CA, link acknowledgements, retries with a random delay, frame
//! filtering, duplicate suppression, and data requests between sleepy nodes
//! and their parents.
//!
//! Sans-I/O: [`Mac`] owns no radio and no clock. A driver asks
//! [`Mac::poll_radio`] for work, carries it out, reports with
//! [`Mac::on_radio_done`], hands over what the radio heard with
//! [`Mac::input_frame`], and calls [`Mac::on_timeout`] at [`Mac::poll_at`].
//! What the radio does by itself is said by [`RadioCaps`]; the MAC does the
//! rest.
//!
//! Between two works, and so during every backoff and every retry delay, the
//! radio of an always-on node listens: there is no deaf listening (Kumar et al.
//! 2020 §4) unless [`MacConfig::deaf_backoff`] asks for it. When a node sleeps
//! and what waits for whom is decided above ([`Mac::set_rest`],
//! [`Mac::set_pending`]).
//!
//! With the feature `duty-cycled` a node's receiver may be off most of the time while its
//! neighbours repeat their frames until it wakes up, as in Contiki: `MacConfig::duty`.
//!
//! One frame is in service at a time; queues, also those of indirect
//! transmission, belong to the layer above. Not here: beacons, association.
//!
//! With the feature `security` frames can be authenticated and encrypted: [`security`].
//!
//! ```
//! use redpoll_base::{Instant, Rng};
//! use redpoll_mac::{Mac, MacConfig, MacEvent, RadioResult, RadioWork, TxStatus};
//! use redpoll_wire::ieee802154::Address;
//!
//! let config = MacConfig { short: 1, ..MacConfig::default() };
//! let mut mac = Mac::new(config, Rng::new(7));
//! let mut now = Instant::ZERO;
//!
//! let payload = mac.frame_mut(Address::Short(2)).expect("idle");
//! payload[..5].copy_from_slice(b"hello");
//! mac.submit(now, 5);
//!
//! loop {
//!     match mac.poll_radio(now) {
//!         Some(RadioWork::Load) => mac.on_radio_done(now, RadioResult::Loaded),
//!         Some(RadioWork::Transmit { .. }) => {
//!             mac.on_radio_done(now, RadioResult::Acked { frame_pending: false })
//!         }
//!         Some(_) => {}
//!         None => match mac.poll_at() {
//!             Some(wake) => {
//!                 now = wake.at;
//!                 mac.on_timeout(now);
//!             }
//!             None => break,
//!         },
//!     }
//! }
//! let done = MacEvent::Done { dst: Address::Short(2), status: TxStatus::Delivered, attempts: 1 };
//! assert_eq!(mac.poll_event(), Some(done));
//! ```
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

#[cfg(test)]
extern crate std;

mod access;
mod config;
mod counters;
mod driver;
mod duplicates;
mod event;
mod filter;
mod frame_buf;
mod ifs;
mod imm_ack;
mod mac;
mod pending;
mod radio;
mod retry;
#[cfg(feature = "security")]
pub mod security;

#[cfg(feature = "duty-cycled")]
pub use access::{DutyConfig, DutyCounters, LayerConfig, Method, Release};
pub use config::MacConfig;
pub use counters::MacCounters;
pub use driver::{Radio, RadioEvent, RadioIdentity};
pub use event::{Indication, MacEvent, Service, Ticket, TxStatus};
pub use frame_buf::{FrameBuf, TooLong};
pub use ifs::Ifs;
#[cfg(feature = "duty-cycled")]
pub use mac::DUTY_BYTES;
pub use mac::{Mac, Promised, Rest};
pub use pending::PENDING_MAX;
#[cfg(feature = "duty-cycled")]
pub use radio::{Channel, Strobe};
pub use radio::{RadioCaps, RadioResult, RadioWork, RxInfo};
