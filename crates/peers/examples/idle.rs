//! Divides the duration of a transfer of the bench `loss`: the seconds in which the link carries
//! data, and the seconds in which it is idle, by the event that ends each pause.
//!
//! `cargo run --release -p redpoll-peers --example idle -- 15 40` runs seeds 1 to 40 at 15 % loss.
//! A third argument is the minimum retransmission timeout in milliseconds.

use std::collections::BTreeMap;

use redpoll_base::{Addr, Duration, Ecn, Instant};
use redpoll_peers::link::{Link, Pipe};
use redpoll_peers::loss;
use redpoll_tcp::{
    Action, Config, Connection, Endpoint, IpMeta, Listener, Segment, SendRing, SeqNum, State,
};

const TOTAL: usize = 1 << 20;
const ISS: u32 = 1_000;
const IPV6_LEN: usize = 40;
const ENDS: [Endpoint; 2] = [
    Endpoint::new(Addr([10; 16]), 4_000),
    Endpoint::new(Addr([11; 16]), 4_000),
];

type End = Connection<Vec<u8>>;

struct World {
    now: Instant,
    config: Config,
    buffer: usize,
    link: Link,
    pipes: [Pipe; 2],
    sender: End,
    receiver: Option<End>,
    is_lossy: bool,
    written: usize,
    read: usize,
    started: Option<Instant>,
    /// Time when the last data segment leaves the link's queue.
    busy_until: Instant,
    /// The sender's SND.UNA and, below, SND.NXT.
    una: u32,
    nxt: u32,
    arrived: BTreeMap<u32, bool>,
    event: &'static str,
    seconds: BTreeMap<&'static str, f64>,
}

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map_while(|arg| arg.parse().ok())
        .collect();
    let &[loss, seeds, ref rest @ ..] = &numbers[..] else {
        eprintln!("usage: idle LOSS_PERCENT SEEDS [MIN_RTO_MS]");
        std::process::exit(2);
    };
    let mut seconds: BTreeMap<&str, f64> = BTreeMap::new();
    let mut squares = 0.0;
    for seed in 1..=seeds {
        let parts = World::new(loss as u32, rest.first().copied(), seed).run();
        squares += parts.values().sum::<f64>().powi(2);
        for (cause, more) in parts {
            *seconds.entry(cause).or_default() += more;
        }
    }
    let total: f64 = seconds.values().sum();
    let mean = total / seeds as f64;
    let variance = (squares / seeds as f64 - mean.powi(2)).max(0.0);
    let half_width = 1.96 * (variance / (seeds as f64 - 1.0).max(1.0)).sqrt();
    println!(
        "{loss} % loss: a transfer takes {mean:.1} s (95 % interval +/- {half_width:.1} s), mean of {seeds} seeds. \
         Its parts by cause:"
    );
    for (cause, sum) in seconds {
        let (mean, share) = (sum / seeds as f64, 100.0 * sum / total);
        println!("{mean:7.1} s {share:5.1} %  {cause}");
    }
}

fn meta(to: usize, ecn: u8) -> IpMeta {
    IpMeta {
        src: ENDS[1 - to].addr,
        dst: ENDS[to].addr,
        ecn: Ecn::from_bits(ecn),
        hop_limit: 64,
    }
}

/// Returns the next packet of an end, and the length of its payload. Byte 0 of the packet holds the
/// ECN field; the rest of the IPv6 header is zero.
fn output(end: &mut End, now: Instant) -> Option<(Vec<u8>, usize)> {
    let desc = end.poll_segment(now, 1_240)?;
    let mut payload = vec![0; usize::from(desc.payload_len)];
    end.read(desc.token, 0, &mut payload)
        .expect("a new segment can be read");
    end.on_segment_sent(desc.token, now);
    let mut packet = vec![0; IPV6_LEN];
    packet[0] = desc.ecn.bits();
    packet.extend_from_slice(desc.header.as_bytes());
    packet.extend_from_slice(&payload);
    Some((packet, payload.len()))
}

/// Returns a 32-bit field of the TCP header: sequence number at 4, acknowledgment number at 8.
fn number(packet: &[u8], at: usize) -> u32 {
    let bytes = packet[IPV6_LEN + at..][..4].try_into();
    u32::from_be_bytes(bytes.expect("four bytes"))
}

impl World {
    fn new(percent: u32, least_rto_ms: Option<u64>, seed: u64) -> World {
        let transfer = loss::transfer(percent, TOTAL);
        let (link, limits) = (transfer.link, transfer.limits);
        let mut config = Config {
            // Includes the timestamps option.
            mss: limits.payload_bytes + 12,
            ..Config::default()
        };
        config.min_rto = least_rto_ms.map_or(config.min_rto, Duration::from_millis);
        let now = Instant::from_millis(1);
        let buffer = || vec![0; limits.buffer_bytes];
        let [local, remote] = ENDS;
        let iss = SeqNum(ISS);
        World {
            now,
            sender: Connection::connect(
                now,
                &config,
                local,
                remote,
                iss,
                SendRing::new(buffer()),
                buffer(),
            ),
            config,
            buffer: limits.buffer_bytes,
            link,
            pipes: ["there", "back"].map(|name| Pipe::new(link, seed, name)),
            receiver: None,
            is_lossy: false,
            written: 0,
            read: 0,
            started: None,
            busy_until: now,
            una: ISS + 1,
            nxt: ISS + 1,
            arrived: BTreeMap::new(),
            event: "",
            seconds: BTreeMap::new(),
        }
    }

    fn run(mut self) -> BTreeMap<&'static str, f64> {
        while self.read < TOTAL {
            self.attend();
            let timers = [Some(&self.sender), self.receiver.as_ref()]
                .into_iter()
                .flatten();
            let timers = timers.filter_map(|end| end.poll_at().map(|wake| wake.at));
            let arrivals = self.pipes.iter().filter_map(Pipe::next_arrival);
            let next = timers
                .chain(arrivals)
                .min()
                .expect("a timer runs or a packet is in flight");
            self.now = next.max(self.now + Duration::from_micros(1));
            self.happen();
        }
        let started = self.started.expect("the connection opened");
        let known: f64 = self.seconds.values().sum();
        let whole = self.now.since(started).as_micros() as f64 / 1e6;
        *self
            .seconds
            .entry("remaining time, such as the time after the last data segment")
            .or_default() += whole - known;
        self.seconds
    }

    /// Runs the applications, and transmits the packets of both ends.
    fn attend(&mut self) {
        let is_open = |end: &End| end.state() == State::Established;
        if is_open(&self.sender) {
            self.started.get_or_insert(self.now);
            let rest = (TOTAL - self.written).min(self.buffer);
            let taken = self.sender.send(self.now, &vec![b'x'; rest]);
            self.written += taken.unwrap_or(0);
        }
        if let Some(receiver) = &mut self.receiver {
            let mut out = [0; 4_096];
            self.read += receiver.recv(self.now, &mut out).unwrap_or(0);
            if !self.is_lossy && is_open(&self.sender) && is_open(receiver) {
                self.is_lossy = true;
                self.pipes.iter_mut().for_each(Pipe::lose);
            }
        }
        while let Some((packet, len)) = output(&mut self.sender, self.now) {
            self.send(packet, len);
        }
        while let Some((packet, _)) = self.receiver.as_mut().and_then(|end| output(end, self.now)) {
            self.pipes[1].send(self.now, packet);
        }
    }

    fn add(&mut self, cause: &'static str, time: Duration) {
        *self.seconds.entry(cause).or_default() += time.as_micros() as f64 / 1e6;
    }

    /// Transmits the sender's packet, and adds the idle time of the link before the packet.
    fn send(&mut self, packet: Vec<u8>, len: usize) {
        let (seq, bits) = (number(&packet, 4), packet.len() as u64 * 8);
        let arrives = self.pipes[0].send(self.now, packet);
        if len == 0 {
            return;
        }
        let begins = self.busy_until.max(self.now);
        if self.is_lossy && self.nxt > ISS + 1 {
            self.add(self.event, begins.since(self.busy_until));
        }
        let time = Duration::from_micros((bits * 1_000_000).div_ceil(self.link.rate_bps));
        self.busy_until = begins + time;
        let has_arrived = self.arrived.entry(seq).or_default();
        let cause = match (arrives, *has_arrived) {
            (false, _) => "link busy: data that the link loses",
            (true, false) => "link busy: data that arrives for the first time",
            (true, true) => "link busy: data that the receiver already has",
        };
        *has_arrived |= arrives;
        self.nxt = self.nxt.max(seq + len as u32);
        self.add(cause, time);
    }

    /// Handles an arrived packet, or the expired timers.
    fn happen(&mut self) {
        let now = self.now;
        if let Some(packet) = self.pipes[0].receive(now) {
            let meta = meta(1, packet[0]);
            let seg =
                Segment::parse(&meta, &packet[IPV6_LEN..]).expect("the segment is well formed");
            if let Some(end) = &mut self.receiver {
                end.input(now, &meta, &seg);
            } else if let Action::Accept(request) = Listener::new(ENDS[1]).input(&meta, &seg) {
                let (tx, rx) = (vec![0; self.buffer], vec![0; self.buffer]);
                let end = Connection::accept(
                    now,
                    &self.config,
                    request,
                    SeqNum(2_000),
                    SendRing::new(tx),
                    rx,
                );
                self.receiver = Some(end);
            }
        } else if let Some(packet) = self.pipes[1].receive(now) {
            let segment = u32::from(self.config.mss - 12);
            let is_full = self.sender.info().in_flight + segment > self.sender.info().cwnd;
            let meta = meta(0, packet[0]);
            let seg =
                Segment::parse(&meta, &packet[IPV6_LEN..]).expect("the segment is well formed");
            self.sender.input(now, &meta, &seg);
            self.una = self.una.max(number(&packet, 8));
            self.event = if is_full {
                "idle until an ACK: the congestion window is full"
            } else {
                "idle until an ACK: the send buffer is full"
            };
        } else {
            if let Some(end) = &mut self.receiver {
                end.on_timeout(now);
            }
            if self.sender.poll_at().is_some_and(|wake| wake.at <= now) {
                self.time_out();
            }
        }
    }

    fn time_out(&mut self) {
        let before = self.sender.stats().rtos;
        self.sender.on_timeout(self.now);
        let is_rto = self.sender.stats().rtos > before;
        self.event = match (is_rto, self.arrived.get(&self.una)) {
            (true, Some(true)) => "idle until a timeout: ACKs were lost",
            (true, _) => "idle until a timeout: data was lost",
            (false, _) => "idle until a tail loss probe or the reordering timer",
        };
    }
}
