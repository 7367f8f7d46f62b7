//! A bad link: a seeded choice of which packets are lost, doubled or late.

use std::collections::BTreeMap;

use redpoll_base::{Duration, Instant, Rng};

/// How bad the link is, in percent of the packets, the same both ways.
#[derive(Clone, Copy, Debug)]
pub struct Badness {
    pub loss: u32,
    pub duplication: u32,
    /// Packets that are held back long enough for others to overtake them.
    pub reordering: u32,
}

/// One direction of the link: packets on their way, by the time they arrive.
#[derive(Debug)]
pub struct Direction {
    badness: Badness,
    rng: Rng,
    under_way: BTreeMap<(Instant, u64), Vec<u8>>,
    sent: u64,
    pub counters: Counters,
}

/// What the link has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub packets: u64,
    pub lost: u64,
    pub doubled: u64,
    pub held_back: u64,
}

impl Direction {
    const DELAY: Duration = Duration::from_millis(2);
    const HELD_BACK_US: u32 = 20_000;

    pub fn new(badness: Badness, rng: Rng) -> Self {
        Direction {
            badness,
            rng,
            under_way: BTreeMap::new(),
            sent: 0,
            counters: Counters::default(),
        }
    }

    pub fn send(&mut self, now: Instant, packet: &[u8]) {
        self.counters.packets += 1;
        if self.happens(self.badness.loss) {
            self.counters.lost += 1;
            return;
        }
        let copies = if self.happens(self.badness.duplication) {
            self.counters.doubled += 1;
            2
        } else {
            1
        };
        for _ in 0..copies {
            let mut at = now + Self::DELAY;
            if self.happens(self.badness.reordering) {
                self.counters.held_back += 1;
                at += Duration::from_micros(self.rng.below(Self::HELD_BACK_US).into());
            }
            self.sent += 1;
            self.under_way.insert((at, self.sent), packet.to_vec());
        }
    }

    pub fn next_at(&self) -> Option<Instant> {
        self.under_way.keys().next().map(|&(at, _)| at)
    }

    /// The next packet that has arrived by `now`.
    pub fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        let first = self.under_way.first_entry().filter(|e| e.key().0 <= now)?;
        Some(first.remove())
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.rng.below(100) < percent
    }
}
