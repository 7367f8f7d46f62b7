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
    First,
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
    /// 0 where a slot is free.
    lens: [u16; PINS],
    /// Of each slot the [`PinKind`] in two bits. The rest counts its pins, to
    /// tell their tokens apart: a token would have to be 64 pins old to be taken
    /// for another one.
    tags: [u8; PINS],
}

/// The part of a tag that says the kind.
const KIND: u8 = 3;

impl Pins {
    /// What a slot pins; an empty range if it is free.
    fn range(&self, slot: usize) -> SeqRange {
        match (self.starts.get(slot), self.lens.get(slot)) {
            (Some(&start), Some(&len)) => SeqRange::new(start, start + u32::from(len)),
            _ => SeqRange::default(),
        }
    }

    fn free(&mut self, slot: usize) {
        if let Some(len) = self.lens.get_mut(slot) {
            *len = 0;
        }
    }

    /// Every pinned range.
    fn iter(&self) -> impl Iterator<Item = SeqRange> + '_ {
        let slots = (0..PINS).map(|slot| self.range(slot));
        slots.filter(|pin| !pin.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lens.iter().all(|&len| len == 0)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.lens.iter().all(|&len| len != 0)
    }

    /// Pins `range`. Without a free slot the token is [`Token::UNPINNED`];
    /// callers ask [`is_full`](Self::is_full) first.
    pub(crate) fn insert(&mut self, range: SeqRange, kind: PinKind) -> Token {
        let lens = self.lens.iter_mut().zip(self.tags.iter_mut().zip(0u8..));
        let mut slots = self.starts.iter_mut().zip(lens);
        let Some((start, (len, (tag, slot)))) = slots.find(|(_, (len, _))| **len == 0) else {
            return Token::UNPINNED;
        };
        *start = range.start;
        *len = range.len() as u16;
        *tag = (*tag | KIND).wrapping_add(1) | kind as u8;
        Token { slot, tag: *tag }
    }

    /// The range behind a token, unless it is gone.
    pub(crate) fn get(&self, token: Token) -> Option<Pin> {
        let slot = usize::from(token.slot);
        let range = self.range(slot);
        if range.is_empty() || self.tags.get(slot) != Some(&token.tag) {
            return None;
        }
        let kind = match token.tag & KIND {
            0 => PinKind::First,
            1 => PinKind::Again,
            _ => PinKind::Probe,
        };
        Some(Pin { range, kind })
    }

    /// Ends a pin. `None` if it is gone already.
    pub(crate) fn release(&mut self, token: Token) -> Option<Pin> {
        let pin = self.get(token)?;
        self.free(usize::from(token.slot));
        Some(pin)
    }

    /// Ends the pins of segments that were acknowledged as a whole.
    pub(crate) fn on_ack(&mut self, una: SeqNum) {
        for slot in 0..PINS {
            if self.range(slot).end <= una {
                self.free(slot);
            }
        }
    }

    /// Ends every pin.
    pub(crate) fn clear(&mut self) {
        self.lens = [0; PINS];
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
        while let Some(pin) = self.iter().find(|pin| pin.contains(part.start)) {
            part.start = pin.end;
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
