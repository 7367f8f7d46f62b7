//! The radio side of a node: frames in, radio work out.

use redpoll_base::{Instant, Memory};
use redpoll_lowpan::{Gone, LowpanEvent, PayloadSource, PulledDatagram};
use redpoll_mac::{FrameBuf, MacEvent, RadioResult, RadioWork, RxInfo, Service};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

use super::Node;
use super::paths::{NextHop, is_unicast};
use super::sleepy::ticket;
use crate::counters::DropReason;
use crate::tcp::{Handle, Pulled, Reach, Side, TcpSockets};

/// The IPv6 packet size that 6LoWPAN must carry (RFC 4944 §4) and that we never exceed.
pub(super) const LINK_MTU: usize = 1280;

impl<M: Memory + 'static> PayloadSource for TcpSockets<M> {
    fn read(&mut self, handle: u32, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        TcpSockets::read(self, Handle(handle), offset, out).map_err(|_| Gone)
    }
}

impl<M: Memory + 'static> Node<M> {
    /// A frame has arrived: the MPDU without its FCS, which was good.
    pub fn input_frame(&mut self, now: Instant, frame: &[u8], info: RxInfo) {
        let Some(indication) = self.mac.input_frame(now, frame, &info) else {
            self.drain_link_events(now);
            return;
        };
        let (src, dst) = (indication.src, indication.dst);
        let more = indication.frame_pending;
        // A fragment that completes nothing, or a drop that lowpan has counted.
        if let Ok(Some(slot)) = self.input_payload(now, src, dst, indication.payload) {
            let broadcast = dst == Address::BROADCAST;
            let from = src;
            self.input_slot(now, slot, Origin::Link { from, broadcast });
        }
        self.on_sleepy_received(now, src, more);
        // An acknowledgment of fragments ends a segment.
        self.drain_link_events(now);
    }

    /// The radio has finished the work that it was given.
    pub fn on_radio_done(&mut self, now: Instant, result: RadioResult) {
        self.mac.on_radio_done(now, result);
        // At once: who polls events before radio work must not miss those.
        self.drain_link_events(now);
    }

    /// The next work for the radio. A frame to load stands in `frame`.
    pub fn poll_radio(&mut self, now: Instant, frame: &mut FrameBuf) -> Option<RadioWork> {
        self.drain_link_events(now);
        self.preempt(now);
        self.sleepy_turn(now);
        let queued = self.config.segments.are_queued();
        while queued && self.lowpan.has_room() && self.pull_segment(now) {}
        while self.mac.is_idle() && !self.holds_back() {
            let pulled = !queued && self.lowpan.wants_segment() && self.pull_segment(now);
            // A datagram that ends without a frame makes room for another.
            let submitted = self.feed_mac(now);
            if !self.drain_link_events(now) && !submitted && !pulled {
                break;
            }
        }
        self.note_pending();
        self.mac.poll_radio(now, frame)
    }

    /// Passes on what MAC and 6LoWPAN have to tell; whether there was anything.
    pub(super) fn drain_link_events(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(event) = self.mac.poll_event() {
            any = true;
            match event {
                MacEvent::Done { status, .. } => self.on_frame_end(now, status),
                MacEvent::Polled {
                    status,
                    frame_pending,
                    ..
                } => self.on_polled(now, status, frame_pending),
                MacEvent::DataRequest { child, promised } => {
                    self.on_data_request(now, child, promised);
                }
            }
        }
        while let Some(event) = self.lowpan.poll_event() {
            any = true;
            match event {
                LowpanEvent::SegmentSent { handle } => self.tcp.on_sent(Handle(handle), now),
                LowpanEvent::SegmentLost { handle, .. } if self.config.segments.are_reported() => {
                    self.tcp.on_lost(Handle(handle), now);
                }
                LowpanEvent::SegmentLost { handle, .. } => self.tcp.on_sent(Handle(handle), now),
                // Counted by lowpan under its reason; nobody waits for it.
                LowpanEvent::DatagramDropped { .. } => {}
            }
        }
        any
    }

    /// Gives an idle MAC the next frame; `false` if there is none.
    fn feed_mac(&mut self, now: Instant) -> bool {
        let longest = if self.long_addresses {
            Address::Extended([0; 8])
        } else {
            Address::Short(0)
        };
        let own = self.config.link_address();
        let capacity = self.mac.payload_capacity(longest);
        let mut payload = [0; 127];
        let built = self
            .lowpan
            .next_frame(now, own, capacity, &mut payload, &mut self.tcp);
        let Some(built) = built else {
            return false;
        };
        let area = self.mac.frame_mut(built.dst);
        let area = area.and_then(|area| area.get_mut(..built.len));
        if let (Some(area), Some(bytes)) = (area, payload.get(..built.len)) {
            area.copy_from_slice(bytes);
            let how = Service {
                frame_pending: built.more,
                quick: built.indirect,
                repeats: built.repeats.map(ticket),
            };
            self.mac.submit_as(now, built.len, how);
            self.frame_is_indirect = built.indirect;
        } else {
            self.lowpan.on_frame_done(now, false);
        }
        true
    }

    /// Lets a connection whose route leads over the radio make a segment;
    /// whether one did.
    fn pull_segment(&mut self, now: Instant) -> bool {
        let (paths, lowpan, children) = (&self.paths, &self.lowpan, &self.children);
        let is_full = |link| children.contains(link) && !lowpan.has_indirect_room(link);
        let max_len = LINK_MTU.saturating_sub(Ipv6Header::LEN);
        let (own, counters) = ([self.link_local, self.config.address], &mut self.counters);
        let pulled = self.tcp.pull(
            now,
            Side::Link,
            max_len,
            own,
            counters,
            |remote| match paths.reach(now, Side::Link, remote) {
                Reach::Here(link) if is_full(link) => Reach::Elsewhere,
                reach => reach,
            },
        );
        let Some((pulled, next_hop)) = pulled else {
            return false;
        };
        self.counters.originated = self.counters.originated.wrapping_add(1);
        self.note_next_hop(next_hop);
        if self.children.contains(next_hop) || self.config.segments.are_queued() {
            self.hold_segment(now, &pulled, next_hop);
            return true;
        }
        let header = pulled.desc.header.as_bytes();
        let mut datagram = PulledDatagram {
            ip: pulled.ip_header(self.config.hop_limit),
            header: [0; 60],
            header_len: header.len() as u8,
            payload_len: pulled.desc.payload_len,
            handle: pulled.handle.0,
            next_hop,
            // What sleeps in between is better off sending all there is.
            is_followed: self.sleepy.is_some() && self.tcp.has_segment(),
        };
        if let Some(area) = datagram.header.get_mut(..header.len()) {
            area.copy_from_slice(header);
        }
        if !self.lowpan.start_segment(now, datagram) {
            self.tcp.on_lost(pulled.handle, now);
        }
        true
    }

    /// A segment that is copied and waits: one for a sleepy node, for the connection
    /// cannot know when that node will ask; or any, where segments are queued.
    fn hold_segment(&mut self, now: Instant, pulled: &Pulled, next_hop: Address) {
        let ip = pulled.ip_header(self.config.hop_limit);
        let total = Ipv6Header::LEN.saturating_add(ip.payload_len.into());
        let Some(slot) = self.lowpan.allocate(total) else {
            self.counters.drop(DropReason::NoSlot);
            self.tcp.on_lost(pulled.handle, now);
            return;
        };
        let packet = self.lowpan.packet_mut(slot);
        if write_pulled(&self.tcp, pulled, self.config.hop_limit, packet).is_some() {
            if self.children.contains(next_hop) {
                self.lowpan.queue_indirect(now, slot, next_hop);
            } else {
                self.lowpan.queue(now, slot, next_hop);
            }
            self.tcp.on_sent(pulled.handle, now);
        } else {
            self.lowpan.release(slot);
            self.tcp.on_lost(pulled.handle, now);
        }
    }

    /// Before something is queued for this next hop.
    pub(super) fn note_next_hop(&mut self, next_hop: Address) {
        self.long_addresses |= matches!(next_hop, Address::Extended(_));
    }
}

/// Writes a pulled segment as a packet; `None` if it does not fit.
pub(super) fn write_pulled<M: Memory + 'static>(
    tcp: &TcpSockets<M>,
    pulled: &Pulled,
    hop_limit: u8,
    out: &mut [u8],
) -> Option<usize> {
    let ip = pulled.ip_header(hop_limit);
    let total = Ipv6Header::LEN.saturating_add(ip.payload_len.into());
    let header = pulled.desc.header.as_bytes();
    let (ip_area, rest) = out
        .get_mut(..total)?
        .split_at_mut_checked(Ipv6Header::LEN)?;
    let (header_area, payload) = rest.split_at_mut_checked(header.len())?;
    ip_area.copy_from_slice(&ip.to_bytes());
    header_area.copy_from_slice(header);
    let read = tcp.read(pulled.handle, 0, payload).ok()?;
    (read == payload.len()).then_some(total)
}

/// Where a packet came from, for the rules that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// From this neighbour.
    Link { from: Address, broadcast: bool },
    /// From the host side.
    Host,
    /// This node made it.
    Own,
}

impl Origin {
    /// Whether `next_hop` leads back there, which would be a loop.
    pub(super) fn is_behind(self, next_hop: NextHop) -> bool {
        match (self, next_hop) {
            (Origin::Link { from, .. }, NextHop::Link(to)) => is_unicast(to) && from == to,
            (Origin::Host, NextHop::Host) => true,
            _ => false,
        }
    }
}
