//! Reassembly of IPv6 fragments (RFC 8200 §4.5): the fragments received of each packet, and when it
//! is complete.
//!
//! A packet in reassembly is in a slot of 6LoWPAN: the IPv6 header and the fragment header of the
//! first received fragment, followed by the data.

use redpoll_base::{Addr, Duration, Ecn, Instant, Memory, Wake};
use redpoll_lowpan::SlotId;
use redpoll_wire::icmpv6::parameter_problem;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::icmp::{IcmpError, Refusal};
use crate::counters::DropReason;

/// The offset of a packet's data during reassembly: behind the IPv6 and fragment headers.
pub(crate) const DATA: usize = Ipv6Header::LEN + FRAGMENT_HEADER;
pub(crate) const FRAGMENT_HEADER: usize = 8;
/// Octets in one unit of a fragment offset.
const UNIT: usize = 8;
/// Units of the longest packet: 1,536 octets behind the header, where RFC 8200 §5 asks for 1,460.
const UNITS: usize = 192;
/// Time for the reassembly of a packet: "If insufficient fragments are received to complete
/// reassembly of a packet within 60 seconds" (RFC 8200 §4.5).
const TIMEOUT: Duration = Duration::from_secs(60);
const TIMEOUT_SLACK: Duration = Duration::from_secs(1);
/// The offset of the Payload Length field in a packet.
const PAYLOAD_LENGTH: u16 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    pub(crate) src: Addr,
    pub(crate) dst: Addr,
    pub(crate) identification: u32,
}

/// A fragment header, and the number of octets behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fragment {
    pub(crate) identification: u32,
    pub(crate) next_header: u8,
    /// Offset in octets.
    pub(crate) offset: usize,
    pub(crate) more: bool,
    pub(crate) len: usize,
}

impl Fragment {
    /// Parses the header at the start of `bytes`, which are at the offset `at` in the packet.
    pub(crate) fn parse(bytes: &[u8], at: usize) -> Result<Fragment, Refusal> {
        let &[next_header, _, high, low, a, b, c, d, ref data @ ..] = bytes else {
            return Err(DropReason::Malformed.into());
        };
        let field = u16::from_be_bytes([high, low]);
        let fragment = Fragment {
            identification: u32::from_be_bytes([a, b, c, d]),
            next_header,
            offset: usize::from(field & 0xfff8),
            more: field & 1 != 0,
            len: data.len(),
        };
        let problem = |pointer| {
            let code = parameter_problem::HEADER_FIELD;
            let error = IcmpError::ParameterProblem { code, pointer };
            Refusal(DropReason::Malformed, Some(error))
        };
        if fragment.more && !fragment.len.is_multiple_of(UNIT) {
            return Err(problem(PAYLOAD_LENGTH));
        }
        if fragment.end() > usize::from(u16::MAX) {
            let at = at.saturating_add(2);
            return Err(problem(at as u16));
        }
        if fragment.len == 0 {
            return Err(DropReason::Malformed.into());
        }
        Ok(fragment)
    }

    fn end(&self) -> usize {
        self.offset.saturating_add(self.len)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Units([u32; UNITS / 32]);

impl Units {
    const NONE: Units = Units([0; UNITS / 32]);

    fn has(&self, unit: usize) -> bool {
        let word = self.0.get(unit / 32).copied().unwrap_or(0);
        word >> (unit % 32) & 1 != 0
    }

    fn add(&mut self, unit: usize) {
        if let Some(word) = self.0.get_mut(unit / 32) {
            *word |= 1 << (unit % 32);
        }
    }
}

/// Memory for the reassembly of one packet.
#[derive(Clone, Debug)]
pub struct PartialSlot(Option<Partial>);

impl PartialSlot {
    /// An empty slot.
    pub const EMPTY: PartialSlot = PartialSlot(None);
}

#[derive(Clone, Debug)]
struct Partial {
    key: Key,
    /// The slot of the packet; `None` after the packet was dropped as [`Placement::Spoilt`].
    slot: Option<SlotId>,
    began: Instant,
    seen: Units,
    begins: Units,
    /// Octets behind the fragment header, once the last fragment was received.
    end: Option<usize>,
    /// The Next Header field of the fragment with offset zero, once it was received.
    next_header: Option<u8>,
    ecn: Ecn,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// No earlier fragment of the packet has arrived; the caller must call [`Joiner::begin`].
    Begin,
    /// The fragment's data are copied into this slot, at its offset behind [`DATA`].
    Copy(SlotId),
    Drop(DropReason),
    /// The fragment and its packet, which is in this slot, are dropped: the fragment overlaps or
    /// contradicts earlier fragments, or is too long (§4.5).
    Spoilt(SlotId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Joined {
    pub(crate) slot: SlotId,
    /// Octets behind the fragment header.
    pub(crate) len: usize,
    pub(crate) next_header: u8,
    pub(crate) ecn: Ecn,
}

/// A packet that was not complete in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Late {
    pub(crate) slot: Option<SlotId>,
    /// Octets behind the fragment header, from the beginning to the first gap. The error for the
    /// sender quotes some of them (§4.5).
    pub(crate) len: usize,
}

pub(crate) struct Joiner<M: Memory + 'static> {
    partials: M::Table<PartialSlot>,
    /// The longest data in a slot, in octets behind the fragment header.
    longest: usize,
}

impl<M: Memory + 'static> Joiner<M> {
    pub(crate) fn new(slot_size: usize, partials: M::Table<PartialSlot>) -> Self {
        Joiner {
            partials,
            longest: slot_size.saturating_sub(DATA).min(UNITS * UNIT),
        }
    }

    fn places(&mut self) -> impl Iterator<Item = &mut Option<Partial>> {
        self.partials.as_mut().iter_mut().map(|it| &mut it.0)
    }

    pub(crate) fn on_fragment(&mut self, key: Key, fragment: &Fragment, ecn: Ecn) -> Placement {
        let longest = self.longest;
        let mut all = self.places().flatten();
        let known = all.find(|it| it.key == key);
        let Some(partial) = known else {
            return match fragment.end() > longest {
                true => Placement::Drop(DropReason::TooBig),
                false => Placement::Begin,
            };
        };
        let Some(slot) = partial.slot else {
            return Placement::Drop(DropReason::Fragment);
        };
        if partial.has_exactly(fragment) {
            return Placement::Drop(DropReason::Fragment);
        }
        if fragment.end() > longest || !partial.add(fragment, ecn) {
            partial.slot = None;
            return Placement::Spoilt(slot);
        }
        Placement::Copy(slot)
    }

    /// Begins the reassembly of a packet whose first received fragment is in `slot`. Returns the
    /// slot of the oldest packet, if the new one replaces it.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        key: Key,
        slot: SlotId,
        fragment: &Fragment,
        ecn: Ecn,
    ) -> Option<SlotId> {
        let mut partial = Partial {
            key,
            slot: Some(slot),
            began: now,
            seen: Units::NONE,
            begins: Units::NONE,
            end: None,
            next_header: None,
            ecn,
        };
        // A single fragment does not overlap another one.
        partial.add(fragment, ecn);
        let oldest = |it: &&mut Option<Partial>| it.as_ref().map(|partial| partial.began);
        let place = self.places().min_by_key(oldest)?;
        place.replace(partial)?.slot
    }

    pub(crate) fn take_joined(&mut self) -> Option<Joined> {
        let mut places = self.places();
        places.find_map(|place| {
            let joined = place.as_ref()?.joined()?;
            *place = None;
            Some(joined)
        })
    }

    /// Removes and returns a packet that has been incomplete for [`TIMEOUT`].
    pub(crate) fn take_late(&mut self, now: Instant) -> Option<Late> {
        let is_late = |it: &Partial| it.began + TIMEOUT <= now;
        let mut places = self.places();
        let place = places.find(|place| place.as_ref().is_some_and(is_late))?;
        let late = place.take()?;
        let first = (0..UNITS).take_while(|unit| late.seen.has(*unit)).count();
        Some(Late {
            slot: late.slot,
            len: late
                .end
                .unwrap_or(usize::MAX)
                .min(first.saturating_mul(UNIT)),
        })
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        let began = self.partials.as_ref().iter();
        let began = began.filter_map(|it| Some(it.0.as_ref()?.began)).min()?;
        Some(Wake::within(began + TIMEOUT, TIMEOUT_SLACK))
    }
}

impl Partial {
    fn units(fragment: &Fragment) -> core::ops::Range<usize> {
        fragment.offset / UNIT..fragment.end().div_ceil(UNIT)
    }

    /// Returns whether a fragment with the same beginning and the same end was received.
    fn has_exactly(&self, fragment: &Fragment) -> bool {
        let units = Self::units(fragment);
        let (first, behind) = (units.start, units.end);
        let ends_there = match fragment.more {
            true => !self.seen.has(behind) || self.begins.has(behind),
            false => self.end == Some(fragment.end()),
        };
        let mut inner = first.saturating_add(1)..behind;
        self.begins.has(first)
            && units.into_iter().all(|unit| self.seen.has(unit))
            && !inner.any(|unit| self.begins.has(unit))
            && ends_there
            && (!fragment.more || self.end != Some(fragment.end()))
    }

    /// Adds a fragment. Returns `false` if it contradicts the fragments received before.
    fn add(&mut self, fragment: &Fragment, ecn: Ecn) -> bool {
        let units = Self::units(fragment);
        if units.clone().any(|unit| self.seen.has(unit)) {
            return false;
        }
        let end = fragment.end();
        match (fragment.more, self.end) {
            (true, Some(last)) if end >= last => return false,
            (false, Some(_)) => return false,
            (false, None) if (units.end..UNITS).any(|unit| self.seen.has(unit)) => return false,
            (false, None) => self.end = Some(end),
            (true, _) => {}
        }
        // RFC 3168 §5.3: a CE mark of one fragment marks the packet. A packet with a fragment that
        // is not ECN-capable cannot have a CE mark.
        self.ecn = match (self.ecn, ecn) {
            (Ecn::NotEct, Ecn::Ce) | (Ecn::Ce, Ecn::NotEct) => return false,
            (Ecn::Ce, _) | (_, Ecn::Ce) => Ecn::Ce,
            (Ecn::NotEct, _) | (_, Ecn::NotEct) => Ecn::NotEct,
            (as_before, _) => as_before,
        };
        if fragment.offset == 0 {
            self.next_header = Some(fragment.next_header);
        }
        self.begins.add(units.start);
        units.for_each(|unit| self.seen.add(unit));
        true
    }

    fn joined(&self) -> Option<Joined> {
        let (slot, len) = self.slot.zip(self.end)?;
        let is_whole = (0..len.div_ceil(UNIT)).all(|unit| self.seen.has(unit));
        Some(Joined {
            slot,
            len,
            next_header: self.next_header.filter(|_| is_whole)?,
            ecn: self.ecn,
        })
    }
}

/// Returns whether `upper`, the upper layer in the first fragment, has its whole header (RFC 8200
/// §4.5).
pub(crate) fn has_all_headers(protocol: u8, upper: &[u8]) -> bool {
    let least = match protocol {
        next_header::TCP => 20,
        next_header::UDP => 8,
        next_header::ICMPV6 => 4,
        _ => 0,
    };
    upper.len() >= least
}
