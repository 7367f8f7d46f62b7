//! Any emitted header is parsed back unchanged.

use crate::common;

use common::*;
use proptest::prelude::*;
use redpoll_base::{Addr, Ecn};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::*;
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};
use redpoll_wire::sixlowpan::fragment;
use redpoll_wire::sixlowpan::iphc::{self, Upper};
use redpoll_wire::udp::UdpHeader;

fn emitted<E: std::fmt::Debug>(emit: impl FnOnce(&mut Cursor<'_>) -> Result<(), E>) -> Vec<u8> {
    let mut buffer = [0; 2048];
    let mut out = Cursor::new(&mut buffer);
    emit(&mut out).expect("the buffer is long enough");
    out.written().to_vec()
}

fn any_ipv6() -> impl Strategy<Value = Ipv6Header> {
    let address = || any::<[u8; 16]>().prop_map(Addr);
    ipv6_header(address(), address())
}

fn frame_header() -> impl Strategy<Value = FrameHeader> {
    let frame_type = prop::sample::select(vec![
        FrameType::Beacon,
        FrameType::Data,
        FrameType::Ack,
        FrameType::Command,
    ]);
    let address = || prop_oneof![Just(Address::Absent), link_address()];
    (
        frame_type,
        any::<[bool; 4]>(),
        0..2u8,
        any::<u8>(),
        address(),
        address(),
        any::<[u16; 2]>(),
    )
        .prop_map(
            |(frame_type, flags, version, dsn, dst, src, [dst_pan, other])| {
                let [security, frame_pending, ack_request, same_pan] = flags;
                let src_pan = if same_pan { dst_pan } else { other };
                FrameHeader {
                    frame_type,
                    security,
                    frame_pending,
                    ack_request,
                    version,
                    dsn,
                    dst_pan: (dst != Address::Absent).then_some(dst_pan),
                    dst,
                    src_pan: (src != Address::Absent).then_some(src_pan),
                    src,
                }
            },
        )
}

fn nd_option() -> impl Strategy<Value = NdOption<'static>> {
    let addr = || any::<[u8; 16]>().prop_map(Addr);
    prop_oneof![
        link_address().prop_map(NdOption::SourceLinkLayer),
        link_address().prop_map(NdOption::TargetLinkLayer),
        any::<u32>().prop_map(NdOption::Mtu),
        (addr(), 0..=128u8, any::<[bool; 2]>(), any::<[u32; 2]>()).prop_map(
            |(prefix, prefix_len, [on_link, autonomous], [valid, preferred])| {
                NdOption::PrefixInformation(PrefixInformation {
                    prefix: addr::prefix(&prefix, prefix_len),
                    prefix_len,
                    on_link,
                    autonomous,
                    valid_lifetime_s: valid,
                    preferred_lifetime_s: preferred,
                })
            }
        ),
        (
            any::<u8>(),
            any::<Option<u8>>(),
            any::<bool>(),
            any::<u16>(),
            any::<[u8; 8]>()
        )
            .prop_map(|(status, tid, routed, lifetime_min, eui64)| {
                NdOption::AddressRegistration(AddressRegistration {
                    status,
                    tid: tid.map(Tid),
                    routed: tid.is_some() && routed,
                    lifetime_min,
                    eui64,
                })
            }),
        (0..16u8, any::<bool>(), 0..=128u8, addr(), any::<u16>()).prop_map(
            |(cid, compress, prefix_len, prefix, valid_lifetime_min)| {
                NdOption::Context(ContextInformation {
                    cid,
                    compress,
                    prefix_len,
                    prefix: addr::prefix(&prefix, prefix_len),
                    valid_lifetime_min,
                })
            }
        ),
        (any::<u32>(), any::<u16>(), addr()).prop_map(|(version, valid_lifetime_min, address)| {
            NdOption::BorderRouter(BorderRouter {
                version,
                valid_lifetime_min,
                address,
            })
        }),
        Just(NdOption::Unknown {
            option_type: 200,
            body: &[1, 2, 3, 4, 5, 6],
        }),
    ]
}

/// Returns a message of any type, with the values of the arguments as its fields.
fn message<'a>(
    kind: u8,
    word: u32,
    flags: [bool; 3],
    target: Addr,
    data: &'a [u8],
    options: Options<'a>,
) -> Message<'a> {
    let [code, _, high, low] = word.to_be_bytes();
    let seq = u16::from_be_bytes([high, low]);
    let [a, b, c] = flags;
    match kind {
        0 => Message::DestinationUnreachable { code, quoted: data },
        1 => Message::PacketTooBig {
            mtu: word,
            quoted: data,
        },
        2 => Message::TimeExceeded { code, quoted: data },
        3 => Message::ParameterProblem {
            code,
            pointer: word,
            quoted: data,
        },
        4 => Message::EchoRequest {
            ident: !seq,
            seq,
            data,
        },
        5 => Message::EchoReply {
            ident: !seq,
            seq,
            data,
        },
        6 => Message::RouterSolicitation { options },
        7 => Message::RouterAdvertisement(RouterAdvertisement {
            cur_hop_limit: code,
            managed: a,
            other: b,
            router_lifetime_s: seq,
            reachable_time_ms: word,
            retrans_timer_ms: !word,
            options,
        }),
        8 => Message::NeighborSolicitation(NeighborSolicitation { target, options }),
        10 | 11 => {
            let message = DuplicateAddress {
                status: code,
                tid: a.then_some(Tid(code)),
                lifetime_min: seq,
                eui64: [code; 8],
                address: target,
            };
            match kind {
                10 => Message::DuplicateAddressRequest(message),
                _ => Message::DuplicateAddressConfirmation(message),
            }
        }
        _ => Message::NeighborAdvertisement(NeighborAdvertisement {
            router: a,
            solicited: b,
            override_cached: c,
            target,
            options,
        }),
    }
}

proptest! {
    #[test]
    fn ipv6(header in any_ipv6()) {
        let mut packet = emitted(|out| header.emit(out));
        packet.resize(40 + usize::from(header.payload_len), 0x5a);
        let (parsed, payload) = Ipv6Header::parse(&packet).unwrap();
        prop_assert_eq!(parsed, header);
        prop_assert_eq!(payload.len(), usize::from(header.payload_len));
    }

    #[test]
    fn ieee802154(header in frame_header(), payload in bytes(20)) {
        let mut frame = emitted(|out| header.emit(out));
        prop_assert_eq!(frame.len(), header.len());
        frame.extend(&payload);
        prop_assert_eq!(FrameHeader::parse(&frame), Ok((header, payload.as_slice())));
    }

    #[test]
    fn udp(src: [u8; 16], dst: [u8; 16], ports: [u16; 2], payload in bytes(100), flip: u16) {
        let (src, dst) = (Addr(src), Addr(dst));
        let header = UdpHeader::for_payload(&src, ports[0], &dst, ports[1], &payload).unwrap();
        let mut datagram = emitted(|out| header.emit(out));
        datagram.extend(&payload);
        let (parsed, data) = UdpHeader::parse(&datagram).unwrap();
        prop_assert_eq!((parsed, data), (header, payload.as_slice()));
        prop_assert!(parsed.verify(&src, &dst, data));
        // A change of any bit is detected.
        let bit = usize::from(flip) % (datagram.len() * 8);
        datagram[bit / 8] ^= 1 << (bit % 8);
        let intact = UdpHeader::parse(&datagram)
            .is_ok_and(|(header, data)| header.verify(&src, &dst, data));
        prop_assert!(!intact);
    }

    #[test]
    fn fragments(size in 1..=fragment::MAX_DATAGRAM, tag: u16, place: u16, part in bytes(20)) {
        let offset = (place % size) & !7;
        for header in [
            fragment::Header::First { size, tag },
            fragment::Header::Next { size, tag, offset },
        ] {
            let mut bytes = emitted(|out| header.emit(out));
            prop_assert_eq!(bytes.len(), header.len());
            bytes.extend(&part);
            prop_assert_eq!(fragment::Header::parse(&bytes), Ok((header, part.as_slice())));
        }
    }

    #[test]
    fn icmpv6(
        kind in 0..12u8,
        word: u32,
        flags: [bool; 3],
        target: [u8; 15],
        data in bytes(100),
        options in prop::collection::vec(nd_option(), 0..5),
    ) {
        let chain = emitted(|out| options.iter().try_for_each(|option| option.emit(out)));
        let parsed = Options::parse(&chain).unwrap();
        prop_assert_eq!(parsed.iter().collect::<Vec<_>>(), options);
        let mut addr = [0x20; 16];
        addr[1..].copy_from_slice(&target);
        let message = message(kind, word, flags, Addr(addr), &data, parsed);
        let ip = Ipv6Header {
            hop_limit: 255,
            src: Addr(addr),
            dst: PREFIX,
            ..Ipv6Header::default()
        };
        let bytes = emitted(|out| message.emit(&ip.src, &ip.dst, out));
        prop_assert_eq!(bytes.len(), message.len());
        prop_assert_eq!(Message::parse(&ip, &bytes), Ok(message));
    }
}

/// A packet for compression: the frame's addresses, IPv6 header, ports, and the bytes after them.
#[derive(Debug)]
struct Packet {
    link_src: Address,
    link_dst: Address,
    ip: Ipv6Header,
    udp: Option<UdpHeader>,
    payload: Vec<u8>,
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![0xf0b0..=0xf0bfu16, 0xf000..=0xf0ffu16, any::<u16>()]
}

fn packet() -> impl Strategy<Value = Packet> {
    (link_address(), link_address())
        .prop_flat_map(|(link_src, link_dst)| {
            let src = prop_oneof![Just(Addr::UNSPECIFIED), unicast(link_src)];
            let dst = prop_oneof![multicast(), unicast(link_dst)];
            let udp = prop::option::of((port(), port(), any::<u16>()));
            (
                Just((link_src, link_dst)),
                ipv6_header(src, dst),
                udp,
                bytes(64),
            )
        })
        .prop_map(|((link_src, link_dst), mut ip, ports, payload)| {
            let udp = ports.map(|(src_port, dst_port, checksum)| {
                ip.next_header = next_header::UDP;
                UdpHeader {
                    src_port,
                    dst_port,
                    length: 8 + payload.len() as u16,
                    checksum,
                }
            });
            ip.payload_len = udp.map_or(payload.len() as u16, |udp| udp.length);
            Packet {
                link_src,
                link_dst,
                ip,
                udp,
                payload,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn iphc_loses_nothing(packet in packet(), contexts in contexts()) {
        let Packet { link_src, link_dst, ip, udp, payload } = packet;
        let upper = udp.as_ref().map_or(Upper::Other, Upper::Udp);
        let mut buffer = [0; iphc::MAX_COMPRESSED_LEN];
        let mut out = Cursor::new(&mut buffer);
        let done = iphc::compress(&ip, upper, link_src, link_dst, &contexts, &mut out).unwrap();
        prop_assert_eq!(done.uncompressed_len, if udp.is_some() { 48 } else { 40 });
        let header_len = out.position();
        let mut bytes = out.written().to_vec();
        bytes.extend(&payload);

        let mut whole = ip.to_bytes().to_vec();
        whole.extend(udp.iter().flat_map(UdpHeader::to_bytes));
        whole.extend(&payload);
        let mut headers = [0; 48];
        // The input is first the whole datagram, and then only the compressed header.
        for (input, len) in [(bytes.as_slice(), None), (&bytes[..header_len], Some(whole.len()))] {
            let done = iphc::decompress(input, link_src, link_dst, &contexts, len, &mut headers)
                .unwrap();
            prop_assert_eq!(done.consumed, header_len);
            prop_assert_eq!(&headers[..done.written], &whole[..done.written]);
        }

        // Marking changes only ECN.
        prop_assert_eq!(iphc::ecn(&bytes), Some(ip.ecn));
        let marked = iphc::mark_ce(&mut bytes);
        prop_assert_eq!(marked, ip.ecn.is_capable());
        iphc::decompress(&bytes, link_src, link_dst, &contexts, None, &mut headers).unwrap();
        let ecn = if marked { Ecn::Ce } else { ip.ecn };
        prop_assert_eq!(&headers[..40], Ipv6Header { ecn, ..ip }.to_bytes());
    }
}
