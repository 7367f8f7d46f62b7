//! Multicast groups in a mesh, by MPL with proactive forwarding (RFC 7731).
//!
//! A *seed* puts a message into the mesh: it numbers a multicast packet, and encloses it in a
//! packet to all forwarders. Each forwarder keeps the message for a short time, and broadcasts it a
//! few times by the Trickle algorithm (RFC 6206). A forwarder that hears a neighbour send the same
//! message stays silent in this interval. Members of the group get the enclosed packet.
//!
//! [`Multicast`] is an assistant of a node, with the feature `node`. Every node that is a member or
//! forwards needs one. A border router also passes packets from its host side into the mesh: only
//! those to groups that it [lets in](Multicast::let_in), and at a limited rate
//! ([`Params::interval`]).
//!
//! Decisions that the RFC leaves open:
//!
//! - A seed has a random identifier of 16 bits (S = 1), which a restart changes. With its address
//!   as the identifier, forwarders would mistake its messages for old ones until their entries
//!   expire after [`Params::seed_lifetime`]. The option's header has eight bytes either way.
//! - There are no control messages (RFC 7731 §5.4: `CONTROL_MESSAGE_TIMER_EXPIRATIONS` is 0). A
//!   node that was off or out of range while a message was forwarded therefore never gets it.
//! - A forwarder that has no room for a message drops the message without recording its number, so
//!   it can accept the message when a neighbour transmits it later.
//! - While the table of seeds is full, messages of other seeds are dropped. If their entries
//!   replaced existing ones, the messages of the replaced seeds could circulate again.
//!
//! ```
//! use redpoll_assist::multicast::{GroupSlot, Memory, MessageSlot, Multicast, Params, SeedSlot};
//! use redpoll_base::{Addr, Rng};
//!
//! struct Heap;
//! impl redpoll_base::Memory for Heap {
//!     type Buffer = Box<[u8]>;
//!     type Table<T: 'static> = Box<[T]>;
//!     type Forwards = bool;
//! }
//! let memory = Memory::<Heap> {
//!     groups: vec![GroupSlot::EMPTY; 2].into(),
//!     seeds: vec![SeedSlot::EMPTY; 4].into(),
//!     messages: vec![MessageSlot::EMPTY; 4].into(),
//!     bytes: vec![0; 4 * 320].into(),
//! };
//! let mut multicast = Multicast::new(Params::default(), Rng::new(1), memory);
//! let all_coap_nodes = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]);
//! assert!(multicast.join(&all_coap_nodes));
//! assert_eq!(multicast.poll_at(), None);
//! ```

mod groups;
mod limit;
mod messages;
#[cfg(feature = "node")]
mod node;
mod params;
mod seeds;
#[cfg(test)]
mod tests;
mod trickle;

use redpoll_base::{Addr, Duration, Instant, Memory as Kinds, Rng, Wake};
use redpoll_wire::ipv6::mpl::{ALL_FORWARDERS, MplOption, SeedId};
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};

pub use groups::GroupSlot;
use groups::Groups;
use limit::Limit;
pub use messages::MessageSlot;
use messages::{Fresh, Messages};
pub use params::Params;
pub use seeds::SeedSlot;
use seeds::{Known, Seeds};

/// Delay until the next attempt if the node had no room for a packet.
const LATER: Duration = Duration::from_millis(20);
/// The hop limit of messages of this seed.
const HOP_LIMIT: u8 = 64;
/// Offset of the hop limit in an IPv6 packet (RFC 8200 §3).
const HOP_LIMIT_AT: usize = 7;

/// The memory of [`Multicast`], which determines its capacity.
#[derive(Debug)]
pub struct Memory<M: Kinds> {
    /// A slot for each group that the node is a member of, or lets into the mesh.
    pub groups: M::Table<GroupSlot>,
    /// A slot for each seed whose messages are forwarded.
    pub seeds: M::Table<SeedSlot>,
    /// A slot for each message that is being forwarded.
    pub messages: M::Table<MessageSlot>,
    /// The messages' packets, in equal parts.
    pub bytes: M::Buffer,
}

/// Counters. They wrap at 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counters {
    /// Messages that this node put into the mesh.
    pub seeded: u32,
    /// New messages of other seeds.
    pub received: u32,
    /// Messages to a group of this node.
    pub delivered: u32,
    /// Transmissions of messages.
    pub sent: u32,
    /// Transmissions omitted because neighbours had sent the message.
    pub suppressed: u32,
    /// Messages dropped because the node had processed them before.
    pub duplicates: u32,
    /// Packets from the host side dropped by [`Params::interval`].
    pub limited: u32,
    /// Packets from the host side to groups that this node does not let in.
    pub foreign: u32,
    /// Messages dropped for lack of a slot, or because they are longer than a slot.
    pub without_room: u32,
    /// Messages dropped because the table of seeds was full.
    pub without_seed: u32,
    /// Packets without a valid option or with an invalid packet inside, and packets from the host
    /// side that are not UDP.
    pub malformed: u32,
    /// Messages not forwarded, and packets from the host side dropped, because their hop limit was
    /// used up.
    pub expired: u32,
}

/// The decision on a multicast packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The node is a member. The packet for it begins at this byte.
    Deliver(usize),
    /// Nothing is delivered to this node: the packet has been stored for forwarding, is for groups
    /// of other nodes, or is a duplicate.
    Keep,
    /// The packet is dropped. A counter of this reason has increased, unless the packet came over
    /// the link to a link-scoped group of which the node is not a member.
    Drop(Dropped),
}

/// Why a packet is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// The packet is malformed.
    Malformed,
    /// There is no room for the packet, or it exceeds the rate.
    NoRoom,
    /// The node is not a member of the group.
    NotMember,
    /// The packet's hop limit is used up.
    HopLimit,
}

/// The multicast groups of a node; see the [module](self).
#[derive(Debug)]
pub struct Multicast<M: Kinds> {
    params: Params,
    rng: Rng,
    groups: Groups<M::Table<GroupSlot>>,
    seeds: Seeds<M::Table<SeedSlot>>,
    messages: Messages<M::Table<MessageSlot>, M::Buffer>,
    limit: Limit,
    /// The identifier of this node as a seed; `sequence` is its next sequence number.
    id: u16,
    sequence: u8,
    /// Earliest time of the next packet after one for which the node had no room.
    not_before: Instant,
    counters: Counters,
}

impl<M: Kinds> Multicast<M> {
    /// Returns a node without groups. `rng` must differ at each start of the node.
    pub fn new(params: Params, mut rng: Rng, memory: Memory<M>) -> Self {
        let draw = rng.next_u32();
        Multicast {
            params,
            groups: Groups::new(memory.groups),
            seeds: Seeds::new(memory.seeds),
            messages: Messages::new(memory.messages, memory.bytes),
            limit: Limit::new(params.burst),
            id: draw as u16,
            sequence: (draw >> 16) as u8,
            rng,
            not_before: Instant::ZERO,
            counters: Counters::default(),
        }
    }

    /// Returns the counters, which begin at 0 with [`Multicast::new`].
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Joins a group. Returns `false` if `group` is not a multicast address, or if no slot is free.
    pub fn join(&mut self, group: &Addr) -> bool {
        self.groups.set(group, |role| role.is_member = true)
    }

    /// Leaves a group. Returns `false` if the node is not a member.
    pub fn leave(&mut self, group: &Addr) -> bool {
        self.is_member(group) && self.groups.set(group, |role| role.is_member = false)
    }

    /// Lets packets from the host side to `group` into the mesh. Returns `false` if `group` is
    /// `ALL_FORWARDERS` or is not a multicast address beyond the link, or if no slot is free.
    pub fn let_in(&mut self, group: &Addr) -> bool {
        let passes = !addr::is_link_scoped_multicast(group) && *group != ALL_FORWARDERS;
        passes && self.groups.set(group, |role| role.is_let_in = true)
    }

    /// Returns whether the node is a member of a group.
    pub fn is_member(&self, group: &Addr) -> bool {
        self.groups.role(group).is_member
    }

    /// Processes a multicast packet from the radio.
    pub fn on_link(&mut self, now: Instant, header: &Ipv6Header, packet: &mut [u8]) -> Fate {
        let dst = &header.dst;
        if addr::is_link_scoped_multicast(dst) {
            return self.deliver(dst, 0);
        }
        let Some((option, place)) = MplOption::find(packet) else {
            return self.malformed();
        };
        let ends = self.params.expirations == 0 || header.hop_limit <= 1;
        let fate = match *dst == ALL_FORWARDERS {
            true => match enclosed(packet) {
                Some((group, start)) => self.deliver(&group, start),
                None => return self.malformed(),
            },
            false => self.deliver(dst, 0),
        };
        let seed = match option.seed {
            // S = 0: the source address identifies the seed (RFC 7731 §6.1).
            SeedId::Source => SeedId::Full(header.src.0),
            seed => seed,
        };
        let forwarded = (!ends).then_some(&*packet);
        if let Err(fate) = self.accept(now, seed, option.sequence, forwarded) {
            return fate;
        }
        count(&mut self.counters.received);
        if ends && self.params.expirations > 0 {
            count(&mut self.counters.expired);
        }
        match fate {
            Fate::Deliver(start) => {
                count(&mut self.counters.delivered);
                if start == 0 {
                    MplOption::blank(packet, place);
                }
                fate
            }
            // A forwarder has no reason to count messages to groups of other nodes as drops.
            _ => Fate::Keep,
        }
    }

    /// Processes a multicast packet from the host side, which enters the mesh.
    pub fn on_host(
        &mut self,
        now: Instant,
        node: &Addr,
        header: &Ipv6Header,
        packet: &mut [u8],
    ) -> Fate {
        let group = &header.dst;
        if header.next_header != next_header::UDP {
            return self.malformed();
        }
        let role = self.groups.role(group);
        if !role.is_let_in {
            count(&mut self.counters.foreign);
            return Fate::Drop(Dropped::NotMember);
        }
        let hops = u8::from(self.params.host_is_far);
        if header.hop_limit <= hops {
            count(&mut self.counters.expired);
            return Fate::Drop(Dropped::HopLimit);
        }
        if !self.limit.admit(now, &self.params) {
            count(&mut self.counters.limited);
            return Fate::Drop(Dropped::NoRoom);
        }
        if let Some(hop_limit) = packet.get_mut(HOP_LIMIT_AT) {
            *hop_limit = hop_limit.saturating_sub(hops);
        }
        match self.seed(now, node, packet) {
            Ok(()) if role.is_member => {
                count(&mut self.counters.delivered);
                Fate::Deliver(0)
            }
            Ok(()) => Fate::Keep,
            Err(fate) => fate,
        }
    }

    /// Puts a packet of this node into the mesh. `node` is its address. Returns the decision as an
    /// error if the packet is dropped for lack of room.
    pub fn seed(&mut self, now: Instant, node: &Addr, packet: &[u8]) -> Result<(), Fate> {
        let seed = SeedId::Short(self.id);
        let sequence = self.sequence;
        let outer = Ipv6Header {
            payload_len: packet.len().saturating_add(MplOption::LEN) as u16,
            next_header: next_header::HOP_BY_HOP,
            // The seed's own forwarding reduces the hop limit by one.
            hop_limit: HOP_LIMIT.saturating_add(1),
            src: *node,
            dst: ALL_FORWARDERS,
            ..Ipv6Header::default()
        };
        let option = MplOption::header(self.id, sequence, next_header::IPV6);
        let entry = self.note(now, seed, sequence)?;
        let parts: [&[u8]; 3] = [&outer.to_bytes(), &option, packet];
        self.keep(now, entry, sequence, &parts)?;
        self.sequence = sequence.wrapping_add(1);
        count(&mut self.counters.seeded);
        Ok(())
    }

    /// Records a message, and keeps `packet` to be sent; `None` if the message is not forwarded.
    fn accept(
        &mut self,
        now: Instant,
        seed: SeedId,
        sequence: u8,
        packet: Option<&[u8]>,
    ) -> Result<(), Fate> {
        let entry = self.note(now, seed, sequence)?;
        match packet {
            Some(packet) => self.keep(now, entry, sequence, &[packet]),
            None => {
                self.seeds.advance(entry, sequence.wrapping_add(1));
                Ok(())
            }
        }
    }

    /// Finds or creates the entry of a message's seed. Counts a duplicate message for Trickle.
    fn note(&mut self, now: Instant, seed: SeedId, sequence: u8) -> Result<usize, Fate> {
        let lifetime = self.params.seed_lifetime;
        match self.seeds.know(now, seed, sequence, lifetime) {
            Known::New(entry) if !self.messages.hear(entry, sequence) => Ok(entry),
            Known::New(_) | Known::Old => {
                count(&mut self.counters.duplicates);
                Err(Fate::Keep)
            }
            Known::NoRoom => {
                count(&mut self.counters.without_seed);
                Err(Fate::Drop(Dropped::NoRoom))
            }
        }
    }

    fn keep(
        &mut self,
        now: Instant,
        entry: usize,
        sequence: u8,
        parts: &[&[u8]],
    ) -> Result<(), Fate> {
        let fresh = Fresh { entry, sequence };
        let kept = self
            .messages
            .keep(now, fresh, parts, &self.params, &mut self.rng);
        if !kept {
            count(&mut self.counters.without_room);
            return Err(Fate::Drop(Dropped::NoRoom));
        }
        Ok(())
    }

    fn deliver(&self, group: &Addr, start: usize) -> Fate {
        match self.is_member(group) {
            true => Fate::Deliver(start),
            false => Fate::Drop(Dropped::NotMember),
        }
    }

    fn malformed(&mut self) -> Fate {
        count(&mut self.counters.malformed);
        Fate::Drop(Dropped::Malformed)
    }

    /// Returns the time at which [`Self::poll_packet`] has a packet.
    pub fn poll_at(&self) -> Option<Wake> {
        let due = self.messages.next()?;
        Some(Wake::exactly(due.max(self.not_before)))
    }

    /// Writes the next packet that is due to the start of `out`, and returns its length.
    pub fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        while let Some(place) = self.messages.due(now) {
            let (expiry, len) = self
                .messages
                .expire(place, &self.params, &mut self.rng, out)?;
            if let Some(ended) = expiry.ended {
                self.retire(ended);
            }
            match len {
                Some(len) => {
                    count(&mut self.counters.sent);
                    return Some(len);
                }
                None if expiry.is_suppressed => count(&mut self.counters.suppressed),
                None => {}
            }
        }
        None
    }

    /// Reports that the node has no room for a packet.
    pub fn on_no_room(&mut self, now: Instant) {
        self.not_before = now + LATER;
    }

    /// Frees the messages of a seed that are older than all messages still sent. Later messages
    /// stay, because their numbers identify duplicates.
    fn retire(&mut self, entry: usize) {
        let Some(mut first) = self.seeds.first(entry) else {
            return;
        };
        while let Some(sequence) = self.messages.take_ended(entry, first) {
            first = sequence.wrapping_add(1);
            self.seeds.advance(entry, first);
        }
    }
}

/// Returns the group and the offset of the packet inside a message, if that packet is complete and
/// its group reaches beyond the link.
fn enclosed(packet: &[u8]) -> Option<(Addr, usize)> {
    let hop_by_hop = redpoll_wire::ipv6::hop_by_hop_len(packet);
    let start = Ipv6Header::LEN.checked_add(hop_by_hop)?;
    if hop_by_hop == 0 || packet.get(Ipv6Header::LEN) != Some(&next_header::IPV6) {
        return None;
    }
    let (inner, payload) = Ipv6Header::parse(packet.get(start..)?).ok()?;
    let is_whole = usize::from(inner.payload_len) == payload.len();
    let group = inner.dst;
    let is_valid = is_whole && group.is_multicast() && !addr::is_link_scoped_multicast(&group);
    (is_valid && group != ALL_FORWARDERS).then_some((group, start))
}

fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
