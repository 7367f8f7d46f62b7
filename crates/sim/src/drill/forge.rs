//! Packets and frames of an attacker: well formed where necessary, with false content.

use redpoll_base::Addr;
use redpoll_base::checksum::Checksum;
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, DATA_REQUEST, FrameHeader, FrameType};
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::rpl::SourceRoute;
use redpoll_wire::sixlowpan::IPV6_DISPATCH;
use redpoll_wire::sixlowpan::recoverable::Fragment;

pub(super) mod flag {
    pub(in crate::drill) const SYN: u8 = 2;
    pub(in crate::drill) const RST: u8 = 4;
    pub(in crate::drill) const ACK: u8 = 16;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) src: Addr,
    pub(super) dst: Addr,
}

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Tcp<'a> {
    pub(super) src_port: u16,
    pub(super) dst_port: u16,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: u8,
    pub(super) window: u16,
    pub(super) data: &'a [u8],
}

impl Ends {
    fn packet(
        self,
        protocol: u8,
        hop_limit: u8,
        checksum_at: usize,
        mut upper: Vec<u8>,
    ) -> Vec<u8> {
        let Ends { src, dst } = self;
        let mut sum = Checksum::pseudo_header(&src, &dst, protocol, upper.len() as u32);
        sum.add(&upper);
        upper[checksum_at..checksum_at + 2].copy_from_slice(&sum.finish().to_be_bytes());
        self.raw(protocol, hop_limit, &upper)
    }

    /// Returns a packet with a source route (RFC 6554) through `stops`.
    pub(super) fn source_route(self, hop_limit: u8, stops: &[Addr]) -> Vec<u8> {
        let mut buffer = [0; 64];
        let mut out = Cursor::new(&mut buffer);
        let written = SourceRoute::emit(next_header::NONE, 14, stops.iter().copied(), &mut out);
        debug_assert!(written.is_ok(), "the source route fits into the buffer");
        self.raw(next_header::ROUTING, hop_limit, out.written())
    }

    /// Returns a packet with the bytes `upper` after the IPv6 header.
    pub(super) fn raw(self, protocol: u8, hop_limit: u8, upper: &[u8]) -> Vec<u8> {
        let Ends { src, dst } = self;
        let header = Ipv6Header {
            payload_len: upper.len() as u16,
            next_header: protocol,
            hop_limit,
            src,
            dst,
            ..Ipv6Header::default()
        };
        [&header.to_bytes(), upper].concat()
    }

    pub(super) fn tcp(self, tcp: &Tcp<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(tcp.src_port.to_be_bytes());
        bytes.extend(tcp.dst_port.to_be_bytes());
        bytes.extend(tcp.seq.to_be_bytes());
        bytes.extend(tcp.ack.to_be_bytes());
        bytes.extend([5 << 4, tcp.flags]);
        bytes.extend(tcp.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(tcp.data);
        self.packet(next_header::TCP, 64, 16, bytes)
    }

    pub(super) fn udp(self, ports: (u16, u16), data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(ports.0.to_be_bytes());
        bytes.extend(ports.1.to_be_bytes());
        bytes.extend((data.len() as u16 + 8).to_be_bytes());
        bytes.extend([0; 2]);
        bytes.extend(data);
        self.packet(next_header::UDP, 64, 6, bytes)
    }

    /// Returns an ICMPv6 message from type, code and the bytes after the checksum.
    pub(super) fn icmp(self, hop_limit: u8, (kind, code): (u8, u8), rest: &[u8]) -> Vec<u8> {
        let message = [&[kind, code, 0, 0], rest].concat();
        self.packet(next_header::ICMPV6, hop_limit, 2, message)
    }

    pub(super) fn echo_request(self, seq: u16, data: &[u8]) -> Vec<u8> {
        let [high, low] = seq.to_be_bytes();
        self.icmp(64, (128, 0), &[&[7, 7, high, low], data].concat())
    }

    /// Returns a neighbour solicitation that registers the source address for `eui64` (RFC 8505
    /// §4.1), with link address, transaction identifier and lifetime in minutes.
    pub(super) fn registration(self, link: u16, eui64: [u8; 8], tid: u8, minutes: u16) -> Vec<u8> {
        let [high, low] = link.to_be_bytes();
        let [m1, m0] = minutes.to_be_bytes();
        let source = [1, 1, high, low, 0, 0, 0, 0];
        let asked = [33, 2, 0, 0, 3, tid, m1, m0];
        // RFC 8505 §5.5: the registered address is the target.
        let rest = [&[0; 4], &self.src.0[..], &source, &asked, &eui64].concat();
        self.icmp(255, (135, 0), &rest)
    }

    /// Returns a duplicate address request between routers (RFC 8505 §4.2).
    pub(super) fn report(self, eui64: [u8; 8], tid: u8, minutes: u16, address: Addr) -> Vec<u8> {
        let [m1, m0] = minutes.to_be_bytes();
        let rest = [&[0, tid, m1, m0], &eui64[..], &address.0].concat();
        self.icmp(255, (157, 1), &rest)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) pan_id: u16,
    pub(super) src: u16,
    pub(super) dst: u16,
    pub(super) dsn: u8,
}

impl Claim {
    fn frame(self, frame_type: FrameType, payload: &[u8]) -> Vec<u8> {
        let header = FrameHeader {
            frame_type,
            ack_request: Address::Short(self.dst) != Address::BROADCAST,
            version: 0,
            dsn: self.dsn,
            dst_pan: Some(self.pan_id),
            dst: Address::Short(self.dst),
            src_pan: Some(self.pan_id),
            src: Address::Short(self.src),
            ..FrameHeader::default()
        };
        let mut frame = [0; redpoll_mac::FrameBuf::CAPACITY];
        let mut out = Cursor::new(&mut frame);
        let written = header.emit(&mut out).and_then(|()| out.put(payload));
        debug_assert!(
            written.is_ok(),
            "the forged frame is short enough for a radio"
        );
        let len = out.position();
        frame[..len].to_vec()
    }

    pub(super) fn data(self, payload: &[u8]) -> Vec<u8> {
        self.frame(FrameType::Data, payload)
    }

    pub(super) fn data_request(self) -> Vec<u8> {
        self.frame(FrameType::Command, &[DATA_REQUEST])
    }

    /// Returns a packet in one frame, with an uncompressed header (RFC 4944 §5.1).
    pub(super) fn packet(self, packet: &[u8]) -> Vec<u8> {
        self.data(&[&[IPV6_DISPATCH], packet].concat())
    }

    /// Returns the first fragment of a datagram of `size` bytes (RFC 4944 §5.3) that begins with
    /// `packet`, whose length is a multiple of eight.
    pub(super) fn first_fragment(self, packet: &[u8], size: u16, tag: u16) -> Vec<u8> {
        let [s1, s0] = (0b1100_0000_0000_0000 | size).to_be_bytes();
        let [t1, t0] = tag.to_be_bytes();
        self.data(&[&[s1, s0, t1, t0, IPV6_DISPATCH], packet].concat())
    }

    /// Returns the recoverable first fragment (RFC 8931 §5.1) of a datagram of `size` bytes, whose
    /// IPv6 header is uncompressed.
    pub(super) fn recoverable_first(self, packet: &[u8], size: u16, tag: u8) -> Vec<u8> {
        let header = Fragment {
            ecn: false,
            tag,
            ack_request: false,
            sequence: 0,
            size: packet.len() as u16 + 1,
            offset: size,
        };
        let mut head = [0; Fragment::LEN];
        let written = header.emit(&mut Cursor::new(&mut head));
        debug_assert!(written.is_ok(), "the buffer is as long as the header");
        self.data(&[&head[..], &[IPV6_DISPATCH], packet].concat())
    }
}
