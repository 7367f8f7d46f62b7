//! The slots that contain datagrams, and the state of each slot.

use core::ops::Range;

use redpoll_base::{Instant, Memory, divide, move_within};
use redpoll_wire::ieee802154::Address;

use crate::coverage::Coverage;
use crate::duplicates::Key;
use crate::waiting::Indirect;
use crate::{LossReason, LowpanMemory};

/// The handle of a slot that the caller holds, valid until the slot is released or queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotId(u8);

/// The state of one slot; opaque, made by the caller as [`Slot::EMPTY`].
#[derive(Clone, Debug)]
pub struct Slot {
    pub(crate) state: State,
    /// Length of the whole uncompressed packet in bytes, even if only a part has arrived.
    pub(crate) len: u16,
    /// Link source of a packet from the radio.
    pub(crate) link_src: Option<Address>,
    /// The following slot in the transmission queue.
    pub(crate) next: Option<SlotId>,
}

#[derive(Clone, Debug)]
pub(crate) enum State {
    Free,
    Reassembling(Partial),
    /// Recoverable fragments are arriving; the module `recovery` records which ones.
    Recovering,
    Held,
    /// The packet waits for the radio, or its frames are being sent.
    Queued {
        next_hop: Address,
    },
    Indirect(Indirect),
    /// The packet was sent or dropped, and the caller has not polled the event yet.
    Ended {
        handle: u32,
        outcome: Result<(), LossReason>,
    },
}

/// A datagram that has not arrived completely.
#[derive(Clone, Debug)]
pub(crate) struct Partial {
    pub(crate) key: Key,
    pub(crate) first: Instant,
    pub(crate) progress: Instant,
    pub(crate) seen: Coverage,
}

impl Slot {
    /// A free slot.
    pub const EMPTY: Slot = Slot {
        state: State::Free,
        len: 0,
        link_src: None,
        next: None,
    };

    /// Frees the slot. Unlike a copy of [`Slot::EMPTY`], this leaves the bytes of the old state.
    #[inline(never)] // size
    fn clear(&mut self) {
        self.state = State::Free;
        self.len = 0;
        self.link_src = None;
        self.next = None;
    }

    pub(crate) fn indirect(&self) -> Option<&Indirect> {
        match &self.state {
            State::Indirect(indirect) => Some(indirect),
            _ => None,
        }
    }

    pub(crate) fn indirect_mut(&mut self) -> Option<&mut Indirect> {
        match &mut self.state {
            State::Indirect(indirect) => Some(indirect),
            _ => None,
        }
    }

    pub(crate) fn partial(&self) -> Option<&Partial> {
        match &self.state {
            State::Reassembling(partial) => Some(partial),
            _ => None,
        }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Slot::EMPTY
    }
}

pub(crate) struct Pool<M: Memory> {
    slots: M::Table<Slot>,
    bytes: M::Buffer,
    slot_size: usize,
}

/// Greatest number of slots: fewer than 256, so that a number of slots fits into a byte.
const MAX_SLOTS: usize = 254;

impl<M: Memory> Pool<M> {
    pub(crate) fn new(memory: LowpanMemory<M>) -> Self {
        let LowpanMemory { mut slots, bytes } = memory;
        slots.as_mut().iter_mut().for_each(Slot::clear);
        let count = slots.as_ref().len().min(MAX_SLOTS);
        let len = u32::try_from(bytes.as_ref().len()).unwrap_or(u32::MAX);
        // At most 65,535 bytes, because lengths have 16 bits.
        let slot_size = u16::try_from(divide(len, count as u32)).unwrap_or(u16::MAX);
        Pool {
            slots,
            bytes,
            slot_size: slot_size.into(),
        }
    }

    pub(crate) fn slot_size(&self) -> usize {
        self.slot_size
    }

    pub(crate) fn count(&self) -> usize {
        self.slots.as_ref().len().min(MAX_SLOTS)
    }

    pub(crate) fn free(&self) -> usize {
        self.iter()
            .filter(|(_, slot)| matches!(slot.state, State::Free))
            .count()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SlotId, &Slot)> {
        (0..MAX_SLOTS as u8).map(SlotId).zip(self.slots.as_ref())
    }

    /// Allocates a free slot for `len` bytes. `None` if there is none or `len` is too large.
    pub(crate) fn take(&mut self, len: usize, state: State) -> Option<SlotId> {
        let len = u16::try_from(len)
            .ok()
            .filter(|len| usize::from(*len) <= self.slot_size)?;
        let (id, _) = self
            .iter()
            .find(|(_, slot)| matches!(slot.state, State::Free))?;
        *self.slot_mut(id)? = Slot {
            state,
            len,
            ..Slot::EMPTY
        };
        Some(id)
    }

    pub(crate) fn free_slot(&mut self, id: SlotId) {
        if let Some(slot) = self.slot_mut(id) {
            slot.clear();
        }
    }

    pub(crate) fn slot(&self, id: SlotId) -> Option<&Slot> {
        self.slots.as_ref().get(usize::from(id.0))
    }

    pub(crate) fn slot_mut(&mut self, id: SlotId) -> Option<&mut Slot> {
        self.slots.as_mut().get_mut(usize::from(id.0))
    }

    /// Returns the whole packet in a slot; empty for a free slot.
    pub(crate) fn packet(&self, id: SlotId) -> &[u8] {
        let (start, end) = self.range(id);
        self.bytes.as_ref().get(start..end).unwrap_or(&[])
    }

    pub(crate) fn packet_mut(&mut self, id: SlotId) -> &mut [u8] {
        let (start, end) = self.range(id);
        self.bytes.as_mut().get_mut(start..end).unwrap_or(&mut [])
    }

    pub(crate) fn part_mut(&mut self, id: SlotId, offset: usize, len: usize) -> Option<&mut [u8]> {
        self.packet_mut(id)
            .get_mut(offset..offset.checked_add(len)?)
    }

    /// Copies the existing bytes of the range `from` of one packet to `to` in another.
    pub(crate) fn copy_part(
        &mut self,
        source: SlotId,
        from: Range<usize>,
        target: SlotId,
        to: usize,
    ) {
        let (start, end) = self.range(source);
        let begin = start.saturating_add(from.start).min(end);
        let from = begin..start.saturating_add(from.end).min(end);
        let (start, end) = self.range(target);
        // Bytes beyond the end of the target packet are not copied.
        let room = end.saturating_sub(start).saturating_sub(to);
        let from = from.start..from.end.min(from.start.saturating_add(room));
        move_within(self.bytes.as_mut(), from, start.saturating_add(to));
    }

    fn range(&self, id: SlotId) -> (usize, usize) {
        let start = usize::from(id.0).saturating_mul(self.slot_size);
        let len = self.slot(id).map_or(0, |slot| usize::from(slot.len));
        (start, start.saturating_add(len))
    }
}
