//! Sending without a copy: the link reads the application's buffers in place, and they are returned
//! only when they are no longer needed.

use proptest::prelude::*;
use redpoll_base::Instant;
use redpoll_tcp::{Chain, ChainSlot, Config, Connection, Event, Gone, Segment, SegmentDesc};
use redpoll_testkit::{ISS, LOCAL, REMOTE, RST, Record, SYN_ACK, from_peer, inward, outward};

/// Lengths of the buffers in bytes; segments of 100 bytes span several.
const BUFFERS: [usize; 5] = [70, 1, 130, 0, 99];
const DATA: usize = 300;
const FRAGMENT: usize = 40;

type Slots = [ChainSlot<Vec<u8>>; BUFFERS.len()];

struct Held {
    desc: SegmentDesc,
    start: usize,
    read: usize,
}

struct Rig {
    conn: Connection<Vec<u8>, Chain<Vec<u8>, Slots>>,
    now: Instant,
    held: Vec<Held>,
    acked: usize,
    over: bool,
    returned: usize,
    buffers_back: usize,
}

fn byte(at: usize) -> u8 {
    (at * 7 + at / 50) as u8
}

impl Rig {
    fn new() -> Rig {
        let now = Instant::from_millis(1_000);
        let config = Config {
            timestamps: false,
            mss: 100,
            ..Config::default()
        };
        let chain = Chain::new([const { ChainSlot::EMPTY }; BUFFERS.len()]);
        let conn = Connection::connect(now, &config, LOCAL, REMOTE, ISS, chain, vec![0; 100]);
        let mut rig = Rig {
            conn,
            now,
            held: Vec::new(),
            acked: 0,
            over: false,
            returned: 0,
            buffers_back: 0,
        };
        let syn = rig.conn.poll_segment(now, 1240).unwrap();
        rig.conn.on_segment_sent(syn.token, now);
        rig.input(Record::new().flags(SYN_ACK).ack(1).mss(100));
        let ack = rig.conn.poll_segment(now, 1240).unwrap();
        rig.conn.on_segment_sent(ack.token, now);
        while rig.conn.poll_event().is_some() {}
        let mut at = 0;
        for len in BUFFERS {
            let data = (at..at + len).map(byte).collect();
            rig.conn.send_buffer(now, data).unwrap();
            at += len;
        }
        rig
    }

    fn input(&mut self, record: Record) {
        let bytes = from_peer(&record);
        let seg = Segment::parse(&inward(), &bytes).unwrap();
        self.conn.input(self.now, &inward(), &seg);
    }

    fn pull(&mut self) {
        if let Some(desc) = self.conn.poll_segment(self.now, 1240) {
            let seq = u32::from_be_bytes(desc.header.as_bytes()[4..8].try_into().unwrap());
            self.check_whole(&desc);
            self.held.push(Held {
                desc,
                start: seq.wrapping_sub(ISS.0 + 1) as usize,
                read: 0,
            });
        }
    }

    /// Checks that the checksum of the header matches the payload.
    fn check_whole(&self, desc: &SegmentDesc) {
        let mut payload = vec![0; usize::from(desc.payload_len)];
        let read = self.conn.read(desc.token, 0, &mut payload);
        assert_eq!(read, Ok(payload.len()));
        let bytes = [desc.header.as_bytes(), &payload].concat();
        assert!(Segment::parse(&outward(), &bytes).is_ok());
    }

    /// Sends one more fragment of the oldest segment, or reports the segment.
    fn work(&mut self, lose: bool) {
        let Some(held) = self.held.first_mut() else {
            return self.pull();
        };
        let mut out = [0; FRAGMENT];
        let len = usize::from(held.desc.payload_len);
        match self.conn.read(held.desc.token, held.read, &mut out) {
            Ok(count) if held.read < len => {
                assert_eq!(count, FRAGMENT.min(len - held.read));
                let at = held.start + held.read;
                assert!(self.returned <= at, "a buffer came back before it was read");
                let expected: Vec<u8> = (at..at + count).map(byte).collect();
                assert_eq!(out[..count], expected);
                held.read += count;
                return;
            }
            Ok(_) => {}
            Err(Gone) => assert!(self.over || self.acked >= held.start + len),
        }
        let held = self.held.remove(0);
        if lose {
            self.conn.on_segment_lost(held.desc.token, self.now);
        } else {
            self.conn.on_segment_sent(held.desc.token, self.now);
        }
    }

    fn ack(&mut self, bytes: usize) {
        let sent = self
            .held
            .iter()
            .map(|h| h.start + usize::from(h.desc.payload_len));
        let bytes = bytes.min(sent.max().unwrap_or(0)).max(self.acked);
        self.input(Record::new().seq(1).ack(1 + bytes as u32));
        if !self.over {
            self.acked = bytes;
        }
    }

    fn reclaim(&mut self) {
        while let Some(buffer) = self.conn.reclaim() {
            let expected: Vec<u8> = (self.returned..).take(buffer.len()).map(byte).collect();
            assert_eq!(buffer, expected, "in their order, and untouched");
            assert_eq!(buffer.len(), BUFFERS[self.buffers_back]);
            self.returned += buffer.len();
            self.buffers_back += 1;
            assert!(self.over || self.returned <= self.acked);
            for held in &self.held {
                let reads = self.conn.read(held.desc.token, 0, &mut [0; 1]);
                assert!(reads == Err(Gone) || held.start >= self.returned);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Work,
    Lose,
    Pull,
    Ack(usize),
    Reset,
    Close,
    Abort,
    Timeout,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        12 => Just(Happening::Work),
        1 => Just(Happening::Lose),
        4 => Just(Happening::Pull),
        4 => (0..=DATA).prop_map(Happening::Ack),
        1 => Just(Happening::Reset),
        1 => Just(Happening::Close),
        1 => Just(Happening::Abort),
        2 => Just(Happening::Timeout),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Covers an acknowledgment, a reset, a timeout and a close between any two fragments.
    #[test]
    fn a_buffer_comes_back_when_nobody_reads_it_any_more(
        happenings in prop::collection::vec(happening(), 1..80)
    ) {
        let mut rig = Rig::new();
        for what in happenings {
            match what {
                Happening::Work => rig.work(false),
                Happening::Lose => rig.work(true),
                Happening::Pull => rig.pull(),
                Happening::Ack(bytes) => rig.ack(bytes),
                Happening::Reset => {
                    rig.over = true;
                    rig.input(Record::new().flags(RST).seq(1));
                }
                Happening::Close => rig.conn.close(rig.now),
                Happening::Abort => {
                    rig.over = true;
                    rig.conn.abort(rig.now);
                }
                Happening::Timeout => {
                    rig.now = rig.conn.poll_at().map_or(rig.now, |wake| wake.at.max(rig.now));
                    rig.conn.on_timeout(rig.now);
                    rig.over |= rig.conn.is_closed();
                }
            }
            rig.reclaim();
        }
        rig.over = true;
        rig.conn.abort(rig.now);
        rig.reclaim();
        prop_assert_eq!(rig.buffers_back, BUFFERS.len());
    }
}

#[test]
fn a_buffer_s_return_is_an_event_and_its_slot_takes_another() {
    let mut rig = Rig::new();
    let now = rig.now;
    assert_eq!(rig.conn.send_buffer(now, vec![1]), Err(vec![1]));
    rig.pull();
    while !rig.held.is_empty() {
        rig.work(false);
    }
    rig.input(Record::new().seq(1).ack(1 + 69));
    assert_eq!(rig.conn.poll_event(), None);
    rig.input(Record::new().seq(1).ack(1 + 70));
    assert_eq!(rig.conn.poll_event(), Some(Event::Writable));
    assert_eq!(rig.conn.send_buffer(now, vec![1]), Err(vec![1]));
    assert_eq!(rig.conn.reclaim().map(|b| b.len()), Some(70));
    assert_eq!(rig.conn.send_buffer(now, vec![1]), Ok(()));
    assert_eq!(rig.conn.unacked(), DATA - 70 + 1);
    rig.conn.close(now);
    assert_eq!(rig.conn.send_buffer(now, vec![2]), Err(vec![2]));
}

#[test]
fn received_bytes_are_read_in_place() {
    let mut rig = Rig::new();
    let now = rig.now;
    let data: Vec<u8> = (0..90).collect();
    rig.input(Record::new().seq(1).ack(1).data(&data[..60]));
    let (first, second) = rig.conn.peek();
    assert_eq!((first, second), (&data[..60], &[][..]));
    let memory = first.as_ptr();
    assert_eq!(rig.conn.consume(now, 50), 50);
    assert_eq!(rig.conn.peek().0.as_ptr(), memory.wrapping_add(50));
    // The peer learns of the free space; the next data wrap around the end of the ring.
    rig.pull();
    rig.input(Record::new().seq(61).ack(1).data(&data));
    let (first, second) = rig.conn.peek();
    assert_eq!((first.len(), second.len()), (50, 50));
    assert_eq!([first, second].concat(), [&data[50..60], &data].concat());
    assert_eq!(second.as_ptr(), memory);
    let mut out = [0; 60];
    assert_eq!(rig.conn.recv(now, &mut out), Ok(60));
    assert_eq!(rig.conn.consume(now, 1000), 40);
    assert_eq!(rig.conn.consume(now, 1), 0);
    assert_eq!(rig.conn.peek(), (&[][..], &[][..]));
}
