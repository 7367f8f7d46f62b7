//! A datagram that arrives in recoverable fragments: the reassembling endpoint of RFC 8931 §6.

use redpoll_base::Instant;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::recoverable::{Ack, Bitmap, Fragment};

use super::ranges::Ranges;
use super::{Patience, Waits};
use crate::{DropReason, SlotId};

/// The record of a datagram that arrives, or has just arrived; opaque.
#[derive(Clone, Debug, Default)]
pub struct Incoming(pub(crate) Option<Arriving>);

impl Incoming {
    /// A free entry.
    pub const EMPTY: Incoming = Incoming(None);

    pub(crate) fn peek(&self) -> Option<&Arriving> {
        self.0.as_ref()
    }

    pub(crate) fn get(&mut self) -> Option<&mut Arriving> {
        self.0.as_mut()
    }

    pub(crate) fn is_available(&self) -> bool {
        let over = |entry: &Arriving| entry.slot.is_none() && !entry.ack_due;
        self.0.as_ref().is_none_or(over)
    }

    /// Returns the entry with its rank for reuse, lowest first: free entries, then the datagram
    /// that was complete first. `None` if the entry is still needed.
    pub(crate) fn rank(&mut self) -> Option<(Option<Instant>, &mut Self)> {
        let available = self.is_available();
        let since = self.0.as_ref().map(|entry| entry.expires);
        available.then_some((since, self))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) compressed: u16,
    pub(crate) expanded: u16,
}

#[derive(Clone, Debug)]
pub(crate) struct Arriving {
    pub(crate) src: Address,
    pub(crate) tag: u8,
    /// The slot of the reassembly; `None` after the datagram was passed to the upper layer.
    pub(crate) slot: Option<SlotId>,
    size: u16,
    head: Head,
    bitmap: Bitmap,
    seen: Ranges,
    /// Whether a fragment had the ECN bit, and no acknowledgment has reported it to the sender yet.
    ecn: bool,
    pub(crate) ack_due: bool,
    progress: Instant,
    /// Time at which the incomplete datagram is given up, even if fragments still arrive.
    limit: Instant,
    /// Time at which the incomplete datagram is given up, or the record of the complete one ends.
    pub(crate) expires: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Offset in bytes of the fragment in the uncompressed datagram.
    Place(usize),
    /// The fragment has already arrived.
    Known,
}

impl Arriving {
    /// Returns the record of a datagram whose first fragment, `header`, has arrived at `now`. The
    /// datagram is given up at `limit`.
    pub(crate) fn new(
        now: Instant,
        limit: Instant,
        src: Address,
        header: &Fragment,
        slot: SlotId,
        head: Head,
    ) -> Self {
        Arriving {
            src,
            tag: header.tag,
            slot: Some(slot),
            size: header.offset,
            head,
            bitmap: Bitmap::NULL,
            seen: Ranges::default(),
            ecn: false,
            ack_due: false,
            progress: now,
            limit,
            expires: limit,
        }
    }

    pub(crate) fn is(&self, src: Address, tag: u8) -> bool {
        self.src == src && self.tag == tag
    }

    /// Handles a fragment. RFC 8931 §6: "the reassembling endpoint MUST acknowledge a fragment with
    /// the acknowledgment request bit set".
    ///
    /// # Errors
    /// The fragment cannot belong to the datagram, or the datagram would have too many gaps.
    pub(crate) fn on_fragment(&mut self, header: &Fragment) -> Result<Outcome, DropReason> {
        self.ecn |= header.ecn;
        self.ack_due |= header.ack_request;
        if self.slot.is_none() || self.bitmap.has(header.sequence) {
            return Ok(Outcome::Known);
        }
        let Head {
            compressed: head,
            expanded,
        } = self.head;
        let start = if header.sequence == 0 {
            0
        } else {
            header.offset
        };
        let place = match header.sequence {
            0 => 0,
            _ => {
                let behind = start.checked_sub(head).ok_or(DropReason::Malformed)?;
                usize::from(expanded).saturating_add(behind.into())
            }
        };
        let end = start
            .checked_add(header.size)
            .ok_or(DropReason::Malformed)?;
        if end > self.size {
            return Err(DropReason::Malformed);
        }
        if !self.seen.insert(start, end) {
            return Err(DropReason::NoFragmentBuffer);
        }
        self.bitmap = self.bitmap.with(Bitmap::of(header.sequence));
        Ok(Outcome::Place(place))
    }

    /// If the datagram is complete, schedules an acknowledgment, even without a request (RFC 8931
    /// §6), and returns the slot.
    pub(crate) fn complete(&mut self, now: Instant, waits: Waits) -> Option<SlotId> {
        self.progress = now;
        if !self.seen.is_complete(self.size) {
            self.expires = self.limit.min(now + waits.timeout);
            return None;
        }
        self.expires = now + waits.linger;
        self.bitmap = Bitmap::FULL;
        self.ack_due = true;
        self.slot.take()
    }

    /// Returns whether more than the first fragment has arrived. A first fragment alone is easy to
    /// forge.
    pub(crate) fn has_grown(&self) -> bool {
        self.bitmap != Bitmap::of(0)
    }

    /// Returns the rank for eviction, lowest first; `None` while the sender may continue.
    pub(crate) fn readiness(&self, now: Instant, patience: &Patience) -> Option<(bool, Instant)> {
        self.slot?;
        let grown = self.has_grown();
        patience
            .is_over(now, grown, self.progress)
            .then_some((grown, self.progress))
    }

    /// Returns and clears the due acknowledgment. RFC 8931 §6: ECN is echoed "at most once".
    pub(crate) fn take_ack(&mut self) -> Option<(Address, Ack)> {
        if !core::mem::take(&mut self.ack_due) {
            return None;
        }
        let ack = Ack {
            ecn: core::mem::take(&mut self.ecn),
            tag: self.tag,
            bitmap: self.bitmap,
        };
        Some((self.src, ack))
    }
}
