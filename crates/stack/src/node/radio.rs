//! The radio side of a node: received frames and radio work.

use redpoll_base::{Instant, Memory};
use redpoll_lowpan::{Gone, PayloadSource, PulledDatagram, TRANSPORT_HEADER_MAX};
use redpoll_mac::{Access, RadioResult, RadioWork, RxInfo};
use redpoll_tcp::Algorithms;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

use super::Node;
use super::packets::write_pulled;
use crate::assist::Assist;
use crate::counters::DropReason;
use crate::link::{Expected, LinkEvent, SEALS};
use crate::net::plan::Plan;
use crate::net::routing::Quality;
use crate::packet::{LINK_MTU, NextHop, Origin, Packet, PacketView};
use crate::profile::Profile;
use crate::segments::Handover;
use crate::transports::{Handle, Pulled, Side, StreamTransport, Transport, Transports};

impl<M: Memory + 'static, T: StreamTransport, A: Algorithms> PayloadSource for Transports<M, T, A> {
    fn read(&mut self, handle: u32, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        Transports::read(self, Handle(handle), offset, out).map_err(|_| Gone)
    }
}

impl<P: Profile> Node<P> {
    /// Processes a received frame: an MPDU without its FCS, which was correct.
    #[inline(never)] // stack: this function's stack frame is free before timers and sockets work
    pub fn input_frame(&mut self, now: Instant, frame: &[u8], info: RxInfo) {
        let net = &self.net;
        let received = self.link.input_frame(now, frame, &info, |header, from| {
            net.passes_through(now, header, from)
        });
        if let Some(received) = received {
            match &received.packet {
                Ok(Some(packet)) => self.input(now, packet),
                Ok(None) => {}
                Err(reason) => self.counters.drop(*reason),
            }
            self.link.on_frame_processed(now, &received);
        }
        // An acknowledgment of fragments (RFC 8931) may complete the transmission of a segment.
        self.drain_link(now);
    }

    /// Handles a received frame for any node; `frame` is `None` if the frame is damaged. These
    /// frames inform an [assistant](crate::assist), and access methods that yield to other senders.
    /// A radio with an address filter or a checksum test does not deliver all of these frames.
    pub fn on_heard(&mut self, now: Instant, frame: Option<&[u8]>) {
        let passing = frame.and_then(|frame| self.link.mac.on_overheard(now, frame));
        self.net.assist.on_heard(now, passing);
    }

    /// Handles the end of the radio's work.
    pub fn on_radio_done(
        &mut self,
        now: Instant,
        result: RadioResult<<P::Access as Access>::Done>,
    ) {
        self.link.on_radio_done(now, result);
        // Delivers the events now, because the caller may poll events before radio work.
        self.drain_link(now);
    }

    /// Returns the next operation for the radio. [`Self::frame`] is the frame to load.
    pub fn poll_radio(&mut self, now: Instant) -> Option<RadioWork<<P::Access as Access>::Work>> {
        self.drain_link(now);
        self.link.preempt(now);
        self.sleep_turn(now);
        let queued = self.handover.queues();
        while queued && self.link.lowpan.has_room() && self.pull_segment(now) {}
        while self.link.is_ready() {
            let pulled = !queued && self.may_pull() && self.pull_segment(now);
            // A datagram that is given up before it needs a frame makes room for another datagram.
            let submitted = self.link.feed(now, &mut self.transports);
            if !self.drain_link(now) && !submitted && !pulled {
                break;
            }
        }
        self.link.poll_radio(now)
    }

    /// Returns the frame of a [`RadioWork::Load`], without its FCS, until that work is done.
    pub fn frame(&self) -> &[u8] {
        self.link.mac.frame()
    }

    /// Returns whether a transport may make a segment. A sleepy node sends its registration first,
    /// because a parent keeps the answers to a segment only for a neighbour that is registered.
    fn may_pull(&self) -> bool {
        let lowpan = &self.link.lowpan;
        let registers = self.link.sleeps() && self.net.nd.solicitor.is_registering();
        lowpan.wants_segment() && !(registers && lowpan.has_frame())
    }

    fn sleep_turn(&mut self, now: Instant) {
        if !self.link.sleeps() {
            return;
        }
        let until = self.transports.tcp.poll_at().map_or(now, |wake| wake.at);
        let expected = Expected {
            answer: self.net.nd.solicitor.is_registering() || self.transports.expects(),
            repetition: self.transports.tcp.is_unproven(),
            until: until.as_micros() as u32,
        };
        if self.link.sleep_turn(now, expected) {
            self.net.nd.solicitor.renew(now);
        }
        // Security may already have ended a data request that it could not protect.
        if SEALS {
            self.drain_link(now);
        }
    }

    /// Delivers the link's events to the layers above; returns whether there were any.
    pub(super) fn drain_link(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.link.poll_event(now) {
            any = true;
            match event {
                LinkEvent::Sent { handle } => self.transports.on_sent(now, Handle(handle)),
                LinkEvent::Lost { handle, .. } => match self.handover.reports() {
                    true => self.transports.on_lost(now, Handle(handle)),
                    false => self.transports.on_sent(now, Handle(handle)),
                },
                LinkEvent::Dropped => {}
                LinkEvent::Asked { neighbour } => {
                    if let Some(tenure) = self.net.routing.tenure(now, neighbour) {
                        self.link.on_tenure(now, tenure);
                    }
                }
                LinkEvent::Quality {
                    neighbour,
                    attempts,
                    ok,
                } => {
                    let quality = Quality {
                        neighbour,
                        attempts,
                        ok,
                    };
                    let parent = self.net.on_link(now, quality, &mut self.counters);
                    if let Some(parent) = parent {
                        self.link.on_new_parent(now, parent);
                    }
                }
            }
        }
        any
    }

    /// Makes a segment for a connection whose route uses the radio; returns whether there was one.
    fn pull_segment(&mut self, now: Instant) -> bool {
        let headroom = self.net.routing.headroom();
        let max_len = LINK_MTU.saturating_sub(Ipv6Header::LEN.saturating_add(headroom));
        let Some((pulled, next_hop)) = self.pull(now, Side::Link, max_len) else {
            return false;
        };
        let Some(next_hop) = next_hop else {
            self.on_no_route(now, &pulled);
            return true;
        };
        self.counters.originated = self.counters.originated.wrapping_add(1);
        if self.link.is_child(next_hop) || self.handover.queues() {
            self.hold_segment(now, &pulled, next_hop);
            return true;
        }
        let ip = pulled.ip_header(self.net.identity.hop_limit);
        let plan = self.net.encapsulate(
            now,
            PacketView {
                header: &ip,
                origin: Origin::Own,
                bytes: &mut [],
            },
            NextHop::Link(next_hop),
        );
        let (ip, extension) = match &plan {
            Ok(Plan::Keep) => (ip, [].as_slice()),
            Ok(Plan::Insert(insertion)) if insertion.suits_segment(headroom) => {
                let next_header = insertion.kind;
                let ip = Ipv6Header { next_header, ..ip };
                (ip, insertion.extension())
            }
            _ => {
                self.hold_segment(now, &pulled, next_hop);
                return true;
            }
        };
        let header = pulled.header();
        let header_len = extension.len().saturating_add(header.len());
        let mut datagram = PulledDatagram {
            ip,
            header: [0; TRANSPORT_HEADER_MAX],
            header_len: header_len as u8,
            payload_len: pulled.payload_len(),
            handle: pulled.handle.0,
            next_hop,
            // A sleepy node sends all waiting segments before it sleeps again.
            is_followed: self.link.sleeps() && self.transports.tcp.has_segment(),
        };
        let area = datagram.header.split_at_mut_checked(extension.len());
        if let Some((before, behind)) = area
            && let Some(behind) = behind.get_mut(..header.len())
        {
            before.copy_from_slice(extension);
            behind.copy_from_slice(header);
        }
        if !self.link.lowpan.start_segment(now, datagram) {
            self.transports.on_lost(now, pulled.handle);
        }
        true
    }

    /// Copies a segment that must wait. A segment for a sleepy child counts as sent when the child
    /// has received it, unless [`Handover::queues`]. Any other segment counts as sent at once.
    fn hold_segment(&mut self, now: Instant, pulled: &Pulled, next_hop: Address) {
        let hop_limit = self.net.identity.hop_limit;
        let ip = pulled.ip_header(hop_limit);
        let total = Ipv6Header::LEN.saturating_add(ip.payload_len.into());
        let waits = self.link.is_child(next_hop) && !self.handover.queues();
        let lowpan = &mut self.link.lowpan;
        let Some(slot) = lowpan.allocate(total) else {
            self.counters.drop(DropReason::NoSlot);
            self.transports.on_lost(now, pulled.handle);
            return;
        };
        let packet = lowpan.packet_mut(slot);
        if write_pulled(&self.transports, pulled, hop_limit, packet).is_some() {
            if !waits {
                let packet = Packet {
                    slot,
                    header: ip,
                    origin: Origin::Own,
                };
                let leaves = NextHop::Link(next_hop);
                if self.encapsulate(now, &packet, leaves).is_err() {
                    self.link.lowpan.release(slot);
                    self.transports.on_lost(now, pulled.handle);
                    return;
                }
                self.link.queue(now, slot, next_hop);
                self.transports.on_sent(now, pulled.handle);
            } else {
                let handle = pulled.handle.0;
                lowpan.queue_indirect_segment(now, slot, next_hop, handle);
            }
        } else {
            lowpan.release(slot);
            self.transports.on_lost(now, pulled.handle);
        }
    }
}
