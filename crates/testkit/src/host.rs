//! One connection against a scripted peer.

use std::collections::VecDeque;

use redpoll_base::{Addr, Duration, Ecn, Instant};
use redpoll_tcp::{
    Action, Algorithms, Config, Connection, Endpoint, Event, Header, IpMeta, Listener, Segment,
    SendRing, SeqNum, Standard,
};

use crate::{Record, SYN_ACK};

/// Type of a connection's send buffer and of its receive buffer on the test host.
pub type Buffer = Vec<u8>;

/// This side's end in packet tests.
pub const LOCAL: Endpoint = Endpoint::new(Addr([0x0a; 16]), 49152);
/// The scripted peer's end.
pub const REMOTE: Endpoint = Endpoint::new(Addr([0x0b; 16]), 80);
/// This side's initial sequence number. Sequence numbers wrap after 100 bytes.
pub const ISS: SeqNum = SeqNum(u32::MAX - 99);
pub const IRS: SeqNum = SeqNum(u32::MAX - 9);

/// A connection under test, with virtual time and everything that it sends.
///
/// Sequence numbers in [`Record`]s are relative: 0 is the SYN of their side.
pub struct Host<A: Algorithms = Standard> {
    /// The connection. Packet tests reach states only through packets.
    pub conn: Connection<Buffer, SendRing<Buffer>, A>,
    now: Instant,
    sent: VecDeque<(Instant, Record)>,
    /// Maximum number of bytes of TCP header and payload that the link accepts.
    pub max_len: usize,
}

impl<A: Algorithms> Host<A> {
    /// Opens actively, with `tx` and `rx` bytes of buffer: a SYN is about to be sent.
    pub fn connect(config: &Config<A>, tx: usize, rx: usize) -> Self {
        let now = Instant::from_millis(1_000);
        let conn = Connection::connect(
            now,
            config,
            LOCAL,
            REMOTE,
            ISS,
            SendRing::new(vec![0; tx]),
            vec![0; rx],
        );
        Host::new(conn, now)
    }

    /// Opens passively: the SYN `request` has just arrived.
    pub fn accept(config: &Config<A>, tx: usize, rx: usize, request: Record) -> Self {
        let now = Instant::from_millis(1_000);
        let listener = Listener::new(LOCAL);
        let bytes = from_peer(&request);
        let action = listener.input(&inward(), &parse(&bytes));
        let Action::Accept(half_open) = action else {
            panic!("refused: {action:?}")
        };
        let conn = Connection::accept(
            now,
            config,
            half_open,
            ISS,
            SendRing::new(vec![0; tx]),
            vec![0; rx],
        );
        Host::new(conn, now)
    }

    /// Returns a connection that this side established. The peer announced `mss` and `window`. It
    /// did not offer timestamps, even if `config` has them. Time is 0 afterwards.
    pub fn established(config: &Config<A>, mss: u16, window: u16) -> Self {
        Host::established_with(config, mss, window, 4096, 4096)
    }

    /// Returns a connection that this side established with the peer's SYN-ACK `answer`, which
    /// arrives at `rtt` milliseconds. Both buffers have 4096 bytes.
    pub fn established_by(config: &Config<A>, answer: Record, rtt: u64) -> Self {
        Host::established_as(config, answer, rtt, 4096, 4096)
    }

    fn established_as(config: &Config<A>, answer: Record, rtt: u64, tx: usize, rx: usize) -> Self {
        let mut host = Host::connect(config, tx, rx);
        host.drain();
        host.sent.clear();
        host.wait(rtt);
        let flags = answer.control().with(SYN_ACK);
        host.send(answer.flags(flags).ack(1));
        host.drain();
        host.sent.clear();
        while host.conn.poll_event().is_some() {}
        host
    }

    /// Returns an established connection with `tx` and `rx` bytes of buffer.
    pub fn established_with(
        config: &Config<A>,
        mss: u16,
        window: u16,
        tx: usize,
        rx: usize,
    ) -> Self {
        let answer = Record::new().win(window).mss(mss);
        Host::established_as(config, answer, 0, tx, rx)
    }

    fn new(conn: Connection<Buffer, SendRing<Buffer>, A>, now: Instant) -> Self {
        Host {
            conn,
            now,
            sent: VecDeque::new(),
            max_len: 1240,
        }
    }

    pub fn ms(&self) -> u64 {
        self.now.as_millis() - 1_000
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    pub fn send(&mut self, record: Record) {
        let bytes = from_peer(&record);
        let seg = parse(&bytes);
        assert!(self.conn.matches(&inward(), &seg));
        let meta = IpMeta {
            ecn: record.codepoint(),
            ..inward()
        };
        self.conn.input(self.now, &meta, &seg);
    }

    /// Checks that the connection sends `expected` next and at once, or exactly at the time that
    /// `expected` names.
    #[track_caller]
    pub fn recv(&mut self, expected: Record) -> Record {
        if let Some(ms) = expected.at_ms {
            self.run_until(ms);
        }
        self.drain();
        let Some((at, got)) = self.sent.pop_front() else {
            panic!(
                "at {} ms: nothing was sent; expected {expected:?}",
                self.ms()
            );
        };
        if expected.at_ms.is_some() {
            assert_eq!(at, self.now, "sent too early: {got:?}");
        }
        assert!(
            got.is_as(&expected),
            "at {at:?}\n     got {got:?}\nexpected {expected:?}"
        );
        got
    }

    /// Checks that the connection has nothing to send now.
    #[track_caller]
    pub fn recv_nothing(&mut self) {
        self.drain();
        if let Some((at, got)) = self.sent.front() {
            panic!("at {at:?}: expected nothing, got {got:?}");
        }
    }

    /// Advances the time to `ms` milliseconds after the start and runs the timers. Sent segments
    /// wait for [`recv`](Self::recv).
    pub fn run_until(&mut self, ms: u64) {
        let end = Instant::from_millis(1_000 + ms);
        self.drain();
        while let Some(wake) = self.conn.poll_at().filter(|wake| wake.at <= end) {
            self.now = self.now.max(wake.at);
            self.conn.on_timeout(self.now);
            self.drain();
        }
        self.now = end;
        self.conn.on_timeout(self.now);
    }

    /// Sets the time to `ms` milliseconds after the start and runs expired timers. Sends nothing,
    /// as on a busy link.
    pub fn skip_to(&mut self, ms: u64) {
        self.now = Instant::from_millis(1_000 + ms);
        self.conn.on_timeout(self.now);
    }

    /// Advances the time by `ms` milliseconds.
    pub fn wait(&mut self, ms: u64) {
        self.run_until(self.ms() + ms);
    }

    /// Lets the connection send all that it can, over a link without delay.
    pub fn drain(&mut self) {
        while let Some(desc) = self.conn.poll_segment(self.now, self.max_len) {
            let mut payload = vec![0; usize::from(desc.payload_len)];
            let read = self.conn.read(desc.token, 0, &mut payload);
            assert_eq!(read, Ok(payload.len()));
            self.conn.on_segment_sent(desc.token, self.now);
            let record = from_us(&desc.header, &payload).ecn(desc.ecn);
            self.sent.push_back((self.now, record));
        }
    }

    /// Returns all sent segments, and removes them.
    pub fn sent(&mut self) -> Vec<Record> {
        self.drain();
        self.sent.drain(..).map(|(_, record)| record).collect()
    }

    /// Writes as the application; all bytes must fit.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) {
        assert_eq!(self.conn.send(self.now, bytes), Ok(bytes.len()));
    }

    /// Reads as the application, up to `len` bytes.
    pub fn read(&mut self, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        let count = self.conn.recv(self.now, &mut out).unwrap_or(0);
        out.truncate(count);
        out
    }

    pub fn close(&mut self) {
        self.conn.close(self.now);
    }

    pub fn abort(&mut self) {
        self.conn.abort(self.now);
    }

    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.conn.poll_event()).collect()
    }
}

pub fn inward() -> IpMeta {
    IpMeta {
        src: REMOTE.addr,
        dst: LOCAL.addr,
        ecn: Ecn::NotEct,
        hop_limit: 64,
    }
}

pub fn outward() -> IpMeta {
    IpMeta {
        src: LOCAL.addr,
        dst: REMOTE.addr,
        ..inward()
    }
}

fn parse(bytes: &[u8]) -> Segment<'_> {
    Segment::parse(&inward(), bytes).expect("the script's segment is well-formed")
}

pub fn from_peer(record: &Record) -> Vec<u8> {
    record.encode(&REMOTE, &LOCAL, IRS, ISS)
}

/// Parses a segment that the connection sent, and checks its checksum.
fn from_us(header: &Header, payload: &[u8]) -> Record {
    let bytes = [header.as_bytes(), payload].concat();
    let seg = Segment::parse(&outward(), &bytes).expect("our own segment is well-formed");
    assert_eq!((seg.src_port, seg.dst_port), (LOCAL.port, REMOTE.port));
    Record::read(&seg, ISS, IRS)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
