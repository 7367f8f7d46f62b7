//! Sleepy nodes and their parents: when a node's radio listens, when it asks
//! its parent, and what the parent holds back until then.

use redpoll_base::{Duration, Instant, Memory, Wake};
use redpoll_lowpan::Note;
use redpoll_mac::{Rest, Ticket, TxStatus};
use redpoll_wire::ieee802154::Address;

use super::Node;
use crate::config::SleepyConfig;
use crate::poll::DataPoll;
use crate::silence::{Doubt, Silence};

/// Between two attempts to introduce oneself to a parent, with frames held back.
const INTRODUCTION: Duration = Duration::from_millis(100);

/// What a sleepy node keeps in mind.
pub(super) struct Sleepy {
    config: SleepyConfig,
    /// Which of the candidates is the parent.
    parent: usize,
    /// The parent has had a data request, and so knows that this node sleeps.
    introduced: bool,
    /// Failures in a row.
    failures: u8,
    poll: DataPoll,
    silence: Silence,
    doubt: Doubt,
    /// Its parent has promised something until then.
    listens_until: Option<Instant>,
    /// An application waits for something that no connection knows of.
    pub(super) app_expects: bool,
}

impl Sleepy {
    pub(super) fn new(config: SleepyConfig, poll: DataPoll) -> Self {
        Sleepy {
            config,
            parent: 0,
            introduced: false,
            failures: 0,
            poll,
            silence: Silence::default(),
            doubt: Doubt::default(),
            listens_until: None,
            app_expects: false,
        }
    }

    fn parent(&self) -> Address {
        let chosen = self.config.parents.get(self.parent).copied().flatten();
        chosen.map_or(Address::Absent, Address::Short)
    }

    /// A frame or request has ended; whether the parent is to be given up.
    pub(super) fn on_link(&mut self, delivered: bool) -> bool {
        self.failures = match delivered {
            true => 0,
            false => self.failures.saturating_add(1),
        };
        self.failures >= self.config.parent_failures.max(1)
    }

    /// The next candidate is the parent; behind the last comes the first.
    pub(super) fn next_parent(&mut self, now: Instant) -> Address {
        let next = self.parent.saturating_add(1);
        let is_one = self.config.parents.get(next).is_some_and(Option::is_some);
        self.parent = if is_one { next } else { 0 };
        self.introduced = false;
        self.failures = 0;
        self.listens_until = None;
        self.poll.on_new_parent(now);
        self.parent()
    }
}

/// The child's side.
impl<M: Memory + 'static> Node<M> {
    /// An application of a sleepy node waits for a packet, or no longer does;
    /// what TCP waits for is known without it ([`Self::tcp_expect`] for the
    /// rest). Of no effect on other nodes.
    pub fn expect_packets(&mut self, expected: bool) {
        if let Some(sleepy) = &mut self.sleepy {
            sleepy.app_expects = expected;
        }
    }

    /// Whether the node holds its own frames back: it listens for its parent's,
    /// or its parent does not know yet that it sleeps, and would answer while it
    /// does.
    pub(super) fn holds_back(&self) -> bool {
        let sleepy = self.sleepy.as_ref();
        sleepy.is_some_and(|sleepy| sleepy.listens_until.is_some() || !sleepy.introduced)
    }

    /// Asks the parent if it is time, and says what the radio does meanwhile.
    pub(super) fn sleepy_turn(&mut self, now: Instant) {
        let Some(sleepy) = &mut self.sleepy else {
            return;
        };
        let answer = sleepy.app_expects || self.solicitor.is_registering() || self.tcp.expects();
        if sleepy.introduced {
            let repetition = sleepy.doubt.expects(now, self.tcp.is_unproven());
            sleepy.poll.expect(now, answer || repetition);
            if sleepy.silence.expect(now, answer) {
                self.solicitor.renew(now);
            }
        }
        if sleepy.listens_until.is_some() {
            self.mac.set_rest(Rest::Listen);
            return;
        }
        self.mac.set_rest(Rest::Sleep);
        // Not between the fragments of a datagram: its end may be what the
        // answer waits for.
        let is_between = !self.lowpan.is_mid_datagram() || !sleepy.introduced;
        if self.mac.is_idle() && is_between && sleepy.poll.is_due(now) {
            self.mac.request_data(now, sleepy.parent());
        }
    }

    /// A frame of this node has left for `dst`, or has not.
    pub(super) fn on_sleepy_sent(&mut self, now: Instant, delivered: bool) {
        if let Some(sleepy) = &mut self.sleepy {
            if delivered {
                sleepy.poll.on_sent(now);
            }
            self.note_parent(now, delivered);
        }
    }

    /// A data request has ended.
    pub(super) fn on_polled(&mut self, now: Instant, status: TxStatus, frame_pending: bool) {
        let Some(sleepy) = &mut self.sleepy else {
            return;
        };
        let delivered = status == TxStatus::Delivered;
        if delivered {
            sleepy.introduced = true;
            sleepy.poll.on_answer(now, frame_pending);
            sleepy.listens_until = frame_pending.then(|| now + sleepy.poll.window());
        } else {
            sleepy.poll.on_failure(now);
            if !sleepy.introduced {
                sleepy.poll.on_new_parent(now + INTRODUCTION);
            }
        }
        self.note_parent(now, delivered);
    }

    /// A frame from the parent has come, and says whether more will.
    pub(super) fn on_sleepy_received(&mut self, now: Instant, from: Address, more: bool) {
        let Some(sleepy) = &mut self.sleepy else {
            return;
        };
        if sleepy.listens_until.is_none() || from != sleepy.parent() {
            return;
        }
        sleepy.poll.on_frame();
        sleepy.silence.on_frame();
        let listens_on = more && sleepy.config.burst;
        sleepy.listens_until = listens_on.then(|| now + sleepy.poll.window());
        if more && !sleepy.config.burst {
            sleepy.poll.ask_again(now);
        }
    }

    pub(super) fn sleepy_poll_at(&self) -> Option<Wake> {
        let sleepy = self.sleepy.as_ref()?;
        if let Some(until) = sleepy.listens_until {
            return Some(Wake::exactly(until));
        }
        // While the MAC is busy its end is what to wait for.
        let is_between = !self.lowpan.is_mid_datagram() || !sleepy.introduced;
        let can_ask = self.mac.is_idle() && is_between;
        can_ask.then(|| sleepy.poll.next())
    }

    pub(super) fn sleepy_timeout(&mut self, now: Instant) {
        if let Some(sleepy) = &mut self.sleepy
            && sleepy.listens_until.is_some_and(|until| until <= now)
        {
            // What was promised has not come.
            sleepy.listens_until = None;
            sleepy.poll.ask_again(now);
        }
    }
}

/// The parent's side.
impl<M: Memory + 'static> Node<M> {
    /// A neighbour has asked for what waits here: so it is one that sleeps.
    pub(super) fn on_data_request(&mut self, now: Instant, child: Address, promised: bool) {
        let Address::Short(short) = child else {
            return;
        };
        self.children.on_request(short);
        if promised {
            self.lowpan.on_data_request(now, child);
        }
    }

    /// Keeps the MAC's table of those for whom something waits.
    pub(super) fn note_pending(&mut self) {
        for child in self.children.iter() {
            let pending = self.lowpan.has_indirect(Address::Short(child));
            self.mac.set_pending(child, pending);
        }
    }

    /// Takes the frame in service back from the MAC if a sleepy node listens
    /// for another.
    pub(super) fn preempt(&mut self, now: Instant) {
        if self.preempts
            && self.lowpan.wants_preemption(now)
            && let Some(ticket) = self.mac.preempt()
        {
            let note = Note(ticket.to_bits());
            self.lowpan.on_frame_suspended(now, note);
        }
    }

    /// The frame in service has ended; one for a sleepy node that did not
    /// answer waits until that node asks again.
    pub(super) fn on_frame_end(&mut self, now: Instant, status: TxStatus) {
        let delivered = status == TxStatus::Delivered;
        if self.frame_is_indirect && !delivered {
            let note = Note(self.mac.last_ticket().to_bits());
            self.lowpan.on_frame_suspended(now, note);
        } else {
            self.lowpan.on_frame_done(now, delivered);
        }
        self.on_sleepy_sent(now, delivered);
    }
}

/// The note that comes back with a frame to be repeated, as the MAC's ticket.
pub(super) fn ticket(note: Note) -> Ticket {
    Ticket::from_bits(note.0)
}
