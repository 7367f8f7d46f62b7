//! A peer offers windows of random sizes. The sender sends no segment that RFC 9293 §3.8.6.2.1
//! forbids (MUST-38), and delays no data for longer than the override timeout.

#![cfg(feature = "stats")]

use redpoll_base::{Duration, Rng};
use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, SYN_ACK};
use redpoll_wire::tcp::Flags;

/// Bytes of a whole stream.
const TOTAL: usize = 6_000;
const MSS: usize = 100;
const TIMESTAMPS: usize = 12;
/// Largest window that one segment may fill: one frame of IEEE 802.15.4, in bytes.
const FRAME: usize = 127;

/// RFC 9293 §3.8.6.2.1: the override timeout "should be in the range 0.1 - 1.0 seconds".
const OVERRIDE: std::ops::RangeInclusive<u64> = 100..=1_000;

struct World {
    t: Host,
    rng: Rng,
    has_ts: bool,
    has_nagle: bool,
    /// Bytes given by the application, sent, and acknowledged by the peer.
    given: usize,
    sent: usize,
    acked: usize,
    window: usize,
    max_window: usize,
    /// Stream offset after the last short segment, for which the Nagle algorithm waits.
    small_end: usize,
    /// Time since which an open window has blocked data, with nothing in flight.
    held_since: Option<u64>,
    probes: u32,
    tail_probes: u32,
    /// Number of segments that only the override allows; `holds` counts how often a window blocked
    /// data.
    overrides: u32,
    holds: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::named(seed, "silly windows");
        let bits = rng.next_u32();
        let (has_ts, has_nagle, has_sack) = (bits & 1 == 0, bits & 2 == 0, bits & 4 == 0);
        // Half of the largest window limits the size of a full segment.
        let window = [10, 40, 100, 127, 128, 180, 300, 900, 4_000][(bits >> 4) as usize % 9];
        let config = Config {
            mss: 462,
            sack: true,
            timestamps: true,
            nagle: has_nagle,
            max_retries: 200,
            max_rto: Duration::from_secs(2),
            ..Config::default()
        };
        let mut t = Host::connect(&config, 2_000, 2_000);
        let syn = t.sent();
        t.wait(20);
        let mut answer = Record::new().flags(SYN_ACK).ack(1).win(window as u16);
        answer = answer.mss(MSS as u16).sack_ok(has_sack);
        if has_ts {
            answer = answer.ts((1_000, syn[0].timestamps().unwrap().0));
        }
        t.send(answer);
        t.sent();
        World {
            t,
            rng,
            has_ts,
            has_nagle,
            given: 0,
            sent: 0,
            acked: 0,
            window,
            max_window: window,
            small_end: 0,
            held_since: None,
            probes: 0,
            tail_probes: 0,
            overrides: 0,
            holds: 0,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit.max(1) as u32) as usize
    }

    /// Returns the payload of a full-sized segment: one that leaves room for another in the largest
    /// window, unless the window is at most a frame.
    fn full(&self) -> usize {
        let options = if self.has_ts { TIMESTAMPS } else { 0 };
        let most = match self.max_window {
            small @ ..=FRAME => small,
            large => large.div_ceil(2),
        };
        (MSS - options).min(most)
    }

    fn look(&mut self) {
        let stats = *self.t.conn.stats();
        let mut overrides =
            stats.window_probes - std::mem::replace(&mut self.probes, stats.window_probes);
        let mut tails =
            stats.tail_probes - std::mem::replace(&mut self.tail_probes, stats.tail_probes);
        let sent = self.t.sent();
        for record in sent {
            let (from, len) = (record.seq_number() as usize - 1, record.payload().len());
            let end = from + len;
            if len == 0 || end <= self.sent {
                continue;
            }
            assert!(
                len <= self.full(),
                "{record:?} is larger than {}",
                self.full()
            );
            if from < self.sent {
                // A retransmission, to which the sender may append new data (RFC 9293 §3.8.6).
                self.sent = end;
                continue;
            }
            if self.window == 0 {
                assert!(
                    len == 1 && overrides == 1,
                    "{record:?} into a closed window"
                );
                overrides = 0;
                continue;
            }
            let is_probe = tails > 0 && !self.is_allowed(&record, end);
            if is_probe {
                // RFC 8985 §7.3: a loss probe is new data that fit in the peer's window.
                tails -= 1;
            } else if !self.is_allowed(&record, end) {
                // RFC 9293 §3.8.6.2.1, rule 4: the override timeout.
                assert!(overrides == 1, "{record:?}, given {}: silly", self.given);
                overrides = 0;
                self.overrides += 1;
                let waited = self.held_since.map_or(0, |since| self.t.ms() - since);
                assert!(OVERRIDE.contains(&waited), "{record:?} after {waited} ms");
            }
            if record.control().contains(Flags::PSH) && len < self.full() {
                self.small_end = end;
            }
            self.sent = end;
        }
        self.check_hold();
    }

    /// Returns whether rule 1, 2 or 3 (RFC 9293 §3.8.6.2.1) permits `record`, which ends at `end`.
    fn is_allowed(&self, record: &Record, end: usize) -> bool {
        let len = record.payload().len();
        let unsent = self.given - (end - len);
        // Rule 1: a full-sized segment.
        if len >= self.full() {
            return true;
        }
        // The last full-sized segment is sent in halves if the Nagle algorithm is off.
        if !self.has_nagle && unsent == self.full() && len == unsent.div_ceil(2) {
            return true;
        }
        // The Nagle algorithm adds a condition to rules 2 and 3 (RFC 9293 §3.7.4, appendix A.3).
        let nagle_holds = self.has_nagle && self.small_end > self.acked;
        // Rule 2: all data, with the PSH flag of MUST-61. Rule 3: half of the largest window.
        let all = end == self.given && record.control().contains(Flags::PSH);
        !nagle_holds && (all || len >= self.max_window / 2)
    }

    /// Judges rule 4: an open window with nothing in flight blocks data for at most a second.
    fn check_hold(&mut self) {
        let is_held = self.given > self.sent && self.window > 0 && self.acked == self.sent;
        let now = self.t.ms();
        if !is_held {
            self.held_since = None;
            return;
        }
        if self.held_since.is_none() {
            self.holds += 1;
        }
        let since = *self.held_since.get_or_insert(now);
        assert!(
            now - since <= *OVERRIDE.end(),
            "held for {} ms",
            now - since
        );
    }

    fn answer(&mut self) {
        let new = self.sent - self.acked;
        self.acked += if self.below(3) == 0 {
            self.below(new + 1)
        } else {
            new
        };
        self.window = match self.below(8) {
            0 => 0,
            1..=4 => self.below(MSS + 20),
            5 => self.below(self.max_window + 1),
            6 => self.max_window,
            _ => self.below(self.max_window * 2).min(4_000),
        };
        self.tell();
    }

    fn tell(&mut self) {
        self.max_window = self.max_window.max(self.window);
        let mut record = Record::new().seq(1).ack(1 + self.acked as u32);
        record = record.win(self.window as u16);
        if self.has_ts {
            record = record.ts((1_000 + self.t.ms() as u32, 0));
        }
        self.t.send(record);
        self.look();
    }

    fn give(&mut self, len: usize) {
        let len = len.min(TOTAL - self.given);
        let now = self.t.now();
        self.given += self.t.conn.send(now, &vec![b'x'; len]).unwrap();
        self.look();
    }

    fn wait(&mut self, ms: u64) {
        let end = self.t.ms() + ms;
        while let Some(wake) = self.t.conn.poll_at() {
            let at = wake.at.as_micros().div_ceil(1_000) - 1_000;
            if at > end {
                break;
            }
            self.t.run_until(at.max(self.t.ms()));
            self.look();
        }
        self.t.run_until(end);
        self.look();
    }

    fn step(&mut self) {
        match self.below(3) {
            0 => {
                let len = [1, 30, 99, 100, 300, 1_000][self.below(6)];
                self.give(len);
            }
            _ => self.answer(),
        }
        let pause = [0, 0, 20, 90, 400, 1_200][self.below(6)];
        self.wait(pause);
    }
}

#[test]
fn no_silly_segment_leaves() {
    let (mut overrides, mut holds) = (0, 0);
    for seed in 0..400 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..300 {
                world.step();
            }
            (world.overrides, world.holds)
        });
        match result {
            Ok(counts) => (overrides, holds) = (overrides + counts.0, holds + counts.1),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(overrides > 100 && holds > 1_000, "{overrides} of {holds}");
}
