//! Neighbours of which nobody knows whether they exist.
//!
//! A frame to an address that nobody has takes the radio for all its retries, and who
//! waits behind it waits as long. Such addresses come from outside: the destination of
//! a packet to an on-link prefix, the forged source of a request that has to be
//! answered. What goes to neighbours that neither routes nor registrations name, and
//! that have acknowledged nothing of late, is therefore bounded, and whoever did not
//! answer is not tried again for a while (RFC 4861 §7.2.2: "address unreachable").
//! A node that is a leaf and nothing else does without: all its packets but answers to
//! neighbours go to its router.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;

/// Neighbours that are remembered, of either kind.
const KNOWN: usize = 8;
/// So long one that did not answer is not tried again: ReachableTime (RFC 4861 §10).
const SILENCE: Duration = Duration::from_secs(30);
/// Packets to strangers at once, and the time for which one more is allowed after that:
/// a node that starts beside others that it knows by address alone gets to them soon.
const BURST: u8 = 4;
const INTERVAL: Duration = Duration::from_secs(2);

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Strangers {
    /// Who acknowledged a frame, the last one first.
    proven: [Address; KNOWN],
    /// Who did not, and until when that counts; the oldest gives way.
    silent: [Option<(Address, Instant)>; KNOWN],
    tokens: u8,
    refilled: Instant,
}

impl Strangers {
    pub(crate) const fn new() -> Self {
        Strangers {
            proven: [Address::Absent; KNOWN],
            silent: [None; KNOWN],
            tokens: BURST,
            refilled: Instant::ZERO,
        }
    }

    /// Whether the neighbour has acknowledged a frame of late.
    pub(crate) fn is_proven(&self, neighbour: Address) -> bool {
        self.proven.contains(&neighbour)
    }

    /// Whether a packet may go to a neighbour that nothing is known of.
    pub(crate) fn admit(&mut self, now: Instant, neighbour: Address) -> bool {
        let is_silent = |it: &(Address, Instant)| it.0 == neighbour && it.1 > now;
        if self.silent.iter().flatten().any(is_silent) {
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

    /// Whether the neighbour did not answer of late. It is said once: what comes next is
    /// tried again.
    pub(crate) fn take_silence(&mut self, now: Instant, neighbour: Address) -> bool {
        let is_it = |it: &&mut Option<(Address, Instant)>| it.is_some_and(|it| it.0 == neighbour);
        let place = self.silent.iter_mut().find(is_it);
        place.and_then(Option::take).is_some_and(|it| it.1 > now)
    }

    /// A frame to a neighbour has ended, acknowledged or given up.
    pub(crate) fn on_frame(&mut self, now: Instant, neighbour: Address, ok: bool) {
        if !ok {
            self.on_silence(now, neighbour);
            return;
        }
        let mut moved = neighbour;
        // It comes to the front; those before its old place move back by one.
        for place in &mut self.proven {
            moved = core::mem::replace(place, moved);
            if moved == neighbour {
                break;
            }
        }
        for place in &mut self.silent {
            if place.as_ref().is_some_and(|(it, _)| *it == neighbour) {
                *place = None;
            }
        }
    }

    /// Who was there a moment ago gets another try: links lose frames.
    fn on_silence(&mut self, now: Instant, neighbour: Address) {
        if let Some(place) = self.proven.iter_mut().find(|place| **place == neighbour) {
            *place = Address::Absent;
            return;
        }
        let is_it =
            |place: &Option<(Address, Instant)>| place.as_ref().is_some_and(|it| it.0 == neighbour);
        let until = |place: &Option<(Address, Instant)>| place.as_ref().map(|it| it.1);
        // Its own place, else the oldest's.
        let mut found: Option<&mut Option<(Address, Instant)>> = None;
        for place in &mut self.silent {
            if is_it(place) {
                found = Some(place);
                break;
            }
            if found
                .as_ref()
                .is_none_or(|found| until(place) < until(found))
            {
                found = Some(place);
            }
        }
        if let Some(place) = found {
            *place = Some((neighbour, now + SILENCE));
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
    fn who_acknowledges_is_proven_and_the_oldest_is_forgotten() {
        let mut strangers = Strangers::new();
        for short in 0..8 {
            strangers.on_frame(at(0), Address::Short(short), true);
        }
        strangers.on_frame(at(1), Address::Short(0), true);
        strangers.on_frame(at(2), Address::Short(9), true);
        let proven = (0..10).filter(|short| strangers.is_proven(Address::Short(*short)));
        assert!(proven.eq([0, 2, 3, 4, 5, 6, 7, 9]));
    }

    #[test]
    fn who_did_not_answer_is_not_tried_again_for_a_while() {
        let mut strangers = Strangers::new();
        let nine = Address::Short(9);
        assert!(strangers.admit(at(0), nine));
        strangers.on_frame(at(10), nine, true);
        assert!(strangers.is_proven(nine));
        strangers.on_frame(at(20), nine, false);
        assert!(!strangers.is_proven(nine));
        assert!(strangers.admit(at(30), nine), "it was there a moment ago");
        strangers.on_frame(at(40), nine, false);
        assert!(!strangers.admit(at(30_039), nine));
        assert!(strangers.admit(at(30_040), nine));
        strangers.on_frame(at(30_050), nine, false);
        strangers.on_frame(at(30_060), nine, true);
        assert!(strangers.admit(at(40_000), nine), "it is there after all");
    }

    #[test]
    fn that_somebody_did_not_answer_is_said_once() {
        let mut strangers = Strangers::new();
        let nine = Address::Short(9);
        for from in [0, 10, 100_000] {
            assert!(!strangers.take_silence(at(from), nine));
            strangers.on_frame(at(from), nine, false);
            assert!(!strangers.take_silence(at(from), Address::Short(8)));
            assert!(strangers.take_silence(at(from), nine));
        }
        strangers.on_frame(at(200_000), nine, false);
        assert!(!strangers.take_silence(at(230_000), nine), "long ago");
    }

    #[test]
    fn packets_to_strangers_are_a_burst_and_then_one_in_two_seconds() {
        let mut strangers = Strangers::new();
        let admitted = |strangers: &mut Strangers, from: u64| {
            let asked = (from..from + 20_000).step_by(10);
            let all = asked.filter(|ms| strangers.admit(at(*ms), Address::Short(*ms as u16)));
            all.count()
        };
        assert_eq!(admitted(&mut strangers, 0), 4 + 9);
        assert_eq!(admitted(&mut strangers, 100_000), 4 + 9);
    }
}
