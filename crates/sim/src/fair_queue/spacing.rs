//! The spacing of the shaper: constant, or adapted to the number of flows with queued packets.
//!
//! Queues divide the rate equally only while they hold packets, so the shaper must be slower than
//! the mesh, whose rate depends on its routes and load. Therefore the shaper becomes slower while
//! several flows are active and more than a tenth of them have no queued packet, and faster
//! otherwise.

use std::collections::HashMap;

use redpoll_base::{Duration, Instant};

use super::Flow;

/// Minimum bytes of a packet that makes its flow active. Acknowledgments and readings of sensors
/// are smaller; their rate does not depend on the shaper.
const DATA: usize = 128;

/// A flow is active until this time after its last packet with data. This time exceeds the initial
/// retransmission timeout of a flow in a busy mesh.
const ACTIVE: Duration = Duration::from_secs(10);

/// Time between two changes of the spacing; several packets leave in this time.
const PERIOD: Duration = Duration::from_secs(1);

/// Percentage of active flows with queued packets below which the shaper becomes slower. Calibrated
/// in `grid-30` (ADR 57): 50 % or 70 % starve distant nodes; 95 % costs 25 % of total goodput.
const WAITING: usize = 90;

#[derive(Debug)]
pub(super) struct Spacing {
    shortest: Duration,
    longest: Option<Duration>,
    now: Duration,
    /// Time of each flow's last packet with data.
    active: HashMap<Flow, Instant>,
    change_at: Instant,
}

impl Spacing {
    pub(super) fn new(shortest: Duration, longest: Option<Duration>) -> Self {
        Spacing {
            shortest,
            longest: longest.map(|longest| longest.max(shortest)),
            now: shortest,
            active: HashMap::new(),
            change_at: Instant::ZERO,
        }
    }

    pub(super) fn on_packet(&mut self, now: Instant, flow: Flow, len: usize) {
        if self.longest.is_some() && len >= DATA {
            self.active.insert(flow, now);
        }
    }

    /// Returns the time until the next departure. `waits` returns whether a flow has queued
    /// packets.
    pub(super) fn at(&mut self, now: Instant, waits: impl Fn(&Flow) -> bool) -> Duration {
        let Some(longest) = self.longest else {
            return self.shortest;
        };
        if now < self.change_at {
            return self.now;
        }
        self.change_at = now + PERIOD;
        self.active.retain(|_, last| now.since(*last) < ACTIVE);
        let active = self.active.len();
        let waiting = self.active.keys().filter(|flow| waits(flow)).count();
        let step = Duration::from_micros(self.now.as_micros() / 16);
        let is_slower = active > 1 && waiting * 100 < active * WAITING;
        self.now = match is_slower {
            true => (self.now + step).min(longest),
            false => {
                Duration::from_micros(self.now.as_micros() - step.as_micros()).max(self.shortest)
            }
        };
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORTEST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_millis(40);

    /// Returns the spacing after `seconds` in which flow `n` sends a packet of `lens[n]` bytes each
    /// second and has packets in the queue if `waits[n]`.
    fn after(
        it: &mut Spacing,
        from: u64,
        seconds: u64,
        lens: &[usize],
        waits: &[bool],
    ) -> Duration {
        let mut found = Duration::ZERO;
        for second in from..from + seconds {
            let now = Instant::from_millis(1_000 * second);
            for (n, len) in lens.iter().enumerate() {
                it.on_packet(now, [n as u8; 37], *len);
            }
            found = it.at(now, |flow| waits[usize::from(flow[0])]);
        }
        found
    }

    #[test]
    fn the_spacing_grows_while_an_active_flow_has_an_empty_queue() {
        let mut it = Spacing::new(SHORTEST, Some(LONGEST));
        let once = after(&mut it, 0, 1, &[500, 500], &[true, false]);
        assert_eq!(once.as_micros(), 10_000 + 10_000 / 16);
        assert_eq!(after(&mut it, 1, 60, &[500, 500], &[true, false]), LONGEST);
        assert_eq!(after(&mut it, 61, 60, &[500, 500], &[true, true]), SHORTEST);
    }

    #[test]
    fn a_change_happens_once_a_second() {
        let mut it = Spacing::new(SHORTEST, Some(LONGEST));
        let once = after(&mut it, 0, 1, &[500, 500], &[true, false]);
        let later = it.at(Instant::from_millis(900), |_| false);
        assert_eq!(later, once);
    }

    #[test]
    fn one_flow_has_the_shortest_spacing() {
        let mut it = Spacing::new(SHORTEST, Some(LONGEST));
        after(&mut it, 0, 60, &[500, 500], &[false, false]);
        // The second flow ends, but is still counted as a flow for ten seconds.
        assert_eq!(after(&mut it, 60, 9, &[500], &[false, false]), LONGEST);
        assert_eq!(after(&mut it, 69, 60, &[500], &[false, false]), SHORTEST);
    }

    #[test]
    fn acknowledgments_and_readings_do_not_count() {
        let mut it = Spacing::new(SHORTEST, Some(LONGEST));
        let found = after(&mut it, 0, 60, &[500, 72, 127], &[true, false, false]);
        assert_eq!(found, SHORTEST);
    }

    #[test]
    fn without_a_longest_time_the_spacing_is_constant() {
        let mut it = Spacing::new(SHORTEST, None);
        assert_eq!(
            after(&mut it, 0, 60, &[500, 500], &[false, false]),
            SHORTEST
        );
        assert!(it.active.is_empty(), "no flow is recorded");
    }
}
