//! An exchange over MRP (4.11): each message is retransmitted until it is acknowledged. An
//! acknowledgment leaves with the next message, or in a datagram of its own.

use redpoll_base::{Duration, Instant, Rng};

use super::Config;
use super::message::{Body, Datagram, Message};

/// MRP_MAX_TRANSMISSIONS (4.11.8).
const MAX_TRANSMISSIONS: u8 = 5;
/// MRP_BACKOFF_THRESHOLD: number of repetitions before the backoff grows.
const BACKOFF_THRESHOLD: u8 = 1;
/// MRP_STANDALONE_ACK_TIMEOUT.
const STANDALONE_ACK: Duration = Duration::from_millis(200);
/// SESSION_ACTIVE_THRESHOLD: time for which a node counts as active (4.12.1).
const ACTIVE_THRESHOLD: Duration = Duration::from_millis(4_000);

#[derive(Clone, Debug)]
struct Pending {
    counter: u32,
    datagram: Datagram,
    due: Instant,
    transmissions: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard<'a> {
    /// The message has no new content: it belongs to another exchange, is a duplicate, or is only
    /// an acknowledgment.
    Nothing,
    New(Body<'a>),
}

#[derive(Clone, Debug)]
pub(super) struct Exchange {
    config: Config,
    rng: Rng,
    id: u16,
    is_initiator: bool,
    next_counter: u32,
    pending: Option<Pending>,
    /// A message of the other end that must be acknowledged, and the time at which an
    /// acknowledgment without data is sent for it.
    owed: Option<(u32, Instant)>,
    /// Counter of the last new message. Each end waits for the answer of the other end, so a
    /// message never arrives before an older one of the same exchange.
    seen: Option<u32>,
    heard: Option<Instant>,
    /// Datagrams to be sent now.
    out: [Option<Datagram>; 2],
    /// Whether a message was sent five times without an acknowledgment.
    has_failed: bool,
    pub(super) repeats: u32,
}

impl Exchange {
    pub(super) fn new(config: Config, mut rng: Rng, id: u16, is_initiator: bool) -> Exchange {
        Exchange {
            config,
            id,
            is_initiator,
            next_counter: rng.next_u32() >> 4,
            rng,
            pending: None,
            owed: None,
            seen: None,
            heard: None,
            out: [None, None],
            has_failed: false,
            repeats: 0,
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) fn id(&self) -> u16 {
        self.id
    }

    /// 4.11.2.1: t = i * MARGIN * BASE^max(0, n - THRESHOLD) * (1 + random * JITTER), with
    /// MARGIN 1.1, BASE 1.6, JITTER 0.25.
    fn timeout(&mut self, now: Instant, repeats: u8) -> Duration {
        let is_active = self
            .heard
            .is_some_and(|at| now.since(at) < ACTIVE_THRESHOLD);
        let interval = match is_active {
            true => self.config.active_interval,
            false => self.config.idle_interval.max(self.config.active_interval),
        };
        let mut timeout = interval.times(11).divided_by(10);
        for _ in BACKOFF_THRESHOLD..repeats {
            timeout = timeout.times(16).divided_by(10);
        }
        let jitter = timeout.divided_by(4).as_micros();
        timeout.plus(Duration::from_micros(self.rng.below_u64(jitter + 1)))
    }

    /// Sends a message that requires an acknowledgment and acknowledges the last received message.
    pub(super) fn send(&mut self, now: Instant, body: Body<'_>) {
        let counter = self.next_counter;
        let datagram = self.message(body, true);
        let due = now + self.timeout(now, 0);
        self.pending = Some(Pending {
            counter,
            datagram: datagram.clone(),
            due,
            transmissions: 1,
        });
        self.put(datagram);
    }

    fn message(&mut self, body: Body<'_>, is_reliable: bool) -> Datagram {
        let counter = self.next_counter;
        self.next_counter = counter.wrapping_add(1);
        let message = Message {
            counter,
            exchange: self.id,
            from_initiator: self.is_initiator,
            is_reliable,
            acknowledges: self.owed.take().map(|(counter, _)| counter),
            body,
        };
        message.write()
    }

    fn put(&mut self, datagram: Datagram) {
        // At most two datagrams wait: an acknowledgment without a message, and a message.
        if let Some(place) = self.out.iter_mut().find(|place| place.is_none()) {
            *place = Some(datagram);
        }
    }

    pub(super) fn poll_datagram(&mut self, out: &mut [u8]) -> Option<usize> {
        let datagram = self.out[0].take()?;
        self.out.swap(0, 1);
        let bytes = datagram.as_slice();
        out.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(bytes.len())
    }

    pub(super) fn input<'a>(&mut self, now: Instant, message: &Message<'a>) -> Heard<'a> {
        if message.exchange != self.id || message.from_initiator == self.is_initiator {
            return Heard::Nothing;
        }
        self.heard = Some(now);
        let acknowledged = message.acknowledges;
        self.pending
            .take_if(|pending| acknowledged == Some(pending.counter));
        let is_new = self
            .seen
            .is_none_or(|seen| message.counter.wrapping_sub(seen) as i32 > 0);
        if message.is_reliable {
            self.owed = Some((message.counter, now + STANDALONE_ACK));
            if !is_new {
                // 4.11.5.2.2: a duplicate is acknowledged at once.
                self.acknowledge_alone();
            }
        }
        if !is_new || message.body == Body::Ack {
            return Heard::Nothing;
        }
        self.seen = Some(message.counter);
        Heard::New(message.body)
    }

    fn acknowledge_alone(&mut self) {
        let datagram = self.message(Body::Ack, false);
        self.put(datagram);
    }

    pub(super) fn poll_at(&self) -> Option<Instant> {
        let due = self.pending.as_ref().map(|pending| pending.due);
        due.into_iter().chain(self.owed.map(|(_, at)| at)).min()
    }

    /// Acknowledges without data, retransmits the pending message, or gives the exchange up.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if self.owed.is_some_and(|(_, at)| at <= now) {
            self.acknowledge_alone();
        }
        let Some(mut pending) = self.pending.take_if(|pending| pending.due <= now) else {
            return;
        };
        if pending.transmissions >= MAX_TRANSMISSIONS {
            self.has_failed = true;
            return;
        }
        let repeats = pending.transmissions;
        pending.due = now + self.timeout(now, repeats);
        pending.transmissions += 1;
        self.repeats += 1;
        self.put(pending.datagram.clone());
        self.pending = Some(pending);
    }
}
