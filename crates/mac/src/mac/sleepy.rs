//! Functions for parents and their sleepy children: data requests, the source-match table,
//! sleep, and returning a frame between attempts.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::{Address, DATA_REQUEST, FrameHeader};

use super::{Kind, Mac, Progress};
use crate::access::Access;
use crate::counters::count;
use crate::filter::asks_for_ack;
use crate::retry::Retry;
use crate::{MacEvent, RadioWork, RxInfo, Service, Ticket};

/// The radio's state while the MAC has no work for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rest {
    /// Its receiver is on (macRxOnWhenIdle).
    #[default]
    Listen,
    /// It sleeps, also before a repetition that is not near; its receiver is
    /// off between the attempts of a frame.
    Sleep,
    /// Its receiver is on when the [`Cycle`](crate::Cycle) of its method of access says so:
    /// with such a method a MAC begins like this. Without one, as [`Rest::Listen`].
    Cycle,
}

/// From this delay on sleep pays: before another attempt the radio wakes up and
/// the frame is loaded again. That takes 1.4 ms, and of the charge what the
/// oscillator takes in 11 ms (AT86RF233 beside a Cortex-M0).
const WORTH_SLEEP: Duration = Duration::from_millis(10);

impl<A: Access> Mac<A> {
    /// Sets the radio's state between works. Initially it listens.
    pub fn set_rest(&mut self, rest: Rest) {
        self.rest = rest;
    }

    /// Starts the service of a data request: it asks `parent` for what waits
    /// there for this node. It ends in [`MacEvent::Polled`](crate::MacEvent).
    /// `false`, and nothing happens, while the MAC is not idle.
    pub fn request_data(&mut self, now: Instant, parent: Address) -> bool {
        if !self.is_idle() {
            return false;
        }
        let quick = Service {
            quick: true,
            ..Service::default()
        };
        self.kind = Kind::Request;
        match self.frame_mut(parent).and_then(<[u8]>::first_mut) {
            Some(command) => *command = DATA_REQUEST,
            None => {
                self.kind = Kind::Data;
                return false;
            }
        }
        count(&mut self.counters.data_requests);
        self.submit_as(now, 1, quick);
        true
    }

    /// Notes whether something waits here for the neighbour with this short
    /// address; acknowledgements to its data requests say so.
    /// `false` if [`PENDING_MAX`](crate::PENDING_MAX) others have something.
    pub fn set_pending(&mut self, neighbour: u16, pending: bool) -> bool {
        let noted = self.pending.set(neighbour, pending);
        if !self.config.caps.source_match {
            // There is no copy to keep.
            while self.pending.poll().is_some() {}
        }
        noted
    }

    /// Gives the frame in service back, if it is between two attempts or waits
    /// for its first. The ticket lets the same frame go on later, by
    /// [`Self::submit_as`]; there is no event.
    pub fn preempt(&mut self) -> Option<Ticket> {
        let waits = matches!(
            self.progress,
            Progress::Spacing { .. }
                | Progress::Backoff { .. }
                | Progress::RetryDelay { .. }
                | Progress::Ready
        );
        if !waits || self.work.is_some() || self.kind != Kind::Data {
            return None;
        }
        count(&mut self.counters.preempted);
        self.on_cycled_preempted();
        self.progress = Progress::Idle;
        let begun = self.retry.attempts();
        Some(Ticket {
            dsn: self.frame_dsn,
            attempts: begun.saturating_sub(1),
        })
    }

    /// The ticket of the frame whose service ended last: with it the same frame can be
    /// retransmitted with a new count of attempts.
    pub fn last_ticket(&self) -> Ticket {
        Ticket {
            dsn: self.frame_dsn,
            attempts: 0,
        }
    }

    /// Whether a radio that rests asleep sleeps through a delay between two
    /// attempts.
    pub(super) fn sleeps_for(&self, delay: Duration) -> bool {
        self.rest == Rest::Sleep && delay >= WORTH_SLEEP
    }

    pub(super) fn start_retry(&mut self, how: &Service) {
        let made = how.repeats.map_or(0, |ticket| ticket.attempts);
        self.retry = Retry::start(made, how.quick);
    }

    /// Whether a radio that is to sleep still listens: making and loading a frame
    /// may take a while.
    pub(super) fn listens_in_vain(&self) -> bool {
        self.rest == Rest::Sleep && self.told == RadioWork::Listen
    }

    /// A change to what the radio does between works, or to its source-match
    /// table.
    pub(super) fn poll_rest(&mut self) -> Option<RadioWork<A::Work>> {
        if self.config.caps.source_match
            && let Some((neighbour, pending)) = self.pending.poll()
        {
            return Some(RadioWork::SourceMatch { neighbour, pending });
        }
        let wanted = self.wanted_rest();
        (wanted != self.told).then(|| {
            self.told = wanted;
            wanted
        })
    }

    fn wanted_rest(&self) -> RadioWork<A::Work> {
        let backs_off = matches!(self.progress, Progress::Backoff { .. });
        match (self.rest, self.progress) {
            (_, Progress::AckWait { .. }) => RadioWork::Listen,
            _ if self.awaits_probe() => RadioWork::Listen,
            (Rest::Cycle, _) if self.access.cycle().is_some() => self.cycle_rest(),
            (Rest::Sleep, Progress::Idle | Progress::RetryDelay { asleep: true, .. })
                if self.imm_ack.is_none() =>
            {
                RadioWork::Sleep
            }
            (Rest::Sleep, _) => RadioWork::Doze,
            _ if backs_off && self.config.deaf_backoff => RadioWork::Doze,
            _ => RadioWork::Listen,
        }
    }

    /// A neighbour asks for what waits for it. The acknowledgement says whether
    /// there is anything, so it must be decided here and now.
    pub(super) fn on_data_request(
        &mut self,
        now: Instant,
        header: &FrameHeader,
        acknowledge: bool,
        info: &RxInfo,
    ) {
        // IEEE 802.15.4-2015 §7.5.5: it goes to a coordinator, from a device that has an
        // address.
        if !asks_for_ack(header.dst) || matches!(header.src, Address::Short(0xfffe..)) {
            count(&mut self.counters.rx_malformed);
            return;
        }
        count(&mut self.counters.rx_data_requests);
        self.on_cycled_request(now);
        let known = match header.src {
            Address::Short(short) => self.pending.contains(short),
            _ => false,
        };
        let promised = match self.config.caps.auto_ack {
            true => info.ack_sent_pending,
            false => known && acknowledge,
        };
        self.acknowledge(now, header.dsn, acknowledge, promised);
        self.request = Some(MacEvent::DataRequest {
            child: header.src,
            promised,
        });
    }
}
