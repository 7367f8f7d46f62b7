//! What only nodes that route by RPL have; on all others it says "no".

use redpoll_base::{Addr, Instant, Memory, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::PacketInformation;

use super::registered::Registered;
use super::rpl::{Dress, Envelope, Passage, Rpl, RplConfig, RplCounters, RplMemory, RplRole};
use super::{Peer, Routing, Way};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::profile::Profile;

impl<M: Memory + 'static> RplMemory<M> {
    /// Bytes that every node is larger by for being built with RPL: its state, two
    /// counters, and room for a hop-by-hop header.
    pub const NODE_BYTES: usize =
        size_of::<Rpl<M>>().saturating_sub(size_of::<Registered<M>>()) + 8 + 8;
}

impl<P: Profile> Routing<P> {
    /// From now on the table is kept by RPL.
    pub(crate) fn begin_rpl(
        &mut self,
        now: Instant,
        config: (P::Rules, RplRole, RplConfig),
        memory: RplMemory<P::Memory>,
        identity: &Identity,
    ) {
        #[cfg_attr(
            not(feature = "rpl-hosts"),
            allow(unused_mut, reason = "hosts register")
        )]
        let mut rpl = Rpl::new(now, config, memory, identity);
        #[cfg(feature = "rpl-hosts")]
        if let Way::Registered(hosts) = core::mem::replace(&mut self.way, Way::Fixed) {
            rpl.take_hosts(hosts);
        }
        self.way = Way::Rpl(rpl);
    }

    #[inline(never)] // size
    fn rpl(&self) -> Option<&Rpl<P>> {
        match &self.way {
            Way::Rpl(rpl) => Some(rpl),
            _ => None,
        }
    }

    pub(crate) fn is_rpl(&self) -> bool {
        self.rpl().is_some()
    }

    /// Whether this is an address of the DODAG.
    pub(crate) fn is_inside(&self, addr: &Addr) -> bool {
        self.rpl().is_some_and(|rpl| rpl.holds(addr))
    }

    pub(crate) fn rpl_counters(&self) -> RplCounters {
        self.rpl().map(|rpl| rpl.counters).unwrap_or_default()
    }

    /// Rank, and the preferred parent.
    pub(crate) fn rpl_place(&self) -> Option<(u16, Option<Address>)> {
        self.rpl().map(|rpl| (rpl.rank(), rpl.parent()))
    }

    /// Targets in the table.
    pub(crate) fn targets(&self, now: Instant) -> usize {
        let targets = self.table.downwards();
        targets
            .filter(|(_, it)| !it.is_gone() && it.is_good(now))
            .count()
    }

    /// A control message of RPL has come: its code, and what stands behind the checksum.
    pub(crate) fn on_rpl(
        &mut self,
        now: Instant,
        identity: &mut Identity,
        ends: (Addr, Addr),
        message: (u8, &[u8]),
        from: Option<Address>,
    ) -> Result<(), DropReason> {
        let Way::Rpl(rpl) = &mut self.way else {
            return Err(DropReason::IcmpIgnored);
        };
        rpl.on_message(now, identity, &mut self.table, ends, message, from)
            .inspect_err(|_| rpl.on_implausible())
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        self.rpl()?.poll_at()
    }

    pub(crate) fn on_timeout(&mut self, now: Instant, identity: &Identity) {
        if let Way::Rpl(rpl) = &mut self.way {
            rpl.on_timeout(now, identity, &mut self.table);
        }
    }

    /// Writes the next message that is due to `out`, behind type, code and checksum.
    pub(crate) fn poll_rpl(
        &mut self,
        now: Instant,
        identity: &Identity,
        out: &mut Cursor<'_>,
    ) -> Option<Envelope> {
        match &mut self.way {
            Way::Rpl(rpl) => rpl.poll_message(now, identity, &mut self.table, out),
            _ => None,
        }
    }

    /// What a packet to `dst` that leaves by the radio is to have, if it has `present`.
    pub(crate) fn dress(
        &self,
        now: Instant,
        dst: &Addr,
        present: Option<PacketInformation>,
    ) -> Dress {
        self.rpl().map_or(Dress::Nothing, |rpl| {
            rpl.dress(now, &self.table, dst, present)
        })
    }

    /// Whether packets of others get an outer header; and the DODAG's root, to which it
    /// leads on the way up.
    pub(crate) fn tunnel(&self) -> Option<Addr> {
        self.rpl()?.tunnel()
    }

    /// So many datagrams in all have found no room at this node.
    pub(crate) fn on_load(&mut self, now: Instant, turned_away: u32) {
        if let Way::Rpl(rpl) = &mut self.way {
            rpl.on_load(now, turned_away);
        }
    }

    /// There is no way to `dst`, which a packet is for.
    pub(crate) fn on_unreachable(&mut self, now: Instant, dst: &Addr) {
        if let Way::Rpl(rpl) = &mut self.way {
            rpl.on_unreachable(now, dst);
        }
    }

    /// A root begins the next version of its DODAG; whether it did.
    #[cfg(feature = "rpl-root")]
    pub(crate) fn begin_version(&mut self, now: Instant) -> bool {
        match &mut self.way {
            Way::Rpl(rpl) => rpl.begin_version(now),
            _ => false,
        }
    }

    /// The router `from` has not reached the next stop of a packet: an error's code, and the
    /// packet.
    #[cfg(feature = "rpl-root")]
    pub(crate) fn on_lost_stop(
        &mut self,
        now: Instant,
        identity: &Identity,
        from: &Addr,
        error: (u8, &[u8]),
    ) {
        if let Way::Rpl(rpl) = &mut self.way {
            rpl.on_lost_stop(now, identity, &mut self.table, from, error);
        }
    }

    /// The echo request by which a root asks for a target, if one is due.
    #[cfg(feature = "rpl-root")]
    pub(crate) fn poll_inquiry(&mut self) -> Option<(Addr, u16, u16)> {
        match &mut self.way {
            Way::Rpl(rpl) => rpl.poll_inquiry(),
            _ => None,
        }
    }

    /// The echo request has left, or could not.
    #[cfg(feature = "rpl-root")]
    pub(crate) fn on_inquiry(&mut self, has_left: bool) {
        if let Way::Rpl(rpl) = &mut self.way {
            rpl.on_inquiry(has_left);
        }
    }

    /// Whether an echo reply answers an inquiry of this root.
    #[cfg(feature = "rpl-root")]
    pub(crate) fn is_answer(&mut self, now: Instant, src: &Addr, number: (u16, u16)) -> bool {
        match &mut self.way {
            Way::Rpl(rpl) => rpl.on_answer(now, &mut self.table, src, number),
            _ => false,
        }
    }

    /// A packet from the neighbour `from` is to be passed on.
    pub(crate) fn on_passing(
        &mut self,
        now: Instant,
        dst: &Addr,
        from: Address,
        information: &mut PacketInformation,
    ) -> Result<Passage, DropReason> {
        match (&mut self.way, Peer::of(from)) {
            (Way::Rpl(rpl), Some(from)) => {
                rpl.on_passing(now, &mut self.table, dst, from, information)
            }
            _ => Ok(Passage::On),
        }
    }
}
