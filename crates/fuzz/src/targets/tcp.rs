//! A TCP connection that receives arbitrary segments. It must not panic, no timer may stay due
//! forever, no byte may be delivered twice, and an abort must end it. The first byte can instead
//! select two connections with an adversary between them, `redpoll_testkit::Between`.
//!
//! The input is a list of steps. Numbers in segments are relative to the numbers that the
//! connection expects, so that many are in its window.

use redpoll_base::{Addr, Duration, Ecn, Instant};
use redpoll_tcp::{
    Config, Connection, Endpoint, Fields, Header, IcmpKind, IpMeta, Segment, SendRing, SeqNum,
    TimestampOption, Token,
};
use redpoll_testkit::Between;
use redpoll_wire::tcp::{Flags, SeqRange};

const LOCAL: Endpoint = Endpoint {
    addr: Addr([1; 16]),
    port: 1,
};
const REMOTE: Endpoint = Endpoint {
    addr: Addr([2; 16]),
    port: 2,
};
const BUFFER: usize = 2048;

/// The input, read from the front; yields zeros after its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// Returns `origin` plus a small signed step.
    fn near(&mut self, origin: SeqNum) -> SeqNum {
        SeqNum(origin.0.wrapping_add_signed((self.word() as i16).into()))
    }
}

struct World {
    connection: Connection<Box<[u8]>>,
    now: Instant,
    /// Transmissions whose outcome the link has not yet reported.
    held: Vec<(Token, u16)>,
    /// Sequence number of the last sent segment; `theirs`: of the last received segment.
    ours: SeqNum,
    theirs: SeqNum,
    given: usize,
    taken: usize,
}

impl World {
    fn segment(&mut self, input: &mut Input<'_>) {
        const ALL: [Flags; 8] = [
            Flags::SYN,
            Flags::FIN,
            Flags::RST,
            Flags::PSH,
            Flags::ACK,
            Flags::URG,
            Flags::ECE,
            Flags::CWR,
        ];
        let bits = input.byte();
        let mut fields = Fields {
            seq: input.near(self.theirs),
            ack: input.near(self.ours),
            window: input.word(),
            ..Fields::default()
        };
        for (i, flag) in ALL.into_iter().enumerate() {
            if bits & (1 << i) != 0 {
                fields.flags = fields.flags.with(flag);
            }
        }
        let options = input.byte();
        if options & 1 != 0 {
            fields.options.timestamps = Some(TimestampOption {
                value: input.word().into(),
                echo: input.word().into(),
            });
        }
        if options & 2 != 0 {
            fields.options.mss = Some(input.word());
        }
        fields.options.sack_permitted = options & 4 != 0;
        for _ in 0..options >> 6 {
            let start = input.near(self.ours);
            let end = input.near(self.ours);
            fields.options.add_sack_block(SeqRange::new(start, end));
        }
        let payload = vec![bits; usize::from(input.byte()) * 4];
        let header = Header::encode(&fields, &REMOTE, &LOCAL, [&payload, &[]]);
        let bytes = [header.as_bytes(), &payload].concat();
        let meta = IpMeta {
            src: REMOTE.addr,
            dst: LOCAL.addr,
            ecn: Ecn::from_bits(options >> 3),
            hop_limit: 64,
        };
        // An option list that is too long for a header fails to parse.
        if let Ok(segment) = Segment::parse(&meta, &bytes) {
            self.given += payload.len();
            self.theirs = segment.seq;
            self.connection.input(self.now, &meta, &segment);
        }
    }

    fn poll(&mut self) {
        if let Some(desc) = self.connection.poll_segment(self.now, 1_240) {
            if let Some(&[a, b, c, d]) = desc.header.as_bytes().get(4..8) {
                self.ours = SeqNum(u32::from_be_bytes([a, b, c, d]));
            }
            self.held.push((desc.token, desc.payload_len));
        }
    }

    fn report(&mut self, which: u8, sent: bool) {
        if self.held.is_empty() {
            return;
        }
        let (token, _) = self.held.remove(usize::from(which) % self.held.len());
        if sent {
            self.connection.on_segment_sent(token, self.now);
        } else {
            self.connection.on_segment_lost(token, self.now);
        }
    }

    fn read(&mut self, which: u8, offset: usize) {
        let Some(&(token, len)) = self.held.get(usize::from(which)) else {
            return;
        };
        let mut out = [0; 128];
        if let Ok(read) = self.connection.read(token, offset, &mut out) {
            assert!(offset.min(len.into()) + read <= usize::from(len));
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        if self.connection.poll_at().is_some_and(|w| w.at <= self.now) {
            self.connection.on_timeout(self.now);
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0..=5 => self.segment(input),
            6 | 7 => self.poll(),
            8 => self.report(input.byte(), true),
            9 => self.report(input.byte(), false),
            10 => self.wait(Duration::from_millis(input.word().into())),
            11 => {
                let bytes = vec![7; usize::from(input.word()) % 3_000];
                let _ = self.connection.send(self.now, &bytes);
            }
            12 => {
                let mut out = vec![0; usize::from(input.byte())];
                self.taken += self.connection.recv(self.now, &mut out).unwrap_or(0);
                assert!(
                    self.taken <= self.given,
                    "the application received more bytes than arrived"
                );
            }
            13 => self.read(input.byte() % 4, input.word().into()),
            14 => match input.byte() % 8 {
                0 => self.connection.close(self.now),
                1 => self.connection.on_path_mtu(self.now, input.word()),
                2 => self.connection.on_icmp(
                    self.now,
                    IcmpKind::PortUnreachable,
                    input.near(self.ours),
                ),
                3 => {
                    let quoted = input.near(self.ours);
                    let mtu = input.word();
                    self.connection.on_packet_too_big(self.now, mtu, quoted);
                }
                4 => {
                    let limit = Duration::from_secs(input.byte().into());
                    self.connection.orphan(self.now, limit);
                }
                5 => {
                    let timeout = Duration::from_secs(input.word().into());
                    self.connection.set_user_timeout(self.now, Some(timeout));
                }
                _ => while self.connection.poll_event().is_some() {},
            },
            _ => {
                if let Some(wake) = self.connection.poll_at() {
                    self.wait(wake.at - self.now);
                }
            }
        }
    }
}

pub fn run(data: &[u8]) {
    if let Some((0x80.., rest)) = data.split_first() {
        Between::play(rest);
    } else {
        alone(data);
    }
}

/// Runs one connection, whose peer sends segments from the input.
fn alone(data: &[u8]) {
    let mut input = Input(data);
    let config = Config {
        mss: 474,
        nagle: input.byte() & 1 == 0,
        ..Config::default()
    };
    let buffer = || vec![0; BUFFER].into_boxed_slice();
    let now = Instant::from_millis(1);
    let iss = SeqNum(u32::MAX - 500);
    let mut world = World {
        connection: Connection::connect(
            now,
            &config,
            LOCAL,
            REMOTE,
            iss,
            SendRing::new(buffer()),
            buffer(),
        ),
        now,
        held: Vec::new(),
        ours: SeqNum(iss.0.wrapping_add(1)),
        theirs: SeqNum(0),
        given: 0,
        taken: 0,
    };
    while !input.0.is_empty() {
        world.step(&mut input);
    }
    // The peer is silent from here on: the timers must advance, and an abort must end the
    // connection.
    let mut last = None;
    let mut standing = 0;
    for _ in 0..200 {
        let Some(wake) = world.connection.poll_at() else {
            break;
        };
        standing = if last == Some(wake.at) {
            standing + 1
        } else {
            0
        };
        assert!(standing < 8, "a timer is still due after it fired");
        last = Some(wake.at);
        world.wait(wake.at - world.now);
        world.poll();
        world.report(0, true);
    }
    world.connection.abort(world.now);
    for _ in 0..8 {
        world.poll();
        world.report(0, true);
    }
    assert!(
        world.connection.is_finished(),
        "the connection still exists after the abort"
    );
}
