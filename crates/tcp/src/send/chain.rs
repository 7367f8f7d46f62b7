//! A send store made of the application's buffers, which are not copied.

use core::marker::PhantomData;

use super::{SendStore, SendStoreExt};
use crate::{SeqNum, SeqRange};

/// Memory for a buffer of a [`Chain`].
#[derive(Debug)]
pub struct ChainSlot<D>(Option<D>);

impl<D> ChainSlot<D> {
    /// An empty slot.
    pub const EMPTY: Self = ChainSlot(None);
}

/// A send store that keeps the application's buffers until all of their bytes are acknowledged and
/// the link does not need them.
///
/// `D` is a buffer: `&'static [u8]` for constant data in flash, or an owned buffer that is returned
/// later, such as `&'static mut [u8]`. `T` is the table of slots, one for each buffer; it is a
/// ring.
#[derive(Debug)]
pub struct Chain<D, T> {
    table: T,
    /// Index in `table` of the oldest buffer that was not reclaimed.
    first: usize,
    /// Number of buffers from `first` on that may be reclaimed.
    free: usize,
    /// Number of buffers after the free ones that hold needed bytes.
    live: usize,
    /// Bytes of the oldest live buffer that are no longer needed.
    spent: usize,
    /// Sequence numbers from the oldest needed byte to the next byte that will be appended.
    range: SeqRange,
    data: PhantomData<D>,
}

/// Maximum of outstanding bytes: far below half of the sequence space.
const MOST: usize = 1 << 24;

impl<D, T> Chain<D, T>
where
    D: AsRef<[u8]>,
    T: AsRef<[ChainSlot<D>]> + AsMut<[ChainSlot<D>]>,
{
    /// Creates an empty chain. Contents of `table` are dropped when its slots are filled.
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

    /// Returns how many buffers the chain would accept now.
    pub fn room(&self) -> usize {
        let used = self.free.saturating_add(self.live);
        self.table.as_ref().len().saturating_sub(used)
    }

    /// Appends a buffer. `Err` returns it if no slot is free or too many bytes are outstanding.
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
        // An empty buffer is no longer needed once the buffers before it are retired.
        self.retire(0);
        Ok(())
    }

    /// Returns the oldest buffer that is no longer needed, and frees its slot.
    pub fn reclaim(&mut self) -> Option<D> {
        self.free = self.free.checked_sub(1)?;
        let first = self.first;
        self.first = self.slot(1);
        self.table.as_mut().get_mut(first)?.0.take()
    }

    /// Returns the table, including buffers that were not reclaimed.
    pub fn into_table(self) -> T {
        self.table
    }

    /// Returns the index of the slot `offset` places after the first used one.
    fn slot(&self, offset: usize) -> usize {
        let slot = self.first.saturating_add(offset);
        slot.checked_sub(self.table.as_ref().len()).unwrap_or(slot)
    }

    /// Returns the bytes of the live buffer `number` places after the oldest one.
    fn bytes(&self, number: usize) -> &[u8] {
        let slot = self.slot(self.free.saturating_add(number));
        let slot = self.table.as_ref().get(slot);
        let data = slot.and_then(|slot| slot.0.as_ref());
        data.map(AsRef::as_ref).unwrap_or_default()
    }

    /// Marks `count` more bytes of the oldest live buffers as no longer needed. Returns whether a
    /// buffer ended.
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
