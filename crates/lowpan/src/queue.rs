//! The datagrams that wait for the radio, first in, first out.

use redpoll_base::Memory;

use crate::SlotId;
use crate::pool::Pool;

/// A linked list of slots, which can contain all of them: each slot has the link to the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    head: Option<SlotId>,
    tail: Option<SlotId>,
    len: u8,
}

impl Queue {
    pub(crate) fn len(&self) -> u8 {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    pub(crate) fn push<M: Memory>(&mut self, pool: &mut Pool<M>, id: SlotId) {
        match self.tail.and_then(|tail| pool.slot_mut(tail)) {
            Some(last) => last.next = Some(id),
            None => self.head = Some(id),
        }
        self.tail = Some(id);
        self.len = self.len.saturating_add(1);
    }

    pub(crate) fn remove<M: Memory>(&mut self, pool: &mut Pool<M>, id: SlotId) {
        let mut before = None;
        let mut here = self.head;
        while let Some(at) = here.filter(|at| *at != id) {
            before = here;
            here = self.next(pool, at);
        }
        if here.is_none() {
            return;
        }
        let after = pool.slot_mut(id).and_then(|slot| slot.next.take());
        match before.and_then(|before| pool.slot_mut(before)) {
            Some(slot) => slot.next = after,
            None => self.head = after,
        }
        if self.tail == Some(id) {
            self.tail = before;
        }
        self.len = self.len.saturating_sub(1);
    }

    pub(crate) fn first(&self) -> Option<SlotId> {
        self.head
    }

    pub(crate) fn next<M: Memory>(&self, pool: &Pool<M>, id: SlotId) -> Option<SlotId> {
        pool.slot(id)?.next
    }

    pub(crate) fn pop<M: Memory>(&mut self, pool: &mut Pool<M>) -> Option<SlotId> {
        let id = self.head?;
        self.head = pool.slot_mut(id).and_then(|slot| slot.next.take());
        if self.head.is_none() {
            self.tail = None;
        }
        self.len = self.len.saturating_sub(1);
        Some(id)
    }
}
