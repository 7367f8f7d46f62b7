//! Frames that announce another: fragments of one datagram, and waiting frames of a sleepy node.
//!
//! A frame whose frame-pending bit is set announces another one to its addressee (IEEE
//! 802.15.4-2015 §7.2.2.3). The addressee delays its own frames until the announced frame has
//! arrived or `HOLD` has passed, so that the sender can first finish the datagram. Then the
//! addressee sends all frames of one datagram without such delays; otherwise a relay between many
//! senders would starve. [`Promised`] selects the sender's behaviour.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;

use super::{Mac, Progress};
use crate::access::Access;

/// Time for which a receiver waits until an announced frame begins: twice 4.1 ms, in case the
/// channel is busy once. The 4.1 ms are an Imm-ACK with its turnaround, 544 µs; loading, 1 µs per
/// bit; the longest first backoff, 2,240 µs; assessment and turnaround, 320 µs.
const HOLD: Duration = Duration::from_millis(8);

/// Channel access of a frame that the previous frame announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Promised {
    /// CSMA-CA from macMinBE on, as for any other frame.
    #[default]
    Csma,
    /// CSMA-CA with macMinBE reduced by one; for the first frame of a burst, macMinBE is increased
    /// by one. IEEE 802.15.4 lets a device choose macMinBE, but only one value for all frames.
    /// Other nodes wait longer than with [`Self::Csma`].
    ByQueue,
    /// The frame is sent without a backoff, after a clear channel assessment. IEEE 802.15.4 does
    /// not allow this; other nodes wait longer and lose more frames than with [`Self::Csma`].
    Burst,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    pub(super) promises: bool,
    /// The neighbour to which this node's last acknowledged frame announced another frame.
    promised: Option<Address>,
    continues: bool,
    /// The neighbour that announced a frame to this node, and the end of the wait for it.
    expects: Option<(Address, Instant)>,
    held: bool,
    /// Whether this node sends its own frames although a neighbour has announced a frame.
    own_turn: bool,
}

impl Burst {
    pub(super) fn on_submit(&mut self, dst: Address, promises: bool) {
        self.continues = self.promised.take() == Some(dst);
        self.promises = promises;
    }

    pub(super) fn on_end(&mut self, dst: Address, delivered: bool) {
        self.promised = (delivered && self.promises).then_some(dst);
        self.continues = false;
        self.own_turn &= self.promised.is_some();
    }

    pub(super) fn continues(&self) -> bool {
        self.continues
    }

    /// After a failed attempt, treats the frame like one that was not announced.
    pub(super) fn on_failure(&mut self) {
        self.continues = false;
    }

    pub(super) fn on_frame(&mut self, now: Instant, src: Address, promises: bool) {
        self.forget_late(now);
        match self.expects {
            Some((who, _)) if who != src => {}
            _ if promises => self.expects = Some((src, now + HOLD)),
            Some(_) => self.stop_waiting(),
            None => {}
        }
    }

    /// Returns until when a frame of this node is delayed.
    fn hold_until(&mut self, now: Instant) -> Option<Instant> {
        self.forget_late(now);
        let (_, until) = self.expects.filter(|_| !self.continues && !self.own_turn)?;
        self.held = true;
        Some(until)
    }

    fn forget_late(&mut self, now: Instant) {
        if self.expects.is_some_and(|(_, until)| until <= now) {
            self.stop_waiting();
        }
    }

    fn stop_waiting(&mut self) {
        self.expects = None;
        self.own_turn |= core::mem::take(&mut self.held);
    }
}

impl<A: Access> Mac<A> {
    pub(super) fn skips_backoff(&self) -> bool {
        self.config.promised == Promised::Burst && self.burst.continues
    }

    pub(super) fn first_be(&self) -> u8 {
        let min_be = self.config.min_be;
        match (self.config.promised, self.burst.continues) {
            (Promised::ByQueue, true) => min_be.saturating_sub(1),
            (Promised::ByQueue, false) if self.burst.promises => min_be.saturating_add(1),
            _ => min_be,
        }
    }

    /// Delays the submitted frame while a neighbour is about to send this node another frame,
    /// unless this node has announced its frame.
    pub(super) fn yield_channel(&mut self, now: Instant) {
        if let Some(until) = self.burst.hold_until(now) {
            self.progress = Progress::Backoff { until };
        }
    }
}
