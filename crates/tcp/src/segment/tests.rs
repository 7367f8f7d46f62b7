extern crate std;
use std::vec::Vec;

use super::*;
use crate::{Endpoint, Fields, Header, TimestampOption, reset_reply};

fn meta() -> IpMeta {
    IpMeta {
        src: Addr([1; 16]),
        dst: Addr([2; 16]),
        ecn: Ecn::NotEct,
        hop_limit: 64,
    }
}

fn encode(fields: &Fields, payload: &[u8]) -> Vec<u8> {
    let (src, dst) = (
        Endpoint::new(meta().src, 1000),
        Endpoint::new(meta().dst, 80),
    );
    let (a, b) = payload.split_at(payload.len() / 2);
    let header = Header::encode(fields, &src, &dst, [a, b]);
    [header.as_bytes(), payload].concat()
}

fn some_fields() -> Fields {
    Fields {
        seq: SeqNum(0xfedc_ba98),
        ack: SeqNum(0x0123_4567),
        flags: Flags::ACK.with(Flags::PSH),
        window: 1848,
        options: Options {
            mss: Some(462),
            timestamps: Some(TimestampOption { value: 1, echo: 2 }),
            ..Options::default()
        },
    }
}

#[test]
fn an_encoded_segment_is_parsed_back() {
    let bytes = encode(&some_fields(), b"seven b");
    let seg = Segment::parse(&meta(), &bytes).unwrap();
    assert_eq!((seg.src_port, seg.dst_port), (1000, 80));
    assert_eq!(seg.seq, some_fields().seq);
    assert_eq!(seg.ack, some_fields().ack);
    assert_eq!(seg.flags, some_fields().flags);
    assert_eq!(seg.window, 1848);
    assert_eq!(seg.options, some_fields().options);
    assert_eq!(seg.payload, b"seven b");
    assert_eq!(seg.len(), 7);
}

#[test]
fn syn_and_fin_count_in_the_length() {
    let fields = Fields {
        flags: Flags::SYN.with(Flags::FIN),
        ..some_fields()
    };
    let bytes = encode(&fields, b"abc");
    let seg = Segment::parse(&meta(), &bytes).unwrap();
    assert_eq!(seg.len(), 5);
    assert_eq!(seg.end(), fields.seq + 5);
}

#[test]
fn every_flipped_bit_is_noticed() {
    let good = encode(&some_fields(), b"data");
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(Segment::parse(&meta(), &bad).is_err(), "bit {bit}");
    }
    let elsewhere = IpMeta {
        dst: Addr([3; 16]),
        ..meta()
    };
    assert_eq!(Segment::parse(&elsewhere, &good), Err(ParseError::Checksum));
}

#[test]
fn every_cut_is_an_error() {
    let good = encode(&some_fields(), b"data");
    for len in 0..good.len() {
        assert!(
            Segment::parse(&meta(), &good[..len]).is_err(),
            "{len} bytes"
        );
    }
}

#[test]
fn a_data_offset_below_five_or_past_the_end_is_an_error() {
    let mut bytes = encode(&some_fields(), b"");
    for words in [0, 4, 10, 15] {
        bytes[12] = words << 4;
        assert_eq!(Segment::parse(&meta(), &bytes), Err(ParseError::DataOffset));
    }
}

#[test]
fn a_reset_for_no_connection_fits_the_offending_segment() {
    let parse = |fields: &Fields| {
        let bytes = encode(fields, b"xyz");
        let seg = Segment::parse(&meta(), &bytes).unwrap();
        let reply = reset_reply(&meta(), &seg)?;
        let back = IpMeta {
            src: meta().dst,
            dst: meta().src,
            ..meta()
        };
        let reply = Segment::parse(&back, reply.as_bytes()).unwrap();
        assert_eq!((reply.src_port, reply.dst_port), (80, 1000));
        Some((reply.seq, reply.ack, reply.flags, reply.options.timestamps))
    };
    let echo = Some(TimestampOption { value: 0, echo: 1 });
    let with_ack = some_fields();
    assert_eq!(
        parse(&with_ack),
        Some((with_ack.ack, SeqNum(0), Flags::RST, echo))
    );
    let without_ack = Fields {
        flags: Flags::SYN,
        ..with_ack
    };
    let flags = Flags::RST.with(Flags::ACK);
    assert_eq!(
        parse(&without_ack),
        Some((SeqNum(0), with_ack.seq + 4, flags, echo))
    );
    assert_eq!(
        parse(&Fields {
            flags: Flags::RST,
            ..with_ack
        }),
        None
    );
}
