//! The Buffered Message Set (RFC 7731 §5.2): messages that are being forwarded.

use core::ops::Range;

use redpoll_base::{Bytes, Instant, Rng, copy};
use redpoll_wire::ipv6;

use super::Params;
use super::trickle::Trickle;

/// Memory for a message.
#[derive(Clone, Copy, Debug)]
pub struct MessageSlot(Option<Message>);

impl MessageSlot {
    /// A free slot.
    pub const EMPTY: MessageSlot = MessageSlot(None);
}

#[derive(Clone, Copy, Debug)]
struct Message {
    /// Index of the entry of the message's seed in the Seed Set.
    entry: usize,
    sequence: u8,
    len: usize,
    /// `None`: the message is no longer sent, and its sequence number identifies duplicates.
    trickle: Option<Trickle>,
}

/// The identity of a new message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    pub(super) entry: usize,
    pub(super) sequence: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    pub(super) is_suppressed: bool,
    /// The entry of the message's seed, if this was the message's last interval.
    pub(super) ended: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Messages<T, B> {
    slots: T,
    bytes: B,
}

impl<T: AsRef<[MessageSlot]> + AsMut<[MessageSlot]>, B: Bytes> Messages<T, B> {
    pub(super) fn new(slots: T, bytes: B) -> Self {
        Messages { slots, bytes }
    }

    fn area(&self, place: usize) -> Range<usize> {
        let bytes = self.bytes.as_ref().len();
        let room = bytes.checked_div(self.slots.as_ref().len()).unwrap_or(0);
        let start = place.saturating_mul(room);
        start..start.saturating_add(room)
    }

    /// Counts a transmission of a message by a neighbour. Returns whether this node has stored the
    /// message.
    pub(super) fn hear(&mut self, entry: usize, sequence: u8) -> bool {
        let all = self.slots.as_mut().iter_mut();
        let mut all = all.filter_map(|slot| slot.0.as_mut());
        let same = all.find(|it| it.entry == entry && it.sequence == sequence);
        let is_here = same.is_some();
        if let Some(trickle) = same.and_then(|it| it.trickle.as_mut()) {
            trickle.hear();
        }
        is_here
    }

    /// Copies the parts of a message into a free slot. Returns `false` if no slot is free, or the
    /// message is too long.
    pub(super) fn keep(
        &mut self,
        now: Instant,
        fresh: Fresh,
        parts: &[&[u8]],
        params: &Params,
        rng: &mut Rng,
    ) -> bool {
        let mut slots = self.slots.as_ref().iter();
        let Some(place) = slots.position(|slot| slot.0.is_none()) else {
            return false;
        };
        let area = self.area(place);
        let mut room = self.bytes.as_mut().get_mut(area).unwrap_or_default();
        let mut len = 0_usize;
        for part in parts {
            if copy(part, room) < part.len() {
                return false;
            }
            room = room.get_mut(part.len()..).unwrap_or_default();
            len = len.saturating_add(part.len());
        }
        if let Some(slot) = self.slots.as_mut().get_mut(place) {
            slot.0 = Some(Message {
                entry: fresh.entry,
                sequence: fresh.sequence,
                len,
                trickle: Some(Trickle::new(now, params, rng)),
            });
        }
        true
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, Instant)> {
        let slots = self.slots.as_ref().iter().enumerate();
        slots.filter_map(|(place, slot)| Some((place, slot.0?.trickle?.at)))
    }

    /// Returns the time at which the next message is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting().map(|(_, at)| at).min()
    }

    /// Returns the slot of the message that is due first; `None` if no message is due.
    pub(super) fn due(&self, now: Instant) -> Option<usize> {
        let first = self.waiting().min_by_key(|(_, at)| *at);
        first.filter(|(_, at)| *at <= now).map(|(place, _)| place)
    }

    /// Expires the timer of a message. Writes the message with its hop limit reduced by one to the
    /// start of `out` if it is to be sent, and returns its length.
    pub(super) fn expire(
        &mut self,
        place: usize,
        params: &Params,
        rng: &mut Rng,
        out: &mut [u8],
    ) -> Option<(Expiry, Option<usize>)> {
        let area = self.area(place);
        let message = self.slots.as_mut().get_mut(place)?.0.as_mut()?;
        let step = message.trickle.as_mut()?.expire(params, rng);
        if step.is_last {
            message.trickle = None;
        }
        let len = message.len;
        let expiry = Expiry {
            is_suppressed: !step.sends,
            ended: step.is_last.then_some(message.entry),
        };
        if !step.sends {
            return Some((expiry, None));
        }
        let packet = self.bytes.as_ref().get(area)?.get(..len)?;
        let written = out.get_mut(..len).map(|out| copy(packet, out));
        let decremented = written.and_then(|_| ipv6::decrement_hop_limit(out));
        Some((expiry, decremented.map(|_| len)))
    }

    /// Frees the message with a seed's lowest number, if it is no longer sent. Returns its number.
    pub(super) fn take_ended(&mut self, entry: usize, first: u8) -> Option<u8> {
        let all = self.slots.as_mut().iter_mut();
        let of_seed = all.filter(|slot| slot.0.is_some_and(|it| it.entry == entry));
        let lowest = of_seed
            .min_by_key(|slot| slot.0.map_or(u8::MAX, |it| it.sequence.wrapping_sub(first)))?;
        let message = lowest.0.filter(|it| it.trickle.is_none())?;
        lowest.0 = None;
        Some(message.sequence)
    }
}
