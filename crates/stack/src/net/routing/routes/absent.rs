//! Replaces `rpl.rs` in a build without the feature `rpl`: no DAO creates a route.

use redpoll_base::Instant;
use redpoll_wire::ieee802154::Address;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DownwardRoute {}

impl DownwardRoute {
    pub(super) fn next_hop(self) -> Address {
        match self {}
    }

    pub(super) fn is_good(&self, _now: Instant) -> bool {
        match *self {}
    }

    pub(super) fn is_usable(&self, _now: Instant) -> bool {
        match *self {}
    }

    pub(super) fn is_host(&self) -> bool {
        match *self {}
    }
}
