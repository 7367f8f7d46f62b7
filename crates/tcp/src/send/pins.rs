//! Pinned segments: those that the link is sending.
//!
//! The link holds a segment for tens of milliseconds to seconds while its fragments wait for the
//! radio. In that time its bytes must not change or disappear, and they must not be sent twice.
//! A pin ensures this for a range of sequence numbers, including SYN and FIN, until the link
//! reports the outcome.

use crate::ahead::{Ahead, Span, window};
use crate::{SeqNum, SeqRange};

const PINS: usize = 4;

/// Identifies a segment from [`poll_segment`](crate::Connection::poll_segment) to the report that
/// it was sent or lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    slot: u8,
    tag: u8,
}

impl Token {
    /// Token of segments that occupy no sequence numbers and need no pin.
    pub(crate) const UNPINNED: Token = Token {
        slot: u8::MAX,
        tag: 0,
    };

    /// Returns the token as a number, for callers that store it in a handle.
    pub const fn to_bits(self) -> u16 {
        u16::from_be_bytes([self.slot, self.tag])
    }

    /// Returns the token of a number from [`to_bits`](Self::to_bits).
    pub const fn from_bits(bits: u16) -> Token {
        let [slot, tag] = bits.to_be_bytes();
        Token { slot, tag }
    }

    pub(crate) fn is_unpinned(self) -> bool {
        self == Token::UNPINNED
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PinKind {
    First,
    /// Retransmission, at least in part.
    Again,
    /// Probe of a closed window.
    Probe,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pin {
    end: Ahead,
    len: u16,
    kind: PinKind,
}

impl Pin {
    /// Returns the sequence numbers of the pinned segment. Those before `una`, SND.UNA, are
    /// acknowledged.
    pub(crate) fn range(&self, una: SeqNum) -> SeqRange {
        let end = una + self.end.bytes();
        SeqRange::new(end - u32::from(self.len), end)
    }

    pub(crate) fn end(&self) -> Ahead {
        self.end
    }

    pub(crate) fn span(&self) -> Span {
        let end = self.end.bytes();
        Span::new(end.saturating_sub(u32::from(self.len)), end)
    }

    pub(crate) fn kind(&self) -> PinKind {
        self.kind
    }
}

/// Pinned ranges of a connection. They end beyond SND.UNA, but may start before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pins {
    /// End of each range; SND.UNA if the slot is free.
    ends: [Ahead; PINS],
    lens: [u16; PINS],
    /// Tag of each slot: two bits of [`PinKind`], and a counter of its pins that distinguishes
    /// their tokens. A token matches a wrong pin only if it is 64 pins old.
    tags: [u8; PINS],
}

const KIND: u8 = 3;

impl Pins {
    fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.ends.iter().zip(&self.lens).map(|(end, &len)| {
            let start = end.bytes().saturating_sub(u32::from(len));
            Span::new(start, end.bytes())
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.iter().all(|&end| end == Ahead::UNA)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ends.iter().all(|&end| end != Ahead::UNA)
    }

    /// Pins a range, unless it is empty. Without a free slot the token is [`Token::UNPINNED`];
    /// callers check [`is_full`](Self::is_full) first.
    pub(crate) fn insert(&mut self, span: Span, kind: PinKind) -> Token {
        let lens = self.lens.iter_mut().zip(self.tags.iter_mut().zip(0u8..));
        let mut slots = self.ends.iter_mut().zip(lens);
        let Some((end, (len, (tag, slot)))) = slots.find(|(end, _)| **end == Ahead::UNA) else {
            return Token::UNPINNED;
        };
        *end = Ahead::by(span.end);
        *len = window(span.len());
        *tag = (*tag | KIND).wrapping_add(1) | kind as u8;
        Token { slot, tag: *tag }
    }

    /// Returns the pin of a token, unless the pin has been released.
    pub(crate) fn get(&self, token: Token) -> Option<Pin> {
        let slot = usize::from(token.slot);
        let (&end, &len) = (self.ends.get(slot)?, self.lens.get(slot)?);
        if end == Ahead::UNA || self.tags.get(slot) != Some(&token.tag) {
            return None;
        }
        let kind = match token.tag & KIND {
            0 => PinKind::First,
            1 => PinKind::Again,
            _ => PinKind::Probe,
        };
        Some(Pin { end, len, kind })
    }

    pub(crate) fn release(&mut self, token: Token) -> Option<Pin> {
        let pin = self.get(token)?;
        if let Some(end) = self.ends.get_mut(usize::from(token.slot)) {
            *end = Ahead::UNA;
        }
        Some(pin)
    }

    /// Processes an advance of SND.UNA by `bytes`: ends the pins of fully acknowledged segments.
    pub(crate) fn on_advance(&mut self, bytes: u32) {
        for end in &mut self.ends {
            end.on_advance(bytes);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.ends = [Ahead::UNA; PINS];
    }

    /// Returns the oldest sequence number that must be kept, at or before `una`.
    pub(crate) fn oldest(&self, una: SeqNum) -> SeqNum {
        let mut behind = 0;
        for (end, &len) in self.ends.iter().zip(&self.lens) {
            if *end != Ahead::UNA {
                behind = behind.max(u32::from(len).saturating_sub(end.bytes()));
            }
        }
        una - behind
    }

    /// Returns whether the byte `at` beyond SND.UNA is pinned.
    pub(crate) fn covers(&self, at: u32) -> bool {
        self.spans().any(|pin| pin.contains(at))
    }

    pub(crate) fn overlaps(&self, span: Span) -> bool {
        self.spans()
            .any(|pin| pin.start.max(span.start) < pin.end.min(span.end))
    }

    pub(crate) fn bytes(&self) -> usize {
        let used = self.ends.iter().zip(&self.lens);
        let used = used.filter(|(end, _)| **end != Ahead::UNA);
        used.fold(0, |sum, (_, &len)| sum.wrapping_add(usize::from(len)))
    }

    /// Returns the first part of `span` that is not pinned, or an empty one if all of `span` is.
    pub(crate) fn unpinned_part(&self, span: Span) -> Span {
        let mut part = span;
        while let Some(pin) = self.spans().find(|pin| pin.contains(part.start)) {
            part.start = pin.end;
        }
        for pin in self.spans() {
            if !pin.is_empty() && part.contains(pin.start) {
                part.end = pin.start;
            }
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32) -> Span {
        Span::new(start, end)
    }

    #[test]
    fn a_token_is_good_once() {
        let mut pins = Pins::default();
        let first = pins.insert(span(0, 10), PinKind::First);
        let range = SeqRange::new(SeqNum(100), SeqNum(110));
        assert_eq!(pins.get(first).unwrap().range(SeqNum(100)), range);
        assert!(pins.release(first).is_some());
        assert!(pins.release(first).is_none());
        let second = pins.insert(span(10, 20), PinKind::First);
        assert_ne!(first, second);
        assert!(pins.get(first).is_none());
        assert!(pins.get(Token::UNPINNED).is_none());
    }

    #[test]
    fn a_segment_stays_pinned_until_all_of_it_is_acknowledged() {
        let mut pins = Pins::default();
        let token = pins.insert(span(5, 10), PinKind::First);
        pins.on_advance(9);
        assert!(pins.get(token).is_some());
        assert_eq!(pins.oldest(SeqNum(9)), SeqNum(5));
        assert!(pins.covers(0) && !pins.covers(1));
        pins.on_advance(1);
        assert!(pins.get(token).is_none());
        assert_eq!(pins.oldest(SeqNum(10)), SeqNum(10));
    }

    #[test]
    fn the_unpinned_part_lies_between_pins() {
        let mut pins = Pins::default();
        pins.insert(span(20, 30), PinKind::First);
        pins.insert(span(10, 20), PinKind::First);
        pins.insert(span(40, 50), PinKind::First);
        assert_eq!(pins.unpinned_part(span(10, 60)), span(30, 40));
        assert_eq!(pins.unpinned_part(span(0, 60)), span(0, 10));
        assert_eq!(pins.unpinned_part(span(45, 60)), span(50, 60));
        assert!(pins.unpinned_part(span(12, 25)).is_empty());
        assert!(!pins.is_full());
        pins.insert(span(90, 91), PinKind::Probe);
        assert!(pins.is_full());
        assert!(pins.insert(span(95, 96), PinKind::First).is_unpinned());
    }
}
