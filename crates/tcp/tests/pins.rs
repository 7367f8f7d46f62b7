//! Pins: the link reads a segment in fragments. Between two reads the bytes stay the same, or all
//! later reads return `Gone`. Data that the link holds are not retransmitted.

use redpoll_base::Duration;
use redpoll_tcp::{Config, Gone, Header, Segment, SegmentDesc, State};
use redpoll_testkit::{FIN_ACK, Host, ISS, RST, outward, recv, recv_nothing, send};
use redpoll_wire::tcp::Flags;

const MSS: u16 = 100;
const FRAGMENT: usize = 40;
/// Stream length in bytes: two full segments and a small one.
const DATA: usize = 250;

fn byte(at: usize) -> u8 {
    (at * 7 + at / 50) as u8
}

/// An event while the link is busy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happening {
    /// The peer acknowledges this many bytes, if they were sent.
    Ack(u32),
    Reset,
    Timeout,
    Close,
    Abort,
    /// The path MTU allows segments of 64 bytes only.
    SmallPath,
    ZeroWindow,
    Nothing,
}

const HAPPENINGS: [Happening; 10] = [
    Happening::Ack(30),
    Happening::Ack(100),
    Happening::Ack(150),
    Happening::Ack(250),
    Happening::Reset,
    Happening::Timeout,
    Happening::Close,
    Happening::Abort,
    Happening::SmallPath,
    Happening::ZeroWindow,
];

struct Held {
    desc: SegmentDesc,
    start: usize,
    fin: bool,
    bytes: Vec<u8>,
    gone: bool,
}

impl Held {
    fn end(&self) -> usize {
        self.start + usize::from(self.desc.payload_len)
    }
}

/// A link that holds two segments and sends them in fragments, and a peer that stores the arrivals.
struct Rig {
    t: Host,
    held: Vec<Held>,
    arrived: Vec<Option<u8>>,
    acked: usize,
    over: bool,
}

impl Rig {
    fn new() -> Rig {
        let config = Config {
            timestamps: false,
            min_rto: Duration::from_secs(1),
            ..Config::default()
        };
        let mut t = Host::established_with(&config, MSS, 4096, 400, 400);
        let data: Vec<u8> = (0..DATA).map(byte).collect();
        t.write(&data);
        Rig {
            t,
            held: Vec::new(),
            arrived: vec![None; DATA],
            acked: 0,
            over: false,
        }
    }

    /// Performs one step of the link. Returns false if there is nothing to do.
    fn step(&mut self, lose: bool) -> bool {
        if self.held.len() < 2 && self.pull() {
            return true;
        }
        let Some(held) = self.held.first_mut() else {
            return false;
        };
        let len = usize::from(held.desc.payload_len);
        if !held.gone && held.bytes.len() < len {
            self.read_fragment();
        } else {
            self.report(lose);
        }
        true
    }

    fn pull(&mut self) -> bool {
        let now = self.t.now();
        let Some(desc) = self.t.conn.poll_segment(now, 1240) else {
            return false;
        };
        let (start, fin) = position(&desc.header);
        let new = Held {
            desc,
            start,
            fin,
            bytes: Vec::new(),
            gone: false,
        };
        let occupies = |held: &Held| held.start..held.end() + usize::from(held.fin);
        for held in self.held.iter().filter(|held| !is_gone(&self.t, held)) {
            let (a, b) = (occupies(held), occupies(&new));
            let overlap = a.start.max(b.start) < a.end.min(b.end);
            assert!(!overlap, "{b:?} is sent while {a:?} is with the link");
        }
        self.held.push(new);
        true
    }

    fn read_fragment(&mut self) {
        let held = &mut self.held[0];
        let offset = held.bytes.len();
        let mut fragment = [0; FRAGMENT];
        let expect_gone = self.over || self.acked >= held.end() + usize::from(held.fin);
        match self.t.conn.read(held.desc.token, offset, &mut fragment) {
            Ok(count) => {
                assert!(!expect_gone, "the bytes should be gone");
                let len = usize::from(held.desc.payload_len);
                assert_eq!(count, FRAGMENT.min(len - offset));
                held.bytes.extend_from_slice(&fragment[..count]);
            }
            Err(Gone) => {
                assert!(expect_gone, "the bytes should be there");
                held.gone = true;
            }
        }
    }

    fn report(&mut self, lose: bool) {
        let held = self.held.remove(0);
        let now = self.t.now();
        if held.gone || lose {
            return self.t.conn.on_segment_lost(held.desc.token, now);
        }
        // The checksum computed with the segment is still correct.
        let bytes = [held.desc.header.as_bytes(), &held.bytes].concat();
        assert!(Segment::parse(&outward(), &bytes).is_ok());
        for (at, got) in (held.start..).zip(&held.bytes) {
            assert_eq!(*got, byte(at), "byte {at}");
            self.arrived[at] = Some(*got);
        }
        self.t.conn.on_segment_sent(held.desc.token, now);
    }

    fn happen(&mut self, what: Happening) {
        let now = self.t.now();
        match what {
            Happening::Ack(bytes) => {
                let before = self.t.conn.unacked();
                send!(self.t, seq 1, ack 1 + bytes);
                if !self.over && self.t.conn.unacked() < before {
                    self.acked = self.acked.max(bytes as usize);
                    for (at, slot) in self.arrived[..self.acked].iter_mut().enumerate() {
                        *slot = Some(byte(at));
                    }
                }
            }
            Happening::Reset => {
                send!(self.t, flags RST, seq 1);
                self.over = true;
            }
            Happening::Timeout => {
                let at = self.t.conn.poll_at().map_or(now, |wake| wake.at);
                let ms = at.as_millis().max(now.as_millis()) - 1000;
                // `skip_to` expires the timer but sends no segment, because the link is busy.
                self.t.skip_to(ms);
            }
            Happening::Close => self.t.close(),
            Happening::Abort => {
                self.t.abort();
                self.over = true;
            }
            Happening::SmallPath => self.t.conn.on_path_mtu(now, 40 + 20 + 64),
            Happening::ZeroWindow => send!(self.t, seq 1, ack 1 + self.acked as u32, win 0),
            Happening::Nothing => {}
        }
    }

    /// Runs without new events: all remaining data must arrive.
    fn finish(mut self, label: &str) {
        for _ in 0..400 {
            if !self.step(false) {
                if self.over {
                    assert!(self.t.conn.is_closed());
                    return;
                }
                let prefix = self
                    .arrived
                    .iter()
                    .take_while(|byte| byte.is_some())
                    .count();
                self.acked = self.acked.max(prefix);
                send!(self.t, seq 1, ack 1 + self.acked as u32, win 4000);
                if self.acked == DATA && self.t.conn.unacked() == 0 {
                    return;
                }
                if self.held.is_empty() && !self.pull() {
                    self.happen(Happening::Timeout);
                }
            }
        }
        panic!(
            "{label}: stuck in {:?}, {} unacked",
            self.t.conn.state(),
            self.t.conn.unacked()
        );
    }
}

/// Returns the stream offset of a header, and whether it has a FIN.
fn position(header: &Header) -> (usize, bool) {
    let bytes = header.as_bytes();
    let seq = u32::from_be_bytes(bytes[4..8].try_into().unwrap());
    (seq.wrapping_sub(ISS.0 + 1) as usize, Flags(bytes[13]).fin())
}

fn is_gone(t: &Host, held: &Held) -> bool {
    t.conn.read(held.desc.token, 0, &mut [0]) == Err(Gone)
}

/// Runs transfers with every pair of events at every pair of times. The link loses the segment
/// number `lost`, or none.
fn all_pairs(lost: Option<usize>) {
    for first in HAPPENINGS {
        for second in HAPPENINGS.into_iter().chain([Happening::Nothing]) {
            for at_first in 0..20 {
                for after in 0..if second == Happening::Nothing { 1 } else { 12 } {
                    let label = format!("{first:?} at {at_first}, {second:?} {after} later");
                    let mut rig = Rig::new();
                    let mut reports = 0;
                    for step in 0..20 + 12 {
                        if step == at_first {
                            rig.happen(first);
                        }
                        if step == at_first + after {
                            rig.happen(second);
                        }
                        let held = rig.held.len();
                        rig.step(lost == Some(reports));
                        reports += usize::from(rig.held.len() < held);
                    }
                    rig.finish(&label);
                }
            }
        }
    }
}

#[test]
fn everything_between_any_two_fragments() {
    all_pairs(None);
}

#[test]
fn everything_between_any_two_fragments_when_the_link_gives_one_up() {
    for lost in 0..3 {
        all_pairs(Some(lost));
    }
}

#[test]
fn the_timer_starts_at_the_report() {
    let mut rig = Rig::new();
    assert!(rig.pull());
    assert_eq!(rig.t.conn.poll_at(), None);
    rig.t.skip_to(5_000);
    assert_eq!(rig.t.conn.poll_at(), None);
    while rig.t.conn.poll_at().is_none() {
        rig.step(false);
    }
    assert_eq!(
        rig.t.conn.poll_at().unwrap().at,
        rig.t.now() + redpoll_testkit::ms(1_000)
    );
}

#[test]
fn at_most_four_segments_are_with_the_link_and_acks_come_on_top() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established(&config, MSS, 4096);
    t.write(&[b'x'; 2000]);
    let now = t.now();
    // The initial window permits four segments. After the ACK the free pin is the limit, not cwnd.
    let mut held: Vec<_> = std::iter::from_fn(|| t.conn.poll_segment(now, 1240)).collect();
    assert_eq!(held.len(), 4);
    t.conn.on_segment_sent(held.remove(0).token, now);
    send!(t, seq 1, ack 101);
    let more: Vec<_> = std::iter::from_fn(|| t.conn.poll_segment(now, 1240)).collect();
    assert_eq!(more.len(), 1, "a pin is free and one is taken");
    send!(t, seq 9, ack 101, data b"gap");
    let ack = t.conn.poll_segment(now, 1240).unwrap();
    assert_eq!(ack.payload_len, 0);
    assert!(t.conn.poll_segment(now, 1240).is_none());
}

/// If the link loses all copies of a segment, the connection retransmits at once, then with the
/// timer's backoff, and finally fails.
#[test]
fn a_failing_link_is_retried_at_once_then_by_timer_then_given_up() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        max_retries: 3,
        ..Config::default()
    };
    let mut t = Host::established(&config, MSS, 4096);
    t.write(b"hello");
    let mut tries = Vec::new();
    while t.conn.state() == State::Established {
        let now = t.now();
        if let Some(desc) = t.conn.poll_segment(now, 1240) {
            tries.push(t.ms());
            t.conn.on_segment_lost(desc.token, now);
        } else {
            let at = t.conn.poll_at().expect("no deadlock").at;
            t.skip_to(at.as_millis() - 1000);
        }
    }
    assert_eq!(tries, [0, 0, 1000, 3000, 7000]);
    assert_eq!(t.ms(), 15_000);
    assert_eq!(t.conn.stats().retransmissions.link_lost, 1);
    assert_eq!(t.conn.stats().link_losses, 5);
}

#[test]
fn a_syn_that_the_link_loses_is_repeated_at_once() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        mss: 462,
        ..Config::default()
    };
    let mut t = Host::connect(&config, 100, 100);
    let now = t.now();
    let syn = t.conn.poll_segment(now, 1240).unwrap();
    assert!(t.conn.poll_segment(now, 1240).is_none());
    t.conn.on_segment_lost(syn.token, now);
    recv!(t, flags redpoll_testkit::SYN, seq 0, mss 462);
    send!(t, flags redpoll_testkit::SYN_ACK, seq 0, ack 1, mss 100);
    recv!(t, seq 1, ack 1);
    assert_eq!(
        t.conn.info().cwnd,
        100,
        "RFC 5681 §3.1: one segment after a lost SYN"
    );
}

/// A loss on the link halves the window once and does not reduce it to one segment.
#[test]
fn a_link_loss_is_repaired_by_the_next_segment() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established(&config, MSS, 4096);
    t.write(&[b'x'; 400]);
    let now = t.now();
    let held: Vec<_> = std::iter::from_fn(|| t.conn.poll_segment(now, 1240)).collect();
    assert_eq!(held.len(), 4);
    t.conn.on_segment_lost(held[0].token, now);
    assert_eq!((t.conn.info().ssthresh, t.conn.info().cwnd), (200, 200));
    recv!(t, seq 1, ack 1, len 100);
    for desc in &held[1..] {
        t.conn.on_segment_sent(desc.token, now);
    }
    // Duplicate ACKs of the same loss cause no second reduction.
    for _ in 0..3 {
        send!(t, seq 1, ack 1);
    }
    recv_nothing!(t);
    assert_eq!(t.conn.info().ssthresh, 200);
    assert_eq!(t.conn.stats().retransmissions.link_lost, 1);
    assert_eq!(t.conn.stats().retransmissions.fast, 0);
    send!(t, seq 1, ack 401);
    t.close();
    recv!(t, flags FIN_ACK, seq 401, ack 1);
}

/// The window opens while a probe waits in the link's queue. The connection sends no data until the
/// link has sent the probe.
#[test]
fn a_probe_with_the_link_holds_back_new_data() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established(&config, MSS, 100);
    t.write(&[b'x'; 300]);
    recv!(t, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 101, win 0);
    t.skip_to(1_000);
    let now = t.now();
    let probe = t.conn.poll_segment(now, 1240).unwrap();
    assert_eq!(probe.payload_len, 1);
    send!(t, seq 1, ack 101, win 400);
    assert!(t.conn.poll_segment(now, 1240).is_none());
    t.conn.on_segment_sent(probe.token, now);
    recv!(t, seq 101, ack 1, len 100);
}

/// The timer expires while the retransmission waits in the link's queue. The expiry is not a second
/// loss.
#[test]
fn a_timeout_while_the_link_holds_the_retransmission_has_no_effect() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established(&config, MSS, 4096);
    t.write(&[b'x'; 400]);
    t.sent();
    for _ in 0..3 {
        send!(t, seq 1, ack 1);
    }
    let now = t.now();
    let again = t.conn.poll_segment(now, 1240).unwrap();
    let cwnd = t.conn.info().cwnd;
    t.skip_to(1_000);
    assert_eq!(t.conn.stats().rtos, 0);
    assert_eq!(t.conn.info().cwnd, cwnd);
    let now = t.now();
    assert!(t.conn.poll_segment(now, 1240).is_none());
    t.conn.on_segment_sent(again.token, now);
    recv_nothing!(t, until 1_999);
    recv!(t, at 2_000, seq 1, ack 1, len 100);
}
