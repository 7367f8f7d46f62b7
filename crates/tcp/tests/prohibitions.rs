//! A peer loses, delays, repeats, reneges and shrinks its window at random. Each segment that the
//! connection sends is checked against prohibitions of the RFCs.

use redpoll_base::{Duration, Rng};
use redpoll_tcp::Config;
use redpoll_testkit::{Host, RST, Record, SYN, SYN_ACK, send};
use redpoll_wire::tcp::Flags;

const TOTAL: usize = 12_000;
const BUFFER: usize = 2_000;
const MSS: usize = 100;
const TIMESTAMPS: usize = 12;

/// Returns the byte at this position of either stream.
fn byte(at: usize) -> u8 {
    (at * 7 + at / 251) as u8
}

struct World {
    t: Host,
    rng: Rng,
    has_sack: bool,
    has_ts: bool,
    /// Our stream: bytes given by the application, and bytes sent. `held`: which bytes the peer
    /// has; it may acknowledge `acked` bytes, and its last ACK covered `told` bytes.
    given: usize,
    sent: usize,
    held: Vec<bool>,
    acked: usize,
    told: usize,
    window: usize,
    /// Bytes in flight before the segments under test.
    before: u32,
    /// The peer's stream: bytes sent, those that arrived, our acknowledgment, the edge of our
    /// window, and bytes read.
    theirs: usize,
    arrived: Vec<bool>,
    heard: usize,
    edge: usize,
    read: usize,
    /// Deadline of an acknowledgment, and the number that it must cover.
    due: Option<(u64, usize)>,
    /// Number of tail probes, and number of RTT samples at the last probe.
    probes: (u64, u64),
    /// Timestamps that the peer sent; `stamped`: value and echo of our last segment.
    stamps: Vec<u32>,
    stamped: (u32, u32),
    /// Numbers of the peer's segments, of calls that read, and of empty acknowledgments.
    segments: usize,
    reads: usize,
    acks: usize,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::named(seed, "prohibitions");
        let bits = rng.next_u32();
        let (has_sack, has_ts) = (bits & 1 == 0, bits & 2 == 0);
        let config = Config {
            mss: 462,
            sack: true,
            timestamps: true,
            nagle: bits & 4 == 0,
            ack_every: 1 + (bits >> 4) as u8 % 3,
            max_retries: 200,
            max_rto: Duration::from_secs(2),
            ..Config::default()
        };
        let mut t = Host::connect(&config, BUFFER, BUFFER);
        let syn = t.sent();
        assert_eq!(syn.len(), 1);
        t.wait(20);
        let mut answer = Record::new().flags(SYN_ACK).ack(1);
        answer = answer.win(4_000).mss(MSS as u16).sack_ok(has_sack);
        if has_ts {
            answer = answer.ts((1_000, syn[0].timestamps().unwrap().0));
        }
        t.send(answer);
        let mut world = World {
            t,
            rng,
            has_sack,
            has_ts,
            given: 0,
            sent: 0,
            held: vec![false; TOTAL],
            acked: 0,
            told: 0,
            window: 4_000,
            before: 0,
            theirs: 0,
            arrived: vec![false; TOTAL],
            heard: 0,
            edge: BUFFER,
            read: 0,
            due: None,
            probes: (0, 0),
            stamps: vec![1_000],
            stamped: (0, 0),
            segments: 1,
            reads: 0,
            acks: 0,
        };
        world.check(0);
        world
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit.max(1) as u32) as usize
    }

    fn tell(&mut self, from: usize, to: usize) {
        let data: Vec<u8> = (from..to).map(byte).collect();
        let mut record = Record::new().seq(1 + from as u32).data(&data);
        record = record.ack(1 + self.acked as u32).win(self.window as u16);
        if self.has_ts {
            let stamp = 1_000 + self.t.ms() as u32;
            record = record.ts((stamp, 0));
            self.stamps.push(stamp);
        }
        if self.has_sack {
            record = record.sack(self.blocks());
        }
        if from <= self.heard && self.heard < to && self.due.is_none() {
            self.due = Some((self.t.ms() + 500, to));
        }
        let is_new = from < to && !self.arrived[from..to].iter().any(|it| *it);
        self.arrived[from..to].fill(true);
        self.segments += 1;
        let (cwnd, undone) = (
            self.t.conn.info().cwnd,
            self.t.conn.stats().undone_reductions,
        );
        self.t.send(record);
        self.told = self.acked;
        self.before = self.t.conn.info().in_flight;
        // RFC 5681 §3.1, RFC 3465 §2.3: cwnd grows by at most two segments per ACK, or to the
        // threshold when a recovery ends, or to its previous value when the recovery was spurious.
        let most = (cwnd + 2 * MSS as u32).max(self.t.conn.info().ssthresh);
        let is_undone = self.t.conn.stats().undone_reductions > undone;
        assert!(self.t.conn.info().cwnd <= most || is_undone, "{cwnd}");
        if is_new && from > self.whole() && self.has_sack {
            self.check_first_block(from, to);
        }
    }

    /// Checks the first block. RFC 2018 §4: "The first SACK block [...] MUST specify the contiguous
    /// block of data containing the segment which triggered this ACK".
    fn check_first_block(&mut self, from: usize, to: usize) {
        self.t.drain();
        let sent = self.t.sent();
        // Accept the second block as well: a report of a duplicate may precede (RFC 2883 §4).
        let mut first = sent[0].sack_blocks().iter().take(2);
        let holds = |&(start, end): &(u32, u32)| start as usize <= from + 1 && to < end as usize;
        assert!(first.any(holds), "{:?} for {from} to {to}", sent[0]);
        self.look_at(sent, 0);
    }

    /// Returns how much of the peer's stream has arrived without a gap.
    fn whole(&self) -> usize {
        self.arrived.iter().position(|it| !it).unwrap_or(TOTAL)
    }

    /// Sends a forged segment, with wrong bytes, which must not be accepted.
    fn forge(&mut self) {
        let whole = 1 + self.whole() as u32;
        let ack = 1 + self.acked as u32;
        let stamp = 1_000 + self.t.ms() as u32;
        let far = self.below(3_000) as u32;
        let data = [0xee; 40];
        let record = Record::new().seq(whole).ack(ack).ts((stamp, 0));
        let record = match self.below(7) {
            // RFC 9293 §3.10.7.4, second step: a reset that is not at RCV.NXT.
            0 => record.flags(RST).seq(whole + 1 + far),
            1 => record.flags(RST).seq(whole.wrapping_sub(70_000 + far)),
            // Fourth step: a SYN.
            2 => record.flags(SYN).seq(whole - 1 + far).data(&data),
            3 => record.flags(SYN_ACK).seq(whole + far),
            // Fifth step: an acknowledgment of data that were never sent, or an old acknowledgment.
            4 => record.ack(self.sent as u32 + 3 + far).data(&data),
            5 => record.ack(ack.wrapping_sub(70_000 + far)).data(&data),
            // First step: data outside the window.
            _ => record.seq(self.edge as u32 + 1 + far).data(&data),
        };
        let before = self.state();
        self.segments += 1;
        self.t.send(record);
        assert_eq!(self.state(), before);
    }

    /// Returns the state that no forged segment may change.
    fn state(&self) -> (redpoll_tcp::State, usize, usize, u32) {
        let conn = &self.t.conn;
        (
            conn.state(),
            conn.recv_queue(),
            conn.unacked(),
            conn.info().cwnd,
        )
    }

    /// Returns the ranges that the peer holds beyond a gap.
    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks = Vec::new();
        let mut at = self.acked;
        while at < TOTAL && blocks.len() < 3 {
            let Some(start) = (at..TOTAL).find(|at| self.held[*at]) else {
                break;
            };
            at = (start..TOTAL).find(|at| !self.held[*at]).unwrap_or(TOTAL);
            blocks.push((1 + start as u32, 1 + at as u32));
        }
        blocks
    }

    /// Checks all segments since the last call; each is lost with a probability of `loss` percent.
    fn check(&mut self, loss: usize) {
        let sent = self.t.sent();
        self.look_at(sent, loss);
    }

    fn look_at(&mut self, sent: Vec<Record>, loss: usize) {
        for record in sent {
            self.check_timestamps(&record);
            self.check_options(&record);
            self.check_acknowledgment(&record);
            self.check_data(&record);
            let (from, len) = (record.seq_number() as usize - 1, record.payload().len());
            let is_inside = from + len <= self.acked + self.window.max(1);
            if self.below(100) >= loss && is_inside {
                self.held[from..from + len].fill(true);
            }
        }
        self.before = self.t.conn.info().in_flight;
        self.check_timers();
        let missing = self.held.iter().position(|held| !held).unwrap_or(TOTAL);
        self.acked = self.acked.max(missing);
        // RFC 5681 §4.2: at most one ACK for each received segment, except for window updates.
        assert!(self.acks <= self.segments + self.reads);
    }

    /// Checks timers. RFC 9293 §3.8.6.3, MUST-40: an acknowledgment waits for less than half a
    /// second. RFC 8985 §7.3: one probe per RTT sample.
    fn check_timers(&mut self) {
        if let Some((by, heard)) = self.due {
            assert!(self.t.ms() < by, "{heard} is not acknowledged");
            self.due = self.due.filter(|_| self.heard < heard);
        }
        let stats = self.t.conn.stats();
        let (probes, samples) = (stats.tail_probes.into(), stats.rtt_samples.into());
        if probes > self.probes.0 {
            assert!(probes == self.probes.0 + 1 && samples > self.probes.1);
            self.probes = (probes, samples);
        }
    }

    /// Checks options: RFC 9293 MUST-65, RFC 2018 §2 and §4, RFC 7323 §3.2.
    fn check_options(&self, record: &Record) {
        let text = format!("{record:?}");
        assert!(!text.contains("mss") && !text.contains("sack_ok"), "{text}");
        assert_eq!(record.timestamps().is_some(), self.has_ts, "{text}");
        let blocks = record.sack_blocks();
        assert!(self.has_sack || blocks.is_empty(), "{text}");
        for (n, &(start, end)) in blocks.iter().enumerate() {
            let (start, end) = (start as usize - 1, end as usize - 1);
            assert!(start < end && end <= TOTAL, "{text}");
            assert!(self.arrived[start..end].iter().all(|it| *it), "{text}");
            // RFC 2883 §4: only the first SACK block may report a duplicate.
            assert!(n == 0 || start >= record.ack_number() as usize, "{text}");
        }
    }

    /// Checks timestamps. RFC 7323 §4.1 and §5.2: neither our clock nor the echo decreases, and the
    /// echo was sent.
    fn check_timestamps(&mut self, record: &Record) {
        let Some((value, echo)) = record.timestamps() else {
            return;
        };
        assert!(self.stamped.0 <= value && self.stamped.1 <= echo);
        assert!(self.stamps.contains(&echo), "{record:?}");
        self.stamped = (value, echo);
    }

    /// Checks acknowledgments. RFC 9293 SHLD-14, MUST-39 and §3.10.7.4: neither the number nor the
    /// window's edge decreases, and the edge moves in large steps.
    fn check_acknowledgment(&mut self, record: &Record) {
        let heard = record.ack_number() as usize - 1;
        let whole = self.whole();
        assert!(self.heard <= heard && heard <= whole, "{record:?}");
        self.heard = heard;
        let edge = heard + usize::from(record.window().unwrap());
        let step = edge.checked_sub(self.edge).expect("the edge went back");
        assert!(
            step == 0 || step >= MSS.min(BUFFER / 2) - TIMESTAMPS,
            "{step}"
        );
        assert!(edge <= self.read + BUFFER, "more than there is room for");
        self.edge = edge;
        self.acks += usize::from(record.payload().is_empty());
    }

    /// Checks data. RFC 9293 §3.8.6, SHLD-15, and RFC 7323 §2.4: new data lie inside the newest
    /// window, except for a probe. RFC 9293 §3.7.1: no segment exceeds the limit.
    fn check_data(&mut self, record: &Record) {
        let (from, data) = (record.seq_number() as usize - 1, record.payload());
        let end = from + data.len();
        assert!(data.iter().zip(from..).all(|(it, at)| *it == byte(at)));
        assert!(end <= self.given);
        // RFC 9293 §3.9.1.2, MUST-61: PSH is set in the last queued segment.
        let is_pushed = record.control().contains(Flags::PSH);
        assert!(data.is_empty() || end < self.given || is_pushed);
        let options = if self.has_ts { TIMESTAMPS } else { 0 };
        assert!(data.len() + options <= MSS, "{record:?}");
        if end > self.sent {
            let is_probe = self.window == 0 && data.len() == 1;
            let limit = self.acked + self.window;
            assert!(end <= limit || is_probe, "{record:?} beyond {limit}");
            if !is_probe {
                self.sent = end;
                // RFC 5681 §2: data do not exceed cwnd, except for a probe (RFC 8985 §7.3).
                let (out, cwnd) = (self.t.conn.info().in_flight, self.t.conn.info().cwnd);
                let most = cwnd.max(self.before) + MSS as u32;
                assert!(out <= most, "{record:?} {out} {cwnd}");
            }
        }
    }

    /// Sends some of the peer's stream: new, repeated or overlapping data, or data out of order.
    fn send_theirs(&mut self) {
        let old = self.theirs - self.heard;
        let limit = self.edge.min(TOTAL);
        match self.below(4) {
            // The next bytes are lost, or arrive late.
            0 if old < 400 => self.theirs = (self.theirs + self.below(200)).min(limit),
            1 if old > 0 => {
                let from = self.heard + self.below(old);
                let to = (from + 1 + self.below(MSS)).min(self.theirs);
                let before = self.below(50);
                self.tell(from.saturating_sub(before), to);
            }
            2 => self.tell(self.heard, (self.heard + MSS).min(self.theirs)),
            _ => {
                let to = (self.theirs + 1 + self.below(MSS)).min(limit);
                let from = std::mem::replace(&mut self.theirs, to);
                self.tell(from, to);
            }
        }
    }

    fn step(&mut self) {
        let loss = [0, 10, 40][self.below(3)];
        match self.below(11) {
            10 => self.forge(),
            0..=2 => self.send_theirs(),
            3..=5 => self.tell(self.theirs, self.theirs),
            6 => {
                self.window = [0, 1, 40, 99, 250, 4_000, 4_000, 4_000][self.below(8)];
                self.tell(self.theirs, self.theirs);
            }
            // RFC 2018 §8: the peer discards data that it reported.
            7 if self.below(10) == 0 => self.held[self.acked..].fill(false),
            7 | 8 => {
                let len = [1, 50, 100, 1_000][self.below(4)];
                self.read(len);
            }
            _ => {
                let len = [1, 100, 1_000][self.below(3)];
                self.give(len);
            }
        }
        self.check(loss);
        let pause = [0, 1, 20, 150, 600][self.below(5)];
        self.wait(pause, loss);
    }

    /// Advances the time by `ms`, and checks the segments that each timer causes.
    fn wait(&mut self, ms: u64, loss: usize) {
        let end = self.t.ms() + ms;
        self.check(loss);
        while let Some(wake) = self.t.conn.poll_at() {
            let at = wake.at.as_micros().div_ceil(1_000) - 1_000;
            if at > end {
                break;
            }
            let (rtos, given) = (self.t.conn.stats().rtos, self.t.conn.unacked());
            let ssthresh = self.t.conn.info().ssthresh;
            self.t.run_until(at.max(self.t.ms()));
            if self.t.conn.stats().rtos > rtos {
                // RFC 5681 §3.1: cwnd is the loss window, and equation (4) limits ssthresh.
                let half = (given / 2).max(2 * MSS) as u32;
                assert!(self.t.conn.info().cwnd <= MSS as u32);
                assert!(self.t.conn.info().ssthresh <= half.max(ssthresh));
            }
            self.check(loss);
        }
        self.t.run_until(end);
        self.check(loss);
    }

    fn read(&mut self, len: usize) {
        let bytes = self.t.read(len);
        for it in bytes {
            assert_eq!(it, byte(self.read));
            self.read += 1;
        }
        self.reads += 1;
    }

    fn give(&mut self, len: usize) {
        let to = (self.given + len).min(TOTAL);
        let bytes: Vec<u8> = (self.given..to).map(byte).collect();
        let now = self.t.now();
        self.given += self.t.conn.send(now, &bytes).unwrap();
    }

    /// Completes both streams; both ends behave correctly from now on.
    fn finish(&mut self) {
        self.window = 4_000;
        for _ in 0..2_000 {
            if self.acked == TOTAL && self.read == TOTAL {
                return;
            }
            self.give(TOTAL);
            self.read(TOTAL);
            let from = self.heard;
            let to = (from + MSS).min(self.edge).min(TOTAL);
            self.theirs = self.theirs.max(to);
            self.tell(from, to);
            self.check(0);
            self.t.wait(50);
            self.check(0);
        }
        panic!("a stall at {} and {}", self.acked, self.read);
    }
}

#[test]
fn no_forbidden_segment_is_sent() {
    for seed in 0..400 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..400 {
                world.step();
            }
            world.finish();
        });
        if let Err(panic) = result {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// RFC 6298 §5: "a segment is never retransmitted too early, i.e., less than one RTO after the
/// previous transmission of that segment", unless ACKs report a loss. Here ACKs are late or lost,
/// and none is a duplicate.
#[test]
fn nothing_is_retransmitted_within_a_timeout() {
    for seed in 0..200 {
        let mut rng = Rng::named(seed, "too early");
        let config = Config {
            sack: false,
            timestamps: false,
            ..Config::default()
        };
        let mut t = Host::established_with(&config, 100, 4_000, 4_000, 64);
        // Time of the last transmission of each segment, and the timeout at that time.
        let mut last = std::collections::BTreeMap::new();
        let (mut acked, mut sent) = (1, 1);
        while t.ms() < 60_000 {
            let now = t.now();
            let len = rng.below(500) as usize;
            let _ = t.conn.send(now, &vec![b'x'; len]);
            let end = t.ms() + u64::from(rng.below(2_000));
            while t.ms() < end {
                let rto = t.conn.info().rto.as_millis();
                for record in t.sent() {
                    let (seq, ms) = (record.seq_number(), t.ms());
                    let before = last.insert(seq, (ms, rto));
                    let is_early = before.is_some_and(|(at, rto)| ms < at + rto);
                    assert!(!is_early, "seed {seed}: {record:?} at {ms}, {before:?}");
                    sent = sent.max(seq + record.payload().len() as u32);
                }
                let step = t.conn.poll_at().map_or(end, |it| it.at.as_millis() - 999);
                t.run_until(step.clamp(t.ms() + 1, end.max(t.ms() + 1)));
            }
            if rng.below(3) > 0 && acked < sent {
                acked += 1 + rng.below(sent - acked);
                send!(t, seq 1, ack acked, win 4_000);
                last.clear();
            }
        }
    }
}
