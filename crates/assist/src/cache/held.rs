//! Copies of segments.

use redpoll_base::{Bytes, Instant, copy};
use redpoll_wire::tcp::SeqNum;

/// Memory for the copy of a segment; `None` if free.
#[derive(Clone, Copy, Debug)]
pub struct HeldSlot(pub(super) Option<Copied>);

impl HeldSlot {
    /// A free slot.
    pub const EMPTY: HeldSlot = HeldSlot(None);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Queued behind packets in transit. `stays`: whether a copy remains after forwarding.
    Waiting { stays: bool },
    /// Forwarded; retransmitted when due.
    Passed,
    /// The copy was retransmitted, and is dropped when its timeout ends.
    Repeated,
}

impl Stage {
    pub(super) const fn waits(self) -> bool {
        matches!(self, Stage::Waiting { .. })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    /// Index of the connection; `upper`: whether its end with the greater address and port is the
    /// sender.
    pub(super) flow: usize,
    pub(super) upper: bool,
    /// First sequence number of the segment; `end` is the sequence number after the last one.
    pub(super) seq: SeqNum,
    pub(super) end: SeqNum,
    pub(super) stage: Stage,
    pub(super) is_locked: bool,
    pub(super) number: u32,
    pub(super) len: usize,
    pub(super) due: Instant,
    /// Latest time of the retransmission; `due` is the earliest.
    pub(super) deadline: Instant,
}

/// All copies, each in an equal part of the buffer.
#[derive(Debug)]
pub(super) struct Held<T, B> {
    slots: T,
    bytes: B,
}

impl<T: AsRef<[HeldSlot]> + AsMut<[HeldSlot]>, B: Bytes> Held<T, B> {
    pub(super) fn new(slots: T, bytes: B) -> Self {
        Held { slots, bytes }
    }

    fn room(&self) -> usize {
        let bytes = self.bytes.as_ref().len();
        bytes.checked_div(self.slots.as_ref().len()).unwrap_or(0)
    }

    fn area(&self, place: usize) -> core::ops::Range<usize> {
        let start = place.saturating_mul(self.room());
        start..start.saturating_add(self.room())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Copied)> {
        let slots = self.slots.as_ref().iter().enumerate();
        slots.filter_map(|(place, slot)| Some((place, slot.0.as_ref()?)))
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Copied> {
        self.slots.as_mut().get_mut(place)?.0.as_mut()
    }

    pub(super) fn packet(&self, place: usize) -> Option<&[u8]> {
        let len = self.slots.as_ref().get(place)?.0?.len;
        self.bytes.as_ref().get(self.area(place))?.get(..len)
    }

    pub(super) fn has_room(&self, len: usize) -> bool {
        len <= self.room() && self.slots.as_ref().iter().any(|slot| slot.0.is_none())
    }

    pub(super) fn keep(&mut self, copied: Copied, packet: &[u8]) -> bool {
        let slots = self.slots.as_ref();
        let Some(place) = slots.iter().position(|slot| slot.0.is_none()) else {
            return false;
        };
        if packet.len() > self.room() {
            return false;
        }
        let area = self.area(place);
        let Some(area) = self.bytes.as_mut().get_mut(area) else {
            return false;
        };
        copy(packet, area);
        if let Some(slot) = self.slots.as_mut().get_mut(place) {
            let len = packet.len();
            slot.0 = Some(Copied { len, ..copied });
        }
        true
    }

    pub(super) fn release(&mut self, is_over: impl Fn(&Copied) -> bool) {
        for slot in self.slots.as_mut() {
            if slot.0.as_ref().is_some_and(&is_over) {
                slot.0 = None;
            }
        }
    }

    pub(super) fn free(&mut self, place: usize) {
        if let Some(slot) = self.slots.as_mut().get_mut(place) {
            slot.0 = None;
        }
    }

    pub(super) fn write(&self, place: usize, out: &mut [u8]) -> Option<usize> {
        let packet = self.packet(place)?;
        (copy(packet, out) == packet.len()).then_some(packet.len())
    }
}

impl Copied {
    /// Returns the description of a forwarded segment from `seq` to `end`, before it is copied.
    pub(super) const fn of(flow: usize, upper: bool, seq: SeqNum, end: SeqNum) -> Copied {
        Copied {
            flow,
            upper,
            seq,
            end,
            stage: Stage::Passed,
            is_locked: true,
            number: 0,
            len: 0,
            due: Instant::FAR_FUTURE,
            deadline: Instant::FAR_FUTURE,
        }
    }

    pub(super) fn is_of(&self, flow: usize, upper: bool) -> bool {
        (self.flow, self.upper) == (flow, upper)
    }
}
