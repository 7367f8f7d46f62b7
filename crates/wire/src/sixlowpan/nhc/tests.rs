use super::*;
use std::vec::Vec;

fn expanded(bytes: &[u8]) -> Result<(Vec<u8>, Option<usize>, usize), Error> {
    let mut input = Reader::new(bytes);
    let mut buffer = [0xaa; 600];
    let mut out = Cursor::new(&mut buffer);
    let udp_at = expand(&mut input, &mut out)?;
    Ok((out.written().to_vec(), udp_at, input.rest().len()))
}

#[test]
fn udp_ports_in_all_four_forms() {
    for (src_port, dst_port, expected) in [
        (0xf0b1, 0xf0bf, &[0xf3, 0x1f, 0xc5, 0x5c][..]),
        (0xf0c0, 0xf0bf, &[0xf2, 0xc0, 0xf0, 0xbf, 0xc5, 0x5c]),
        (5683, 0xf012, &[0xf1, 0x16, 0x33, 0x12, 0xc5, 0x5c]),
        (5683, 53, &[0xf0, 0x16, 0x33, 0, 53, 0xc5, 0x5c]),
    ] {
        let udp = UdpHeader {
            src_port,
            dst_port,
            length: 0,
            checksum: 0xc55c,
        };
        let mut buffer = [0; 7];
        let mut out = Cursor::new(&mut buffer);
        emit_udp(&udp, &mut out).unwrap();
        assert_eq!(out.written(), expected);
        let (header, udp_at, rest) = expanded(expected).unwrap();
        assert_eq!(
            (header.as_slice(), udp_at, rest),
            (&udp.to_bytes()[..], Some(0), 0)
        );
    }
}

#[test]
fn an_elided_checksum_is_refused() {
    assert_eq!(expanded(&[0xf7, 0x1f, 0, 0]), Err(Error::Checksum));
}

#[test]
fn options_are_padded_to_eight_octets() {
    // Hop-by-hop, next header in-line (TCP), 1 to 6 bytes of one PadN option.
    for (content, expected) in [
        (&[1, 4, 9, 9, 9, 9][..], &[6, 0, 1, 4, 9, 9, 9, 9][..]),
        (&[5, 3, 9, 9, 9], &[6, 0, 5, 3, 9, 9, 9, 0]),
        (&[5, 2, 0, 0], &[6, 0, 5, 2, 0, 0, 1, 0]),
        (&[5, 0], &[6, 0, 5, 0, 1, 2, 0, 0]),
        (&[], &[6, 0, 1, 4, 0, 0, 0, 0]),
        (
            &[5, 5, 1, 2, 3, 4, 5],
            &[6, 1, 5, 5, 1, 2, 3, 4, 5, 1, 5, 0, 0, 0, 0, 0],
        ),
    ] {
        let mut bytes = std::vec![0xe0, 6, content.len() as u8];
        bytes.extend(content);
        let (header, udp_at, rest) = expanded(&bytes).unwrap();
        assert_eq!(header, expected);
        assert_eq!((udp_at, rest), (None, 0));
    }
}

#[test]
fn a_chain_of_compressed_headers_ends_at_udp() {
    // Destination options (NH 1), fragment (NH 1), UDP.
    let bytes = [
        0xe7, 4, 1, 2, 0, 0, // destination options with a PadN of four bytes
        0xe5, 0, 0, 0, 1, 2, 3, 4, // fragment header without its next header
        0xf3, 0x12, 0xc5, 0x5c, 0x77,
    ];
    let (header, udp_at, rest) = expanded(&bytes).unwrap();
    assert_eq!(
        header[..16],
        [44, 0, 1, 2, 0, 0, 1, 0, 17, 0, 0, 0, 1, 2, 3, 4]
    );
    assert_eq!((udp_at, rest), (Some(16), 1));
}

#[test]
fn a_routing_header_cannot_be_padded() {
    assert!(expanded(&[0xe2, 6, 6, 0, 0, 0, 0, 0, 0]).is_ok());
    assert_eq!(expanded(&[0xe2, 6, 5, 0, 0, 0, 0, 0]), Err(Error::Length));
}

#[test]
fn unknown_encodings_are_refused() {
    assert_eq!(next_header_of(0xdf), Err(Error::Unsupported));
    assert_eq!(next_header_of(0xea), Err(Error::Reserved));
    // IPv6 in IPv6.
    assert_eq!(next_header_of(0xee), Err(Error::Unsupported));
    assert_eq!(next_header_of(0xf8), Err(Error::Unsupported));
    assert_eq!(next_header_of(0xe8), Ok(next_header::MOBILITY));
}

#[test]
fn the_longest_extension_header_still_has_a_length() {
    let mut bytes = std::vec![0xe0, 6, 255];
    bytes.extend([0; 255]);
    let (header, _, _) = expanded(&bytes).unwrap();
    assert_eq!((header.len(), header[1]), (264, 32));
}
