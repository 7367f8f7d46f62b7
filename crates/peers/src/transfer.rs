//! A bulk transfer in virtual time.

use redpoll_base::{Duration, Instant};
use redpoll_testkit::pattern;

use crate::link::{Link, Pipe};
use crate::meter::Meter;
use crate::packet;
use crate::peer::{Limits, Peer};
use crate::subject::{Subject, open_between};

/// A transfer from side 0 to side 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Parameters of the link, the same in both directions.
    pub link: Link,
    pub limits: Limits,
    pub bytes: usize,
    pub limit: Duration,
    /// Length in bytes of a block, after which the sender waits for an answer of one byte; `None`
    /// without answers. `bytes` is a multiple of this length.
    pub block: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Measured {
    /// Time from the first byte given to TCP to the last byte read by the receiver; `None` if the
    /// connection failed or the time limit passed.
    pub completion: Option<Duration>,
    pub received: usize,
    pub meter: Meter,
    pub timeouts: u32,
    /// The longest time from the moment at which the receiver passes an answer to TCP until the
    /// sender reads the answer.
    pub longest_answer: Duration,
}

struct Run<'a> {
    plan: &'a Transfer,
    now: Instant,
    peers: [Box<dyn Peer>; 2],
    pipes: [Pipe; 2],
    meter: Meter,
    started: Option<Instant>,
    is_lossy: bool,
    written: usize,
    read: usize,
    /// Number of answers passed to TCP; `answered_at` is the time of the last one.
    answered: usize,
    answered_at: Instant,
    heard: usize,
    longest_answer: Duration,
}

impl Transfer {
    /// Runs the transfer with one stack at both ends. The same seed gives the same run. Panics if a
    /// byte is corrupted, or the subject is missing.
    pub fn run(&self, subject: Subject, seed: u64) -> Measured {
        self.run_between([subject, subject], seed)
    }

    /// Runs the transfer from one stack to another. Panics if a byte is corrupted, or a subject is
    /// missing.
    pub fn run_between(&self, subjects: [Subject; 2], seed: u64) -> Measured {
        let now = Instant::from_millis(1);
        let mut run = Run {
            plan: self,
            now,
            peers: open_between(subjects, now, &self.limits),
            pipes: ["there", "back"].map(|name| Pipe::new(self.link, seed, name)),
            meter: Meter::default(),
            started: None,
            is_lossy: false,
            written: 0,
            read: 0,
            answered: 0,
            answered_at: now,
            heard: 0,
            longest_answer: Duration::ZERO,
        };
        let is_complete = run.go(now + self.limit);
        Measured {
            completion: run
                .started
                .filter(|_| is_complete)
                .map(|started| run.now.since(started)),
            received: run.read,
            timeouts: run.peers[0].timeouts(),
            longest_answer: run.longest_answer,
            meter: run.meter,
        }
    }
}

impl Run<'_> {
    /// Runs until the receiver has read all bytes, an end fails, or the time reaches `end`.
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
            if self.is_done() {
                return true;
            }
        }
    }

    fn is_done(&self) -> bool {
        let blocks = self.plan.block.map_or(0, |block| self.plan.bytes / block);
        self.read == self.plan.bytes && self.heard >= blocks
    }

    /// Returns the time of the next arrival or timer, at least a microsecond later.
    fn next_moment(&mut self) -> Option<Instant> {
        let now = self.now;
        let arrivals = self.pipes.iter().filter_map(Pipe::next_arrival).min();
        let timers = self.peers.iter_mut().filter_map(|peer| peer.poll_at(now));
        let next = timers.chain(arrivals).min()?;
        Some(next.max(now + Duration::from_micros(1)))
    }

    fn attend(&mut self, side: usize) {
        if side == 0 {
            self.hear();
            self.write();
        } else {
            self.read();
            self.answer();
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
        let may = match self.plan.block {
            Some(block) => self.plan.bytes.min((self.heard + 1) * block),
            None => self.plan.bytes,
        };
        loop {
            let end = may.min(self.written + self.plan.limits.buffer_bytes);
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

    /// Answers each complete block with one byte, in the role of the receiver's application.
    fn answer(&mut self) {
        let Some(block) = self.plan.block else { return };
        while self.answered < self.read / block
            && self.peers[1].send(self.now, &[pattern(1, self.answered)]) == 1
        {
            self.answered += 1;
            self.answered_at = self.now;
        }
    }

    fn hear(&mut self) {
        let mut out = [0; 16];
        loop {
            let count = self.peers[0].recv(self.now, &mut out);
            if count == 0 {
                return;
            }
            for byte in &out[..count] {
                assert_eq!(
                    *byte,
                    pattern(1, self.heard),
                    "byte {} of the receiver's answers is wrong",
                    self.heard
                );
                self.heard += 1;
                let took = self.now.since(self.answered_at);
                self.longest_answer = self.longest_answer.max(took);
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
                assert_eq!(
                    *byte,
                    pattern(0, self.read),
                    "byte {} of the data is wrong",
                    self.read
                );
                self.read += 1;
            }
        }
    }
}
