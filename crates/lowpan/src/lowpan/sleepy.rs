//! Datagrams for sleepy nodes: functions for the caller, and the choice of the next datagram.

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::Address;

use super::Lowpan;
use crate::counters::count;
use crate::event::{LossReason, LowpanEvent};
use crate::forwarding::Forwarding;
use crate::pool::State;
use crate::transmit::{InService, Origin};
use crate::{Note, SlotId};

/// The next hop of the datagram in a slot, and the caller's handle if the datagram is a segment.
#[derive(Clone, Copy)]
pub(super) struct SlotOwner {
    pub(super) next_hop: Address,
    pub(super) handle: Option<u32>,
}

impl SlotOwner {
    const ABSENT: SlotOwner = SlotOwner {
        next_hop: Address::Absent,
        handle: None,
    };
}

impl<M: Memory> Lowpan<M> {
    /// Queues a held slot for indirect transmission: it waits for a request of `next_hop`
    /// ([`Self::on_data_request`]), at most for
    /// [`indirect_persistence`](crate::LowpanConfig::indirect_persistence). If too many datagrams
    /// already wait for that node, drops the new one as [`LossReason::IndirectFull`].
    pub fn queue_indirect(&mut self, now: Instant, slot: SlotId, next_hop: Address) {
        self.hold_indirect(now, slot, next_hop, None);
    }

    /// Queues a held slot with a segment of the node's own transport for indirect transmission.
    /// Exactly one of [`LowpanEvent::SegmentSent`], when the sleepy node has the whole segment, and
    /// [`LowpanEvent::SegmentLost`] follows.
    pub fn queue_indirect_segment(
        &mut self,
        now: Instant,
        slot: SlotId,
        next_hop: Address,
        handle: u32,
    ) {
        self.hold_indirect(now, slot, next_hop, Some(handle));
    }

    fn hold_indirect(
        &mut self,
        now: Instant,
        slot: SlotId,
        next_hop: Address,
        handle: Option<u32>,
    ) {
        if !self.is_held(slot) {
            return;
        }
        if self.has_indirect_room(next_hop) {
            self.indirect
                .push(now, &mut self.pool, slot, next_hop, handle);
        } else {
            let reason = LossReason::IndirectFull;
            self.counters.lost(reason);
            self.end_slot(slot, SlotOwner { next_hop, handle }, Err(reason));
        }
        self.note_occupancy(now);
    }

    /// Ends the datagram in a slot, delivered or not. Frees the slot, unless the caller must get an
    /// event first.
    pub(super) fn end_slot(
        &mut self,
        id: SlotId,
        SlotOwner { next_hop, handle }: SlotOwner,
        outcome: Result<(), LossReason>,
    ) {
        if M::ROUTES
            && let (Some(handle), Some(slot)) = (handle, self.pool.slot_mut(id))
        {
            slot.state = State::Ended { handle, outcome };
            self.ended = self.ended.saturating_add(1);
            if outcome.is_ok() {
                count(&mut self.counters.segments_sent);
            }
            return;
        }
        self.pool.free_slot(id);
        match outcome {
            Ok(()) => count(&mut self.counters.datagrams_sent),
            Err(reason) => {
                self.datagram_event = Some(LowpanEvent::DatagramDropped { next_hop, reason });
            }
        }
    }

    /// Returns the outcome of one ended segment for a sleepy node, if any, and frees its slot.
    pub(super) fn ended_slot(&mut self) -> Option<LowpanEvent> {
        if !M::ROUTES || self.ended == 0 {
            return None;
        }
        let (id, event) = self.pool.iter().find_map(|(id, slot)| {
            let State::Ended { handle, outcome } = slot.state else {
                return None;
            };
            let event = match outcome {
                Ok(()) => LowpanEvent::SegmentSent { handle },
                Err(reason) => LowpanEvent::SegmentLost { handle, reason },
            };
            Some((id, event))
        })?;
        self.ended = self.ended.saturating_sub(1);
        self.pool.free_slot(id);
        Some(event)
    }

    pub(super) fn indirect_of(&self, id: SlotId) -> SlotOwner {
        let indirect = self.pool.slot(id).and_then(|slot| slot.indirect());
        indirect.map_or(SlotOwner::ABSENT, |indirect| SlotOwner {
            next_hop: indirect.next_hop,
            handle: indirect.handle,
        })
    }

    /// Returns whether one more datagram may wait for a sleepy node.
    pub fn has_indirect_room(&self, next_hop: Address) -> bool {
        self.indirect.has_room(&self.pool, next_hop)
    }

    /// Returns whether a datagram waits for a sleepy node.
    pub fn has_indirect(&self, child: Address) -> bool {
        self.indirect.has(&self.pool, child)
    }

    /// Handles a data request of the sleepy node `child`, which now listens: the MAC's
    /// acknowledgment of the request had the frame-pending bit.
    pub fn on_data_request(&mut self, now: Instant, child: Address) {
        self.indirect.wake(now, &mut self.pool, child);
    }

    /// Returns whether the MAC should give back its frame, because a datagram waits for a sleepy
    /// node that listens only briefly. A frame that is itself to a sleepy node is not preempted.
    pub fn wants_preemption(&self, now: Instant) -> bool {
        let can_wait = self.in_service.is_some_and(|datagram| !datagram.indirect);
        self.frame_out && can_wait && self.next_indirect(now).is_some()
    }

    fn next_indirect(&self, now: Instant) -> Option<SlotId> {
        match M::ROUTES {
            true => self.indirect.ready(now, &self.pool),
            false => None,
        }
    }

    /// The caller calls this instead of [`Self::on_frame_done`] for a preempted frame, and for a
    /// frame to a sleepy node that did not answer. The frame is built again later, and then returns
    /// `note` as [`FrameOut::repeats`](crate::FrameOut::repeats).
    pub fn on_frame_suspended(&mut self, now: Instant, note: Note) {
        if !core::mem::take(&mut self.frame_out) {
            return;
        }
        let Some(mut datagram) = self.in_service.take() else {
            return;
        };
        datagram.step_back(note);
        match datagram.origin {
            Origin::Slot(id) if datagram.indirect => {
                let progress = datagram.progress();
                if !self.indirect.on_failed(&mut self.pool, id, progress) {
                    self.in_service = Some(datagram);
                    self.end_service(now, Err(LossReason::LinkFailure));
                }
            }
            Origin::Forwarded(_) => self.suspend_fragment(note),
            // An acknowledgment need not be suspended: it is the next frame to be built anyway.
            Origin::Acknowledgment(_) => {}
            _ => self.suspended = Some(datagram),
        }
    }

    /// Returns the datagram of the next frame: one for a listening sleepy node, otherwise the one
    /// being sent, otherwise the next one.
    pub(super) fn turn(&mut self, now: Instant) -> Option<InService> {
        if !M::ROUTES {
            return self.in_service.or_else(|| self.start_next());
        }
        if let Some(current) = self.in_service {
            match current.origin {
                Origin::Slot(id) if current.indirect => {
                    if self.indirect.is_awake(now, &self.pool, id) {
                        return Some(current);
                    }
                    self.indirect.park(&mut self.pool, id, current.progress());
                    self.in_service = None;
                }
                _ if self.next_indirect(now).is_none() && !self.is_in_gap(now) => {
                    return Some(current);
                }
                _ => self.suspended = self.in_service.take(),
            }
        }
        if let Some(id) = self.next_indirect(now) {
            let slot = self.pool.slot(id)?;
            let indirect = slot.indirect()?;
            return Some(InService::resume(id, usize::from(slot.len), indirect));
        }
        if self.suspended.is_some() && self.is_in_gap(now) {
            return self.next_ack().or_else(|| self.next_fragment());
        }
        self.suspended.take().or_else(|| self.start_next())
    }

    /// Returns whether more frames follow at once for the receiver of this one.
    pub(super) fn has_more(&self, datagram: &InService) -> bool {
        let fragment_follows = !datagram.is_covered();
        match datagram.origin {
            Origin::Forwarded(_) => {
                let forwarding = self.forwarding.get();
                self.fragment_pending && forwarding.is_some_and(Forwarding::goes_on)
            }
            Origin::Slot(id) if M::ROUTES && datagram.indirect => {
                let next_hop = datagram.next_hop;
                fragment_follows || self.indirect.follows(&self.pool, id, next_hop)
            }
            _ => {
                let follows = fragment_follows || self.segment_follows(datagram);
                follows && self.fragment_pending && datagram.next_hop != Address::BROADCAST
            }
        }
    }

    /// Returns whether `datagram` is of the node's own transport, and another datagram of this
    /// transport [follows](crate::PulledDatagram::is_followed) to the same next hop.
    /// Always false without [`segment_pending`](crate::LowpanConfig::segment_pending).
    fn segment_follows(&self, datagram: &InService) -> bool {
        let is_followed = || {
            self.pulled
                .as_ref()
                .is_some_and(|pulled| pulled.is_followed)
        };
        self.segment_pending && matches!(datagram.origin, Origin::Pulled) && is_followed()
    }

    pub(super) fn on_indirect_delivered(&mut self, now: Instant, datagram: &InService) {
        let child = datagram.next_hop;
        self.indirect.on_delivered(now, &mut self.pool, child);
    }

    /// Gives up one datagram that its sleepy node did not request in time, and returns that node,
    /// if any. [`on_timeout`](Self::on_timeout) gives up all datagrams that
    /// were not requested in time.
    pub fn expire_indirect(&mut self, now: Instant) -> Option<Address> {
        if !M::ROUTES {
            return None;
        }
        let in_service = self.slot_in_service();
        let id = self.indirect.expired(now, &self.pool, in_service)?;
        let owner = self.indirect_of(id);
        self.indirect.remove(&mut self.pool, id);
        let reason = LossReason::Expired;
        self.counters.lost(reason);
        self.end_slot(id, owner, Err(reason));
        self.note_occupancy(now);
        Some(owner.next_hop)
    }

    pub(super) fn slot_in_service(&self) -> Option<SlotId> {
        match self.in_service?.origin {
            Origin::Slot(id) => Some(id),
            _ => None,
        }
    }

    pub(super) fn drop_datagram(&mut self, next_hop: Address, reason: LossReason) {
        self.counters.lost(reason);
        self.datagram_event = Some(LowpanEvent::DatagramDropped { next_hop, reason });
    }
}
