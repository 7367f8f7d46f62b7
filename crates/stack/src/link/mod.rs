//! The first of a node's three conductors: the MAC and 6LoWPAN, the neighbours that
//! sleep, and the node's own sleep.
//!
//! Frames and radio results go in; whole packets come out, and [`LinkEvent`]s tell
//! what became of segments and how good the links are. Link-layer security (IEEE
//! 802.15.4-2015 §9) belongs to the link, which lends it to the MAC: a frame is protected
//! when the MAC is given it, and opened when the MAC has acknowledged it.
//!
//! - `children.rs`: the neighbours that sleep;
//! - `strangers.rs`: neighbours of which nobody knows whether they exist;
//! - `security.rs`: what security there is;
//! - `sleep.rs`: the node's own sleep, with `poll.rs` (when it asks) and
//!   `silence.rs` (what it must not miss).

mod children;
mod poll;
#[cfg_attr(not(feature = "security"), path = "security/absent.rs")]
mod security;
mod silence;
mod sleep;
mod strangers;

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
use strangers::Strangers;

/// The link of a node.
#[repr(C)] // In this order on purpose: see `Mac`.
pub(crate) struct Link<M: Memory + 'static, A: Access> {
    /// A frame makes way for one to a sleepy neighbour that listens.
    preempts: bool,
    /// The frame that the MAC has is for a sleepy neighbour.
    frame_is_indirect: bool,
    /// The address that its frames carry.
    address: Address,
    sleep: Option<Sleepy>,
    pub(crate) mac: Mac<A>,
    pub(crate) lowpan: Lowpan<M>,
    guard: Guard<M>,
    children: Children,
    strangers: Strangers,
}

/// What the link tells the layers above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkEvent {
    /// The segment with this handle has left.
    Sent { handle: u32 },
    /// The segment with this handle has been given up.
    Lost { handle: u32, reason: LossReason },
    /// A queued packet has been given up; 6LoWPAN has counted why.
    Dropped,
    /// A neighbour that is no child has asked for what waits for it.
    Asked { neighbour: Address },
    /// A frame or data request to a neighbour has ended.
    Quality {
        neighbour: Address,
        attempts: u8,
        ok: bool,
    },
}

/// A frame for this node.
pub(crate) struct Heard {
    /// The packet that it completes, if it does.
    pub(crate) packet: Result<Option<Packet>, DropReason>,
    from: Address,
    /// Its sender has more for this node.
    more: bool,
}

impl<M: Memory + 'static, A: Access> Link<M, A> {
    pub(crate) fn new(
        mac: (MacConfig, A, Rng),
        (lowpan, contexts): (LowpanConfig, Contexts),
        memory: LowpanMemory<M>,
        preempts: bool,
    ) -> Self {
        let (mac, access, rng) = mac;
        let mut lowpan = Lowpan::new(lowpan, memory);
        *lowpan.contexts_mut() = contexts;
        Link {
            address: Address::Short(mac.short),
            mac: Mac::with_access(mac, access, rng),
            lowpan,
            children: Children::default(),
            strangers: Strangers::new(),
            sleep: None,
            guard: Guard::new(),
            preempts,
            frame_is_indirect: false,
        }
    }

    /// From now on the node sleeps between its frames.
    pub(crate) fn fall_asleep(&mut self, config: &SleepyConfig, rng: &mut Rng) {
        self.sleep = Some(Sleepy::new(config, rng));
    }

    // --- from the radio ---

    /// A frame has arrived. `onward` says where a packet goes on to whose fragments
    /// may be passed on as they come, by its header and the neighbour that it comes
    /// from.
    // Its temporaries are gone when the packet that has come is taken care of.
    #[inline(never)]
    pub(crate) fn input_frame(
        &mut self,
        now: Instant,
        frame: &[u8],
        info: &RxInfo,
        onward: impl FnOnce(&Ipv6Header, Address) -> Option<Address>,
    ) -> Option<Heard> {
        let mut clear = Clear::new();
        let mac = &mut self.mac;
        let heard = self.guard.input(now, mac, frame, info, &mut clear)?;
        let (from, dst) = (heard.src, heard.dst);
        let broadcast = dst == Address::BROADCAST;
        let (children, mac, link_src) = (&self.children, &self.mac, self.address);
        let route = |header: &Ipv6Header| {
            let next_hop = (!broadcast).then(|| onward(header, from)).flatten()?;
            // What must wait for a node that sleeps is put together.
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
            // A fragment that completes nothing, or a drop that 6LoWPAN has counted.
            Ok(None) | Err(_) => Ok(None),
        };
        Some(Heard {
            packet,
            from,
            more: heard.frame_pending,
        })
    }

    /// The packet of a frame has been taken care of.
    pub(crate) fn on_heard(&mut self, now: Instant, heard: &Heard) {
        if M::ROUTES {
            self.children.on_data(heard.from);
        }
        if let Some(sleep) = &mut self.sleep {
            sleep.on_received(now, heard.from, heard.more);
        }
    }

    /// The handle of the packet in a slot, whose length was checked by whoever
    /// filled it. A slot without a packet is released.
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

    /// Puts the packet in a slot on its way to a neighbour: at once, or when a
    /// neighbour that sleeps asks for it.
    pub(crate) fn queue(&mut self, now: Instant, slot: SlotId, next_hop: Address) {
        if self.is_child(next_hop) {
            self.lowpan.queue_indirect(now, slot, next_hop);
        } else {
            self.lowpan.queue(now, slot, next_hop);
        }
    }

    /// Whether this neighbour has acknowledged a frame of late.
    pub(crate) fn is_proven(&self, neighbour: Address) -> bool {
        self.strangers.is_proven(neighbour)
    }

    /// See [`Strangers::take_silence`].
    pub(crate) fn take_silence(&mut self, now: Instant, neighbour: Address) -> bool {
        self.strangers.take_silence(now, neighbour)
    }

    /// Whether a packet may go to a neighbour that nobody knows.
    pub(crate) fn admits_stranger(&mut self, now: Instant, neighbour: Address) -> bool {
        self.strangers.admit(now, neighbour)
    }

    /// Whether other neighbours have all the queues that a duty-cycled MAC may have.
    pub(crate) fn has_no_queue_for(&self, neighbour: Address) -> bool {
        let limit = self.mac.neighbour_queues();
        limit > 0 && self.lowpan.is_full_of_others(neighbour, limit)
    }

    /// Whether a neighbour is about to become one that sleeps, and there is no room
    /// for it.
    pub(crate) fn is_crowded_by(&self, now: Instant, neighbour: Address) -> bool {
        M::ROUTES && self.children.is_crowded_by(now, neighbour)
    }

    /// How long a neighbour is registered with this router.
    pub(crate) fn on_tenure(&mut self, now: Instant, tenure: Tenure) {
        if M::ROUTES {
            // Who finds no room was refused before.
            let _ = self.children.on_tenure(now, tenure);
        }
    }

    /// Neighbours that sleep.
    pub(crate) fn children(&self) -> usize {
        self.children.iter().count()
    }

    /// Whether this neighbour sleeps.
    pub(crate) fn is_child(&self, neighbour: Address) -> bool {
        M::ROUTES && self.children.contains(neighbour)
    }

    /// Whether so much waits for a neighbour that sleeps that nothing more may.
    pub(crate) fn is_full_for(&self, neighbour: Address) -> bool {
        self.is_child(neighbour) && !self.lowpan.has_indirect_room(neighbour)
    }

    /// Whether the MAC has nothing to send, and may have.
    pub(crate) fn is_ready(&self) -> bool {
        let holds_back = self.sleep.as_ref().is_some_and(Sleepy::holds_back);
        self.mac.is_idle() && !holds_back && !self.awaits_counter()
    }

    /// Gives an idle MAC the next frame; `false` if there is none. It is built where
    /// the radio reads it.
    pub(crate) fn feed<S: PayloadSource>(&mut self, now: Instant, source: &mut S) -> bool {
        let rooms = &mut MacRoom(&mut self.mac);
        let built = self.lowpan.build_frame(now, self.address, rooms, source);
        let Some(built) = built else {
            return false;
        };
        let how = Service {
            frame_pending: built.more,
            quick: built.indirect,
            repeats: built.repeats.map(|Note(bits)| Ticket::from_bits(bits)),
        };
        self.mac.submit_as(now, built.len, how);
        self.frame_is_indirect = built.indirect;
        self.seal(now);
        true
    }

    /// The next work for the radio.
    pub(crate) fn poll_radio(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        if M::ROUTES {
            self.tell_who_has_something(now);
        }
        self.mac.poll_radio(now)
    }

    /// Tells the MAC for which neighbours that sleep there is something.
    fn tell_who_has_something(&mut self, now: Instant) {
        while let Some(child) = self.children.expire(now) {
            self.mac.set_pending(child, false);
        }
        for child in self.children.iter() {
            let pending = self.lowpan.has_indirect(Address::Short(child));
            self.mac.set_pending(child, pending);
        }
    }

    /// Takes the frame in service back from the MAC if a neighbour that sleeps
    /// listens for another.
    pub(crate) fn preempt(&mut self, now: Instant) {
        if M::ROUTES
            && self.preempts
            && self.lowpan.wants_preemption(now)
            && let Some(ticket) = self.mac.preempt()
        {
            let note = Note(ticket.to_bits());
            self.lowpan.on_frame_suspended(now, note);
        }
    }

    // --- sleep ---

    /// Whether the node sleeps between its frames.
    pub(crate) fn sleeps(&self) -> bool {
        self.sleep.is_some()
    }

    /// Asks the parent if it is time, and says what the radio does meanwhile.
    /// `true` if the node has waited in vain for long, and should register anew.
    #[inline(never)] // size
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

    /// An application waits for a packet, or no longer does.
    pub(crate) fn expect_packets(&mut self, expected: bool) {
        if let Some(sleep) = &mut self.sleep {
            sleep.app_expects = expected;
        }
    }

    /// Another neighbour is the parent from now on.
    pub(crate) fn on_new_parent(&mut self, now: Instant, parent: Address) {
        if let Some(sleep) = &mut self.sleep {
            sleep.on_new_parent(now, parent);
        }
    }

    // --- time and events ---

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        let sleep = self.sleep.as_ref();
        let sleep = sleep
            .and_then(|s| s.poll_at(&self.mac, self.lowpan.is_mid_datagram(), self.may_send()));
        earliest(earliest(self.mac.poll_at(), self.lowpan.poll_at()), sleep)
    }

    /// Runs the MAC's timers; whether one was due, and events may be there.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        let is_due = self.mac.poll_at().is_some_and(|wake| wake.at <= now);
        if is_due {
            self.mac.on_timeout(now);
        }
        is_due
    }

    /// Runs what is due above the MAC, whose events have been polled.
    pub(crate) fn on_late_timeout(&mut self, now: Instant) {
        if self.lowpan.poll_at().is_some_and(|wake| wake.at <= now) {
            while let Some(child) = self.lowpan.expire_indirect(now) {
                if let Some(awake) = self.children.on_expired(child) {
                    // Should it sleep after all, its requests promise nothing.
                    self.mac.set_pending(awake, false);
                }
            }
            self.lowpan.on_timeout(now);
        }
        if let Some(sleep) = &mut self.sleep {
            sleep.on_timeout(now);
        }
    }

    /// The next thing that the MAC or 6LoWPAN has to tell.
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
                // Whoever asks a leaf has taken it for a parent.
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
            // `DatagramDropped`.
            _ => LinkEvent::Dropped,
        })
    }

    /// The frame in service has ended; one for a neighbour that sleeps and did not
    /// answer waits until that neighbour asks again.
    #[inline(never)] // size
    fn on_frame_end(
        &mut self,
        now: Instant,
        neighbour: Address,
        status: TxStatus,
        attempts: u8,
    ) -> LinkEvent {
        let ok = status == TxStatus::Delivered;
        // A frame that was never sent says nothing about who would have heard it.
        if M::ROUTES
            && is_unicast(neighbour)
            && matches!(status, TxStatus::Delivered | TxStatus::NoAck)
        {
            self.strangers.on_frame(now, neighbour, ok);
            if !ok {
                self.children.on_silence(neighbour);
            }
        }
        if M::ROUTES && self.frame_is_indirect && !ok {
            let note = Note(self.mac.last_ticket().to_bits());
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

/// The frame that the MAC sends next.
struct MacRoom<'m, A: Access>(&'m mut Mac<A>);

impl<A: Access> FrameRoom for MacRoom<'_, A> {
    fn room(&mut self, dst: Address) -> Option<&mut [u8]> {
        let capacity = self.0.payload_capacity(dst);
        self.0.frame_mut(dst)?.get_mut(..capacity)
    }
}
