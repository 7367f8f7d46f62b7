use super::*;
use crate::ieee802154::Address;
use addr::*;

fn packet() -> [u8; 44] {
    let mut bytes = [0; 44];
    let header = Ipv6Header {
        dscp: 0x2e,
        ecn: Ecn::Ect0,
        flow_label: 0xabcde,
        payload_len: 4,
        next_header: next_header::UDP,
        hop_limit: 2,
        src: link_local_from_short(1),
        dst: LINK_LOCAL_ALL_NODES,
    };
    header.emit(&mut Cursor::new(&mut bytes)).unwrap();
    bytes
}

#[test]
fn the_first_word_is_version_class_and_flow() {
    // Traffic class: 0x2e << 2 | 2 = 0xba.
    assert_eq!(packet()[..8], [0x6b, 0xaa, 0xbc, 0xde, 0, 4, 17, 2]);
}

#[test]
fn parse_uses_the_payload_length_and_needs_all_bytes() {
    let bytes = packet();
    let mut longer = bytes.to_vec();
    longer.extend([0xee; 3]);
    let (header, payload) = Ipv6Header::parse(&longer).unwrap();
    assert_eq!((header.ecn, payload), (Ecn::Ect0, [0; 4].as_slice()));
    assert_eq!(Ipv6Header::parse(&bytes[..43]), Err(Error::Truncated));
    assert!(Ipv6Header::parse_partial(&bytes[..43]).is_ok());
    longer[0] = 0x45;
    assert_eq!(Ipv6Header::parse(&longer), Err(Error::Version));
}

#[test]
fn the_hop_limit_never_reaches_zero() {
    let mut bytes = packet();
    assert_eq!(decrement_hop_limit(&mut bytes), Some(1));
    assert_eq!(decrement_hop_limit(&mut bytes), None);
    assert_eq!(Ipv6Header::parse(&bytes).unwrap().0.hop_limit, 1);
    bytes[7] = 0;
    assert_eq!(decrement_hop_limit(&mut bytes), None);
    assert_eq!(decrement_hop_limit(&mut bytes[..7]), None);
}

#[test]
fn only_ecn_capable_packets_are_marked() {
    let mut bytes = packet();
    let before = Ipv6Header::parse(&bytes).unwrap().0;
    assert!(mark_ce(&mut bytes));
    let after = Ipv6Header::parse(&bytes).unwrap().0;
    assert_eq!(
        after,
        Ipv6Header {
            ecn: Ecn::Ce,
            ..before
        }
    );
    assert!(mark_ce(&mut bytes), "marked already");
    bytes[1] &= 0xcf;
    assert!(!mark_ce(&mut bytes));
    assert_eq!(ecn(&bytes), Some(Ecn::NotEct));
    assert!(!mark_ce(&mut []));
    assert_eq!(ecn(&[0x45, 0]), None);
}

#[test]
fn extension_headers_are_passed_over() {
    // Hop-by-hop header of 16 bytes, routing header of 8, fragment header of an unfragmented
    // packet, TCP.
    let mut payload = [0; 40];
    payload[..2].copy_from_slice(&[next_header::ROUTING, 1]);
    payload[16..18].copy_from_slice(&[next_header::FRAGMENT, 0]);
    payload[24] = next_header::TCP;
    let walk = |payload: &[u8]| skip_extension_headers(next_header::HOP_BY_HOP, payload);
    assert_eq!(walk(&payload), Ok((next_header::TCP, 32)));
    // A real fragment: one with more fragments after it, or one that is not the first.
    payload[27] = 1;
    assert_eq!(walk(&payload), Ok((next_header::FRAGMENT, 24)));
    payload[26..28].copy_from_slice(&[1, 0]);
    assert_eq!(walk(&payload), Ok((next_header::FRAGMENT, 24)));
    // The packet is cut off inside each of the headers.
    for len in [0, 1, 15, 16, 17, 23, 31] {
        assert_eq!(walk(&payload[..len]), Err(Error::Truncated), "{len} bytes");
    }
}

#[test]
fn hop_by_hop_options_come_first_or_not_at_all() {
    let payload = [next_header::HOP_BY_HOP, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0];
    assert_eq!(
        skip_extension_headers(next_header::DST_OPTIONS, &payload),
        Ok((next_header::HOP_BY_HOP, 8))
    );
    assert_eq!(
        skip_extension_headers(next_header::TCP, &[]),
        Ok((next_header::TCP, 0))
    );
}

#[test]
fn addresses_formed_from_the_link() {
    let eui64 = [0x02, 0x12, 0x4b, 0, 0x14, 0xb5, 0xd9, 0xc7];
    let prefix = Addr::from([
        0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 9, 9, 9, 9, 9, 9, 9, 9,
    ]);
    let text = |addr: Addr| std::format!("{addr}");
    assert_eq!(
        text(link_local_from_eui64(eui64)),
        "fe80::12:4b00:14b5:d9c7"
    );
    assert_eq!(text(link_local_from_short(0x1234)), "fe80::ff:fe00:1234");
    assert_eq!(
        text(from_prefix_and_short(&prefix, 7)),
        "fd72:6564:706f:6c6c:0:ff:fe00:7"
    );
    assert_eq!(text(solicited_node(&prefix)), "ff02::1:ff09:909");
    assert_eq!(link_local(Address::Absent), None);
    for address in [Address::Short(0xabcd), Address::Extended(eui64)] {
        assert_eq!(link_address(&link_local(address).unwrap()), address);
    }
    assert!(is_link_local(&link_local_from_short(1)));
    assert!(!is_link_local(&prefix));
    assert!(is_link_scoped_multicast(&LINK_LOCAL_ALL_ROUTERS));
    assert!(!is_link_scoped_multicast(&Addr([
        0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
    ])));
}
