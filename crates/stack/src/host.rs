//! The queue of packets to the host side (TUN, a direct link).

use core::cell::Cell;

use redpoll_lowpan::SlotId;

/// The capacity in packets; the slots belong to the node's datagram pool.
const CAPACITY: usize = 32;

/// A queue of datagram slots, first in, first out.
#[derive(Default)]
pub(crate) struct HostQueue {
    slots: [Option<SlotId>; CAPACITY],
    len: usize,
}

impl HostQueue {
    /// Appends a slot; `Err` returns it if the queue is full.
    pub(crate) fn push(&mut self, slot: SlotId) -> Result<(), SlotId> {
        match self.slots.get_mut(self.len) {
            Some(cell) => {
                *cell = Some(slot);
                self.len = self.len.saturating_add(1);
                Ok(())
            }
            None => Err(slot),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<SlotId> {
        let first = self.slots.first_mut()?.take()?;
        // Moves the remaining slots up by swaps, because `rotate_left` contains a panic.
        let cells = Cell::from_mut(self.slots.as_mut_slice()).as_slice_of_cells();
        for pair in cells.windows(2) {
            if let [free, next] = pair {
                free.swap(next);
            }
        }
        self.len = self.len.saturating_sub(1);
        Some(first)
    }
}
