use super::*;
use crate::{Cursor, Error, NoRoom};

fn emit(header: &FrameHeader) -> std::vec::Vec<u8> {
    let mut buffer = [0; 32];
    let mut out = Cursor::new(&mut buffer);
    header.emit(&mut out).unwrap();
    out.written().to_vec()
}

#[test]
fn the_usual_data_frame_has_nine_bytes_of_header() {
    let header = FrameHeader {
        frame_type: FrameType::Data,
        ack_request: true,
        dsn: 0x2a,
        dst_pan: Some(0x7270),
        dst: Address::Short(0x0102),
        src_pan: Some(0x7270),
        src: Address::Short(0x0304),
        ..FrameHeader::default()
    };
    // FCF 0x8861: data, ACK request, PAN compression, both short.
    let bytes = [0x61, 0x88, 0x2a, 0x70, 0x72, 0x02, 0x01, 0x04, 0x03];
    assert_eq!(emit(&header), bytes);
    assert_eq!(header.len(), 9);
    assert_eq!(FrameHeader::parse(&bytes), Ok((header, [].as_slice())));
}

#[test]
fn an_extended_address_goes_last_byte_first() {
    let eui64 = [0x02, 0, 0, 0, 0, 0, 0, 0x17];
    let header = FrameHeader {
        dst_pan: Some(1),
        dst: Address::BROADCAST,
        src_pan: Some(2),
        src: Address::Extended(eui64),
        ..FrameHeader::default()
    };
    let bytes = emit(&header);
    assert_eq!(bytes[..7], [0x01, 0xc8, 0, 1, 0, 0xff, 0xff]);
    assert_eq!(bytes[7..], [2, 0, 0x17, 0, 0, 0, 0, 0, 0, 0x02]);
    assert_eq!(FrameHeader::parse(&bytes).unwrap().0, header);
}

#[test]
fn an_immediate_acknowledgement_is_a_frame() {
    let (header, payload) = FrameHeader::parse(&[0x12, 0, 9]).unwrap();
    assert_eq!(imm_ack(9, true), [0x12, 0, 9]);
    assert_eq!(imm_ack(9, false), [0x02, 0, 9]);
    assert_eq!(header.frame_type, FrameType::Ack);
    assert!(header.frame_pending && payload.is_empty());
    assert_eq!(emit(&header), imm_ack(9, true));
}

#[test]
fn no_bytes_are_emitted_if_not_all_fit() {
    let header = FrameHeader {
        dst: Address::Short(1),
        src: Address::Short(2),
        ..FrameHeader::default()
    };
    let mut buffer = [0; 8];
    let mut out = Cursor::new(&mut buffer);
    assert_eq!(header.emit(&mut out), Err(NoRoom));
    assert_eq!(out.position(), 0);
}

#[test]
fn simple_frames_of_the_2015_version_are_read() {
    // Both extended, PAN compression 0: the frame has only the receiver's PAN ID.
    let mut bytes = std::vec![0x01, 0xec, 5, 0x34, 0x12];
    bytes.extend([0x11; 8]);
    bytes.extend([0x22; 8]);
    bytes.push(0x99);
    let (header, payload) = FrameHeader::parse(&bytes).unwrap();
    assert_eq!(header.version, 2);
    assert_eq!(header.dst_pan, Some(0x1234));
    assert_eq!(header.src, Address::Extended([0x22; 8]));
    assert_eq!(payload, [0x99]);
    // Both extended, PAN compression 1: the frame has no PAN ID.
    bytes[0] |= 0x40;
    bytes.drain(3..5);
    let (header, payload) = FrameHeader::parse(&bytes).unwrap();
    assert_eq!((header.dst_pan, header.src_pan), (None, None));
    assert_eq!(payload, [0x99]);
    // A suppressed sequence number and information elements are not supported.
    for bit in [1, 2] {
        let mut bytes = bytes.clone();
        bytes[1] |= bit;
        assert_eq!(FrameHeader::parse(&bytes), Err(Error::Unsupported));
    }
}

#[test]
fn reserved_values_are_refused() {
    // Frame type 4, version 3, addressing mode 1, and PAN ID compression with only one address.
    for fcf in [0x0004u16, 0x3001, 0x0401, 0x0841, 0x8041] {
        let [low, high] = fcf.to_le_bytes();
        let bytes = [low, high, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(FrameHeader::parse(&bytes), Err(Error::Reserved), "{fcf:#x}");
    }
    assert_eq!(FrameHeader::parse(&[5, 0, 0]), Err(Error::Unsupported));
}

/// The polynomial division of §7.2.10, a bit at a time.
fn slow_fcs(frame: &[u8]) -> u16 {
    let mut remainder = 0u16;
    for bit in frame
        .iter()
        .flat_map(|byte| (0..8).map(move |i| byte >> i & 1))
    {
        let feedback = remainder & 1 ^ u16::from(bit);
        remainder >>= 1;
        if feedback == 1 {
            remainder ^= 0x8408;
        }
    }
    remainder
}

#[test]
fn the_check_sequence_is_crc16_itu_t() {
    // The check value of CRC-16/KERMIT.
    assert_eq!(fcs(b"123456789"), 0x2189);
    // The example of §7.2.10, an acknowledgement: 0010 0111 1001 1110 in order
    // of transmission, each octet's lowest bit first.
    assert_eq!(fcs(&[0x02, 0x00, 0x6a]), 0x79e4);
    let frame: [u8; 125] = core::array::from_fn(|i| (i * 151) as u8);
    for len in 0..frame.len() {
        assert_eq!(fcs(&frame[..len]), slow_fcs(&frame[..len]), "{len} bytes");
    }
}

#[test]
fn timings_of_full_frames_and_acknowledgements() {
    use timing::*;
    assert_eq!(air_time_us(MAX_PSDU), 4_256);
    assert_eq!(air_time_us(ACK_PSDU), 352);
    // 54 symbols = 20 of backoff + 12 of turnaround + 10 of SHR + 12 for the six octets after it.
    assert_eq!(ACK_WAIT_US, 54 * SYMBOL_US);
}

/// §7.2.2.2, §7.2.2.4: bits 3 and 4 of the frame control field.
#[test]
fn the_bits_of_an_emitted_frame_change_alone() {
    let header = FrameHeader {
        ack_request: true,
        dst_pan: Some(0x7270),
        dst: Address::Short(2),
        src: Address::Short(1),
        ..FrameHeader::default()
    };
    let mut frame = emit(&header);
    let parsed = |frame: &[u8]| FrameHeader::parse(frame).unwrap().0;
    let before = parsed(&frame);
    set_frame_pending(&mut frame);
    let pending = FrameHeader {
        frame_pending: true,
        ..before
    };
    assert_eq!(parsed(&frame), pending);
    set_security(&mut frame, true);
    let secured = FrameHeader {
        security: true,
        ..pending
    };
    assert_eq!(parsed(&frame), secured);
    set_security(&mut frame, false);
    assert_eq!(parsed(&frame), pending);
}

#[test]
fn a_sender_in_the_broadcast_pan_elides_it_towards_an_unnamed_pan() {
    let header = |src_pan| FrameHeader {
        dst: Address::Short(2),
        src_pan: Some(src_pan),
        src: Address::Short(1),
        ..FrameHeader::default()
    };
    let bytes = emit(&header(BROADCAST_PAN));
    assert_eq!(bytes, [0x41, 0x88, 0, 0xff, 0xff, 2, 0, 1, 0]);
    let bytes = emit(&header(7));
    assert_eq!(bytes, [0x01, 0x88, 0, 0xff, 0xff, 2, 0, 7, 0, 1, 0]);
}

#[test]
fn an_address_is_printed_in_the_order_of_its_label() {
    let printed = |address: Address| std::format!("{address} {address:?}");
    assert_eq!(printed(Address::Absent), "- -");
    assert_eq!(printed(Address::Short(0x12)), "0x0012 0x0012");
    let eui64 = Address::Extended([2, 0, 0, 0, 0, 0, 0xa, 0x17]);
    let label = "02:00:00:00:00:00:0a:17";
    assert_eq!(printed(eui64), std::format!("{label} {label}"));
    assert!(Address::BROADCAST.is_broadcast());
    assert!(!Address::Short(0xfffe).is_broadcast());
    assert!(!Address::Extended([0xff; 8]).is_broadcast());
}
