//! Functions for parents and their sleepy children: data requests, the source-match table, sleep,
//! and the return of a frame between attempts.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::{Address, DATA_REQUEST, FrameHeader};

use super::{Mac, OutgoingFrame, Progress};
use crate::access::{Access, CycleEvent};
use crate::counters::count;
use crate::filter::asks_for_ack;
use crate::retry::Retry;
use crate::{MacEvent, RadioWork, RxInfo, Service, Ticket};

/// The radio's state while the MAC has no job for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rest {
    /// The receiver is on (macRxOnWhenIdle).
    #[default]
    Listen,
    /// The radio sleeps, also during a retry delay of 10 ms or more. Between the attempts of a
    /// frame, the receiver is always off.
    Sleep,
    /// The [`Cycle`](crate::Cycle) of the access method decides. Without a cycle, the receiver is
    /// on, as with [`Rest::Listen`].
    Cycle,
}

/// Least delay in which sleep saves charge. Before the next attempt the radio wakes up and loads
/// the frame again. That takes 1.4 ms, and as much charge as the oscillator in 11 ms (AT86RF233
/// with a Cortex-M0).
const WORTH_SLEEP: Duration = Duration::from_millis(10);

impl<A: Access> Mac<A> {
    /// Sets the radio's state between jobs. [`Mac::new`] states the initial one.
    pub fn set_rest(&mut self, rest: Rest) {
        self.rest = rest;
    }

    /// Starts the service of a data request, which polls `parent` for this node's waiting frames.
    /// It ends in [`MacEvent::Polled`](crate::MacEvent). Returns `false`, without effect, while the
    /// MAC is not idle.
    pub fn request_data(&mut self, now: Instant, parent: Address) -> bool {
        if !self.is_idle() {
            return false;
        }
        let quick = Service {
            quick: true,
            ..Service::default()
        };
        self.kind = OutgoingFrame::Request;
        match self.frame_mut(parent).and_then(<[u8]>::first_mut) {
            Some(command) => *command = DATA_REQUEST,
            None => {
                self.kind = OutgoingFrame::Data;
                return false;
            }
        }
        count(&mut self.counters.data_requests);
        self.submit(now, 1, quick);
        true
    }

    /// Records whether frames wait for the neighbour with this short address; acknowledgments to
    /// its data requests then announce them. Returns `false` if frames already wait for
    /// [`PENDING_MAX`](crate::PENDING_MAX) others.
    pub fn set_pending(&mut self, neighbour: u16, pending: bool) -> bool {
        let noted = self.pending.set(neighbour, pending);
        if !self.config.caps.source_match {
            // The radio has no copy of the table: discard the changes meant for the copy.
            while self.pending.poll().is_some() {}
        }
        noted
    }

    /// Stops the service of a data frame that waits for an attempt, without an event, and returns
    /// its ticket. With the ticket, [`Self::submit`] continues the service later.
    pub fn preempt(&mut self, now: Instant) -> Option<Ticket> {
        let waits = matches!(
            self.progress,
            Progress::Spacing { .. }
                | Progress::Backoff { .. }
                | Progress::RetryDelay { .. }
                | Progress::Ready
        );
        if !waits || self.work.is_some() || self.kind != OutgoingFrame::Data {
            return None;
        }
        count(&mut self.counters.preempted);
        self.tell_cycle(now, CycleEvent::Preempted);
        self.progress = Progress::Idle;
        let begun = self.retry.attempts();
        Some(Ticket {
            dsn: self.frame_dsn,
            attempts: begun.saturating_sub(1),
        })
    }

    /// Returns the ticket of the frame whose service ended last. With the ticket the same frame can
    /// be retransmitted with a new count of attempts.
    pub fn last_ticket(&self) -> Ticket {
        Ticket {
            dsn: self.frame_dsn,
            attempts: 0,
        }
    }

    /// Returns whether a radio that sleeps between jobs sleeps through a delay between two
    /// attempts.
    pub(super) fn sleeps_for(&self, delay: Duration) -> bool {
        self.rest == Rest::Sleep && delay >= WORTH_SLEEP
    }

    pub(super) fn start_retry(&mut self, how: &Service) {
        let made = how.repeats.map_or(0, |ticket| ticket.attempts);
        self.retry = Retry::start(made, how.quick);
    }

    /// Returns whether a radio that should sleep still listens. The receiver is then turned off
    /// before the frame is loaded, because loading can take long.
    pub(super) fn listens_in_vain(&self) -> bool {
        self.rest == Rest::Sleep && self.told == RadioWork::Listen
    }

    /// Returns a change of the radio's state between jobs, or of its source-match table.
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

    /// Handles a neighbour's data request. Its acknowledgment announces whether frames wait, so
    /// this is determined before the acknowledgment is sent.
    pub(super) fn on_data_request(
        &mut self,
        now: Instant,
        header: &FrameHeader,
        acknowledge: bool,
        info: &RxInfo,
    ) {
        // IEEE 802.15.4-2015 §7.5.5: a data request goes to a coordinator, from a device that has
        // an address.
        if !asks_for_ack(header.dst) || matches!(header.src, Address::Short(0xfffe..)) {
            count(&mut self.counters.rx_malformed);
            return;
        }
        count(&mut self.counters.rx_data_requests);
        self.tell_cycle(now, CycleEvent::Frame { more: false });
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
