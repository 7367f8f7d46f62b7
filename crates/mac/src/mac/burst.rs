//! Frames that promise another: those of one datagram, and what waits for a
//! sleepy node.
//!
//! A frame whose frame-pending bit is set promises its addressee another (IEEE 802.15.4-2015
//! §7.2.2.3). The addressee holds its own frames back until that frame has come or its time is
//! over, so that half a datagram does not wait for the neighbour that needs the other half.
//! Afterwards the addressee sends all its frames of one datagram without yielding again;
//! otherwise a relay between many senders would starve. [`Promised`] selects the sender's
//! behaviour.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;

use super::{Mac, Progress};
use crate::access::Access;

/// The time that a receiver waits for a promised frame: loading at a microsecond a bit and the
/// longest first backoff, 4.1 ms, and the same again for a busy channel. A frame on the air
/// holds all nodes back by itself.
const HOLD: Duration = Duration::from_millis(8);

/// How a frame goes out that the frame before it promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Promised {
    /// As every other: CSMA-CA from macMinBE on.
    #[default]
    Csma,
    /// With macMinBE reduced by one; the first frame of a burst has it increased by one. The
    /// standard leaves macMinBE to the device, but has one value for all frames. Other nodes
    /// wait longer.
    ByQueue,
    /// Without a backoff, after a clear channel assessment. The standard does
    /// not allow that, and others wait longer and lose more.
    Burst,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    pub(super) promises: bool,
    /// The frame acknowledged last promised this neighbour another.
    promised: Option<Address>,
    /// The frame in service is that one.
    continues: bool,
    /// This neighbour has promised this node a frame until then.
    expects: Option<(Address, Instant)>,
    held: bool,
    /// This node's own frames come first.
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

    /// An attempt has failed: from now on the frame is one like any other.
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

    /// Until when a frame of this node's own is held back.
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
    /// Whether the frame in service goes out without a backoff.
    pub(super) fn skips_backoff(&self) -> bool {
        self.config.promised == Promised::Burst && self.burst.continues
    }

    /// The exponent of the first backoff of an attempt.
    pub(super) fn first_be(&self) -> u8 {
        let min_be = self.config.min_be;
        match (self.config.promised, self.burst.continues) {
            (Promised::ByQueue, true) => min_be.saturating_sub(1),
            (Promised::ByQueue, false) if self.burst.promises => min_be.saturating_add(1),
            _ => min_be,
        }
    }

    /// Holds the frame in service back while a neighbour is about to send this
    /// node another frame. One that was promised goes on.
    pub(super) fn yield_channel(&mut self, now: Instant) {
        if let Some(until) = self.burst.hold_until(now) {
            self.progress = Progress::Backoff { until };
        }
    }
}
