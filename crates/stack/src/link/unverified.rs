//! Neighbours that may not exist.
//!
//! A frame to an address without a node occupies the radio for all retries, and the frames behind
//! it wait. Such addresses come from outside: as the destination of a packet to an on-link prefix,
//! or as the forged source of a request. A router therefore limits the packets to neighbours that
//! no route or registration names and that acknowledged nothing recently. A neighbour that did not
//! answer is not tried again for a while (RFC 4861 §7.2.2: "address unreachable"). A leaf needs no
//! such limit: all its packets except answers to neighbours go to its router.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;

/// Capacity of each list of neighbours.
const KNOWN: usize = 8;
/// How long a neighbour that did not answer is not tried again: ReachableTime (RFC 4861 §10).
const SILENCE: Duration = Duration::from_secs(30);
/// Number of packets to unverified neighbours in a burst; one more is allowed after each
/// `INTERVAL`. With the burst, a node can send to several neighbours soon after it has started.
const BURST: u8 = 4;
const INTERVAL: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub(crate) struct Unverified {
    /// Neighbours that acknowledged a frame, the latest first.
    proven: [Address; KNOWN],
    /// Neighbours that did not acknowledge a frame, each with the end of its entry. A new entry
    /// replaces the oldest. An unused entry has no address and ends at time zero.
    silent: [(Address, Instant); KNOWN],
    tokens: u8,
    refilled: Instant,
}

/// An unused entry of [`Unverified::silent`].
const UNUSED: (Address, Instant) = (Address::Absent, Instant::ZERO);

impl Unverified {
    pub(crate) const fn new() -> Self {
        Unverified {
            proven: [Address::Absent; KNOWN],
            silent: [UNUSED; KNOWN],
            tokens: BURST,
            refilled: Instant::ZERO,
        }
    }

    pub(crate) fn is_proven(&self, neighbour: Address) -> bool {
        self.proven.contains(&neighbour)
    }

    pub(crate) fn admit(&mut self, now: Instant, neighbour: Address) -> bool {
        let is_silent = |it: &(Address, Instant)| it.0 == neighbour && it.1 > now;
        if self.silent.iter().any(is_silent) {
            return false;
        }
        while self.tokens < BURST && now >= self.refilled + INTERVAL {
            self.tokens = self.tokens.saturating_add(1);
            self.refilled += INTERVAL;
        }
        if self.tokens == BURST {
            self.refilled = now;
        }
        match self.tokens.checked_sub(1) {
            Some(rest) => {
                self.tokens = rest;
                true
            }
            None => false,
        }
    }

    /// Returns whether the neighbour recently failed to answer, and removes its entry, so that the
    /// next packet is tried again.
    pub(crate) fn take_silence(&mut self, now: Instant, neighbour: Address) -> bool {
        let mut places = self.silent.iter_mut();
        let place = places.find(|it| it.0 == neighbour);
        place.is_some_and(|it| core::mem::replace(it, UNUSED).1 > now)
    }

    /// Records that a neighbour acknowledged a frame, or that the frame was given up.
    pub(crate) fn on_frame(&mut self, now: Instant, neighbour: Address, ok: bool) {
        if !ok {
            self.on_silence(now, neighbour);
            return;
        }
        let mut moved = neighbour;
        // The neighbour moves to the front; those before its old place move back by one.
        for place in &mut self.proven {
            moved = core::mem::replace(place, moved);
            if moved == neighbour {
                break;
            }
        }
        for place in &mut self.silent {
            if place.0 == neighbour {
                *place = UNUSED;
            }
        }
    }

    /// Handles a frame that was given up. A neighbour on the `proven` list only leaves that list,
    /// because links lose frames; any other neighbour is put on the `silent` list.
    fn on_silence(&mut self, now: Instant, neighbour: Address) {
        if let Some(place) = self.proven.iter_mut().find(|place| **place == neighbour) {
            *place = Address::Absent;
            return;
        }
        // Finds the neighbour's own entry; without one, the oldest entry, which is replaced.
        let mut found: Option<&mut (Address, Instant)> = None;
        for place in &mut self.silent {
            if place.0 == neighbour {
                found = Some(place);
                break;
            }
            if found.as_ref().is_none_or(|found| place.1 < found.1) {
                found = Some(place);
            }
        }
        if let Some(place) = found {
            *place = (neighbour, now + SILENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_neighbour_that_acknowledges_is_proven_and_the_oldest_is_evicted() {
        let mut unverified = Unverified::new();
        for short in 0..8 {
            unverified.on_frame(at(0), Address::Short(short), true);
        }
        unverified.on_frame(at(1), Address::Short(0), true);
        unverified.on_frame(at(2), Address::Short(9), true);
        let proven = (0..10).filter(|short| unverified.is_proven(Address::Short(*short)));
        assert!(proven.eq([0, 2, 3, 4, 5, 6, 7, 9]));
    }

    #[test]
    fn a_silent_neighbour_is_not_tried_again_for_a_limited_time() {
        let mut unverified = Unverified::new();
        let nine = Address::Short(9);
        assert!(unverified.admit(at(0), nine));
        unverified.on_frame(at(10), nine, true);
        assert!(unverified.is_proven(nine));
        unverified.on_frame(at(20), nine, false);
        assert!(!unverified.is_proven(nine));
        assert!(unverified.admit(at(30), nine), "acknowledged 20 ms ago");
        unverified.on_frame(at(40), nine, false);
        assert!(!unverified.admit(at(30_039), nine));
        assert!(unverified.admit(at(30_040), nine));
        unverified.on_frame(at(30_050), nine, false);
        unverified.on_frame(at(30_060), nine, true);
        assert!(unverified.admit(at(40_000), nine), "has acknowledged again");
    }

    #[test]
    fn the_silence_of_a_neighbour_is_reported_once() {
        let mut unverified = Unverified::new();
        let nine = Address::Short(9);
        for from in [0, 10, 100_000] {
            assert!(!unverified.take_silence(at(from), nine));
            unverified.on_frame(at(from), nine, false);
            assert!(!unverified.take_silence(at(from), Address::Short(8)));
            assert!(unverified.take_silence(at(from), nine));
        }
        unverified.on_frame(at(200_000), nine, false);
        assert!(!unverified.take_silence(at(230_000), nine), "long ago");
    }

    #[test]
    fn packets_to_unverified_neighbours_are_a_burst_and_then_one_in_two_seconds() {
        let mut unverified = Unverified::new();
        let admitted = |unverified: &mut Unverified, from: u64| {
            let asked = (from..from + 20_000).step_by(10);
            let all = asked.filter(|ms| unverified.admit(at(*ms), Address::Short(*ms as u16)));
            all.count()
        };
        assert_eq!(admitted(&mut unverified, 0), 4 + 9);
        assert_eq!(admitted(&mut unverified, 100_000), 4 + 9);
    }
}
