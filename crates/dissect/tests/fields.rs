//! Fields of header forms in which the dissector differed from tshark.

use redpoll_base::Addr;
use redpoll_dissect::capture::Captured;
use redpoll_dissect::layer::Value;
use redpoll_dissect::{Dissector, Reading};

/// Returns all values of a field in a frame without check sequence.
fn values(mpdu: &[u8], name: &str) -> Vec<String> {
    let mut dissector = Dissector::new(Reading::of(Addr::UNSPECIFIED));
    let frame = dissector.captured(&Captured::of(mpdu), 0);
    let fields = frame.layers.iter().flat_map(|layer| &layer.fields);
    let values = fields.filter(|field| field.name == name);
    values.map(|field| Value::text(&field.value)).collect()
}

/// Returns a data frame between two short addresses around a 6LoWPAN payload.
fn data(payload: &[u8]) -> Vec<u8> {
    let header = [0x41, 0x88, 7, 0x70, 0x72, 1, 0, 2, 0];
    [&header, payload].concat()
}

/// RFC 6282 §4.2: the header identifier of an IPv6 header in an IPv6 header is 7.
#[test]
fn a_compressed_tunnel_shows_its_header_identifier() {
    // LOWPAN_IPHC with elided addresses and a compressed next header, and without one.
    let frame = data(&[0x7e, 0x33, 0xee, 0x7a, 0x33, 59]);
    assert_eq!(values(&frame, "6lowpan.nhc.ext.eid"), ["0x07"]);
    assert_eq!(values(&frame, "6lowpan.nhc.ext.nh"), ["0"]);
    assert_eq!(values(&frame, "ipv6.nxt"), ["41", "59"]);
}

/// Each of several routing headers shows its own addresses.
#[test]
fn routing_headers_show_their_own_addresses() {
    let mut packet = vec![0x41, 0x60, 0, 0, 0, 0, 48, 43, 64];
    packet.extend([0xfd; 32]);
    for (next, last) in [(43, 1), (59, 2)] {
        packet.extend([next, 2, 3, 1, 0, 0, 0, 0]);
        packet.extend([[0xfd; 15].as_slice(), &[last]].concat());
    }
    let first = "fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fd";
    let expected = [format!("{first}01"), format!("{first}02")];
    let found = values(&data(&packet), "ipv6.routing.rpl.full_address");
    assert_eq!(found, expected);
}

/// RFC 4944 §10.1: traffic class and flow label follow the addresses, in 28 bits.
#[test]
fn the_flow_label_of_hc1_is_shown() {
    // All addresses are elided, the next header is in-line: hop limit, class, flow label, 59.
    let frame = data(&[0x42, 0xf0, 64, 0x04, 0x12, 0x34, 0x53, 0xb0]);
    assert_eq!(values(&frame, "6lowpan.flow"), ["0x012345"]);
    assert_eq!(values(&frame, "ipv6.flow"), ["0x012345"]);
    assert_eq!(values(&frame, "ipv6.nxt"), ["59"]);
}

/// IEEE 802.15.4-2015 §7.3.5: the short frame control field has one byte. The addressing modes have
/// other places than in other frames.
#[test]
fn multipurpose_frames_show_the_bits_that_they_have() {
    let long = [0xad, 0x08, 7, 1, 0, 2, 0];
    let short = [0xa5, 7, 1, 0, 2, 0];
    for (frame, bits) in [(&long[..], &["0"][..]), (&short, &[])] {
        for name in ["wpan.security", "wpan.ack_request", "wpan.mpf_version"] {
            assert_eq!(values(frame, name), bits, "{name}");
        }
        for name in ["wpan.dst_addr_mode", "wpan.src_addr_mode"] {
            assert_eq!(values(frame, name), ["0x0002"], "{name}");
        }
        assert_eq!(values(frame, "wpan.dst16"), ["0x0001"]);
    }
    assert_eq!(values(&long, "wpan.pending"), ["1"]);
}
