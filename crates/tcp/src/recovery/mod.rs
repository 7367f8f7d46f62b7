//! Loss detection, and the pace of repair: by timer (RFC 6298), by time (RFC 8985), by duplicate
//! acknowledgments (RFC 6582), and by reports of the link; paced by RFC 9937.

mod episode;
mod frto;
mod link;
pub(crate) mod prr;
pub(crate) mod rack;
mod rto;
mod tlp;
mod undo;

pub(crate) use episode::{DUP_THRESH, Episode, Loss, Mode};
pub(crate) use frto::Evidence;
pub(crate) use link::LinkHealth;
pub(crate) use prr::{Progress, Prr};
pub(crate) use rack::Rack;
pub(crate) use rto::{Expiry, Rto};
pub(crate) use tlp::Tlp;
pub(crate) use undo::Undo;
