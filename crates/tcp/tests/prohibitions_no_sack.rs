//! A peer without SACK repeats duplicate ACKs at random, many more than there are segments. The
//! sender subtracts at most RecoverFS from the bytes in flight (RFC 9937 §6.2), so these ACKs
//! release a limited number of segments.

#![cfg(feature = "stats")]

use redpoll_base::Rng;
use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, ms};
use redpoll_wire::tcp::Flags;

const MSS: u32 = 100;
const BUFFER: u32 = 4_000;
/// RFC 5681 §3.2: number of duplicate ACKs that indicate a loss.
const DUP_THRESH: u32 = 3;

struct Episode {
    /// SND.NXT at the start of the recovery, and RecoverFS.
    recover: u32,
    recover_fs: u32,
    is_partial: bool,
}

struct World {
    t: Host,
    rng: Rng,
    /// SND.UNA and SND.NXT.
    una: u32,
    nxt: u32,
    /// Number of duplicate ACKs since SND.UNA advanced; an advance within an episode does not reset
    /// it.
    dup_acks: u32,
    episode: Option<Episode>,
    /// SND.NXT at the last timeout: below it, duplicate ACKs start no recovery.
    timeout: u32,
    judged: u32,
    bounded: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::named(seed, "no sack");
        let config = Config {
            sack: false,
            timestamps: false,
            min_rto: ms(1_000),
            max_rto: ms(2_000),
            max_retries: 250,
            ..Config::default()
        };
        let mut t = Host::established_with(&config, MSS as u16, 60_000, BUFFER as usize, 100);
        t.wait(rng.below(100).into());
        World {
            t,
            rng,
            una: 1,
            nxt: 1,
            dup_acks: 0,
            episode: None,
            timeout: 1,
            judged: 0,
            bounded: 0,
        }
    }

    /// Writes a multiple of the MSS, so that each segment is full-sized.
    fn give(&mut self) {
        let room = self.t.conn.send_room() / MSS as usize;
        let len = room.min(self.rng.below(20) as usize) * MSS as usize;
        self.t.write(&vec![b'x'; len]);
    }

    /// Checks the sent segments; a retransmission is due if `loss`.
    fn look(&mut self, loss: bool) {
        let mut again = 0;
        for record in self.t.sent() {
            assert_eq!(
                record.control().without(Flags::PSH),
                Flags::ACK,
                "{record:?}"
            );
            assert_eq!(record.payload().len() as u32, MSS, "{record:?}");
            again += u32::from(record.seq_number() < self.nxt);
            self.nxt = self.nxt.max(record.seq_number() + MSS);
        }
        assert!(!loss || again > 0, "the first retransmission waits");
        self.judge();
    }

    /// Checks inflight "for non-SACK-enabled connections" (RFC 9937 §6.2).
    fn judge(&mut self) {
        let (in_flight, flight) = (self.t.conn.info().in_flight, self.nxt - self.una);
        let Some(episode) = &self.episode else { return };
        let told = self.dup_acks * MSS;
        let subtracted = told.min(episode.recover_fs);
        self.judged += 1;
        self.bounded += u32::from(told > episode.recover_fs);
        // Until a partial ACK, one segment is lost, and its retransmission is in flight.
        if episode.is_partial {
            // The partial ACK reveals a second loss, whose retransmission may wait for the window.
            let least = flight.saturating_sub(MSS + subtracted);
            assert!(in_flight >= least, "{in_flight} in flight, not {least}");
        } else {
            let expected = flight.saturating_sub(subtracted);
            assert_eq!(in_flight, expected, "{flight} out, {told} told");
        }
        // RecoverFS and the window limit the segments that duplicate ACKs release.
        let most = 2 * episode.recover_fs + self.t.conn.info().ssthresh + MSS;
        assert!(flight <= most, "{flight} out, {}", episode.recover_fs);
    }

    fn tell(&mut self) {
        let rtos = self.t.conn.stats().rtos;
        let record = Record::new().seq(1).ack(self.una).win(60_000);
        self.t.send(record);
        assert_eq!(self.t.conn.stats().rtos, rtos);
    }

    /// Sends a duplicate ACK.
    fn repeat(&mut self) {
        if self.nxt == self.una {
            return;
        }
        self.dup_acks += 1;
        let flight = self.nxt - self.una;
        let begins =
            self.dup_acks == DUP_THRESH && self.episode.is_none() && self.una >= self.timeout;
        if begins {
            self.episode = Some(Episode {
                recover: self.nxt,
                recover_fs: flight,
                is_partial: false,
            });
        }
        self.tell();
        self.look(begins);
    }

    fn acknowledge(&mut self) {
        let out = (self.nxt - self.una) / MSS;
        if out == 0 {
            return;
        }
        let count = match self.rng.below(3) {
            0 => out,
            _ => 1 + self.rng.below(out),
        };
        self.una += count * MSS;
        match &mut self.episode {
            Some(episode) if self.una < episode.recover => episode.is_partial = true,
            // RFC 6582 §3.2, step 3: the recovery ends here. Step 2: duplicate ACKs up to
            // `recover` start no other recovery.
            Some(episode) => {
                self.timeout = episode.recover + 1;
                self.episode = None;
                self.dup_acks = 0;
            }
            None => self.dup_acks = 0,
        }
        self.tell();
        self.look(false);
    }

    fn wait(&mut self) {
        let rtos = self.t.conn.stats().rtos;
        let pause = [0, 0, 0, 1, 20, 200, 1_500][self.rng.below(7) as usize];
        self.t.wait(pause);
        if self.t.conn.stats().rtos > rtos {
            (self.episode, self.dup_acks) = (None, 0);
            self.look(false);
            self.timeout = self.nxt + 1;
        }
        self.look(false);
    }

    fn step(&mut self) {
        match self.rng.below(8) {
            0..=1 => self.give(),
            2 => self.acknowledge(),
            3 => {
                for _ in 0..self.rng.below(60) {
                    self.repeat();
                }
            }
            _ => self.repeat(),
        }
        self.look(false);
        self.wait();
    }
}

#[test]
fn duplicates_count_for_no_more_than_was_out() {
    let (mut judged, mut bounded) = (0, 0);
    for seed in 0..400 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..400 {
                world.step();
            }
            (world.judged, world.bounded)
        });
        match result {
            Ok(counts) => (judged, bounded) = (judged + counts.0, bounded + counts.1),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(judged > 5_000 && bounded > 1_000, "{judged} {bounded}");
}
