//! Buffers of the application, linked to a stream that is sent without a copy.

use core::marker::PhantomData;

use super::{SendStore, SendStoreExt};
use crate::{SeqNum, SeqRange};

/// Memory for one buffer of a [`Chain`].
#[derive(Debug)]
pub struct ChainSlot<D>(Option<D>);

impl<D> ChainSlot<D> {
    /// A slot that holds nothing.
    pub const EMPTY: Self = ChainSlot(None);
}

/// A send store that keeps the application's buffers as they are, until all of
/// a buffer's bytes were acknowledged and the link needs none of them.
///
/// `D` is a buffer: `&'static [u8]` for constant data and flash, or something
/// that is owned and comes back, like `&'static mut [u8]`. `T` is the table of
/// slots, one a buffer; it is a ring.
#[derive(Debug)]
pub struct Chain<D, T> {
    table: T,
    /// Where in `table` the oldest buffer lies that was not taken back.
    first: usize,
    /// So many buffers from there on may be taken back.
    free: usize,
    /// And so many behind them hold bytes that are needed.
    live: usize,
    /// Bytes of the oldest live buffer that are not needed any more.
    spent: usize,
    /// Sequence number of the oldest byte that is needed, and of the next one
    /// to be given.
    range: SeqRange,
    data: PhantomData<D>,
}

/// As much as may be under way: far below half of the sequence space.
const MOST: usize = 1 << 24;

impl<D, T> Chain<D, T>
where
    D: AsRef<[u8]>,
    T: AsRef<[ChainSlot<D>]> + AsMut<[ChainSlot<D>]>,
{
    /// An empty chain. What `table` holds is dropped as slots are filled.
    pub fn new(table: T) -> Self {
        Chain {
            table,
            first: 0,
            free: 0,
            live: 0,
            spent: 0,
            range: SeqRange::default(),
            data: PhantomData,
        }
    }

    /// How many buffers the chain would take now.
    pub fn room(&self) -> usize {
        let used = self.free.saturating_add(self.live);
        self.table.as_ref().len().saturating_sub(used)
    }

    /// Appends a buffer; `Err` gives it back if there is no slot for it, or too
    /// much under way.
    pub(crate) fn push(&mut self, data: D) -> Result<(), D> {
        let len = data.as_ref().len();
        let under_way = (self.range.len() as usize).saturating_add(len);
        let at = self.slot(self.free.saturating_add(self.live));
        let fits = self.room() > 0 && under_way <= MOST;
        let slot = self.table.as_mut().get_mut(at).filter(|_| fits);
        let Some(slot) = slot else {
            return Err(data);
        };
        slot.0 = Some(data);
        self.live = self.live.saturating_add(1);
        self.range.end += len as u32;
        // A buffer without bytes is done with at once, if it is its turn.
        self.retire(0);
        Ok(())
    }

    /// The oldest buffer that is not needed any more. Memory that was taken
    /// back serves the next buffer.
    pub fn reclaim(&mut self) -> Option<D> {
        self.free = self.free.checked_sub(1)?;
        let first = self.first;
        self.first = self.slot(1);
        self.table.as_mut().get_mut(first)?.0.take()
    }

    /// The table, with the buffers that were not taken back.
    pub fn into_table(self) -> T {
        self.table
    }

    /// Where in the table the slot `offset` behind the first used one lies.
    fn slot(&self, offset: usize) -> usize {
        let slot = self.first.saturating_add(offset);
        slot.checked_sub(self.table.as_ref().len()).unwrap_or(slot)
    }

    /// The bytes of the live buffer `number` places behind the oldest one.
    fn bytes(&self, number: usize) -> &[u8] {
        let slot = self.slot(self.free.saturating_add(number));
        let slot = self.table.as_ref().get(slot);
        let data = slot.and_then(|slot| slot.0.as_ref());
        data.map(AsRef::as_ref).unwrap_or_default()
    }

    /// `count` more bytes of the oldest live buffers are not needed. Whether
    /// that was the end of a buffer.
    fn retire(&mut self, count: usize) -> bool {
        self.spent = self.spent.saturating_add(count);
        let before = self.live;
        while self.live > 0 {
            let len = self.bytes(0).len();
            let Some(rest) = self.spent.checked_sub(len) else {
                break;
            };
            self.spent = rest;
            self.live = self.live.saturating_sub(1);
            self.free = self.free.saturating_add(1);
        }
        self.live < before
    }
}

impl<D, T> SendStore for Chain<D, T>
where
    D: AsRef<[u8]>,
    T: AsRef<[ChainSlot<D>]> + AsMut<[ChainSlot<D>]>,
{
    fn begin(&mut self, start: SeqNum) {
        self.clear();
        self.range = SeqRange::new(start, start);
    }

    fn range(&self) -> SeqRange {
        self.range
    }

    fn show(&self, range: SeqRange, mut see: impl FnMut(&[u8])) {
        let mut skip = (range.start - self.range.start) as usize;
        skip = skip.saturating_add(self.spent);
        let mut rest = range.len() as usize;
        for number in 0..self.live {
            let bytes = self.bytes(number);
            let piece = bytes.get(skip..).unwrap_or_default();
            let piece = piece.get(..rest).unwrap_or(piece);
            skip = skip.saturating_sub(bytes.len());
            rest = rest.saturating_sub(piece.len());
            see(piece);
            if rest == 0 {
                return;
            }
        }
    }

    fn free_before(&mut self, seq: SeqNum) -> bool {
        let seq = seq.min(self.range.end);
        let count = seq - self.range.start;
        self.range.start += count;
        self.retire(count as usize)
    }
}

#[cfg(test)]
mod tests;
