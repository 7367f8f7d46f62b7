//! A border router that compensates for the small window of a node, as H.-S. Kim et al.
//! proposed in "A Measurement Study of TCP over RPL in Low-power and Lossy Networks" (Journal
//! of Communications and Networks 17(6), 2015): a layer above IP at the border router that
//! prevents the peer's TCP from cutting its data into small segments.
//!
//! A node that accepts one segment at a time announces a window of one segment. Its peer behind the
//! border router then delays each segment that does not fit, and finally cuts it; it also delays
//! the acknowledgment of a single segment. The border router changes this:
//!
//! - The peer sees a window as large as the room reserved for the connection. Its data waits there
//!   until the node accepts it, in pieces of the node's window.
//! - If all earlier data of the node are acknowledged, its next segment is forwarded in two halves,
//!   because a receiver acknowledges every second segment at once (RFC 5681 §4.2). The peer's
//!   answer to the first half is not forwarded.
//!
//! These rules keep the border router invisible to both ends:
//!
//! - The border router sends no acknowledgment of its own, and changes no acknowledgment number.
//! - It forwards bytes in order, as often as the peer transmits them. It forwards the peer's
//!   retransmissions whatever the window, because they may probe the window. If the node has
//!   already acknowledged the data, it forwards one byte, which requests the acknowledgment again.
//!   It drops data beyond a gap, because the node has no room for them.
//! - The stored bytes are the unacknowledged ones, at most the announced window. The border router
//!   drops them if other connections need the room, or if an end of the connection behaves
//!   unexpectedly. This is like a loss on a link: the peer retransmits them.
//! - Only data with a good checksum is cut or joined. A changed field updates the checksum (RFC
//!   1624).
//! - A closed window and its probes are forwarded unchanged.
//!
//! A connection is handled from its SYN on, if the mesh end's SYN has only the option of a segment
//! size, no ECN, and a window of at most that size. All others pass unchanged, and so do packets
//! with extension headers. There are no timers: a packet leaves only when another has arrived, so a
//! caller cannot miss a wake-up. If all slots are taken, a new connection replaces the one idle for
//! longest.
//!
//! ```
//! use redpoll_assist::spare::{FlowSlot, Memory, Side, Spare};
//! use redpoll_base::Instant;
//!
//! struct Heap;
//! impl redpoll_base::Memory for Heap {
//!     type Buffer = Box<[u8]>;
//!     type Table<T: 'static> = Box<[T]>;
//!     type Forwards = bool;
//! }
//! let memory = Memory::<Heap> {
//!     flows: vec![FlowSlot::EMPTY; 4].into(),
//!     bytes: vec![0; 4 * 160].into(),
//!     half: vec![0; 1_280].into(),
//! };
//! let mut spare = Spare::new(memory);
//! let mut packet = *b"no packet";
//! // Whatever is not TCP over IPv6 passes as it is.
//! assert_eq!(spare.input(Instant::ZERO, Side::Mesh, &mut packet), Some(9));
//! assert_eq!(spare.poll(&mut [0; 1_280]), None);
//! ```

mod flow;
mod packet;

use redpoll_base::{Instant, Memory as Kind};
use redpoll_wire::tcp::Flags;

use flow::DataPosition;
pub use flow::FlowSlot;
use packet::{ECN, PAYLOAD, PacketFields, ParsedPacket};

/// The memory of this layer, which determines how many connections and bytes it can handle.
#[derive(Debug)]
pub struct Memory<M: Kind> {
    /// A slot for each connection.
    pub flows: M::Table<FlowSlot>,
    /// The buffer for waiting data, divided equally among the slots.
    pub bytes: M::Buffer,
    /// The buffer for the second half of a segment, as long as the longest packet to halve.
    pub half: M::Buffer,
}

/// A side of the border router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The mesh.
    Mesh,
    /// The network outside the mesh, to which the border router connects it.
    Host,
}

/// Counters of all connections.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Connections handled.
    pub flows: u64,
    /// Connections replaced by others.
    pub evicted: u64,
    /// Connections no longer handled, because an end behaved unexpectedly.
    pub given_up: u64,
    /// Segments with data from the host.
    pub segments: u64,
    /// Pieces forwarded into the mesh.
    pub pieces: u64,
    /// Segments from the mesh forwarded in halves.
    pub halved: u64,
    /// Acknowledgments that cover only the first half of a segment, which were dropped.
    pub halfway: u64,
    /// Segments from the host that were dropped for a wrong checksum, or as data beyond a gap.
    pub dropped: u64,
}

/// See the [module](self).
pub struct Spare<M: Kind> {
    flows: M::Table<FlowSlot>,
    bytes: M::Buffer,
    half: M::Buffer,
    /// Length of the second half to forward, 0 if there is none.
    half_len: usize,
    due: Option<usize>,
    counters: Counters,
}

impl<M: Kind> Spare<M> {
    /// Returns the layer without connections.
    pub fn new(memory: Memory<M>) -> Self {
        Spare {
            flows: memory.flows,
            bytes: memory.bytes,
            half: memory.half,
            half_len: 0,
            due: None,
            counters: Counters::default(),
        }
    }

    /// Processes a packet that crosses the border from the side `from`. Returns how many of its
    /// first bytes, possibly changed, to forward; `None` to drop it. Then call [`Spare::poll`].
    /// Arbitrary bytes are safe.
    pub fn input(&mut self, now: Instant, from: Side, packet: &mut [u8]) -> Option<usize> {
        self.half_len = 0;
        self.due = None;
        let whole = Some(packet.len());
        let Some(read) = packet::read(packet) else {
            return whole;
        };
        let found = self.find(&read, from);
        let is_answer =
            from == Side::Host && read.flags.syn() && read.flags.ack() && !read.flags.rst();
        if is_answer && let Some(slot) = found.and_then(|flow| self.slot(flow)) {
            slot.on_answer(now, &read);
            return whole;
        }
        if read.has(Flags::SYN.with(Flags::RST)) {
            self.forget(found);
            if from == Side::Mesh && !read.flags.rst() {
                self.on_syn(now, &read, packet);
            }
            return whole;
        }
        let Some(flow) = found.filter(|_| read.flags.ack()) else {
            return whole;
        };
        if let Some(slot) = self.slot(flow) {
            slot.active_at = now;
        }
        self.due = found;
        match from {
            Side::Mesh => self.goes_up(flow, &read, packet),
            Side::Host => self.goes_down(flow, &read, packet),
        }
    }

    /// Writes the next additional packet to `out`, and returns its destination and length. Call it
    /// after each [`Spare::input`] until it returns `None`.
    pub fn poll(&mut self, out: &mut [u8]) -> Option<(Side, usize)> {
        if self.half_len > 0 {
            let half = self.half.as_ref().get(..self.half_len)?;
            let to = out.get_mut(..self.half_len)?;
            to.copy_from_slice(half);
            return Some((Side::Host, core::mem::take(&mut self.half_len)));
        }
        let flow = self.due?;
        let part = self.part(flow);
        let slot = self.flows.as_mut().get_mut(flow)?;
        let piece = slot.piece()?;
        let bytes = self.bytes.as_ref().get(part)?;
        let end = piece.at.checked_add(piece.len)?;
        let payload = bytes.get(piece.at as usize..end as usize)?;
        let mut flags = Flags::ACK;
        for (is_set, flag) in [(piece.push, Flags::PSH), (piece.fin, Flags::FIN)] {
            if is_set {
                flags = flags.with(flag);
            }
        }
        let made = PacketFields {
            class: slot.class,
            hop_limit: slot.hop_limit,
            from: slot.host,
            to: slot.mesh,
            seq: slot.una? + piece.at,
            ack: slot.host_ack?,
            flags,
            window: slot.host_window,
        };
        let len = made.write(out, payload)?;
        slot.on_passed(piece);
        count(&mut self.counters.pieces);
        Some((Side::Mesh, len))
    }

    /// Returns the counters, which begin at 0 with [`Spare::new`].
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the number of connections handled now.
    pub fn flows(&self) -> usize {
        let flows = self.flows.as_ref().iter();
        flows.filter(|slot| slot.is_used).count()
    }

    /// Returns the number of waiting bytes of all connections.
    pub fn waiting(&self) -> u64 {
        let flows = self.flows.as_ref().iter().filter(|slot| slot.is_used);
        flows
            .map(|slot| u64::from(slot.len.saturating_sub(slot.sent)))
            .sum()
    }

    fn room(&self) -> usize {
        let flows = self.flows.as_ref().len();
        let each = self.bytes.as_ref().len().checked_div(flows).unwrap_or(0);
        each.min(u16::MAX.into())
    }

    fn part(&self, flow: usize) -> core::ops::Range<usize> {
        let room = self.room();
        let at = flow.saturating_mul(room);
        at..at.saturating_add(room)
    }

    fn slot(&mut self, flow: usize) -> Option<&mut FlowSlot> {
        self.flows.as_mut().get_mut(flow)
    }

    fn slot_and_bytes(&mut self, flow: usize) -> Option<(&mut FlowSlot, &mut [u8])> {
        let part = self.part(flow);
        let slot = self.flows.as_mut().get_mut(flow)?;
        Some((slot, self.bytes.as_mut().get_mut(part)?))
    }

    fn find(&self, read: &ParsedPacket, from: Side) -> Option<usize> {
        let (mesh, host) = match from {
            Side::Mesh => (&read.from, &read.to),
            Side::Host => (&read.to, &read.from),
        };
        let mut flows = self.flows.as_ref().iter();
        flows.position(|slot| slot.is_used && slot.mesh == *mesh && slot.host == *host)
    }

    fn forget(&mut self, flow: Option<usize>) {
        if let Some(slot) = flow.and_then(|flow| self.slot(flow)) {
            *slot = FlowSlot::EMPTY;
        }
    }

    fn give_up(&mut self, flow: usize) {
        self.forget(Some(flow));
        self.due = None;
        count(&mut self.counters.given_up);
    }

    fn on_syn(&mut self, now: Instant, read: &ParsedPacket, packet: &mut [u8]) {
        let size = packet::offers_only_a_size(packet, read);
        let Some(size) = size.filter(|size| (1..=*size).contains(&read.window)) else {
            return;
        };
        let is_strange = read.has(Flags::FIN.with(Flags::URG).with(ECN)) || read.len > 0;
        if is_strange || self.room() < usize::from(read.window) {
            return;
        }
        let idle = |(_, slot): &(usize, &FlowSlot)| (slot.is_used, slot.active_at);
        let flows = self.flows.as_ref().iter().enumerate();
        let Some((flow, taken)) = flows.min_by_key(idle) else {
            return;
        };
        if taken.is_used {
            count(&mut self.counters.evicted);
        }
        count(&mut self.counters.flows);
        let room = self.room() as u16;
        if let Some((slot, bytes)) = self.slot_and_bytes(flow) {
            *slot = FlowSlot::new(read, size);
            slot.active_at = now;
            if read.flags.ack() {
                slot.on_ack(read.ack, read.window, bytes);
            }
        }
        packet::set_window(packet, room.max(read.window));
    }

    fn goes_up(&mut self, flow: usize, read: &ParsedPacket, packet: &mut [u8]) -> Option<usize> {
        let whole = Some(packet.len());
        if !read.is_plain() || read.has(Flags::URG) {
            self.give_up(flow);
            return whole;
        }
        let room = self.room() as u16;
        if let Some((slot, bytes)) = self.slot_and_bytes(flow) {
            slot.on_ack(read.ack, read.window, bytes);
        }
        if read.window > 0 {
            packet::set_window(packet, room.max(read.window));
        }
        if read.len == 0 {
            return whole;
        }
        // If the segment ends at the previous split, the node needs the acknowledgment of that
        // position. With `split` set, the border router would drop this acknowledgment.
        let slot = self.slot(flow)?;
        slot.split = None;
        let is_alone = slot.host_ack == Some(read.seq);
        if read.len < 2 || read.flags.fin() || !is_alone {
            return whole;
        }
        self.halve(flow, read, packet).or(whole)
    }

    /// Cuts a segment into halves: the first stays in place, and the second goes to `half`.
    fn halve(&mut self, flow: usize, read: &ParsedPacket, packet: &mut [u8]) -> Option<usize> {
        if !packet::is_intact(packet) {
            return None;
        }
        let first = read.len.div_ceil(2);
        let middle = PAYLOAD.checked_add(first)?;
        let second = read.len.checked_sub(first)?;
        let (headers, rest) = (packet.get(..PAYLOAD)?, packet.get(middle..)?);
        let half = self.half.as_mut();
        half.get_mut(..PAYLOAD)?.copy_from_slice(headers);
        let end = PAYLOAD.checked_add(second)?;
        half.get_mut(PAYLOAD..end)?.copy_from_slice(rest);
        let seq = read.seq + first as u32;
        let len = packet::reseal(half, seq, read.flags, second)?;
        let kept = packet::reseal(packet, read.seq, read.flags.without(Flags::PSH), first)?;
        self.half_len = len;
        self.slot(flow)?.split = Some(seq);
        count(&mut self.counters.halved);
        Some(kept)
    }

    fn goes_down(&mut self, flow: usize, read: &ParsedPacket, packet: &mut [u8]) -> Option<usize> {
        let whole = Some(packet.len());
        if !read.is_plain() || read.has(Flags::URG) {
            self.give_up(flow);
            return whole;
        }
        let carries = read.len > 0 || read.flags.fin();
        if carries && !packet::is_intact(packet) {
            count(&mut self.counters.dropped);
            return None;
        }
        let (slot, bytes) = self.slot_and_bytes(flow)?;
        if let (Some(class), Some(hop_limit)) = (packet.first_chunk(), packet.get(7)) {
            (slot.class, slot.hop_limit) = (*class, *hop_limit);
        }
        let news = slot.host_ack != Some(read.ack) || slot.host_window != read.window;
        (slot.host_ack, slot.host_window) = (Some(read.ack), read.window);
        let is_halfway = slot.split == Some(read.ack);
        if !is_halfway {
            slot.split = slot.split.filter(|_| !news);
        }
        if !carries {
            if is_halfway {
                count(&mut self.counters.halfway);
                return None;
            }
            if let Some((una, next)) = slot.una.zip(slot.next()) {
                // Changes a SEQ outside the range that the node expects to the nearest end of this
                // range, which is from `una - 1` (as in a probe) to `next`.
                let before = una - 1;
                if read.seq > next {
                    packet::set_seq(packet, next);
                } else if before > read.seq {
                    packet::set_seq(packet, before);
                }
            }
            return whole;
        }
        let payload = packet.get(read.payload_at..)?;
        let kept = slot.on_data(read, payload, bytes);
        let is_idle = slot.piece().is_none();
        let (next, before) = (slot.next(), slot.una.zip(slot.before));
        count(&mut self.counters.segments);
        match (kept, before) {
            (DataPosition::Unknown, _) | (DataPosition::Old, None) => whole,
            // The peer has missed the acknowledgment, so one byte is forwarded, which requests the
            // acknowledgment. The whole data would be far outside the node's window, which some
            // stacks treat as an attack.
            (DataPosition::Old, Some((una, byte))) => {
                *packet.get_mut(PAYLOAD)? = byte;
                packet::reseal(packet, una - 1, Flags::ACK, 1)
            }
            (DataPosition::Gap, _) => {
                count(&mut self.counters.dropped);
                None
            }
            // Storing the data must not delay the acknowledgment that its segment carries.
            (DataPosition::Stays, _) if is_idle && news => {
                packet::reseal(packet, next?, Flags::ACK, 0)
            }
            (DataPosition::Stays, _) => None,
        }
    }
}

fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

impl<M: Kind> core::fmt::Debug for Spare<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Spare")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
