//! A comparison of Redpoll with other small TCP stacks under the same conditions.
//!
//! A [`Transfer`] connects two ends of one stack, any [`Subject`], by a slow and lossy link in
//! virtual time. [`loss`] is a bench of such transfers. [`matrix`] uses another stack at the other
//! end. In [`ota_ack`] a byte answers each block, and [`fairness`] has two flows over one link. The
//! same seed gives the same figures.
//!
//! The peers are built from their own sources, which are not part of this repository: smoltcp comes
//! from the registry; `scripts/setup.sh bench` fetches the C sources of lwIP and TCPlp. A missing
//! peer is left out, and [`Subject::missing`] returns how to get it.
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
