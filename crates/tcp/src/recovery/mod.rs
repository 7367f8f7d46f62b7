//! Finding out that something was lost, and what to send again: by timer
//! (RFC 6298), by duplicate acknowledgments (RFC 6582), by the link's word.

mod fast;
mod link;
mod resend;
mod rto;

pub(crate) use fast::{DupAck, FastRecovery, NewAck};
pub(crate) use link::LinkHealth;
pub(crate) use resend::{Loss, Resend};
pub(crate) use rto::{Rto, Verdict};
