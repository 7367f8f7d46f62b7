use super::*;
use crate::ipv6::addr::*;
use redpoll_base::Addr;
use std::vec::Vec;

const PREFIX: Addr = Addr([
    0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
]);
const LINK_SRC: Address = Address::Short(0x11);
const LINK_DST: Address = Address::Short(0x12);

fn node(short: u16) -> Addr {
    from_prefix_and_short(&PREFIX, short)
}

fn tcp(src: Addr, dst: Addr) -> Ipv6Header {
    Ipv6Header {
        payload_len: 20,
        next_header: next_header::TCP,
        hop_limit: 64,
        src,
        dst,
        ..Ipv6Header::default()
    }
}

fn squeeze(ip: &Ipv6Header, upper: Upper<'_>, contexts: &Contexts) -> (Vec<u8>, usize) {
    let mut buffer = [0; MAX_COMPRESSED_LEN];
    let mut out = Cursor::new(&mut buffer);
    let done = compress(ip, upper, LINK_SRC, LINK_DST, contexts, &mut out).unwrap();
    (out.written().to_vec(), done.uncompressed_len)
}

fn expand(bytes: &[u8], contexts: &Contexts, len: Option<usize>) -> Result<Vec<u8>, Error> {
    let mut out = [0; 600];
    let done = decompress(bytes, LINK_SRC, LINK_DST, contexts, len, &mut out)?;
    let mut packet = out[..done.written].to_vec();
    packet.extend(&bytes[done.consumed..]);
    Ok(packet)
}

/// Compresses, compares with the bytes derived by hand, and expands again.
fn check(ip: &Ipv6Header, contexts: &Contexts, expected: &[u8]) {
    let (mut bytes, uncompressed_len) = squeeze(ip, Upper::Other, contexts);
    assert_eq!(bytes, expected, "{ip:?}");
    assert_eq!(uncompressed_len, 40);
    bytes.extend([0; 20]);
    let packet = expand(&bytes, contexts, None).unwrap();
    assert_eq!(Ipv6Header::parse(&packet).unwrap().0, *ip);
}

#[test]
fn a_link_local_neighbour_costs_two_bytes_and_the_next_header() {
    // 011 11 0 10 | 0 0 11 0 0 11
    check(
        &tcp(link_local_from_short(0x11), link_local_from_short(0x12)),
        &Contexts::new(),
        &[0x7a, 0x33, 6],
    );
}

#[test]
fn a_packet_over_several_hops_costs_two_bytes_an_address() {
    let contexts = Contexts::with_prefix(PREFIX);
    // SAC, SAM 10, DAC, DAM 10.
    check(
        &tcp(node(1), node(2)),
        &contexts,
        &[0x7a, 0x66, 6, 0, 1, 0, 2],
    );
    // The first hop elides the source, and the last hop elides the destination.
    check(&tcp(node(0x11), node(2)), &contexts, &[0x7a, 0x76, 6, 0, 2]);
    check(&tcp(node(1), node(0x12)), &contexts, &[0x7a, 0x67, 6, 0, 1]);
    check(&tcp(node(0x11), node(0x12)), &contexts, &[0x7a, 0x77, 6]);
}

#[test]
fn other_identifiers_cost_eight_bytes_and_other_prefixes_sixteen() {
    let contexts = Contexts::with_prefix(PREFIX);
    let host = Addr([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    let far = from_prefix_and_iid(&PREFIX, [1, 2, 3, 4, 5, 6, 7, 8]);
    // Source: SAC 0, SAM 00. Destination: M 0, DAC 1, DAM 01.
    let mut expected = [0x7a, 0x05, 6].to_vec();
    expected.extend(host.0);
    expected.extend([1, 2, 3, 4, 5, 6, 7, 8]);
    check(&tcp(host, far), &contexts, &expected);
}

#[test]
fn the_hop_limit_is_elided_at_1_64_and_255() {
    for (hop_limit, first, inline) in [
        (1, 0x79, &[][..]),
        (64, 0x7a, &[]),
        (255, 0x7b, &[]),
        (63, 0x78, &[63]),
        (0, 0x78, &[0]),
    ] {
        let ip = Ipv6Header {
            hop_limit,
            ..tcp(link_local_from_short(0x11), link_local_from_short(0x12))
        };
        let mut expected = [first, 0x33, 6].to_vec();
        expected.extend(inline);
        check(&ip, &Contexts::new(), &expected);
    }
}

#[test]
fn traffic_class_and_flow_label_in_all_four_forms() {
    // RFC 6282 §3.2.1: ECN has the two high bits, and DSCP the bits below.
    for (dscp, ecn, flow_label, first, inline) in [
        (0, Ecn::NotEct, 0, 0x7a, &[][..]),
        (0, Ecn::Ect0, 0, 0x72, &[0x80]),
        (0x2e, Ecn::Ce, 0, 0x72, &[0xee]),
        (0, Ecn::Ect1, 0xabcde, 0x6a, &[0x4a, 0xbc, 0xde]),
        (0x2e, Ecn::Ect0, 0xabcde, 0x62, &[0xae, 0x0a, 0xbc, 0xde]),
    ] {
        let ip = Ipv6Header {
            dscp,
            ecn,
            flow_label,
            ..tcp(link_local_from_short(0x11), link_local_from_short(0x12))
        };
        let mut expected = [first, 0x33].to_vec();
        expected.extend(inline);
        expected.push(6);
        check(&ip, &Contexts::new(), &expected);
    }
}

#[test]
fn multicast_in_8_32_48_and_128_bits() {
    let src = link_local_from_short(0x11);
    let group = |scope: u8, tail: [u8; 6]| {
        let [a, b, c, d, e, f] = tail;
        Addr([0xff, scope, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f])
    };
    let none = Contexts::new();
    check(&tcp(src, LINK_LOCAL_ALL_NODES), &none, &[0x7a, 0x3b, 6, 1]);
    check(
        &tcp(src, group(5, [0, 0, 0, 0, 1, 3])),
        &none,
        &[0x7a, 0x3a, 6, 5, 0, 1, 3],
    );
    // Solicited-node groups take 48 bits.
    check(
        &tcp(src, solicited_node(&node(0x1234))),
        &none,
        &[0x7a, 0x39, 6, 2, 1, 0xff, 0, 0x12, 0x34],
    );
    let wide = group(2, [1, 0, 0, 0, 0, 1]);
    let mut expected = [0x7a, 0x38, 6].to_vec();
    expected.extend(wide.0);
    check(&tcp(src, wide), &none, &expected);
}

#[test]
fn a_group_of_the_prefix_takes_48_bits() {
    let mut contexts = Contexts::new();
    assert!(contexts.set(3, PREFIX, 64));
    let group = Addr([
        0xff, 0x35, 0, 64, 0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 7,
    ]);
    // CID: source 0, destination 3. M 1, DAC 1, DAM 00.
    check(
        &tcp(link_local_from_short(0x11), group),
        &contexts,
        &[0x7a, 0xbc, 0x03, 6, 0x35, 0, 0, 0, 0, 7],
    );
}

#[test]
fn the_unspecified_address_is_free_as_a_source_only() {
    // SAC 1, SAM 00; M 1, DAM 11.
    check(
        &tcp(Addr::UNSPECIFIED, LINK_LOCAL_ALL_ROUTERS),
        &Contexts::new(),
        &[0x7a, 0x4b, 6, 2],
    );
    let (bytes, _) = squeeze(
        &tcp(Addr::UNSPECIFIED, Addr::UNSPECIFIED),
        Upper::Other,
        &Contexts::new(),
    );
    assert_eq!(bytes[..3], [0x7a, 0x40, 6]);
    assert_eq!(bytes.len(), 3 + 16);
}

#[test]
fn a_context_of_a_whole_address_elides_it_anywhere() {
    let host = Addr([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    let mut contexts = Contexts::with_prefix(PREFIX);
    contexts.set(1, host, 128);
    // CID byte 0x01: source context 0, destination context 1.
    check(&tcp(node(0x11), host), &contexts, &[0x7a, 0xf7, 0x01, 6]);
    // A context that is being withdrawn is used for decompression only.
    let (old, _) = squeeze(&tcp(node(0x11), host), Upper::Other, &contexts);
    contexts.insert(1, host, 128, false);
    let (new, _) = squeeze(&tcp(node(0x11), host), Upper::Other, &contexts);
    assert_eq!(new.len(), 3 + 16);
    assert!(expand(&old, &contexts, None).is_ok());
    contexts.remove(1);
    assert_eq!(expand(&old, &contexts, None), Err(Error::UnknownContext(1)));
}

#[test]
fn udp_is_compressed_and_its_lengths_come_back() {
    let contexts = Contexts::with_prefix(PREFIX);
    let payload = [0x55; 12];
    let (src, dst) = (node(1), node(2));
    let udp = UdpHeader::for_payload(&src, 0xf0b1, &dst, 0xf0b2, &payload).unwrap();
    let ip = Ipv6Header {
        payload_len: udp.length,
        next_header: next_header::UDP,
        ..tcp(src, dst)
    };
    let (mut bytes, uncompressed_len) = squeeze(&ip, Upper::Udp(&udp), &contexts);
    assert_eq!(uncompressed_len, 48);
    let [high, low] = udp.checksum.to_be_bytes();
    // NHC 1; 11110 0 11, and both ports in one byte.
    assert_eq!(bytes, [0x7e, 0x66, 0, 1, 0, 2, 0xf3, 0x12, high, low]);
    bytes.extend(payload);
    let packet = expand(&bytes, &contexts, None).unwrap();
    let (header, rest) = Ipv6Header::parse(&packet).unwrap();
    let (datagram, data) = UdpHeader::parse(rest).unwrap();
    assert_eq!((header, datagram), (ip, udp));
    assert!(datagram.verify(&src, &dst, data));
    // The bytes are those of a first fragment, whose header states the size of the datagram.
    let packet = expand(&bytes[..10], &contexts, Some(60)).unwrap();
    assert_eq!(packet[4..6], [0, 20]);
    assert_eq!(packet[44..46], [0, 20]);
}

#[test]
fn a_udp_header_that_is_not_reproducible_stays_uncompressed() {
    let contexts = Contexts::with_prefix(PREFIX);
    let udp = UdpHeader {
        length: 19,
        ..UdpHeader::default()
    };
    let ip = Ipv6Header {
        next_header: next_header::UDP,
        ..tcp(node(1), node(2))
    };
    assert_eq!(squeeze(&ip, Upper::Udp(&udp), &contexts).1, 40);
    let udp = UdpHeader { length: 20, ..udp };
    assert_eq!(squeeze(&ip, Upper::Udp(&udp), &contexts).1, 48);
    let ip = tcp(node(1), node(2));
    assert_eq!(squeeze(&ip, Upper::Udp(&udp), &contexts).1, 40);
}

#[test]
fn ecn_is_read_and_marked_in_compressed_packets() {
    let mut contexts = Contexts::with_prefix(PREFIX);
    for with_cid in [false, true] {
        for (dscp, flow_label) in [(0, 0), (0x3f, 0), (0, 0xfffff), (0x15, 0x12345)] {
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                let ip = Ipv6Header {
                    dscp,
                    ecn,
                    flow_label,
                    ..tcp(node(1), node(2))
                };
                let (mut bytes, _) = squeeze(&ip, Upper::Other, &contexts);
                bytes.extend([0; 20]);
                assert_eq!(super::ecn(&bytes), Some(ecn));
                assert_eq!(mark_ce(&mut bytes), ecn.is_capable());
                let marked = Ipv6Header {
                    ecn: if ecn.is_capable() { Ecn::Ce } else { ecn },
                    ..ip
                };
                let packet = expand(&bytes, &contexts, None).unwrap();
                assert_eq!(
                    Ipv6Header::parse(&packet).unwrap().0,
                    marked,
                    "CID byte {with_cid}"
                );
            }
        }
        contexts.set(5, PREFIX, 64);
        contexts.remove(0);
    }
    for other in [&[][..], &[0x60], &[0x41, 0x60, 0]] {
        assert_eq!(super::ecn(other), None);
        assert!(!mark_ce(&mut other.to_vec()));
    }
}

#[test]
fn headers_that_cannot_be_expanded_return_their_error() {
    let contexts = Contexts::with_prefix(PREFIX);
    let refused = |bytes: &[u8], len| expand(bytes, &contexts, len).unwrap_err();
    assert_eq!(refused(&[0x41, 0x60], None), Error::Unsupported);
    assert_eq!(refused(&[0x7a], None), Error::Truncated);
    // DAC 1 with DAM 00 is reserved if M is 0, and DAC 1 with DAM 01 if M is 1.
    assert_eq!(refused(&[0x7a, 0x34, 6], None), Error::Reserved);
    assert_eq!(refused(&[0x7a, 0x3d, 6], None), Error::Reserved);
    assert_eq!(
        refused(&[0x7a, 0xf3, 0x40, 6], None),
        Error::UnknownContext(4)
    );
    // The bytes must not exceed the announced size, and the headers must fit into this size.
    assert_eq!(refused(&[0x7a, 0x33, 6, 0, 0], Some(41)), Error::Length);
    assert_eq!(refused(&[0x7a, 0x33, 6], Some(39)), Error::Length);
    let mut short = [0; 39];
    assert_eq!(
        decompress(
            &[0x7a, 0x33, 6],
            LINK_SRC,
            LINK_DST,
            &contexts,
            None,
            &mut short
        ),
        Err(Error::NoRoom)
    );
    assert_eq!(
        decompress(
            &[0x7a, 0x33, 6],
            Address::Absent,
            LINK_DST,
            &contexts,
            None,
            &mut [0; 40]
        ),
        Err(Error::NoLinkAddress)
    );
}

/// RFC 8931 §5.1: a recoverable fragment announces the size of the compressed datagram.
#[test]
fn lengths_follow_from_the_size_of_the_compressed_datagram() {
    let contexts = Contexts::with_prefix(PREFIX);
    let payload = [0x55; 12];
    let (src, dst) = (node(1), node(2));
    let udp = UdpHeader::for_payload(&src, 0xf0b1, &dst, 0xf0b2, &payload).unwrap();
    let ip = Ipv6Header {
        payload_len: udp.length,
        next_header: next_header::UDP,
        ..tcp(src, dst)
    };
    let (bytes, _) = squeeze(&ip, Upper::Udp(&udp), &contexts);
    let of = |bytes: &[u8], compressed_len| {
        let mut out = [0; 100];
        let done = decompress_of(
            bytes,
            LINK_SRC,
            LINK_DST,
            &contexts,
            compressed_len,
            &mut out,
        )?;
        Ok((done.consumed, out[..done.written].to_vec()))
    };
    // The headers have 10 bytes when compressed and 48 bytes when expanded; 12 bytes follow.
    let (consumed, packet) = of(&bytes, 22).unwrap();
    assert_eq!((consumed, packet.len()), (10, 48));
    assert_eq!(Ipv6Header::parse_partial(&packet).unwrap().0, ip);
    assert_eq!(packet[44..46], [0, 20]);
    // The headers alone are 10 bytes, so a datagram of 9 bytes cannot hold them.
    assert_eq!(of(&bytes, 10).unwrap().1[44..46], [0, 8]);
    assert_eq!(of(&bytes, 9), Err(Error::Length));
    // More bytes than the announced size.
    let longer = [&bytes[..], &[0; 3]].concat();
    assert_eq!(of(&longer, 12), Err(Error::Length));
    assert_eq!(of(&longer, 13).unwrap().1[44..46], [0, 11]);
}
