//! A bad link: a seeded generator chooses packets that are lost, duplicated or reordered.

use std::collections::BTreeMap;

use redpoll_base::{Duration, Instant, Rng};

/// Defects of the link, in percent of the packets.
#[derive(Clone, Copy, Default, Debug)]
pub struct Badness {
    pub loss: u32,
    pub duplication: u32,
    /// Percentage of packets that are held back long enough for others to overtake them.
    pub reordering: u32,
}

/// A direction of a link: packets in transit, by the time of their arrival.
#[derive(Debug)]
pub struct Wire {
    /// Time from sending to arrival.
    delay: Duration,
    badness: Badness,
    rng: Rng,
    under_way: BTreeMap<(Instant, u64), Vec<u8>>,
    sent: u64,
    pub counters: WireCounters,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct WireCounters {
    pub packets: u64,
    /// Packets that never arrive.
    pub lost: u64,
    pub doubled: u64,
    /// Packets, copies included, that others may overtake.
    pub held_back: u64,
}

impl Wire {
    /// Largest additional delay of a held-back packet, as a multiple of the normal delay.
    const HELD_BACK: u64 = 10;

    /// Returns an empty wire. The same generator gives the same losses.
    pub fn new(delay: Duration, badness: Badness, rng: Rng) -> Self {
        Wire {
            delay,
            badness,
            rng,
            under_way: BTreeMap::new(),
            sent: 0,
            counters: WireCounters::default(),
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
            let mut at = now + self.delay;
            if self.happens(self.badness.reordering) {
                self.counters.held_back += 1;
                let most = self.delay.times(Self::HELD_BACK).as_micros();
                at += Duration::from_micros(self.rng.below_u64(most));
            }
            self.sent += 1;
            self.under_way.insert((at, self.sent), packet.to_vec());
        }
    }

    pub fn next_at(&self) -> Option<Instant> {
        self.under_way.keys().next().map(|&(at, _)| at)
    }

    /// Returns the next packet that has arrived by `now`.
    pub fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        let first = self.under_way.first_entry().filter(|e| e.key().0 <= now)?;
        Some(first.remove())
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.rng.below(100) < percent
    }
}
