//! In-place reassembly: the receive store and what is known about its gaps.

use redpoll_base::{Bytes, Ring};

use super::ranges::{Ranges, TextSpan};
use crate::seq::Low;
use crate::{SackBlocks, SeqNum, SeqRange};

/// What a piece of text did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// Nothing new.
    Nothing,
    /// It was next, and nothing waits behind a gap.
    InOrder,
    /// It was next, and filled a gap or a part of one.
    FilledGap,
    /// It lies beyond a gap.
    OutOfOrder,
}

/// The received text of a connection.
#[derive(Debug)]
pub(crate) struct Inbox<B> {
    ring: Ring<B>,
    /// What the first block of the next SACK option reports, besides what lies
    /// `beyond`: what arrived twice (RFC 2883 §4), or arrived now and found no place
    /// (RFC 2018 §8). Empty for nothing.
    apart: SeqNum,
    apart_len: u16,
    /// Sequence number of the peer's FIN once it `has_fin`, be it beyond a gap.
    fin: Low,
    beyond: Ranges,
    has_fin: bool,
}

impl<B: Bytes> Inbox<B> {
    pub(crate) fn new(buf: B) -> Self {
        Inbox {
            ring: Ring::new(buf),
            apart: SeqNum(0),
            apart_len: 0,
            fin: Low::of(SeqNum(0)),
            beyond: Ranges::default(),
            has_fin: false,
        }
    }

    /// Bytes that had arrived before, of a new inbox; whether they fit.
    pub(crate) fn restore(&mut self, unread: &[u8]) -> bool {
        let count = self.ring.write_at(0, unread);
        self.ring.keep(count);
        count == unread.len()
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.ring.capacity() as u32
    }

    /// Bytes that can still arrive behind RCV.NXT.
    pub(crate) fn room(&self) -> u32 {
        self.ring.room() as u32
    }

    /// Bytes ready to be read.
    pub(crate) fn ready(&self) -> usize {
        self.ring.len()
    }

    /// Whether there is a gap: something lies beyond what is ready.
    pub(crate) fn has_gap(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// Takes the part of `text`, which begins at `seq`, that lies from `nxt`
    /// up to `edge`. Returns the new RCV.NXT and what happened.
    pub(crate) fn take(
        &mut self,
        nxt: SeqNum,
        edge: SeqNum,
        seq: SeqNum,
        text: &[u8],
    ) -> (SeqNum, Arrival) {
        self.note_duplicate(nxt, SeqRange::new(seq, seq + text.len() as u32));
        // RFC 9293 §3.10.7.4: "If a segment's contents straddle the boundary
        // between old and new, only the new parts are processed." And nothing
        // comes behind a FIN.
        let edge = if self.has_fin {
            self.fin.first_from(nxt).min(edge)
        } else {
            edge
        };
        let start = seq.max(nxt);
        let skip = start.since(seq) as usize;
        let text = text.get(skip..).unwrap_or(&[]);
        let text = text
            .get(..text.len().min((edge - start) as usize))
            .unwrap_or(&[]);
        if text.is_empty() {
            return (nxt, Arrival::Nothing);
        }

        let offset = start.since(nxt);
        let new = span(offset, offset.wrapping_add(text.len() as u32));
        if new.start == 0 {
            self.ring.write_at(0, text);
            let (advance, arrival) = if self.has_gap() {
                (self.beyond.absorb(new.end), Arrival::FilledGap)
            } else {
                (new.end, Arrival::InOrder)
            };
            self.ring.keep(usize::from(advance));
            (nxt + u32::from(advance), arrival)
        } else {
            // SHLD-31: text beyond a gap is kept, while there is a place in
            // the list; else it is dropped and acknowledged like the rest.
            if self.beyond.can_add(new) {
                self.ring.write_at(usize::from(new.start), text);
                self.beyond.add(new);
            } else {
                // RFC 2018 §8: "the first SACK block MUST reflect the newest
                // segment", even if that is discarded.
                self.report_apart(range(nxt, new));
            }
            (nxt, Arrival::OutOfOrder)
        }
    }

    /// RFC 2883 §4: the first part of `text` that had arrived before.
    pub(crate) fn note_duplicate(&mut self, nxt: SeqNum, text: SeqRange) {
        let below = SeqRange::new(text.start, text.end.min(nxt));
        let part = if below.is_empty() {
            let span = span(text.start - nxt, text.end - nxt);
            self.beyond.known_part(span).map(|part| range(nxt, part))
        } else {
            Some(below)
        };
        if let Some(part) = part {
            self.report_apart(part);
        }
    }

    fn report_apart(&mut self, part: SeqRange) {
        self.apart = part.start;
        self.apart_len = u16::try_from(part.len()).unwrap_or(u16::MAX);
    }

    /// What to report by SACK: what stands apart first, a duplicate (RFC 2883 §4)
    /// or text that was discarded (RFC 2018 §8), then what lies beyond the gap, the
    /// most recent first (RFC 2018 §4).
    pub(crate) fn sack_blocks(&self, nxt: SeqNum) -> impl Iterator<Item = SeqRange> + '_ {
        let end = self.apart + u32::from(self.apart_len);
        let apart = SeqRange::new(self.apart, end);
        let apart = (self.apart_len > 0).then_some(apart);
        let beyond = self.beyond.iter().map(move |known| range(nxt, known));
        apart.into_iter().chain(beyond)
    }

    /// How many [`sack_blocks`](Self::sack_blocks) there are.
    pub(crate) fn sack_block_count(&self) -> usize {
        self.beyond
            .len()
            .wrapping_add(usize::from(self.apart_len > 0))
            .min(SackBlocks::MOST)
    }

    /// A segment with [`sack_blocks`](Self::sack_blocks) leaves. RFC 2883 §4:
    /// "each duplicate contiguous sequence of data received is reported in at
    /// most one D-SACK block."
    pub(crate) fn on_reported(&mut self) {
        self.apart_len = 0;
    }

    /// A FIN was seen at `seq`, inside the window.
    ///
    /// Text that had arrived from beyond it contradicts it. RFC 9293
    /// §3.10.7.4 ignores text behind a FIN, so it counts as never received, as
    /// does what lies before the FIN but not in order: the peer has it still.
    pub(crate) fn on_fin(&mut self, nxt: SeqNum, seq: SeqNum) {
        if !self.has_fin {
            self.fin = Low::of(seq);
            self.has_fin = true;
        }
        let fin = self.fin.first_from(nxt).since(nxt);
        if self.beyond.iter().any(|known| u32::from(known.end) > fin) {
            self.beyond.clear();
        }
    }

    /// Whether a FIN was seen.
    pub(crate) fn has_fin(&self) -> bool {
        self.has_fin
    }

    /// Whether the FIN is what comes next.
    pub(crate) fn fin_is_next(&self, nxt: SeqNum) -> bool {
        self.has_fin && self.fin == Low::of(nxt)
    }

    /// The ready bytes, in up to two pieces.
    pub(crate) fn peek(&self) -> (&[u8], &[u8]) {
        let [first, second] = self.ring.pieces(0, self.ring.len());
        (first, second)
    }

    /// Frees up to `count` ready bytes; says how many.
    pub(crate) fn consume(&mut self, count: usize) -> usize {
        self.ring.free(count)
    }

    /// Keeps `bytes` where text will be, until some arrives. Whether there is
    /// room for them.
    pub(crate) fn stash(&mut self, bytes: &[u8]) -> bool {
        self.ring.write_at(0, bytes) == bytes.len()
    }

    /// What was stashed, `len` bytes of it.
    pub(crate) fn stashed(&self, len: usize) -> &[u8] {
        let [stashed, _] = self.ring.pieces(0, len);
        stashed
    }

    /// Makes the `len` bytes that were stashed ready to be read.
    pub(crate) fn take_stashed(&mut self, len: u16) {
        self.ring.keep(len.into());
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.ring.free(usize::MAX);
        self.beyond.clear();
    }

    pub(crate) fn into_buffer(self) -> B {
        self.ring.into_buffer()
    }
}

/// What is so far from RCV.NXT; a window ends there.
fn span(start: u32, end: u32) -> TextSpan {
    let near = |distance: u32| u16::try_from(distance).unwrap_or(u16::MAX);
    TextSpan {
        start: near(start),
        end: near(end),
    }
}

/// Where `span` lies.
fn range(nxt: SeqNum, span: TextSpan) -> SeqRange {
    SeqRange::new(nxt + u32::from(span.start), nxt + u32::from(span.end))
}

#[cfg(test)]
mod tests;
