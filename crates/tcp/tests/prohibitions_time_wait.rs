//! A peer's old segments, resets and FINs arrive at random in TIME-WAIT. Only its FIN restarts 2
//! MSL, and no segment shortens it (RFC 9293 §3.6.1, MUST-13, §3.10.7.4).
//!
//! A reset exactly at RCV.NXT is not tested: RFC 9293 §3.10.7.4 lets it end TIME-WAIT, and RFC 1337
//! would not.

use redpoll_base::{Duration, Rng};
use redpoll_tcp::{Config, State};
use redpoll_testkit::{FIN_ACK, Host, RST, Record, SYN, SYN_ACK};
use redpoll_wire::tcp::Flags;

const FIN: Flags = FIN_ACK;

struct World {
    t: Host,
    rng: Rng,
    has_ts: bool,
    /// SND.NXT and RCV.NXT.
    ours: u32,
    theirs: u32,
    msl_2: u64,
    end: u64,
    restarts: u32,
}

impl World {
    /// Creates a connection in TIME-WAIT that we closed first, or simultaneously with the peer.
    fn new(seed: u64) -> World {
        let mut rng = Rng::named(seed, "time-wait");
        let bits = rng.next_u32();
        let has_ts = bits & 1 == 0;
        let secs = [1, 10, 60, 240][(bits >> 1) as usize % 4];
        let config = Config {
            timestamps: true,
            time_wait: Duration::from_secs(secs),
            max_retries: 100,
            ..Config::default()
        };
        let mut t = Host::connect(&config, 2_000, 2_000);
        let syn = t.sent();
        t.wait(20);
        let mut answer = Record::new().flags(SYN_ACK).ack(1).win(2_000).mss(400);
        if has_ts {
            answer = answer.ts((1_000, syn[0].timestamps().unwrap().0));
        }
        t.send(answer);
        let mut world = World {
            t,
            rng,
            has_ts,
            ours: 1,
            theirs: 1,
            msl_2: secs * 1_000,
            end: 0,
            restarts: 0,
        };
        world.close(bits >> 8);
        world
    }

    fn close(&mut self, bits: u32) {
        let (out, back) = (bits & 255, bits >> 8 & 255);
        self.t.write(&vec![b'x'; out as usize]);
        if bits >> 16 & 1 == 0 {
            // The application does not wait for the end of the connection.
            let now = self.t.now();
            self.t.close();
            self.t.conn.orphan(now, Duration::from_secs(1_000));
        } else {
            self.t.close();
        }
        self.t.sent();
        self.t.wait(30);
        let before = self.ours;
        self.ours += out + 1;
        let fin = self.stamped(Record::new().seq(1).len(back as usize).flags(FIN));
        if bits >> 17 & 1 == 0 {
            // Both ends close at the same time, and pass through CLOSING.
            self.t.send(fin.ack(before));
            self.theirs += back + 1;
            assert_eq!(self.t.conn.state(), State::Closing);
            let ack = self.stamped(Record::new().seq(self.theirs).ack(self.ours));
            self.t.send(ack);
        } else {
            self.t.send(fin.ack(self.ours));
            self.theirs += back + 1;
        }
        self.t.sent();
        self.end = self.t.ms() + self.msl_2;
        assert_eq!(self.t.conn.state(), State::TimeWait);
    }

    fn stamped(&self, record: Record) -> Record {
        if self.has_ts {
            record.ts((1_000 + self.t.ms() as u32, 0))
        } else {
            record
        }
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.rng.below(limit.max(1))
    }

    /// Makes a segment of the peer. Returns it, and whether it restarts 2 MSL.
    fn segment(&mut self) -> (Record, bool) {
        let nxt = self.theirs;
        let (near, far) = (self.below(1_900), 2_001 + self.below(100_000));
        let len = self.below(nxt.min(400));
        let record = self.stamped(Record::new().ack(self.ours));
        let old = nxt - len;
        match self.below(12) {
            // Old data, and data that the peer may no longer send.
            0 => (record.seq(old).len(self.rng.below(len + 1) as usize), false),
            1 => (record.seq(nxt).len(near as usize / 8), false),
            2 => (record.seq(nxt.wrapping_sub(far)).len(100), false),
            // Acknowledgments that are current, old, and of data that were never sent.
            3 => (record.seq(nxt), false),
            4 => (record.seq(nxt).ack(self.ours.wrapping_sub(near)), false),
            5 => (record.seq(nxt).ack(self.ours + 1 + near), false),
            // Resets next to RCV.NXT, in the window and outside.
            6 => (Record::new().flags(RST).seq(nxt + 1 + near), false),
            7 => {
                let seq = [nxt - 1, old.min(nxt - 1), nxt.wrapping_sub(far), nxt + far];
                let seq = seq[self.below(4) as usize];
                (Record::new().flags(RST).seq(seq), false)
            }
            8 => {
                let flags = [SYN, SYN_ACK][self.below(2) as usize];
                (record.flags(flags).seq(nxt + near), false)
            }
            // The FIN, with or without the data before it.
            9 => {
                let len = len.min(nxt - 1).saturating_sub(1);
                let fin = record.flags(FIN).seq(nxt - 1 - len).len(len as usize);
                (fin, true)
            }
            // Other FINs: before and after the real FIN, and one with an old timestamp.
            10 if self.has_ts => {
                let fin = Record::new().flags(FIN).seq(nxt - 1).ack(self.ours);
                (fin.ts((900 - self.below(500), 0)), false)
            }
            10 => (
                record.flags(FIN).seq(nxt.wrapping_sub(2 + self.below(500))),
                false,
            ),
            _ => (record.flags(FIN).seq(nxt + near), false),
        }
    }

    fn step(&mut self) {
        let (record, restarts) = self.segment();
        let text = format!("{record:?}");
        self.t.send(record);
        if restarts {
            self.end = self.t.ms() + self.msl_2;
            self.restarts += 1;
        }
        if self.below(30) == 0 {
            let now = self.t.now();
            self.t.conn.orphan(now, Duration::from_millis(1));
        }
        assert_eq!(self.t.conn.state(), State::TimeWait, "{text}");
        // Only acknowledgments of the whole stream are sent.
        for sent in self.t.sent() {
            let is_ack = sent.control() == Flags::ACK && sent.payload().is_empty();
            assert!(is_ack, "{sent:?} for {text}");
            let numbers = (sent.seq_number(), sent.ack_number());
            assert_eq!(numbers, (self.ours, self.theirs), "{text}");
        }
        // Mostly short pauses, sometimes up to the last millisecond.
        let left = self.end - self.t.ms() - 1;
        let pause = match self.below(8) {
            0 => left,
            1 | 2 => self.below(left as u32).into(),
            _ => u64::from(self.below(50)).min(left),
        };
        self.t.wait(pause);
        assert_eq!(
            self.t.conn.state(),
            State::TimeWait,
            "too early, after {text}"
        );
    }
}

#[test]
fn only_the_fin_moves_the_end_of_time_wait() {
    let mut restarts = 0;
    for seed in 0..500 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..80 {
                world.step();
            }
            world.t.run_until(world.end - 1);
            assert_eq!(world.t.conn.state(), State::TimeWait);
            world.t.run_until(world.end);
            assert_eq!(world.t.conn.state(), State::Closed, "too late");
            world.restarts
        });
        match result {
            Ok(count) => restarts += count,
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(restarts > 1_000, "{restarts}");
}
