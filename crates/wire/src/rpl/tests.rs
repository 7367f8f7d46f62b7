use super::*;
use crate::ipv6::{Ipv6Header, hop_by_hop_len};
use crate::{Cursor, Error};
use redpoll_base::Addr;
use std::vec;
use std::vec::Vec;

fn addr(last: u8) -> Addr {
    let mut bytes = [0; 16];
    (bytes[0], bytes[11], bytes[12], bytes[15]) = (0xfd, 0xff, 0xfe, last);
    Addr(bytes)
}

fn options(list: &[RplOption<'_>]) -> Vec<u8> {
    let mut buffer = vec![0; 512];
    let mut out = Cursor::new(&mut buffer);
    for option in list {
        option.emit(&mut out).unwrap();
    }
    out.written().to_vec()
}

fn round_trip(message: &Message<'_>) -> Vec<u8> {
    let mut buffer = vec![0; 512];
    let mut out = Cursor::new(&mut buffer);
    message.emit(&mut out).unwrap();
    let bytes = out.written().to_vec();
    assert_eq!(Message::parse(message.code(), &bytes).as_ref(), Ok(message));
    bytes
}

const CONFIGURATION: Configuration = Configuration {
    flags: config_flag::RPI_0X23,
    interval_doublings: 8,
    interval_min: 12,
    redundancy: 10,
    max_rank_increase: 1024,
    min_hop_rank_increase: 128,
    objective: objective::MRHOF,
    lifetime: 30,
    lifetime_unit_s: 60,
};

/// RFC 6550 §6.3.1, §6.7.6, §6.7.10: the figures show the places of the fields.
#[test]
fn a_dio_has_its_fields_where_the_standard_has_them() {
    let prefix = PrefixInformation {
        len: 64,
        autonomous: true,
        router_address: true,
        prefix: addr(7),
        lifetime_s: 0xffff_ffff,
    };
    let bytes = options(&[
        RplOption::Configuration(CONFIGURATION),
        RplOption::Prefix(prefix),
        RplOption::NodeState { overloaded: true },
    ]);
    let dio = Dio {
        instance: 3,
        version: Sequence(240),
        rank: 0x0180,
        grounded: true,
        mode: mode::STORING,
        preference: 1,
        dtsn: Sequence(7),
        dodag: addr(1),
        options: Options::parse(&bytes).unwrap(),
    };
    let bytes = round_trip(&Message::Dio(dio));
    assert_eq!(bytes[..8], [3, 240, 1, 0x80, 0x80 | 2 << 3 | 1, 7, 0, 0]);
    assert_eq!(bytes[8..24], addr(1).0);
    assert_eq!(
        bytes[24..40],
        [4, 14, 0x10, 8, 12, 10, 4, 0, 0, 128, 0, 1, 0, 30, 0, 60]
    );
    assert_eq!(bytes[40..44], [8, 30, 64, 0x60]);
    assert_eq!(bytes[72..], [2, 6, 1, 0, 0, 2, 0, 1]);
    assert_eq!(dio.options.configuration(), Some(CONFIGURATION));
    assert_eq!(dio.options.prefix(), Some(prefix));
    assert!(dio.options.is_overloaded());
}

/// RFC 6550 §6.4, §6.5, §6.7.7, §6.7.8.
#[test]
fn daos_and_their_acknowledgements_go_there_and_back() {
    let transit = Transit {
        external: false,
        control: 0,
        sequence: Sequence(241),
        lifetime: 30,
        parent: None,
    };
    let (whole, short) = (
        addr(9),
        Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    );
    let bytes = options(&[
        RplOption::Target(TargetOption {
            prefix: whole,
            len: 128,
        }),
        RplOption::Target(TargetOption {
            prefix: short,
            len: 8,
        }),
        RplOption::Transit(transit),
        RplOption::Transit(Transit {
            external: true,
            parent: Some(addr(4)),
            ..transit
        }),
    ]);
    assert_eq!(bytes[..4], [5, 18, 0, 128]);
    assert_eq!(bytes[20..25], [5, 3, 0, 8, 0xfd]);
    assert_eq!(bytes[25..31], [6, 4, 0, 0, 241, 30]);
    assert_eq!(bytes[31..37], [6, 20, 0x80, 0, 241, 30]);
    for dodag in [None, Some(addr(1))] {
        let options = Options::parse(&bytes).unwrap();
        let dao = Message::Dao(Dao {
            instance: 0,
            acknowledge: true,
            sequence: 5,
            dodag,
            options,
        });
        round_trip(&dao);
        assert_eq!(options.iter().count(), 4);
        let ack = round_trip(&Message::DaoAck(DaoAck {
            instance: 0,
            sequence: 5,
            status: status::REJECTED,
            dodag,
        }));
        assert_eq!(ack[2..4], [5, 128]);
    }
    let none = Options::default();
    assert_eq!(round_trip(&Message::Dis { options: none }), [0, 0]);
}

#[test]
fn malformed_messages_are_refused() {
    let parse = |bytes: &[u8]| Options::parse(bytes).map(|options| options.iter().count());
    assert_eq!(parse(&[0, 1, 2, 0, 0, 9, 0]), Ok(1));
    assert_eq!(parse(&[5]), Err(Error::Truncated));
    assert_eq!(parse(&[5, 3, 0, 8]), Err(Error::Truncated));
    // A target must not have a prefix of 129 bits, or a prefix of 16 bits in one byte.
    assert_eq!(parse(&[5, 3, 0, 129, 1]), Err(Error::Reserved));
    assert_eq!(parse(&[5, 3, 0, 16, 1]), Err(Error::Length));
    // Transit information must not contain a part of a parent's address.
    assert_eq!(parse(&[6, 5, 0, 0, 1, 1, 9]), Err(Error::Length));
    // A configuration must not end early, or have a MinHopRankIncrease of 0.
    assert_eq!(parse(&[4, 2, 0, 0]), Err(Error::Length));
    let mut bytes = options(&[RplOption::Configuration(CONFIGURATION)]);
    (bytes[8], bytes[9]) = (0, 0);
    assert_eq!(parse(&bytes), Err(Error::Reserved));
    // A metric object must not be longer than its container.
    assert_eq!(parse(&[2, 4, 1, 0, 0, 2]), Err(Error::Length));
    for code in [code::DIS, code::DIO, code::DAO, code::DAO_ACK] {
        assert_eq!(Message::parse(code, &[0]), Err(Error::Truncated), "{code}");
    }
    assert_eq!(Message::parse(0x81, &[0; 64]), Err(Error::Unsupported));
}

/// RFC 6551 §3: of several objects of a kind the first one counts. An object that is a constraint
/// does not describe the node, and unknown objects are ignored.
#[test]
fn of_a_nodes_state_the_first_metric_counts() {
    let overloaded = |objects: &[&[u8]]| {
        let objects = objects.concat();
        let bytes = [&[2, objects.len() as u8][..], &objects].concat();
        Options::parse(&bytes).unwrap().is_overloaded()
    };
    let (idle, busy): (&[u8], &[u8]) = (&[1, 0, 0, 2, 0, 0], &[1, 0, 0, 2, 0, 1]);
    assert!(overloaded(&[busy]) && !overloaded(&[idle]));
    assert!(overloaded(&[busy, idle]) && !overloaded(&[idle, busy]));
    // An object with the C flag is a constraint and ignored; other flags and TLVs are ignored.
    assert!(!overloaded(&[&[1, 2, 0, 2, 0, 1]]));
    assert!(overloaded(&[&[1, 2, 0, 2, 0, 0], busy]));
    assert!(overloaded(&[
        &[7, 0, 0, 2, 1, 0],
        &[1, 0xfc, 0, 5, 9, 0xfd, 8, 1, 7]
    ]));
}

fn packet(next: u8, dst: Addr, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        payload_len: payload.len() as u16,
        next_header: next,
        hop_limit: 64,
        src: addr(1),
        dst,
        ..Ipv6Header::default()
    };
    [&header.to_bytes()[..], payload].concat()
}

/// RFC 6553 §3.
#[test]
fn packet_information_is_found_and_replaced() {
    let information = PacketInformation {
        down: true,
        rank_error: false,
        forwarding_error: true,
        instance: 2,
        sender_rank: 0x0304,
        ignorable: false,
    };
    let header = information.header(6);
    assert_eq!(header, [6, 0, 0x63, 4, 0xa0, 2, 3, 4]);
    let mut bytes = packet(0, addr(2), &[&header[..], &[9; 20]].concat());
    assert_eq!(PacketInformation::find(&bytes), Some(information));
    assert_eq!(hop_by_hop_len(&bytes), 8);
    let newer = PacketInformation {
        rank_error: true,
        ignorable: true,
        ..information
    };
    assert!(newer.replace(&mut bytes));
    assert_eq!(bytes[42..48], [0x23, 4, 0xe0, 2, 3, 4]);
    assert_eq!(PacketInformation::find(&bytes), Some(newer));
    // The option is found after other options; a missing or malformed option is not found.
    let padded = [6, 1, 1, 2, 0, 0, 0, 0x23, 4, 0, 0, 0, 1, 1, 1, 0];
    let bytes = packet(0, addr(2), &padded);
    assert_eq!(PacketInformation::find(&bytes).unwrap().sender_rank, 1);
    for without in [
        &[6, 0, 1, 4, 0, 0, 0, 0][..],
        &[6, 0, 0x63, 9, 0, 0, 0, 0],
        &[6, 1, 0, 0],
    ] {
        assert_eq!(PacketInformation::find(&packet(0, addr(2), without)), None);
    }
    assert_eq!(PacketInformation::find(&packet(6, addr(2), &header)), None);
}

fn source_route(stops: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 128];
    let mut out = Cursor::new(&mut buffer);
    let addresses = stops.iter().map(|last| addr(*last));
    SourceRoute::emit(41, 14, addresses, &mut out).unwrap();
    assert_eq!(out.position(), srh_len(stops.len(), 14));
    out.written().to_vec()
}

/// RFC 6554 §4.2: each router of the route puts the route's next address into the IPv6 header.
#[test]
fn a_packet_goes_from_stop_to_stop() {
    let header = source_route(&[3, 4, 5]);
    assert_eq!(header[..8], [41, 1, 3, 3, 0xee, 0x20, 0, 0]);
    let mut bytes = packet(43, addr(2), &header);
    for (stop, next) in [(2, 3), (3, 4), (4, 5)] {
        let here = move |address: &Addr| *address == addr(stop);
        assert_eq!(advance(&mut bytes, 40, here), Advance::Onward(addr(next)));
        let (header, _) = Ipv6Header::parse(&bytes).unwrap();
        assert_eq!(header.dst, addr(next));
    }
    assert_eq!(advance(&mut bytes, 40, |_| false), Advance::Arrived);
    let route = SourceRoute::parse(&bytes[40..]).unwrap();
    let visited: Vec<_> = route.addresses(addr(5)).collect();
    assert_eq!(visited, [addr(2), addr(3), addr(4)]);
}

/// RFC 6554 §4.2: loops, packets to multicast groups and too many segments left are errors.
#[test]
fn source_routes_that_must_not_be_followed_are_not() {
    let me = |address: &Addr| *address == addr(2);
    let go = |bytes: &mut [u8]| advance(bytes, 40, me);
    let mut twice = packet(43, addr(2), &source_route(&[2, 3, 2]));
    assert_eq!(go(&mut twice), Advance::Loop(43));
    let mut beside = packet(43, addr(2), &source_route(&[2, 2, 3]));
    assert_eq!(
        go(&mut beside),
        Advance::Onward(addr(2)),
        "not a loop by §4.2"
    );
    let mut broken = packet(43, addr(2), &source_route(&[3]));
    broken[43] = 2;
    assert_eq!(go(&mut broken), Advance::Problem(43));
    let mut other = packet(43, addr(2), &source_route(&[3]));
    other[42] = 0;
    assert_eq!(go(&mut other), Advance::Problem(42));
    let mut group = packet(43, addr(2), &source_route(&[3]));
    group[24] = 0xff;
    assert_eq!(go(&mut group), Advance::Multicast);
}

#[test]
fn source_routes_whose_lengths_contradict_each_other_are_refused() {
    let parse = |bytes: &[u8]| SourceRoute::parse(bytes).map(|route| route.count);
    assert_eq!(parse(&[59, 0, 3, 0, 0, 0, 0, 0]), Ok(0));
    assert_eq!(parse(&[59, 1, 3, 1, 0x88, 0, 0, 0]), Err(Error::Truncated));
    let with = |elided, pad, area: &[u8]| {
        parse(&[&[59, (area.len() / 8) as u8, 3, 1, elided, pad, 0, 0], area].concat())
    };
    assert_eq!(with(0x88, 0, &[0; 8]), Ok(1));
    assert_eq!(with(0x88, 0x10, &[0; 8]), Err(Error::Length));
    assert_eq!(with(0xdd, 0x20, &[0; 8]), Ok(2));
    assert_eq!(with(0xf0, 0, &[0; 8]), Err(Error::Length));
    assert_eq!(with(0x00, 0xf0, &[0; 8]), Err(Error::Length));
}

/// RFC 6554 §3: only the root of a DODAG adds a source routing header, so its routers look for the
/// header anywhere among the extension headers.
#[test]
fn a_source_route_is_found_behind_other_extension_headers() {
    let route = source_route(&[3]);
    let other_routing = [43, 0, 2, 0, 0, 0, 0, 0];
    let fragment = [43, 99, 0, 0, 0, 0, 0, 1];
    let options = |next| [&[next, 1][..], &[0; 14]].concat();
    let chain = |headers: &[&[u8]]| headers.concat();
    for (first, headers) in [
        (43, chain(&[&route])),
        (0, chain(&[&options(43), &route])),
        (60, chain(&[&options(43), &other_routing, &route])),
        (44, chain(&[&fragment, &route])),
    ] {
        let bytes = packet(first, addr(2), &headers);
        assert!(has_source_route(&bytes), "{first}");
        // Without the header itself, there is no route.
        let bytes = packet(first, addr(2), &headers[..headers.len() - route.len()]);
        assert!(!has_source_route(&bytes), "{first}");
    }
    for (first, headers) in [
        (6, chain(&[&route])),
        (0, chain(&[&options(17), &route])),
        (43, chain(&[&[59, 0, 2, 0, 0, 0, 0, 0], &route])),
        // The first header is longer than the packet.
        (60, vec![43, 9, 0, 0, 0, 0, 0, 0]),
    ] {
        let bytes = packet(first, addr(2), &headers);
        assert!(!has_source_route(&bytes), "{first}");
    }
    assert!(!has_source_route(&[0x60; 39]));
}

#[test]
fn a_route_without_addresses_has_none_to_go_to() {
    let empty = [59, 0, 3, 0, 0, 0, 0, 0];
    let route = SourceRoute::parse(&empty).unwrap();
    assert_eq!(route.address(0, &addr(2)), None);
    assert_eq!(route.addresses(addr(2)).count(), 0);
    // The last address has 8 bytes, and all others would have 2 bytes.
    let header = [59, 1, 3, 1, 0xe8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let route = SourceRoute::parse(&header).unwrap();
    assert_eq!(route.address(0, &addr(2)).unwrap().0[8..], header[8..]);
    assert_eq!(route.address(1, &addr(2)), None);
    // A packet that ends before its destination cannot be processed.
    assert_eq!(advance(&mut [0x60; 39], 40, |_| false), Advance::Problem(0));
}

#[test]
fn an_area_that_no_number_of_addresses_fills_is_refused() {
    // One address of 2 bytes, and 7 bytes for addresses of 3 bytes each.
    let bytes = [59, 2, 3, 1, 0xde, 0x70, 0, 0];
    let bytes = [&bytes[..], &[0; 16]].concat();
    assert_eq!(SourceRoute::parse(&bytes), Err(Error::Length));
}

/// RFC 6550 §6.7.1: receivers skip options of unknown types.
#[test]
fn an_unknown_option_goes_there_and_back() {
    let unknown = |kind, data| RplOption::Unknown { kind, data };
    let list = [unknown(0x0b, &[1, 2, 3][..]), unknown(0x0c, &[])];
    let bytes = options(&list);
    assert_eq!(bytes, [0x0b, 3, 1, 2, 3, 0x0c, 0]);
    let parsed = Options::parse(&bytes).unwrap();
    assert!(parsed.iter().eq(list));
    assert_eq!(parsed.configuration(), None);
    // Pad1 is the only option without a length, and parsers skip it.
    let padded = options(&[unknown(0, &[7]), unknown(0x0b, &[8])]);
    assert_eq!(padded, [0, 0x0b, 1, 8]);
    let parsed = Options::parse(&padded).unwrap();
    assert!(parsed.iter().eq([unknown(0x0b, &[8][..])]));
    // The length has eight bits.
    let mut buffer = [0; 512];
    let mut out = Cursor::new(&mut buffer);
    unknown(0x0b, &[5; 300][..]).emit(&mut out).unwrap();
    assert_eq!(out.position(), 257);
    assert_eq!(out.written()[1], 255);
}

/// RFC 6551 §2.1: an object of a metric container has a header of four bytes.
#[test]
fn a_metric_object_without_a_whole_header_is_refused() {
    let parse = |bytes: &[u8]| Options::parse(bytes).map(|options| options.iter().count());
    assert_eq!(parse(&[2, 3, 1, 0, 0]), Err(Error::Length));
    assert_eq!(parse(&[2, 4, 7, 0, 0, 0]), Ok(1));
}

/// RFC 8200 §4.2: an option whose length is missing ends the search.
#[test]
fn packet_information_is_not_found_behind_a_broken_option() {
    let none = packet(0, addr(2), &[6, 0, 1, 3, 0, 0, 0, 0x63]);
    assert_eq!(PacketInformation::find(&none), None);
    let short = PacketInformation::default().header(6);
    assert_eq!(short, [6, 0, 0x63, 4, 0, 0, 0, 0]);
    let bytes = packet(0, addr(2), &short);
    assert_eq!(
        PacketInformation::find(&bytes),
        Some(PacketInformation::default())
    );
}
