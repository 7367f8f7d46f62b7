//! Pinned segments: those that the link is sending right now.
//!
//! A segment lives on the link for tens of milliseconds to seconds while its
//! fragments wait for the radio. Its bytes must not change or vanish in that
//! time, and it must not be sent twice. A pin says so for one range of
//! sequence numbers, SYN and FIN included, until the link is done with it.

use crate::{SeqNum, SeqRange};

/// How many segments the link may hold at once.
const PINS: usize = 4;

/// Names a segment between [`poll_segment`](crate::Connection::poll_segment)
/// and the report that it was sent or lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    slot: u8,
    generation: u8,
}

impl Token {
    /// For segments that occupy no sequence number: there is nothing to pin.
    pub(crate) const UNPINNED: Token = Token {
        slot: u8::MAX,
        generation: 0,
    };

    /// The token as a number, for callers that keep it in a handle of theirs.
    pub const fn to_bits(self) -> u16 {
        u16::from_be_bytes([self.slot, self.generation])
    }

    /// The token of which [`to_bits`](Self::to_bits) gave this number.
    pub const fn from_bits(bits: u16) -> Token {
        let [slot, generation] = bits.to_be_bytes();
        Token { slot, generation }
    }

    pub(crate) fn is_unpinned(self) -> bool {
        self == Token::UNPINNED
    }
}

/// Why a segment was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PinKind {
    /// For the first time.
    First,
    /// Again, at least in part.
    Again,
    /// To probe a closed window.
    Probe,
}

/// A pinned range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pin {
    start: SeqNum,
    len: u16,
    kind: PinKind,
}

impl Pin {
    pub(crate) fn range(&self) -> SeqRange {
        SeqRange::new(self.start, self.start + u32::from(self.len))
    }

    pub(crate) fn kind(&self) -> PinKind {
        self.kind
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    pin: Option<Pin>,
    generation: u8,
}

/// The pinned ranges of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pins {
    slots: [Slot; PINS],
}

impl Pins {
    fn iter(&self) -> impl Iterator<Item = Pin> + '_ {
        self.slots.iter().filter_map(|slot| slot.pin)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.slots.iter().all(|slot| slot.pin.is_some())
    }

    /// Pins `range`. Without a free slot the token is [`Token::UNPINNED`];
    /// callers ask [`is_full`](Self::is_full) first.
    pub(crate) fn insert(&mut self, range: SeqRange, kind: PinKind) -> Token {
        let len = u16::try_from(range.len()).unwrap_or(u16::MAX);
        let free = self
            .slots
            .iter_mut()
            .zip(0u8..)
            .find(|(slot, _)| slot.pin.is_none());
        let Some((slot, number)) = free else {
            return Token::UNPINNED;
        };
        slot.generation = slot.generation.wrapping_add(1);
        slot.pin = Some(Pin {
            start: range.start,
            len,
            kind,
        });
        Token {
            slot: number,
            generation: slot.generation,
        }
    }

    /// The range behind a token, unless it is gone.
    pub(crate) fn get(&self, token: Token) -> Option<Pin> {
        let slot = self.slots.get(usize::from(token.slot))?;
        slot.pin.filter(|_| slot.generation == token.generation)
    }

    /// Ends a pin. `None` if it is gone already.
    pub(crate) fn release(&mut self, token: Token) -> Option<Pin> {
        let slot = self.slots.get_mut(usize::from(token.slot))?;
        if slot.generation == token.generation {
            slot.pin.take()
        } else {
            None
        }
    }

    /// Ends the pins of segments that were acknowledged as a whole.
    pub(crate) fn on_ack(&mut self, una: SeqNum) {
        for slot in &mut self.slots {
            if slot.pin.is_some_and(|pin| pin.range().end <= una) {
                slot.pin = None;
            }
        }
    }

    /// Ends every pin.
    pub(crate) fn clear(&mut self) {
        for slot in &mut self.slots {
            slot.pin = None;
        }
    }

    /// The oldest sequence number that must be kept, if it is before `una`.
    pub(crate) fn oldest(&self, una: SeqNum) -> SeqNum {
        self.iter().fold(una, |oldest, pin| oldest.min(pin.start))
    }

    /// Whether `seq` is in a pinned range.
    pub(crate) fn covers(&self, seq: SeqNum) -> bool {
        self.iter().any(|pin| pin.range().contains(seq))
    }

    /// The first part of `range` that is not pinned; empty if all of it is.
    pub(crate) fn unpinned_part(&self, range: SeqRange) -> SeqRange {
        let mut part = range;
        // Every pin can cover the start once.
        for _ in 0..PINS {
            for pin in self.iter() {
                if pin.range().contains(part.start) {
                    part.start = pin.range().end;
                }
            }
        }
        for pin in self.iter() {
            if part.contains(pin.start) {
                part.end = pin.start;
            }
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange::new(SeqNum(start), SeqNum(end))
    }

    #[test]
    fn a_token_is_good_once() {
        let mut pins = Pins::default();
        let first = pins.insert(range(0, 10), PinKind::First);
        assert_eq!(pins.get(first).unwrap().range(), range(0, 10));
        assert!(pins.release(first).is_some());
        assert!(pins.release(first).is_none());
        let second = pins.insert(range(10, 20), PinKind::First);
        assert_ne!(first, second);
        assert!(pins.get(first).is_none());
        assert!(pins.get(Token::UNPINNED).is_none());
    }

    #[test]
    fn a_segment_stays_pinned_until_all_of_it_is_acknowledged() {
        let mut pins = Pins::default();
        let token = pins.insert(range(5, 10), PinKind::First);
        pins.on_ack(SeqNum(9));
        assert!(pins.get(token).is_some());
        assert_eq!(pins.oldest(SeqNum(9)), SeqNum(5));
        pins.on_ack(SeqNum(10));
        assert!(pins.get(token).is_none());
        assert_eq!(pins.oldest(SeqNum(10)), SeqNum(10));
    }

    #[test]
    fn the_unpinned_part_lies_between_pins() {
        let mut pins = Pins::default();
        pins.insert(range(20, 30), PinKind::First);
        pins.insert(range(10, 20), PinKind::First);
        pins.insert(range(40, 50), PinKind::First);
        assert_eq!(pins.unpinned_part(range(10, 60)), range(30, 40));
        assert_eq!(pins.unpinned_part(range(0, 60)), range(0, 10));
        assert_eq!(pins.unpinned_part(range(45, 60)), range(50, 60));
        assert!(pins.unpinned_part(range(12, 25)).is_empty());
        assert!(!pins.is_full());
        pins.insert(range(90, 91), PinKind::Probe);
        assert!(pins.is_full());
        assert!(pins.insert(range(95, 96), PinKind::First).is_unpinned());
    }
}
