//! Summaries of frames, and truncated or malformed files.

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use redpoll_base::{Addr, Ecn, Rng, checksum::Checksum};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType, fcs, imm_ack};
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::sixlowpan::{Contexts, fragment, iphc, recoverable};
use redpoll_wire::udp::UdpHeader;

use redpoll_dissect::capture::{Capture, Captured, Ended, NotOpen, Record, Trailer};
use redpoll_dissect::{Dissector, Reading};

const SRC: Address = Address::Short(2);
const DST: Address = Address::Short(1);

fn addr(short: u8) -> Addr {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&[0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c]);
    bytes[8..].copy_from_slice(&[0, 0, 0, 0xff, 0xfe, 0, 0, short]);
    Addr(bytes)
}

fn dissector() -> Dissector {
    Dissector::new(Reading::of(addr(0)))
}

fn summary(captured: &Captured<'_>) -> String {
    dissector().captured(captured, 0).summary()
}

fn line(record: &Record) -> String {
    let us = record.at_us.unwrap_or(0);
    let summary = dissector().record(record).summary();
    format!("{}.{:06} {summary}", us / 1_000_000, us % 1_000_000)
}

fn contexts() -> Contexts {
    Contexts::with_prefix(addr(0))
}

fn ip(payload_len: usize, next_header: u8) -> Ipv6Header {
    Ipv6Header {
        dscp: 0,
        ecn: Ecn::NotEct,
        flow_label: 0,
        payload_len: payload_len as u16,
        next_header,
        hop_limit: 64,
        src: addr(2),
        dst: addr(1),
    }
}

/// Returns a data frame from address 2 to address 1 with `payload`, without check sequence.
fn frame(payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        frame_type: FrameType::Data,
        ack_request: true,
        version: 1,
        dsn: 7,
        dst_pan: Some(0x7270),
        dst: DST,
        src_pan: Some(0x7270),
        src: SRC,
        ..FrameHeader::default()
    };
    let mut bytes = vec![0; header.len()];
    header.emit(&mut Cursor::new(&mut bytes)).unwrap();
    bytes.extend_from_slice(payload);
    bytes
}

fn compressed(ip: &Ipv6Header, upper: iphc::Upper<'_>) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    let mut cursor = Cursor::new(&mut bytes);
    iphc::compress(ip, upper, SRC, DST, &contexts(), &mut cursor).unwrap();
    let len = cursor.position();
    bytes.truncate(len);
    bytes
}

fn tcp_segment(payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0xc0, 0, 0x1b, 0x58, 0, 0, 0, 100, 0, 0, 0, 200, 0x60, 0x18];
    segment.extend_from_slice(&1848u16.to_be_bytes());
    segment.extend_from_slice(&[0, 0, 0, 0, 2, 4, 1, 0xce]);
    segment.extend_from_slice(payload);
    let mut sum = Checksum::pseudo_header(&addr(2), &addr(1), 6, segment.len() as u32);
    sum.add(&segment);
    segment[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    segment
}

fn shown(mpdu: &[u8]) -> String {
    summary(&Captured {
        trailer: Trailer::Crc16(fcs(mpdu)),
        ..Captured::of(mpdu)
    })
}

#[test]
fn an_acknowledgement_shows_its_sequence_number() {
    assert_eq!(shown(&imm_ack(9, false)).trim(), "ack seq 9 [3 B]");
    assert_eq!(shown(&imm_ack(9, true)).trim(), "ack seq 9 [3 B] pending");
}

#[test]
fn a_udp_datagram_in_one_frame_is_shown_whole() {
    let udp = UdpHeader::for_payload(&addr(2), 5000, &addr(1), 61617, b"hello").unwrap();
    let mut payload = compressed(&ip(13, next_header::UDP), iphc::Upper::Udp(&udp));
    payload.extend_from_slice(b"hello");
    let text = shown(&frame(&payload));
    assert!(text.starts_with("0x0002 > 0x0001 data seq 7 ["), "{text}");
    assert!(
        text.ends_with(
            "IPHC fd72:6564:706f:6c6c:0:ff:fe00:2 > fd72:6564:706f:6c6c:0:ff:fe00:1 \
             hlim 64 UDP 5000 > 61617 len 5"
        ),
        "{text}"
    );
    *payload.last_mut().unwrap() ^= 1;
    assert!(shown(&frame(&payload)).ends_with("(wrong checksum)"));
}

#[test]
fn a_tcp_segment_shows_flags_numbers_and_options() {
    let segment = tcp_segment(b"data");
    let ip = ip(segment.len(), next_header::TCP);
    let mut payload = compressed(&ip, iphc::Upper::Other);
    payload.extend_from_slice(&segment);
    let text = shown(&frame(&payload));
    assert!(
        text.ends_with("TCP 49152 > 7000 [P.] seq 100 ack 200 win 1848 len 4 mss 462"),
        "{text}"
    );
}

#[test]
fn fragments_show_their_offset_and_the_first_shows_its_headers() {
    let segment = tcp_segment(&[0; 400]);
    let ip = ip(segment.len(), next_header::TCP);
    let size = 40 + segment.len() as u16;
    let mut first = vec![0; 4];
    fragment::Header::First { size, tag: 3 }
        .emit(&mut Cursor::new(&mut first))
        .unwrap();
    first.extend_from_slice(&compressed(&ip, iphc::Upper::Other));
    first.extend_from_slice(&segment[..80]);
    let text = shown(&frame(&first));
    assert!(text.contains("FRAG1 tag 3 size 464 IPHC fd72"), "{text}");
    assert!(text.ends_with("len 400 mss 462"), "{text}");
    let mut next = vec![0; 5];
    let header = fragment::Header::Next {
        size,
        tag: 3,
        offset: 448,
    };
    header.emit(&mut Cursor::new(&mut next)).unwrap();
    next.extend_from_slice(&[0; 16]);
    let text = shown(&frame(&next));
    assert!(
        text.ends_with("FRAGN tag 3 size 464 offset 448 len 16 last"),
        "{text}"
    );
    next.push(0);
    assert!(
        shown(&frame(&next)).ends_with("malformed: the fragment ends beyond the datagram's size")
    );
}

#[test]
fn recoverable_fragments_and_their_acknowledgments_are_shown() {
    let segment = tcp_segment(&[0; 400]);
    let mut part = compressed(&ip(segment.len(), next_header::TCP), iphc::Upper::Other);
    let size = (part.len() + segment.len()) as u16;
    part.extend_from_slice(&segment[..80]);
    let recoverable = |header: recoverable::Fragment, body: &[u8]| {
        let mut bytes = vec![0; recoverable::Fragment::LEN];
        header.emit(&mut Cursor::new(&mut bytes)).unwrap();
        bytes.extend_from_slice(body);
        shown(&frame(&bytes))
    };
    let first = recoverable::Fragment {
        size: part.len() as u16,
        offset: size,
        ..recoverable::Fragment::abort(3)
    };
    let text = recoverable(first, &part);
    let start = format!("RFRAG tag 3 seq 0 size {size} len {} IPHC fd72", part.len());
    assert!(text.contains(&start), "{text}");
    assert!(text.ends_with("len 400 mss 462"), "{text}");
    let last = recoverable::Fragment {
        ecn: true,
        ack_request: true,
        sequence: 4,
        size: 2,
        offset: 431,
        ..first
    };
    let text = recoverable(last, b"ab");
    assert!(text.ends_with("RFRAG tag 3 seq 4 ack requested congested offset 431 len 2"));
    let text = recoverable(recoverable::Fragment::abort(3), &[]);
    assert!(text.ends_with("RFRAG tag 3 seq 0 abort"));
    let ack = recoverable::Ack {
        ecn: false,
        tag: 3,
        bitmap: recoverable::Bitmap::first(5),
    };
    assert!(shown(&frame(&ack.to_bytes())).ends_with("RFRAG-ACK tag 3 f8000000"));
    assert!(shown(&frame(&ack.to_bytes()[..4])).contains("malformed acknowledgment ("));
    assert!(shown(&frame(&[0xe8, 3, 0, 9, 0, 1])).contains("malformed fragment ("));
}

#[test]
fn malformed_frames_are_shown_as_malformed() {
    assert!(shown(&[]).starts_with("malformed frame"));
    assert!(shown(&[0xff; 20]).contains("frame type 7, which is not decoded"));
    assert!(shown(&[0x41, 0x88, 1]).starts_with("malformed frame"));
    assert!(shown(&frame(&[0x7f])).contains("malformed IPHC"));
    assert!(shown(&frame(&[0xc0])).contains("malformed fragment ("));
    let mpdu = frame(&[0]);
    let text = summary(&Captured {
        trailer: Trailer::Crc16(1),
        ..Captured::of(&mpdu)
    });
    assert!(text.ends_with("(wrong FCS)"), "{text}");
}

#[test]
fn random_bytes_in_the_place_of_frames_never_panic() {
    let mut rng = Rng::named(1, "dissect");
    let mut bytes = [0u8; 127];
    for round in 0..60_000u32 {
        for byte in &mut bytes {
            *byte = rng.next_u32() as u8;
        }
        let len = rng.below(128) as usize;
        let text = match round % 3 {
            0 => shown(&bytes[..len]),
            1 => shown(&frame(&bytes[..len.min(100)])),
            _ => {
                // A valid dispatch byte makes the decoder read further headers.
                bytes[0] = [0x60, 0x78, 0x7e, 0x41, 0xc1, 0xe1][rng.below(6) as usize];
                shown(&frame(&bytes[..len.min(100)]))
            }
        };
        assert!(!text.contains('\n'));
    }
}

fn pcap(link: DataLink, frames: &[Vec<u8>]) -> Vec<u8> {
    let header = PcapHeader {
        datalink: link,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (at, frame) in frames.iter().enumerate() {
        let at = std::time::Duration::from_micros(1_500_000 * at as u64);
        writer
            .write_packet(&PcapPacket::new(at, frame.len() as u32, frame))
            .unwrap();
    }
    writer.into_writer()
}

fn lines(file: &[u8]) -> (Vec<String>, Option<Ended>) {
    let mut capture = Capture::open(Box::new(std::io::Cursor::new(file.to_vec()))).unwrap();
    let mut lines = Vec::new();
    loop {
        match capture.next_record() {
            Ok(Some(record)) => lines.push(line(&record)),
            Ok(None) => return (lines, None),
            Err(ended) => return (lines, Some(ended)),
        }
    }
}

fn with_fcs(mut mpdu: Vec<u8>) -> Vec<u8> {
    let check = fcs(&mpdu);
    mpdu.extend_from_slice(&check.to_le_bytes());
    mpdu
}

#[test]
fn a_pcap_file_is_read_to_where_it_breaks_off() {
    let frames = [
        with_fcs(imm_ack(1, false).to_vec()),
        with_fcs(frame(&[0x41])),
    ];
    let file = pcap(DataLink::IEEE802_15_4, &frames);
    let (all, ended) = lines(&file);
    assert!(ended.is_none());
    assert_eq!(all.len(), 2);
    assert!(
        all[0].starts_with("0.000000 ") && all[0].ends_with("ack seq 1 [3 B]"),
        "{all:?}"
    );
    assert!(all[1].starts_with("1.500000 "), "{all:?}");
    let (part, ended) = lines(&file[..file.len() - 3]);
    assert_eq!(part.len(), 1);
    assert!(matches!(ended, Some(Ended::CutOff)));
}

#[test]
fn other_link_types_and_short_records_are_said_to_be_malformed() {
    let (lines_, _) = lines(&pcap(DataLink::ETHERNET, &[vec![0; 20]]));
    assert!(lines_[0].ends_with("malformed: ETHERNET (1), which is not IEEE 802.15.4"));
    let (lines_, _) = lines(&pcap(DataLink::IEEE802_15_4, &[vec![0; 1]]));
    assert!(lines_[0].ends_with("malformed: the frame is too short for its check sequence"));
    let (lines_, _) = lines(&pcap(DataLink::IEEE802_15_4_TAP, &[vec![0, 0, 99, 0, 1]]));
    assert!(lines_[0].ends_with("malformed: a truncated TAP header"));
}

#[test]
fn files_that_are_not_captures_are_refused() {
    for bytes in [
        &b""[..],
        b"abc",
        b"hello, this is text",
        &[0x0a, 0x0d, 0x0d, 0x0a, 1, 2],
    ] {
        let opened = Capture::open(Box::new(std::io::Cursor::new(bytes.to_vec())));
        let problem = opened.err().unwrap();
        assert!(matches!(problem, NotOpen::NoCapture), "{problem:?}");
    }
}

fn pcapng(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
    let mut interface = InterfaceDescriptionBlock::new(DataLink::IEEE802_15_4, 0);
    interface
        .options
        .push(InterfaceDescriptionOption::IfTsResol(6));
    writer.write_pcapng_block(interface).unwrap();
    for (at, frame) in (0..).zip(frames) {
        let block = EnhancedPacketBlock {
            interface_id: 0,
            // The library writes nanoseconds regardless of the resolution option.
            timestamp: std::time::Duration::from_nanos(2_500_000 * at),
            original_len: frame.len() as u32,
            data: frame.as_slice().into(),
            options: Vec::new(),
        };
        writer.write_pcapng_block(block).unwrap();
    }
    writer.into_inner()
}

#[test]
fn a_pcapng_file_tells_the_time_in_its_own_resolution() {
    let ack = with_fcs(imm_ack(1, false).to_vec());
    let (all, ended) = lines(&pcapng(&[ack.clone(), ack]));
    assert!(ended.is_none());
    assert!(all[1].starts_with("2.500000 "), "{all:?}");
}

#[test]
fn broken_captures_never_panic() {
    let frames = [with_fcs(frame(&[0x7e, 0x33, 1, 2, 3])), vec![1; 40]];
    let mut rng = Rng::named(1, "captures");
    for whole in [pcap(DataLink::IEEE802_15_4, &frames), pcapng(&frames)] {
        for _ in 0..200 {
            let mut file = whole.clone();
            for _ in 0..=rng.below(3) {
                let at = rng.below(file.len() as u32) as usize;
                file[at] = rng.next_u32() as u8;
            }
            if rng.below(4) == 0 {
                file.truncate(rng.below(file.len() as u32) as usize);
            }
            if let Ok(mut capture) = Capture::open(Box::new(std::io::Cursor::new(file))) {
                while let Ok(Some(record)) = capture.next_record() {
                    let _ = line(&record);
                }
            }
        }
    }
}

/// RFC 6282 §4.2: a first fragment with a compressed hop-by-hop header before a compressed UDP
/// header, as other stacks send it.
#[test]
fn compressed_extension_headers_are_expanded() {
    // IPHC with a compressed next header; 0xe1: a hop-by-hop header of six bytes with RPL packet
    // information and a compressed next header; 0xf0: UDP with both ports in full.
    let mut payload = vec![0xc1, 0x64, 0x00, 0x05, 0x7e, 0x77];
    payload.extend([0xe1, 0x06, 0x63, 0x04, 0x80, 0x1e, 0x00, 0x80]);
    payload.extend([0xf0, 0x00, 0x07, 0x00, 0x07, 0x25, 0x79]);
    payload.extend([0xaa; 80]);
    let text = shown(&frame(&payload));
    assert!(text.contains("FRAG1 tag 5 size 356 IPHC"), "{text}");
    assert!(text.contains("UDP 7 > 7 len 300"), "{text}");
}
