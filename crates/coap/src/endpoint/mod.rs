//! The endpoint: the order in which its parts handle a message.

mod client;
mod group;
mod input;
mod server;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use coap_lite::{MessageType, Packet};
use redpoll_base::{Instant, Rng};

use crate::assembly::Assemblies;
use crate::config::Config;
use crate::echo::Verified;
use crate::message::{MessageId, Peer, encode};
use crate::reliable::{Cargo, Overdue, Reliable};
use crate::representations::Representations;
use crate::request::{Incoming, Response};
use crate::rto::Estimators;
use crate::seen::Seen;

use client::Outgoing;
use group::Delayed;
use server::Served;

/// A request of this endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(u32);

/// A peer's request that needs an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IncomingId(u32);

/// An event for the application.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A request is answered.
    Response {
        /// The answered request.
        request: RequestId,
        /// The answer, which may be a refusal of the request.
        response: Response,
    },
    /// A request of this endpoint failed; no response to it will be reported.
    Failed {
        /// The failed request.
        request: RequestId,
        /// The reason.
        failure: Failure,
    },
    /// A request of a peer has arrived and waits for [`Endpoint::respond`].
    Request {
        /// Identifier of the request, an argument of [`Endpoint::respond`].
        id: IncomingId,
        /// Sender of the request.
        from: Peer,
        /// The request.
        request: Incoming,
    },
}

/// Why a request failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// All transmissions were unacknowledged, or no response arrived.
    Timeout,
    /// The peer rejected the message by a Reset (RFC 7252 §4.2).
    Reset,
    /// The response is larger than [`Config::max_body`].
    TooLarge,
    /// A response block is invalid or out of sequence, or is not part of the same body as the
    /// blocks before. Or the server answered the last block of the request with 2.31 (Continue).
    Inconsistent,
}

/// The endpoint already has [`Config::max_requests`] requests in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

impl core::fmt::Display for Busy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("too many requests are in progress")
    }
}

impl core::error::Error for Busy {}

/// The kind of message that an endpoint waits for. The kind determines a sleepy node's poll rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Expect {
    /// The application expects no message.
    Nothing,
    /// A response to a request.
    Data,
    /// The acknowledgement of a response that was sent in its own message.
    Ack,
}

/// Counters. They wrap at 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams queued for [`Endpoint::poll_datagram`].
    pub sent: u64,
    /// Retransmissions of confirmable messages; `sent` includes them.
    pub retransmissions: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams received that are malformed or unexpected.
    pub rejected: u64,
    /// Duplicates among the messages received.
    pub duplicates: u64,
    /// Confirmable messages given up.
    pub timeouts: u64,
    /// Datagrams dropped because the queue of datagrams to send was full, and answers to group
    /// requests dropped because [`Config::max_served`] answers were already waiting.
    pub queue_full: u64,
    /// Round-trip time of the last message that was acknowledged without a retransmission, in
    /// microseconds; 0 before the first one.
    pub last_rtt_us: u64,
    /// Number of messages acknowledged without a retransmission.
    pub rtt_samples: u64,
    /// Requests that were answered with an Echo option, to verify the address of their sender.
    pub challenges: u64,
}

/// Maximum number of datagrams that wait for [`Endpoint::poll_datagram`].
const QUEUE: usize = 64;

/// A CoAP endpoint at one UDP port; see the [crate](crate).
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    rng: Rng,
    next_id: MessageId,
    next_serial: u32,
    estimators: Estimators,
    reliable: Reliable,
    seen: Seen,
    verified: Verified,
    outgoing: Vec<Outgoing>,
    served: Vec<Served>,
    delayed: Vec<Delayed>,
    assemblies: Assemblies,
    representations: Representations,
    datagrams: VecDeque<(Peer, Vec<u8>)>,
    events: VecDeque<Event>,
    counters: Counters,
}

impl Endpoint {
    /// Returns an endpoint that draws its IDs, tokens and timeouts from `rng`.
    pub fn new(config: Config, mut rng: Rng) -> Endpoint {
        let lifetime = config.transmission.exchange_lifetime();
        Endpoint {
            verified: Verified::new(&rng),
            // RFC 7252 §4.4: "strongly recommended that the initial value of
            // the variable (e.g., on startup) be randomized".
            next_id: rng.next_u32() as u16,
            next_serial: 0,
            estimators: Estimators::new(config.rto, &config.transmission),
            reliable: Reliable::default(),
            seen: Seen::new(config.max_seen),
            outgoing: Vec::new(),
            served: Vec::new(),
            delayed: Vec::new(),
            assemblies: Assemblies::new(config.max_transfers, config.max_body, lifetime),
            representations: Representations::new(config.max_transfers, lifetime),
            datagrams: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
            config,
            rng,
        }
    }

    /// Returns the next datagram to send, and where to.
    pub fn poll_datagram(&mut self) -> Option<(Peer, Vec<u8>)> {
        self.datagrams.pop_front()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the time at which [`on_timeout`](Self::on_timeout) is to be called; `None` if it
    /// need not be called.
    pub fn poll_at(&self) -> Option<Instant> {
        let waits = self.outgoing.iter().filter_map(Outgoing::deadline);
        let answers = self.served.iter().filter_map(Served::alone_at);
        let held = self.next_unheld();
        let delayed = self.delayed.iter().map(Delayed::at);
        let all = waits.chain(answers).chain(held).chain(delayed);
        all.chain(self.reliable.poll_at()).min()
    }

    /// Handles timeouts: retransmits or gives up messages, sends due acknowledgements and answers
    /// to groups, fails requests without a response, and starts waiting requests.
    pub fn on_timeout(&mut self, now: Instant) {
        let most = self.config.transmission.max_retransmit;
        while let Some(overdue) = self.reliable.overdue(now, most, &self.estimators) {
            match overdue {
                Overdue::Again(peer, datagram) => {
                    self.counters.retransmissions += 1;
                    self.send(peer, datagram);
                }
                Overdue::GivenUp(pending) => {
                    self.counters.timeouts += 1;
                    if let Cargo::Request(serial) = pending.cargo {
                        self.fail(serial, Failure::Timeout);
                    }
                }
            }
        }
        self.acknowledge_alone(now);
        self.answer_groups(now);
        self.end_of_patience(now);
        self.start_waiting(now);
    }

    /// Returns the expected traffic.
    pub fn expects(&self) -> Expect {
        let waits = |outgoing: &Outgoing| outgoing.is_under_way();
        if self.outgoing.iter().any(waits) {
            Expect::Data
        } else if self.reliable.iter().next().is_some() {
            Expect::Ack
        } else {
            Expect::Nothing
        }
    }

    /// Returns the time at which the oldest message without an answer was first sent; `None` if the
    /// endpoint waits for no answer.
    pub fn expects_since(&self) -> Option<Instant> {
        let requests = self.outgoing.iter().filter_map(Outgoing::sent_at);
        let messages = self.reliable.iter().map(|pending| pending.first_sent);
        requests.chain(messages).min()
    }

    /// Returns the counters, which begin at 0 with [`Endpoint::new`].
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn take_id(&mut self) -> MessageId {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        id
    }

    fn take_serial(&mut self) -> u32 {
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        serial
    }

    fn send(&mut self, to: Peer, datagram: Vec<u8>) {
        if self.datagrams.len() >= QUEUE {
            self.counters.queue_full += 1;
            return;
        }
        self.counters.sent += 1;
        self.datagrams.push_back((to, datagram));
    }

    /// Sends a message under a new ID, repeatedly if it is confirmable, and returns the ID.
    fn send_message(
        &mut self,
        now: Instant,
        to: Peer,
        mut packet: Packet,
        confirmable: bool,
        cargo: Cargo,
    ) -> MessageId {
        let id = self.take_id();
        packet.header.message_id = id;
        packet.header.set_type(if confirmable {
            MessageType::Confirmable
        } else {
            MessageType::NonConfirmable
        });
        let datagram = encode(&packet);
        if let Cargo::Request(_) = cargo {
            self.estimators
                .on_message(now, to, confirmable, datagram.len());
        }
        if confirmable {
            let running = self.reliable.to(to).count();
            let timeout = self.estimators.first(now, to, running, &mut self.rng);
            self.reliable
                .keep(now, (to, id), cargo, datagram.clone(), timeout);
        }
        self.send(to, datagram);
        id
    }
}
