//! Slots in the caller's hands: packets that are read, written and handed to transmission.

use core::ops::Range;

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::Address;

use super::Lowpan;
use crate::SlotId;
use crate::pool::State;

impl<M: Memory> Lowpan<M> {
    /// The packet in a slot that the caller holds; empty for any other.
    pub fn packet(&self, slot: SlotId) -> &[u8] {
        if self.is_held(slot) {
            self.pool.packet(slot)
        } else {
            &[]
        }
    }

    /// The packet in a slot that the caller holds, to write or edit.
    pub fn packet_mut(&mut self, slot: SlotId) -> &mut [u8] {
        if self.is_held(slot) {
            self.pool.packet_mut(slot)
        } else {
            &mut []
        }
    }

    /// Changes the length of the packet in a held slot, at most to the slot
    /// size; bytes that come in are whatever lay there before. So an answer
    /// can be written over the packet that it answers.
    pub fn resize(&mut self, slot: SlotId, len: usize) {
        if self.is_held(slot) {
            let len = len.min(self.pool.slot_size());
            if let Some(slot) = self.pool.slot_mut(slot) {
                slot.len = len as u16;
            }
        }
    }

    /// Copies what there is of the bytes `from` of the packet in one held slot to where
    /// the packet in another has them at `to`, as far as both go.
    pub fn copy_part(&mut self, source: SlotId, from: Range<usize>, target: SlotId, to: usize) {
        if self.is_held(source) && self.is_held(target) {
            self.pool.copy_part(source, from, target, to);
        }
    }

    /// Who sent the packet over the link; `None` for one made here.
    pub fn link_source(&self, slot: SlotId) -> Option<Address> {
        self.pool.slot(slot).and_then(|slot| slot.link_src)
    }

    /// Takes a slot for a packet of `len` bytes that the caller is going to
    /// write. `None` when `len` exceeds the slot size, or when only the slots
    /// of [`LowpanConfig::receive_reserve`](crate::LowpanConfig::receive_reserve) are left.
    pub fn allocate(&mut self, len: usize) -> Option<SlotId> {
        if !self.has_room() {
            return None;
        }
        let slot = self.pool.take(len, State::Held);
        self.note_slots();
        slot
    }

    /// Whether more slots are free than those of [`LowpanConfig::receive_reserve`](crate::LowpanConfig::receive_reserve).
    pub fn has_room(&self) -> bool {
        let reserve = self
            .receive_reserve
            .min(self.pool.count().saturating_sub(1));
        self.pool.free() > reserve
    }

    /// Whether more than half of the slots are free: room for somebody who can wait.
    pub fn has_half(&self) -> bool {
        self.pool.free() > self.pool.count() / 2
    }

    /// Gives a slot back that the caller holds.
    #[inline(never)] // size
    pub fn release(&mut self, slot: SlotId) {
        if self.is_held(slot) {
            self.pool.free_slot(slot);
        }
    }

    /// Hands a held slot to transmission, behind those queued before. From then
    /// on it is no longer the caller's; it becomes free when its last frame has
    /// ended. `next_hop` is the link destination of its frames.
    pub fn queue(&mut self, now: Instant, slot: SlotId, next_hop: Address) {
        if !self.is_held(slot) {
            return;
        }
        if let Some(entry) = self.pool.slot_mut(slot) {
            entry.state = State::Queued { next_hop };
            self.queue.push(&mut self.pool, slot);
            self.note_red();
        }
        self.note_occupancy(now);
    }

    /// Whether datagrams for so many neighbours wait or are leaving, none of them for
    /// `neighbour`: a limit that some MACs have.
    pub fn is_full_of_others(&self, neighbour: Address, limit: usize) -> bool {
        let hops = || {
            self.pool.iter().filter_map(|(_, slot)| match slot.state {
                State::Queued { next_hop } => Some(next_hop),
                _ => None,
            })
        };
        let is_first = |(index, hop): &(usize, Address)| {
            let mut earlier = hops().take(*index);
            !earlier.any(|other| other == *hop)
        };
        !hops().any(|hop| hop == neighbour) && hops().enumerate().filter(is_first).count() >= limit
    }

    pub(super) fn is_held(&self, slot: SlotId) -> bool {
        let slot = self.pool.slot(slot);
        slot.is_some_and(|slot| matches!(slot.state, State::Held))
    }

    /// Slots that are not used for anything.
    pub fn free_slots(&self) -> usize {
        self.pool.free()
    }

    /// Bytes of a slot: the longest packet that can be received or queued.
    pub fn slot_size(&self) -> usize {
        self.pool.slot_size()
    }

    pub(super) fn note_slots(&mut self) {
        let taken = self.pool.count().saturating_sub(self.pool.free());
        let taken = u8::try_from(taken).unwrap_or(u8::MAX);
        self.counters.peak_slots = self.counters.peak_slots.max(taken);
    }
}
