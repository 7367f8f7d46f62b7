//! Parsers accept any bytes: no bytes make them panic. An accepted packet can be emitted again with
//! the same meaning.

use crate::common;

use common::*;
use proptest::prelude::*;
use redpoll_base::Addr;
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::ieee802154::{self, FrameHeader};
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};
use redpoll_wire::rpl;
use redpoll_wire::sixlowpan::{dispatch, fragment, iphc};
use redpoll_wire::tcp::{HeaderView, OptionItem};
use redpoll_wire::udp::UdpHeader;

/// Random bytes after a first byte that `first` generates.
fn starting(first: impl Strategy<Value = u8>, max: usize) -> impl Strategy<Value = Vec<u8>> {
    (first, bytes(max)).prop_map(|(first, mut bytes)| {
        bytes.insert(0, first);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn ipv6(mut packet in starting(0x58..0x70u8, 80)) {
        if let Ok((header, payload)) = Ipv6Header::parse(&packet) {
            prop_assert_eq!(payload.len(), usize::from(header.payload_len));
            prop_assert_eq!(&header.to_bytes(), packet.first_chunk().unwrap());
            prop_assert!(Ipv6Header::parse_partial(&packet).is_ok());
        }
        prop_assert_eq!(ipv6::ecn(&packet).is_some(), packet[0] >> 4 == 6 && packet.len() > 1);
        ipv6::mark_ce(&mut packet);
        ipv6::decrement_hop_limit(&mut packet);
    }

    #[test]
    fn ipv6_with_short_payloads(mut packet in starting(0x60..0x70u8, 120), len in 0..80u16) {
        if let Some(field) = packet.get_mut(4..6) {
            field.copy_from_slice(&len.to_be_bytes());
        }
        if let Ok((header, payload)) = Ipv6Header::parse(&packet) {
            prop_assert_eq!(payload.len(), usize::from(len));
            let walk = ipv6::skip_extension_headers(header.next_header, payload);
            prop_assert!(walk.is_err() || walk.is_ok_and(|(_, at)| at <= payload.len()));
        }
    }

    #[test]
    fn extension_headers(first in prop::sample::select(vec![0u8, 43, 44, 60]), mut payload in bytes(120)) {
        // Chains of headers are rare among random bytes, so this makes them likely.
        for unit in payload.chunks_mut(8) {
            unit[0] = [0, 43, 44, 60, 6, 17][usize::from(unit[0]) % 6];
            if let Some(len) = unit.get_mut(1) {
                *len %= 3;
            }
        }
        if let Ok((_, at)) = ipv6::skip_extension_headers(first, &payload) {
            prop_assert!(at <= payload.len() && at % 8 == 0);
        }
    }

    #[test]
    fn udp(datagram in bytes(40), len in 0..48u16) {
        let mut datagram = datagram;
        if let Some(field) = datagram.get_mut(4..6) {
            field.copy_from_slice(&len.to_be_bytes());
        }
        if let Ok((header, payload)) = UdpHeader::parse(&datagram) {
            prop_assert_eq!(payload.len() + 8, usize::from(len));
            prop_assert_eq!(&header.to_bytes(), datagram.first_chunk().unwrap());
            header.verify(&PREFIX, &PREFIX, payload);
        }
    }

    #[test]
    fn tcp(mut segment in bytes(80), words in 4..17u8, missing in 0..30usize) {
        if let Some(offset) = segment.get_mut(12) {
            *offset = words << 4;
        }
        let whole = HeaderView::parse(&segment);
        if let Ok(header) = whole {
            prop_assert_eq!(header.header_len() + header.payload_len(), segment.len());
            prop_assert!(segment.ends_with(header.payload()));
            let strict = header.options().strict().filter_map(|item| match item {
                Ok(OptionItem::Option { kind, value }) => Some((kind, value)),
                _ => None,
            });
            prop_assert!(header.options().lenient().eq(strict));
        }
        let part = &segment[..segment.len().saturating_sub(missing)];
        match HeaderView::parse_partial(part, segment.len()) {
            Ok(part) => {
                let whole = whole.unwrap();
                prop_assert!(whole.payload().starts_with(part.payload()));
                prop_assert_eq!(part.payload_len(), whole.payload_len());
                prop_assert!(!part.is_complete() || part.options() == whole.options());
            }
            Err(_) => prop_assert!(part.len() < HeaderView::MIN_LEN || whole.is_err()),
        }
    }

    #[test]
    fn icmpv6(mut payload in starting(prop_oneof![0..6u8, 127..140u8], 90), repair: bool, hop_limit in 254..=255u8) {
        let ip = Ipv6Header { hop_limit, src: PREFIX, dst: PREFIX, ..Ipv6Header::default() };
        let shown = Message::parse_unverified(&payload).is_ok();
        prop_assert!(shown || Message::parse(&ip, &payload).is_err());
        if repair && payload.len() >= 8 {
            // The message gets a low code, no reserved bits, and a correct checksum.
            payload[1] &= 1;
            payload[2..4].fill(0);
            let mut sum = redpoll_base::checksum::Checksum::pseudo_header(
                &ip.src, &ip.dst, 58, payload.len() as u32,
            );
            sum.add(&payload);
            let sum = sum.finish();
            payload[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        if let Ok(message) = Message::parse(&ip, &payload) {
            let mut buffer = [0; 200];
            let mut out = Cursor::new(&mut buffer);
            message.emit(&ip.src, &ip.dst, &mut out).unwrap();
            prop_assert_eq!(out.position(), message.len());
            prop_assert_eq!(Message::parse(&ip, out.written()), Ok(message));
        }
    }

    #[test]
    fn nd_options(mut bytes in bytes(120)) {
        use redpoll_wire::icmpv6::nd::Options;
        for unit in bytes.chunks_mut(8) {
            unit[0] = [1, 2, 3, 5, 33, 34, 35, 99][usize::from(unit[0]) % 8];
            if let Some(len) = unit.get_mut(1) {
                *len %= 5;
            }
        }
        if let Ok(options) = Options::parse(&bytes) {
            let mut buffer = [0; 200];
            let mut out = Cursor::new(&mut buffer);
            for option in options.iter() {
                option.emit(&mut out).unwrap();
            }
            let again = Options::parse(out.written()).unwrap();
            prop_assert!(again.iter().eq(options.iter()));
        }
    }

    #[test]
    fn rpl(code in 0..5_u8, body in bytes(200), at in 40..60_usize) {
        if let Ok(message) = rpl::Message::parse(code, &body) {
            let mut buffer = [0; 256];
            let mut out = Cursor::new(&mut buffer);
            message.emit(&mut out).unwrap();
            prop_assert_eq!(rpl::Message::parse(code, out.written()), Ok(message));
        }
        let mut packet = body;
        if let Some(information) = rpl::PacketInformation::find(&packet) {
            prop_assert!(information.replace(&mut packet));
            prop_assert_eq!(rpl::PacketInformation::find(&packet), Some(information));
        }
        let route = rpl::SourceRoute::parse(packet.get(at..).unwrap_or_default());
        let mut stops = route.map_or(0, |route| route.segments_left);
        while let rpl::Advance::Onward(_) = rpl::advance(&mut packet, at, |_| false) {
            prop_assert!(stops > 0);
            stops -= 1;
        }
    }

    #[test]
    fn ieee802154(frame in bytes(40)) {
        ieee802154::fcs(&frame);
        if let Ok((header, payload)) = FrameHeader::parse(&frame) {
            prop_assert!(payload.len() < frame.len());
            let mut buffer = [0; 32];
            let mut out = Cursor::new(&mut buffer);
            header.emit(&mut out).unwrap();
            prop_assert_eq!(out.position(), header.len());
            // `emit` writes version 2 as version 1 with all PAN IDs, so only headers of versions 0
            // and 1 are parsed back unchanged.
            if header.version < 2 {
                let (again, rest) = FrameHeader::parse(out.written()).unwrap();
                prop_assert_eq!((again, rest.len()), (header, 0));
            }
        }
    }

    #[test]
    fn fragments(payload in starting(0xc0..0xf0u8, 20)) {
        dispatch(&payload);
        if let Ok((header, _)) = fragment::Header::parse(&payload) {
            let mut buffer = [0; 5];
            let mut out = Cursor::new(&mut buffer);
            header.emit(&mut out).unwrap();
            prop_assert_eq!(out.written(), &payload[..header.len()]);
        }
    }

    #[test]
    fn iphc(
        mut packet in starting(0x60..0x80u8, 120),
        src in link_address(),
        dst in link_address(),
        contexts in contexts(),
        len in prop::option::of(0..2048usize),
        room in 0..600usize,
    ) {
        let mut out = vec![0; room];
        if let Ok(done) = iphc::decompress(&packet, src, dst, &contexts, len, &mut out) {
            prop_assert!(done.consumed <= packet.len());
            prop_assert!(done.written >= 40 && done.written <= room);
            let (header, _) = Ipv6Header::parse_partial(&out[..done.written]).unwrap();
            let total = len.unwrap_or(done.written + packet.len() - done.consumed);
            prop_assert_eq!(usize::from(header.payload_len) + 40, total);
        }
        let ecn = iphc::ecn(&packet);
        let marked = iphc::mark_ce(&mut packet);
        prop_assert_eq!(marked, ecn.is_some_and(|ecn| ecn.is_capable()));
    }

    #[test]
    fn compressed_extension_headers(
        first in 0xe0..0xf8u8,
        rest in bytes(60),
        contexts in contexts(),
    ) {
        // 011 11 1 10 | 0 0 11 0 0 11: all elided, then next-header compression.
        let mut packet = vec![0x7e, 0x33, first];
        packet.extend(rest);
        let mut out = [0; 600];
        let link = ieee802154::Address::Short(1);
        if let Ok(done) = iphc::decompress(&packet, link, link, &contexts, None, &mut out) {
            prop_assert_eq!(done.written % 8, 0);
            let (header, rest) = Ipv6Header::parse_partial(&out[..done.written]).unwrap();
            prop_assert_ne!(header.src, Addr::UNSPECIFIED);
            // The written headers are a chain that ends with the last written byte.
            let mut next = header.next_header;
            let mut at = 0;
            while let Some([following, units, ..]) = rest.get(at..) {
                at += match next {
                    next_header::UDP | next_header::FRAGMENT => 8,
                    _ => 8 * (usize::from(*units) + 1),
                };
                next = *following;
            }
            prop_assert_eq!(at, rest.len());
        }
    }
}
