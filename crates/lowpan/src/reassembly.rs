//! Reassembly of fragments in place (RFC 4944 §5.3).
//!
//! The slots bound the memory. Two limits bound the time: one since the last new fragment, and one
//! in total. A datagram that was completed, refused or given up is remembered for a while, so that
//! its late fragments take no slot.
//!
//! Fragments may arrive in any order and repeatedly. A fragment whose units have all arrived with
//! the same bytes is a duplicate. The RFC would discard the datagram if the boundaries differ. That
//! case cannot be detected here, and is harmless because the bytes agree. Any other overlap
//! discards the datagram.

use redpoll_base::{Duration, Instant, Memory, Wake, least};
use redpoll_wire::ieee802154::Address;

use crate::counters::{LowpanCounters, count};
use crate::coverage::{Coverage, Overlap};
use crate::duplicates::{DatagramEnd, Finished, Key};
use crate::pool::{Partial, Pool, State};
use crate::receive::Piece;
use crate::{DropReason, LowpanConfig, SlotId};

/// Acceptable lateness of the reassembly timeouts, which take seconds.
const TIMEOUT_SLACK: Duration = Duration::from_millis(500);
/// RFC 4944 §5.3: "The reassembly timeout MUST be set to a maximum of 60 seconds".
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) struct Reassembly {
    timeout: Duration,
    limit: Duration,
    stall: Duration,
    memory: Duration,
    finished: Finished,
}

impl Reassembly {
    pub(crate) fn new(config: &LowpanConfig) -> Self {
        Reassembly {
            timeout: config.reassembly_timeout.min(LONGEST),
            limit: config.reassembly_limit.min(LONGEST),
            stall: config.eviction_stall,
            memory: config.duplicate_memory,
            finished: Finished::new(),
        }
    }

    /// Returns the longest time that a reassembly waits for the next fragment.
    #[allow(
        dead_code,
        reason = "used only by builds that forward or recover fragments"
    )]
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns the longest duration of a reassembly.
    #[allow(
        dead_code,
        reason = "used only by builds that forward or recover fragments"
    )]
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the time without progress after which a reassembly may be replaced.
    #[allow(
        dead_code,
        reason = "used only by builds that forward or recover fragments"
    )]
    pub(crate) fn stall(&self) -> Duration {
        self.stall
    }

    /// Returns whether the datagram was completed or given up, or is being reassembled.
    pub(crate) fn is_settled<M: Memory>(&self, now: Instant, pool: &Pool<M>, key: &Key) -> bool {
        self.finished.fate(key, now).is_some() || find(pool, key).is_some()
    }

    /// Records the outcome of a datagram that was not reassembled here.
    pub(crate) fn remember(&mut self, now: Instant, key: Key, fate: DatagramEnd) {
        self.finished.remember(key, fate, now + self.memory);
    }

    pub(crate) fn on_fragment<M: Memory>(
        &mut self,
        now: Instant,
        pool: &mut Pool<M>,
        counters: &mut LowpanCounters,
        key: Key,
        piece: &Piece<'_>,
    ) -> Result<Option<SlotId>, DropReason> {
        match self.finished.fate(&key, now) {
            Some(DatagramEnd::Complete) => return Err(DropReason::Duplicate),
            Some(DatagramEnd::GivenUp) => return Err(DropReason::Orphan),
            None => {}
        }
        check_bounds(usize::from(key.size), piece)?;
        if usize::from(key.size) > pool.slot_size() {
            return Err(DropReason::TooLarge);
        }
        let id = match find(pool, &key) {
            Some(id) => id,
            None => self.open(now, pool, counters, key, piece)?,
        };
        let outcome = place(now, pool, id, piece);
        match outcome {
            Ok(false) => Ok(None),
            Ok(true) => {
                self.finished
                    .remember(key, DatagramEnd::Complete, now + self.memory);
                if let Some(slot) = pool.slot_mut(id) {
                    slot.state = State::Held;
                }
                Ok(Some(id))
            }
            Err(DropReason::Duplicate) => Err(DropReason::Duplicate),
            Err(reason) => {
                self.give_up(now, pool, id);
                Err(reason)
            }
        }
    }

    /// Allocates a slot to a packet of `len` bytes from `src`. If none is free, evicts a stalled
    /// reassembly.
    pub(crate) fn slot_for<M: Memory>(
        &mut self,
        now: Instant,
        pool: &mut Pool<M>,
        counters: &mut LowpanCounters,
        src: Address,
        len: usize,
        state: State,
    ) -> Result<SlotId, DropReason> {
        if len > pool.slot_size() {
            return Err(DropReason::TooLarge);
        }
        if pool.free() == 0 {
            let victim = self.victim(now, pool, src).ok_or(DropReason::NoSlot)?;
            self.give_up(now, pool, victim);
            count(&mut counters.evicted);
        }
        let id = pool.take(len, state).ok_or(DropReason::NoSlot)?;
        if let Some(slot) = pool.slot_mut(id) {
            slot.link_src = Some(src);
        }
        Ok(id)
    }

    pub(crate) fn on_timeout<M: Memory>(
        &mut self,
        now: Instant,
        pool: &mut Pool<M>,
        counters: &mut LowpanCounters,
    ) {
        while let Some((at, id)) = self.first_due(pool) {
            if now < at {
                break;
            }
            self.give_up(now, pool, id);
            count(&mut counters.reassembly_timeout);
        }
    }

    pub(crate) fn poll_at<M: Memory>(&self, pool: &Pool<M>) -> Option<Wake> {
        self.first_due(pool)
            .map(|(at, _)| Wake::within(at, TIMEOUT_SLACK))
    }

    fn first_due<M: Memory>(&self, pool: &Pool<M>) -> Option<(Instant, SlotId)> {
        least(pool.iter().filter_map(|(id, slot)| {
            let partial = slot.partial()?;
            let due = (partial.progress + self.timeout).min(partial.first + self.limit);
            Some((due, (due, id)))
        }))
    }

    fn open<M: Memory>(
        &mut self,
        now: Instant,
        pool: &mut Pool<M>,
        counters: &mut LowpanCounters,
        key: Key,
        piece: &Piece<'_>,
    ) -> Result<SlotId, DropReason> {
        let state = State::Reassembling(Partial {
            key,
            first: now,
            progress: now,
            seen: Coverage::EMPTY,
        });
        let size = usize::from(key.size);
        // If a datagram begins with a later fragment, the first was usually lost. Only a first
        // fragment may therefore evict another reassembly.
        let id = if piece.offset == 0 || pool.free() > 0 {
            self.slot_for(now, pool, counters, key.src, size, state)
        } else {
            Err(DropReason::NoSlot)
        };
        if id.is_err() {
            // The datagram lacks this fragment and cannot be completed, so its other fragments must
            // not take a slot.
            self.finished
                .remember(key, DatagramEnd::GivenUp, now + self.memory);
        }
        id
    }

    /// Returns the reassembly that is most likely dead, if one may be discarded. Senders complete
    /// or give up one datagram before they start another. So a partial datagram of the same source
    /// is discarded first, then the one without progress for longest.
    fn victim<M: Memory>(&self, now: Instant, pool: &Pool<M>, src: Address) -> Option<SlotId> {
        least(pool.iter().filter_map(|(id, slot)| {
            let partial = slot.partial()?;
            let same_source = partial.key.src == src;
            let stalled = now.since(partial.progress) >= self.stall;
            (same_source || stalled).then_some(((!same_source, partial.progress), id))
        }))
    }

    fn give_up<M: Memory>(&mut self, now: Instant, pool: &mut Pool<M>, id: SlotId) {
        if let Some(partial) = pool.slot(id).and_then(|slot| slot.partial()) {
            let key = partial.key;
            self.finished
                .remember(key, DatagramEnd::GivenUp, now + self.memory);
        }
        pool.free_slot(id);
    }
}

/// RFC 4944 §5.3: a fragment is not empty, does not reach beyond the datagram, and has a multiple
/// of eight bytes unless it is the last one.
pub(crate) fn check_bounds(size: usize, piece: &Piece<'_>) -> Result<(), DropReason> {
    let end = piece.offset.saturating_add(piece.len());
    let well_formed = match end.cmp(&size) {
        core::cmp::Ordering::Less => piece.len().is_multiple_of(8),
        core::cmp::Ordering::Equal => true,
        core::cmp::Ordering::Greater => false,
    };
    if well_formed && piece.len() > 0 {
        Ok(())
    } else {
        Err(DropReason::Malformed)
    }
}

fn find<M: Memory>(pool: &Pool<M>, key: &Key) -> Option<SlotId> {
    pool.iter()
        .find(|(_, slot)| slot.partial().is_some_and(|partial| partial.key == *key))
        .map(|(id, _)| id)
}

fn place<M: Memory>(
    now: Instant,
    pool: &mut Pool<M>,
    id: SlotId,
    piece: &Piece<'_>,
) -> Result<bool, DropReason> {
    let seen = pool
        .slot(id)
        .and_then(|slot| slot.partial())
        .map(|p| p.seen);
    let overlap = seen.map(|seen| seen.overlap(piece.offset, piece.len()));
    let bytes = pool
        .part_mut(id, piece.offset, piece.len())
        .ok_or(DropReason::Malformed)?;
    match overlap {
        Some(Overlap::None) => piece.write(bytes),
        Some(Overlap::All) if piece.is(bytes) => {
            return Err(DropReason::Duplicate);
        }
        // RFC 4944 §5.3: "the fragment(s) already accumulated in the
        // reassembly buffer SHALL be discarded".
        _ => return Err(DropReason::Overlap),
    }
    let Some(slot) = pool.slot_mut(id) else {
        return Err(DropReason::NoSlot);
    };
    let size = usize::from(slot.len);
    let State::Reassembling(partial) = &mut slot.state else {
        return Err(DropReason::NoSlot);
    };
    partial.seen.insert(piece.offset, piece.len());
    partial.progress = now;
    Ok(partial.seen.is_complete(size))
}
