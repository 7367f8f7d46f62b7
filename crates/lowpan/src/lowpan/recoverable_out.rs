//! Sends this node's datagrams in recoverable fragments (RFC 8931 §6), and reports the outcome.

use redpoll_base::{Instant, Memory};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::iphc;
use redpoll_wire::sixlowpan::recoverable::Fragment;

use super::Lowpan;
use crate::PayloadSource;
use crate::counters::count;
use crate::event::{LossReason, LowpanEvent};
use crate::recovery::{DatagramLengths, Phase, Recovery, Sender, Shape, Source, Standing};
use crate::transmit::{InService, Origin, Sending};

impl<M: Memory> Lowpan<M> {
    pub(super) fn make_recoverable(
        &mut self,
        datagram: &mut InService,
        link_src: Address,
        capacity: usize,
    ) {
        let Some(recovery) = self.recovery.get_mut() else {
            return;
        };
        let begins = datagram.frames == 0 && !datagram.indirect;
        if !begins || datagram.next_hop == Address::BROADCAST || !recovery.has_outgoing_room() {
            return;
        }
        let sending = Sending {
            pool: &self.pool,
            pulled: self.pulled.as_ref(),
            contexts: &self.contexts,
            link_src,
            forwarded: &[],
            slack: 0,
        };
        let Some(shape) = shape(&sending, datagram, capacity, recovery) else {
            return;
        };
        let source = match datagram.origin {
            Origin::Slot(id) => Some(Source::Slot(id)),
            Origin::Pulled => self.pulled.take().map(Source::Pulled),
            _ => None,
        };
        let next_hop = datagram.next_hop;
        let by = recovery.by;
        let begun = source.and_then(|source| recovery.begin(source, next_hop, shape));
        if let Some(index) = begun {
            *datagram = InService::new(Origin::Recoverable(index, by), next_hop, 1);
        }
    }

    pub(super) fn build_recoverable<S: PayloadSource>(
        &mut self,
        datagram: &mut InService,
        index: u8,
        link_src: Address,
        source: &mut S,
        out: &mut [u8],
    ) -> Result<usize, LossReason> {
        let recovery = self.recovery.get_mut().ok_or(LossReason::Gone)?;
        let sender = recovery.sender_mut(index).ok_or(LossReason::Gone)?;
        let (header, is_last) = sender.next().ok_or(LossReason::Gone)?;
        let mut out = Cursor::new(out);
        header.emit(&mut out)?;
        if !header.is_abort() {
            let pulled = match &sender.source {
                Source::Pulled(pulled) => Some(pulled),
                Source::Slot(_) => None,
            };
            let sending = Sending {
                pool: &self.pool,
                pulled,
                contexts: &self.contexts,
                link_src,
                forwarded: &[],
                slack: 0,
            };
            put_part(&sending, sender, &header, source, &mut out)?;
        }
        if sender.is_repeated() {
            count(&mut recovery.counters.repeated);
        }
        datagram.on_built(is_last);
        Ok(out.position())
    }

    pub(super) fn on_recoverable_done(&mut self, now: Instant, index: u8, delivered: bool) {
        let Some(recovery) = self.recovery.get_mut() else {
            return;
        };
        let Some(sender) = recovery.sender_mut(index) else {
            self.in_service = None;
            return;
        };
        if let Some(standing) = sender.pending.take() {
            self.conclude(now, index, standing);
        } else if sender.phase == Phase::Aborting {
            self.in_service = None;
            self.after_abort(now, index);
        } else if sender.fails_without(delivered) {
            self.in_service = None;
            self.end_recoverable(now, index, Err(LossReason::LinkFailure));
        } else if !recovery.on_frame_done(now, index) {
            self.in_service = None;
        } else if !self.fragment_gap.is_zero() {
            self.gap_until = now + self.fragment_gap;
        }
    }

    pub(super) fn on_recoverable_unbuilt(&mut self, now: Instant, index: u8, reason: LossReason) {
        let aborting = |sender: &Sender| sender.phase == Phase::Aborting;
        let recovery = self.recovery.get_mut();
        let Some((sender, config)) = recovery.and_then(|r| r.sender_mut_with(index)) else {
            return;
        };
        if aborting(sender) {
            self.after_abort(now, index);
        } else {
            sender.abort(reason, config);
        }
    }

    /// Applies the effect of an acknowledgment or a timeout to the datagram with this `index`.
    pub(super) fn conclude(&mut self, now: Instant, index: u8, standing: Standing) {
        let Some((sender, config)) = self
            .recovery
            .get_mut()
            .and_then(|r| r.sender_mut_with(index))
        else {
            return;
        };
        let is_it = |datagram: &mut InService| datagram.is_recoverable(index);
        match standing {
            Standing::GoesOn => {}
            Standing::Exhausted => sender.abort(LossReason::NotRecovered, config),
            // The MAC still has a frame of the datagram: the effect applies when this frame ends.
            _ if self.frame_out && self.in_service.as_mut().is_some_and(is_it) => {
                sender.pending = Some(standing);
            }
            Standing::Arrived => {
                self.in_service.take_if(is_it);
                self.suspended.take_if(is_it);
                self.end_recoverable(now, index, Ok(()));
            }
            // RFC 8931 §6.3: "upon an acknowledgment with a NULL bitmap, the
            // fragmenting endpoint MUST abort the transmission".
            Standing::Refused => {
                sender.abort(LossReason::NotRecovered, config);
                self.in_service.take_if(is_it);
                self.suspended.take_if(is_it);
                self.after_abort(now, index);
            }
        }
    }

    fn after_abort(&mut self, now: Instant, index: u8) {
        let Some(recovery) = self.recovery.get_mut() else {
            return;
        };
        let (tag, window) = (recovery.new_tag(), recovery.config.window);
        let Some(sender) = recovery.sender_mut(index) else {
            return;
        };
        match sender.after_abort(tag, window) {
            Some(reason) => self.end_recoverable(now, index, Err(reason)),
            None => count(&mut recovery.counters.restarted),
        }
    }

    fn end_recoverable(&mut self, now: Instant, index: u8, outcome: Result<(), LossReason>) {
        let Some(recovery) = self.recovery.get_mut() else {
            return;
        };
        let Some(sender) = recovery.sender_mut(index) else {
            return;
        };
        if let Err(reason) = outcome {
            self.counters.lost(reason);
        }
        sender.phase = Phase::Ended(outcome);
        let next_hop = sender.next_hop;
        if let Source::Slot(id) = sender.source {
            recovery.end(index);
            self.pool.free_slot(id);
            match outcome {
                Ok(()) => count(&mut self.counters.datagrams_sent),
                Err(reason) => {
                    self.datagram_event = Some(LowpanEvent::DatagramDropped { next_hop, reason });
                }
            }
        }
        self.note_occupancy(now);
    }

    pub(super) fn ended_segment(&mut self) -> Option<LowpanEvent> {
        let recovery = self.recovery.get_mut()?;
        let ended = |sender: &Sender| matches!(sender.phase, Phase::Ended(_));
        let sender = recovery.find(ended).and_then(|index| recovery.end(index))?;
        let Source::Pulled(pulled) = sender.source else {
            return None;
        };
        let handle = pulled.handle;
        Some(match sender.phase {
            Phase::Ended(Err(reason)) => LowpanEvent::SegmentLost { handle, reason },
            _ => {
                count(&mut self.counters.segments_sent);
                LowpanEvent::SegmentSent { handle }
            }
        })
    }

    /// Returns the next acknowledgment. Acknowledgments precede new datagrams, because they are
    /// short, and a sender waits for them.
    pub(super) fn next_ack(&mut self) -> Option<InService> {
        let recovery = self.recovery.get_mut()?;
        let (to, _) = recovery.next_ack()?;
        Some(InService::new(Origin::Acknowledgment(recovery.by), to, 1))
    }

    pub(super) fn next_train(&mut self) -> Option<InService> {
        let recovery = self.recovery.get()?;
        let index = recovery.ready()?;
        let next_hop = recovery.sender(index)?.next_hop;
        let origin = Origin::Recoverable(index, recovery.by);
        Some(InService::new(origin, next_hop, 1))
    }

    pub(super) fn ack_goes_first(&self) -> bool {
        self.recovery.get().is_some_and(Recovery::has_ack)
    }

    /// Returns whether a datagram of this node has a train of recoverable fragments to send
    /// (`recovery/outgoing.rs`).
    pub(super) fn train_is_ready(&self) -> bool {
        let recovery = self.recovery.get();
        recovery.is_some_and(|recovery| recovery.ready().is_some())
    }
}

fn shape<M: Memory>(
    sending: &Sending<'_, M>,
    datagram: &InService,
    capacity: usize,
    recovery: &Recovery<M>,
) -> Option<Shape> {
    if !matches!(datagram.origin, Origin::Slot(_) | Origin::Pulled) {
        return None;
    }
    let mut scratch = [0; iphc::MAX_COMPRESSED_LEN];
    let mut headers = Cursor::new(&mut scratch);
    let expanded = sending.compress(datagram, &mut headers).ok()?;
    let number = |n: usize| u16::try_from(n).ok();
    let lengths = DatagramLengths {
        size: number(datagram.size())?,
        head: number(headers.position())?,
        expanded: number(expanded)?,
    };
    Shape::new(lengths, number(capacity)?, &recovery.config)
}

fn put_part<M: Memory, S: PayloadSource>(
    sending: &Sending<'_, M>,
    sender: &Sender,
    header: &Fragment,
    source: &mut S,
    out: &mut Cursor<'_>,
) -> Result<(), LossReason> {
    let origin = match &sender.source {
        Source::Slot(id) => Origin::Slot(*id),
        Source::Pulled(_) => Origin::Pulled,
    };
    let shape = &sender.shape;
    let whole = InService::new(origin, sender.next_hop, shape.size.into());
    let (mut from, mut len) = (usize::from(shape.expanded), usize::from(header.size));
    let head = usize::from(shape.head);
    if header.sequence == 0 {
        let start = out.position();
        sending.compress(&whole, out)?;
        // If a context has changed, the header has another length, and all offsets would be wrong.
        if out.position().saturating_sub(start) != head {
            return Err(LossReason::Unsendable);
        }
        len = len.saturating_sub(head);
    } else {
        let behind = usize::from(header.offset).saturating_sub(head);
        from = from.saturating_add(behind);
    }
    sending.copy(&whole, source, from, len, out)
}
