//! In-place reassembly: the receive buffer and the list of ranges beyond gaps.

use redpoll_base::{Bytes, Ring};

use super::ranges::{Ranges, TextSpan};
use crate::seq::Low;
use crate::{SackBlocks, SeqNum, SeqRange};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    Nothing,
    /// The text was next, and no text is stored beyond a gap.
    InOrder,
    /// The text was next, and filled all or part of a gap.
    FilledGap,
    /// The text lies beyond a gap.
    OutOfOrder,
}

#[derive(Debug)]
pub(crate) struct Inbox<B> {
    ring: Ring<B>,
    /// Range for the first block of the next SACK option, before those of `beyond`: a duplicate
    /// (RFC 2883 §4), or text that was just discarded (RFC 2018 §8). Empty if there is none.
    apart: SeqNum,
    apart_len: u16,
    /// If `has_fin`: sequence number of the peer's FIN, which is in order or beyond a gap.
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

    pub(crate) fn restore(&mut self, unread: &[u8]) -> bool {
        let count = self.ring.write_at(0, unread);
        self.ring.keep(count);
        count == unread.len()
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.ring.capacity() as u32
    }

    /// Returns the free space after RCV.NXT, in bytes.
    pub(crate) fn room(&self) -> u32 {
        self.ring.room() as u32
    }

    pub(crate) fn ready(&self) -> usize {
        self.ring.len()
    }

    pub(crate) fn has_gap(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// Accepts the part of `text`, which starts at `seq`, from `nxt` to `edge`. Returns the new
    /// RCV.NXT and the effect.
    pub(crate) fn take(
        &mut self,
        nxt: SeqNum,
        edge: SeqNum,
        seq: SeqNum,
        text: &[u8],
    ) -> (SeqNum, Arrival) {
        self.note_duplicate(nxt, SeqRange::new(seq, seq + text.len() as u32));
        // RFC 9293 §3.10.7.4: "If a segment's contents straddle the boundary between old and new,
        // only the new parts are processed." No text follows a FIN.
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
            // SHLD-31: text beyond a gap is kept if the list has room. Otherwise it is dropped, and
            // an ACK is sent nevertheless.
            if self.beyond.can_add(new) {
                self.ring.write_at(usize::from(new.start), text);
                self.beyond.add(new);
            } else {
                // RFC 2018 §8: "the first SACK block MUST reflect the newest segment", even if that
                // is discarded.
                self.report_apart(range(nxt, new));
            }
            (nxt, Arrival::OutOfOrder)
        }
    }

    /// Records the first part of `text` that had arrived before (RFC 2883 §4).
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

    /// Returns the blocks for SACK. First comes a duplicate (RFC 2883 §4) or discarded text (RFC
    /// 2018 §8), then the text beyond the gap, starting with the most recent (RFC 2018 §4).
    pub(crate) fn sack_blocks(&self, nxt: SeqNum) -> impl Iterator<Item = SeqRange> + '_ {
        let end = self.apart + u32::from(self.apart_len);
        let apart = SeqRange::new(self.apart, end);
        let apart = (self.apart_len > 0).then_some(apart);
        let beyond = self.beyond.iter().map(move |known| range(nxt, known));
        apart.into_iter().chain(beyond)
    }

    pub(crate) fn sack_block_count(&self) -> usize {
        self.beyond
            .len()
            .wrapping_add(usize::from(self.apart_len > 0))
            .min(SackBlocks::MOST)
    }

    /// Records that [`sack_blocks`](Self::sack_blocks) were sent. RFC 2883 §4: "each duplicate
    /// contiguous sequence of data received is reported in at most one D-SACK block."
    pub(crate) fn on_reported(&mut self) {
        self.apart_len = 0;
    }

    /// Records a FIN at `seq`, inside the window. Text received beyond the FIN contradicts it. RFC
    /// 9293 §3.10.7.4 ignores text after a FIN, so such text counts as never received. The same
    /// applies to text before the FIN that is not in order, which the peer still has.
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

    pub(crate) fn has_fin(&self) -> bool {
        self.has_fin
    }

    pub(crate) fn fin_is_next(&self, nxt: SeqNum) -> bool {
        self.has_fin && self.fin == Low::of(nxt)
    }

    /// Returns the bytes ready to be read, in up to two pieces.
    pub(crate) fn peek(&self) -> (&[u8], &[u8]) {
        let [first, second] = self.ring.pieces(0, self.ring.len());
        (first, second)
    }

    /// Frees up to `count` ready bytes, and returns how many.
    pub(crate) fn consume(&mut self, count: usize) -> usize {
        self.ring.free(count)
    }

    /// Stores `bytes` temporarily in the free space, until text arrives. Returns whether they fit.
    pub(crate) fn stash(&mut self, bytes: &[u8]) -> bool {
        self.ring.write_at(0, bytes) == bytes.len()
    }

    pub(crate) fn stashed(&self, len: usize) -> &[u8] {
        let [stashed, _] = self.ring.pieces(0, len);
        stashed
    }

    /// Makes the first `len` stored bytes ready to be read.
    pub(crate) fn take_stashed(&mut self, len: u16) {
        self.ring.keep(len.into());
    }

    pub(crate) fn clear(&mut self) {
        self.ring.free(usize::MAX);
        self.beyond.clear();
    }

    pub(crate) fn into_buffer(self) -> B {
        self.ring.into_buffer()
    }
}

/// Creates a span by its distances from RCV.NXT, limited to a window.
fn span(start: u32, end: u32) -> TextSpan {
    let near = |distance: u32| u16::try_from(distance).unwrap_or(u16::MAX);
    TextSpan {
        start: near(start),
        end: near(end),
    }
}

fn range(nxt: SeqNum, span: TextSpan) -> SeqRange {
    SeqRange::new(nxt + u32::from(span.start), nxt + u32::from(span.end))
}

#[cfg(test)]
mod tests;
