//! The path of a datagram through a relay: a label-switched path (RFC 8931 §6.1.1), forward for its
//! fragments and back for their acknowledgments.

use redpoll_base::Instant;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::recoverable::{Ack, Bitmap, Fragment};

use super::{Patience, Waits};
use crate::Onward;

/// A relay's record of a recoverable datagram in transit; opaque.
#[derive(Clone, Debug, Default)]
pub struct SwitchedPath(pub(crate) Option<Path>);

impl SwitchedPath {
    /// A free entry.
    pub const EMPTY: SwitchedPath = SwitchedPath(None);

    /// Returns the rank of the entry for reuse, lowest first: free entries, then complete
    /// datagrams, then stalled ones with only a first fragment, then other stalled ones; the oldest
    /// of each first. `None` if the datagram still needs the entry.
    pub(crate) fn rank(&self, now: Instant, patience: &Patience) -> Option<(u8, Instant)> {
        let Some(path) = &self.0 else {
            return Some((0, Instant::ZERO));
        };
        if path.is_full {
            return Some((1, path.expires));
        }
        let grown = path.has_grown;
        let is_over = patience.is_over(now, grown, path.progress);
        is_over.then_some((if grown { 3 } else { 2 }, path.progress))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Path {
    src: Address,
    tag_in: u8,
    pub(crate) next_hop: Address,
    pub(crate) tag_out: u8,
    pub(crate) onward: Onward,
    /// Bytes that the first fragment gained here; later offsets grow by them (RFC 8931 §4.4).
    shift: i16,
    pub(crate) is_full: bool,
    pub(crate) ack: Option<Ack>,
    progress: Instant,
    /// Whether more than the first fragment has passed. A first fragment alone is easy to forge.
    has_grown: bool,
    /// Time at which a datagram in transit is given up, or the path of a complete one is deleted.
    pub(crate) expires: Instant,
}

pub(crate) struct NewPath {
    pub(crate) src: Address,
    pub(crate) tag_in: u8,
    pub(crate) onward: Onward,
    pub(crate) tag_out: u8,
    /// Time at which the datagram is given up if no later fragment passes.
    pub(crate) expires: Instant,
}

impl Path {
    pub(crate) fn new(now: Instant, path: NewPath) -> Self {
        Path {
            src: path.src,
            tag_in: path.tag_in,
            next_hop: path.onward.next_hop,
            tag_out: path.tag_out,
            onward: path.onward,
            shift: 0,
            is_full: false,
            ack: None,
            progress: now,
            has_grown: false,
            expires: path.expires,
        }
    }

    /// Handles a passing fragment; `later` is whether it follows the first fragment.
    pub(crate) fn on_passed(&mut self, now: Instant, later: bool, expires: Instant) {
        self.progress = now;
        self.has_grown |= later;
        self.expires = expires;
    }

    pub(crate) fn comes_from(&self, src: Address, tag: u8) -> bool {
        self.src == src && self.tag_in == tag
    }

    /// Returns the header of the datagram's first fragment for the next hop, where the fragment has
    /// `size` bytes. The change of its size shifts the offsets of all later fragments.
    pub(crate) fn first(&mut self, header: &Fragment, size: u16) -> Option<Fragment> {
        let shift = i32::from(size).checked_sub(header.size.into())?;
        self.shift = i16::try_from(shift).ok()?;
        Some(Fragment {
            tag: self.tag_out,
            size,
            offset: header.offset.checked_add_signed(self.shift)?,
            ..*header
        })
    }

    /// Returns the header of a later fragment, or of an abort, for the next hop.
    pub(crate) fn later(&self, header: &Fragment) -> Option<Fragment> {
        let shift = if header.is_abort() { 0 } else { self.shift };
        let offset = header.offset.checked_add_signed(shift)?;
        (header.is_abort() || offset > 0).then_some(Fragment {
            tag: self.tag_out,
            offset,
            ..*header
        })
    }

    /// Handles an acknowledgment to forward. RFC 8931 §6.2: after a FULL bitmap, the path is kept
    /// for a while.
    pub(crate) fn on_ack(&mut self, now: Instant, ack: Ack, waits: Waits) {
        self.is_full |= ack.bitmap == Bitmap::FULL;
        self.expires = match self.is_full {
            true => now + waits.linger,
            false => now + waits.timeout,
        };
        let before = self.ack.is_some_and(|before| before.ecn);
        self.ack = Some(Ack {
            ecn: ack.ecn || before,
            ..ack
        });
    }

    /// Repeats the full acknowledgment, because the sender requests it again.
    pub(crate) fn repeat_full(&mut self) {
        self.ack.get_or_insert(Ack {
            ecn: false,
            tag: self.tag_out,
            bitmap: Bitmap::FULL,
        });
    }

    /// Returns the acknowledgment for the previous hop, with the tag of that hop, and removes it.
    pub(crate) fn take_ack(&mut self) -> Option<(Address, Ack)> {
        let ack = self.ack.take()?;
        let tag = self.tag_in;
        Some((self.src, Ack { tag, ..ack }))
    }
}
