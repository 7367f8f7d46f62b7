//! The third of a node's three conductors: what lies above IPv6.
//!
//! [`Transport`] is the face of a transport; TCP and UDP are the two that stand
//! here. Another one with connections may take the place of TCP:
//! [`StreamTransport`], which by default is [`NoStreams`] and takes no place.
//! Applications that do not care which one it is call [`Streams`].
//! The choice is static: no transport is behind a pointer.

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

/// A packet for this node, at its transport.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'p> {
    /// Its IPv6 header.
    pub header: &'p Ipv6Header,
    /// To which of the node's addresses it was sent: the place of that address in
    /// [`Ask::own`].
    pub local: u8,
    /// The packet from the transport's header on.
    pub upper: &'p [u8],
}

/// What a transport has made of a packet.
#[derive(Debug)]
pub enum Outcome {
    /// It was for a socket here.
    Taken,
    /// It was dropped for this reason.
    Drop(DropReason),
    /// No socket is bound to the port that it was for.
    NoPort,
    /// It is answered.
    Reply(Reply),
    /// It belongs to no connection, and is answered by a reset.
    Reset(Reply),
}

/// An answer without payload, for the sender of what it answers.
#[derive(Debug)]
pub struct Reply(pub(crate) Header);

impl From<Header> for Reply {
    fn from(header: Header) -> Self {
        Reply(header)
    }
}

impl Reply {
    /// The number of its protocol in the IPv6 header.
    pub(crate) const PROTOCOL: u8 = next_header::TCP;

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// What an ICMPv6 error says about a packet of this node's (RFC 4443 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Trouble {
    /// No route to the destination.
    NoRoute,
    /// Communication is administratively prohibited.
    Prohibited,
    /// The address is unreachable.
    AddressUnreachable,
    /// Nobody is at the port.
    PortUnreachable,
    /// The hop limit or the time for reassembly was used up.
    TimeExceeded,
    /// A field of the packet was not understood.
    ParameterProblem,
    /// The packet is too large for a link on the path, which takes `mtu` bytes.
    PacketTooBig {
        /// 1,280 at least.
        mtu: u16,
    },
}

impl Trouble {
    /// What "destination unreachable" with this code says.
    pub(crate) fn unreachable(code: u8) -> Self {
        match code {
            unreachable::PROHIBITED => Trouble::Prohibited,
            unreachable::ADDRESS => Trouble::AddressUnreachable,
            unreachable::PORT => Trouble::PortUnreachable,
            _ => Trouble::NoRoute,
        }
    }
}

/// A side on which segments leave the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Over the radio.
    Link,
    /// To the host side.
    Host,
}

/// Who asks for a segment, and for what kind of one.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Over which side it will leave.
    pub side: Side,
    /// The longest segment in bytes, header included.
    pub max_len: usize,
    /// The node's addresses: link-local, global.
    pub own: [Addr; 2],
}

/// Whether a destination can be reached over the side that asks for segments.
#[derive(Clone, Copy, Debug)]
pub enum Reach<H> {
    /// Yes, by this next hop.
    Here(H),
    /// Over the other side, or not at this moment.
    Elsewhere,
    /// Not at all: there is no route.
    Nowhere,
}

/// Names a pulled segment while the link holds it, in the 32 bits that 6LoWPAN
/// keeps for its caller. One transport of a node has segments pulled; it gives the
/// bits their meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(pub u32);

/// A segment that a transport has made for the link or the host side. Its header
/// is fixed; its payload is [read](Transport::read) when it leaves.
#[derive(Debug)]
pub struct Pulled {
    pub(crate) handle: Handle,
    desc: SegmentDesc,
    src: Addr,
    dst: Addr,
    flow_label: u32,
}

impl Pulled {
    /// A segment from `src` to `dst`.
    pub fn new(handle: Handle, desc: SegmentDesc, src: Addr, dst: Addr) -> Self {
        Pulled {
            handle,
            desc,
            src,
            dst,
            flow_label: 0,
        }
    }

    /// The segment in a packet with this flow label, of which 20 bits count.
    #[must_use]
    pub fn labelled(self, flow_label: u32) -> Self {
        Pulled { flow_label, ..self }
    }

    /// By which name it is read.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// The transport's header.
    pub fn header(&self) -> &[u8] {
        self.desc.header.as_bytes()
    }

    /// Bytes behind it.
    pub fn payload_len(&self) -> u16 {
        self.desc.payload_len
    }

    /// The IPv6 header in front of it.
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

/// The face of a transport. A transport that is never pulled, because its
/// datagrams are made at once, leaves out what is about pulled segments.
pub trait Transport {
    /// A packet for this node.
    fn input(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome;

    /// Lets one of those whose remote address is in `reach` make a segment.
    fn pull<H>(
        &mut self,
        _now: Instant,
        _ask: &Ask,
        _counters: &mut NodeCounters,
        _reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, H)> {
        None
    }

    /// Payload of a pulled segment, from `offset` on.
    fn read(&self, _handle: Handle, _offset: usize, _out: &mut [u8]) -> Result<usize, Gone> {
        Err(Gone)
    }

    /// A pulled segment has left this node.
    fn on_sent(&mut self, _now: Instant, _handle: Handle) {}

    /// A pulled segment has been given up.
    fn on_lost(&mut self, _now: Instant, _handle: Handle) {}

    /// An ICMPv6 error quotes a packet of this transport: its IPv6 header, and as
    /// much as there is of the rest.
    fn on_icmp(&mut self, _now: Instant, _trouble: Trouble, _ip: &Ipv6Header, _rest: &[u8]) {}

    /// When [`Transport::on_timeout`] wants to be called.
    fn poll_at(&self) -> Option<Wake> {
        None
    }

    /// Does what is due.
    fn on_timeout(&mut self, _now: Instant, _counters: &mut NodeCounters) {}

    /// What an application may want to know.
    fn poll_event(&mut self) -> Option<NodeEvent>;
}

/// The transports of a node.
pub(crate) struct Transports<M: Memory + 'static, T, A: Algorithms> {
    pub(crate) tcp: TcpSockets<M, A>,
    pub(crate) udp: UdpSockets<M>,
    /// What may be in the place of TCP.
    pub(crate) streams: T,
}

impl<M: Memory + 'static, T: StreamTransport, A: Algorithms> Transports<M, T, A> {
    /// Hands a packet to the transport with this number; `None` if there is none.
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
            next_header::UDP => Some(self.udp.input(now, arrived, counters)),
            _ => None,
        }
    }

    /// A segment for the side that asks.
    pub(crate) fn pull<H>(
        &mut self,
        now: Instant,
        ask: &Ask,
        counters: &mut NodeCounters,
        reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, H)> {
        if self.streams.is_there() {
            return self.streams.pull(now, ask, counters, reach);
        }
        self.tcp.pull(now, ask, counters, reach)
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

    /// An ICMPv6 error with this quotation has come.
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

    /// Whether a packet is about to come.
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
        let event = self.tcp.poll_event().or_else(|| self.udp.poll_event());
        event.or_else(|| self.streams.poll_event())
    }
}
