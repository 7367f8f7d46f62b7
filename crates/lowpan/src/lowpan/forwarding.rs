//! Fragments that pass through this node.

use redpoll_base::{Instant, Memory, Wake};
use redpoll_wire::ipv6::Ipv6Header;

use super::Lowpan;
use crate::counters::count;
use crate::duplicates::{DatagramEnd, Key};
use crate::event::{LossReason, LowpanEvent};
use crate::feature::SPREADS_FRAGMENTS;
use crate::forwarding::{Forwarding, Place};
use crate::reassembly::check_bounds;
use crate::receive::{FirstFragment, Piece};
use crate::transmit::{InService, Origin};
use crate::{DropReason, Note, Onward};

/// Forwarded fragments that may leave before a datagram of this node: as many as a packet of 1280
/// bytes has. Without the limit, neighbours that retransmit fragments (RFC 8931) could keep this
/// node's own datagrams from ever leaving.
pub(super) const TURN: u8 = 16;

impl<M: Memory> Lowpan<M> {
    /// Forwards a fragment and returns `true`, or returns `false` if this node must reassemble the
    /// datagram. `route` returns the next hop for a first fragment.
    pub(super) fn forward(
        &mut self,
        now: Instant,
        key: Key,
        piece: &Piece<'_>,
        route: impl FnOnce(&Ipv6Header) -> Option<Onward>,
    ) -> Result<bool, DropReason> {
        let Some(forwarding) = self.forwarding.get_mut() else {
            return Ok(false);
        };
        if forwarding.knows(&key) {
            check_bounds(usize::from(key.size), piece)?;
            return match forwarding.on_later(now, &key, piece) {
                Ok(is_last) => {
                    if is_last {
                        self.reassembly.remember(now, key, DatagramEnd::Complete);
                    }
                    Ok(true)
                }
                Err(DropReason::Duplicate) => Err(DropReason::Duplicate),
                Err(reason) => {
                    forwarding.give_up(&key);
                    self.reassembly.remember(now, key, DatagramEnd::GivenUp);
                    Err(reason)
                }
            };
        }
        if piece.offset != 0 || self.reassembly.is_settled(now, &self.pool, &key) {
            return Ok(false);
        }
        let Ok((header, _)) = Ipv6Header::parse_partial(piece.head) else {
            return Ok(false);
        };
        let whole = piece.len() >= usize::from(key.size);
        if whole || check_bounds(usize::from(key.size), piece).is_err() {
            return Ok(false);
        }
        let Some(onward) = route(&header) else {
            return Ok(false);
        };
        let (tag, contexts) = (self.next_tag, &self.contexts);
        let first = FirstFragment {
            piece,
            header: &header,
        };
        let taken = forwarding.on_first(now, key, &first, onward, contexts, tag);
        if taken {
            self.next_tag = tag.wrapping_add(1);
            count(&mut self.counters.datagrams_forwarded);
        }
        Ok(taken)
    }

    pub(super) fn expire_forwarded(&mut self, now: Instant) {
        if SPREADS_FRAGMENTS && now >= self.gap_until {
            self.gap_until = Instant::ZERO;
        }
        while let Some(forwarding) = self.forwarding.get_mut()
            && let Some(key) = forwarding.expired(now)
        {
            forwarding.give_up(&key);
            self.reassembly.remember(now, key, DatagramEnd::GivenUp);
            count(&mut self.counters.forward_timeout);
            self.note_occupancy(now);
        }
    }

    /// Returns whether a forwarded fragment is sent before this node's own datagrams. The fragment
    /// needs [credit](Lowpan::fragment_credit). After a forwarded first fragment, the first
    /// fragment of another datagram waits for a turn of this node's datagrams. So forwarded
    /// datagrams and those of this node alternate.
    pub(super) fn fragment_goes_first(&self) -> bool {
        let waiting = self.forwarding.get().and_then(Forwarding::waiting);
        let is_first = waiting.is_some_and(|place| place != Place::First || !self.has_forwarded);
        is_first && self.fragment_credit > 0
    }

    /// Starts a turn of this node's own datagrams. Sets the [credit](Lowpan::fragment_credit) of
    /// forwarded fragments: how many may be sent before the next turn. Without recovery, they get
    /// credit for a whole datagram, because the loss of one fragment loses its datagram. With
    /// recovery, they get one credit per frame of this node's datagrams ([`Self::earn_credit`]), so
    /// that this node's retransmitted fragments arrive before the receiver's `reassembly_timeout`.
    pub(super) fn start_own_turn(&mut self) {
        self.has_forwarded = false;
        self.fragment_credit = match self.recovery.get() {
            Some(_) => 0,
            None => TURN,
        };
    }

    /// With recovery, adds one credit for forwarded fragments after each frame of this node's
    /// datagrams.
    pub(super) fn earn_credit(&mut self, origin: Origin) {
        let is_own = !matches!(origin, Origin::Forwarded(_) | Origin::Acknowledgment(_));
        if is_own && self.recovery.get().is_some() {
            self.fragment_credit = self.fragment_credit.saturating_add(1).min(TURN);
        }
    }

    pub(super) fn next_fragment(&mut self) -> Option<InService> {
        let lost = self.recovery.get().is_some_and(|r| r.ready().is_some());
        let others = lost || self.pulled.is_some() || !self.queue.is_empty();
        if others && !self.fragment_goes_first() {
            return None;
        }
        let forwarding = self.forwarding.get_mut()?;
        let (front, by) = (forwarding.front()?, forwarding.by);
        self.has_forwarded |= front.place == Place::First;
        self.fragment_credit = self.fragment_credit.saturating_sub(1);
        let mut fragment = InService::new(Origin::Forwarded(by), front.next_hop, front.len);
        fragment.repeats = front.repeats;
        Some(fragment)
    }

    /// Returns whether the datagram being sent waits while a relay forwards its previous fragment.
    pub(super) fn is_in_gap(&self, now: Instant) -> bool {
        SPREADS_FRAGMENTS && now < self.gap_until
    }

    pub(super) fn gap_end(&self) -> Option<Wake> {
        let waits = SPREADS_FRAGMENTS && M::ROUTES && self.gap_until > Instant::ZERO;
        waits.then(|| Wake::exactly(self.gap_until))
    }

    pub(super) fn suspend_fragment(&mut self, note: Note) {
        if let Some(forwarding) = self.forwarding.get_mut() {
            forwarding.suspend(note);
        }
    }

    pub(super) fn end_fragment(
        &mut self,
        now: Instant,
        datagram: &InService,
        outcome: Result<(), LossReason>,
    ) {
        let Some(forwarding) = self.forwarding.get_mut() else {
            return;
        };
        let given_up = forwarding.finish(outcome.is_ok(), self.drop_rest);
        if let Some(key) = given_up {
            self.reassembly.remember(now, key, DatagramEnd::GivenUp);
        }
        match outcome {
            Ok(()) => count(&mut self.counters.fragments_forwarded),
            Err(reason) => {
                self.datagram_event = Some(LowpanEvent::DatagramDropped {
                    next_hop: datagram.next_hop,
                    reason,
                });
            }
        }
    }
}
