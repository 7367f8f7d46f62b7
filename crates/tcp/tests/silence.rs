//! When both the peer and the link fall silent, a connection with something to send detects this
//! and ends, whatever happened before.

use redpoll_base::{Duration, Ecn, Instant, Rng};
use redpoll_tcp::{
    Config, Connection, Fields, Header, IpMeta, Segment, SendRing, SeqNum, State, TimestampOption,
    Token,
};
use redpoll_testkit::{Host, IRS, ISS, LOCAL, REMOTE, Record, inward, send};
use redpoll_wire::tcp::{Flags, SeqRange};

struct World {
    conn: Connection<Vec<u8>>,
    rng: Rng,
    now: Instant,
    held: Vec<Token>,
    /// Highest sequence number sent; `acked` is the latest acknowledgment of the peer.
    sent: SeqNum,
    acked: SeqNum,
    /// The peer's next byte, and our timestamps that the peer received.
    theirs: SeqNum,
    seen: Vec<u32>,
    has_ts: bool,
    log: Vec<String>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::named(seed, "silence");
        let bits = rng.next_u32();
        let config = Config {
            mss: [88, 474, 1220][rng.below(3) as usize],
            nagle: bits & 1 == 0,
            timestamps: bits & 2 == 0,
            sack: bits & 4 == 0,
            max_retries: 3,
            ..Config::default()
        };
        let len = [462, 2_048, 20_000, 70_000][rng.below(4) as usize];
        let now = Instant::from_millis(1_000);
        let buffer = || vec![0; len];
        let mut conn = Connection::connect(
            now,
            &config,
            LOCAL,
            REMOTE,
            ISS,
            SendRing::new(buffer()),
            buffer(),
        );
        let desc = conn.poll_segment(now, 1240).expect("a SYN");
        conn.on_segment_sent(desc.token, now);
        let mut world = World {
            conn,
            rng,
            now: now + Duration::from_millis(100),
            held: Vec::new(),
            sent: ISS + 1,
            acked: ISS + 1,
            theirs: IRS,
            seen: vec![1_000],
            has_ts: config.timestamps,
            log: vec![format!("{config:?} {len}")],
        };
        let mut fields = world.fields();
        fields.flags = Flags::SYN.with(Flags::ACK);
        if bits & 8 == 0 {
            fields.flags = fields.flags.with(Flags::ECE);
        }
        fields.options.mss = Some(1_460);
        fields.options.sack_permitted = true;
        world.arrive(&fields, &[]);
        world.theirs += 1;
        world
    }

    fn pick<const N: usize>(&mut self, of: [u32; N]) -> u32 {
        of[self.rng.below(N as u32) as usize]
    }

    fn fields(&mut self) -> Fields {
        let window = self.pick([0, 0, 1, 60, 400, 1_000, 3_000, 20_000, 65_535]) as u16;
        let mut fields = Fields {
            seq: self.theirs,
            ack: self.acked,
            flags: Flags::ACK,
            window,
            ..Fields::default()
        };
        if self.has_ts {
            let count = self.seen.len() as u32;
            let back = self.pick([0, 0, 1, 3]).min(count - 1);
            fields.options.timestamps = Some(TimestampOption {
                value: self.now.as_millis() as u32,
                echo: self.seen[(count - 1 - back) as usize],
            });
        }
        fields
    }

    fn arrive(&mut self, fields: &Fields, payload: &[u8]) {
        self.log
            .push(format!("{:?} < {fields:?} +{}", self.now, payload.len()));
        let header = Header::encode(fields, &REMOTE, &LOCAL, [payload, &[]]);
        let bytes = [header.as_bytes(), payload].concat();
        let ecn = Ecn::from_bits(self.rng.below(4) as u8);
        let meta = IpMeta { ecn, ..inward() };
        if let Ok(segment) = Segment::parse(&meta, &bytes) {
            self.conn.input(self.now, &meta, &segment);
        }
    }

    fn answer(&mut self) {
        let out = self.sent - self.acked;
        let step = match self.rng.below(6) {
            0 | 1 => 0,
            2 => out,
            3 => out.min(474),
            4 => out.min(1_220),
            _ => self.rng.below(out + 1),
        };
        self.acked += step;
        let out = out - step;
        let mut fields = self.fields();
        if self.rng.below(4) == 0 {
            fields.flags = fields.flags.with(Flags::ECE);
        }
        for _ in 0..self.pick([0, 0, 0, 1, 1, 2, 3]) {
            let block = match self.rng.below(4) {
                0 => {
                    let end = self.acked - self.rng.below(500);
                    SeqRange::new(end - self.rng.below(1_500), end)
                }
                1 => SeqRange::new(self.acked - 4_000, self.acked),
                _ => {
                    let start = self.acked + self.rng.below(out + 1);
                    let len = self.rng.below((self.sent - start) + 1);
                    let end = if self.rng.below(2) == 0 {
                        self.sent
                    } else {
                        start + len
                    };
                    SeqRange::new(start, end)
                }
            };
            fields.options.add_sack_block(block);
        }
        let len = self.pick([0, 0, 0, 1, 100, 474]);
        let payload = vec![7; len as usize];
        let gap = self.pick([0, 0, 0, 0, 100]);
        fields.seq += gap;
        if gap == 0 {
            self.theirs += len;
        }
        self.arrive(&fields, &payload);
    }

    fn poll(&mut self) {
        let max_len = self.pick([1_240, 1_240, 600, 100]) as usize;
        let Some(desc) = self.conn.poll_segment(self.now, max_len) else {
            return;
        };
        let mut payload = vec![0; usize::from(desc.payload_len)];
        let read = self.conn.read(desc.token, 0, &mut payload);
        assert_eq!(read, Ok(payload.len()));
        let bytes = [desc.header.as_bytes(), &payload].concat();
        let meta = redpoll_testkit::outward();
        let segment = Segment::parse(&meta, &bytes).expect("a segment of ours");
        self.log.push(format!(
            "{:?} > {:?} {:?} {:?} ack {:?} len {} {:?}",
            self.now,
            desc.token,
            segment.flags,
            segment.seq,
            segment.ack,
            segment.payload.len(),
            segment.options.timestamps
        ));
        if !segment.flags.rst() {
            self.sent = self.sent.max(segment.end());
        }
        if let Some(ts) = segment.options.timestamps {
            self.seen.push(ts.value);
        }
        self.held.push(desc.token);
        if self.held.len() > 4 {
            self.report();
        }
    }

    fn report(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let token = self.held.remove(0);
        if self.rng.below(8) == 0 {
            self.log.push(format!("{:?} lost {token:?}", self.now));
            self.conn.on_segment_lost(token, self.now);
        } else {
            self.log.push(format!(
                "{:?} sent {token:?} {:?} cwnd {}",
                self.now,
                self.conn.poll_at(),
                self.conn.info().cwnd
            ));
            self.conn.on_segment_sent(token, self.now);
        }
    }

    fn step(&mut self) {
        match self.rng.below(16) {
            0..=4 => self.answer(),
            5..=8 => self.poll(),
            9..=11 => self.report(),
            12 => {
                let len = self.pick([1, 100, 2_000, 20_000]) as usize;
                let _ = self.conn.send(self.now, &vec![1; len]);
            }
            13 => {
                self.now += Duration::from_millis(self.rng.below(300).into());
                self.conn.on_timeout(self.now);
            }
            14 => {
                if let Some(wake) = self.conn.poll_at() {
                    let next = self.now.max(wake.at).as_micros();
                    let limit = (self.now + Duration::from_secs(70)).as_micros();
                    self.now = Instant::from_micros(next.min(limit));
                    self.conn.on_timeout(self.now);
                }
            }
            _ => match self.rng.below(40) {
                0 => self.conn.close(self.now),
                1 => self.conn.on_path_mtu(self.now, 1_280),
                _ => {
                    let mut out = vec![0; self.pick([1, 100, 5_000]) as usize];
                    let _ = self.conn.recv(self.now, &mut out);
                }
            },
        }
    }

    fn fall_silent(&mut self) {
        for _ in 0..300 {
            while !self.held.is_empty() {
                let token = self.held.remove(0);
                self.conn.on_segment_sent(token, self.now);
            }
            while let Some(desc) = self.conn.poll_segment(self.now, 1_240) {
                self.log.push(format!(
                    "{:?} > {:?} {}",
                    self.now, desc.token, desc.payload_len
                ));
                self.conn.on_segment_sent(desc.token, self.now);
            }
            let Some(wake) = self.conn.poll_at() else {
                break;
            };
            self.now = self.now.max(wake.at);
            self.conn.on_timeout(self.now);
        }
        let open = matches!(
            self.conn.state(),
            State::Established | State::CloseWait | State::FinWait2
        );
        let idle = open && self.conn.unacked() == 0 && self.conn.poll_at().is_none();
        if !(self.conn.is_closed() || idle) {
            for line in self.log.iter().rev().take(40).rev() {
                eprintln!("{line}");
            }
            panic!(
                "{} unacked {} cwnd {} ssthresh {} next {:?}",
                self.conn.state(),
                self.conn.unacked(),
                self.conn.info().cwnd,
                self.conn.info().ssthresh,
                self.conn.poll_at(),
            );
        }
    }
}

/// Seeds of two runs in which a connection could be left without a timer. In one, the link reports
/// the outstanding data as lost, and the peer reports them as received by SACK, but does not
/// acknowledge them. In the other, a timeout is undone while the link holds a zero-window probe.
const WERE_STUCK: [u64; 2] = [82_034, 247_574];

#[test]
fn a_silent_peer_ends_the_connection() {
    for seed in WERE_STUCK.into_iter().chain(0..3_000) {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..30 + seed % 300 {
                world.step();
            }
            world.fall_silent();
        });
        if let Err(panic) = result {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// The link reports the only segment as lost, so no timer runs yet. The peer reports the segment as
/// received by SACK, but does not acknowledge it (RFC 2018 §8).
#[test]
fn lost_by_the_link_and_selectively_acknowledged() {
    let config = Config {
        timestamps: false,
        mss: 100,
        ..Config::default()
    };
    let answer = Record::new().mss(100).win(4_000).sack_ok(true);
    let mut t = Host::established_by(&config, answer, 100);
    t.write(&[7; 100]);
    let now = t.now();
    let desc = t.conn.poll_segment(now, t.max_len).expect("a segment");
    t.conn.on_segment_lost(desc.token, now);
    send!(t, seq 1, ack 1, win 4_000, sack [(1, 101)]);
    t.run_until(10_000);
    let again = t.sent();
    assert!(
        again.iter().any(|record| record.seq_number() == 1),
        "{again:?}"
    );
}
