//! Captures modelled on public bug reports: every frame is read, and odd fields are reported.

use std::fs::File;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use redpoll_dissect::capture::{Capture, Content, Ended, Fcs, NotOpen, Record, Trailer};

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    std::fs::read(path.join(name)).unwrap()
}

fn opened(bytes: Vec<u8>) -> Capture {
    let mut capture = Capture::open(Box::new(Cursor::new(bytes))).unwrap();
    capture.look_ahead();
    capture
}

fn records(capture: &mut Capture) -> Vec<Record> {
    std::iter::from_fn(|| capture.next_record().unwrap()).collect()
}

/// Returns the unencrypted frame that most test captures contain three times.
fn plain() -> Vec<u8> {
    let records = records(&mut opened(bytes("spb.pcapng")));
    records[0].frame().unwrap().mpdu.to_vec()
}

#[test]
fn every_container_gives_the_same_frame_three_times() {
    let plain = plain();
    for name in [
        "snap0.pcap",
        "snapsmall.pcap",
        "orig_less.pcap",
        "usec_over.pcap",
        "linkfcs.pcap",
        "badname.pcapng",
        "spb.pcapng",
        "opb.pcapng",
        "tsoffset.pcapng",
        "dlt215.pcap",
        "zep.pcap",
        "eth809a.pcap",
        "cc24xx.pcap",
    ] {
        let records = records(&mut opened(bytes(name)));
        assert_eq!(records.len(), 3, "{name}");
        for record in &records {
            let frame = record.frame().unwrap();
            assert_eq!(frame.mpdu, plain, "{name}");
            assert_eq!(frame.whole(), Some(frame.mpdu), "{name}");
        }
    }
}

#[test]
fn odd_fields_are_counted_and_the_first_frame_is_named() {
    for (name, words) in [
        ("snap0.pcap", "snapshot length of the file, 0 B"),
        ("snapsmall.pcap", "snapshot length of the file, 20 B"),
        (
            "orig_less.pcap",
            "original length below the captured length",
        ),
        ("usec_over.pcap", "sub-second part of one second or more"),
    ] {
        let mut capture = opened(bytes(name));
        records(&mut capture);
        let odd: Vec<_> = capture.odd().collect();
        assert_eq!(odd.len(), 1, "{name}: {odd:?}");
        assert!(odd[0].what.contains(words), "{odd:?}");
        assert_eq!((odd[0].count, odd[0].first), (3, 1), "{name}");
    }
    for name in ["linkfcs.pcap", "badname.pcapng", "spb.pcapng", "zep.pcap"] {
        let mut capture = opened(bytes(name));
        records(&mut capture);
        assert_eq!(capture.odd().count(), 0, "{name}");
    }
}

#[test]
fn times_have_the_offset_of_their_interface_and_may_be_absent() {
    let records_ = records(&mut opened(bytes("tsoffset.pcapng")));
    let times: Vec<_> = records_.iter().map(|record| record.at_us).collect();
    let expected = [1_500_000_000, 1_500_000_005, 1_500_000_010];
    assert_eq!(times, expected.map(Some));
    let records_ = records(&mut opened(bytes("usec_over.pcap")));
    assert_eq!(records_[0].at_us, Some(1_001_500_000));
    let records_ = records(&mut opened(bytes("spb.pcapng")));
    assert!(records_.iter().all(|record| record.at_us.is_none()));
}

#[test]
fn frames_of_another_interface_are_named_and_numbered() {
    let records = records(&mut opened(bytes("multi.pcapng")));
    assert_eq!(records[0].foreign_link().as_deref(), Some("ETHERNET (1)"));
    assert!(
        records[1..]
            .iter()
            .all(|record| record.foreign_link().is_none())
    );
    assert_eq!(records[2].number, 3);
}

#[test]
fn ti_metadata_is_recognised_or_set() {
    let ti = |records: &[Record]| -> Vec<Trailer> {
        let trailers = records.iter().map(|record| record.frame().unwrap().trailer);
        trailers.collect()
    };
    let expected = Trailer::Ti {
        rssi: -48,
        correlation: 106,
        is_right: true,
    };
    assert_eq!(
        ti(&records(&mut opened(bytes("cc24xx.pcap")))),
        [expected; 3]
    );
    let set = |fcs| {
        let mut capture = opened(bytes("cc24xx.pcap"));
        capture.set_fcs(fcs);
        ti(&records(&mut capture))
    };
    assert_eq!(set(Fcs::Ti), [expected; 3]);
    assert_eq!(set(Fcs::Crc), [Trailer::Crc16(0xead0); 3]);
    // Without `look_ahead`, the format of the trailer is known from the second frame on.
    let mut live = Capture::open(Box::new(Cursor::new(bytes("cc24xx.pcap")))).unwrap();
    let expected = [Trailer::Crc16(0xead0), expected, expected];
    assert_eq!(ti(&records(&mut live)), expected);
}

#[test]
fn a_datagram_between_ethernet_addresses_has_their_eui_64() {
    let records = records(&mut opened(bytes("etha0ed.pcap")));
    assert_eq!(records.len(), 3);
    match records[0].content().unwrap() {
        Content::Lowpan {
            bytes, src, dst, ..
        } => {
            assert_eq!(bytes[..2], [0x7e, 0x3b]);
            assert_eq!(src.to_string(), "50:51:52:ff:fe:67:15:69");
            assert!(dst.is_broadcast());
        }
        other => panic!("{other:?}"),
    }
}

fn pcap(link: u32, data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link] {
        file.extend(word.to_le_bytes());
    }
    let len = data.len() as u32;
    for word in [0_u32, 0, len, len] {
        file.extend(word.to_le_bytes());
    }
    file.extend(data);
    file
}

#[test]
fn raw_packets_and_cooked_frames_are_found() {
    let mut packet = vec![0; 40];
    packet[0] = 0x60;
    for link in [101, 229] {
        let records = records(&mut opened(pcap(link, &packet)));
        let content = records[0].content().unwrap();
        assert!(matches!(content, Content::Packet { .. }), "{content:?}");
    }
    let mut cooked = vec![0; 16];
    cooked[2..4].copy_from_slice(&804_u16.to_be_bytes());
    cooked.extend(plain());
    let records_ = records(&mut opened(pcap(113, &cooked)));
    assert_eq!(records_[0].frame().unwrap().mpdu, plain());
    let records_ = records(&mut opened(pcap(101, &[0x45, 0, 0, 20])));
    assert_eq!(
        records_[0].foreign_link().as_deref(),
        Some("IPv4 in RAW (101)")
    );
}

/// ZEP and frames of IEEE 802.15.4 in packets that were captured on a TUN interface, or on all
/// interfaces of a computer.
#[test]
fn frames_in_raw_and_cooked_packets_are_found() {
    let plain = plain();
    let [ipv4, ipv6] = zep_packets();
    for (kind, content) in [(0x0800_u16, &ipv4), (0x86dd, &ipv6), (0x809a, &plain)] {
        let kind = kind.to_be_bytes();
        let cooked = [&[0, 0, 0, 1][..], &[0; 10], &kind, content].concat();
        let cooked2 = [&kind[..], &[0; 6], &[0, 1], &[0; 10], content].concat();
        let mut files = vec![pcap(113, &cooked), pcap(276, &cooked2)];
        if kind != [0x80, 0x9a] {
            files.extend([101, 12].map(|link| pcap(link, content)));
        }
        for file in files {
            let records = records(&mut opened(file));
            let frame = records[0].frame().unwrap();
            assert_eq!(frame.mpdu, plain, "{kind:02x?}, {}", records[0].link);
        }
    }
}

/// Returns an IPv4 packet and an IPv6 packet in which ZEP carries the frame of [`plain`].
fn zep_packets() -> [Vec<u8>; 2] {
    // The headers of the file, of its first record, and of Ethernet.
    let ipv4 = &bytes("zep.pcap")[24 + 16 + 14..];
    let len = usize::from(u16::from_be_bytes([ipv4[2], ipv4[3]]));
    let ipv4 = ipv4[..len].to_vec();
    let udp = &ipv4[20..];
    let mut ipv6 = vec![0x60, 0, 0, 0, 0, udp.len() as u8, 17, 64];
    ipv6.extend([[0; 15].as_slice(), &[1], &[0; 15], &[1], udp].concat());
    [ipv4, ipv6]
}

/// Frames behind VLAN tags. The outer tag of two can have another type (IEEE 802.1ad, QinQ).
#[test]
fn frames_behind_vlan_tags_are_found() {
    let plain = plain();
    let [ipv4, ipv6] = zep_packets();
    for (kind, content) in [(0x0800_u16, &ipv4), (0x86dd, &ipv6), (0x809a, &plain)] {
        for tags in [
            &[][..],
            &[0x8100],
            &[0x88a8],
            &[0x88a8, 0x8100],
            &[0x9100, 0x8100],
            &[0x88a8, 0x88a8, 0x8100],
        ] {
            // Each tag gives its priority and number, and the type of the bytes behind it.
            let mut behind = Vec::new();
            for tag in tags {
                behind.extend(u16::to_be_bytes(*tag));
                behind.extend([0x20, 0x05]);
            }
            behind.extend(kind.to_be_bytes());
            behind.extend(content);
            let (protocol, rest) = behind.split_at(2);
            let ethernet = [&[2; 12], behind.as_slice()].concat();
            let cooked = [&[0, 0, 0, 1][..], &[0; 10], &behind].concat();
            let cooked2 = [protocol, &[0; 6], &[0, 1], &[0; 10], rest].concat();
            for (link, data) in [(1, ethernet), (113, cooked), (276, cooked2)] {
                let records = records(&mut opened(pcap(link, &data)));
                let frame = records[0].frame();
                let what = format!("{kind:04x} behind {tags:04x?}, link type {link}: {frame:?}");
                assert_eq!(frame.unwrap().mpdu, plain, "{what}");
            }
        }
    }
}

/// Packets on the loopback or a tunnel of a BSD system, with the protocol number of each system.
#[test]
fn packets_of_the_loopback_are_found() {
    let plain = plain();
    let [ipv4, ipv6] = zep_packets();
    let all = [2_u32].map(|family| (family, &ipv4));
    let all = all
        .into_iter()
        .chain([10, 24, 28, 30].map(|family| (family, &ipv6)));
    for (family, packet) in all {
        let (little, big) = (family.to_le_bytes(), family.to_be_bytes());
        for (link, header) in [(0, little), (0, big), (108, big)] {
            let data = [&header[..], packet].concat();
            let records = records(&mut opened(pcap(link, &data)));
            let frame = records[0].frame();
            assert_eq!(
                frame.unwrap().mpdu,
                plain,
                "family {family}, link type {link}"
            );
        }
    }
    // Packets without ZEP.
    for (family, first, expected) in [
        (2_u8, 0x45, Some("IPv4 in NULL (0)")),
        (30, 0x60, None),
        (16, 0, Some("NULL (0)")),
    ] {
        let data = [&[family, 0, 0, 0, first][..], &[0; 40]].concat();
        let records = records(&mut opened(pcap(0, &data)));
        assert_eq!(records[0].foreign_link().as_deref(), expected, "{family}");
    }
    let records = records(&mut opened(pcap(108, &[0, 0, 0])));
    assert!(records[0].content().is_err());
}

#[test]
fn compressed_files_are_read() {
    let plain = bytes("tsoffset.pcapng");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(plain.as_slice(), level);
    // A skippable frame of three bytes, which pzstd writes before the data.
    let mut skipped = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    skipped.splice(0..0, zstd.iter().copied().take(0));
    for file in [&gzip, &zstd] {
        assert_eq!(records(&mut opened(file.clone())).len(), 3);
        for cut in 0..file.len() {
            let part = file[..cut].to_vec();
            if let Ok(mut capture) = Capture::open(Box::new(Cursor::new(part))) {
                let read = std::iter::from_fn(|| capture.next_record().transpose());
                assert!(read.take(4).any(|record| record.is_err()), "{cut}");
            }
        }
    }
    // Two members, the second of which continues the first.
    let (head, tail) = plain.split_at(100);
    let parts = [head, tail].map(|part| ruzstd::encoding::compress_to_vec(part, level));
    let file = [&parts[0][..], &skipped, &parts[1]].concat();
    assert_eq!(records(&mut opened(file)).len(), 3);
}

#[test]
fn an_endless_length_takes_no_memory_and_is_refused() {
    let mut file = pcap(195, &[1, 2, 3]);
    file[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut capture = opened(file);
    let ended = capture.next_record().unwrap_err();
    assert!(matches!(ended, Ended::Broken(problem) if problem.contains("4294967295 B")));
    let refused = Capture::open(Box::new(Cursor::new(b"no capture".to_vec())));
    assert!(matches!(refused.err(), Some(NotOpen::NoCapture)));
}

#[test]
fn a_file_that_grows_is_read_as_far_as_it_is_there() {
    let path = std::env::temp_dir().join(format!("redpoll-dissect-{}", std::process::id()));
    std::fs::write(&path, bytes("snap0.pcap")).unwrap();
    let file = File::open(&path).unwrap().take(100);
    let mut capture = Capture::open(Box::new(file)).unwrap();
    assert!(capture.next_record().unwrap().is_some());
    assert!(matches!(capture.next_record(), Err(Ended::CutOff)));
    std::fs::remove_file(&path).unwrap();
}
