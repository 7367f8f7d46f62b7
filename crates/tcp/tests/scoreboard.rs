//! RFC 6675 §3 and RFC 8985 §5.2: the scoreboard when SACK reports more holes than it can store.

use std::collections::BTreeMap;

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, ms, send};

const SEGMENT: u32 = 100;

/// A connection with SACK on a path of 100 ms, with `count` segments of 100 bytes outstanding from
/// `una` on.
struct Out {
    host: Host,
    una: u32,
    /// Number of transmissions of each segment outstanding at the start, by its sequence number.
    sent: BTreeMap<u32, u32>,
    /// The segments that the peer holds, and their order of arrival.
    has: Vec<bool>,
    order: Vec<u32>,
    /// Retransmitted segments in the network.
    flying: Vec<u32>,
}

impl Out {
    fn new(count: u32) -> Out {
        let config = Config {
            timestamps: false,
            mss: 462,
            min_rto: ms(1_000),
            ..Config::default()
        };
        let answer = Record::new().mss(100).win(60_000).sack_ok(true);
        let mut host = Host::established_by(&config, answer, 100);
        // The window grows until all segments fit.
        let mut una = 1;
        while host.conn.info().cwnd < count * SEGMENT {
            host.write(&vec![b'x'; (count * SEGMENT) as usize]);
            while host.conn.unacked() > 0 {
                let sent = host.sent();
                host.wait(100);
                for record in sent {
                    una = record.seq_number() + record.payload().len() as u32;
                    send!(host, seq 1, ack una, win 60_000);
                }
            }
        }
        host.write(&vec![b'x'; (count * SEGMENT) as usize]);
        let mut all = Out {
            host,
            una,
            sent: BTreeMap::new(),
            has: vec![false; count as usize],
            order: Vec::new(),
            flying: Vec::new(),
        };
        all.collect();
        assert_eq!(all.flying.len() as u32, count);
        all.flying.clear();
        all.host.wait(100);
        all
    }

    fn collect(&mut self) {
        for record in self.host.sent() {
            let first = (record.seq_number() - self.una) / SEGMENT;
            let len = record.payload().len() as u32;
            for number in first..first + len.div_ceil(SEGMENT) {
                *self.sent.entry(number).or_default() += 1;
                self.flying.push(number);
            }
        }
    }

    /// Delivers the segment with this number, which is acknowledged with the four most recent
    /// blocks (RFC 2018 §4).
    fn arrives(&mut self, number: u32) {
        self.has[number as usize] = true;
        self.order.push(number);
        let next = self.has.iter().take_while(|has| **has).count() as u32;
        let mut record = Record::new()
            .seq(1)
            .win(60_000)
            .ack(self.una + next * SEGMENT);
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for &latest in self.order.iter().rev().filter(|it| **it >= next) {
            let has = |it: u32| self.has.get(it as usize).copied().unwrap_or(false);
            let start = (0..=latest).rev().take_while(|it| has(*it)).last().unwrap();
            let end = (latest..).take_while(|it| has(*it)).last().unwrap() + 1;
            let block = (self.una + start * SEGMENT, self.una + end * SEGMENT);
            if !blocks.contains(&block) && blocks.len() < 4 {
                blocks.push(block);
            }
        }
        record = record.sack(blocks);
        self.host.send(record);
    }

    /// Delivers all sent segments a round trip later, until the transfer is complete. The limit of
    /// 50 round trips covers two timeouts, the second one twice as long.
    fn finish(&mut self) {
        for _ in 0..50 {
            self.collect();
            if self.has.iter().all(|has| *has) {
                break;
            }
            self.host.wait(100);
            for number in std::mem::take(&mut self.flying) {
                self.arrives(number);
                self.collect();
            }
        }
        assert_eq!(self.host.conn.unacked(), 0);
    }
}

impl Out {
    /// Returns whether three segments beyond a gap no longer indicate a loss at once: RFC 8985
    /// §6.2, step 4, with RACK.reordering_seen.
    fn suspects_reordering(mut self) -> bool {
        let mut una = self.una + self.has.len() as u32 * SEGMENT;
        // cwnd grows again if a timeout has reduced it.
        for _ in 0..4 {
            self.host.write(&[b'x'; 4 * SEGMENT as usize]);
            while self.host.conn.unacked() > 0 {
                let out = self.host.sent().len() as u32;
                self.host.wait(100);
                una += out * SEGMENT;
                send!(self.host, seq 1, ack una, win 60_000);
            }
        }
        self.host.write(&[b'x'; 4 * SEGMENT as usize]);
        assert_eq!(self.host.sent().len(), 4);
        self.host.wait(100);
        let block = (una + SEGMENT, una + 4 * SEGMENT);
        send!(self.host, seq 1, ack una, win 60_000, sack [block]);
        self.host.sent().is_empty()
    }
}

const HOLES: u32 = if cfg!(feature = "large-windows") {
    8
} else {
    4
};

/// Every second segment is lost, and the peer reports the remaining segments one by one. Reported
/// data are not retransmitted, each hole is filled once, and no timeout is necessary. Data after
/// the last hole that the scoreboard can store may be retransmitted once, and without RACK twice.
#[test]
fn data_known_to_have_arrived_is_not_retransmitted() {
    for (count, told) in [(8, 4), (16, 5), (16, 8), (30, 10), (36, 17)] {
        let mut t = Out::new(count);
        for number in (0..told).map(|it| 2 * it + 1) {
            t.arrives(number);
            t.collect();
            t.host.wait(1);
        }
        // The rest arrives in order: only even segments of the first part are holes.
        for number in 2 * told..count {
            t.arrives(number);
            t.collect();
        }
        t.finish();
        for (number, times) in &t.sent {
            let is_hole = number % 2 == 0 && *number < 2 * told;
            let least = 1 + u32::from(is_hole);
            // RFC 2018 §8: a timeout may discard the reports of SACK.
            let is_remembered = t.host.conn.stats().rtos == 0;
            let is_stored = is_remembered && *number < 2 * HOLES;
            let is_known = told <= HOLES || is_stored;
            // Without RACK, a full scoreboard may cause one more transmission, but no timeout.
            let unknown = if cfg!(feature = "rack-tlp") { 2 } else { 3 };
            let most = if is_known { least } else { unknown };
            assert!(
                (least..=most).contains(times),
                "{count} out, {told} told of: segment {number} {times} times"
            );
        }
        // The last holes are not followed by three reported segments: by RFC 6675 alone they wait
        // for a timeout.
        if told <= HOLES && cfg!(feature = "rack-tlp") {
            assert_eq!(t.host.conn.stats().rtos, 0, "{count} out, {told} told of");
        }
        assert!(!t.suspects_reordering(), "{count} out, {told} told of");
    }
}
