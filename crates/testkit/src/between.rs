//! Two connections and an adversary between them, which knows their addresses. The bytes of an
//! input determine its actions: it holds segments back, repeats and forges them.
//!
//! In spite of forgeries, each application reads the data of the other one in order, from the
//! beginning. If no forgery may have ended or damaged a connection ([`Between::is_damaged`]), all
//! data arrive after the adversary has become silent.

mod forged;
mod input;

use std::collections::VecDeque;

use redpoll_base::{Duration, Ecn, Instant};
use redpoll_tcp::{
    Action, Config, Connection, EcnUse, Endpoint, IpMeta, Listener, Segment, SendRing, SeqNum,
    State, Token,
};

use crate::host::{Buffer, LOCAL, REMOTE};
use crate::pattern;
use forged::with_mss;
use input::Input;

struct End {
    conn: Connection<Buffer>,
    /// Bytes that this end writes before it closes.
    total: usize,
    written: usize,
    read: usize,
    closed: bool,
    /// Segments that the link holds, with their bytes.
    held: VecDeque<(Token, Vec<u8>)>,
    /// The furthest right edge of a window that this end has announced.
    edge: Option<SeqNum>,
}

/// Maximum number of bytes that an end writes before it closes.
const MOST: usize = 6_000;
const BUFFER: usize = 1_848;
const ISS: [SeqNum; 2] = [SeqNum(u32::MAX - 700), SeqNum(0x7fff_f000)];
const ENDPOINTS: [Endpoint; 2] = [LOCAL, REMOTE];

/// Two connections under an adversary.
pub struct Between {
    now: Instant,
    ends: [End; 2],
    flying: [VecDeque<Vec<u8>>; 2],
    /// Packets sent earlier, by sender.
    past: [Vec<Vec<u8>>; 2],
    /// Whether the adversary may also forge segments that a correct end accepts.
    merciless: bool,
    damaged: bool,
}

impl Between {
    /// Runs `input` from the handshake on, and then lets both ends finish without the adversary.
    ///
    /// # Panics
    ///
    /// Panics if one of the guarantees in the module's documentation does not hold.
    pub fn play(input: &[u8]) -> Between {
        let mut input = Input(input);
        let bits = input.byte();
        let config = Config {
            mss: 474,
            nagle: bits & 1 == 0,
            timestamps: bits & 2 == 0,
            sack: bits & 4 == 0,
            ecn: if bits & 8 == 0 {
                EcnUse::Asked
            } else {
                EcnUse::Off
            },
            // An adversary that drops everything for hours is not a failure of TCP.
            user_timeout: Some(Duration::from_secs(7 * 24 * 3_600)),
            syn_retries: u8::MAX,
            ..Config::default()
        };
        let mut between = Between::open(&config, &mut input);
        between.merciless = bits & 16 != 0;
        while !input.0.is_empty() {
            between.step(&mut input);
        }
        between.finish();
        between
    }

    /// Returns whether a forged packet may legitimately have ended or stopped a connection.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Opens both connections; the adversary may change the MSS of both SYNs.
    fn open(config: &Config, input: &mut Input<'_>) -> Between {
        let now = Instant::from_millis(1);
        let buffer = || vec![0; BUFFER];
        let mut client = Connection::connect(
            now,
            config,
            LOCAL,
            REMOTE,
            ISS[0],
            SendRing::new(buffer()),
            buffer(),
        );
        let desc = client
            .poll_segment(now, 1240)
            .expect("the client sends a SYN");
        client.on_segment_sent(desc.token, now);
        let mss = [0, 1, 64, 474, 1220, u16::MAX];
        let choice = [input.byte(), input.byte()].map(|n| mss.get(usize::from(n)).copied());
        let syn = with_mss(0, desc.header.as_bytes(), choice[0]);
        let segment = Segment::parse(&meta(0), &syn).expect("the segment is well formed");
        let action = Listener::new(REMOTE).input(&meta(0), &segment);
        let Action::Accept(request) = action else {
            panic!("refused: {action:?}")
        };
        let mut server = Connection::accept(
            now,
            config,
            request,
            ISS[1],
            SendRing::new(buffer()),
            buffer(),
        );
        let desc = server
            .poll_segment(now, 1240)
            .expect("the server answers the SYN");
        server.on_segment_sent(desc.token, now);
        let answer = with_mss(1, desc.header.as_bytes(), choice[1]);
        client.input(
            now,
            &meta(1),
            &Segment::parse(&meta(1), &answer).expect("the segment is well formed"),
        );
        // One bit of the input decides whether the server has data to send.
        let total = [MOST, MOST * usize::from(input.byte() & 1)];
        let end = |conn, side: usize| End {
            conn,
            total: total[side],
            written: 0,
            read: 0,
            closed: false,
            held: VecDeque::new(),
            edge: None,
        };
        Between {
            now,
            ends: [end(client, 0), end(server, 1)],
            flying: Default::default(),
            past: Default::default(),
            merciless: false,
            damaged: false,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let op = input.byte();
        let side = usize::from(op >> 7);
        match op % 24 {
            0..=3 => self.deliver(side, 0),
            4 => self.deliver(side, input.byte().into()),
            5 => drop(self.flying[side].pop_front()),
            6 => {
                if let Some(packet) = self.flying[side].front().cloned() {
                    self.arrive(side, &packet);
                }
            }
            7 => {
                let which = usize::from(input.byte());
                if let Some(packet) = self.past[side].get(which).cloned() {
                    self.arrive(side, &packet);
                }
            }
            8..=10 => self.forge(side, input),
            11 => self.inject(side, input),
            12 => self.wait(Duration::from_millis(input.byte().into())),
            13 => self.wait(Duration::from_millis(input.word().into())),
            14 | 15 => self.write(side, usize::from(input.word()) % 1_000),
            16 => self.read(side, usize::from(input.byte()) * 8),
            17..=20 => self.poll(side),
            21 => self.report(side, input.byte()),
            22 => self.icmp(side, input),
            _ => self.timer(),
        }
        self.check();
    }

    /// Passes the next segment of `side` to the link, which holds up to three segments.
    fn poll(&mut self, side: usize) {
        let end = &mut self.ends[side];
        let Some(desc) = end.conn.poll_segment(self.now, 1240) else {
            return;
        };
        let mut payload = vec![0; usize::from(desc.payload_len)];
        let read = end.conn.read(desc.token, 0, &mut payload);
        assert_eq!(
            read,
            Ok(payload.len()),
            "the payload of the new segment can be read"
        );
        let bytes = [desc.header.as_bytes(), &payload].concat();
        end.held.push_back((desc.token, bytes));
        if end.held.len() > 3 {
            self.report(side, 0);
        }
    }

    fn report(&mut self, side: usize, how: u8) {
        let end = &mut self.ends[side];
        let Some((token, bytes)) = end.held.pop_front() else {
            return;
        };
        if how % 8 == 7 {
            end.conn.on_segment_lost(token, self.now);
            return;
        }
        end.conn.on_segment_sent(token, self.now);
        self.look_at(side, &bytes);
        if self.past[side].len() < 256 {
            self.past[side].push(bytes.clone());
        }
        self.flying[side].push_back(bytes);
    }

    fn look_at(&mut self, side: usize, bytes: &[u8]) {
        let segment = Segment::parse(&meta(side), bytes).expect("a segment of ours");
        let end = &mut self.ends[side];
        if segment.flags.rst() {
            return;
        }
        let first = ISS[side] + 1;
        let last = first + end.written as u32 + u32::from(end.closed);
        assert!(
            segment.end() <= last,
            "the segment ends beyond the written bytes"
        );
        for (i, byte) in segment.payload.iter().enumerate() {
            let offset = (segment.seq - first) as usize + i;
            assert_eq!(*byte, pattern(side, offset), "a sent byte is wrong");
        }
        let edge = segment.ack + u32::from(segment.window);
        if let Some(before) = end.edge.filter(|before| edge < *before) {
            // No segment, not even a retransmission, may move the window's right edge back.
            panic!("the window shrank from {before:?} to {edge:?}");
        }
        end.edge = Some(edge);
    }

    fn deliver(&mut self, side: usize, which: usize) {
        let which = which % self.flying[side].len().max(1);
        if let Some(packet) = self.flying[side].remove(which) {
            self.arrive(side, &packet);
        }
    }

    /// Delivers a packet in the name of `side` to the other end.
    fn arrive(&mut self, side: usize, bytes: &[u8]) {
        // Options that are too long for a header do not parse.
        if let Ok(segment) = Segment::parse(&meta(side), bytes) {
            self.ends[1 - side]
                .conn
                .input(self.now, &meta(side), &segment);
        }
    }

    fn write(&mut self, side: usize, len: usize) {
        let end = &mut self.ends[side];
        let upto = (end.written + len).min(end.total);
        let bytes: Vec<u8> = (end.written..upto).map(|at| pattern(side, at)).collect();
        end.written += end.conn.send(self.now, &bytes).unwrap_or(0);
    }

    fn read(&mut self, side: usize, len: usize) {
        let mut out = vec![0; len];
        let end = &mut self.ends[side];
        let count = end.conn.recv(self.now, &mut out).unwrap_or(0);
        for byte in &out[..count] {
            assert_eq!(*byte, pattern(1 - side, end.read), "byte {}", end.read);
            end.read += 1;
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        for end in &mut self.ends {
            end.conn.on_timeout(self.now);
        }
    }

    fn timer(&mut self) {
        let timers = self.ends.iter().filter_map(|end| end.conn.poll_at());
        if let Some(wake) = timers.min_by_key(|wake| wake.at) {
            let time = wake.at - self.now;
            self.wait(time.min(Duration::from_secs(60)));
        }
    }

    fn check(&mut self) {
        for side in 0..2 {
            let [end, peer] = [&self.ends[side], &self.ends[1 - side]];
            let arrived = end.read + end.conn.recv_queue();
            assert!(
                arrived <= peer.written,
                "more bytes arrived than the peer wrote"
            );
            assert!(end.conn.unacked() <= end.written);
            if let Some(error) = end.conn.error() {
                assert!(self.damaged, "{error:?} of side {side}, {}", self.tell());
            }
        }
    }

    /// Both ends write the rest, close and read all, over a good link.
    fn finish(&mut self) {
        let limit = self.now + Duration::from_secs(4 * 3_600);
        let mut turns = 0;
        while !self.is_done() {
            turns += 1;
            assert!(
                turns < 20_000,
                "the exchange does not come to an end: {}",
                self.tell()
            );
            let mut idle = true;
            self.wait(Duration::from_millis(5));
            for side in 0..2 {
                self.write(side, MOST);
                self.read(side, BUFFER);
                let end = &mut self.ends[side];
                if end.written == end.total && !end.closed {
                    end.conn.close(self.now);
                    end.closed = true;
                }
                self.poll(side);
                while !self.ends[side].held.is_empty() {
                    self.report(side, 0);
                }
                while !self.flying[side].is_empty() {
                    self.deliver(side, 0);
                    idle = false;
                }
            }
            if !self.damaged {
                self.check();
            }
            if idle {
                let next = self.ends.iter().filter_map(|end| end.conn.poll_at());
                let Some(wake) = next.min_by_key(|wake| wake.at).filter(|w| w.at < limit) else {
                    assert!(self.damaged, "a stall: {}", self.tell());
                    return;
                };
                self.wait(wake.at - self.now);
            }
        }
        if !self.damaged {
            let read = self.ends.each_ref().map(|end| end.read);
            assert_eq!(read, [self.ends[1].total, self.ends[0].total]);
        }
    }

    fn is_done(&self) -> bool {
        self.ends.iter().all(|end| {
            let over = matches!(end.conn.state(), State::TimeWait | State::Closed);
            over && (end.conn.recv_queue() == 0 || end.conn.error().is_some())
        })
    }

    fn tell(&self) -> String {
        let one = |end: &End| {
            let conn = &end.conn;
            format!(
                "{}, {} bytes written, {} bytes read, {} bytes unacknowledged, cwnd {} bytes, \
                 next timer {:?}",
                conn.state(),
                end.written,
                end.read,
                conn.unacked(),
                conn.info().cwnd,
                conn.poll_at()
            )
        };
        format!(
            "{:?}: {}; {}",
            self.now,
            one(&self.ends[0]),
            one(&self.ends[1])
        )
    }
}

fn meta(side: usize) -> IpMeta {
    IpMeta {
        src: ENDPOINTS[side].addr,
        dst: ENDPOINTS[1 - side].addr,
        ecn: Ecn::NotEct,
        hop_limit: 64,
    }
}
