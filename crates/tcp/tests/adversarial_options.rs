//! Random bytes as options: a header either does not parse or gives a segment that the connection
//! survives, and the data are correct.

use redpoll_base::Rng;
use redpoll_base::checksum::Checksum;
use redpoll_tcp::{Config, ParseError, Segment};
use redpoll_testkit::{Host, IRS, ISS, LOCAL, REMOTE, Record, inward};
use redpoll_wire::ipv6::next_header::TCP as PROTOCOL;

/// Makes a segment of the peer with these option bytes, padded to words.
fn with_options(seq: u32, options: &[u8], data: &[u8]) -> Vec<u8> {
    let words = options.len().div_ceil(4);
    let mut bytes = Vec::new();
    bytes.extend(REMOTE.port.to_be_bytes());
    bytes.extend(LOCAL.port.to_be_bytes());
    bytes.extend((IRS + seq).0.to_be_bytes());
    bytes.extend((ISS + 1).0.to_be_bytes());
    bytes.extend([((5 + words) as u8) << 4, 0x10, 0x10, 0, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.resize(20 + words * 4, 0);
    bytes.extend(data);
    let meta = inward();
    let mut sum = Checksum::pseudo_header(&meta.src, &meta.dst, PROTOCOL, bytes.len() as u32);
    sum.add(&bytes);
    let sum = sum.finish().to_be_bytes();
    bytes[16..18].copy_from_slice(&sum);
    bytes
}

fn established() -> Host {
    let config = Config {
        timestamps: false,
        mss: 462,
        ..Config::default()
    };
    Host::established_by(&config, Record::new().mss(462).sack_ok(true), 10)
}

#[test]
fn every_kind_with_every_length() {
    for kind in 0..=u8::MAX {
        for len in 0..=44u8 {
            let mut t = established();
            let mut options = vec![1, kind, len];
            options.extend([0xa5; 36]);
            let bytes = with_options(1, &options, b"data");
            let segment = Segment::parse(&inward(), &bytes).unwrap();
            t.conn.input(t.now(), &inward(), &segment);
            assert_eq!(t.read(64), b"data", "kind {kind}, length {len}");
        }
    }
}

#[test]
fn random_options_do_not_disturb_the_stream() {
    let mut rng = Rng::named(1, "options");
    let mut t = established();
    let (mut seq, mut got) = (1, Vec::new());
    for n in 0..2_000u32 {
        let options: Vec<u8> = (0..rng.below(41))
            .map(|_| match rng.below(3) {
                0 => rng.next_u32() as u8,
                1 => [0, 1, 2, 3, 4, 5, 8, 28, 34][rng.below(9) as usize],
                _ => rng.below(12) as u8,
            })
            .collect();
        let bytes = with_options(seq, &options, &n.to_be_bytes());
        let segment = Segment::parse(&inward(), &bytes).unwrap();
        t.conn.input(t.now(), &inward(), &segment);
        seq += 4;
        got.extend(t.read(64));
        t.wait(1);
        t.sent();
    }
    let expected: Vec<u8> = (0..2_000u32).flat_map(u32::to_be_bytes).collect();
    assert!(got == expected);
}

#[test]
fn impossible_data_offsets_do_not_parse() {
    for words in 0..16u8 {
        let mut bytes = with_options(1, &[], &[0; 12]);
        bytes[12] = words << 4;
        let result = Segment::parse(&inward(), &bytes).map(|_| ());
        match words {
            0..=4 | 9..=15 => assert_eq!(result, Err(ParseError::DataOffset)),
            _ => assert_ne!(result, Err(ParseError::DataOffset), "{words}"),
        }
    }
}
