//! Transmission: the next datagram, its frames, and its outcome.

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::Address;

use super::sleepy::SlotOwner;
use super::{Lowpan, Turn};
use crate::counters::count;
use crate::event::{FrameOut, FrameRoom, LossReason, LowpanEvent};
use crate::forwarding::{Forwarding, SLACK};
use crate::recovery::Recovery;
use crate::transmit::{InService, Origin, Sending};
use crate::{PayloadSource, PulledDatagram};

impl<M: Memory> Lowpan<M> {
    /// Returns whether a datagram of the node's own transport could start now.
    ///
    /// This is true only if no datagram is being sent, no pulled datagram waits, the event of the
    /// previous one has been polled, and it is the transport's turn. After each pulled datagram,
    /// queued datagrams and retransmitted fragments (RFC 8931) have a turn. Call this function
    /// whenever the MAC is idle, before [`Lowpan::next_frame`].
    pub fn wants_segment(&self) -> bool {
        let is_its_turn = || {
            let is_first = self.turn == Turn::Own || self.queue.is_empty();
            is_first && !self.train_is_ready() && self.paused_until.is_none()
        };
        self.takes_segment()
            && !self.is_mid_datagram()
            && !self.fragment_goes_first()
            && !self.ack_goes_first()
            && (self.segment_follows_train() || is_its_turn())
    }

    /// Starts a datagram of the node's own transport. Exactly one of [`LowpanEvent::SegmentSent`]
    /// and [`LowpanEvent::SegmentLost`] follows. Returns `false`, without an event, if the previous
    /// one has not ended yet; that cannot happen after [`Lowpan::wants_segment`] returned true.
    pub fn start_segment(&mut self, now: Instant, datagram: PulledDatagram) -> bool {
        if !self.takes_segment() {
            return false;
        }
        self.pulled = Some(datagram);
        self.note_occupancy(now);
        true
    }

    pub(super) fn takes_segment(&self) -> bool {
        self.pulled.is_none() && self.segment_event.is_none()
    }

    /// Returns whether [`Lowpan::next_frame`] has a frame to build, other than to sleepy nodes.
    pub fn has_frame(&self) -> bool {
        let forwarding = self.forwarding.get();
        let something = self.is_mid_datagram()
            || self.pulled.is_some()
            || !self.queue.is_empty()
            || self.ack_goes_first()
            || self.train_is_ready()
            || forwarding.is_some_and(|forwarding| forwarding.waiting().is_some());
        !self.frame_out && something
    }

    /// Returns whether a datagram has been sent partly.
    pub fn is_mid_datagram(&self) -> bool {
        self.in_service.is_some() || M::ROUTES && self.suspended.is_some()
    }

    /// Builds the next frame's MAC payload into `out` as [`Lowpan::build_frame`] does, but with at
    /// most `capacity` bytes for every destination.
    pub fn next_frame<S: PayloadSource>(
        &mut self,
        now: Instant,
        link_src: Address,
        capacity: usize,
        out: &mut [u8],
        source: &mut S,
    ) -> Option<FrameOut> {
        let end = capacity.min(out.len());
        self.build_frame(now, link_src, &mut out.get_mut(..end)?, source)
    }

    /// Builds the next frame's MAC payload in the buffer that `rooms` has for its destination.
    /// `link_src` is the source address of the frame. Returns `None` if there is nothing to send or
    /// the previous frame has not ended yet. Drops a datagram that cannot be sent, with an event,
    /// and tries the next.
    pub fn build_frame<R: FrameRoom, S: PayloadSource>(
        &mut self,
        now: Instant,
        link_src: Address,
        rooms: &mut R,
        source: &mut S,
    ) -> Option<FrameOut> {
        if self.frame_out {
            return None;
        }
        loop {
            let mut datagram = self.turn(now)?;
            let Some(out) = rooms.room(datagram.next_hop) else {
                self.in_service = Some(datagram);
                self.end_service(now, Err(LossReason::Unsendable));
                continue;
            };
            self.make_recoverable(&mut datagram, link_src, out.len());
            let repeats = datagram.repeats;
            let built = self.build(&mut datagram, link_src, source, out);
            self.in_service = Some(datagram);
            match built {
                Ok(len) => {
                    self.frame_out = true;
                    self.earn_credit(datagram.origin);
                    count(&mut self.counters.frames_sent);
                    return Some(FrameOut {
                        dst: datagram.next_hop,
                        len,
                        more: self.has_more(&datagram),
                        indirect: datagram.indirect,
                        repeats,
                    });
                }
                Err(reason) => self.end_service(now, Err(reason)),
            }
        }
    }

    fn build<S: PayloadSource>(
        &mut self,
        datagram: &mut InService,
        link_src: Address,
        source: &mut S,
        out: &mut [u8],
    ) -> Result<usize, LossReason> {
        if let Origin::Recoverable(index, _) = datagram.origin {
            return self.build_recoverable(datagram, index, link_src, source, out);
        }
        let ack = self.recovery.get().and_then(Recovery::leaving_ack);
        let ack = ack.map(|ack| ack.to_bytes());
        let forwarded = match (datagram.origin, &ack) {
            (Origin::Acknowledgment(_), Some(ack)) => ack,
            _ => self.forwarding.get().map_or(&[][..], Forwarding::bytes),
        };
        let sending = Sending {
            pool: &self.pool,
            pulled: self.pulled.as_ref(),
            contexts: &self.contexts,
            link_src,
            forwarded,
            slack: self.forwarding.get().map_or(0, |_| SLACK),
        };
        datagram.build(&sending, source, &mut self.next_tag, out)
    }

    /// Handles the end of the last built frame's transmission. If the frame was not delivered,
    /// drops the rest of its datagram ([`drop_rest`](crate::LowpanConfig::drop_rest)), because the
    /// link's retries are used up.
    pub fn on_frame_done(&mut self, now: Instant, delivered: bool) {
        if !core::mem::take(&mut self.frame_out) {
            return;
        }
        let Some(datagram) = &mut self.in_service else {
            return;
        };
        datagram.repeats = None;
        if let Origin::Recoverable(index, _) = datagram.origin {
            return self.on_recoverable_done(now, index, delivered);
        }
        datagram.broken |= !delivered;
        let datagram = *datagram;
        if M::ROUTES && delivered && datagram.indirect {
            self.on_indirect_delivered(now, &datagram);
        }
        let gives_up = datagram.broken && (self.drop_rest || datagram.is_covered());
        if gives_up {
            self.end_service(now, Err(LossReason::LinkFailure));
        } else if datagram.is_covered() {
            self.end_service(now, Ok(()));
        } else if self.forwarding.get().is_some() && !datagram.indirect {
            self.gap_until = now + self.fragment_gap;
        }
    }

    pub(super) fn end_service(&mut self, now: Instant, outcome: Result<(), LossReason>) {
        let Some(datagram) = self.in_service.take() else {
            return;
        };
        if let (Origin::Recoverable(index, _), Err(reason)) = (datagram.origin, outcome) {
            return self.on_recoverable_unbuilt(now, index, reason);
        }
        if let Err(reason) = outcome {
            self.counters.lost(reason);
        } else {
            self.pause_after(now, &datagram);
        }
        match datagram.origin {
            Origin::Slot(id) => {
                let mut handle = None;
                if M::ROUTES && datagram.indirect {
                    handle = self.indirect_of(id).handle;
                    self.indirect.remove(&mut self.pool, id);
                }
                let next_hop = datagram.next_hop;
                self.end_slot(id, SlotOwner { next_hop, handle }, outcome);
            }
            Origin::Forwarded(_) => self.end_fragment(now, &datagram, outcome),
            Origin::Recoverable(..) => {}
            Origin::Acknowledgment(_) => {
                if let Some(recovery) = self.recovery.get_mut() {
                    recovery.on_ack_done(outcome.is_ok());
                }
            }
            Origin::Pulled => {
                let handle = self.pulled.take().map_or(0, |pulled| pulled.handle);
                self.segment_event = Some(match outcome {
                    Ok(()) => {
                        count(&mut self.counters.segments_sent);
                        LowpanEvent::SegmentSent { handle }
                    }
                    Err(reason) => LowpanEvent::SegmentLost { handle, reason },
                });
            }
        }
        self.note_occupancy(now);
    }
}
