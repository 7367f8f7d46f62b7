//! Two connections and a bad link between them, in virtual time.

mod freeze;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use redpoll_base::{Duration, Ecn, Instant, Rng};
use redpoll_tcp::{
    Action, Config, Connection, Event, IpMeta, Listener, Segment, SegmentDesc, SendRing, SeqNum,
    State, Stats,
};

use crate::host::{Buffer, LOCAL, REMOTE};

/// The effect of a link on segments, in one direction.
///
/// Probabilities are per thousand. The link serves one segment at a time, as
/// a radio does, and reads its payload in two halves while it does so.
#[derive(Clone, Debug)]
pub struct Link {
    /// Time from the end of a segment's service to its arrival.
    pub latency: Duration,
    /// Time to serve one byte. The service time of a segment is that of all its bytes.
    pub per_byte: Duration,
    /// Segments that vanish although the link reported them sent.
    pub loss: u32,
    /// Segments that arrive twice.
    pub duplicate: u32,
    /// Segments that are held up by up to `reorder_by`.
    pub reorder: u32,
    pub reorder_by: Duration,
    /// Segments that the link gives up, and reports as lost.
    pub give_up: u32,
    /// Numbers of the segments that are lost in any case, counted from 0 in this direction.
    pub lose: Vec<u32>,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            latency: Duration::from_millis(10),
            per_byte: Duration::from_micros(40),
            loss: 0,
            duplicate: 0,
            reorder: 0,
            reorder_by: Duration::from_millis(200),
            give_up: 0,
            lose: Vec::new(),
        }
    }
}

/// The plan of a side's application.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bytes to send; then the application closes.
    pub send: usize,
    pub chunk: usize,
    /// Time for which the application waits before it reads the received bytes; zero: at once.
    pub read_pause: Duration,
    pub read_chunk: usize,
    /// Send and receive buffers, in bytes.
    pub buffers: (usize, usize),
    /// Number of events per thousand after which this end's connection is frozen, if its state
    /// allows freezing.
    pub freeze: u32,
    /// Number of the event of the run, from 0, after which this end's connection is frozen, if its
    /// state allows freezing.
    pub freeze_at: Option<u32>,
    /// Maximum time for which the connection is frozen. Segments that arrive meanwhile are lost.
    pub sleep: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            send: 0,
            chunk: usize::MAX,
            read_pause: Duration::ZERO,
            read_chunk: usize::MAX,
            buffers: (1848, 1848),
            freeze: 0,
            freeze_at: None,
            sleep: Duration::ZERO,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Both ends are in TIME-WAIT or CLOSED and have read everything.
    Done,
    Late,
    /// No event is left, although the run has not ended.
    Deadlock,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub outcome: Outcome,
    pub at: Instant,
    /// Counters of the active opener and of the passive opener.
    pub stats: [Stats; 2],
    pub states: [Option<State>; 2],
    pub read: [usize; 2],
    /// Events so far: arrivals, link actions, reads, timers.
    pub events: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The link from this side has read the first half of its segment of this number.
    Half(usize, u32),
    /// The link from this side has finished the service of this segment.
    Served(usize, u32),
    /// The packet with this number arrives at this side.
    Arrive(usize, usize),
    Read(usize),
    /// This side's frozen connection continues.
    Thaw(usize),
}

struct InService {
    number: u32,
    desc: SegmentDesc,
    bytes: Vec<u8>,
    gone: bool,
}

struct Side {
    conn: Option<Connection<Buffer>>,
    plan: Plan,
    link: Link,
    serving: Option<InService>,
    taken: u32,
    served: u32,
    /// The time at which its connection was frozen, and the frozen bytes.
    frozen: Option<(Instant, Vec<u8>)>,
    /// Number of times that the connection was frozen.
    freezes: u32,
    written: usize,
    closed: bool,
    read: usize,
    end_of_stream: bool,
    read_armed: bool,
}

/// Two connections over a link. Side 0 opens actively, side 1 passively.
pub struct Pair {
    now: Instant,
    rng: Rng,
    config: Config,
    sides: [Side; 2],
    queue: BinaryHeap<Reverse<(Instant, u64, What)>>,
    order: u64,
    packets: Vec<Vec<u8>>,
    events: u32,
    /// Prints every packet when true.
    pub verbose: bool,
}

/// Returns byte `offset` of the stream that side `side` sends.
pub fn pattern(side: usize, offset: usize) -> u8 {
    let x = (offset as u32)
        .wrapping_mul(2_654_435_761)
        .wrapping_add(side as u32 * 97);
    (x >> 13) as u8
}

impl Pair {
    /// Returns two ends that follow `plans` over `links`; `links[i]` leads from side i. The same
    /// seed gives the same run.
    pub fn new(seed: u64, config: &Config, links: [Link; 2], plans: [Plan; 2]) -> Pair {
        let now = Instant::from_millis(1);
        let [link0, link1] = links;
        let [plan0, plan1] = plans;
        let (tx, rx) = plan0.buffers;
        let iss = SeqNum(u32::MAX - 2_000);
        let client = Connection::connect(
            now,
            config,
            LOCAL,
            REMOTE,
            iss,
            SendRing::new(vec![0; tx]),
            vec![0; rx],
        );
        Pair {
            now,
            rng: Rng::named(seed, "pair"),
            config: config.clone(),
            sides: [
                Side::new(Some(client), plan0, link0),
                Side::new(None, plan1, link1),
            ],
            queue: BinaryHeap::new(),
            order: 0,
            packets: Vec::new(),
            events: 0,
            verbose: false,
        }
    }

    pub fn conn(&self, side: usize) -> Option<&Connection<Buffer>> {
        self.sides[side].conn.as_ref()
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    /// Runs until both sides are done, for `limit` at most. Panics if a byte arrives wrong, or a
    /// connection breaks a promise of its interface.
    pub fn run(&mut self, limit: Duration) -> Report {
        let end = self.now + limit;
        let outcome = loop {
            self.pump();
            if (0..2).all(|side| self.is_done(side)) {
                break Outcome::Done;
            }
            let Some(next) = self.next_moment() else {
                break Outcome::Deadlock;
            };
            if next > end {
                break Outcome::Late;
            }
            self.now = self.now.max(next);
            self.step();
        };
        let stats = |side: usize| {
            self.conn(side)
                .map(|conn| *conn.stats())
                .unwrap_or_default()
        };
        Report {
            outcome,
            at: self.now,
            stats: [stats(0), stats(1)],
            states: [0, 1].map(|side| self.conn(side).map(Connection::state)),
            read: [0, 1].map(|side| self.sides[side].read),
            events: self.events,
        }
    }

    fn next_moment(&self) -> Option<Instant> {
        let queued = self.queue.peek().map(|Reverse((at, ..))| *at);
        let timers = self
            .sides
            .iter()
            .filter_map(|side| side.conn.as_ref()?.poll_at());
        timers.map(|wake| wake.at).chain(queued).min()
    }

    fn is_done(&self, side: usize) -> bool {
        let Some(conn) = self.conn(side) else {
            return false;
        };
        let finished = matches!(conn.state(), State::TimeWait | State::Closed);
        finished && self.sides[side].end_of_stream || conn.error().is_some()
    }

    fn schedule(&mut self, at: Instant, what: What) {
        self.order += 1;
        self.queue.push(Reverse((at, self.order, what)));
    }

    fn step(&mut self) {
        let now = self.now;
        let mut ran_out = false;
        for side in &mut self.sides {
            if let Some(conn) = &mut side.conn {
                ran_out |= conn.poll_at().is_some_and(|wake| wake.at <= now);
                conn.on_timeout(now);
            }
        }
        if ran_out {
            self.after_event();
        }
        while let Some(Reverse((at, _, what))) = self.queue.peek().copied() {
            if at > now {
                break;
            }
            self.queue.pop();
            match what {
                What::Half(side, number) if self.serves(side, number) => self.read_half(side, 0),
                What::Served(side, number) if self.serves(side, number) => self.on_served(side),
                What::Half(..) | What::Served(..) => {}
                What::Thaw(side) => self.thaw(side),
                What::Arrive(side, packet) => self.on_arrival(side, packet),
                What::Read(side) => {
                    self.sides[side].read_armed = false;
                    self.sides[side].read_some(side, now);
                }
            }
            self.after_event();
        }
    }

    /// Lets applications act, and may freeze connections.
    fn after_event(&mut self) {
        self.run_apps();
        for side in 0..2 {
            self.freeze(side);
        }
        self.events += 1;
    }

    fn serves(&self, side: usize, number: u32) -> bool {
        let serving = self.sides[side].serving.as_ref();
        serving.is_some_and(|serving| serving.number == number)
    }

    /// Lets the applications and the links do all they can do now.
    fn pump(&mut self) {
        self.run_apps();
        for side in 0..2 {
            self.start_service(side);
        }
    }

    fn run_apps(&mut self) {
        for side in 0..2 {
            let now = self.now;
            let this = &mut self.sides[side];
            this.write_some(side, now);
            if this.plan.read_pause.is_zero() {
                this.read_some(side, now);
            } else if !this.read_armed {
                this.read_armed = true;
                let at = now + this.plan.read_pause;
                self.schedule(at, What::Read(side));
            }
            if let Some(conn) = &mut self.sides[side].conn {
                while let Some(event) = conn.poll_event() {
                    if let Event::Failed(error) = event {
                        assert_eq!(conn.error(), Some(error));
                    }
                }
            }
        }
    }

    fn start_service(&mut self, side: usize) {
        let now = self.now;
        let this = &mut self.sides[side];
        if this.serving.is_some() {
            return;
        }
        let Some(desc) = this
            .conn
            .as_mut()
            .and_then(|conn| conn.poll_segment(now, 1240))
        else {
            return;
        };
        let len = desc.header.as_bytes().len() + usize::from(desc.payload_len);
        let time = this
            .link
            .per_byte
            .times(len as u64)
            .max(Duration::from_micros(1));
        let number = this.taken;
        this.taken += 1;
        this.serving = Some(InService {
            number,
            desc,
            bytes: Vec::new(),
            gone: false,
        });
        self.schedule(now + time.divided_by(2), What::Half(side, number));
        self.schedule(now + time, What::Served(side, number));
    }

    /// Reads half of the payload in service; part 1 is the second half.
    fn read_half(&mut self, side: usize, part: usize) {
        let this = &mut self.sides[side];
        let (Some(serving), Some(conn)) = (&mut this.serving, &this.conn) else {
            return;
        };
        let len = usize::from(serving.desc.payload_len);
        let (from, to) = if part == 0 {
            (0, len / 2)
        } else {
            (len / 2, len)
        };
        let mut piece = vec![0; to - from];
        match conn.read(serving.desc.token, from, &mut piece) {
            Ok(count) => {
                assert_eq!(count, piece.len(), "a pinned range is there as a whole");
                serving.bytes.extend(piece);
            }
            Err(_) => serving.gone = true,
        }
    }

    fn on_served(&mut self, side: usize) {
        self.read_half(side, 1);
        let now = self.now;
        let this = &mut self.sides[side];
        let (Some(serving), Some(conn)) = (this.serving.take(), this.conn.as_mut()) else {
            return;
        };
        let token = serving.desc.token;
        let number = this.served;
        this.served += 1;
        let mut draw = |per_thousand: u32| self.rng.below(1000) < per_thousand;
        if draw(this.link.give_up) || serving.gone {
            conn.on_segment_lost(token, now);
            return;
        }
        conn.on_segment_sent(token, now);
        let lost = draw(this.link.loss) || this.link.lose.contains(&number);
        let copies = if draw(this.link.duplicate) { 2 } else { 1 };
        let held_up = draw(this.link.reorder);
        let (latency, hold) = (this.link.latency, this.link.reorder_by);
        let bytes = [serving.desc.header.as_bytes(), &serving.bytes].concat();
        if self.verbose {
            let meta = meta_from(side);
            let seg = Segment::parse(&meta, &bytes).expect("a segment of ours");
            eprintln!(
                "{:?} {side}{} {:?} seq {:?} ack {:?} win {} len {}",
                now,
                if lost { " LOST" } else { "" },
                seg.flags,
                seg.seq,
                seg.ack,
                seg.window,
                seg.payload.len()
            );
        }
        if lost {
            return;
        }
        for _ in 0..copies {
            let extra = if held_up {
                self.rng.below_u64(hold.as_micros())
            } else {
                0
            };
            let at = now + latency + Duration::from_micros(extra);
            self.packets.push(bytes.clone());
            self.schedule(at, What::Arrive(1 - side, self.packets.len() - 1));
        }
    }

    fn on_arrival(&mut self, side: usize, packet: usize) {
        let bytes = std::mem::take(&mut self.packets[packet]);
        let meta = meta_from(1 - side);
        let seg = Segment::parse(&meta, &bytes)
            .expect("a segment whose range of bytes was combined from pieces is well formed");
        let now = self.now;
        if let Some(conn) = &mut self.sides[side].conn {
            return conn.input(now, &meta, &seg);
        }
        if self.sides[side].frozen.is_some() {
            return;
        }
        let listener = Listener::new(REMOTE);
        if let Action::Accept(request) = listener.input(&meta, &seg) {
            let (tx, rx) = self.sides[side].plan.buffers;
            let iss = SeqNum(u32::MAX - 500);
            let conn = Connection::accept(
                now,
                &self.config,
                request,
                iss,
                SendRing::new(vec![0; tx]),
                vec![0; rx],
            );
            self.sides[side].conn = Some(conn);
        }
    }
}

impl Side {
    fn new(conn: Option<Connection<Buffer>>, plan: Plan, link: Link) -> Side {
        Side {
            conn,
            plan,
            link,
            serving: None,
            taken: 0,
            served: 0,
            frozen: None,
            freezes: 0,
            written: 0,
            closed: false,
            read: 0,
            end_of_stream: false,
            read_armed: false,
        }
    }

    fn write_some(&mut self, side: usize, now: Instant) {
        let Some(conn) = &mut self.conn else { return };
        while self.written < self.plan.send && conn.send_room() > 0 {
            let len = self
                .plan
                .chunk
                .min(self.plan.send - self.written)
                .min(conn.send_room());
            let bytes: Vec<u8> = (self.written..self.written + len)
                .map(|at| pattern(side, at))
                .collect();
            match conn.send(now, &bytes) {
                Ok(count) => self.written += count,
                Err(_) => return,
            }
        }
        // Do not close in SYN-SENT, where CLOSE deletes the connection (RFC 9293 §3.10.4).
        let opening = conn.state() == State::SynSent;
        if self.written == self.plan.send && !self.closed && !opening {
            self.closed = true;
            conn.close(now);
        }
    }

    fn read_some(&mut self, side: usize, now: Instant) {
        let Some(conn) = &mut self.conn else { return };
        let once = !self.plan.read_pause.is_zero();
        loop {
            let mut out = vec![0; self.plan.read_chunk.min(4096)];
            match conn.recv(now, &mut out) {
                Ok(0) => {
                    self.end_of_stream = true;
                    return;
                }
                Ok(count) => {
                    for byte in &out[..count] {
                        assert_eq!(*byte, pattern(1 - side, self.read), "byte {}", self.read);
                        self.read += 1;
                    }
                }
                Err(_) => return,
            }
            if once {
                return;
            }
        }
    }
}

fn meta_from(side: usize) -> IpMeta {
    let (src, dst) = if side == 0 {
        (LOCAL, REMOTE)
    } else {
        (REMOTE, LOCAL)
    };
    IpMeta {
        src: src.addr,
        dst: dst.addr,
        ecn: Ecn::NotEct,
        hop_limit: 64,
    }
}
