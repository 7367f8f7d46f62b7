//! The third of a node's three parts: the layers above IPv6.
//!
//! [`Transport`] is the interface of a transport; TCP and UDP implement it. Another transport with
//! connections may take the place of TCP: [`StreamTransport`], by default [`NoStreams`].
//! Applications that support both TCP and its replacement call [`Streams`]. The transports are type
//! parameters, without dynamic dispatch.

mod streams;
pub(crate) mod tcp;
pub(crate) mod udp;

use redpoll_base::{Addr, Ecn, Instant, Memory, Wake, earliest};
use redpoll_tcp::{Algorithms, Gone, Header, SegmentDesc};
use redpoll_wire::icmpv6::unreachable;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use crate::NodeEvent;
use crate::counters::{DropReason, NodeCounters};
pub use streams::{NoStreams, Stream, StreamTransport, Streams};
use tcp::TcpSockets;
use udp::UdpSockets;

/// A packet for this node, as its transport receives it.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'p> {
    /// The packet's IPv6 header.
    pub header: &'p Ipv6Header,
    /// The node's address to which the packet was sent, as an index of [`Ask::own`].
    pub local: u8,
    /// The bytes from the transport's header on.
    pub upper: &'p [u8],
}

/// The outcome of a packet at its transport.
#[derive(Debug)]
pub enum Outcome {
    /// A socket accepted the packet.
    Taken,
    /// The packet was dropped for this reason.
    Drop(DropReason),
    /// No socket is bound to the packet's destination port.
    NoPort,
    /// The node answers the packet.
    Reply(Reply),
    /// The packet belongs to no connection; the node answers with a reset.
    Reset(Reply),
}

/// An answer without payload.
#[derive(Debug)]
pub struct Reply(pub(crate) Header);

impl From<Header> for Reply {
    fn from(header: Header) -> Self {
        Reply(header)
    }
}

impl Reply {
    pub(crate) const PROTOCOL: u8 = next_header::TCP;

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The content of an ICMPv6 error about a packet of this node (RFC 4443 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Trouble {
    /// No route to the destination.
    NoRoute,
    /// Communication is administratively prohibited.
    Prohibited,
    /// The address is unreachable.
    AddressUnreachable,
    /// No socket is bound to the port.
    PortUnreachable,
    /// The hop limit or the time for reassembly was used up.
    TimeExceeded,
    /// A node did not understand a field of the packet.
    ParameterProblem,
    /// The packet is too large for a link on the path, whose MTU is `mtu` bytes.
    PacketTooBig {
        /// MTU in bytes, at least 1,280.
        mtu: u16,
    },
}

impl Trouble {
    pub(crate) fn unreachable(code: u8) -> Self {
        match code {
            unreachable::PROHIBITED => Trouble::Prohibited,
            unreachable::ADDRESS => Trouble::AddressUnreachable,
            unreachable::PORT => Trouble::PortUnreachable,
            _ => Trouble::NoRoute,
        }
    }
}

/// An interface through which segments leave the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The radio.
    Link,
    /// The host side.
    Host,
}

/// A request for a segment, and the limits of the segment.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The interface through which the segment will leave.
    pub side: Side,
    /// Longest segment in bytes, with the transport's header but without the IPv6 header.
    pub max_len: usize,
    /// The node's addresses: link-local, global.
    pub own: [Addr; 2],
}

/// Whether a destination is reachable over the side that requests a segment.
#[derive(Clone, Copy, Debug)]
pub enum Reach<H> {
    /// Reachable over this side, by this next hop.
    Here(H),
    /// Not reachable now, or only over the side that does not request the segment.
    Elsewhere,
    /// Not reachable: there is no route to the destination.
    Nowhere,
}

/// The handle of a segment while the link holds it, in the 32 bits that 6LoWPAN keeps for its
/// caller. Only one transport of a node creates such segments, so it alone defines the meaning of
/// the bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(pub u32);

/// A segment that a transport has made for the link or the host side. Its header is fixed; its
/// payload is [read](Transport::read) when it leaves.
#[derive(Debug)]
pub struct Pulled {
    pub(crate) handle: Handle,
    desc: SegmentDesc,
    src: Addr,
    pub(crate) dst: Addr,
    flow_label: u32,
}

impl Pulled {
    /// Returns a segment from `src` to `dst`.
    pub fn new(handle: Handle, desc: SegmentDesc, src: Addr, dst: Addr) -> Self {
        Pulled {
            handle,
            desc,
            src,
            dst,
            flow_label: 0,
        }
    }

    /// Sets the flow label of the packet, of 20 bits.
    #[must_use]
    pub fn labelled(self, flow_label: u32) -> Self {
        Pulled { flow_label, ..self }
    }

    /// Returns the handle for [`Transport::read`].
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the transport's header.
    pub fn header(&self) -> &[u8] {
        self.desc.header.as_bytes()
    }

    /// Returns the length of the payload in bytes.
    pub fn payload_len(&self) -> u16 {
        self.desc.payload_len
    }

    /// Returns the IPv6 header of the packet.
    pub fn ip_header(&self, hop_limit: u8) -> Ipv6Header {
        let header_len = self.header().len() as u16;
        let ecn: Ecn = self.desc.ecn;
        Ipv6Header {
            ecn,
            payload_len: self.desc.payload_len.saturating_add(header_len),
            next_header: next_header::TCP,
            hop_limit,
            src: self.src,
            dst: self.dst,
            flow_label: self.flow_label,
            ..Ipv6Header::default()
        }
    }
}

/// The interface of a transport. A transport that sends its packets at once, as UDP does, keeps the
/// default of the functions for segments.
pub trait Transport {
    /// Processes a packet for this node.
    fn input(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome;

    /// Makes a segment for a connection for whose remote address `_reach` does not return
    /// [`Reach::Elsewhere`], and returns it with its next hop. The node reports a segment without
    /// a next hop as lost, so that its connection backs off and finally fails, as over a dead link.
    fn pull<H>(
        &mut self,
        _now: Instant,
        _ask: &Ask,
        _reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        None
    }

    /// Reads the payload of a segment from `offset` on.
    fn read(&self, _handle: Handle, _offset: usize, _out: &mut [u8]) -> Result<usize, Gone> {
        Err(Gone)
    }

    /// Reports that a segment has left this node.
    fn on_sent(&mut self, _now: Instant, _handle: Handle) {}

    /// Reports that the link has given up a segment.
    fn on_lost(&mut self, _now: Instant, _handle: Handle) {}

    /// Handles an ICMPv6 error that quotes a packet of this transport: the packet's IPv6 header,
    /// and as much of the rest as the error contains.
    fn on_icmp(&mut self, _now: Instant, _trouble: Trouble, _ip: &Ipv6Header, _rest: &[u8]) {}

    /// Returns the time of the next call of [`Transport::on_timeout`].
    fn poll_at(&self) -> Option<Wake> {
        None
    }

    /// Runs the timers that are due.
    fn on_timeout(&mut self, _now: Instant, _counters: &mut NodeCounters) {}

    /// Returns the next event for the application.
    fn poll_event(&mut self) -> Option<NodeEvent>;
}

pub(crate) struct Transports<M: Memory + 'static, T, A: Algorithms> {
    pub(crate) tcp: TcpSockets<M, A>,
    pub(crate) udp: UdpSockets<M>,
    /// The transport in place of TCP, if any.
    pub(crate) streams: T,
}

impl<M: Memory + 'static, T: StreamTransport, A: Algorithms> Transports<M, T, A> {
    /// Passes a packet to the transport of this protocol number; `None` if there is none.
    pub(crate) fn input(
        &mut self,
        now: Instant,
        protocol: u8,
        arrived: &Arrived<'_>,
        counters: &mut NodeCounters,
    ) -> Option<Outcome> {
        match protocol {
            next_header::TCP if self.streams.is_there() => {
                Some(self.streams.input(now, arrived, counters))
            }
            next_header::TCP => Some(self.tcp.input(now, arrived, counters)),
            next_header::UDP if M::HAS_UDP => Some(self.udp.input(now, arrived, counters)),
            _ => None,
        }
    }

    pub(crate) fn pull<H>(
        &mut self,
        now: Instant,
        ask: &Ask,
        reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        if self.streams.is_there() {
            return self.streams.pull(now, ask, reach);
        }
        self.tcp.pull(now, ask, reach)
    }

    pub(crate) fn read(
        &self,
        handle: Handle,
        offset: usize,
        out: &mut [u8],
    ) -> Result<usize, Gone> {
        if self.streams.is_there() {
            return self.streams.read(handle, offset, out);
        }
        self.tcp.read(handle, offset, out)
    }

    pub(crate) fn on_sent(&mut self, now: Instant, handle: Handle) {
        if self.streams.is_there() {
            return self.streams.on_sent(now, handle);
        }
        self.tcp.on_sent(now, handle);
    }

    pub(crate) fn on_lost(&mut self, now: Instant, handle: Handle) {
        if self.streams.is_there() {
            return self.streams.on_lost(now, handle);
        }
        self.tcp.on_lost(now, handle);
    }

    #[inline(never)] // stack
    pub(crate) fn on_icmp(&mut self, now: Instant, trouble: Trouble, quoted: &[u8]) {
        let Ok((ip, rest)) = Ipv6Header::parse_partial(quoted) else {
            return;
        };
        if ip.next_header == next_header::TCP {
            if self.streams.is_there() {
                return self.streams.on_icmp(now, trouble, &ip, rest);
            }
            self.tcp.on_icmp(now, trouble, &ip, rest);
        }
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        let own = earliest(self.tcp.poll_at(), self.udp.poll_at());
        earliest(own, self.streams.poll_at())
    }

    pub(crate) fn expects(&self) -> bool {
        self.streams.expects() || self.tcp.expects()
    }

    pub(crate) fn on_timeout(&mut self, now: Instant, counters: &mut NodeCounters) {
        if self.tcp.poll_at().is_some_and(|wake| wake.at <= now) {
            self.tcp.on_timeout(now, counters);
        }
        if self.streams.poll_at().is_some_and(|wake| wake.at <= now) {
            self.streams.on_timeout(now, counters);
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<NodeEvent> {
        let event = self.tcp.poll_event();
        let event = match M::HAS_UDP {
            true => event.or_else(|| self.udp.poll_event()),
            false => event,
        };
        event.or_else(|| self.streams.poll_event())
    }
}
