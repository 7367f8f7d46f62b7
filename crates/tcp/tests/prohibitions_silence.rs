//! A peer answers, falls silent and returns at random. A connection ends at R2 and not before (RFC
//! 9293 §3.8.3, MUST-20 and MUST-21). It sends keep-alives only when they are on and due (§3.8.4,
//! MUST-24, MUST-26 and MUST-29).

#![cfg(feature = "stats")]

use redpoll_base::{Duration, Rng};
use redpoll_tcp::{Config, Error, Event, Keepalive, State, Trouble};
use redpoll_testkit::{Host, Record};
use redpoll_wire::tcp::Flags;

const TOTAL: usize = 20_000;
const MSS: u16 = 100;
/// RFC 9293 §3.8.3, SHLD-10: R1 corresponds to at least 3 retransmissions.
const R1: u32 = 3;

struct World {
    t: Host,
    rng: Rng,
    /// Bytes given by the application, sent, and acknowledged by the peer.
    given: usize,
    sent: usize,
    acked: usize,
    /// R2 of this connection: consecutive timeouts, and the user timeout in milliseconds.
    retries: u32,
    user_timeout: Option<u64>,
    /// Number of timeouts when the application last set or cleared the user timeout.
    allowed: u32,
    /// Timeouts since the last progress, the time of the last one, and its timeout value.
    timeouts: u32,
    last_timeout: u64,
    rto: u64,
    /// Start of the user timeout.
    waits_since: Option<u64>,
    /// Whether R1 was reported since the last progress.
    is_told: bool,
    /// Current keep-alive parameters, start of the peer's silence, and the probes since then.
    keepalive: Option<Keepalive>,
    silent_since: u64,
    last_probe: u64,
    probes: u32,
    /// Whether bytes were outstanding since the last probe or the peer's last segment.
    was_busy: bool,
    all_probes: u32,
    /// Numbers of connections ended by the user timeout, by retries, and by keep-alive.
    ends: [u32; 3],
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::named(seed, "silence");
        let retries = [0, 1, 2, 3, 4, 7, 12][rng.below(7) as usize];
        let user_timeout = [None, None, Some(500), Some(3_000), Some(40_000)];
        let user_timeout = user_timeout[rng.below(5) as usize];
        let config = Config {
            sack: false,
            timestamps: false,
            max_retries: retries,
            max_rto: Duration::from_secs(4),
            user_timeout: user_timeout.map(Duration::from_millis),
            ..Config::default()
        };
        World {
            t: Host::established_with(&config, MSS, 60_000, 2_000, 500),
            rng,
            given: 0,
            sent: 0,
            acked: 0,
            retries: retries.into(),
            user_timeout,
            allowed: 0,
            timeouts: 0,
            last_timeout: 0,
            rto: 0,
            waits_since: None,
            is_told: false,
            keepalive: None,
            silent_since: 0,
            last_probe: 0,
            probes: 0,
            was_busy: false,
            all_probes: 0,
            ends: [0; 3],
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit.max(1) as u32) as usize
    }

    fn is_open(&self) -> bool {
        self.t.conn.state() == State::Established
    }

    /// Checks all segments and events; `is_timer`: whether time has passed since the last check.
    fn look(&mut self, is_timer: bool) {
        for record in self.t.sent() {
            let (seq, len) = (record.seq_number() as usize, record.payload().len());
            if record.control().contains(Flags::RST) {
                assert!(!self.is_open(), "{record:?}");
            } else if len > 0 {
                if seq == self.acked + 1 && seq <= self.sent && is_timer {
                    self.timeouts += 1;
                    self.last_timeout = self.t.ms();
                }
                self.sent = self.sent.max(seq - 1 + len);
            } else if seq != self.sent + 1 {
                self.judge_probe(&record);
            }
        }
        let is_waiting = self.given > self.acked;
        self.was_busy |= is_waiting;
        self.waits_since = self.waits_since.filter(|_| is_waiting);
        if is_waiting {
            self.waits_since.get_or_insert(self.t.ms());
        }
        for event in self.t.events() {
            match event {
                Event::Trouble(Trouble::NoAnswer) => {
                    assert_eq!(self.timeouts, R1, "told at the wrong time");
                    assert!(!self.is_told, "told twice");
                    self.is_told = true;
                }
                Event::Failed(error) => self.judge_end(error),
                _ => {}
            }
        }
        if self.is_open() {
            assert!(self.timeouts < R1 || self.is_told, "R1 is not reported");
            self.judge_openness();
            self.rto = self.t.conn.info().rto.as_millis();
        }
    }

    /// Judges the end of the connection: R2 was reached, and no earlier.
    fn judge_end(&mut self, error: Error) {
        let now = self.t.ms();
        let kind = match error {
            Error::UserTimeout => {
                let due = self.waits_since.unwrap() + self.user_timeout.unwrap();
                assert_eq!(now, due, "the user timeout");
                0
            }
            Error::TimedOut if self.given > self.acked => {
                assert_eq!(self.user_timeout, None, "the application chose a time");
                assert_eq!(self.timeouts, self.retries.max(self.allowed));
                assert!(self.timeouts == 0 || now >= self.last_timeout + self.rto);
                1
            }
            Error::TimedOut => {
                // MUST-29: all probes were sent, and the last one had its interval for an answer.
                let keepalive = self.keepalive.expect("keep-alive is off");
                let count = u32::from(keepalive.count.max(2));
                assert_eq!(self.probes, count, "unanswered probes");
                assert!(now >= self.last_probe + keepalive.interval.as_millis());
                2
            }
            error => panic!("{error:?}"),
        };
        self.ends[kind] += 1;
    }

    /// Judges that R2 is not exceeded, and that a due probe was sent.
    fn judge_openness(&self) {
        let now = self.t.ms();
        let most = self.retries.max(self.allowed);
        assert!(self.user_timeout.is_some() || self.timeouts <= most);
        if let (Some(since), Some(timeout)) = (self.waits_since, self.user_timeout) {
            assert!(now < since + timeout, "open beyond the user timeout");
        }
        if let Some(keepalive) = self.keepalive.filter(|_| !self.was_busy) {
            let (idle, interval) = (keepalive.idle.as_millis(), keepalive.interval.as_millis());
            let due = if self.probes == 0 {
                self.silent_since + idle
            } else {
                self.last_probe + interval
            };
            assert!(now <= due, "the probe of {due} has not left");
        }
    }

    /// Judges a keep-alive probe: an empty segment at SND.NXT - 1 (RFC 9293 §3.8.4).
    fn judge_probe(&mut self, record: &Record) {
        let now = self.t.ms();
        let keepalive = self.keepalive.expect("keep-alive is off");
        assert_eq!(record.seq_number() as usize, self.sent, "{record:?}");
        // MUST-26: probes are sent only while no data are outstanding.
        assert_eq!(self.sent, self.acked, "{record:?} with data outstanding");
        assert!(now >= self.silent_since + keepalive.idle.as_millis());
        if self.probes > 0 {
            assert!(now >= self.last_probe + keepalive.interval.as_millis());
        }
        self.last_probe = now;
        self.probes += 1;
        self.all_probes += 1;
        self.was_busy = false;
    }

    fn reset_probes(&mut self) {
        self.silent_since = self.t.ms();
        self.probes = 0;
        self.was_busy = self.given > self.acked;
    }

    /// Acknowledges some data, or repeats the acknowledgment.
    fn answer(&mut self) {
        let new = self.below(self.sent - self.acked + 1);
        self.acknowledge(new);
    }

    fn acknowledge(&mut self, new: usize) {
        if new > 0 {
            (self.timeouts, self.allowed) = (0, 0);
            self.is_told = false;
            self.waits_since = None;
        }
        self.acked += new;
        self.reset_probes();
        let record = Record::new().seq(1).ack(1 + self.acked as u32).win(60_000);
        self.t.send(record);
        self.look(false);
    }

    fn give(&mut self) {
        let len = [1, 100, 500][self.below(3)].min(TOTAL - self.given);
        let now = self.t.now();
        self.given += self.t.conn.send(now, &vec![b'x'; len]).unwrap();
        self.look(false);
    }

    /// Sets R2 of the open connection (MUST-21).
    fn set_user_timeout(&mut self) {
        self.user_timeout = [None, Some(200), Some(2_000), Some(30_000)][self.below(4)];
        self.waits_since = None;
        let now = self.t.now();
        let timeout = self.user_timeout.map(Duration::from_millis);
        self.t.conn.set_user_timeout(now, timeout);
        // Without a user timeout, the count of retries applies again.
        self.allowed = self.timeouts;
        self.look(false);
    }

    /// Turns keep-alive on or off (MUST-24).
    fn set_keepalive(&mut self) {
        let is_on = self.below(3) > 0;
        self.keepalive = is_on.then(|| Keepalive {
            idle: Duration::from_millis([100, 2_000, 20_000][self.below(3)]),
            interval: Duration::from_millis([50, 2_000, 15_000][self.below(3)]),
            count: [0, 2, 5, 100][self.below(4)],
        });
        let now = self.t.now();
        self.t.conn.set_keepalive(now, self.keepalive);
        self.reset_probes();
        self.look(false);
    }

    fn wait(&mut self, ms: u64) {
        let end = self.t.ms() + ms;
        while let Some(wake) = self.t.conn.poll_at() {
            let at = wake.at.as_micros().div_ceil(1_000) - 1_000;
            if at > end {
                break;
            }
            self.t.run_until(at.max(self.t.ms()));
            self.look(true);
        }
        self.t.run_until(end);
        self.look(true);
    }

    fn step(&mut self) {
        match self.below(24) {
            0 => self.set_user_timeout(),
            1 => self.set_keepalive(),
            2..=6 => self.give(),
            _ => self.answer(),
        }
        let pause = [0, 0, 10, 100, 300, 1_000, 3_000, 60_000][self.below(8)];
        // A long pause mostly starts with no data outstanding. Otherwise every connection would end
        // early.
        if pause > 300 && self.is_open() && self.below(20) > 0 {
            self.acknowledge(self.sent - self.acked);
        }
        if self.is_open() {
            self.wait(pause);
        }
    }
}

#[test]
fn silence_ends_a_connection_at_its_own_r2() {
    let (mut ends, mut probes) = ([0; 3], 0);
    for seed in 0..600 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..300 {
                if !world.is_open() {
                    break;
                }
                world.step();
            }
            (world.ends, world.all_probes)
        });
        match result {
            Ok(counts) => {
                ends = std::array::from_fn(|kind| ends[kind] + counts.0[kind]);
                probes += counts.1;
            }
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(ends.iter().all(|count| *count > 50), "{ends:?}");
    assert!(probes > 1_000, "{probes} probes");
}
