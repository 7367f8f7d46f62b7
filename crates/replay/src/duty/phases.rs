//! Wake-up times of neighbours, learned from the copies that they acknowledged.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;

/// Neighbours whose phase is stored; Contiki's table has 30. A full table replaces the least
/// recently updated entry.
const NEIGHBOURS: usize = 16;

/// Consecutive failures after which a phase is assumed wrong (MAX_NOACKS).
const FAILURES_MAX: u8 = 16;

/// Time since the first of several consecutive failures after which a phase is assumed wrong
/// (MAX_NOACKS_TIME).
const FAILING_MAX: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
struct Phase {
    neighbour: Address,
    at: Instant,
    /// Consecutive frames without an acknowledgment; `failing_since` is the time of the first.
    failures: u8,
    failing_since: Instant,
}

#[derive(Clone, Debug)]
pub(super) struct Phases {
    entries: [Option<Phase>; NEIGHBOURS],
}

impl Phases {
    pub(super) const fn new() -> Self {
        Phases {
            entries: [None; NEIGHBOURS],
        }
    }

    /// Returns when to start a frame to `neighbour`: `guard` before its next wake-up, but not
    /// before `now`. `None` if the phase is unknown.
    pub(super) fn start(
        &self,
        now: Instant,
        neighbour: Address,
        cycle: Duration,
        guard: Duration,
    ) -> Option<Instant> {
        let mut known = self.entries.iter().flatten();
        let phase = known.find(|phase| phase.neighbour == neighbour)?;
        let cycle_us = cycle.as_micros().max(1);
        let since_us = now.since(phase.at).as_micros();
        let into_cycle = since_us.checked_rem(cycle_us).unwrap_or(0);
        let mut wait_us = cycle_us.saturating_sub(into_cycle);
        if wait_us < guard.as_micros() {
            wait_us = wait_us.saturating_add(cycle_us);
        }
        Some(now + Duration::from_micros(wait_us).minus(guard))
    }

    pub(super) fn knows(&self, neighbour: Address) -> bool {
        let mut known = self.entries.iter().flatten();
        known.any(|phase| phase.neighbour == neighbour)
    }

    pub(super) fn on_answer(&mut self, neighbour: Address, at: Instant) {
        let phase = Phase {
            neighbour,
            at,
            failures: 0,
            failing_since: at,
        };
        let place = self.entries.iter_mut().min_by_key(|entry| match entry {
            Some(entry) if entry.neighbour == neighbour => (0, Instant::ZERO),
            None => (1, Instant::ZERO),
            Some(entry) => (2, entry.at),
        });
        if let Some(place) = place {
            *place = Some(phase);
        }
    }

    pub(super) fn on_silence(&mut self, now: Instant, neighbour: Address) {
        for entry in &mut self.entries {
            let Some(phase) = entry.as_mut().filter(|it| it.neighbour == neighbour) else {
                continue;
            };
            if phase.failures == 0 {
                phase.failing_since = now;
            }
            phase.failures = phase.failures.saturating_add(1);
            if phase.failures >= FAILURES_MAX || now.since(phase.failing_since) > FAILING_MAX {
                *entry = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const B: Address = Address::Short(2);
    const CYCLE: Duration = Duration::from_millis(125);
    const GUARD: Duration = Duration::from_millis(16);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_frame_begins_a_guard_time_before_the_next_wake_up() {
        let mut phases = Phases::new();
        let start = |phases: &Phases, ms| phases.start(at(ms), B, CYCLE, GUARD);
        assert_eq!(start(&phases, 1_000), None);
        phases.on_answer(B, at(1_000));
        // The neighbour wakes up at 1,125, 1,250 and so on.
        assert_eq!(start(&phases, 1_000), Some(at(1_109)));
        assert_eq!(start(&phases, 1_109), Some(at(1_109)));
        // At 1,110, the start for the wake-up at 1,125 has passed.
        assert_eq!(start(&phases, 1_110), Some(at(1_234)));
        assert_eq!(start(&phases, 2_001), Some(at(2_109)));
        assert_eq!(
            phases.start(at(1_110), Address::Short(3), CYCLE, GUARD),
            None
        );
    }

    #[test]
    fn a_phase_that_fails_too_often_or_for_too_long_is_forgotten() {
        let mut phases = Phases::new();
        let knows = |phases: &Phases| phases.start(at(9_000), B, CYCLE, GUARD).is_some();
        phases.on_answer(B, at(1_000));
        for failure in 1..16 {
            phases.on_silence(at(1_000 + failure), B);
            assert!(knows(&phases), "{failure}");
        }
        phases.on_silence(at(1_100), B);
        assert!(!knows(&phases));

        phases.on_answer(B, at(1_000));
        phases.on_silence(at(2_000), B);
        phases.on_silence(at(32_000), B);
        assert!(knows(&phases));
        phases.on_silence(at(32_001), B);
        assert!(!knows(&phases));
        // An answer resets the count.
        phases.on_answer(B, at(1_000));
        phases.on_silence(at(2_000), B);
        phases.on_answer(B, at(20_000));
        phases.on_silence(at(40_000), B);
        assert!(knows(&phases));
    }

    #[test]
    fn a_full_table_forgets_the_neighbour_heard_longest_ago() {
        let mut phases = Phases::new();
        for neighbour in 0..=NEIGHBOURS as u16 {
            phases.on_answer(Address::Short(neighbour), at(u64::from(neighbour)));
        }
        let knows = |short| phases.start(at(9_000), Address::Short(short), CYCLE, GUARD);
        assert!(knows(0).is_none() && knows(1).is_some());
        assert!(knows(NEIGHBOURS as u16).is_some());
    }
}
