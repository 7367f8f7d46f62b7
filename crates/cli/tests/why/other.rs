//! A capture as another stack could make it: extended addresses, a different header compression in
//! each direction, fragments, check sequences, and no metadata of the radio. The test writes the
//! bytes by the standards, without Redpoll's code.

use pcap_file::DataLink;
use serde_json::Value;

use crate::support::{Folder, code, redpoll, stdout};
use crate::write_at;

/// Interface identifiers, in the byte order of IPv6. On the air the order is reversed, and the
/// universal bit is inverted (RFC 4291).
const CLIENT: [u8; 8] = [0x02, 0x12, 0x4b, 0x00, 0x14, 0xb5, 0xd9, 0x01];
const SERVER: [u8; 8] = [0x02, 0x12, 0x4b, 0x00, 0x14, 0xb5, 0xda, 0x7f];
const PREFIX: [u8; 8] = [0xfd, 0, 0, 0, 0, 0, 0, 0];

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const PUSH: u8 = 0x08;

/// Microseconds on the air per byte. [`GAP_US`] passes before a frame, [`TURN_US`] before its ACK.
const BYTE_US: u64 = 32;
const GAP_US: u64 = 1_500;
const TURN_US: u64 = 192;

struct Air {
    at_us: u64,
    sequence: u8,
    tag: u16,
    frames: Vec<(u64, Vec<u8>)>,
}

#[derive(Clone, Copy)]
struct End {
    address: [u8; 8],
    port: u16,
    next: u32,
}

fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        [high] => u32::from(*high) << 8,
        _ => 0,
    });
    words.sum()
}

/// Returns a segment with its checksum (RFC 9293 §3.1).
fn segment(from: &End, to: &End, flags: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend([from.port.to_be_bytes(), to.port.to_be_bytes()].concat());
    bytes.extend(from.next.to_be_bytes());
    let acked = if flags & ACK == 0 { 0 } else { to.next };
    bytes.extend(acked.to_be_bytes());
    let words = 5 + options.len() as u8 / 4;
    bytes.extend([words << 4, flags, 0x04, 0x00, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.extend(data);
    let ends = [PREFIX, from.address, PREFIX, to.address].concat();
    let mut total = sum(&ends) + bytes.len() as u32 + 6 + sum(&bytes);
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    let checksum = !(total as u16);
    bytes[16..18].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Returns the client's compressed header: traffic class and flow label in full, hop limit 64, the
/// prefixes by context 0, the other address bits from the link addresses (RFC 6282 §3.1).
fn short_header() -> Vec<u8> {
    vec![0x62, 0x77, 0x00, 0x00, 0x00, 0x00, 6]
}

/// Returns the server's header: everything in full, except for the flow label.
fn long_header(from: &End, to: &End) -> Vec<u8> {
    let mut bytes = vec![0x70, 0x00, 0x00, 6, 63];
    bytes.extend([PREFIX, from.address, PREFIX, to.address].concat());
    bytes
}

/// Returns the check sequence of IEEE 802.15.4, with the less significant byte first.
fn fcs(bytes: &[u8]) -> [u8; 2] {
    let crc = bytes.iter().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| match crc & 1 {
            1 => crc >> 1 ^ 0x8408,
            _ => crc >> 1,
        })
    });
    crc.to_le_bytes()
}

impl Air {
    fn put(&mut self, mut frame: Vec<u8>) {
        frame.extend(fcs(&frame));
        let len = frame.len() as u64;
        self.frames.push((self.at_us, frame));
        self.at_us += BYTE_US * (len + 6);
    }

    fn frame(&mut self, from: &End, to: &End, payload: &[u8]) {
        let on_air = |end: &End| {
            let mut address = end.address;
            address[0] ^= 0x02;
            address.reverse();
            address
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut frame = vec![0x61, 0xdc, self.sequence, 0xcd, 0xab];
        frame.extend([on_air(to), on_air(from)].concat());
        frame.extend(payload);
        self.at_us += GAP_US;
        self.put(frame);
        self.at_us += TURN_US;
        self.put(vec![0x02, 0x00, self.sequence]);
    }

    fn datagram(&mut self, from: &End, to: &End, header: Vec<u8>, segment: &[u8]) {
        for payload in self.payloads(header, segment) {
            self.frame(from, to, &payload);
        }
    }

    /// Returns the payloads of a datagram's frames: fragments if it is long (RFC 4944 §5.3).
    fn payloads(&mut self, header: Vec<u8>, segment: &[u8]) -> Vec<Vec<u8>> {
        let size = 40 + segment.len() as u16;
        if header.len() + segment.len() <= 100 {
            return vec![[&header[..], segment].concat()];
        }
        self.tag += 1;
        let tag = self.tag.to_be_bytes();
        let first = (96 - header.len()) / 8 * 8;
        let head = (0xc000 | size).to_be_bytes();
        let mut payloads = vec![[&head[..], &tag, &header, &segment[..first]].concat()];
        for (at, rest) in segment[first..].chunks(88).enumerate() {
            let offset = (40 + first + 88 * at) / 8;
            let head = (0xe000 | size).to_be_bytes();
            payloads.push([&head[..], &tag, &[offset as u8], rest].concat());
        }
        payloads
    }
}

/// Returns the air with a new connection's first segments, its client and its server.
fn connected() -> (Air, End, End) {
    let mut air = Air {
        at_us: 1_000,
        sequence: 17,
        tag: 900,
        frames: Vec::new(),
    };
    let end = |address, port, next| End {
        address,
        port,
        next,
    };
    let (mut client, mut server) = (end(CLIENT, 49_312, 7_000), end(SERVER, 8_883, 90_000));
    let mss = [2, 4, 0x01, 0x90];
    let opens = segment(&client, &server, SYN, &mss, &[]);
    air.datagram(&client, &server, short_header(), &opens);
    client.next += 1;
    let answer = segment(&server, &client, SYN | ACK, &mss, &[]);
    air.datagram(&server, &client, long_header(&server, &client), &answer);
    server.next += 1;
    let acks = segment(&client, &server, ACK, &[], &[]);
    air.datagram(&client, &server, short_header(), &acks);
    (air, client, server)
}

/// Sends `segments` segments of the client, one after the other, with acknowledgements after
/// `wait_us`.
fn transfer(segments: u32, wait_us: u64) -> Vec<(u64, Vec<u8>)> {
    let (mut air, mut client, server) = connected();
    for number in 0..segments {
        let data = [number as u8; 400];
        let bytes = segment(&client, &server, ACK | PUSH, &[], &data);
        air.datagram(&client, &server, short_header(), &bytes);
        client.next += 400;
        air.at_us += wait_us;
        let acks = segment(&server, &client, ACK, &[], &[]);
        air.datagram(&server, &client, long_header(&server, &client), &acks);
    }
    air.frames
}

#[test]
fn a_capture_of_another_stack_is_read() {
    let folder = Folder::new("why-other");
    let capture = folder.file("other.pcap");
    // A server that acknowledges single segments after 200 ms, as many do.
    let frames = transfer(40, 200_000);
    let count = frames.len();
    write_at(&capture, DataLink::IEEE802_15_4, frames);
    let lines = stdout(&redpoll(&["dissect", &capture, "--prefix", "fd00::/64"]));
    assert_eq!(lines.lines().count(), count);
    for wrong in ["malformed", "wrong checksum", "wrong FCS"] {
        assert!(!lines.contains(wrong), "{wrong}: {lines}");
    }
    let found = found(&capture);
    assert_eq!(found["malformed"], 0, "{found}");
    assert_eq!(found["flows"].as_array().unwrap().len(), 1, "{found}");
    let named = crate::causes(&found);
    assert_eq!(named, ["delayed-ack"], "{found}");
}

/// Returns the causes that `why` finds in a capture of these frames.
fn found_in(name: &str, air: Air) -> Value {
    let folder = Folder::new(name);
    let capture = folder.file("other.pcap");
    write_at(&capture, DataLink::IEEE802_15_4, air.frames);
    found(&capture)
}

fn found(capture: &str) -> Value {
    let why = redpoll(&["why", capture, "--prefix", "fd00::/64", "--json", "-"]);
    assert_eq!(code(&why), 0);
    serde_json::from_str(&stdout(&why)).unwrap()
}

fn next(client: &mut End, server: &End) -> Vec<u8> {
    let bytes = segment(client, server, ACK | PUSH, &[], &[7; 400]);
    client.next += 400;
    bytes
}

/// Each transmitted frame of the datagram is acknowledged, but its last frames are never sent,
/// because the sender did not receive an acknowledgement. The capture cannot show this loss.
fn breaking_off(times: u32) -> Air {
    let (mut air, mut client, server) = connected();
    for _ in 0..times {
        let (one, two) = (next(&mut client, &server), next(&mut client, &server));
        for payload in &air.payloads(short_header(), &one)[..3] {
            air.frame(&client, &server, payload);
        }
        air.datagram(&client, &server, short_header(), &two);
        air.at_us += 500_000;
        air.datagram(&client, &server, short_header(), &one);
        let acks = segment(&server, &client, ACK, &[], &[]);
        air.datagram(&server, &client, long_header(&server, &client), &acks);
    }
    air
}

#[test]
fn a_datagram_that_breaks_off_is_a_segment_that_was_lost() {
    let found = found_in("why-breaks-off", breaking_off(8));
    let direction = &found["flows"][0]["directions"][0];
    assert_eq!(direction["segments"], 3 * 8, "{direction}");
    assert_eq!(direction["control_segments"], 1, "{direction}");
    assert_eq!(direction["sent_again"], 8, "{direction}");
    let cause = &found["flows"][0]["causes"][0];
    assert_eq!(cause["cause"], "lost-fragments", "{cause}");
    assert_eq!(cause["times"], 8, "{cause}");
}

/// A cause that occurred only twice is not reported. The output names it as the most costly smaller
/// cause, and `--simulate` has nothing to simulate.
#[test]
fn a_cause_below_the_threshold_is_shown_and_not_simulated() {
    let folder = Folder::new("why-below");
    let capture = folder.file("other.pcap");
    write_at(&capture, DataLink::IEEE802_15_4, breaking_off(2).frames);
    let found = found(&capture);
    assert_eq!(crate::causes(&found), [""; 0], "{found}");
    let small = &found["flows"][0]["largest_below_threshold"];
    assert_eq!(small["cause"], "lost-fragments", "{small}");
    assert_eq!(small["times"], 2, "{small}");
    let args = ["why", &capture, "--prefix", "fd00::/64", "--simulate"];
    let text = stdout(&redpoll(&args));
    assert_eq!(
        text,
        "[fd00::212:4b00:14b5:d901]:49312 <> [fd00::212:4b00:14b5:da7f]:8883\n  \
         to [fd00::212:4b00:14b5:da7f]:8883: 1600 B in 1.2 s (10.9 kb/s) over 1 hop, 6 data \
         segments and 1 with only SYN or FIN (retransmissions among them: 2), largest number of \
         segments in flight: 2, median round-trip time on the air 561 ms\n  \
         No known cause was found.\n     \
         A cause is named if it costs at least 5 % of the time with data in flight and occurs at\n     \
         least 3 times. The most costly of the other causes: lost fragments, 1.1 s of the 1.2 s with\n     \
         data in flight (93.4 %), 2 occurrences. Next, check what `why` does not look for: too many\n     \
         senders on one channel, full queues, a timeout shorter than the round trip.\n\
         Nothing to simulate: no cause was found.\n"
    );
}

/// A router that forwards fragments at once interleaves the fragments of several datagrams.
#[test]
fn datagrams_whose_fragments_take_turns_are_not_lost() {
    let (mut air, mut client, server) = connected();
    for _ in 0..20 {
        let datagrams = [(); 2].map(|()| {
            let bytes = next(&mut client, &server);
            air.payloads(short_header(), &bytes)
        });
        let [one, two] = &datagrams;
        for payload in one.iter().zip(two).flat_map(|(one, two)| [one, two]) {
            air.frame(&client, &server, payload);
        }
        let acks = segment(&server, &client, ACK, &[], &[]);
        air.datagram(&server, &client, long_header(&server, &client), &acks);
    }
    let found = found_in("why-turns", air);
    let direction = &found["flows"][0]["directions"][0];
    assert_eq!(direction["segments"], 2 * 20, "{direction}");
    assert_eq!(direction["control_segments"], 1, "{direction}");
    assert_eq!(direction["sent_again"], 0, "{direction}");
    assert_eq!(direction["most_in_flight"], 2, "{direction}");
    assert_eq!(crate::causes(&found), [""; 0], "{found}");
}
