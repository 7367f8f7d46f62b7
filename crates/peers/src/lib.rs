//! Redpoll beside other small TCPs, under the same rules.
//!
//! A [`Transfer`] joins two ends of one stack, any [`Subject`], by a link that
//! is slow and loses packets, in virtual time. [`loss`] is the bench made of
//! such transfers, [`matrix`] has another stack at the other end, in [`ota_ack`] each block
//! is answered by a byte; [`fairness`] has two flows in one link. The same seed gives
//! the same figures.
//!
//! The peers are built from their own sources, which are not part of this repository: smoltcp
//! comes from the registry; `scripts/setup.sh bench` fetches the C sources of lwIP and TCPlp. A
//! missing peer is left out, and [`Subject::missing`] returns how to get it.
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod fairness;
pub mod link;
pub mod loss;
mod lwip;
pub mod matrix;
pub mod meter;
pub mod ota_ack;
pub mod packet;
mod peer;
mod redpoll;
mod smoltcp;
mod subject;
pub mod sweep;
mod tcplp;
mod transfer;

pub use peer::{Limits, Peer};
pub use subject::Subject;
pub use transfer::{Measured, Transfer};
