//! The adaptation layer as one type, which calls the mechanisms in its submodules in sequence.

mod forwarding;
mod fragments;
mod held;
mod order;
mod pause;
mod recoverable_in;
mod recoverable_out;
mod sending;
mod sleepy;
mod tables;

pub use fragments::Fragments;
pub use tables::LowpanTables;

use redpoll_base::{Duration, Instant, Memory, Wake, earliest};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::{Contexts, Dispatch, dispatch};

use crate::counters::count;
use crate::event::LowpanEvent;
use crate::forwarding::{Forwarding, Passing};
use crate::indirect::IndirectQueue;
use crate::pool::{Pool, State};
use crate::queue::Queue;
use crate::reassembly::Reassembly;
use crate::receive::{self, Arrival, HeaderScratch, Piece};
use crate::recovery::{Recovering, Recovery};
use crate::red::Red;
use crate::transmit::{InService, Origin};
use crate::{
    DropReason, LowpanConfig, LowpanCounters, LowpanMemory, Occupancy, Onward, PulledDatagram,
    SlotId,
};

/// 6LoWPAN on one interface; see the [crate's documentation](crate).
///
/// This example sends a packet of 300 bytes from one node to its neighbour:
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
///     type Forwards = bool;
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
/// let slot = a.allocate(300).expect("a slot is free");
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
/// let slot = arrived.expect("the whole packet has arrived");
/// assert_eq!(b.packet(slot).len(), 300);
/// b.release(slot);
/// ```
pub struct Lowpan<M: Memory> {
    contexts: Contexts,
    pool: Pool<M>,
    reassembly: Reassembly,
    receive_reserve: usize,

    queue: Queue,
    pulled: Option<PulledDatagram>,
    in_service: Option<InService>,
    suspended: Option<InService>,
    indirect: IndirectQueue,
    forwarding: Passing<M>,
    recovery: Recovering<M>,
    /// Whether a first fragment was forwarded since the last turn of this node's own datagrams.
    has_forwarded: bool,
    /// Forwarded fragments that may leave before the next datagram of this node.
    fragment_credit: u8,
    /// Whether the last turn of this node's own datagrams went to a train of recoverable fragments,
    /// that is, to fragments up to one that requests an acknowledgment.
    train_left: bool,
    drop_rest: bool,
    fragment_pending: bool,
    segment_pending: bool,
    fragment_gap: Duration,
    /// Earliest time of the next fragment of the datagram being sent.
    gap_until: Instant,
    pause: Duration,
    paused_until: Option<Instant>,
    red: Option<Red>,
    frame_out: bool,
    turn: Turn,
    next_tag: u16,

    segment_event: Option<LowpanEvent>,
    /// Number of slots whose datagram has ended and whose event the caller has not polled yet.
    ended: u8,
    datagram_event: Option<LowpanEvent>,
    counters: LowpanCounters,
    occupancy: Occupancy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Own,
    Queued,
}

impl<M: Memory> Lowpan<M> {
    /// Returns an idle instance without contexts.
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
            forwarding: Passing::none(),
            recovery: Recovering::none(),
            has_forwarded: false,
            fragment_credit: forwarding::TURN,
            train_left: false,
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

    /// Returns the contexts for header compression in both directions.
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Returns the contexts, to change them. A change applies from the next datagram on.
    pub fn contexts_mut(&mut self) -> &mut Contexts {
        &mut self.contexts
    }

    // --- from the radio ---

    /// Handles the payload of a received frame; `src` and `dst` are the frame's link addresses.
    ///
    /// Returns the slot of a complete, uncompressed IPv6 packet with a correct payload length. The
    /// caller then [releases](Self::release) or [queues](Self::queue) it. Checksums and addresses
    /// are not checked here.
    ///
    /// # Errors
    /// The reason why the frame or its datagram was dropped. All drops are counted.
    pub fn input(
        &mut self,
        now: Instant,
        src: Address,
        dst: Address,
        payload: &[u8],
    ) -> Result<Option<SlotId>, DropReason> {
        self.input_routed(now, src, dst, payload, |_| None)
    }

    /// As [`input`](Self::input), but forwards fragments as they arrive if there is
    /// [memory](Self::forward_fragments) for it. `route` receives the IPv6 header of a first
    /// fragment. It returns the next hop, or `None` if this node must reassemble the datagram.
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
                self.on_recoverable(now, src, dst, payload, &mut scratch, route)
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

    // --- events, time and counters ---

    /// Returns the next event and removes it.
    pub fn poll_event(&mut self) -> Option<LowpanEvent> {
        self.segment_event
            .take()
            .or_else(|| self.datagram_event.take())
            .or_else(|| self.ended_segment())
            .or_else(|| self.ended_slot())
    }

    /// Returns when to call [`Lowpan::on_timeout`].
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

    /// Gives up all datagrams whose time limits have expired, and ends waits for acknowledgments.
    pub fn on_timeout(&mut self, now: Instant) {
        self.reassembly
            .on_timeout(now, &mut self.pool, &mut self.counters);
        self.expire_forwarded(now);
        self.expire_recoverable(now);
        while self.expire_indirect(now).is_some() {}
        self.end_pause(now);
    }

    /// Returns the totals since the start.
    pub fn counters(&self) -> &LowpanCounters {
        &self.counters
    }

    /// Returns the present, greatest and average number of datagrams that wait for the radio or are
    /// being sent: queued, pulled, forwarded and recoverable ones. All are 0 if
    /// [`Memory::ROUTES`] is false.
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    fn note_occupancy(&mut self, now: Instant) {
        if !M::ROUTES {
            return;
        }
        // `leaving` excludes datagrams for sleepy nodes: they stay in `indirect` while they are
        // sent, and are counted there.
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
