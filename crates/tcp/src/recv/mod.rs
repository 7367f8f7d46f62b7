//! The receiving half: RFC 9293's RCV variables, in-place reassembly, and acknowledgments.

mod ack;
mod inbox;
mod ranges;
mod window;

pub(crate) use ack::AckPolicy;
pub(crate) use inbox::{Arrival, Inbox};
pub(crate) use window::RecvWindow;
