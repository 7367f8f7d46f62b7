//! Summaries and fields of other stacks' frames, modelled on public bug reports.

use std::io::Cursor;
use std::path::Path;

use redpoll_base::Addr;
use redpoll_dissect::capture::Capture;
use redpoll_dissect::layer::Value;
use redpoll_dissect::upper::Verdict;
use redpoll_dissect::{Dissector, Frame, Reading};

fn reading() -> Reading {
    let prefix: std::net::Ipv6Addr = "fd72:6564:706f:6c6c::".parse().unwrap();
    Reading::of(Addr::from(prefix))
}

fn frames_with(name: &str, reading: Reading) -> Vec<Frame> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    let bytes = std::fs::read(path.join(name)).unwrap();
    let mut capture = Capture::open(Box::new(Cursor::new(bytes))).unwrap();
    capture.look_ahead();
    let mut dissector = Dissector::new(reading);
    let records = std::iter::from_fn(|| capture.next_record().unwrap());
    records.map(|record| dissector.record(&record)).collect()
}

fn frames(name: &str) -> Vec<Frame> {
    frames_with(name, reading())
}

fn lines(name: &str) -> Vec<String> {
    frames(name).iter().map(Frame::summary).collect()
}

fn field(frame: &Frame, name: &str) -> String {
    let value = frame.layers.iter().find_map(|layer| layer.get(name));
    value.map_or_else(String::new, Value::text)
}

const SYN: &str = "hlim 64 TCP 49152 > 80 [S] seq 1000 win 1000 len 0 mss 416";

#[test]
fn a_source_route_ends_at_its_last_address() {
    let frames = frames("srh3.pcapng");
    let node = |low: u8| format!("fd72:6564:706f:6c6c:0:ff:fe00:{low:x}");
    for (frame, (stop, left)) in
        frames
            .iter()
            .zip([(2, "3 more stops"), (4, "2 more stops"), (7, "1 more stop")])
    {
        let line = frame.summary();
        let (root, leaf, stop) = (node(1), node(12), node(stop));
        assert!(line.contains(&format!("{root} > {leaf} hlim 25")), "{line}");
        assert!(
            line.contains(&format!("next stop {stop} ({left}) TCP 5001 > 57261")),
            "{line}"
        );
        assert_eq!(frame.checksum(), Some(Verdict::Right), "{line}");
        assert_eq!(field(frame, "redpoll.ipv6.final_dst"), leaf);
        assert_eq!(field(frame, "ipv6.dst"), stop);
        assert_eq!(field(frame, "6lowpan.dst"), stop);
    }
    assert_eq!(frames.len(), 3);
}

#[test]
fn a_packet_in_a_packet_is_followed() {
    let frames = frames("ipinip.pcapng");
    let line = frames[0].summary();
    assert!(
        line.contains("RPI instance 0 rank 3 IPv6 inner fd72:6564:706f:6c6c:0:ff:fe00:5"),
        "{line}"
    );
    assert!(
        line.contains("> fd72:6564:706f::1 hlim 254 TCP 64246 > 9000 [SEC]"),
        "{line}"
    );
    assert_eq!(frames[0].checksum(), Some(Verdict::Right));
}

#[test]
fn mesh_headers_name_originator_and_final_address() {
    let lines = lines("mesh.pcap");
    for (at, words) in [
        (
            0,
            "0x0002 > 0x0005 data seq 1 [41 B] mesh 0x0002 > 0x0001 hops left 5 IPHC",
        ),
        (
            1,
            "0x0005 > 0x0001 data seq 2 [41 B] mesh 0x0002 > 0x0001 hops left 4 IPHC",
        ),
        (2, "mesh 0x0002 > 0x0001 hops left 17 IPHC"),
        (3, "mesh 0x0002 > 0x8001 hops left 5 broadcast 7 IPHC"),
        (
            4,
            "mesh 0x0002 > 0x0001 hops left 5 FRAG1 tag 9 size 300 IPHC",
        ),
        (
            5,
            "mesh 00:01:02:03:04:05:06:07 > 08:09:0a:0b:0c:0d:0e:0f hops left 5 IPHC",
        ),
        (6, "6LoRH RPI instance 0 rank 32768 IPHC"),
        (
            7,
            "HC1 fe80::ff:fe00:2 > fe80::ff:fe00:1 hlim 192 UDP 0 > 61621",
        ),
        (
            8,
            "IPHC fe80::ff:fe00:2 > fe80::ff:fe00:1 hlim 64 IPv6 inner fe80::ff:fe00:2",
        ),
    ] {
        assert!(lines[at].contains(words), "{}", lines[at]);
    }
    for at in [0, 1, 2, 3, 5, 6, 8] {
        assert!(lines[at].contains(SYN), "{}", lines[at]);
    }
}

#[test]
fn an_unknown_context_is_named_and_a_known_one_used() {
    let unknown = frames("ctx1.pcap");
    let line = unknown[0].summary();
    assert!(
        line.contains("[context 1]::ff:fe00:2 > [context 1]::ff:fe00:1"),
        "{line}"
    );
    assert!(line.ends_with(SYN) && !line.contains("malformed"), "{line}");
    assert_eq!(unknown[0].checksum(), Some(Verdict::Unchecked));
    assert_eq!(unknown[0].unknown_contexts, 1 << 1);
    let mut reading = reading();
    let prefix: std::net::Ipv6Addr = "fe80::".parse().unwrap();
    assert!(reading.contexts.set(1, Addr::from(prefix), 64));
    // The sender computed the UDP checksum over link-local addresses.
    let known = frames_with("ctx1.pcap", reading);
    let line = known[0].summary();
    assert!(line.contains("fe80::ff:fe00:2 > fe80::ff:fe00:1"), "{line}");
    assert_eq!(known[0].checksum(), Some(Verdict::Right), "{line}");
}

#[test]
fn frames_of_2015_show_their_information_elements() {
    let lines = lines("v2015.pcap");
    for (line, words) in lines.iter().zip([
        "0x0002 > 0x0001 data seq 5 [38 B] IE [HT2] IPHC",
        "data seq 6 [44 B] IE [CSL phase 513 period 1027, HT2] IPHC",
        "0x0002 > 0x0001 data [35 B] IPHC",
        "0x0d04 > 0x0001 enhanced ack seq 6 [15 B] IE [header IE 0x04 03] malformed",
        "3f:00:00:00:00:00:00:00 > 0xffff enhanced beacon seq 7 [19 B] IE [MLME]",
        "multipurpose seq 7 [29 B] IPHC",
    ]) {
        assert!(line.contains(words), "{line}");
    }
    assert!(
        lines[..3].iter().all(|line| line.ends_with(SYN)),
        "{lines:?}"
    );
}

#[test]
fn secured_frames_without_a_key_show_their_auxiliary_header() {
    let frames = frames("sec.pcap");
    assert_eq!(frames.len(), 32);
    for (at, frame) in frames.iter().enumerate() {
        let (level, mode) = (at / 4, at % 4);
        let line = frame.summary();
        let names = [
            "NONE",
            "MIC-32",
            "MIC-64",
            "MIC-128",
            "ENC",
            "ENC-MIC-32",
            "ENC-MIC-64",
            "ENC-MIC-128",
        ];
        let keys = [
            "implicit",
            "index 1",
            "source 01020304 index 1",
            "source 0001020304050607 index 1",
        ];
        let words = format!("secured {} counter 7 key {} ", names[level], keys[mode]);
        assert!(line.contains(&words), "{line}");
        match level {
            0..=3 => assert!(line.ends_with(SYN), "{line}"),
            _ => assert!(line.ends_with("payload encrypted (27 B)"), "{line}"),
        }
        assert_eq!(frame.is_shut, level >= 4);
        assert_eq!(field(frame, "wpan.aux_sec.frame_counter"), "7");
    }
}

#[test]
fn elided_udp_checksums_are_shown() {
    let frames = frames("udp-elided.pcap");
    for (frame, ports) in frames.iter().zip([
        "21863 > 49841",
        "27210 > 61485",
        "61572 > 18075",
        "61625 > 61622",
    ]) {
        let line = frame.summary();
        assert!(
            line.ends_with(&format!("UDP {ports} len 4 (checksum elided)")),
            "{line}"
        );
    }
    assert_eq!(frames.len(), 4);
}

#[test]
fn ti_metadata_shows_rssi_and_correlation() {
    for line in lines("cc24xx.pcap") {
        assert!(
            line.ends_with(&format!("{SYN} (RSSI -48 correlation 106)")),
            "{line}"
        );
    }
}

#[test]
fn datagrams_in_ethernet_have_right_checksums() {
    for frame in frames("etha0ed.pcap") {
        let line = frame.summary();
        assert!(
            line.contains("fe80::5251:52ff:fe67:1569 > ff02::2"),
            "{line}"
        );
        assert_eq!(frame.checksum(), Some(Verdict::Right), "{line}");
    }
}

#[test]
fn fields_are_named_as_in_wireshark() {
    let frames = frames("srh3.pcapng");
    let json = frames[0].json(1, Some(9_022_307));
    assert_eq!(json["number"], 1);
    assert_eq!(json["time"], "9.022307");
    let layers = json["layers"].as_array().unwrap();
    let names: Vec<_> = layers.iter().map(|layer| &layer["protocol"]).collect();
    assert_eq!(names, ["wpan", "6lowpan", "ipv6", "tcp"]);
    assert_eq!(layers[3]["tcp.options.mss_val"], 475);
    let stops = layers[2]["ipv6.routing.rpl.full_address"]
        .as_array()
        .unwrap();
    assert_eq!(stops.len(), 3);
}
