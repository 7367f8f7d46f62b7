//! The Seed Set (RFC 7731 §5.1): for each seed, the numbers of messages that were processed.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ipv6::mpl::SeedId;

/// Memory for a seed.
#[derive(Clone, Copy, Debug)]
pub struct SeedSlot(Option<Seed>);

impl SeedSlot {
    /// A free slot.
    pub const EMPTY: SeedSlot = SeedSlot(None);
}

#[derive(Clone, Copy, Debug)]
struct Seed {
    id: SeedId,
    /// MinSequence: messages with smaller numbers were processed.
    first: u8,
    until: Instant,
}

/// The state of a message according to the entry of its seed.
pub(super) enum Known {
    /// The message is new: its number is not below MinSequence. Place of the entry.
    New(usize),
    /// The message was processed before.
    Old,
    /// The table has no entry for the seed, and no room for one.
    NoRoom,
}

#[derive(Debug)]
pub(super) struct Seeds<T>(T);

impl<T: AsRef<[SeedSlot]> + AsMut<[SeedSlot]>> Seeds<T> {
    pub(super) fn new(slots: T) -> Self {
        Seeds(slots)
    }

    /// Finds the entry of a seed, or creates it with this message as its first one.
    pub(super) fn know(
        &mut self,
        now: Instant,
        id: SeedId,
        sequence: u8,
        lifetime: Duration,
    ) -> Known {
        let slots = self.0.as_mut();
        let until = now + lifetime;
        let is_current = |seed: &Seed| seed.until > now;
        let same = |slot: &SeedSlot| slot.0.as_ref().is_some_and(|s| s.id == id && is_current(s));
        if let Some(place) = slots.iter().position(same) {
            let seed = slots.get_mut(place).and_then(|slot| slot.0.as_mut());
            return match seed {
                Some(seed) if !is_before(sequence, seed.first) => {
                    seed.until = until;
                    Known::New(place)
                }
                _ => Known::Old,
            };
        }
        let is_free = |slot: &SeedSlot| !slot.0.as_ref().is_some_and(is_current);
        let place = slots.iter().position(is_free);
        let free = place.and_then(|place| Some((place, slots.get_mut(place)?)));
        let Some((place, slot)) = free else {
            return Known::NoRoom;
        };
        let first = sequence;
        slot.0 = Some(Seed { id, first, until });
        Known::New(place)
    }

    pub(super) fn first(&self, place: usize) -> Option<u8> {
        Some(self.0.as_ref().get(place)?.0?.first)
    }

    /// Advances MinSequence of the entry at `place` to `first`, unless it is already higher.
    pub(super) fn advance(&mut self, place: usize, first: u8) {
        let slot = self.0.as_mut().get_mut(place);
        if let Some(seed) = slot.and_then(|slot| slot.0.as_mut())
            && !is_before(first, seed.first)
        {
            seed.first = first;
        }
    }
}

/// Returns whether `one` is less than `other` (RFC 1982 with 8 bits).
fn is_before(one: u8, other: u8) -> bool {
    one.wrapping_sub(other) >= 0x80
}
