//! Collision avoidance: after a datagram that its addressee forwards, the sender pauses while the
//! datagram travels on.
//!
//! Nodes two hops apart do not hear each other. While the node after the next hop forwards the
//! datagram, a new datagram of the sender would collide with it at the next hop. OpenThread waits
//! for 8 ms after each frame. Here the fragments of a datagram follow one another without a pause,
//! and one pause for the whole datagram follows its last fragment.
//! [`RedConfig::pause`](crate::RedConfig::pause) applies only with several conversations.

use redpoll_base::{Duration, Instant, Memory, Wake};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};

use super::Lowpan;
use crate::red::Red;
use crate::transmit::{InService, Origin};

impl<M: Memory> Lowpan<M> {
    /// Starts a pause after all frames of a datagram were delivered to the next hop.
    pub(super) fn pause_after(&mut self, now: Instant, datagram: &InService) {
        if !M::ROUTES {
            return;
        }
        let red = self.red.as_ref();
        let crowded = red.map_or(Duration::ZERO, Red::pause);
        let pause = self.pause.max(crowded);
        if pause.is_zero() || datagram.indirect || !self.goes_on(datagram) {
            return;
        }
        self.paused_until = Some(now + pause.times(datagram.frames.into()));
    }

    /// Returns whether the addressee will forward the datagram: its destination is a single node
    /// other than the addressee.
    fn goes_on(&self, datagram: &InService) -> bool {
        let dst = match datagram.origin {
            Origin::Pulled => self.pulled.as_ref().map(|pulled| pulled.ip.dst),
            Origin::Slot(id) => {
                let parsed = Ipv6Header::parse(self.pool.packet(id));
                parsed.ok().map(|(ip, _)| ip.dst)
            }
            // No pause: the sender leaves gaps between forwarded fragments (`fragment_gap`), and
            // waits for acknowledgments of recoverable fragments.
            Origin::Forwarded(_) | Origin::Recoverable(..) | Origin::Acknowledgment(_) => None,
        };
        let next_hop = datagram.next_hop;
        next_hop != Address::BROADCAST
            && dst.is_some_and(|dst| addr::iid_of(next_hop) != Some(addr::iid(&dst)))
    }

    pub(super) fn pause_ends(&self) -> Option<Wake> {
        self.paused_until.filter(|_| M::ROUTES).map(Wake::exactly)
    }

    pub(super) fn end_pause(&mut self, now: Instant) {
        if M::ROUTES {
            self.paused_until = self.paused_until.filter(|until| now < *until);
        }
    }
}
