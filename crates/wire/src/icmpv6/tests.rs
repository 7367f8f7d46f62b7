use super::nd::{AddressRegistration, NdOption, Tid};
use super::*;
use crate::ieee802154::Address;
use crate::ipv6::addr;

const SRC: Addr = addr::link_local_from_short(1);
const DST: Addr = addr::link_local_from_short(2);

fn header(hop_limit: u8, payload_len: usize) -> Ipv6Header {
    Ipv6Header {
        payload_len: payload_len as u16,
        next_header: next_header::ICMPV6,
        hop_limit,
        src: SRC,
        dst: DST,
        ..Ipv6Header::default()
    }
}

/// Emits `message`, and calls `look` with its IPv6 header and its bytes.
fn emitted<R>(message: &Message<'_>, look: impl FnOnce(&Ipv6Header, &mut [u8]) -> R) -> R {
    let mut buffer = [0; 1400];
    let mut out = Cursor::new(&mut buffer);
    message.emit(&SRC, &DST, &mut out).unwrap();
    let bytes = out.into_written();
    assert_eq!(bytes.len(), message.len());
    look(&header(255, bytes.len()), bytes)
}

#[test]
fn an_echo_request_byte_by_byte() {
    let message = Message::EchoRequest {
        ident: 0x1234,
        seq: 1,
        data: b"ping",
    };
    emitted(&message, |ip, bytes| {
        // Checksum: fe80::ff:fe00:1 + fe80::ff:fe00:2 + 12 + 58 = 3fb47 -> fb4a; 8000 + 1234 + 1 +
        // 7069 + 6e67 + fb4a = 26c4f -> 6c51; ~6c51 = 93ae.
        assert_eq!(
            bytes,
            [
                0x80, 0, 0x93, 0xae, 0x12, 0x34, 0, 1, b'p', b'i', b'n', b'g'
            ]
        );
        assert_eq!(Message::parse(ip, bytes), Ok(message));
    });
}

#[test]
fn a_wrong_checksum_is_refused_but_can_be_shown() {
    let message = Message::EchoReply {
        ident: 1,
        seq: 2,
        data: &[7; 9],
    };
    emitted(&message, |ip, bytes| {
        bytes[10] ^= 1;
        assert_eq!(Message::parse(ip, bytes), Err(Error::Checksum));
        assert!(Message::parse_unverified(bytes).is_ok());
    });
}

#[test]
fn an_error_quotes_no_more_than_the_minimum_mtu_takes() {
    let packet = [0x60; 1300];
    let message = Message::TimeExceeded {
        code: time_exceeded::HOP_LIMIT,
        quoted: &packet,
    };
    emitted(&message, |_, bytes| {
        assert_eq!(bytes.len() + Ipv6Header::LEN, ipv6::MIN_MTU);
    });
    assert!(message.is_error());
}

#[test]
fn neighbour_discovery_must_not_have_passed_a_router() {
    let message = Message::RouterSolicitation {
        options: Options::NONE,
    };
    emitted(&message, |ip, bytes| {
        assert_eq!(Message::parse(ip, bytes), Ok(message));
        let routed = Ipv6Header {
            hop_limit: 254,
            ..*ip
        };
        assert_eq!(Message::parse(&routed, bytes), Err(Error::Reserved));
    });
}

#[test]
fn neighbour_discovery_with_a_code_or_a_group_as_target_is_refused() {
    let mut solicitation = [0; 24];
    solicitation[0] = message_type::NEIGHBOR_SOLICITATION;
    assert!(Message::parse_unverified(&solicitation).is_ok());
    solicitation[8] = 0xff;
    assert_eq!(
        Message::parse_unverified(&solicitation),
        Err(Error::Reserved)
    );
    solicitation[8] = 0;
    solicitation[1] = 1;
    assert_eq!(
        Message::parse_unverified(&solicitation),
        Err(Error::Reserved)
    );
}

#[test]
fn an_option_of_length_zero_or_past_the_end_spoils_the_message() {
    assert_eq!(
        Options::parse(&[1, 0, 0, 0, 0, 0, 0, 0]),
        Err(Error::Length)
    );
    assert_eq!(
        Options::parse(&[1, 2, 0, 0, 0, 0, 0, 0]),
        Err(Error::Truncated)
    );
    assert_eq!(Options::parse(&[1]), Err(Error::Truncated));
}

#[test]
fn a_known_option_with_an_impossible_length_is_unknown() {
    let bytes = [5, 2, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let options = Options::parse(&bytes).unwrap();
    assert_eq!(
        options.iter().next(),
        Some(NdOption::Unknown {
            option_type: 5,
            body: &bytes[2..],
        })
    );
}

/// RFC 8505 figure 1: R and T are the lowest two bits of the flags, and the transaction ID follows
/// the flags.
#[test]
fn a_registration_byte_by_byte() {
    let eui64 = [1, 2, 3, 4, 5, 6, 7, 8];
    let registration = |tid, routed| AddressRegistration {
        status: 3,
        tid,
        routed,
        lifetime_min: 0x0102,
        eui64,
    };
    for (flags, number, expected) in [
        (0x03, 240, registration(Some(Tid(240)), true)),
        (0x01, 7, registration(Some(Tid(7)), false)),
        (0x00, 0, registration(None, false)),
    ] {
        let mut bytes = [33, 2, 3, 0, flags, number, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8];
        let mut buffer = [0; 16];
        let mut out = Cursor::new(&mut buffer);
        let option = NdOption::AddressRegistration(expected);
        option.emit(&mut out).unwrap();
        assert_eq!(out.written(), bytes);
        // Reserved bits are ignored, and so is the octet for another protocol (Opaque).
        bytes[3] = 0xff;
        bytes[4] |= 0xfc;
        let options = Options::parse(&bytes).unwrap();
        assert_eq!(options.iter().next(), Some(option));
    }
    // Without T, the option is that of RFC 6775, whose receivers ignore all three octets.
    let old = [33, 2, 3, 9, 0x02, 99, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8];
    let options = Options::parse(&old).unwrap();
    let old = NdOption::AddressRegistration(registration(None, false));
    assert_eq!(options.iter().next(), Some(old));
    // An owner's identifier (ROVR) of 128 bits.
    let mut long = [0; 24];
    long[..6].copy_from_slice(&[33, 3, 0, 0, 3, 240]);
    let options = Options::parse(&long).unwrap();
    assert!(matches!(
        options.iter().next(),
        Some(NdOption::Unknown {
            option_type: 33,
            ..
        })
    ));
}

#[test]
fn the_seeds_of_the_fuzzer_are_registrations() {
    let options =
        include_bytes!("../../../../crates/fuzz/seeds/icmpv6/options_with_a_registration");
    let has_tid = |options: Options<'_>| {
        let mut all = options.iter();
        all.any(|option| matches!(option, NdOption::AddressRegistration(r) if r.tid.is_some()))
    };
    assert!(has_tid(Options::parse(options).unwrap()));
    let message =
        include_bytes!("../../../../crates/fuzz/seeds/icmpv6/neighbor_solicitation_that_registers");
    let Ok(Message::NeighborSolicitation(asks)) = Message::parse_unverified(message) else {
        panic!("no solicitation");
    };
    assert!(has_tid(asks.options));
    let message =
        include_bytes!("../../../../crates/fuzz/seeds/icmpv6/duplicate_address_request_with_a_tid");
    let Ok(Message::DuplicateAddressRequest(report)) = Message::parse_unverified(message) else {
        panic!("no report");
    };
    assert_eq!(report.tid, Some(Tid(241)));
}

/// RFC 8505 §4.2: the code states whether there is a transaction ID, and the length of the owner's
/// identifier; the first half of the code is ignored.
#[test]
fn a_duplicate_address_message_byte_by_byte() {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&[157, 0x01, 0, 0, 0, 241, 0, 60]);
    bytes[8..16].fill(0x0e);
    bytes[16..].copy_from_slice(&SRC.0);
    let expected = |tid| {
        Message::DuplicateAddressRequest(DuplicateAddress {
            status: 0,
            tid,
            lifetime_min: 60,
            eui64: [0x0e; 8],
            address: SRC,
        })
    };
    for (code, tid) in [(0x01, Some(Tid(241))), (0xf1, Some(Tid(241))), (0, None)] {
        bytes[1] = code;
        assert_eq!(Message::parse_unverified(&bytes), Ok(expected(tid)));
        let mut buffer = [0; 32];
        let mut out = Cursor::new(&mut buffer);
        expected(tid).emit(&SRC, &DST, &mut out).unwrap();
        let number = tid.map_or(0, |tid: Tid| tid.0);
        assert_eq!(out.written()[1], u8::from(tid.is_some()));
        assert_eq!(
            (out.written()[5], &out.written()[8..]),
            (number, &bytes[8..])
        );
    }
    for code in [2, 3, 4, 15] {
        bytes[1] = code;
        assert_eq!(Message::parse_unverified(&bytes), Err(Error::Reserved));
    }
}

#[test]
fn a_context_longer_than_64_bits_needs_the_long_option() {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&[34, 2, 64, 0x1f]);
    let options = Options::parse(&bytes).unwrap();
    let Some(NdOption::Context(context)) = options.iter().next() else {
        panic!("not a context");
    };
    assert_eq!((context.cid, context.compress), (15, true));
    bytes[2] = 65;
    let options = Options::parse(&bytes).unwrap();
    assert!(matches!(
        options.iter().next(),
        Some(NdOption::Unknown { .. })
    ));
}

/// A host ignores messages that only routers process. A host without neighbour discovery also
/// ignores all messages of neighbour discovery. Both answer echo requests.
#[test]
fn hosts_read_fewer_messages_than_routers() {
    /// The results of a router, of a host, and of a host without neighbour discovery.
    fn parsed<'a>(ip: &Ipv6Header, bytes: &'a [u8]) -> [Result<Message<'a>, Error>; 3] {
        [
            Message::parse(ip, bytes),
            Message::parse_for_host(ip, bytes),
            Message::parse_without_discovery(ip, bytes),
        ]
    }
    let report = DuplicateAddress {
        status: 0,
        tid: None,
        lifetime_min: 60,
        eui64: [0x0e; 8],
        address: SRC,
    };
    let options = Options::NONE;
    let solicitation = nd::NeighborSolicitation {
        target: DST,
        options,
    };
    let echo = Message::EchoRequest {
        ident: 1,
        seq: 2,
        data: b"ping",
    };
    // `readers` is the number of parsers that read the message, in the order of `parsed`.
    for (message, readers) in [
        (echo, 3),
        (Message::NeighborSolicitation(solicitation), 2),
        (Message::RouterSolicitation { options }, 1),
        (Message::DuplicateAddressRequest(report), 1),
        (Message::DuplicateAddressConfirmation(report), 1),
    ] {
        emitted(&message, |ip, bytes| {
            let unknown = Message::Unknown {
                message_type: bytes[0],
                code: bytes[1],
                body: &bytes[4..],
            };
            for (index, result) in parsed(ip, bytes).into_iter().enumerate() {
                let expected = if index < readers { message } else { unknown };
                assert_eq!(result, Ok(expected), "{index}");
            }
            bytes[2] ^= 1;
            assert_eq!(parsed(ip, bytes), [Err(Error::Checksum); 3]);
        });
    }
}

/// RFC 6550 §6.2.1: a DIS without options has two bytes after the checksum, fewer than the four
/// bytes that every other message has there.
#[test]
fn a_message_of_rpl_is_left_to_its_parser() {
    let parsed = Message::parse_unverified(&[155, 0, 9, 9, 1, 2]);
    let expected = Message::Unknown {
        message_type: 155,
        code: 0,
        body: &[1, 2],
    };
    assert_eq!(parsed, Ok(expected));
    assert_eq!(
        Message::parse_unverified(&[156, 0, 9, 9, 1, 2]),
        Err(Error::Truncated)
    );
}

/// RFC 4861 §4.6: receivers look for the options that they know and skip all others.
#[test]
fn options_are_found_among_others() {
    let source = Address::Short(0x0102);
    let target = Address::Extended([1, 2, 3, 4, 5, 6, 7, 8]);
    let prefix = |len| nd::PrefixInformation {
        prefix: Addr([0; 16]),
        prefix_len: len,
        ..nd::PrefixInformation::default()
    };
    let context = |cid| nd::ContextInformation {
        cid,
        ..nd::ContextInformation::default()
    };
    let registration = |status| AddressRegistration {
        status,
        ..AddressRegistration::default()
    };
    let unknown = NdOption::Unknown {
        option_type: 200,
        body: &[9; 6],
    };
    let mut buffer = [0; 400];
    let mut out = Cursor::new(&mut buffer);
    for option in [
        unknown,
        NdOption::TargetLinkLayer(target),
        // An absent address takes no bytes.
        NdOption::SourceLinkLayer(Address::Absent),
        NdOption::SourceLinkLayer(source),
        NdOption::SourceLinkLayer(Address::Short(9)),
        NdOption::PrefixInformation(prefix(64)),
        NdOption::AddressRegistration(registration(2)),
        NdOption::Context(context(3)),
        NdOption::PrefixInformation(prefix(48)),
        NdOption::Context(context(1)),
        NdOption::AddressRegistration(registration(1)),
    ] {
        option.emit(&mut out).unwrap();
    }
    let options = Options::parse(out.written()).unwrap();
    assert_eq!(options.iter().count(), 10);
    assert_eq!(options.source_link_layer(), Some(source));
    assert_eq!(options.target_link_layer(), Some(target));
    assert_eq!(options.address_registration(), Some(registration(2)));
    assert!(options.prefixes().eq([prefix(64), prefix(48)]));
    assert!(options.contexts().eq([context(3), context(1)]));
    // An address of an impossible length is skipped, and the next option of its type counts.
    let bytes = [[1, 3].as_slice(), &[0; 22], &[1, 1, 0, 7, 0, 0, 0, 0]].concat();
    let options = Options::parse(&bytes).unwrap();
    assert_eq!(options.source_link_layer(), Some(Address::Short(7)));
    assert_eq!(options.target_link_layer(), None);
    assert_eq!(options.address_registration(), None);
    assert_eq!(options.prefixes().count(), 0);
}
