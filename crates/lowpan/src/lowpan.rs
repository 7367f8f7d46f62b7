//! The adaptation layer as one object. It sequences; the mechanisms are in the
//! modules beside it.

mod forwarding;
mod fragments;
mod order;
mod pause;
mod recoverable_in;
mod recoverable_out;
mod sleepy;
mod tables;

pub use fragments::Fragments;
pub use tables::LowpanTables;

use core::ops::Range;

use redpoll_base::{Duration, Instant, Memory, Wake, earliest};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::{Contexts, Dispatch, dispatch};

use crate::counters::count;
use crate::event::{FrameOut, FrameRoom, LossReason, LowpanEvent};
use crate::forwarding::{Forwarding, Passing, SLACK};
use crate::indirect::IndirectQueue;
use crate::pool::{Pool, State};
use crate::queue::Queue;
use crate::reassembly::Reassembly;
use crate::receive::{self, Arrival, HeaderScratch, Piece};
use crate::recovery::{Recovering, Recovery};
use crate::red::Red;
use crate::transmit::{InService, Origin, Sending};
use crate::{
    DropReason, LowpanConfig, LowpanCounters, LowpanMemory, Occupancy, Onward, PayloadSource,
    PulledDatagram, SlotId,
};

/// 6LoWPAN on one interface; see the [crate's documentation](crate).
///
/// A packet of 300 bytes from one node to its neighbour:
///
/// ```
/// use redpoll_base::{Addr, Instant, Memory};
/// use redpoll_lowpan::{Gone, Lowpan, LowpanConfig, LowpanMemory, PayloadSource, Slot};
/// use redpoll_wire::{ieee802154::Address, ipv6::Ipv6Header};
///
/// enum Heap {}
/// impl Memory for Heap {
///     type Buffer = Box<[u8]>;
///     type Table<T: 'static> = Box<[T]>;
/// }
/// struct NoTransport;
/// impl PayloadSource for NoTransport {
///     fn read(&mut self, _: u32, _: usize, _: &mut [u8]) -> Result<usize, Gone> {
///         Err(Gone)
///     }
/// }
/// let node = || {
///     let (slots, bytes) = (vec![Slot::EMPTY; 4], vec![0; 4 * 1280]);
///     let memory = LowpanMemory { slots: slots.into(), bytes: bytes.into() };
///     Lowpan::<Heap>::new(LowpanConfig::default(), memory)
/// };
/// let (mut a, mut b) = (node(), node());
/// let (a_addr, b_addr) = (Address::Short(1), Address::Short(2));
/// let now = Instant::ZERO;
///
/// let slot = a.allocate(300).expect("a free slot");
/// let header = Ipv6Header { payload_len: 260, next_header: 59, ..Default::default() };
/// a.packet_mut(slot)[..40].copy_from_slice(&header.to_bytes());
/// a.queue(now, slot, b_addr);
///
/// let mut frame = [0; 116];
/// let mut arrived = None;
/// while let Some(out) = a.next_frame(now, a_addr, 116, &mut frame, &mut NoTransport) {
///     // Here the radio sends `frame[..out.len]` to `out.dst`.
///     arrived = b.input(now, a_addr, b_addr, &frame[..out.len]).unwrap();
///     a.on_frame_done(now, true);
/// }
/// let slot = arrived.expect("a whole packet");
/// assert_eq!(b.packet(slot).len(), 300);
/// b.release(slot);
/// ```
pub struct Lowpan<M: Memory> {
    contexts: Contexts,
    pool: Pool<M>,
    reassembly: Reassembly,
    receive_reserve: usize,

    queue: Queue,
    /// The node's own datagram, waiting or in service.
    pulled: Option<PulledDatagram>,
    in_service: Option<InService>,
    /// It has made way for a sleepy node's, between two frames.
    suspended: Option<InService>,
    indirect: IndirectQueue,
    forwarding: Passing<M>,
    recovery: Recovering<M>,
    /// The datagram begun last was a forwarded one.
    has_forwarded: bool,
    drop_rest: bool,
    fragment_pending: bool,
    segment_pending: bool,
    fragment_gap: Duration,
    /// The next fragment of the datagram in service waits until then.
    gap_until: Instant,
    pause: Duration,
    /// No datagram begins before.
    paused_until: Option<Instant>,
    red: Option<Red>,
    /// A frame is with the MAC.
    frame_out: bool,
    turn: Turn,
    next_tag: u16,

    segment_event: Option<LowpanEvent>,
    /// Slots whose end has not been told yet.
    ended: u8,
    datagram_event: Option<LowpanEvent>,
    counters: LowpanCounters,
    occupancy: Occupancy,
}

/// Whose datagram goes next if both sides have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Own,
    Queued,
}

impl<M: Memory> Lowpan<M> {
    /// An idle instance without contexts.
    pub fn new(config: LowpanConfig, memory: LowpanMemory<M>) -> Self {
        Lowpan {
            contexts: Contexts::new(),
            pool: Pool::new(memory),
            reassembly: Reassembly::new(&config),
            receive_reserve: usize::from(config.receive_reserve),
            queue: Queue::default(),
            pulled: None,
            in_service: None,
            suspended: None,
            indirect: IndirectQueue::new(&config),
            forwarding: Passing::NONE,
            recovery: Recovering::NONE,
            has_forwarded: false,
            drop_rest: config.drop_rest,
            fragment_pending: config.fragment_pending,
            segment_pending: config.segment_pending,
            fragment_gap: config.fragment_gap,
            gap_until: Instant::ZERO,
            pause: config.pause,
            paused_until: None,
            red: match config.red {
                Some(red) if M::ROUTES => Some(Red::new(red, config.red_seed)),
                _ => None,
            },
            frame_out: false,
            turn: Turn::Own,
            next_tag: config.first_tag,
            segment_event: None,
            ended: 0,
            datagram_event: None,
            counters: LowpanCounters::default(),
            occupancy: Occupancy::default(),
        }
    }

    /// The contexts for header compression in both directions.
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// The contexts, to set them. A change counts from the next datagram on.
    pub fn contexts_mut(&mut self) -> &mut Contexts {
        &mut self.contexts
    }

    // --- from the radio ---

    /// Takes in the payload of a received frame; `src` and `dst` are the
    /// frame's link addresses.
    ///
    /// `Some(slot)`: a complete, uncompressed IPv6 packet whose payload length
    /// is right lies in the slot. The caller then [releases](Self::release) or
    /// [queues](Self::queue) it. Checksums and addresses are not checked here.
    ///
    /// # Errors
    /// Why the frame, or the datagram it belongs to, was dropped. All is
    /// counted.
    pub fn input(
        &mut self,
        now: Instant,
        src: Address,
        dst: Address,
        payload: &[u8],
    ) -> Result<Option<SlotId>, DropReason> {
        self.input_routed(now, src, dst, payload, |_| None)
    }

    /// As [`input`](Self::input), and a datagram's fragments are forwarded as they come if
    /// there is [memory](Self::forward_fragments) for it. `route` is asked about
    /// the header of a first fragment. It says where it goes on to if the
    /// datagram may go there as it is, and `None` for one that this node wants
    /// to see whole.
    ///
    /// # Errors
    /// As [`Self::input`].
    pub fn input_routed(
        &mut self,
        now: Instant,
        src: Address,
        dst: Address,
        payload: &[u8],
        route: impl FnOnce(&Ipv6Header) -> Option<Onward>,
    ) -> Result<Option<SlotId>, DropReason> {
        count(&mut self.counters.frames_received);
        self.on_timeout(now);
        let mut scratch: HeaderScratch = [0; 192];
        let outcome = match dispatch(payload) {
            Dispatch::Recoverable | Dispatch::RecoverableAck => {
                self.on_recoverable(now, (src, dst), payload, &mut scratch, route)
            }
            _ => receive::parse(payload, src, dst, &self.contexts, &mut scratch).and_then(
                |arrival| match arrival {
                    Arrival::Whole(packet) => self.on_whole(now, src, &packet).map(Some),
                    Arrival::Fragment(key, piece) => {
                        if self.forward(now, key, &piece, route)? {
                            return Ok(None);
                        }
                        if piece.offset == 0 {
                            self.evict_recovering(now, false);
                        }
                        let (pool, counters) = (&mut self.pool, &mut self.counters);
                        let reassembly = &mut self.reassembly;
                        reassembly.on_fragment(now, pool, counters, key, &piece)
                    }
                },
            ),
        };
        match outcome {
            Ok(Some(_)) => count(&mut self.counters.packets_received),
            Ok(None) => {}
            Err(reason) => self.counters.dropped(reason),
        }
        self.note_slots();
        if self.forwarding.get().is_some() {
            self.note_occupancy(now);
        }
        outcome
    }

    fn on_whole(
        &mut self,
        now: Instant,
        src: Address,
        packet: &Piece<'_>,
    ) -> Result<SlotId, DropReason> {
        self.evict_recovering(now, false);
        let id = self.reassembly.slot_for(
            now,
            &mut self.pool,
            &mut self.counters,
            src,
            packet.len(),
            State::Held,
        )?;
        packet.write(self.pool.packet_mut(id));
        Ok(id)
    }

    // --- slots in the caller's hands ---

    /// The packet in a slot that the caller holds; empty for any other.
    pub fn packet(&self, slot: SlotId) -> &[u8] {
        if self.is_held(slot) {
            self.pool.packet(slot)
        } else {
            &[]
        }
    }

    /// The packet in a slot that the caller holds, to write or edit.
    pub fn packet_mut(&mut self, slot: SlotId) -> &mut [u8] {
        if self.is_held(slot) {
            self.pool.packet_mut(slot)
        } else {
            &mut []
        }
    }

    /// Changes the length of the packet in a held slot, at most to the slot
    /// size; bytes that come in are whatever lay there before. So an answer
    /// can be written over the packet that it answers.
    pub fn resize(&mut self, slot: SlotId, len: usize) {
        if self.is_held(slot) {
            let len = len.min(self.pool.slot_size());
            if let Some(slot) = self.pool.slot_mut(slot) {
                slot.len = len as u16;
            }
        }
    }

    /// Copies what there is of the bytes `from` of the packet in one held slot to where
    /// the packet in another has them at `to`, as far as both go.
    pub fn copy_part(&mut self, source: SlotId, from: Range<usize>, target: SlotId, to: usize) {
        if self.is_held(source) && self.is_held(target) {
            self.pool.copy_part(source, from, target, to);
        }
    }

    /// Who sent the packet over the link; `None` for one made here.
    pub fn link_source(&self, slot: SlotId) -> Option<Address> {
        self.pool.slot(slot).and_then(|slot| slot.link_src)
    }

    /// Takes a slot for a packet of `len` bytes that the caller is going to
    /// write. `None` when `len` exceeds the slot size, or when only the slots
    /// of [`LowpanConfig::receive_reserve`] are left.
    pub fn allocate(&mut self, len: usize) -> Option<SlotId> {
        if !self.has_room() {
            return None;
        }
        let slot = self.pool.take(len, State::Held);
        self.note_slots();
        slot
    }

    /// Whether more slots are free than those of [`LowpanConfig::receive_reserve`].
    pub fn has_room(&self) -> bool {
        let reserve = self
            .receive_reserve
            .min(self.pool.count().saturating_sub(1));
        self.pool.free() > reserve
    }

    /// Whether more than half of the slots are free: room for somebody who can wait.
    pub fn has_half(&self) -> bool {
        self.pool.free() > self.pool.count() / 2
    }

    /// Gives a slot back that the caller holds.
    #[inline(never)] // size
    pub fn release(&mut self, slot: SlotId) {
        if self.is_held(slot) {
            self.pool.free_slot(slot);
        }
    }

    /// Hands a held slot to transmission, behind those queued before. From then
    /// on it is no longer the caller's; it becomes free when its last frame has
    /// ended. `next_hop` is the link destination of its frames.
    pub fn queue(&mut self, now: Instant, slot: SlotId, next_hop: Address) {
        if !self.is_held(slot) {
            return;
        }
        if let Some(entry) = self.pool.slot_mut(slot) {
            entry.state = State::Queued { next_hop };
            self.queue.push(&mut self.pool, slot);
            self.note_red();
        }
        self.note_occupancy(now);
    }

    /// Whether datagrams for so many neighbours wait or are leaving, none of them for
    /// `neighbour`: a limit that some MACs have.
    pub fn is_full_of_others(&self, neighbour: Address, limit: usize) -> bool {
        let hops = || {
            self.pool.iter().filter_map(|(_, slot)| match slot.state {
                State::Queued { next_hop } => Some(next_hop),
                _ => None,
            })
        };
        let is_first = |(index, hop): &(usize, Address)| {
            let mut earlier = hops().take(*index);
            !earlier.any(|other| other == *hop)
        };
        !hops().any(|hop| hop == neighbour) && hops().enumerate().filter(is_first).count() >= limit
    }

    fn is_held(&self, slot: SlotId) -> bool {
        let slot = self.pool.slot(slot);
        slot.is_some_and(|slot| matches!(slot.state, State::Held))
    }

    // --- towards the radio ---

    /// Whether a datagram of the node's own transport could start now.
    ///
    /// It is true only while nothing is in service, no pulled datagram waits,
    /// its last event has been polled, and it is the transport's turn: after
    /// each pulled datagram a queued one goes first, if there is any. So ask
    /// whenever the MAC is idle, before [`Lowpan::next_frame`].
    pub fn wants_segment(&self) -> bool {
        self.takes_segment()
            && !self.is_mid_datagram()
            && !self.fragment_goes_first()
            && !self.recovery_goes_first()
            && self.paused_until.is_none()
            && (self.turn == Turn::Own || self.queue.is_empty())
    }

    /// Hands over a datagram of the node's own transport.
    ///
    /// Exactly one of [`LowpanEvent::SegmentSent`] and
    /// [`LowpanEvent::SegmentLost`] follows. `false`
    /// means that it was refused, without an event, because another one has not
    /// ended yet; that cannot happen after [`Lowpan::wants_segment`] said yes.
    pub fn start_segment(&mut self, now: Instant, datagram: PulledDatagram) -> bool {
        if !self.takes_segment() {
            return false;
        }
        self.pulled = Some(datagram);
        self.note_occupancy(now);
        true
    }

    fn takes_segment(&self) -> bool {
        self.pulled.is_none() && self.segment_event.is_none()
    }

    /// Whether [`Lowpan::next_frame`] has something to build, sleepy nodes not
    /// counted.
    pub fn has_frame(&self) -> bool {
        let forwarding = self.forwarding.get();
        let something = self.is_mid_datagram()
            || self.pulled.is_some()
            || !self.queue.is_empty()
            || self.recovery_goes_first()
            || forwarding.is_some_and(|forwarding| forwarding.waiting().is_some());
        !self.frame_out && something
    }

    /// Whether some frames of a datagram have left and others have not.
    pub fn is_mid_datagram(&self) -> bool {
        self.in_service.is_some() || M::ROUTES && self.suspended.is_some()
    }

    /// Builds the next frame's MAC payload into `out`, at most `capacity` bytes of it,
    /// whatever its destination; else as [`Lowpan::build_frame`].
    pub fn next_frame<S: PayloadSource>(
        &mut self,
        now: Instant,
        link_src: Address,
        capacity: usize,
        out: &mut [u8],
        source: &mut S,
    ) -> Option<FrameOut> {
        let end = capacity.min(out.len());
        self.build_frame(now, link_src, &mut out.get_mut(..end)?, source)
    }

    /// Builds the next frame's MAC payload in the room that `rooms` has for a frame to
    /// its destination. `link_src` is the source address that the frame will carry.
    ///
    /// `None` when there is nothing to send or a frame has not ended yet. A
    /// datagram that cannot be sent is dropped, with its event, and the next
    /// one tried.
    pub fn build_frame<R: FrameRoom, S: PayloadSource>(
        &mut self,
        now: Instant,
        link_src: Address,
        rooms: &mut R,
        source: &mut S,
    ) -> Option<FrameOut> {
        if self.frame_out {
            return None;
        }
        loop {
            let mut datagram = self.turn(now)?;
            let Some(out) = rooms.room(datagram.next_hop) else {
                self.in_service = Some(datagram);
                self.end_service(now, Err(LossReason::Unsendable));
                continue;
            };
            self.make_recoverable(&mut datagram, link_src, out.len());
            let repeats = datagram.repeats;
            let built = self.build(&mut datagram, link_src, source, out);
            self.in_service = Some(datagram);
            match built {
                Ok(len) => {
                    self.frame_out = true;
                    count(&mut self.counters.frames_sent);
                    return Some(FrameOut {
                        dst: datagram.next_hop,
                        len,
                        more: self.has_more(&datagram),
                        indirect: datagram.indirect,
                        repeats,
                    });
                }
                Err(reason) => self.end_service(now, Err(reason)),
            }
        }
    }

    fn build<S: PayloadSource>(
        &mut self,
        datagram: &mut InService,
        link_src: Address,
        source: &mut S,
        out: &mut [u8],
    ) -> Result<usize, LossReason> {
        if let Origin::Recoverable(index, _) = datagram.origin {
            return self.build_recoverable(datagram, index, link_src, source, out);
        }
        let ack = self.recovery.get().and_then(Recovery::leaving_ack);
        let ack = ack.map(|ack| ack.to_bytes());
        let forwarded = match (datagram.origin, &ack) {
            (Origin::Acknowledgment(_), Some(ack)) => ack,
            _ => self.forwarding.get().map_or(&[][..], Forwarding::bytes),
        };
        let sending = Sending {
            pool: &self.pool,
            pulled: self.pulled.as_ref(),
            contexts: &self.contexts,
            link_src,
            forwarded,
            slack: self.forwarding.get().map_or(0, |_| SLACK),
        };
        datagram.build(&sending, source, &mut self.next_tag, out)
    }

    /// Says how the frame built last has ended. When it was not delivered, the
    /// rest of its datagram is dropped
    /// ([`drop_rest`](crate::LowpanConfig::drop_rest)): link retries are
    /// exhausted.
    pub fn on_frame_done(&mut self, now: Instant, delivered: bool) {
        if !core::mem::take(&mut self.frame_out) {
            return;
        }
        let Some(datagram) = &mut self.in_service else {
            return;
        };
        datagram.repeats = None;
        if let Origin::Recoverable(index, _) = datagram.origin {
            return self.on_recoverable_done(now, index, delivered);
        }
        datagram.broken |= !delivered;
        let datagram = *datagram;
        if M::ROUTES && delivered && datagram.indirect {
            self.on_indirect_delivered(now, &datagram);
        }
        let gives_up = datagram.broken && (self.drop_rest || datagram.is_covered());
        if gives_up {
            self.end_service(now, Err(LossReason::LinkFailure));
        } else if datagram.is_covered() {
            self.end_service(now, Ok(()));
        } else if self.forwarding.get().is_some() && !datagram.indirect {
            self.gap_until = now + self.fragment_gap;
        }
    }

    /// The datagram in service has left, or never will.
    fn end_service(&mut self, now: Instant, outcome: Result<(), LossReason>) {
        let Some(datagram) = self.in_service.take() else {
            return;
        };
        if let (Origin::Recoverable(index, _), Err(reason)) = (datagram.origin, outcome) {
            return self.on_recoverable_unbuilt(now, index, reason);
        }
        if let Err(reason) = outcome {
            self.counters.lost(reason);
        } else {
            self.pause_after(now, &datagram);
        }
        match datagram.origin {
            Origin::Slot(id) => {
                let mut handle = None;
                if M::ROUTES && datagram.indirect {
                    (_, handle) = self.indirect_of(id);
                    self.indirect.remove(&mut self.pool, id);
                }
                self.end_slot(id, (datagram.next_hop, handle), outcome);
            }
            Origin::Forwarded(_) => self.end_fragment(now, &datagram, outcome),
            Origin::Recoverable(..) => {}
            Origin::Acknowledgment(_) => {
                if let Some(recovery) = self.recovery.get_mut() {
                    recovery.on_ack_done(outcome.is_ok());
                }
            }
            Origin::Pulled => {
                let handle = self.pulled.take().map_or(0, |pulled| pulled.handle);
                self.segment_event = Some(match outcome {
                    Ok(()) => {
                        count(&mut self.counters.segments_sent);
                        LowpanEvent::SegmentSent { handle }
                    }
                    Err(reason) => LowpanEvent::SegmentLost { handle, reason },
                });
            }
        }
        self.note_occupancy(now);
    }

    // --- the usual rest ---

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<LowpanEvent> {
        self.segment_event
            .take()
            .or_else(|| self.datagram_event.take())
            .or_else(|| self.ended_segment())
            .or_else(|| self.ended_slot())
    }

    /// When [`Lowpan::on_timeout`] wants to be called.
    pub fn poll_at(&self) -> Option<Wake> {
        let indirect = match M::ROUTES {
            true => self.indirect.poll_at(&self.pool, self.slot_in_service()),
            false => None,
        };
        let forwarding = self.forwarding.get().and_then(Forwarding::poll_at);
        let reassembly = self.reassembly.poll_at(&self.pool);
        let recovery = self.recovery.get().and_then(Recovery::poll_at);
        let passing = earliest(forwarding, recovery);
        let fragments = earliest(earliest(reassembly, passing), self.gap_end());
        earliest(fragments, earliest(indirect, self.pause_ends()))
    }

    /// Gives up reassemblies that have waited too long.
    pub fn on_timeout(&mut self, now: Instant) {
        self.reassembly
            .on_timeout(now, &mut self.pool, &mut self.counters);
        self.expire_forwarded(now);
        self.expire_recoverable(now);
        self.expire_indirect(now);
        self.end_pause(now);
    }

    /// Totals since the start.
    pub fn counters(&self) -> &LowpanCounters {
        &self.counters
    }

    /// How long the queue towards the radio has been: queued datagrams, the
    /// one in service, and a pulled one. Always 0 with memory that no router
    /// can have ([`Memory::ROUTES`]).
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// Slots that are not used for anything.
    pub fn free_slots(&self) -> usize {
        self.pool.free()
    }

    /// Bytes of a slot: the longest packet that can be received or queued.
    pub fn slot_size(&self) -> usize {
        self.pool.slot_size()
    }

    fn note_slots(&mut self) {
        let taken = self.pool.count().saturating_sub(self.pool.free());
        let taken = u8::try_from(taken).unwrap_or(u8::MAX);
        self.counters.peak_slots = self.counters.peak_slots.max(taken);
    }

    fn note_occupancy(&mut self, now: Instant) {
        if !M::ROUTES {
            return;
        }
        // Those for sleepy nodes stay in their queue while they are in service.
        let slots = [&self.in_service, &self.suspended].into_iter().flatten();
        let leaving = slots
            .filter(|datagram| matches!(datagram.origin, Origin::Slot(_)) && !datagram.indirect);
        let forwarded = self.forwarding.get().map_or(0, Forwarding::datagrams);
        let recoverable = self.recovery.get().map_or(0, Recovery::datagrams);
        let current = self
            .queue
            .len()
            .saturating_add(self.indirect.len())
            .saturating_add(leaving.count() as u8)
            .saturating_add(forwarded as u8)
            .saturating_add(recoverable as u8)
            .saturating_add(u8::from(self.pulled.is_some()));
        self.occupancy.change(now, current);
    }
}
