//! etherparse and smoltcp parse the packets that Redpoll writes, with the same results as Redpoll.
//!
//! The tests leave out the fields in which these parsers have faults. smoltcp 0.12 supports no
//! context without a CID byte, omits `00ff:fe00` in 16-bit addresses with a context, and keeps 16
//! of a flow label's 20 bits; when sending, it drops the traffic class. It also misreads a
//! compressed UDP destination port, of 4 or of 8 bits. So smoltcp reads stateless addresses, the
//! ECN and DSCP fields, and UDP ports of which at most the source's is compressed; tshark checks
//! the rest.

use crate::common;

use common::*;
use etherparse::{NetHeaders, PacketHeaders, TcpSlice, TransportHeader};
use proptest::prelude::*;
use redpoll_base::Addr;
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::{Message, nd};
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};
use redpoll_wire::sixlowpan::iphc::{self, Upper};
use redpoll_wire::sixlowpan::{Contexts, fragment};
use redpoll_wire::tcp::{HeaderView, is_checksum_valid};
use redpoll_wire::udp::UdpHeader;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    Icmpv6Packet, Icmpv6Repr, Ieee802154Address, Ieee802154Frame, Ieee802154Repr, NdiscRepr,
    SixlowpanFragPacket, SixlowpanFragRepr, SixlowpanIphcPacket, SixlowpanIphcRepr,
    SixlowpanNextHeader, SixlowpanUdpNhcPacket, SixlowpanUdpNhcRepr,
};

fn written(buffer: &mut [u8], emit: impl FnOnce(&mut Cursor<'_>)) -> &mut [u8] {
    let mut out = Cursor::new(buffer);
    emit(&mut out);
    out.into_written()
}

fn with_smoltcp(message: &Message<'_>, look: impl FnOnce(NdiscRepr<'_>)) {
    let src = ipv6::addr::link_local_from_short(1);
    let dst = ipv6::addr::LINK_LOCAL_ALL_NODES;
    let mut buffer = [0; 200];
    let bytes = written(&mut buffer, |out| message.emit(&src, &dst, out).unwrap());
    let packet = Icmpv6Packet::new_checked(&*bytes).unwrap();
    let checksums = ChecksumCapabilities::default();
    match Icmpv6Repr::parse(&src.into(), &dst.into(), &packet, &checksums) {
        Ok(Icmpv6Repr::Ndisc(theirs)) => look(theirs),
        other => panic!("{other:?}"),
    }
}

fn to_smoltcp(address: Address) -> Option<Ieee802154Address> {
    match address {
        Address::Absent => None,
        Address::Short(short) => Some(Ieee802154Address::Short(short.to_be_bytes())),
        Address::Extended(eui64) => Some(Ieee802154Address::Extended(eui64)),
    }
}

proptest! {
    #[test]
    fn etherparse_reads_tcp(mut segment in bytes(80), words in 4..17u8) {
        if let Some(offset) = segment.get_mut(12) {
            *offset = words << 4 | *offset & 0x0f;
        }
        let theirs = TcpSlice::from_slice(&segment);
        let ours = HeaderView::parse(&segment);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok());
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            let ports = (theirs.source_port(), theirs.destination_port());
            prop_assert_eq!((ours.src_port(), ours.dst_port()), ports);
            prop_assert_eq!(ours.seq().0, theirs.sequence_number());
            prop_assert_eq!(ours.ack_field().0, theirs.acknowledgment_number());
            let controls = [
                theirs.fin(), theirs.syn(), theirs.rst(), theirs.psh(),
                theirs.ack(), theirs.urg(), theirs.ece(), theirs.cwr(),
            ];
            let bits = (0..8).filter(|bit| controls[*bit]).fold(0, |all, bit| all | 1 << bit);
            prop_assert_eq!(ours.flags().0, bits);
            prop_assert_eq!(ours.window(), theirs.window_size());
            prop_assert_eq!(ours.checksum(), theirs.checksum());
            prop_assert_eq!(ours.urgent_pointer(), theirs.urgent_pointer());
            prop_assert_eq!(ours.options().0, theirs.options());
            prop_assert_eq!(ours.payload(), theirs.payload());
            let (src, dst) = ([1; 16], [2; 16]);
            let sum = theirs.calc_checksum_ipv6(src, dst).unwrap();
            let is_right = is_checksum_valid(&Addr(src), &Addr(dst), &segment);
            prop_assert_eq!(is_right, sum == theirs.checksum());
            segment[16..18].copy_from_slice(&sum.to_be_bytes());
            prop_assert!(is_checksum_valid(&Addr(src), &Addr(dst), &segment));
        }
    }

    #[test]
    fn etherparse_reads_ipv6_and_udp(
        (src_port, dst_port) in any::<(u16, u16)>(),
        header in ipv6_header(any::<[u8; 16]>().prop_map(Addr), any::<[u8; 16]>().prop_map(Addr)),
        payload in bytes(80),
    ) {
        let udp = UdpHeader::for_payload(
            &header.src, src_port, &header.dst, dst_port, &payload,
        )
        .unwrap();
        let ip = Ipv6Header {
            payload_len: udp.length,
            next_header: next_header::UDP,
            ..header
        };
        let mut packet = ip.to_bytes().to_vec();
        packet.extend(udp.to_bytes());
        packet.extend(&payload);

        let theirs = PacketHeaders::from_ip_slice(&packet).unwrap();
        let Some(NetHeaders::Ipv6(net, _)) = theirs.net else { panic!("not IPv6") };
        prop_assert_eq!(net.traffic_class, ip.traffic_class());
        prop_assert_eq!(net.flow_label.value(), ip.flow_label);
        prop_assert_eq!(net.payload_length, ip.payload_len);
        prop_assert_eq!(net.hop_limit, ip.hop_limit);
        prop_assert_eq!(net.source, ip.src.0);
        prop_assert_eq!(net.destination, ip.dst.0);
        let Some(TransportHeader::Udp(transport)) = theirs.transport else { panic!("not UDP") };
        prop_assert_eq!(transport.source_port, src_port);
        prop_assert_eq!(transport.destination_port, dst_port);
        prop_assert_eq!(transport.calc_checksum_ipv6(&net, &payload), Ok(udp.checksum));
        prop_assert_eq!(theirs.payload.slice(), payload);
    }

    /// Both parsers find the same end of a chain of extension headers, or both report an error.
    #[test]
    fn etherparse_walks_extension_headers_alike(
        chain in prop::collection::vec((0..3usize, 0..3u8), 0..4),
        cut in 0..100usize,
    ) {
        let kinds = [next_header::DST_OPTIONS, next_header::ROUTING, next_header::TCP];
        let number = |i: usize| chain.get(i).map_or(next_header::TCP, |(kind, _)| kinds[*kind]);
        let mut payload = Vec::new();
        for (i, (_, units)) in chain.iter().enumerate() {
            payload.extend([number(i + 1), *units]);
            payload.resize(payload.len() + 6 + 8 * usize::from(*units), 0);
        }
        payload.extend([0; 20]);
        payload.truncate(payload.len() - cut.min(payload.len()));

        let ours = ipv6::skip_extension_headers(number(0), &payload);
        let theirs = etherparse::Ipv6ExtensionsSlice::from_slice(number(0).into(), &payload);
        match (ours, theirs) {
            (Ok((upper, at)), Ok((_, number, rest))) => {
                // etherparse stores one header of each kind and stops at the next.
                let next = ipv6::skip_extension_headers(number.0, rest);
                prop_assert_eq!(next, Ok((upper, at - (payload.len() - rest.len()))));
            }
            (Err(_), Err(_)) => {}
            (Err(_), Ok((_, number, rest))) => {
                prop_assert!(ipv6::skip_extension_headers(number.0, rest).is_err());
            }
            (ours, theirs) => prop_assert!(false, "{ours:?} but {theirs:?}"),
        }
    }

    #[test]
    fn etherparse_and_smoltcp_read_echoes(ident: u16, seq: u16, data in bytes(60), reply: bool) {
        let (src, dst) = (PREFIX, ipv6::addr::from_prefix_and_short(&PREFIX, 2));
        let message = if reply {
            Message::EchoReply { ident, seq, data: &data }
        } else {
            Message::EchoRequest { ident, seq, data: &data }
        };
        let mut buffer = [0; 200];
        let bytes = written(&mut buffer, |out| message.emit(&src, &dst, out).unwrap());

        let slice = etherparse::Icmpv6Slice::from_slice(bytes).unwrap();
        prop_assert!(slice.is_checksum_valid(src.0, dst.0));
        let header = etherparse::IcmpEchoHeader { id: ident, seq };
        prop_assert_eq!(slice.icmp_type(), if reply {
            etherparse::Icmpv6Type::EchoReply(header)
        } else {
            etherparse::Icmpv6Type::EchoRequest(header)
        });

        let theirs = Icmpv6Repr::parse(
            &src.into(),
            &dst.into(),
            &Icmpv6Packet::new_checked(&*bytes).unwrap(),
            &ChecksumCapabilities::default(),
        )
        .unwrap();
        prop_assert_eq!(theirs, if reply {
            Icmpv6Repr::EchoReply { ident, seq_no: seq, data: &data }
        } else {
            Icmpv6Repr::EchoRequest { ident, seq_no: seq, data: &data }
        });
    }

    #[test]
    fn smoltcp_reads_neighbour_advertisements(
        eui64: [u8; 8],
        [router, solicited, override_cached] in any::<[bool; 3]>(),
    ) {
        let target = ipv6::addr::link_local_from_eui64(eui64);
        let mut chain = [0; 24];
        let options = written(&mut chain, |out| {
            let address = nd::NdOption::TargetLinkLayer(Address::Extended(eui64));
            address.emit(out).unwrap();
        });
        let message = Message::NeighborAdvertisement(nd::NeighborAdvertisement {
            router,
            solicited,
            override_cached,
            target,
            options: nd::Options::parse(options).unwrap(),
        });
        with_smoltcp(&message, |theirs| {
            let NdiscRepr::NeighborAdvert { flags, target_addr, lladdr } = theirs else {
                panic!("{theirs:?}");
            };
            let bits = [(router, 0x80), (solicited, 0x40), (override_cached, 0x20)];
            let expected = bits.iter().map(|(set, bit)| u8::from(*set) * bit).sum();
            assert_eq!(flags.bits(), expected);
            assert_eq!(Addr::from(target_addr), target);
            let lladdr = lladdr.expect("there is a target-link-layer option");
            assert_eq!(lladdr.as_bytes(), eui64);
        });
    }

    #[test]
    fn smoltcp_reads_router_advertisements(
        mtu: u32,
        [on_link, autonomous] in any::<[bool; 2]>(),
        lifetime: u16,
    ) {
        let mut chain = [0; 40];
        let options = written(&mut chain, |out| {
            nd::NdOption::Mtu(mtu).emit(out).unwrap();
            let prefix = nd::PrefixInformation {
                prefix: PREFIX,
                prefix_len: 64,
                on_link,
                autonomous,
                valid_lifetime_s: 600,
                preferred_lifetime_s: 300,
            };
            nd::NdOption::PrefixInformation(prefix).emit(out).unwrap();
        });
        let message = Message::RouterAdvertisement(nd::RouterAdvertisement {
            cur_hop_limit: 64,
            router_lifetime_s: lifetime,
            options: nd::Options::parse(options).unwrap(),
            ..nd::RouterAdvertisement::default()
        });
        with_smoltcp(&message, |theirs| {
            let NdiscRepr::RouterAdvert {
                hop_limit, router_lifetime, mtu: their_mtu, prefix_info, ..
            } = theirs
            else {
                panic!("{theirs:?}");
            };
            assert_eq!((hop_limit, router_lifetime.secs()), (64, lifetime.into()));
            assert_eq!(their_mtu, Some(mtu));
            let prefix = prefix_info.expect("there is a prefix option");
            assert_eq!(Addr::from(prefix.prefix), PREFIX);
            assert_eq!((prefix.prefix_len, prefix.valid_lifetime.secs()), (64, 600));
            let bits = u8::from(on_link) * 0x80 + u8::from(autonomous) * 0x40;
            assert_eq!(prefix.flags.bits(), bits);
        });
    }

    #[test]
    fn smoltcp_reads_frames(
        dsn: u8,
        [ack_request, frame_pending, same_pan] in any::<[bool; 3]>(),
        [dst_pan, other_pan] in any::<[u16; 2]>(),
        dst in link_address(),
        src in link_address(),
        payload in bytes(20),
    ) {
        let src_pan = if same_pan { dst_pan } else { other_pan };
        let header = FrameHeader {
            frame_type: FrameType::Data,
            ack_request,
            frame_pending,
            version: 1,
            dsn,
            dst_pan: Some(dst_pan),
            dst,
            src_pan: Some(src_pan),
            src,
            ..FrameHeader::default()
        };
        let mut buffer = [0; 64];
        let bytes = written(&mut buffer, |out| {
            header.emit(out).unwrap();
            out.put(&payload).unwrap();
        });
        let frame = Ieee802154Frame::new_checked(&*bytes).unwrap();
        let theirs = Ieee802154Repr::parse(&frame).unwrap();
        prop_assert_eq!(theirs.sequence_number, Some(dsn));
        prop_assert_eq!(theirs.ack_request, ack_request);
        prop_assert_eq!(theirs.frame_pending, frame_pending);
        prop_assert_eq!(theirs.pan_id_compression, dst_pan == src_pan);
        prop_assert_eq!(theirs.dst_pan_id.map(|pan| pan.0), Some(dst_pan));
        prop_assert_eq!(theirs.dst_addr, to_smoltcp(dst));
        if dst_pan != src_pan {
            prop_assert_eq!(theirs.src_pan_id.map(|pan| pan.0), Some(src_pan));
        }
        prop_assert_eq!(theirs.src_addr, to_smoltcp(src));
        prop_assert_eq!(frame.payload(), Some(payload.as_slice()));
    }

    #[test]
    fn smoltcp_reads_fragment_headers(size in 1..2048u16, tag: u16, units in 0..=255u8) {
        let offset = (u16::from(units) * 8 % size) & !7;
        let mut buffer = [0; 5];
        for (header, expected) in [
            (
                fragment::Header::First { size, tag },
                SixlowpanFragRepr::FirstFragment { size, tag },
            ),
            (
                fragment::Header::Next { size, tag, offset },
                SixlowpanFragRepr::Fragment { size, tag, offset: (offset / 8) as u8 },
            ),
        ] {
            let bytes = written(&mut buffer, |out| header.emit(out).unwrap());
            let packet = SixlowpanFragPacket::new_checked(&*bytes).unwrap();
            prop_assert_eq!(SixlowpanFragRepr::parse(&packet), Ok(expected));
        }
    }

    #[test]
    fn smoltcp_expands_what_we_compress(
        (link_src, link_dst, ip) in (link_address(), link_address()).prop_flat_map(|(src, dst)| (
            Just(src),
            Just(dst),
            ipv6_header(
                prop_oneof![Just(Addr::UNSPECIFIED), stateless_unicast(src)],
                prop_oneof![multicast(), stateless_unicast(dst)],
            ),
        )),
        ports in prop::option::of((0xf000..=0xf1ffu16, 0xf100..=0xf1ffu16)),
        payload in bytes(40),
    ) {
        let udp = ports.map(|(src_port, dst_port)| {
            UdpHeader::for_payload(&ip.src, src_port, &ip.dst, dst_port, &payload).unwrap()
        });
        let ip = match udp {
            Some(udp) => Ipv6Header {
                payload_len: udp.length,
                next_header: next_header::UDP,
                ..ip
            },
            None => ip,
        };
        let upper = udp.as_ref().map_or(Upper::Other, Upper::Udp);
        let mut buffer = [0; 128];
        let contexts = Contexts::new();
        let bytes = written(&mut buffer, |out| {
            iphc::compress(&ip, upper, link_src, link_dst, &contexts, out).unwrap();
            out.put(&payload).unwrap();
        });

        let packet = SixlowpanIphcPacket::new_checked(&*bytes).unwrap();
        let theirs =
            SixlowpanIphcRepr::parse(&packet, to_smoltcp(link_src), to_smoltcp(link_dst), &[])
                .unwrap();
        prop_assert_eq!(Addr::from(theirs.src_addr), ip.src);
        prop_assert_eq!(Addr::from(theirs.dst_addr), ip.dst);
        prop_assert_eq!(theirs.hop_limit, ip.hop_limit);
        prop_assert_eq!(theirs.ecn.unwrap_or(0) >> 6, ip.ecn.bits());
        prop_assert_eq!(theirs.dscp.unwrap_or(0), ip.dscp);
        match udp {
            None => {
                let number = SixlowpanNextHeader::Uncompressed(ip.next_header.into());
                prop_assert_eq!(theirs.next_header, number);
                prop_assert_eq!(packet.payload(), payload);
            }
            Some(udp) => {
                prop_assert_eq!(theirs.next_header, SixlowpanNextHeader::Compressed);
                let nhc = SixlowpanUdpNhcPacket::new_checked(packet.payload()).unwrap();
                let datagram = SixlowpanUdpNhcRepr::parse(
                    &nhc,
                    &theirs.src_addr,
                    &theirs.dst_addr,
                    &ChecksumCapabilities::default(),
                )
                .unwrap();
                prop_assert_eq!(datagram.src_port, udp.src_port);
                prop_assert_eq!(datagram.dst_port, udp.dst_port);
                prop_assert_eq!(nhc.payload(), payload);
            }
        }
    }
}
