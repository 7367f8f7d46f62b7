//! The waiting packets: a queue for each flow, and a list of all in the order of arrival.

use redpoll_base::Instant;

use super::flow::{FlowSlot, NONE, at, at_mut};

/// Memory of a waiting packet, which the caller identifies by a handle of type `H`.
#[derive(Debug)]
pub struct HeldSlot<H> {
    handle: Option<H>,
    arrived: Instant,
    number: u64,
    new_bytes: u32,
    flow: u32,
    /// Index of the flow's next packet; in a free slot the index of the next free slot.
    next: u32,
    older: u32,
    newer: u32,
}

impl<H> HeldSlot<H> {
    /// A free slot.
    pub const EMPTY: HeldSlot<H> = HeldSlot {
        handle: None,
        arrived: Instant::ZERO,
        number: 0,
        new_bytes: 0,
        flow: NONE,
        next: NONE,
        older: NONE,
        newer: NONE,
    };
}

#[derive(Debug)]
pub(super) struct Dequeued<H> {
    pub(super) handle: H,
    pub(super) arrived: Instant,
    /// Payload bytes that no earlier packet of the flow contained.
    pub(super) new_bytes: u32,
}

#[derive(Debug)]
pub(super) struct Held<T> {
    slots: T,
    /// First free slot among the slots that were used before.
    free: u32,
    /// First slot that has never been used.
    fresh: u32,
    count: u32,
    oldest: u32,
    newest: u32,
    numbers: u64,
}

impl<T> Held<T> {
    pub(super) fn new(slots: T) -> Self {
        Held {
            slots,
            free: NONE,
            fresh: 0,
            count: 0,
            oldest: NONE,
            newest: NONE,
            numbers: 0,
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }
}

impl<T> Held<T> {
    /// Returns the flow of the packet that has waited longest, and its arrival time.
    pub(super) fn oldest<H>(&self) -> Option<(u32, Instant)>
    where
        T: AsRef<[HeldSlot<H>]>,
    {
        let slot = at(self.slots.as_ref(), self.oldest)?;
        Some((slot.flow, slot.arrived))
    }

    /// Appends a packet to the queue of flow `place`. Returns the handle if no slot is free.
    pub(super) fn push<H>(
        &mut self,
        now: Instant,
        place: u32,
        flow: &mut FlowSlot,
        new_bytes: u32,
        handle: H,
    ) -> Result<(), H>
    where
        T: AsRef<[HeldSlot<H>]> + AsMut<[HeldSlot<H>]>,
    {
        let Some(slot) = self.allot() else {
            return Err(handle);
        };
        let number = self.numbers;
        self.numbers = self.numbers.wrapping_add(1);
        let newest = core::mem::replace(&mut self.newest, slot);
        match at_mut(self.slots.as_mut(), newest) {
            Some(before) => before.newer = slot,
            None => self.oldest = slot,
        }
        if let Some(entry) = at_mut(self.slots.as_mut(), slot) {
            *entry = HeldSlot {
                handle: Some(handle),
                arrived: now,
                number,
                new_bytes,
                flow: place,
                next: NONE,
                older: newest,
                newer: NONE,
            };
        }
        match at_mut(self.slots.as_mut(), flow.last) {
            Some(before) => before.next = slot,
            None => {
                flow.first = slot;
                flow.first_number = number;
            }
        }
        flow.last = slot;
        flow.waiting = flow.waiting.saturating_add(1);
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    pub(super) fn pop<H>(&mut self, flow: &mut FlowSlot) -> Option<Dequeued<H>>
    where
        T: AsRef<[HeldSlot<H>]> + AsMut<[HeldSlot<H>]>,
    {
        let slot = flow.first;
        let free = self.free;
        let entry = at_mut(self.slots.as_mut(), slot)?;
        let handle = entry.handle.take()?;
        let (arrived, new_bytes) = (entry.arrived, entry.new_bytes);
        let (next, older, newer) = (entry.next, entry.older, entry.newer);
        entry.next = free;
        self.free = slot;
        match at_mut(self.slots.as_mut(), older) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match at_mut(self.slots.as_mut(), newer) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
        flow.first = next;
        match at(self.slots.as_ref(), next) {
            Some(first) => flow.first_number = first.number,
            None => flow.last = NONE,
        }
        flow.waiting = flow.waiting.saturating_sub(1);
        self.count = self.count.saturating_sub(1);
        Some(Dequeued {
            handle,
            arrived,
            new_bytes,
        })
    }

    fn allot<H>(&mut self) -> Option<u32>
    where
        T: AsRef<[HeldSlot<H>]> + AsMut<[HeldSlot<H>]>,
    {
        if let Some(slot) = at(self.slots.as_ref(), self.free) {
            return Some(core::mem::replace(&mut self.free, slot.next));
        }
        let slot = self.fresh;
        at(self.slots.as_ref(), slot)?;
        self.fresh = slot.saturating_add(1);
        Some(slot)
    }
}
