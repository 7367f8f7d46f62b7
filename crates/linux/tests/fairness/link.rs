//! One direction of the bottleneck: a rate, a delay, and a queue that drops packets when full.

use std::collections::VecDeque;

use redpoll_base::{Duration, Instant};

/// Bits a second, IPv6 headers included.
const RATE_BPS: u64 = 75_000;
const DELAY: Duration = Duration::from_millis(50);

pub struct Shaper {
    /// Maximum number of packets that wait or are being sent.
    queue: usize,
    busy_until: Instant,
    departures: VecDeque<Instant>,
    arrivals: VecDeque<(Instant, Vec<u8>)>,
}

impl Shaper {
    pub fn new(queue: usize) -> Self {
        Shaper {
            queue,
            busy_until: Instant::ZERO,
            departures: VecDeque::new(),
            arrivals: VecDeque::new(),
        }
    }

    /// Sends a packet; returns `false` if the queue is full.
    pub fn send(&mut self, now: Instant, packet: Vec<u8>) -> bool {
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.queue {
            return false;
        }
        let time = Duration::from_micros(packet.len() as u64 * 8 * 1_000_000 / RATE_BPS);
        self.busy_until = self.busy_until.max(now) + time;
        self.departures.push_back(self.busy_until);
        self.arrivals.push_back((self.busy_until + DELAY, packet));
        true
    }

    pub fn next_at(&self) -> Option<Instant> {
        self.arrivals.front().map(|(at, _)| *at)
    }

    pub fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.arrivals.front().filter(|(at, _)| *at <= now)?;
        self.arrivals.pop_front().map(|(_, packet)| packet)
    }
}
