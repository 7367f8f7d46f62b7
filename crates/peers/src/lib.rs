//! A comparison of Redpoll with other small TCP stacks under the same conditions.
//!
//! A [`Transfer`] connects two ends of one stack, any [`Subject`], over a slow and lossy link in
//! virtual time. [`loss`] is a bench of such transfers. In [`matrix`] the two ends have different
//! stacks. In [`ota_ack`] the receiver answers each block with one byte. In [`fairness`] two flows
//! share one link. The same seed gives the same figures.
//!
//! The peers are built from their own sources, which are not part of this repository: smoltcp comes
//! from the registry; `scripts/setup.sh bench` fetches the C sources of lwIP and TCPlp. The benches
//! leave out a missing peer, and [`Subject::missing`] returns how to get it.
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
