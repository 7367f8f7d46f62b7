//! A datagram that leaves in recoverable fragments: the fragmenting endpoint of RFC 8931 §6.
//!
//! Its fragments leave in *trains*, whose last fragment requests an acknowledgment: first all
//! fragments, one window at a time, then the missing ones, until none is missing or the retries are
//! used up.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::recoverable::{Ack, Bitmap, Fragment, MAX_SEQUENCE};

use super::RecoveryConfig;
use crate::{LossReason, PulledDatagram, SlotId};

/// The record of a datagram that this node is sending; opaque.
#[derive(Clone, Debug, Default)]
pub struct Outgoing(pub(crate) Option<Sender>);

impl Outgoing {
    /// A free entry.
    pub const EMPTY: Outgoing = Outgoing(None);
}

#[derive(Clone, Debug)]
pub(crate) enum Source {
    Slot(SlotId),
    Pulled(PulledDatagram),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DatagramLengths {
    pub(crate) size: u16,
    pub(crate) head: u16,
    /// Length of the uncompressed headers in bytes; `head` is their compressed length.
    pub(crate) expanded: u16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) size: u16,
    /// Length of the compressed headers in bytes; `expanded` is their uncompressed length.
    pub(crate) head: u16,
    pub(crate) expanded: u16,
    /// Length of the first fragment with its headers, in bytes; `step` is the length of each later
    /// fragment except the last.
    pub(crate) first: u16,
    pub(crate) step: u16,
    pub(crate) count: u8,
}

/// Bytes that a first fragment leaves free. RFC 8931 §4.1: 8 bytes, in which a relay can expand the
/// source's interface identifier. One more byte is for the hop limit.
pub(crate) const SLACK: u16 = 8 + 1;

impl Shape {
    /// Divides a datagram into fragments for frames of `capacity` bytes. `None` if it fits into one
    /// frame, or not into recoverable fragments.
    pub(crate) fn new(
        lengths: DatagramLengths,
        capacity: u16,
        config: &RecoveryConfig,
    ) -> Option<Shape> {
        let DatagramLengths {
            size,
            head,
            expanded,
        } = lengths;
        let total = head.checked_add(size.checked_sub(expanded)?)?;
        if total <= capacity {
            return None;
        }
        let room = capacity.checked_sub(Fragment::LEN as u16)?;
        let step = room.min(config.max_fragment);
        let first = room.checked_sub(SLACK)?.min(config.max_fragment);
        if step < config.min_fragment || step == 0 || first < head {
            return None;
        }
        let (mut covered, mut count) = (first, 1u8);
        while covered < total {
            covered = covered.checked_add(step)?;
            count = count.saturating_add(1);
            if count > MAX_SEQUENCE.saturating_add(1) {
                return None;
            }
        }
        Some(Shape {
            size,
            head,
            expanded,
            first,
            step,
            count,
        })
    }

    pub(crate) fn total(&self) -> u16 {
        let behind = self.size.saturating_sub(self.expanded);
        self.head.saturating_add(behind)
    }

    pub(crate) fn part(&self, sequence: u8) -> (u16, u16) {
        if sequence == 0 {
            return (0, self.first);
        }
        let steps = u16::from(sequence).saturating_sub(1);
        let offset = self.first.saturating_add(steps.saturating_mul(self.step));
        (offset, self.step.min(self.total().saturating_sub(offset)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Ready,
    Leaving,
    /// The datagram waits until `until` for an acknowledgment that was requested at `asked`.
    Waiting {
        asked: Instant,
        until: Instant,
    },
    Aborting,
    /// The datagram has ended, but the transport has not polled the event yet.
    Ended(Result<(), LossReason>),
}

/// The effect of an event on the whole datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    GoesOn,
    Arrived,
    /// A node on the path aborted the datagram with a NULL bitmap.
    Refused,
    Exhausted,
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) source: Source,
    pub(crate) next_hop: Address,
    pub(crate) tag: u8,
    pub(crate) shape: Shape,
    pub(crate) phase: Phase,
    /// Reason with which the datagram ends after the abort; `None` if it restarts.
    ends: Option<LossReason>,
    window: u8,
    sent: Bitmap,
    acked: Bitmap,
    todo: Bitmap,
    current: u8,
    retries: u8,
    restarts: u8,
    pub(crate) backoff: u8,
    /// The effect of an acknowledgment that arrived while the MAC had a frame of the datagram.
    pub(crate) pending: Option<Standing>,
}

impl Sender {
    pub(crate) fn new(
        source: Source,
        next_hop: Address,
        tag: u8,
        shape: Shape,
        window: u8,
    ) -> Self {
        let mut sender = Sender {
            source,
            next_hop,
            tag,
            shape,
            phase: Phase::Leaving,
            ends: None,
            window,
            sent: Bitmap::NULL,
            acked: Bitmap::NULL,
            todo: Bitmap::NULL,
            current: 0,
            retries: 0,
            restarts: 0,
            backoff: 0,
            pending: None,
        };
        sender.todo = sender.train();
        sender
    }

    fn all(&self) -> Bitmap {
        Bitmap::first(self.shape.count)
    }

    /// RFC 8931 §6: "the sender MUST send all the fragments for a first time before it retries any
    /// lost fragment; lost fragments MUST be retried in sequence, oldest first".
    fn train(&self) -> Bitmap {
        let fresh = self.all().without(self.sent);
        let mut from = match fresh.is_null() {
            true => self.all().without(self.acked),
            false => fresh,
        };
        let mut train = Bitmap::NULL;
        for _ in 0..self.window {
            let Some(next) = from.lowest() else {
                break;
            };
            train = train.with(Bitmap::of(next));
            from = from.without(train);
        }
        train
    }

    /// Returns the header of the next fragment, and whether it is the last of its train.
    pub(crate) fn next(&mut self) -> Option<(Fragment, bool)> {
        if self.phase == Phase::Aborting {
            return Some((Fragment::abort(self.tag), true));
        }
        let sequence = self.todo.lowest()?;
        self.current = sequence;
        self.phase = Phase::Leaving;
        let (offset, size) = self.shape.part(sequence);
        let last = self.todo == Bitmap::of(sequence);
        let header = Fragment {
            ecn: false,
            tag: self.tag,
            // The last fragment of a train requests an acknowledgment: the bit "marks the end of a
            // window" (RFC 8931 §6).
            ack_request: last,
            sequence,
            size,
            offset: match sequence {
                0 => self.shape.total(),
                _ => offset,
            },
        };
        Some((header, last))
    }

    pub(crate) fn is_repeated(&self) -> bool {
        self.phase != Phase::Aborting && self.sent.has(self.current)
    }

    /// Handles the end of a frame's transmission; returns whether another frame of the train
    /// follows. If not, the wait for an acknowledgment begins.
    pub(crate) fn on_frame_done(&mut self, now: Instant, wait: Duration) -> bool {
        let this = Bitmap::of(self.current);
        self.todo = self.todo.without(this);
        self.sent = self.sent.with(this);
        if self.todo.is_null() {
            self.phase = Phase::Waiting {
                asked: now,
                until: now + wait,
            };
        }
        !self.todo.is_null()
    }

    /// Returns whether the datagram fails because its first fragment was not delivered. RFC 8930
    /// §5: the sender "should abort the datagram and release its state if it fails to send the
    /// first fragment".
    pub(crate) fn fails_without(&self, delivered: bool) -> bool {
        !delivered && self.current == 0 && self.acked.is_null() && self.retries == 0
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Waiting { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Returns the round-trip time of an acknowledgment that arrives now, if the request that it
    /// answers is unambiguous (RFC 6298 §3).
    pub(crate) fn round_trip(&self, now: Instant) -> Option<Duration> {
        match self.phase {
            Phase::Waiting { asked, .. } if self.backoff == 0 => Some(now.since(asked)),
            _ => None,
        }
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack, config: &RecoveryConfig) -> Standing {
        if ack.bitmap.is_null() {
            return Standing::Refused;
        }
        self.acked = self.acked.with(ack.bitmap);
        if self.all().without(self.acked).is_null() {
            return Standing::Arrived;
        }
        if ack.ecn && config.use_ecn {
            self.window = 1;
        }
        match self.phase {
            Phase::Waiting { .. } => {
                self.backoff = 0;
                self.next_train(config)
            }
            Phase::Ready => {
                self.todo = self.train();
                Standing::GoesOn
            }
            _ => Standing::GoesOn,
        }
    }

    fn next_train(&mut self, config: &RecoveryConfig) -> Standing {
        if self.all().without(self.sent).is_null() && !self.may_retry(config) {
            return Standing::Exhausted;
        }
        self.todo = self.train();
        self.phase = Phase::Ready;
        Standing::GoesOn
    }

    /// Handles a timeout. RFC 8931 §6 then allows a retry of the fragment that has the X flag.
    pub(crate) fn on_timeout(&mut self, config: &RecoveryConfig) -> Standing {
        if !self.may_retry(config) {
            return Standing::Exhausted;
        }
        self.backoff = self.backoff.saturating_add(1);
        self.todo = Bitmap::of(self.current);
        self.phase = Phase::Ready;
        Standing::GoesOn
    }

    fn may_retry(&mut self, config: &RecoveryConfig) -> bool {
        self.retries = self.retries.saturating_add(1);
        self.retries <= config.fragment_retries
    }

    /// Aborts the datagram for `reason`. After the frame with the abort, it ends or restarts.
    pub(crate) fn abort(&mut self, reason: LossReason, config: &RecoveryConfig) {
        let again = reason == LossReason::NotRecovered && self.restarts < config.datagram_retries;
        self.ends = (!again).then_some(reason);
        self.phase = Phase::Aborting;
    }

    /// Handles the end of the abort's transmission. Returns the reason if the datagram ends;
    /// otherwise restarts it with `tag`.
    pub(crate) fn after_abort(&mut self, tag: u8, window: u8) -> Option<LossReason> {
        if self.ends.is_none() {
            self.tag = tag;
            self.window = window;
            self.restarts = self.restarts.saturating_add(1);
            (self.retries, self.backoff) = (0, 0);
            (self.sent, self.acked) = (Bitmap::NULL, Bitmap::NULL);
            self.todo = self.train();
            self.phase = Phase::Ready;
        }
        self.ends
    }
}
