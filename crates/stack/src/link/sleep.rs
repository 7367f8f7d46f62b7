//! A sleepy leaf: when it listens, polls its parent, and holds back its own frames.

use redpoll_base::{Duration, Instant, Rng, Wake};
use redpoll_mac::{Access, Mac, Rest, TxStatus};
use redpoll_wire::ieee802154::Address;

use super::poll::DataPoll;
use super::silence::{Doubt, Silence};
use crate::SleepyConfig;

/// Pause between polls of a new parent. The node sends only polls until one is acknowledged.
const INTRODUCTION: Duration = Duration::from_millis(100);

/// Events that the layers above expect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Expected {
    /// Whether a packet is expected soon.
    pub(crate) answer: bool,
    /// Whether a peer may have missed the last segment of the handshake, and may retransmit its
    /// SYN-ACK.
    pub(crate) repetition: bool,
    /// When TCP's next timer expires, in microseconds, wrapping; the present time if no timer runs.
    pub(crate) until: u32,
}

pub(crate) struct Sleepy {
    parent: Address,
    /// Whether the parent sends all waiting frames after one poll.
    burst: bool,
    /// Whether the parent has acknowledged a data request: then it knows that this node sleeps.
    introduced: bool,
    poll: DataPoll,
    silence: Silence,
    doubt: Doubt,
    /// The time until which the node listens, because the parent has announced a frame.
    listens_until: Option<Instant>,
    /// Whether an application waits for a packet that no connection expects.
    pub(super) app_expects: bool,
}

impl Sleepy {
    pub(super) fn new(config: &SleepyConfig, rng: &mut Rng) -> Self {
        let parent = config.parents.first().copied().flatten();
        Sleepy {
            parent: parent.map_or(Address::Absent, Address::Short),
            burst: config.burst,
            introduced: false,
            poll: DataPoll::new(config.poll, rng),
            silence: Silence::default(),
            doubt: Doubt::default(),
            listens_until: None,
            app_expects: false,
        }
    }

    pub(super) fn on_new_parent(&mut self, now: Instant, parent: Address) {
        self.parent = parent;
        self.introduced = false;
        self.listens_until = None;
        self.poll.on_new_parent(now);
    }

    /// Returns whether the node holds back its own frames: it listens for its parent's frames, or
    /// the parent, which does not know yet that the node sleeps, would not hold back an answer.
    pub(super) fn holds_back(&self) -> bool {
        self.listens_until.is_some() || !self.introduced
    }

    /// Records the events that the layers above expect. Returns `true` if these layers have waited
    /// for long and the node should register again.
    pub(super) fn expect(&mut self, now: Instant, expected: Expected) -> bool {
        let answer = self.app_expects || expected.answer;
        if !self.introduced {
            return false;
        }
        let repetition = self.doubt.expects(now, expected.repetition);
        self.poll.expect(now, answer || repetition);
        self.poll.deadline = expected.until;
        self.silence.expect(now, answer)
    }

    /// Polls the parent if a poll is due, and sets the radio's state. `is_mid_datagram`:
    /// only some fragments of a datagram have left. `may_send`: security allows a request.
    pub(super) fn take_turn(
        &mut self,
        now: Instant,
        mac: &mut Mac<impl Access>,
        is_mid_datagram: bool,
        may_send: bool,
    ) {
        if self.listens_until.is_some() {
            mac.set_rest(Rest::Listen);
            return;
        }
        mac.set_rest(Rest::Sleep);
        if may_send && self.may_ask(mac, is_mid_datagram) && self.poll.is_due(now) {
            mac.request_data(now, self.parent);
        }
    }

    /// Returns whether the node may poll. The peer answers only after a datagram's last fragment.
    fn may_ask(&self, mac: &Mac<impl Access>, is_mid_datagram: bool) -> bool {
        mac.is_idle() && (!is_mid_datagram || !self.introduced)
    }

    pub(super) fn on_sent(&mut self, now: Instant) {
        self.poll.on_sent(now);
    }

    pub(super) fn on_polled(&mut self, now: Instant, status: TxStatus, frame_pending: bool) {
        if status == TxStatus::Delivered {
            self.introduced = true;
            self.poll.on_answer(now, frame_pending);
            self.listens_until = frame_pending.then(|| now + self.poll.window());
            return;
        }
        self.poll.on_failure(now);
        if !self.introduced {
            self.poll.on_new_parent(now + INTRODUCTION);
        }
    }

    /// Handles a frame; `more`: it announces another.
    pub(super) fn on_received(&mut self, now: Instant, from: Address, more: bool) {
        if self.listens_until.is_none() || from != self.parent {
            return;
        }
        self.poll.on_frame();
        self.silence.on_frame();
        let listens_on = more && self.burst;
        self.listens_until = listens_on.then(|| now + self.poll.window());
        if more && !self.burst {
            self.poll.ask_again(now);
        }
    }

    pub(super) fn poll_at(
        &self,
        mac: &Mac<impl Access>,
        is_mid_datagram: bool,
        may_send: bool,
    ) -> Option<Wake> {
        if let Some(until) = self.listens_until {
            return Some(Wake::exactly(until));
        }
        // While the MAC is busy, its own timer wakes the node.
        (may_send && self.may_ask(mac, is_mid_datagram)).then(|| self.poll.next())
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        if self.listens_until.is_some_and(|until| until <= now) {
            // The announced frame did not arrive.
            self.listens_until = None;
            self.poll.ask_again(now);
        }
    }
}
