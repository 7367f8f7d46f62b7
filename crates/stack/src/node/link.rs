//! The radio side of a node: frames in, radio work out.

use redpoll_base::{Instant, Memory};
use redpoll_lowpan::{Gone, LowpanEvent, PayloadSource, PulledDatagram};
use redpoll_mac::{FrameBuf, MacEvent, RadioResult, RadioWork, RxInfo, TxStatus};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::Node;
use crate::routes::Via;
use crate::tcp::{Handle, TcpSockets};

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
            return;
        };
        let (src, dst) = (indication.src, indication.dst);
        // A fragment that completes nothing, or a drop that lowpan has counted.
        if let Ok(Some(slot)) = self.lowpan.input(now, src, dst, indication.payload) {
            self.input_slot(now, slot, Origin::Link);
        }
    }

    /// The radio has finished the work that it was given.
    pub fn on_radio_done(&mut self, now: Instant, result: RadioResult) {
        self.mac.on_radio_done(now, result);
    }

    /// The next work for the radio. A frame to load stands in `frame`.
    pub fn poll_radio(&mut self, now: Instant, frame: &mut FrameBuf) -> Option<RadioWork> {
        self.drain_mac_events(now);
        if self.mac.is_idle() {
            self.feed_mac(now);
        }
        self.mac.poll_radio(now, frame)
    }

    fn drain_mac_events(&mut self, now: Instant) {
        while let Some(MacEvent::Done { status, .. }) = self.mac.poll_event() {
            let delivered = status == TxStatus::Delivered;
            self.lowpan.on_frame_done(now, delivered);
        }
        while let Some(event) = self.lowpan.poll_event() {
            match event {
                LowpanEvent::SegmentSent { handle } => self.tcp.on_sent(Handle(handle), now),
                LowpanEvent::SegmentLost { handle, .. } => self.tcp.on_lost(Handle(handle), now),
                // Counted by lowpan under its reason; nobody waits for it.
                LowpanEvent::DatagramDropped { .. } => {}
            }
        }
    }

    /// Gives an idle MAC the next frame, pulling a segment first if there is room.
    fn feed_mac(&mut self, now: Instant) {
        if self.lowpan.wants_segment() {
            self.pull_segment(now);
        }
        let own = self.config.link_address();
        while self.lowpan.has_frame() {
            let mut payload = [0; 127];
            let capacity = self.mac.payload_capacity(Address::Short(0));
            let built = self
                .lowpan
                .next_frame(now, own, capacity, &mut payload, &mut self.tcp);
            let Some(built) = built else { continue };
            if let (Some(area), Some(bytes)) =
                (self.mac.frame_mut(built.dst), payload.get(..built.len))
                && let Some(area) = area.get_mut(..built.len)
            {
                area.copy_from_slice(bytes);
                self.mac.submit(now, built.len);
            } else {
                self.lowpan.on_frame_done(now, false);
            }
            break;
        }
    }

    /// Lets a connection whose route leads over the radio make a segment.
    fn pull_segment(&mut self, now: Instant) {
        let (routes, neighbours) = (&self.routes, &self.neighbours);
        let mut next_hop = None;
        let max_len = LINK_MTU.saturating_sub(Ipv6Header::LEN);
        let pulled = self.tcp.pull(now, max_len, |remote| {
            next_hop = neighbours.lookup(remote).or_else(|| {
                let link_local = redpoll_wire::ipv6::addr::is_link_local(remote);
                let on_link = link_local.then_some(Via::OnLink);
                let via = on_link.or_else(|| routes.lookup(remote))?;
                link_address(via, remote)
            });
            next_hop.is_some()
        });
        let (Some(pulled), Some(next_hop)) = (pulled, next_hop) else {
            return;
        };
        self.counters.originated = self.counters.originated.wrapping_add(1);
        let header = pulled.desc.header.as_bytes();
        let payload_len = pulled.desc.payload_len;
        let ip = Ipv6Header {
            dscp: 0,
            ecn: pulled.desc.ecn,
            flow_label: 0,
            payload_len: payload_len.saturating_add(header.len() as u16),
            next_header: next_header::TCP,
            hop_limit: self.config.hop_limit,
            src: pulled.src,
            dst: pulled.dst,
        };
        let mut datagram = PulledDatagram {
            ip,
            header: [0; 60],
            header_len: header.len() as u8,
            payload_len,
            handle: pulled.handle.0,
            next_hop,
        };
        if let Some(area) = datagram.header.get_mut(..header.len()) {
            area.copy_from_slice(header);
        }
        if !self.lowpan.start_segment(now, datagram) {
            self.tcp.on_lost(pulled.handle, now);
        }
    }
}

/// Where a packet came from, for the rules that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// From a neighbour.
    Link,
    /// From the host side.
    Host,
    /// This node made it.
    Own,
}

/// The link-layer address of the next hop, if the route leads over the radio.
pub(super) fn link_address(via: Via, dst: &redpoll_base::Addr) -> Option<Address> {
    match via {
        Via::Neighbour(address) => Some(address),
        Via::OnLink => match redpoll_wire::ipv6::addr::link_address(dst) {
            Address::Absent => None,
            address => Some(address),
        },
        Via::Host => None,
    }
}
