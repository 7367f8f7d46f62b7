//! The link, the first of a node's three parts (link, IPv6 layer, transports). It contains the MAC,
//! 6LoWPAN, the sleeping neighbours, and the node's own sleep.
//!
//! Frames and radio results go in and whole packets come out. [`LinkEvent`]s report the outcome of
//! segments and the quality of links. The link owns the link-layer security (IEEE 802.15.4-2015
//! §9): it protects each frame that it submits to the MAC, and removes the protection of received
//! frames. The MAC acknowledges a frame whether or not it is authentic.
//!
//! - `children.rs`: the sleeping neighbours;
//! - `unverified.rs`: neighbours that may not exist;
//! - `security.rs`: link-layer security;
//! - `sleep.rs`: the node's own sleep, with `poll.rs` (when it polls) and `silence.rs` (which
//!   packets it must not miss).

mod children;
mod poll;
#[cfg_attr(not(feature = "security"), path = "security/absent.rs")]
mod security;
mod silence;
mod sleep;
mod unverified;

use redpoll_base::{Instant, Memory, Rng, Wake, earliest};
use redpoll_lowpan::{
    FrameRoom, LossReason, Lowpan, LowpanConfig, LowpanEvent, LowpanMemory, Note, Onward,
    PayloadSource, SlotId,
};
use redpoll_mac::{
    Access, Mac, MacConfig, MacEvent, RadioResult, RadioWork, RxInfo, Service, Ticket, TxStatus,
};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::Contexts;

use crate::SleepyConfig;
use crate::counters::DropReason;
use crate::packet::{Origin, Packet, is_unicast};
use children::Children;
pub(crate) use children::Tenure;
pub use poll::{PollConfig, PollPolicy};
pub(crate) use security::SEALS;
use security::{Clear, Guard};
pub(crate) use sleep::Expected;
use sleep::Sleepy;
use unverified::Unverified;

#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(crate) struct Link<M: Memory + 'static, A: Access> {
    /// Whether a frame to a sleepy neighbour that listens now interrupts another frame in the MAC.
    preempts: bool,
    frame_is_indirect: bool,
    /// The source address of this node's frames.
    address: Address,
    sleep: Option<Sleepy>,
    pub(crate) mac: Mac<A>,
    pub(crate) lowpan: Lowpan<M>,
    guard: Guard<M>,
    children: Children,
    unverified: Unverified,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkEvent {
    /// The segment with this handle was transmitted.
    Sent { handle: u32 },
    /// The link gave up the segment with this handle.
    Lost { handle: u32, reason: LossReason },
    /// The link gave up a queued packet; 6LoWPAN has counted the reason.
    Dropped,
    /// A neighbour that is not a child has sent a data request.
    Asked { neighbour: Address },
    /// The result of a frame or data request to a neighbour.
    Quality {
        neighbour: Address,
        attempts: u8,
        ok: bool,
    },
}

pub(crate) struct LinkFrame {
    pub(crate) packet: Result<Option<Packet>, DropReason>,
    from: Address,
    /// Whether the sender announces further frames for this node (frame pending bit).
    more: bool,
}

impl<M: Memory + 'static, A: Access> Link<M, A> {
    pub(crate) fn new(
        mac: MacConfig,
        access: A,
        rng: Rng,
        lowpan: LowpanConfig,
        contexts: Contexts,
        memory: LowpanMemory<M>,
        preempts: bool,
    ) -> Self {
        let mut lowpan = Lowpan::new(lowpan, memory);
        *lowpan.contexts_mut() = contexts;
        Link {
            address: Address::Short(mac.short),
            mac: Mac::new(mac, access, rng),
            lowpan,
            children: Children::default(),
            unverified: Unverified::new(),
            sleep: None,
            guard: Guard::new(),
            preempts,
            frame_is_indirect: false,
        }
    }

    pub(crate) fn fall_asleep(&mut self, config: &SleepyConfig, rng: &mut Rng) {
        self.sleep = Some(Sleepy::new(config, rng));
    }

    // --- from the radio ---

    /// Processes a frame. For the header of a packet and the neighbour that sent it, `onward`
    /// returns the next hop if fragments of the packet may be forwarded as they arrive.
    // Not inlined, so that its stack frame is released before the packet is processed.
    #[inline(never)]
    pub(crate) fn input_frame(
        &mut self,
        now: Instant,
        frame: &[u8],
        info: &RxInfo,
        onward: impl FnOnce(&Ipv6Header, Address) -> Option<Address>,
    ) -> Option<LinkFrame> {
        let mut clear = Clear::new();
        let mac = &mut self.mac;
        let heard = self.guard.input(now, mac, frame, info, &mut clear)?;
        let (from, dst) = (heard.src, heard.dst);
        let broadcast = dst == Address::BROADCAST;
        let (children, mac, link_src) = (&self.children, &self.mac, self.address);
        let route = |header: &Ipv6Header| {
            let next_hop = (!broadcast).then(|| onward(header, from)).flatten()?;
            // A packet for a sleeping neighbour must wait, so it is reassembled first.
            (!M::ROUTES || !children.contains(next_hop)).then(|| Onward {
                next_hop,
                link_src,
                capacity: mac.payload_capacity(next_hop),
            })
        };
        let slot = self
            .lowpan
            .input_routed(now, from, dst, heard.payload, route);
        let packet = match slot {
            Ok(Some(slot)) => self.open(slot, Origin::Link { from, broadcast }).map(Some),
            // A fragment that completes no packet, or a drop that 6LoWPAN has counted.
            Ok(None) | Err(_) => Ok(None),
        };
        Some(LinkFrame {
            packet,
            from,
            more: heard.frame_pending,
        })
    }

    /// Updates the state of the sender after the packet of a frame has been processed.
    pub(crate) fn on_frame_processed(&mut self, now: Instant, frame: &LinkFrame) {
        if M::ROUTES {
            self.children.on_data(frame.from);
        }
        if let Some(sleep) = &mut self.sleep {
            sleep.on_received(now, frame.from, frame.more);
        }
    }

    /// Returns the handle of the packet in a slot. Releases a slot without a valid IPv6 header. The
    /// length is not checked here: this was done when the slot was filled.
    pub(crate) fn open(&mut self, slot: SlotId, origin: Origin) -> Result<Packet, DropReason> {
        match Ipv6Header::parse_partial(self.lowpan.packet(slot)) {
            Ok((header, _)) => Ok(Packet {
                slot,
                header,
                origin,
            }),
            Err(_) => {
                self.lowpan.release(slot);
                Err(DropReason::Malformed)
            }
        }
    }

    pub(crate) fn on_radio_done(&mut self, now: Instant, result: RadioResult<A::Done>) {
        self.mac.on_radio_done(now, result);
    }

    // --- towards the radio ---

    /// Queues the packet in a slot for a neighbour. A packet for a sleeping neighbour waits for its
    /// data request.
    pub(crate) fn queue(&mut self, now: Instant, slot: SlotId, next_hop: Address) {
        if self.is_child(next_hop) {
            self.lowpan.queue_indirect(now, slot, next_hop);
        } else {
            self.lowpan.queue(now, slot, next_hop);
        }
    }

    pub(crate) fn is_proven(&self, neighbour: Address) -> bool {
        self.unverified.is_proven(neighbour)
    }

    pub(crate) fn take_silence(&mut self, now: Instant, neighbour: Address) -> bool {
        self.unverified.take_silence(now, neighbour)
    }

    /// Returns whether a packet may go to a neighbour that no route or registration confirms.
    pub(crate) fn admits_unverified(&mut self, now: Instant, neighbour: Address) -> bool {
        self.unverified.admit(now, neighbour)
    }

    /// Returns whether other neighbours occupy all `neighbour_queues` of a duty-cycled MAC.
    pub(crate) fn has_no_queue_for(&self, neighbour: Address) -> bool {
        let cycled = self.mac.access().cycle();
        let limit = cycled.map_or(0, |it| it.properties.neighbour_queues);
        limit > 0 && self.lowpan.is_full_of_others(neighbour, limit)
    }

    /// Returns whether a registration would make this neighbour a child for which there is no room.
    pub(crate) fn is_crowded_by(&self, now: Instant, neighbour: Address) -> bool {
        M::ROUTES && self.children.is_crowded_by(now, neighbour)
    }

    /// Records until when a neighbour is registered with this router.
    pub(crate) fn on_tenure(&mut self, now: Instant, tenure: Tenure) {
        if M::ROUTES {
            // Without room, the neighbour is not a child: its packets do not wait for polls.
            let _ = self.children.on_tenure(now, tenure);
        }
    }

    pub(crate) fn children(&self) -> usize {
        self.children.iter().count()
    }

    pub(crate) fn is_child(&self, neighbour: Address) -> bool {
        M::ROUTES && self.children.contains(neighbour)
    }

    pub(crate) fn is_full_for(&self, neighbour: Address) -> bool {
        self.is_child(neighbour) && !self.lowpan.has_indirect_room(neighbour)
    }

    pub(crate) fn is_ready(&self) -> bool {
        let holds_back = self.sleep.as_ref().is_some_and(Sleepy::holds_back);
        self.mac.is_idle() && !holds_back && !self.awaits_counter()
    }

    /// Gives an idle MAC the next frame, built in the radio's buffer; `false` if there is none.
    pub(crate) fn feed<S: PayloadSource>(&mut self, now: Instant, source: &mut S) -> bool {
        let rooms = &mut MacRoom(&mut self.mac);
        let built = self.lowpan.build_frame(now, self.address, rooms, source);
        let Some(built) = built else {
            return false;
        };
        let how = Service {
            frame_pending: built.more,
            quick: built.indirect,
            repeats: built.repeats.map(|Note(bits)| Ticket::from(bits)),
        };
        self.mac.submit(now, built.len, how);
        self.frame_is_indirect = built.indirect;
        self.seal(now);
        true
    }

    pub(crate) fn poll_radio(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        if M::ROUTES {
            self.tell_who_has_something(now);
        }
        self.mac.poll_radio(now)
    }

    /// Sets the frame pending bits of the MAC for the sleeping neighbours.
    fn tell_who_has_something(&mut self, now: Instant) {
        while let Some(child) = self.children.expire(now) {
            self.mac.set_pending(child, false);
        }
        for child in self.children.iter() {
            let pending = self.lowpan.has_indirect(Address::Short(child));
            self.mac.set_pending(child, pending);
        }
    }

    /// Takes the submitted frame back from the MAC if a sleeping neighbour listens for another one.
    pub(crate) fn preempt(&mut self, now: Instant) {
        if M::ROUTES
            && self.preempts
            && self.lowpan.wants_preemption(now)
            && let Some(ticket) = self.mac.preempt(now)
        {
            let note = Note(ticket.into());
            self.lowpan.on_frame_suspended(now, note);
        }
    }

    // --- sleep ---

    pub(crate) fn sleeps(&self) -> bool {
        self.sleep.is_some()
    }

    /// Polls the parent if a poll is due, and sets the radio's state between polls. Returns `true`
    /// if an expected answer is missing for long, so that the node should register again.
    pub(crate) fn sleep_turn(&mut self, now: Instant, expected: Expected) -> bool {
        let may_send = self.may_send();
        let Some(sleep) = &mut self.sleep else {
            return false;
        };
        let is_forgotten = sleep.expect(now, expected);
        let was_idle = self.mac.is_idle();
        sleep.take_turn(now, &mut self.mac, self.lowpan.is_mid_datagram(), may_send);
        if was_idle && !self.mac.is_idle() {
            self.seal(now);
        }
        is_forgotten
    }

    pub(crate) fn expect_packets(&mut self, expected: bool) {
        if let Some(sleep) = &mut self.sleep {
            sleep.app_expects = expected;
        }
    }

    pub(crate) fn on_new_parent(&mut self, now: Instant, parent: Address) {
        if let Some(sleep) = &mut self.sleep {
            sleep.on_new_parent(now, parent);
        }
    }

    // --- time and events ---

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        if !M::HAS_RADIO {
            return None;
        }
        let sleep = self.sleep.as_ref();
        let sleep = sleep
            .and_then(|s| s.poll_at(&self.mac, self.lowpan.is_mid_datagram(), self.may_send()));
        earliest(earliest(self.mac.poll_at(), self.lowpan.poll_at()), sleep)
    }

    /// Runs the MAC's timers. Returns whether a timer was due, and may have caused events.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        let is_due = self.mac.poll_at().is_some_and(|wake| wake.at <= now);
        if is_due {
            self.mac.on_timeout(now);
        }
        is_due
    }

    /// Runs the due timers above the MAC, after the MAC's events have been polled.
    pub(crate) fn on_late_timeout(&mut self, now: Instant) {
        if self.lowpan.poll_at().is_some_and(|wake| wake.at <= now) {
            while let Some(child) = self.lowpan.expire_indirect(now) {
                if let Some(awake) = self.children.on_expired(child) {
                    // The child counts as awake now, so no frame is announced when it polls.
                    self.mac.set_pending(awake, false);
                }
            }
            self.lowpan.on_timeout(now);
        }
        if let Some(sleep) = &mut self.sleep {
            sleep.on_timeout(now);
        }
    }

    /// Returns the next event of the MAC or 6LoWPAN.
    pub(crate) fn poll_event(&mut self, now: Instant) -> Option<LinkEvent> {
        while let Some(event) = self.mac.poll_event() {
            match event {
                MacEvent::Done {
                    dst,
                    status,
                    attempts,
                } => return Some(self.on_frame_end(now, dst, status, attempts)),
                MacEvent::Polled {
                    parent,
                    status,
                    frame_pending,
                } => {
                    if let Some(sleep) = &mut self.sleep {
                        sleep.on_polled(now, status, frame_pending);
                    }
                    return Some(quality(parent, 1, status));
                }
                // A node that polls a leaf mistakes it for its parent.
                MacEvent::DataRequest { .. } if !M::ROUTES => {}
                MacEvent::DataRequest { child, promised } => {
                    if promised {
                        self.lowpan.on_data_request(now, child);
                    }
                    if self.children.on_request(now, child) {
                        return Some(LinkEvent::Asked { neighbour: child });
                    }
                }
                _ => {}
            }
        }
        Some(match self.lowpan.poll_event()? {
            LowpanEvent::SegmentSent { handle } => LinkEvent::Sent { handle },
            LowpanEvent::SegmentLost { handle, reason } => LinkEvent::Lost { handle, reason },
            // The only other event is `DatagramDropped`.
            _ => LinkEvent::Dropped,
        })
    }

    /// Handles the end of the submitted frame's transmission. A frame that a sleeping neighbour did
    /// not acknowledge waits for the neighbour's next data request.
    #[inline(never)] // size
    fn on_frame_end(
        &mut self,
        now: Instant,
        neighbour: Address,
        status: TxStatus,
        attempts: u8,
    ) -> LinkEvent {
        let ok = status == TxStatus::Delivered;
        // A frame that was never transmitted says nothing about the neighbour.
        if M::ROUTES
            && is_unicast(neighbour)
            && matches!(status, TxStatus::Delivered | TxStatus::NoAck)
        {
            self.unverified.on_frame(now, neighbour, ok);
            if !ok {
                self.children.on_silence(neighbour);
            }
        }
        if M::ROUTES && self.frame_is_indirect && !ok {
            let note = Note(self.mac.last_ticket().into());
            self.lowpan.on_frame_suspended(now, note);
        } else {
            self.lowpan.on_frame_done(now, ok);
        }
        if let Some(sleep) = &mut self.sleep
            && ok
        {
            sleep.on_sent(now);
        }
        quality(neighbour, attempts, status)
    }
}

/// Reports the result of a frame as a sample of the link to its destination. A frame that was never
/// transmitted does not count: the channel was busy, or security could not protect the frame.
fn quality(neighbour: Address, attempts: u8, status: TxStatus) -> LinkEvent {
    match status {
        TxStatus::Delivered | TxStatus::NoAck => LinkEvent::Quality {
            neighbour,
            attempts,
            ok: status == TxStatus::Delivered,
        },
        TxStatus::ChannelAccessFailure | TxStatus::Unsealed => LinkEvent::Dropped,
    }
}

struct MacRoom<'m, A: Access>(&'m mut Mac<A>);

impl<A: Access> FrameRoom for MacRoom<'_, A> {
    fn room(&mut self, dst: Address) -> Option<&mut [u8]> {
        let capacity = self.0.payload_capacity(dst);
        self.0.frame_mut(dst)?.get_mut(..capacity)
    }
}
