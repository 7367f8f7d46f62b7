//! Slots that the caller holds: packets that it reads, writes and queues for transmission.

use core::ops::Range;

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::Address;

use super::Lowpan;
use crate::SlotId;
use crate::pool::State;

impl<M: Memory> Lowpan<M> {
    /// Returns the packet in a slot that the caller holds; empty for any other slot.
    pub fn packet(&self, slot: SlotId) -> &[u8] {
        if self.is_held(slot) {
            self.pool.packet(slot)
        } else {
            &[]
        }
    }

    /// As [`packet`](Self::packet), to write or edit the packet.
    pub fn packet_mut(&mut self, slot: SlotId) -> &mut [u8] {
        if self.is_held(slot) {
            self.pool.packet_mut(slot)
        } else {
            &mut []
        }
    }

    /// Changes the length of the packet in a held slot, at most to the slot size. Additional bytes
    /// keep the slot's previous contents, so an answer can be written over the packet that it
    /// answers.
    pub fn resize(&mut self, slot: SlotId, len: usize) {
        if self.is_held(slot) {
            let len = len.min(self.pool.slot_size());
            if let Some(slot) = self.pool.slot_mut(slot) {
                slot.len = len as u16;
            }
        }
    }

    /// Copies the bytes `from` of the packet in one held slot to offset `to` of the packet in
    /// another one. Bytes beyond the end of either packet are not copied.
    pub fn copy_part(&mut self, source: SlotId, from: Range<usize>, target: SlotId, to: usize) {
        if self.is_held(source) && self.is_held(target) {
            self.pool.copy_part(source, from, target, to);
        }
    }

    /// Returns the link address of the packet's sender; `None` for a packet of this node.
    pub fn link_source(&self, slot: SlotId) -> Option<Address> {
        self.pool.slot(slot).and_then(|slot| slot.link_src)
    }

    /// Allocates a slot for a packet of `len` bytes that the caller is going to write. Returns
    /// `None` if `len` exceeds the slot size, or if only the slots of
    /// [`LowpanConfig::receive_reserve`](crate::LowpanConfig::receive_reserve) are left.
    pub fn allocate(&mut self, len: usize) -> Option<SlotId> {
        if !self.has_room() {
            return None;
        }
        let slot = self.pool.take(len, State::Held);
        self.note_slots();
        slot
    }

    /// Returns whether more slots are free than those of
    /// [`LowpanConfig::receive_reserve`](crate::LowpanConfig::receive_reserve).
    pub fn has_room(&self) -> bool {
        let reserve = self
            .receive_reserve
            .min(self.pool.count().saturating_sub(1));
        self.pool.free() > reserve
    }

    /// Returns whether more than half of the slots are free. If not, the caller should keep packets
    /// that can wait.
    pub fn has_half(&self) -> bool {
        self.pool.free() > self.pool.count() / 2
    }

    /// Frees a slot that the caller holds.
    #[inline(never)] // size
    pub fn release(&mut self, slot: SlotId) {
        if self.is_held(slot) {
            self.pool.free_slot(slot);
        }
    }

    /// Queues a held slot for transmission. The caller then no longer holds the slot, which becomes
    /// free after the last frame of the packet. `next_hop` is the link destination of the frames.
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

    /// Returns whether datagrams for at least `limit` other neighbours are queued, and none for
    /// `neighbour`. Some MACs can queue frames for only a limited number of neighbours.
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

    /// Returns the number of free slots.
    pub fn free_slots(&self) -> usize {
        self.pool.free()
    }

    /// Returns the size of a slot in bytes: the longest packet that can be received or queued.
    pub fn slot_size(&self) -> usize {
        self.pool.slot_size()
    }

    pub(super) fn note_slots(&mut self) {
        let taken = self.pool.count().saturating_sub(self.pool.free());
        let taken = u8::try_from(taken).unwrap_or(u8::MAX);
        self.counters.peak_slots = self.counters.peak_slots.max(taken);
    }
}
