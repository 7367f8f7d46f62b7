//! Two connections and a bad link between them, in virtual time.

mod freeze;
mod plan;
mod service;
mod side;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use redpoll_base::{Duration, Ecn, Instant, Rng};
use redpoll_tcp::{
    Action, Config, Connection, Event, IpMeta, Listener, Segment, SendRing, SeqNum, State, Stats,
};

use crate::host::{Buffer, LOCAL, REMOTE};
pub use plan::{Link, Plan};
use side::Side;

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
    /// The link from this side has read the first half of the segment with this number.
    Half(usize, u32),
    /// The link from this side has finished the service of the segment with this number.
    Served(usize, u32),
    /// The packet with this number arrives at this side.
    Arrive(usize, usize),
    Read(usize),
    /// This side's frozen connection continues.
    Thaw(usize),
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
    /// connection violates the documentation of its interface.
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
