//! lwIP.

use redpoll_base::Instant;

use crate::peer::{Limits, Peer};

pub(crate) const MISSING: Option<&str> = Some("not yet");

pub(crate) fn open(_now: Instant, _limits: &Limits) -> [Box<dyn Peer>; 2] {
    panic!("lwIP is missing")
}
