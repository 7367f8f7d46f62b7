//! Two connections and a link that loses, repeats and reorders segments as often as its budget
//! allows, at any time. The applications write and close at once.
//!
//! In every state, each application has read a prefix of the bytes that the other one wrote,
//! and no connection has failed. From every state, if the link becomes perfect, all bytes arrive
//! and both connections end.

use redpoll_base::{Duration, Instant};
use redpoll_tcp::{Action as Listened, Config, Connection, Listener, Segment, SendRing, SeqNum};
use redpoll_tcp::{EcnUse, State};

use super::{Conn, ENDPOINTS, MSS, key_of, meta, pattern};
use crate::{Model, hash_of};

const ISS: [SeqNum; 2] = [SeqNum(u32::MAX - 100), SeqNum(0x7fff_ffa0)];
/// Number of segments that the link carries in each direction. Further segments wait at the sender.
const IN_TRANSIT: usize = 3;

/// The settings of the two ends: how they open, write and read, and which options they offer.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Bytes that each end writes before it closes.
    pub bytes: [usize; 2],
    /// Receive buffer in bytes, which is also the largest window.
    pub window: usize,
    /// Whether both ends open the connection at the same time.
    pub both_open: bool,
    /// Whether reading is an event of the model. If false, the applications read at once.
    pub slow_reader: bool,
    /// Whether both ends offer selective acknowledgments, and whether both offer timestamps.
    pub options: [bool; 2],
}

/// The budget of the link's disturbances, and the planted defects.
#[derive(Clone, Copy, Default, Debug)]
pub struct Link {
    /// Number of segments that the link may lose.
    pub lose: u8,
    /// Number of segments that the link may deliver twice.
    pub repeat: u8,
    /// Number of timers that may expire while segments are in transit, which delays these segments.
    pub delay: u8,
    /// Defect: the link delivers a repeated segment with its sequence number increased by one.
    pub shifts: bool,
    /// Defect: expired timers have no effect on this end.
    pub deaf: Option<usize>,
    /// Defect: in the final check, the link loses every segment that has FIN.
    pub eats_fin: bool,
}

/// The model of two connections and the link between them.
pub struct PairModel {
    /// The settings of the two ends.
    pub ends: Ends,
    /// The budget and the defects of the link.
    pub link: Link,
}

/// An event. The first number is the end that sent the segment.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A segment in transit arrives, possibly before earlier segments.
    Arrive(usize, usize),
    /// A segment in transit is lost.
    Lose(usize, usize),
    /// A segment in transit arrives, and a copy stays in transit.
    Repeat(usize, usize),
    /// Time passes until the next timer expires.
    Timer,
    /// The application of this end reads all received bytes.
    Read(usize),
}

struct End {
    conn: Option<Conn>,
    written: usize,
    read: usize,
    closed: bool,
}

/// Both ends and the segments in transit.
pub struct World {
    now: Instant,
    ends: [End; 2],
    transit: [Vec<Vec<u8>>; 2],
    left: Link,
}

impl World {
    /// Lets the applications and the connections do all work that is possible now.
    fn settle(&mut self, model: &PairModel, reads: bool) -> Result<(), String> {
        for side in 0..2 {
            if reads {
                self.read(side)?;
            }
            let (now, total) = (self.now, model.ends.bytes[side]);
            let end = &mut self.ends[side];
            let Some(conn) = &mut end.conn else { continue };
            if end.written < total {
                let bytes: Vec<u8> = (end.written..total).map(|at| pattern(side, at)).collect();
                end.written += conn.send(now, &bytes).unwrap_or(0);
            }
            // RFC 9293 §3.10.4: a close in SYN-SENT deletes the connection with its data.
            let is_open = conn.state() != State::SynSent;
            if is_open && end.written == total && !end.closed {
                conn.close(now);
                end.closed = true;
            }
            while conn.poll_event().is_some() {}
            while self.transit[side].len() < IN_TRANSIT {
                let Some(desc) = conn.poll_segment(now, 1240) else {
                    break;
                };
                let mut payload = vec![0; desc.payload_len.into()];
                let read = conn.read(desc.token, 0, &mut payload);
                if read != Ok(payload.len()) {
                    return Err(format!("a new segment cannot be read: {read:?}"));
                }
                conn.on_segment_sent(desc.token, now);
                self.transit[side].push([desc.header.as_bytes(), &payload].concat());
            }
        }
        self.check(model)
    }

    fn check(&self, model: &PairModel) -> Result<(), String> {
        for (side, end) in self.ends.iter().enumerate() {
            let Some(conn) = &end.conn else { continue };
            if let Some(error) = conn.error() {
                return Err(format!("end {side} failed: {error:?}"));
            }
            if end.read + conn.recv_queue() > self.ends[1 - side].written {
                return Err(format!(
                    "end {side} received bytes that the other end did not write"
                ));
            }
            if conn.recv_queue() > model.ends.window {
                return Err(format!(
                    "end {side} holds more received bytes than its window allows"
                ));
            }
        }
        Ok(())
    }

    fn read(&mut self, side: usize) -> Result<(), String> {
        let end = &mut self.ends[side];
        let Some(conn) = &mut end.conn else {
            return Ok(());
        };
        let mut out = [0; 512];
        let count = conn.recv(self.now, &mut out).unwrap_or(0);
        for byte in &out[..count] {
            let expected = pattern(1 - side, end.read);
            if *byte != expected {
                return Err(format!("end {side} reads a wrong byte {}", end.read));
            }
            end.read += 1;
        }
        Ok(())
    }

    fn arrive(&mut self, model: &PairModel, from: usize, bytes: &[u8]) -> Result<(), String> {
        let segment = Segment::parse(&meta(from), bytes)
            .map_err(|e| format!("an end sent a malformed segment: {e:?}"))?;
        let now = self.now;
        if let Some(conn) = &mut self.ends[1 - from].conn {
            conn.input(now, &meta(from), &segment);
            return Ok(());
        }
        let listener = Listener::new(ENDPOINTS[1]);
        if let Listened::Accept(request) = listener.input(&meta(from), &segment) {
            let conn = Connection::accept(
                now,
                &model.config(),
                request,
                ISS[1],
                SendRing::new(vec![0; model.ends.window]),
                vec![0; model.ends.window],
            );
            self.ends[1].conn = Some(conn);
        }
        Ok(())
    }

    fn next_timer(&self) -> Option<Instant> {
        let conns = self.ends.iter().filter_map(|end| end.conn.as_ref());
        conns
            .filter(|conn| conn.state() != State::TimeWait)
            .filter_map(Connection::poll_at)
            .map(|wake| wake.at)
            .min()
    }

    fn run_timers(&mut self, at: Instant, deaf: Option<usize>) {
        self.now = self.now.max(at);
        for (side, end) in self.ends.iter_mut().enumerate() {
            if deaf != Some(side)
                && let Some(conn) = &mut end.conn
            {
                conn.on_timeout(self.now);
            }
        }
    }

    fn is_over(&self, model: &PairModel) -> bool {
        (0..2).all(|side| {
            let end = &self.ends[side];
            let state = end.conn.as_ref().map(Connection::state);
            matches!(state, Some(State::TimeWait | State::Closed))
                && end.read == model.ends.bytes[1 - side]
        })
    }

    /// Returns a description of the state for an error message.
    fn tell(&self) -> String {
        let one = |side: usize| {
            let end = &self.ends[side];
            let state = end.conn.as_ref().map(Connection::state);
            let transit = self.transit[side].len();
            format!(
                "{state:?}, {} bytes written, {} bytes read, {transit} segments in transit",
                end.written, end.read
            )
        };
        format!("{:?}: {}; {}", self.now, one(0), one(1))
    }
}

impl PairModel {
    fn config(&self) -> Config {
        let [sack, timestamps] = self.ends.options;
        Config {
            mss: MSS,
            sack,
            timestamps,
            ecn: EcnUse::Off,
            ..Config::default()
        }
    }

    /// Returns whether the defect `eats_fin` removes this segment.
    fn eats(&self, bytes: &[u8]) -> bool {
        self.link.eats_fin && bytes.get(13).is_some_and(|flags| flags & 1 != 0)
    }
}

impl Model for PairModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        let now = Instant::from_millis(1);
        let open = |side: usize| {
            Connection::connect(
                now,
                &self.config(),
                ENDPOINTS[side],
                ENDPOINTS[1 - side],
                ISS[side],
                SendRing::new(vec![0; self.ends.window]),
                vec![0; self.ends.window],
            )
        };
        let end = |conn| End {
            conn,
            written: 0,
            read: 0,
            closed: false,
        };
        let second = self.ends.both_open.then(|| open(1));
        let mut world = World {
            now,
            ends: [end(Some(open(0))), end(second)],
            transit: [Vec::new(), Vec::new()],
            left: self.link,
        };
        world
            .settle(self, !self.ends.slow_reader)
            .expect("nothing has arrived yet");
        world
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions = Vec::new();
        for side in 0..2 {
            for at in 0..world.transit[side].len() {
                actions.push(Action::Arrive(side, at));
                if world.left.lose > 0 {
                    actions.push(Action::Lose(side, at));
                }
                if world.left.repeat > 0 {
                    actions.push(Action::Repeat(side, at));
                }
            }
            let queue = world.ends[side].conn.as_ref().map(Connection::recv_queue);
            if self.ends.slow_reader && queue.is_some_and(|queue| queue > 0) {
                actions.push(Action::Read(side));
            }
        }
        let is_idle = world.transit.iter().all(Vec::is_empty);
        if world.next_timer().is_some() && (is_idle || world.left.delay > 0) {
            actions.push(Action::Timer);
        }
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        match action {
            Action::Arrive(side, at) => {
                let bytes = world.transit[side].remove(at);
                world.arrive(self, side, &bytes)?;
            }
            Action::Lose(side, at) => {
                world.left.lose -= 1;
                world.transit[side].remove(at);
            }
            Action::Repeat(side, at) => {
                world.left.repeat -= 1;
                let bytes = world.transit[side][at].clone();
                world.arrive(self, side, &bytes)?;
                if self.link.shifts {
                    world.transit[side][at] = shifted(side, &bytes);
                }
            }
            Action::Timer => {
                if !world.transit.iter().all(Vec::is_empty) {
                    world.left.delay -= 1;
                }
                if let Some(at) = world.next_timer() {
                    world.run_timers(at, self.link.deaf);
                }
            }
            Action::Read(side) => world.read(side)?,
        }
        world.settle(self, !self.ends.slow_reader)
    }

    fn key(&self, world: &World) -> u64 {
        let conns = world
            .ends
            .each_ref()
            .map(|end| end.conn.as_ref().map(key_of));
        let apps = world.ends.each_ref().map(|end| (end.written, end.read));
        hash_of(&(world.now, conns, apps, &world.transit, world.left))
    }

    fn finish(&self, mut world: World) -> Result<(), String> {
        // More steps than a connection needs for all retransmissions.
        for _ in 0..400 {
            world.settle(self, true)?;
            if world.is_over(self) {
                return Ok(());
            }
            let mut is_idle = true;
            for side in 0..2 {
                if !world.transit[side].is_empty() {
                    let bytes = world.transit[side].remove(0);
                    is_idle = false;
                    if !self.eats(&bytes) {
                        world.now += Duration::from_millis(1);
                        world.arrive(self, side, &bytes)?;
                    }
                }
            }
            if is_idle {
                let Some(at) = world.next_timer() else {
                    return Err(format!(
                        "the connection is stuck, because no timer runs: {}",
                        world.tell()
                    ));
                };
                world.run_timers(at, self.link.deaf);
            }
        }
        Err(format!("does not end, {}", world.tell()))
    }
}

/// Returns a segment with text with its sequence number increased by one; other segments unchanged.
fn shifted(side: usize, bytes: &[u8]) -> Vec<u8> {
    use redpoll_tcp::{Fields, Header};
    let Ok(segment) = Segment::parse(&meta(side), bytes) else {
        return bytes.to_vec();
    };
    if segment.payload.is_empty() {
        return bytes.to_vec();
    }
    let fields = Fields {
        seq: segment.seq + 1,
        ack: segment.ack,
        flags: segment.flags,
        window: segment.window,
        options: segment.options,
    };
    let (src, dst) = (&ENDPOINTS[side], &ENDPOINTS[1 - side]);
    let header = Header::encode(&fields, src, dst, [segment.payload, &[]]);
    [header.as_bytes(), segment.payload].concat()
}
