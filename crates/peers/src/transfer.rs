//! One bulk transfer in virtual time.

use redpoll_base::{Duration, Instant};
use redpoll_testkit::pattern;

use crate::link::{Link, Pipe};
use crate::meter::Meter;
use crate::packet;
use crate::peer::{Limits, Peer, Subject};

/// A transfer: side 0 sends, side 1 receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Both directions of the link.
    pub link: Link,
    /// What both stacks get.
    pub limits: Limits,
    /// Bytes to send.
    pub bytes: usize,
    /// The longest it may take.
    pub limit: Duration,
}

/// How a transfer went.
#[derive(Clone, Debug)]
pub struct Measured {
    /// From the sender's first byte given to TCP to the last one read at the
    /// other end; `None` if the connection failed or time ran out.
    pub completion: Option<Duration>,
    /// Bytes that arrived.
    pub received: usize,
    /// What passed by.
    pub meter: Meter,
    /// The sender's retransmission timeouts.
    pub timeouts: u32,
}

struct Run<'a> {
    plan: &'a Transfer,
    now: Instant,
    peers: [Box<dyn Peer>; 2],
    /// `pipes[i]` leads away from side i.
    pipes: [Pipe; 2],
    meter: Meter,
    started: Option<Instant>,
    is_lossy: bool,
    written: usize,
    read: usize,
}

impl Transfer {
    /// Runs it with one stack at both ends. The same seed gives the same run.
    ///
    /// # Panics
    ///
    /// If a byte arrives wrong, or the subject is missing.
    pub fn run(&self, subject: Subject, seed: u64) -> Measured {
        let now = Instant::from_millis(1);
        let mut run = Run {
            plan: self,
            now,
            peers: subject.open(now, &self.limits),
            pipes: ["there", "back"].map(|name| Pipe::new(self.link, seed, name)),
            meter: Meter::default(),
            started: None,
            is_lossy: false,
            written: 0,
            read: 0,
        };
        let is_complete = run.go(now + self.limit);
        Measured {
            completion: run
                .started
                .filter(|_| is_complete)
                .map(|started| run.now.since(started)),
            received: run.read,
            timeouts: run.peers[0].timeouts(),
            meter: run.meter,
        }
    }
}

impl Run<'_> {
    /// Until all was read, or it is clear that it never will be.
    fn go(&mut self, end: Instant) -> bool {
        (0..2).for_each(|side| self.attend(side));
        loop {
            let Some(next) = self.next_moment() else {
                return false;
            };
            if next > end || self.peers.iter().any(|peer| peer.has_failed()) {
                return false;
            }
            self.now = next;
            for side in 0..2 {
                while let Some(packet) = self.pipes[1 - side].receive(next) {
                    self.peers[side].input(next, &packet);
                    self.attend(side);
                }
                if self.peers[side].poll_at(next).is_some_and(|at| at <= next) {
                    self.peers[side].on_timeout(next);
                    self.attend(side);
                }
            }
            if self.read == self.plan.bytes {
                return true;
            }
        }
    }

    /// The next arrival or timer. Time always goes on, be it by a microsecond.
    fn next_moment(&mut self) -> Option<Instant> {
        let now = self.now;
        let arrivals = self.pipes.iter().filter_map(Pipe::next_arrival).min();
        let timers = self.peers.iter_mut().filter_map(|peer| peer.poll_at(now));
        let next = timers.chain(arrivals).min()?;
        Some(next.max(now + Duration::from_micros(1)))
    }

    /// After an event at `side`: its application and its packets.
    fn attend(&mut self, side: usize) {
        if side == 0 {
            self.write();
        } else {
            self.read();
        }
        if !self.is_lossy && self.peers.iter().all(|peer| peer.is_established()) {
            self.is_lossy = true;
            self.pipes.iter_mut().for_each(Pipe::lose);
        }
        while let Some(bytes) = self.peers[side].output(self.now) {
            let summary = packet::summary(&bytes);
            let len = bytes.len();
            let arrives = self.pipes[side].send(self.now, bytes);
            if side == 0 {
                self.meter.on_sender(&summary, len, arrives);
            } else {
                self.meter.on_receiver(&summary, len);
            }
        }
    }

    fn write(&mut self) {
        if !self.peers[0].is_established() {
            return;
        }
        self.started.get_or_insert(self.now);
        loop {
            let end = self
                .plan
                .bytes
                .min(self.written + self.plan.limits.buffer_bytes);
            let bytes: Vec<u8> = (self.written..end).map(|at| pattern(0, at)).collect();
            if bytes.is_empty() {
                return;
            }
            match self.peers[0].send(self.now, &bytes) {
                0 => return,
                taken => self.written += taken,
            }
        }
    }

    fn read(&mut self) {
        let mut out = [0; 2048];
        loop {
            let count = self.peers[1].recv(self.now, &mut out);
            if count == 0 {
                return;
            }
            for byte in &out[..count] {
                assert_eq!(*byte, pattern(0, self.read), "byte {} arrives", self.read);
                self.read += 1;
            }
        }
    }
}
