//! A path that loses, delays, reorders and duplicates at random. A sender with SACK marks data as
//! lost neither too early (RFC 8985 §6.2, RFC 6675 §4) nor much too late, and respects the limits
//! of recovery (RFC 6675 §5, RFC 9937 §3).
//!
//! The test knows when each segment was sent and what the peer has reported, and judges by this.

#![cfg(feature = "stats")]

use std::collections::BTreeMap;
use std::panic::{RefUnwindSafe, UnwindSafe};

use redpoll_base::Rng;
use redpoll_tcp::{Algorithms, Config};
use redpoll_testkit::{Host, Record, ms};

use crate::algorithms::{DUPLICATES, NO_RACK};

const MSS: u32 = 100;
/// Number of segments of the stream, and of segments in flight: few enough that the scoreboard
/// stores every hole.
const SEGMENTS: usize = 300;
const FLIGHT: usize = if cfg!(feature = "large-windows") {
    12
} else {
    8
};

#[derive(Clone, Default)]
struct Segment {
    /// Time of each transmission in milliseconds, and the number of transmissions before it.
    sent: Vec<(u64, u32)>,
    /// Whether the peer reported the segment.
    is_known: bool,
}

enum Event {
    /// A segment arrives at the peer.
    Data(usize),
    /// An acknowledgment arrives here.
    Ack(Record),
    Resume,
}

struct World<A: Algorithms> {
    t: Host<A>,
    rng: Rng,
    has_rack: bool,
    /// Minimum round trip, and maximum additional delay, in milliseconds.
    rtt: u64,
    jitter: u64,
    /// Percentage of lost data segments. The path loses half that percentage of acknowledgments.
    loss: u32,
    events: BTreeMap<(u64, u32), Event>,
    count: u32,
    segments: Vec<Segment>,
    /// Numbers of segments given by the application, sent, and acknowledged.
    given: usize,
    nxt: usize,
    una: usize,
    waits: bool,
    /// Which segments the peer holds; `blocks` is the order of its SACK blocks.
    held: Vec<bool>,
    blocks: Vec<usize>,
    /// Newest delivered transmission. `surely`: the newest one of segments that were transmitted
    /// once, since the last timeout and since all data were acknowledged.
    newest: Option<(u64, u32)>,
    surely: Option<(u64, u32)>,
    transmissions: u32,
    /// Largest measured round trip; `reordered`: whether reordering was observed.
    max_rtt: u64,
    reordered: bool,
    /// Whether reordering was observed before the current recovery.
    was_reordered: bool,
    /// Segment whose acknowledgment ends recovery. `timeout`: time of the last timeout, and SND.NXT
    /// in segments at that time.
    recover: usize,
    timeout: (u64, usize),
    /// SND.NXT, in segments, at the last reduction without a timeout.
    reduced: usize,
    /// Transmissions of the last round trip: time, bytes, and whether they may exceed cwnd.
    round: Vec<(u64, u32, bool)>,
    windows: Vec<(u64, u32)>,
    /// Number of judged retransmissions; `recovered` is the number of ended recoveries.
    judged: u32,
    recovered: u32,
}

/// State of the connection before an event.
struct Before {
    stats: redpoll_tcp::Stats,
    una: usize,
    nxt: usize,
    cwnd: u32,
    ssthresh: u32,
    srtt: u64,
    flight: u32,
}

impl<A: Algorithms> World<A> {
    fn new(seed: u64, recovery: A, has_rack: bool) -> World<A> {
        let mut rng = Rng::named(seed, "recovery");
        let rtt = 40 + u64::from(rng.below(160));
        let jitter = [0, rtt / 8, rtt / 8, rtt / 2][rng.below(4) as usize];
        let loss = [0, 3, 10, 25][rng.below(4) as usize];
        let config = Config {
            mss: 462,
            timestamps: false,
            min_rto: ms(1_000),
            max_rto: ms(3_000),
            max_retries: 200,
            ..Config::default()
        }
        .with_algorithms(recovery);
        let mut t = Host::connect(&config, FLIGHT * MSS as usize, 500);
        t.sent();
        t.wait(rtt);
        let answer = Record::new().flags(redpoll_testkit::SYN_ACK).ack(1);
        t.send(answer.win(60_000).mss(MSS as u16).sack_ok(true));
        t.sent();
        let mut world = World {
            t,
            rng,
            has_rack,
            rtt,
            jitter,
            loss,
            events: BTreeMap::new(),
            count: 0,
            segments: vec![Segment::default(); SEGMENTS],
            given: 0,
            nxt: 0,
            una: 0,
            waits: false,
            held: vec![false; SEGMENTS],
            blocks: Vec::new(),
            newest: None,
            surely: None,
            transmissions: 0,
            max_rtt: rtt,
            reordered: false,
            was_reordered: false,
            recover: 0,
            timeout: (0, 0),
            reduced: 0,
            round: Vec::new(),
            windows: Vec::new(),
            judged: 0,
            recovered: 0,
        };
        world.plan(0, Event::Resume);
        world
    }

    fn percent(&mut self, share: u32) -> bool {
        self.rng.below(100) < share
    }

    fn plan(&mut self, delay: u64, event: Event) {
        self.count += 1;
        self.events.insert((self.t.ms() + delay, self.count), event);
    }

    fn bytes(&self, is_one: impl Fn(usize, &Segment) -> bool) -> u32 {
        let out = self.una..self.nxt;
        let count = out.filter(|at| is_one(*at, &self.segments[*at])).count();
        count as u32 * MSS
    }

    /// Runs to the next event, and judges the connection's actions.
    fn step(&mut self) {
        let timer = self.t.conn.poll_at();
        let timer = timer.map(|wake| wake.at.as_micros().div_ceil(1_000) - 1_000);
        let next = self.events.first_key_value().map(|(key, _)| key.0);
        let before = Before {
            stats: *self.t.conn.stats(),
            una: self.una,
            nxt: self.nxt,
            cwnd: self.t.conn.info().cwnd,
            ssthresh: self.t.conn.info().ssthresh,
            srtt: self.t.conn.info().srtt.map_or(0, |it| it.as_millis()),
            flight: self.bytes(|_, _| true),
        };
        self.windows.push((self.t.ms(), self.t.conn.info().cwnd));
        let mut heard = false;
        match (timer, next) {
            (Some(timer), next) if next.is_none_or(|next| timer <= next) => {
                self.t.run_until(timer.max(self.t.ms()));
            }
            (_, Some(_)) => {
                let ((at, _), event) = self.events.pop_first().unwrap();
                self.t.run_until(at);
                match event {
                    Event::Data(segment) => self.arrive(segment),
                    Event::Resume => self.waits = false,
                    Event::Ack(record) => {
                        heard = true;
                        self.hear(record);
                    }
                }
            }
            _ => panic!("nothing will ever happen at {}", self.una),
        }
        if !self.waits {
            let room = self.t.conn.send_room() / MSS as usize;
            let len = room.min(SEGMENTS - self.given);
            let now = self.t.now();
            let bytes = vec![b'x'; len * MSS as usize];
            assert_eq!(self.t.conn.send(now, &bytes).unwrap_or(0), bytes.len());
            self.given += len;
        }
        let sent = self.t.sent();
        self.windows.push((self.t.ms(), self.t.conn.info().cwnd));
        self.judge(&before, &sent, heard);
    }

    /// Delivers a segment to the peer, which acknowledges it.
    fn arrive(&mut self, segment: usize) {
        let is_again = std::mem::replace(&mut self.held[segment], true);
        let ack = self.held.iter().position(|it| !it).unwrap_or(SEGMENTS);
        self.blocks.retain(|it| *it >= ack && *it != segment);
        let range = |from: usize, to: usize| (1 + from as u32 * MSS, 1 + to as u32 * MSS);
        let mut blocks = Vec::new();
        if is_again {
            // RFC 2883 §4: the first block reports the duplicate.
            blocks.push(range(segment, segment + 1));
        }
        if segment >= ack {
            self.blocks.insert(0, segment);
        }
        for &at in &self.blocks {
            let from = (ack..at).rev().find(|it| !self.held[*it]).unwrap() + 1;
            let to = (at..SEGMENTS).find(|it| !self.held[*it]);
            let block = range(from, to.unwrap_or(SEGMENTS));
            if blocks.len() < 3 && !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        if self.percent(self.loss / 2) {
            return;
        }
        let record = Record::new().seq(1).ack(range(ack, ack).0).win(60_000);
        self.plan(self.rtt / 2, Event::Ack(record.sack(blocks)));
    }

    /// Delivers an acknowledgment; its reports are known from now on.
    fn hear(&mut self, record: Record) {
        let now = self.t.ms();
        let number = |seq: u32| ((seq - 1) / MSS) as usize;
        let ack = number(record.ack_number());
        let mut news = vec![(self.una, ack)];
        let blocks = record.sack_blocks().iter();
        news.extend(blocks.map(|(from, to)| (number(*from), number(*to))));
        let known = self.segments.iter().rposition(|it| it.is_known);
        for (from, to) in news {
            for at in from..to {
                let segment = &mut self.segments[at];
                if std::mem::replace(&mut segment.is_known, true) {
                    continue;
                }
                let last = *segment.sent.last().unwrap();
                self.max_rtt = self.max_rtt.max(now - last.0);
                if now < last.0 + self.rtt - 2 {
                    // An earlier transmission of the segment arrived, so cwnd no longer counts its
                    // last transmission.
                    self.round.push((last.0, 0, true));
                }
                self.newest = self.newest.max(Some(last));
                if segment.sent.len() == 1 {
                    self.surely = self.surely.max(Some(last));
                    self.reordered |= known.is_some_and(|known| at < known);
                }
            }
        }
        if ack > self.una && self.percent(10) {
            self.waits = true;
            let pause = self.rng.below(4 * self.rtt as u32).into();
            self.plan(pause, Event::Resume);
        }
        self.una = self.una.max(ack);
        self.t.send(record);
    }

    fn judge(&mut self, before: &Before, sent: &[Record], heard: bool) {
        let stats = *self.t.conn.stats();
        let now = self.t.ms();
        let is_timeout = stats.rtos > before.stats.rtos;
        let probes = stats.tail_probes - before.stats.tail_probes;
        let is_undone = stats.undone_reductions > before.stats.undone_reductions;
        if is_timeout {
            self.timeout = (now, before.nxt);
            (self.recover, self.surely) = (before.nxt, None);
        }
        if self.una == before.nxt {
            self.surely = None;
        }
        if is_undone {
            (self.recover, self.reduced) = (self.una, self.una);
            self.timeout.1 = self.una;
        }
        let data: Vec<usize> = sent
            .iter()
            .filter(|it| !it.payload().is_empty())
            .inspect(|it| assert_eq!(it.payload().len() as u32, MSS, "{it:?}"))
            .map(|it| ((it.seq_number() - 1) / MSS) as usize)
            .collect();
        let again = data.iter().filter(|at| **at < before.nxt);
        assert!(again.clone().is_sorted(), "{data:?}");
        if self.una >= self.recover {
            self.was_reordered = self.reordered;
        }
        let lost_again = again.clone().any(|at| self.segments[*at].sent.len() > 1);
        if probes == 0 {
            for at in again.clone() {
                self.judge_retransmission(*at, is_timeout);
            }
        }
        self.judge_reduction(before, is_timeout || is_undone, lost_again, &data);
        // RFC 3465 §2.3: L, the growth per ACK, is at most one segment until the data outstanding
        // at the timeout are acknowledged.
        if before.una < self.timeout.1 && !is_timeout && !is_undone {
            let cwnd = self.t.conn.info().cwnd;
            assert!(cwnd <= before.cwnd + MSS, "{cwnd} after {}", before.cwnd);
        }
        let has_new = data.iter().any(|at| *at >= before.nxt);
        let is_again = again.count() > 0;
        for at in &data {
            self.transmit(*at);
        }
        if is_again && probes == 0 {
            self.recover = self.recover.max(before.nxt);
        }
        self.judge_pipe(before, heard, is_timeout);
        // RFC 9937 §3, RFC 6675 §5: only the first retransmission and a probe may exceed cwnd.
        let (pipe, cwnd) = (self.t.conn.info().in_flight, self.t.conn.info().cwnd);
        let is_free = !data.is_empty() && pipe > cwnd;
        assert!(
            !is_free || data.len() == 1 && (is_again || probes > 0),
            "{pipe} of {cwnd}: {data:?}"
        );
        let len = data.len() as u32 * MSS;
        self.round.push((now, len, is_free || probes > 0));
        self.judge_round(now);
        // RFC 6675 §4, NextSeg: lost data (rule 1) precede new data (rule 2), except in F-RTO (RFC
        // 5682) and for a probe.
        let lost = self.bytes(|_, it| !it.is_known) - pipe;
        let in_doubt = self.una < self.timeout.1;
        assert!(
            !has_new || lost == 0 || in_doubt || probes > 0,
            "{data:?}, {lost} are lost"
        );
    }

    /// Judges whether `at` may count as lost (RFC 8985 §6.2, step 5, and RFC 6675 §4, IsLost).
    fn judge_retransmission(&mut self, at: usize, is_timeout: bool) {
        let now = self.t.ms();
        let segment = &self.segments[at];
        assert!(!segment.is_known, "{at} has arrived");
        let last = *segment.sent.last().unwrap();
        // A timeout marks the outstanding data as lost.
        if is_timeout || at < self.timeout.1 && last.0 <= self.timeout.0 {
            return;
        }
        self.judged += 1;
        let beyond = self.bytes(|it, segment| it > at && segment.is_known);
        if !self.has_rack {
            assert!(beyond > 2 * MSS, "{at} with {beyond} beyond");
            let since = segment.sent.iter().filter(|it| it.0 > self.timeout.0);
            assert!(since.count() <= 1, "{at} again: {:?}", segment.sent);
            return;
        }
        assert!(
            self.newest > Some(last),
            "nothing newer than {at} has arrived"
        );
        let arrived = self.bytes(|_, it| it.is_known);
        let is_eager = self.una < self.recover || arrived > 2 * MSS;
        let window = if is_eager && !self.was_reordered {
            0
        } else {
            self.rtt / 4
        };
        let waited = now - last.0;
        assert!(
            waited + 2 >= self.rtt + window,
            "{at} after {waited} of {} + {window}",
            self.rtt
        );
    }

    /// Judges reductions: data up to RecoveryPoint cause only one (RFC 6675 §5), unless a
    /// retransmission was lost or a timeout occurred. ssthresh obeys equation (4) (RFC 5681 §3.1,
    /// §4.3), and cwnd is at most ssthresh at the end of recovery.
    fn judge_reduction(
        &mut self,
        before: &Before,
        is_other: bool,
        lost_again: bool,
        data: &[usize],
    ) {
        let ssthresh = self.t.conn.info().ssthresh;
        let ends = before.una < self.reduced && self.reduced <= self.una;
        if ssthresh < before.ssthresh && !is_other {
            let in_timeout = before.una < self.timeout.1;
            assert!(before.una.max(self.una) >= self.reduced || lost_again || in_timeout);
            assert!(
                ssthresh <= (before.flight / 2).max(2 * MSS),
                "{ssthresh} of {}",
                before.flight
            );
            // A tail probe that repaired a loss starts no recovery (RFC 8985 §7.4.2), and after a
            // timeout the recovery continues.
            if !in_timeout && !data.iter().all(|at| *at >= before.nxt) {
                self.reduced = before.nxt;
            }
        } else if ends && !is_other && self.reduced > self.timeout.1 {
            assert!(
                self.t.conn.info().cwnd <= ssthresh,
                "cwnd at the end of recovery"
            );
            self.recovered += 1;
        }
        if is_other {
            self.reduced = self.una;
        }
    }

    /// Judges the pipe (RFC 6675 §4, SetPipe): data that cannot be lost are in flight, and data
    /// that must be lost are not.
    fn judge_pipe(&self, before: &Before, heard: bool, is_timeout: bool) {
        let now = self.t.ms();
        let last = |it: &Segment| *it.sent.last().unwrap();
        let pipe = self.t.conn.info().in_flight;
        if !is_timeout {
            let least = self.bytes(|_, it| {
                // Without RFC 8985 §6.3 a timeout marks all outstanding data as lost.
                let counts = self.has_rack || last(it).0 > self.timeout.0;
                counts && !it.is_known && last(it).0 + self.rtt > now + 2
            });
            assert!(least <= pipe, "{least} are in flight, not {pipe}");
        }
        // RFC 8985 §6.2, step 4: SRTT limits RACK.reo_wnd. An ACK or the timer detects overdue
        // data.
        let srtt = self.t.conn.info().srtt.map_or(0, |it| it.as_millis());
        let patience = self.max_rtt + srtt.max(before.srtt) + 2 + FLIGHT as u64;
        // The reordering timer waits for the latest due segment (RFC 8985 §6.2, step 5).
        let latest = self.newest.map_or(0, |it| it.0);
        let overdue = |it: &Segment| {
            let is_older = self.surely.is_some_and(|newest| newest > last(it));
            let since = if heard { last(it).0 } else { latest };
            self.has_rack && is_older && !it.is_known && now > since + patience
        };
        let most = self.bytes(|_, it| !it.is_known && !overdue(it));
        assert!(pipe <= most, "{pipe} in flight, at most {most}, {heard}");
    }

    /// Judges that at most a window is sent in the minimum round trip.
    fn judge_round(&mut self, now: u64) {
        let begin = now.saturating_sub(self.rtt - 2);
        self.round.retain(|it| it.0 > begin);
        // Keeps the window at the start of the round trip: the last one set before `begin`.
        let first = self.windows.iter().rposition(|it| it.0 <= begin);
        self.windows.drain(..first.unwrap_or(0));
        let sent: u32 = self.round.iter().map(|it| it.1).sum();
        let free = self.round.iter().filter(|it| it.2).count() as u32 * MSS;
        let cwnd = self.windows.iter().map(|it| it.1).max().unwrap();
        assert!(
            sent <= cwnd + free,
            "{sent} in a round, cwnd {cwnd}, {free} free"
        );
    }

    fn transmit(&mut self, at: usize) {
        let now = self.t.ms();
        self.segments[at].sent.push((now, self.transmissions));
        self.transmissions += 1;
        self.nxt = self.nxt.max(at + 1);
        assert!(self.nxt <= self.given);
        for _ in 0..if self.percent(4) { 2 } else { 1 } {
            if self.percent(self.loss) {
                continue;
            }
            let is_late = self.percent(20);
            let late = if is_late {
                self.rng.below(self.jitter as u32 + 1)
            } else {
                0
            };
            self.plan(self.rtt.div_ceil(2) + u64::from(late), Event::Data(at));
        }
    }
}

/// Runs connections with many seeds; counts judged retransmissions and ended recoveries.
fn play<A: Algorithms + Copy + UnwindSafe + RefUnwindSafe>(
    recovery: A,
    has_rack: bool,
) -> (u32, u32) {
    let mut sum = (0, 0);
    for seed in 0..400 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed, recovery, has_rack);
            for _ in 0..20_000 {
                world.step();
                if world.una == SEGMENTS {
                    return (world.judged, world.recovered);
                }
            }
            panic!("a stall at {}", world.una);
        });
        match result {
            Ok((judged, recovered)) => sum = (sum.0 + judged, sum.1 + recovered),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    sum
}

#[test]
#[cfg(feature = "rack-tlp")]
fn rack_keeps_its_bounds() {
    let (judged, recovered) = play(redpoll_tcp::Standard, true);
    assert!(judged > 1_000 && recovered > 500, "{judged} {recovered}");
}

/// RFC 6675 without RACK: three segments beyond a gap are a loss, and each hole is repaired once.
#[test]
fn three_segments_beyond_a_gap_are_needed_without_rack() {
    for recovery in [NO_RACK, DUPLICATES] {
        let (judged, recovered) = play(recovery, false);
        assert!(judged > 1_000 && recovered > 500, "{judged} {recovered}");
    }
}
