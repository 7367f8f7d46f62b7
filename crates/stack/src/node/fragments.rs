//! Fragments of datagrams for others, forwarded as they come (RFC 8930), and
//! recovered one by one (RFC 8931).

use redpoll_base::{Addr, Instant, Memory};
#[cfg(feature = "forwarding")]
use redpoll_lowpan::ForwardingMemory;
use redpoll_lowpan::{Drop, Onward, SlotId};
#[cfg(feature = "recovery")]
use redpoll_lowpan::{RecoveryConfig, RecoveryCounters, RecoveryMemory};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};

use super::Node;
use super::paths::{NextHop, is_loopback, is_unicast};

impl<M: Memory + 'static> Node<M> {
    /// From now on this router passes fragments on as they come, as far as the
    /// memory goes (RFC 8930); without it, it reassembles what it forwards.
    #[cfg(feature = "forwarding")]
    pub fn forward_fragments(&mut self, memory: ForwardingMemory<M>) {
        self.lowpan.forward_fragments(memory);
    }

    /// From now on this node sends its datagrams in fragments that are recovered
    /// one by one, and takes such from others (RFC 8931). All nodes of a mesh
    /// must; a router should also [forward fragments](Self::forward_fragments),
    /// else it joins what it passes on.
    #[cfg(feature = "recovery")]
    pub fn recover_fragments(&mut self, config: RecoveryConfig, memory: RecoveryMemory<M>) {
        self.lowpan.recover_fragments(config, memory);
    }

    /// What recovery has done so far.
    #[cfg(feature = "recovery")]
    pub fn recovery_counters(&self) -> RecoveryCounters {
        self.lowpan.recovery_counters()
    }

    /// The payload of a frame goes to 6LoWPAN; first fragments that a router
    /// would pass on as they are do not stay there.
    ///
    /// RFC 8930 §5: the decision is made on the first fragment. What would have
    /// to be refused is reassembled, so that its sender may be told, and so is
    /// what must wait for a node that sleeps.
    pub(super) fn input_payload(
        &mut self,
        now: Instant,
        src: Address,
        dst: Address,
        payload: &[u8],
    ) -> Result<Option<SlotId>, Drop> {
        let own = [self.link_local, self.config.address];
        let routes = self.config.forwards && dst != Address::BROADCAST;
        let (paths, children, mac) = (&self.paths, &self.children, &self.mac);
        let (link_src, long) = (self.config.link_address(), self.long_addresses);
        self.lowpan
            .input_routed(now, src, dst, payload, |header: &Ipv6Header| {
                let ends = [header.src, header.dst];
                let passes = |end: &Addr| {
                    !(end.is_multicast()
                        || end.is_unspecified()
                        || is_loopback(end)
                        || addr::is_link_local(end)
                        || own.contains(end))
                };
                if !routes || header.hop_limit <= 1 || !ends.iter().all(passes) {
                    return None;
                }
                let next_hop = match paths.next_hop(now, &header.dst)? {
                    NextHop::Link(link) if is_unicast(link) && link != src => link,
                    _ => return None,
                };
                let longest = match long {
                    true => Address::Extended([0; 8]),
                    false => next_hop,
                };
                (!children.contains(next_hop)).then(|| Onward {
                    next_hop,
                    link_src,
                    capacity: mac.payload_capacity(longest),
                })
            })
    }
}
