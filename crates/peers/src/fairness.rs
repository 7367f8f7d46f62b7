//! The bench `fairness`: how two bulk transfers share a bottleneck whose queue
//! is so short that it drops, and which tells nobody beforehand.

use redpoll_base::{Duration, Instant, Rng};
use redpoll_testkit::pattern;

use crate::link::{Link, Pipe};
use crate::peer::{Limits, Peer, Subject};

/// Two flows through one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Both directions of the link.
    pub link: Link,
    /// What both flows' stacks get.
    pub limits: Limits,
    /// Whose flows; side 0 of each sends.
    pub flows: [Subject; 2],
    /// How long both are watched, once both have begun.
    pub time: Duration,
}

/// What became of one flow while both were there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Part {
    /// Bytes delivered.
    pub bytes: u64,
    /// Of its packets those that the full queue dropped.
    pub dropped: u64,
    /// Packets that it gave to the link.
    pub packets: u64,
    /// The sender's retransmission timeouts, also before.
    pub timeouts: u32,
}

/// Jain's index of what two flows got: 1 is even, 1/2 is all for one.
pub fn jain(parts: [u64; 2]) -> f64 {
    let [a, b] = parts.map(|part| part as f64);
    let squares = a * a + b * b;
    if squares == 0.0 {
        return 0.0;
    }
    (a + b) * (a + b) / (2.0 * squares)
}

/// A packet of a flow.
#[derive(Debug)]
struct Owned(usize, Vec<u8>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.1
    }
}

struct Flow {
    peers: [Box<dyn Peer>; 2],
    begins: Instant,
    written: usize,
    read: usize,
    part: Part,
}

struct Run {
    now: Instant,
    flows: Vec<Flow>,
    /// `pipes[i]` leads away from side i.
    pipes: [Pipe<Owned>; 2],
    buffer_bytes: usize,
    is_counting: bool,
}

/// The second flow begins by this much later, at most: the seed says when.
const LATER: Duration = Duration::from_secs(10);

impl Share {
    /// Runs it. The same seed gives the same run.
    ///
    /// # Panics
    ///
    /// If a byte arrives wrong, a connection fails, or a subject is missing.
    pub fn run(&self, seed: u64) -> [Part; 2] {
        let start = Instant::from_millis(1);
        let mut rng = Rng::named(seed, "begin");
        let second = start + Duration::from_micros(rng.below_u64(LATER.as_micros()));
        let flow = |subject: Subject, begins| Flow {
            peers: subject.open(begins, &self.limits),
            begins,
            written: 0,
            read: 0,
            part: Part::default(),
        };
        let mut run = Run {
            now: start,
            flows: vec![flow(self.flows[0], start), flow(self.flows[1], second)],
            pipes: ["there", "back"].map(|name| Pipe::new(self.link, seed, name)),
            buffer_bytes: self.limits.buffer_bytes,
            is_counting: false,
        };
        run.until(second);
        run.is_counting = true;
        run.until(second + self.time);
        [0, 1].map(|flow| Part {
            timeouts: run.flows[flow].peers[0].timeouts(),
            ..run.flows[flow].part
        })
    }
}

impl Run {
    fn until(&mut self, end: Instant) {
        self.attend_all();
        while let Some(next) = self.next_moment().filter(|next| *next <= end) {
            self.now = next;
            for side in 0..2 {
                while let Some(Owned(flow, packet)) = self.pipes[1 - side].receive(next) {
                    self.flows[flow].peers[side].input(next, &packet);
                    self.attend(flow, side);
                }
            }
            self.attend_all();
        }
        self.now = end;
        self.attend_all();
    }

    fn next_moment(&mut self) -> Option<Instant> {
        let now = self.now;
        let arrivals = self.pipes.iter().filter_map(Pipe::next_arrival).min();
        let begun = self.flows.iter_mut().filter(|flow| flow.begins <= now);
        let peers = begun.flat_map(|flow| &mut flow.peers);
        let timers = peers.filter_map(|peer| peer.poll_at(now)).min();
        let next = arrivals.into_iter().chain(timers).min()?;
        Some(next.max(now + Duration::from_micros(1)))
    }

    /// Every flow's timers, applications and packets.
    fn attend_all(&mut self) {
        for flow in 0..self.flows.len() {
            for side in 0..2 {
                let this = &mut self.flows[flow];
                if this.begins > self.now {
                    continue;
                }
                let peer = &mut this.peers[side];
                if peer.poll_at(self.now).is_some_and(|at| at <= self.now) {
                    peer.on_timeout(self.now);
                }
                self.attend(flow, side);
            }
        }
    }

    fn attend(&mut self, flow: usize, side: usize) {
        let this = &mut self.flows[flow];
        assert!(!this.peers[side].has_failed(), "flow {flow} lives on");
        if side == 0 {
            this.write(flow, self.now, self.buffer_bytes);
        } else {
            this.read(flow, self.now, self.is_counting);
        }
        while let Some(bytes) = this.peers[side].output(self.now) {
            let arrives = self.pipes[side].send(self.now, Owned(flow, bytes));
            if side == 0 && self.is_counting {
                this.part.packets += 1;
                this.part.dropped += u64::from(!arrives);
            }
        }
    }
}

impl Flow {
    fn write(&mut self, flow: usize, now: Instant, buffer_bytes: usize) {
        while self.peers[0].is_established() {
            let range = self.written..self.written + buffer_bytes;
            let bytes: Vec<u8> = range.map(|at| pattern(flow, at)).collect();
            match self.peers[0].send(now, &bytes) {
                0 => return,
                taken => self.written += taken,
            }
        }
    }

    fn read(&mut self, flow: usize, now: Instant, is_counting: bool) {
        let mut out = [0; 2048];
        loop {
            let count = self.peers[1].recv(now, &mut out);
            if count == 0 {
                return;
            }
            for byte in &out[..count] {
                assert_eq!(*byte, pattern(flow, self.read), "byte {}", self.read);
                self.read += 1;
            }
            if is_counting {
                self.part.bytes += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_between_a_half_and_one() {
        assert_eq!(jain([5, 5]), 1.0);
        assert_eq!(jain([7, 0]), 0.5);
        assert_eq!(jain([3, 1]), 0.8);
        assert_eq!(jain([0, 0]), 0.0);
    }
}
