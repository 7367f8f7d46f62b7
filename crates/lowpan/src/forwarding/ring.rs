//! The ring of fragments that wait for the radio.

use redpoll_base::Memory;

use super::Forwarding;
use super::buffers::FragmentBuffer;

impl<M: Memory> Forwarding<M> {
    /// Returns the capacity of the ring: the number of its entries, used or free.
    pub(super) fn ring(&self) -> u8 {
        self.fragments.as_ref().len().min(254) as u8
    }

    pub(super) fn has_room(&self) -> bool {
        self.len < self.ring()
    }

    /// Returns the index of the `i`-th waiting fragment.
    pub(super) fn place(&self, i: u8) -> usize {
        let place = usize::from(self.head).saturating_add(i.into());
        let ring = usize::from(self.ring());
        if place < ring {
            place
        } else {
            place.saturating_sub(ring)
        }
    }

    pub(super) fn get(&self, i: u8) -> Option<&FragmentBuffer> {
        let waits = i < self.len;
        self.fragments.as_ref().get(self.place(i)).filter(|_| waits)
    }

    pub(super) fn push(&mut self, fragment: FragmentBuffer) {
        let place = self.place(self.len);
        if let Some(free) = self.fragments.as_mut().get_mut(place) {
            *free = fragment;
            self.len = self.len.saturating_add(1);
        }
    }

    pub(super) fn pop(&mut self) {
        if self.len > 0 {
            self.head = self.place(1) as u8;
            self.len = self.len.saturating_sub(1);
        }
    }

    /// Marks the fragments of a datagram as dead: they are not sent.
    pub(super) fn kill(&mut self, tag: u16, recoverable: bool) {
        for i in 0..self.len {
            let place = self.place(i);
            let fragment = self.fragments.as_mut().get_mut(place);
            if let Some(fragment) =
                fragment.filter(|fragment| fragment.name() == (tag, recoverable))
            {
                fragment.dead = true;
            }
        }
    }
}
