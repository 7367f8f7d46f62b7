//! A leaf that sleeps: when its radio listens, when it asks its parent, and when it
//! holds its own frames back.

use redpoll_base::{Duration, Instant, Rng, Wake};
use redpoll_mac::{Access, Mac, Rest, TxStatus};
use redpoll_wire::ieee802154::Address;

use super::poll::DataPoll;
use super::silence::{Doubt, Silence};
use crate::SleepyConfig;

/// Between two attempts to introduce oneself to a parent, with frames held back.
const INTRODUCTION: Duration = Duration::from_millis(100);

/// What the layers above wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Expected {
    /// A packet is about to come.
    pub(crate) answer: bool,
    /// The peer of a connection may not have heard the end of its handshake, and
    /// repeat its part.
    pub(crate) repetition: bool,
    /// When TCP acts without an answer, in microseconds, wrapping; or now.
    pub(crate) until: u32,
}

/// What a sleepy node keeps in mind.
pub(crate) struct Sleepy {
    parent: Address,
    /// Whether the parent sends all that waits after one request.
    burst: bool,
    /// The parent has had a data request, and so knows that this node sleeps.
    introduced: bool,
    poll: DataPoll,
    silence: Silence,
    doubt: Doubt,
    /// Its parent has promised something until then.
    listens_until: Option<Instant>,
    /// An application waits for something that no connection knows of.
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

    /// Another node is the parent from now on.
    pub(super) fn on_new_parent(&mut self, now: Instant, parent: Address) {
        self.parent = parent;
        self.introduced = false;
        self.listens_until = None;
        self.poll.on_new_parent(now);
    }

    /// Whether the node holds its own frames back: it listens for its parent's,
    /// or its parent does not know yet that it sleeps, and would answer while it
    /// does.
    pub(super) fn holds_back(&self) -> bool {
        self.listens_until.is_some() || !self.introduced
    }

    /// What the layers above wait for now. `true` if they have waited for long, and
    /// the node should register anew.
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

    /// Asks the parent if it is time, and says what the radio does meanwhile.
    /// `is_mid_datagram`: some fragments of a datagram have left and others not.
    /// `may_send`: security lets a request leave.
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

    /// Not between the fragments of a datagram: its end may be what the answer
    /// waits for.
    fn may_ask(&self, mac: &Mac<impl Access>, is_mid_datagram: bool) -> bool {
        mac.is_idle() && (!is_mid_datagram || !self.introduced)
    }

    /// A frame of this node has left.
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.poll.on_sent(now);
    }

    /// A data request has ended.
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

    /// A frame has come, and says whether more will.
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
        // While the MAC is busy its end is what to wait for.
        (may_send && self.may_ask(mac, is_mid_datagram)).then(|| self.poll.next())
    }

    pub(super) fn on_timeout(&mut self, now: Instant) {
        if self.listens_until.is_some_and(|until| until <= now) {
            // What was promised has not come.
            self.listens_until = None;
            self.poll.ask_again(now);
        }
    }
}
