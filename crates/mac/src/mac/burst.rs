//! Bursts: frames of one datagram that follow one another.
//!
//! A frame whose frame-pending bit is set promises another. Its sender, once
//! the frame is acknowledged, sends the next without a backoff, after a clear
//! channel assessment; its receiver holds its own frames back until that one
//! has come or its time is over. Whoever has won the channel so wins it for the
//! whole datagram, and the half-way datagrams of several neighbours do not
//! delay each other.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;

use super::{Mac, Phase};

/// How long a receiver waits for the frame that was promised: the longest one
/// loaded at a microsecond a bit, assessment, turnarounds and the
/// acknowledgement of the one before it, 6.4 ms, and some room.
const GAP: Duration = Duration::from_millis(8);

/// Where bursts of this node and of its neighbours stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    /// The frame in service has the bit set.
    pub(super) promises: bool,
    /// The frame acknowledged last promised this neighbour another.
    promised: Option<Address>,
    /// The frame in service is that one.
    continues: bool,
    /// A neighbour has promised this node a frame until then.
    expects_until: Instant,
}

impl Burst {
    /// A frame to `dst` comes into service.
    pub(super) fn on_submit(&mut self, dst: Address, promises: bool) {
        self.continues = self.promised.take() == Some(dst);
        self.promises = promises;
    }

    /// The frame in service has ended.
    pub(super) fn on_end(&mut self, dst: Address, delivered: bool) {
        self.promised = (delivered && self.promises).then_some(dst);
        self.continues = false;
    }

    /// An attempt has failed: from now on the frame is one like any other.
    pub(super) fn on_failure(&mut self) {
        self.continues = false;
    }

    /// A frame for this node has come.
    pub(super) fn on_frame(&mut self, now: Instant, promises: bool) {
        self.expects_until = if promises { now + GAP } else { now };
    }
}

impl Mac {
    /// Whether the frame in service goes out without a backoff.
    pub(super) fn continues_burst(&self) -> bool {
        self.burst.continues
    }

    /// Holds the frame in service back while a neighbour is about to send this
    /// node another frame.
    pub(super) fn yield_channel(&mut self, now: Instant) {
        let until = self.burst.expects_until;
        if !self.burst.continues && until > now {
            self.phase = Phase::Backoff { until };
        }
    }
}
