//! Handles received recoverable fragments, their acknowledgments, and timeouts (RFC 8931).
//! `recoverable_out.rs` sends this node's own datagrams.

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::recoverable::{Ack, Fragment};
use redpoll_wire::sixlowpan::{Dispatch, dispatch};

use super::Lowpan;
use crate::counters::count;
use crate::pool::State;
use crate::receive::{self, HeaderScratch, Piece};
use crate::recovery::{Arriving, Head, NewPath, Outcome, Path};
use crate::{DropReason, Onward, SlotId};

impl<M: Memory> Lowpan<M> {
    pub(super) fn on_recoverable(
        &mut self,
        now: Instant,
        src: Address,
        dst: Address,
        payload: &[u8],
        scratch: &mut HeaderScratch,
        route: impl FnOnce(&Ipv6Header) -> Option<Onward>,
    ) -> Result<Option<SlotId>, DropReason> {
        let Some(recovery) = self.recovery.get_mut() else {
            return Err(DropReason::Unsupported);
        };
        if dst == Address::BROADCAST {
            return Err(DropReason::Unsupported);
        }
        if dispatch(payload) == Dispatch::RecoverableAck {
            let ack = Ack::parse(payload).map_err(receive::reason)?;
            return self.on_ack(now, src, ack).map(|()| None);
        }
        let (header, body) = Fragment::parse(payload).map_err(receive::reason)?;
        let tag = header.tag;
        if recovery.path_mut(src, tag).is_some() {
            self.pass(now, src, dst, &header, body, scratch)?;
            return Ok(None);
        }
        if header.is_abort() {
            self.on_abort(now, src, &header);
            return Ok(None);
        }
        if recovery.arriving_mut(src, tag).is_some() {
            let piece = Piece {
                offset: 0,
                head: &[],
                body,
            };
            return self.join(now, src, &header, &piece);
        }
        // RFC 8931 §6.1.2: a later fragment without a path or a reassembly is refused.
        if header.sequence != 0 {
            recovery.refuse(now, src, tag);
            return Err(DropReason::Orphan);
        }
        let size = usize::from(header.offset);
        let piece = receive::beginning_of(body, src, dst, &self.contexts, size, scratch)?;
        if self.open_path(now, src, &header, &piece, route) {
            return Ok(None);
        }
        self.open(now, src, &header, &piece, body.len())
    }

    /// Opens a path for a first fragment and forwards it, or does neither (RFC 8931 §6.1.1).
    fn open_path(
        &mut self,
        now: Instant,
        src: Address,
        header: &Fragment,
        piece: &Piece<'_>,
        route: impl FnOnce(&Ipv6Header) -> Option<Onward>,
    ) -> bool {
        let (Some(recovery), Some(forwarding)) =
            (self.recovery.get_mut(), self.forwarding.get_mut())
        else {
            return false;
        };
        let Ok((ip, _)) = Ipv6Header::parse_partial(piece.head) else {
            return false;
        };
        if !recovery.has_path_room(now) {
            return false;
        }
        let Some(onward) = route(&ip) else {
            return false;
        };
        let expires = now + recovery.waits.timeout;
        let path = NewPath {
            src,
            tag_in: header.tag,
            onward,
            tag_out: recovery.new_tag(),
            expires,
        };
        let mut path = Path::new(now, path);
        let passed = forwarding.on_recoverable_first(&mut path, header, &ip, piece, &self.contexts);
        if passed.is_ok() {
            recovery.open_path(now, path);
            count(&mut self.counters.datagrams_forwarded);
        }
        passed.is_ok()
    }

    /// Forwards a later fragment of a datagram in transit.
    fn pass(
        &mut self,
        now: Instant,
        src: Address,
        dst: Address,
        header: &Fragment,
        body: &[u8],
        scratch: &mut HeaderScratch,
    ) -> Result<(), DropReason> {
        let (Some(recovery), Some(forwarding)) =
            (self.recovery.get_mut(), self.forwarding.get_mut())
        else {
            return Err(DropReason::Orphan);
        };
        let expires = now + recovery.waits.timeout;
        let path = recovery
            .path_mut(src, header.tag)
            .ok_or(DropReason::Orphan)?;
        if path.is_full {
            // RFC 8931 §6.2: the acknowledgment of all fragments was lost, so the relay repeats it.
            if header.ack_request {
                path.repeat_full();
            }
            return Err(DropReason::Duplicate);
        }
        path.on_passed(now, header.sequence != 0, expires);
        if header.sequence == 0 && !header.is_abort() {
            let size = usize::from(header.offset);
            let piece = receive::beginning_of(body, src, dst, &self.contexts, size, scratch)?;
            let (ip, _) = Ipv6Header::parse_partial(piece.head).map_err(receive::reason)?;
            return forwarding.on_recoverable_first(path, header, &ip, &piece, &self.contexts);
        }
        forwarding.on_recoverable_later(path, header, body)?;
        // RFC 8931 §6.3: "If an acknowledgment is not requested, the VRB and all associated states
        // are destroyed."
        if header.is_abort() && !header.ack_request {
            recovery.close_path(src, header.tag);
        }
        Ok(())
    }

    /// Handles an abort of a datagram by its sender (RFC 8931 §6.3).
    fn on_abort(&mut self, now: Instant, src: Address, header: &Fragment) {
        let Some(recovery) = self.recovery.get_mut() else {
            return;
        };
        if let Some(slot) = recovery.forget(src, header.tag) {
            self.pool.free_slot(slot);
        }
        if header.ack_request || header.sequence != 0 {
            recovery.refuse(now, src, header.tag);
        }
    }

    /// Starts a reassembly. The first fragment has `len` bytes, with compressed headers.
    fn open(
        &mut self,
        now: Instant,
        src: Address,
        header: &Fragment,
        piece: &Piece<'_>,
        len: usize,
    ) -> Result<Option<SlotId>, DropReason> {
        self.evict_recovering(now, true);
        let Some(recovery) = self.recovery.get_mut() else {
            return Err(DropReason::Unsupported);
        };
        let rest = header.offset.checked_sub(header.size);
        let size = piece
            .len()
            .saturating_add(rest.ok_or(DropReason::Malformed)?.into());
        let slot = if recovery.has_incoming_room() {
            let (pool, counters) = (&mut self.pool, &mut self.counters);
            let state = State::Recovering;
            self.reassembly
                .slot_for(now, pool, counters, src, size, state)
        } else {
            Err(DropReason::NoSlot)
        };
        let slot = match slot {
            Ok(slot) => slot,
            Err(reason) => {
                // RFC 8931 §6.3: a node may abort a datagram "if it is out of reassembly buffers".
                recovery.refuse(now, src, header.tag);
                return Err(reason);
            }
        };
        let consumed = len.saturating_sub(piece.body.len());
        let head = Head {
            compressed: consumed as u16,
            expanded: piece.head.len() as u16,
        };
        let until = now + recovery.waits.limit;
        recovery.accept(Arriving::new(now, until, src, header, slot, head));
        self.join(now, src, header, piece)
    }

    /// Discards a stalled recoverable datagram, if there is one, to make room for a new datagram.
    /// `begins` is whether the new datagram is recoverable and therefore needs a record.
    pub(super) fn evict_recovering(&mut self, now: Instant, begins: bool) {
        let is_full = self.pool.free() == 0;
        let Some(recovery) = self.recovery.get_mut().filter(|_| begins || is_full) else {
            return;
        };
        if let Some(slot) = recovery.evict(now, self.pool.count(), is_full) {
            self.pool.free_slot(slot);
            count(&mut self.counters.evicted);
        }
    }

    fn join(
        &mut self,
        now: Instant,
        src: Address,
        header: &Fragment,
        piece: &Piece<'_>,
    ) -> Result<Option<SlotId>, DropReason> {
        let recovery = self.recovery.get_mut().ok_or(DropReason::Orphan)?;
        let waits = recovery.waits;
        let arriving = recovery
            .arriving_mut(src, header.tag)
            .ok_or(DropReason::Orphan)?;
        let place = match arriving.on_fragment(header)? {
            Outcome::Place(place) => place,
            Outcome::Known => return Err(DropReason::Duplicate),
        };
        let slot = arriving.slot.ok_or(DropReason::Duplicate)?;
        let bytes = self.pool.part_mut(slot, place, piece.len());
        piece.write(bytes.ok_or(DropReason::Malformed)?);
        let complete = arriving.complete(now, waits);
        if let Some(slot) = complete.and_then(|id| self.pool.slot_mut(id)) {
            slot.state = State::Held;
        }
        Ok(complete)
    }

    /// Handles an acknowledgment of a datagram of this node, or forwards it.
    fn on_ack(&mut self, now: Instant, src: Address, ack: Ack) -> Result<(), DropReason> {
        let Some(recovery) = self.recovery.get_mut() else {
            return Err(DropReason::Unsupported);
        };
        if let Some((index, standing)) = recovery.on_ack(now, src, &ack) {
            self.conclude(now, index, standing);
            return Ok(());
        }
        // RFC 8931 §6.2: "if the reverse LSP is not found, the router MUST
        // silently drop the RFRAG-ACK message".
        if !recovery.pass_back(now, src, ack) {
            return Err(DropReason::Orphan);
        }
        if ack.bitmap.is_null()
            && let Some(forwarding) = self.forwarding.get_mut()
        {
            forwarding.kill_recoverable(ack.tag);
        }
        Ok(())
    }

    /// Gives up entries that have waited too long, and retransmits fragments without a timely
    /// acknowledgment.
    pub(super) fn expire_recoverable(&mut self, now: Instant) {
        while let Some(recovery) = self.recovery.get_mut()
            && let Some((index, standing)) = recovery.on_timeout(now)
        {
            self.conclude(now, index, standing);
        }
        while let Some(recovery) = self.recovery.get_mut()
            && let Some((src, tag)) = recovery.stale(now)
        {
            if let Some(slot) = recovery.forget(src, tag) {
                self.pool.free_slot(slot);
            }
            recovery.refuse(now, src, tag);
            count(&mut self.counters.reassembly_timeout);
        }
        if let Some(recovery) = self.recovery.get_mut() {
            let lost = recovery.expire(now);
            let total = self.counters.forward_timeout.wrapping_add(lost);
            self.counters.forward_timeout = total;
            if lost > 0 {
                self.note_occupancy(now);
            }
        }
    }
}
