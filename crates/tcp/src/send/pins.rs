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
    tag: u8,
}

impl Token {
    /// For segments that occupy no sequence number: there is nothing to pin.
    pub(crate) const UNPINNED: Token = Token {
        slot: u8::MAX,
        tag: 0,
    };

    /// The token as a number, for callers that keep it in a handle of theirs.
    pub const fn to_bits(self) -> u16 {
        u16::from_be_bytes([self.slot, self.tag])
    }

    /// The token of which [`to_bits`](Self::to_bits) gave this number.
    pub const fn from_bits(bits: u16) -> Token {
        let [slot, tag] = bits.to_be_bytes();
        Token { slot, tag }
    }

    pub(crate) fn is_unpinned(self) -> bool {
        self == Token::UNPINNED
    }
}

/// Why a segment was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PinKind {
    /// For the first time.
    First = 1,
    /// Again, at least in part.
    Again,
    /// To probe a closed window.
    Probe,
}

/// A pinned range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pin {
    range: SeqRange,
    kind: PinKind,
}

impl Pin {
    pub(crate) fn range(&self) -> SeqRange {
        self.range
    }

    pub(crate) fn kind(&self) -> PinKind {
        self.kind
    }
}

/// The pinned ranges of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pins {
    starts: [SeqNum; PINS],
    lens: [u16; PINS],
    /// Of each slot the [`PinKind`] in two bits, none if it is free. The rest
    /// counts its pins, to tell their tokens apart: a token would have to be 64
    /// pins old to be taken for another one.
    tags: [u8; PINS],
}

/// The part of a tag that says the kind.
const KIND: u8 = 3;

impl Pins {
    /// Every pinned range.
    fn iter(&self) -> impl Iterator<Item = SeqRange> + '_ {
        let slots = self.starts.iter().zip(self.lens).zip(self.tags);
        slots
            .filter(|(_, tag)| tag & KIND != 0)
            .map(|((&start, len), _)| SeqRange::new(start, start + u32::from(len)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tags.iter().all(|tag| tag & KIND == 0)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.tags.iter().all(|tag| tag & KIND != 0)
    }

    /// Pins `range`. Without a free slot the token is [`Token::UNPINNED`];
    /// callers ask [`is_full`](Self::is_full) first.
    pub(crate) fn insert(&mut self, range: SeqRange, kind: PinKind) -> Token {
        let tags = self.tags.iter_mut().zip(0u8..);
        let places = self.starts.iter_mut().zip(&mut self.lens);
        let mut slots = tags.zip(places);
        let Some(((tag, slot), (start, len))) = slots.find(|((tag, _), _)| **tag & KIND == 0)
        else {
            return Token::UNPINNED;
        };
        *tag = tag.wrapping_add(KIND + 1) | kind as u8;
        *start = range.start;
        *len = u16::try_from(range.len()).unwrap_or(u16::MAX);
        Token { slot, tag: *tag }
    }

    /// The range behind a token, unless it is gone.
    pub(crate) fn get(&self, token: Token) -> Option<Pin> {
        let slot = usize::from(token.slot);
        let kind = match token.tag & KIND {
            1 => PinKind::First,
            2 => PinKind::Again,
            3 => PinKind::Probe,
            _ => return None,
        };
        let (&start, &len) = (self.starts.get(slot)?, self.lens.get(slot)?);
        let range = SeqRange::new(start, start + u32::from(len));
        (self.tags.get(slot) == Some(&token.tag)).then_some(Pin { range, kind })
    }

    /// Ends a pin. `None` if it is gone already.
    pub(crate) fn release(&mut self, token: Token) -> Option<Pin> {
        let pin = self.get(token)?;
        *self.tags.get_mut(usize::from(token.slot))? &= !KIND;
        Some(pin)
    }

    /// Ends the pins of segments that were acknowledged as a whole.
    pub(crate) fn on_ack(&mut self, una: SeqNum) {
        let places = self.starts.iter().zip(self.lens);
        for (tag, (&start, len)) in self.tags.iter_mut().zip(places) {
            if start + u32::from(len) <= una {
                *tag &= !KIND;
            }
        }
    }

    /// Ends every pin.
    pub(crate) fn clear(&mut self) {
        for tag in &mut self.tags {
            *tag &= !KIND;
        }
    }

    /// The oldest sequence number that must be kept, if it is before `una`.
    pub(crate) fn oldest(&self, una: SeqNum) -> SeqNum {
        self.iter().fold(una, |oldest, pin| oldest.min(pin.start))
    }

    /// Whether `seq` is in a pinned range.
    pub(crate) fn covers(&self, seq: SeqNum) -> bool {
        self.iter().any(|pin| pin.contains(seq))
    }

    /// Whether part of `range` is pinned.
    pub(crate) fn overlaps(&self, range: SeqRange) -> bool {
        self.iter()
            .any(|pin| pin.start < range.end && range.start < pin.end)
    }

    /// The first part of `range` that is not pinned; empty if all of it is.
    pub(crate) fn unpinned_part(&self, range: SeqRange) -> SeqRange {
        let mut part = range;
        // Every pin can cover the start once.
        for _ in 0..PINS {
            for pin in self.iter() {
                if pin.contains(part.start) {
                    part.start = pin.end;
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
