//! Wireshark's dissector parses Redpoll's frames: it finds the intended field values, right check
//! sequences and checksums, and no malformed frame.
//!
//! A UDP checksum covers both addresses and ports, so tshark's verdict on the checksum checks the
//! whole decompression. Without tshark the tests print a notice and check nothing.

use crate::common;

use common::PREFIX;
use redpoll_base::{Addr, Ecn};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::{Message, nd};
use redpoll_wire::ieee802154::{self, Address, FrameHeader, FrameType};
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};
use redpoll_wire::sixlowpan::iphc::{self, Upper};
use redpoll_wire::sixlowpan::{Contexts, fragment};
use redpoll_wire::udp::UdpHeader;
use std::path::Path;
use std::process::Command;

const PAN: u16 = 0x7270;
const SRC: Address = Address::Short(0x11);
const DST: Address = Address::Extended([0x02, 0x12, 0x4b, 0, 0x14, 0xb5, 0xd9, 0xc7]);
/// A port without a dissector in Wireshark: a dissector would reject the test's payloads.
const PORT: u16 = 40_123;
const HOST: Addr = Addr([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);

/// Returns a context for the mesh, and one for a host far away.
fn contexts() -> Contexts {
    let mut contexts = Contexts::with_prefix(PREFIX);
    contexts.set(3, HOST, 128);
    contexts
}

fn written(emit: impl FnOnce(&mut Cursor<'_>)) -> Vec<u8> {
    let mut buffer = [0; 1500];
    let mut out = Cursor::new(&mut buffer);
    emit(&mut out);
    out.written().to_vec()
}

fn frame(dsn: u8, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        frame_type: FrameType::Data,
        ack_request: true,
        version: 1,
        dsn,
        dst_pan: Some(PAN),
        dst: DST,
        src_pan: Some(PAN),
        src: SRC,
        ..FrameHeader::default()
    };
    let frame = written(|out| {
        header.emit(out).unwrap();
        out.put(payload).unwrap();
    });
    with_fcs(&frame)
}

fn with_fcs(frame: &[u8]) -> Vec<u8> {
    let fcs = ieee802154::fcs(frame).to_le_bytes();
    let whole = [frame, &fcs].concat();
    assert!(whole.len() <= ieee802154::timing::MAX_PSDU);
    whole
}

/// Writes the frames as a capture and returns the values that tshark finds in each frame, in the
/// order of `fields`. `None` without tshark.
fn dissect(name: &str, frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: no tshark on this machine ({name})");
        return None;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    std::fs::write(&path, capture(frames)).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&path);
    for preference in [
        format!("6lowpan.context0:{PREFIX}/64"),
        format!("6lowpan.context3:{HOST}/128"),
        "udp.check_checksum:TRUE".into(),
        "wpan.fcs_format:ITU-T CRC-16".into(),
    ] {
        command.arg("-o").arg(preference);
    }
    command.args(["-T", "fields", "-E", "separator=;"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {errors}");
    let rows: Vec<Vec<String>> = text
        .lines()
        .map(|line| line.split(';').map(|it| number(it).to_owned()).collect())
        .collect();
    assert_eq!(rows.len(), frames.len(), "{errors}");
    Some(rows)
}

/// Returns a truth value of a field as tshark 4.0 writes it; since 4.2 it writes words.
fn number(value: &str) -> &str {
    match value {
        "True" => "1",
        "False" => "0",
        value => value,
    }
}

/// Returns a capture file of LINKTYPE_IEEE802_15_4_WITHFCS.
fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 256, 195] {
        file.extend(word.to_le_bytes());
    }
    for (i, frame) in frames.iter().enumerate() {
        let len = frame.len() as u32;
        for word in [i as u32, 0, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// Packets with every form of source, destination, traffic class, hop limit and port that the
/// compression distinguishes.
fn packets() -> Vec<(Ipv6Header, UdpHeader)> {
    let node = |short| addr::from_prefix_and_short(&PREFIX, short);
    let far = addr::from_prefix_and_iid(&PREFIX, [1, 2, 3, 4, 5, 6, 7, 8]);
    let mut wide = [0xff; 16];
    wide[1] = 0x0e;
    let sources = [
        addr::link_local(SRC).unwrap(),
        addr::link_local_from_short(0x99),
        addr::link_local_from_eui64([9; 8]),
        node(0x11),
        node(0x1234),
        far,
        HOST,
    ];
    let destinations = [
        addr::link_local(DST).unwrap(),
        node(2),
        far,
        HOST,
        Addr([0x20; 16]),
        addr::LINK_LOCAL_ALL_NODES,
        Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3]),
        addr::solicited_node(&node(2)),
        Addr(wide),
    ];
    let classes = [
        (0, Ecn::NotEct, 0),
        (0, Ecn::Ect0, 0),
        (0x2e, Ecn::Ce, 0),
        (0, Ecn::Ect1, 0xabcde),
        (0x2e, Ecn::Ect0, 0xfffff),
    ];
    let hop_limits = [1, 64, 255, 7];
    let ports = [
        (0xf0b1, 0xf0bf),
        (0xf001, PORT),
        (PORT, 0xf002),
        (PORT, PORT),
    ];
    let mut packets = Vec::new();
    for (i, src) in sources.into_iter().enumerate() {
        for (j, dst) in destinations.into_iter().enumerate() {
            // Every source with every destination; the other fields take their values in turn.
            let k = packets.len();
            let (dscp, ecn, flow_label) = classes[(i + 2 * j) % classes.len()];
            let (src_port, dst_port) = ports[(i + j) % ports.len()];
            let udp = UdpHeader::for_payload(&src, src_port, &dst, dst_port, b"redpoll");
            let udp = udp.unwrap();
            let ip = Ipv6Header {
                dscp,
                ecn,
                flow_label,
                payload_len: udp.length,
                next_header: next_header::UDP,
                hop_limit: hop_limits[k % hop_limits.len()],
                src,
                dst,
            };
            packets.push((ip, udp));
        }
    }
    packets
}

fn compressed(ip: &Ipv6Header, upper: Upper<'_>, rest: &[u8]) -> Vec<u8> {
    written(|out| {
        iphc::compress(ip, upper, SRC, DST, &contexts(), out).unwrap();
        out.put(rest).unwrap();
    })
}

#[test]
fn compressed_packets_of_every_form() {
    let packets = packets();
    let frames: Vec<_> = packets
        .iter()
        .zip(0..)
        .map(|((ip, udp), dsn)| frame(dsn, &compressed(ip, Upper::Udp(udp), b"redpoll")))
        .collect();
    let fields = [
        "wpan.seq_no",
        "wpan.dst_pan",
        "wpan.src16",
        "wpan.dst64",
        "wpan.fcs_ok",
        "ipv6.src",
        "ipv6.dst",
        "ipv6.tclass.dscp",
        "ipv6.tclass.ecn",
        "ipv6.flow",
        "ipv6.hlim",
        "ipv6.plen",
        "udp.srcport",
        "udp.dstport",
        "udp.length",
        "udp.checksum.status",
        "_ws.malformed",
    ];
    let Some(rows) = dissect("compressed", &frames, &fields) else {
        return;
    };
    for (i, (row, (ip, udp))) in rows.iter().zip(&packets).enumerate() {
        let expected = [
            i.to_string(),
            "0x7270".into(),
            "0x0011".into(),
            DST.to_string(),
            "1".into(),
            ip.src.to_string(),
            ip.dst.to_string(),
            ip.dscp.to_string(),
            ip.ecn.bits().to_string(),
            format!("0x{:06x}", ip.flow_label),
            ip.hop_limit.to_string(),
            ip.payload_len.to_string(),
            udp.src_port.to_string(),
            udp.dst_port.to_string(),
            udp.length.to_string(),
            "1".into(),
            String::new(),
        ];
        assert_eq!(row[..], expected, "frame {}: {fields:?}", i + 1);
    }
}

#[test]
fn a_marked_packet_keeps_a_valid_checksum() {
    let (ip, udp) = packets()
        .into_iter()
        .find(|(ip, _)| ip.ecn == Ecn::Ect0)
        .unwrap();
    let mut packet = compressed(&ip, Upper::Udp(&udp), b"redpoll");
    assert!(iphc::mark_ce(&mut packet));
    let fields = ["ipv6.tclass.ecn", "udp.checksum.status"];
    let rows = dissect("marked", &[frame(0, &packet)], &fields);
    if let Some(rows) = rows {
        assert_eq!(rows[0], ["3", "1"]);
    }
}

#[test]
fn a_datagram_in_fragments() {
    let (src, dst) = (
        addr::from_prefix_and_short(&PREFIX, 1),
        addr::from_prefix_and_short(&PREFIX, 2),
    );
    let payload: Vec<u8> = (0..300).map(|i| i as u8).collect();
    let udp = UdpHeader::for_payload(&src, PORT, &dst, PORT, &payload).unwrap();
    let ip = Ipv6Header {
        payload_len: udp.length,
        next_header: next_header::UDP,
        hop_limit: 64,
        src,
        dst,
        ..Ipv6Header::default()
    };
    let (size, tag) = (40 + udp.length, 0xbeef);
    // The first fragment has 48 bytes of headers and 40 of payload; each later one has 80 bytes.
    let first = written(|out| {
        fragment::Header::First { size, tag }.emit(out).unwrap();
        out.put(&compressed(&ip, Upper::Udp(&udp), &payload[..40]))
            .unwrap();
    });
    let mut frames = vec![frame(0, &first)];
    let mut offset = 88;
    for part in payload[40..].chunks(80) {
        let next = written(|out| {
            let header = fragment::Header::Next { size, tag, offset };
            header.emit(out).unwrap();
            out.put(part).unwrap();
        });
        offset += part.len() as u16;
        frames.push(frame(frames.len() as u8, &next));
    }
    assert_eq!(offset, size);

    let fields = [
        "6lowpan.frag.tag",
        "6lowpan.frag.offset",
        "6lowpan.reassembled.length",
        "udp.length",
        "udp.checksum.status",
        "_ws.malformed",
    ];
    let Some(rows) = dissect("fragments", &frames, &fields) else {
        return;
    };
    let last = rows.last().unwrap();
    let size = size.to_string();
    let length = udp.length.to_string();
    assert_eq!(last[2..], [&size, &length, "1", ""]);
    let offsets: Vec<_> = rows.iter().skip(1).map(|row| row[1].as_str()).collect();
    assert_eq!(offsets, ["88", "168", "248", "328"]);
    assert!(rows.iter().all(|row| row[0] == "0xbeef"));
}

fn icmp_frame(message: &Message<'_>) -> Vec<u8> {
    let (src, dst) = (
        addr::link_local(SRC).unwrap(),
        addr::link_local(DST).unwrap(),
    );
    let bytes = written(|out| message.emit(&src, &dst, out).unwrap());
    let ip = Ipv6Header {
        payload_len: bytes.len() as u16,
        next_header: next_header::ICMPV6,
        hop_limit: nd::HOP_LIMIT,
        src,
        dst,
        ..Ipv6Header::default()
    };
    frame(0, &compressed(&ip, Upper::Other, &bytes))
}

#[test]
fn echoes_and_errors() {
    let quoted = Ipv6Header {
        next_header: next_header::NONE,
        hop_limit: 1,
        src: HOST,
        dst: HOST,
        ..Ipv6Header::default()
    }
    .to_bytes();
    let quoted = &quoted;
    let messages = [
        Message::EchoRequest {
            ident: 1,
            seq: 2,
            data: b"odd",
        },
        Message::DestinationUnreachable { code: 3, quoted },
        Message::TimeExceeded { code: 0, quoted },
        Message::PacketTooBig { mtu: 1280, quoted },
        Message::ParameterProblem {
            code: 1,
            pointer: 6,
            quoted,
        },
    ];
    let frames = messages.map(|message| icmp_frame(&message));
    let fields = [
        "icmpv6.type",
        "icmpv6.code",
        "icmpv6.checksum.status",
        "icmpv6.mtu",
        "icmpv6.pointer",
        "_ws.malformed",
    ];
    let Some(rows) = dissect("icmpv6", &frames, &fields) else {
        return;
    };
    assert_eq!(rows[0], ["128", "0", "1", "", "", ""]);
    assert_eq!(rows[1], ["1", "3", "1", "", "", ""]);
    assert_eq!(rows[2], ["3", "0", "1", "", "", ""]);
    assert_eq!(rows[3], ["2", "0", "1", "1280", "", ""]);
    assert_eq!(rows[4], ["4", "1", "1", "", "6", ""]);
}

fn options(options: &[nd::NdOption<'_>]) -> Vec<u8> {
    written(|out| {
        for option in options {
            option.emit(out).unwrap();
        }
    })
}

#[test]
fn neighbour_discovery_and_its_options() {
    let registration = options(&[
        nd::NdOption::SourceLinkLayer(DST),
        nd::NdOption::AddressRegistration(nd::AddressRegistration {
            status: 0,
            tid: Some(nd::Tid(241)),
            routed: true,
            lifetime_min: 5,
            eui64: [0x02, 0x12, 0x4b, 0, 0x14, 0xb5, 0xd9, 0xc7],
        }),
    ]);
    let network = options(&[
        nd::NdOption::PrefixInformation(nd::PrefixInformation {
            prefix: PREFIX,
            prefix_len: 64,
            autonomous: true,
            valid_lifetime_s: 600,
            preferred_lifetime_s: 300,
            ..nd::PrefixInformation::default()
        }),
        nd::NdOption::Mtu(1280),
    ]);
    let origin = options(&[
        nd::NdOption::Context(nd::ContextInformation {
            cid: 3,
            compress: true,
            prefix_len: 128,
            prefix: HOST,
            valid_lifetime_min: 9,
        }),
        nd::NdOption::BorderRouter(nd::BorderRouter {
            version: 0x0001_0002,
            valid_lifetime_min: 7,
            address: HOST,
        }),
    ]);
    let advertisement = |options| {
        icmp_frame(&Message::RouterAdvertisement(nd::RouterAdvertisement {
            cur_hop_limit: 64,
            router_lifetime_s: 1800,
            options: nd::Options::parse(options).unwrap(),
            ..nd::RouterAdvertisement::default()
        }))
    };
    let solicitation = icmp_frame(&Message::NeighborSolicitation(nd::NeighborSolicitation {
        target: addr::link_local(DST).unwrap(),
        options: nd::Options::parse(&registration).unwrap(),
    }));
    let frames = [
        solicitation,
        advertisement(&network),
        advertisement(&origin),
    ];
    let fields = "icmpv6.type icmpv6.checksum.status _ws.malformed \
        icmpv6.opt.src_linkaddr_eui64 icmpv6.opt.aro.registration_lifetime icmpv6.opt.aro.eui64 \
        icmpv6.opt.prefix icmpv6.opt.prefix.valid_lifetime icmpv6.opt.mtu \
        icmpv6.opt.6co.flag.cid icmpv6.opt.6co.context_prefix \
        icmpv6.opt.abro.version_high icmpv6.opt.abro.6lbr_address";
    let fields: Vec<_> = fields.split_whitespace().collect();
    let Some(rows) = dissect("discovery", &frames, &fields) else {
        return;
    };
    for (row, kind) in rows.iter().zip(["135", "134", "134"]) {
        assert_eq!(row[..3], [kind, "1", ""], "{row:?}");
    }
    let eui64 = DST.to_string();
    let (prefix, host) = (PREFIX.to_string(), HOST.to_string());
    assert_eq!(rows[0][3..6], [&eui64, "5", &eui64]);
    assert_eq!(rows[1][6..9], [&prefix, "600", "1280"]);
    assert_eq!(rows[2][9..13], ["3", &host, "1", &host]);
}

#[test]
fn frames_of_every_addressing() {
    let mut headers = Vec::new();
    for dst in [Address::Absent, Address::BROADCAST, DST] {
        for src in [Address::Absent, SRC, DST] {
            for src_pan in [PAN, 0x0102] {
                // A data frame has a source or a destination address.
                if dst == Address::Absent && src == Address::Absent {
                    continue;
                }
                headers.push(FrameHeader {
                    dsn: headers.len() as u8,
                    dst_pan: (dst != Address::Absent).then_some(PAN),
                    dst,
                    src_pan: (src != Address::Absent).then_some(src_pan),
                    src,
                    ..FrameHeader::default()
                });
            }
        }
    }
    let mut frames: Vec<_> = headers
        .iter()
        .map(|header| with_fcs(&written(|out| header.emit(out).unwrap())))
        .collect();
    frames.push(with_fcs(&ieee802154::imm_ack(77, true)));
    let fields = [
        "wpan.frame_type",
        "wpan.seq_no",
        "wpan.fcs_ok",
        "wpan.dst_pan",
        "wpan.dst16",
        "wpan.dst64",
        "wpan.src_pan",
        "wpan.src16",
        "wpan.src64",
        "wpan.pending",
        "_ws.malformed",
    ];
    let Some(rows) = dissect("addressing", &frames, &fields) else {
        return;
    };
    let (ack, rows) = rows.split_last().unwrap();
    assert_eq!(ack[..3], ["0x0002", "77", "1"]);
    assert_eq!(ack[9..], ["1", ""]);
    for (row, header) in rows.iter().zip(&headers) {
        let pan = |pan: Option<u16>| pan.map_or(String::new(), |pan| format!("0x{pan:04x}"));
        let short = |address| match address {
            Address::Short(_) => format!("{address}"),
            _ => String::new(),
        };
        let extended = |address| match address {
            Address::Extended(_) => format!("{address}"),
            _ => String::new(),
        };
        let expected = [
            "0x0001".into(),
            header.dsn.to_string(),
            "1".into(),
            pan(header.dst_pan),
            short(header.dst),
            extended(header.dst),
            // An elided PAN ID is shown as the receiver's, or not at all.
            if row[6].is_empty() && header.src_pan == header.dst_pan {
                String::new()
            } else {
                pan(header.src_pan)
            },
            short(header.src),
            extended(header.src),
            "0".into(),
            String::new(),
        ];
        assert_eq!(row[..], expected, "{header:?}");
    }
}
