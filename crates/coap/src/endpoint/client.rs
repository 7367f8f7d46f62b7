//! Requests of this endpoint, at most NSTART unanswered at a time (RFC 7252 §4.7, §5.3).

use redpoll_base::Instant;

use super::{Busy, Endpoint, Event, Failure, RequestId};
use crate::config::Config;
use crate::message::{MessageId, Peer};
use crate::reliable::Cargo;
use crate::request::Request;
use crate::transfer::{Breach, Step, Transfer};

/// RFC 7252 §5.3.1: "at least 32 bits of randomness".
type Token = [u8; 4];

#[derive(Debug)]
pub(super) struct Outgoing {
    serial: u32,
    to: Peer,
    transfer: Transfer,
    state: State,
    /// Whether CoCoA made the request confirmable. Such a request ends without an event.
    silent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The request waits for its turn.
    Waiting,
    Sent {
        id: MessageId,
        token: Token,
        at: Instant,
        /// Time until which the client waits for a response; `None` before a confirmable message is
        /// acknowledged, because its last timeout then ends the wait.
        until: Option<Instant>,
    },
}

impl Outgoing {
    pub(super) fn is_under_way(&self) -> bool {
        self.state != State::Waiting
    }

    pub(super) fn sent_at(&self) -> Option<Instant> {
        match self.state {
            State::Sent { at, .. } => Some(at),
            State::Waiting => None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Sent { until, .. } => until,
            State::Waiting => None,
        }
    }

    /// Returns whether the request is neither confirmable nor wants a response, so that it begins
    /// no exchange.
    fn is_alone(&self) -> bool {
        let request = self.transfer.request();
        !request.confirmable && !request.wants_response
    }

    fn has_token(&self, token: &[u8]) -> bool {
        matches!(&self.state, State::Sent { token: ours, .. } if ours == token)
    }
}

impl Endpoint {
    /// Sends `request` to `to`, as soon as NSTART allows (RFC 7252 §4.7).
    ///
    /// [`Event::Response`] or [`Event::Failed`] ends the request; for a request that is neither
    /// confirmable nor wants a response there is no event.
    ///
    /// # Errors
    /// [`Busy`], if there are too many requests already.
    pub fn request(&mut self, now: Instant, to: Peer, request: Request) -> Result<RequestId, Busy> {
        if self.outgoing.len() >= self.config.max_requests {
            return Err(Busy);
        }
        let serial = self.take_serial();
        let Config {
            block,
            negotiates_early,
            max_body,
            ..
        } = self.config;
        self.outgoing.push(Outgoing {
            serial,
            to,
            transfer: Transfer::new(request, block, negotiates_early, max_body),
            state: State::Waiting,
            silent: false,
        });
        self.start_waiting(now);
        Ok(RequestId(serial))
    }

    /// Cancels a request: there is no event for it, and a later response is rejected.
    pub fn cancel(&mut self, now: Instant, request: RequestId) {
        self.reliable.take_cargo(Cargo::Request(request.0));
        self.outgoing
            .retain(|outgoing| outgoing.serial != request.0);
        self.start_waiting(now);
    }

    /// Returns the number of retransmissions of the current message of a request; 0 if the request
    /// has ended or waits for its turn.
    pub fn repeats(&self, request: RequestId) -> u8 {
        let cargo = Cargo::Request(request.0);
        let pending = self.reliable.iter().find(|pending| pending.cargo == cargo);
        pending.map_or(0, |pending| pending.retransmissions)
    }

    /// Returns the number of requests that are in progress or wait for their turn.
    pub fn requests_open(&self) -> usize {
        self.outgoing.len()
    }

    /// RFC 7252 §4.7: sends the waiting requests that may be sent now.
    pub(super) fn start_waiting(&mut self, now: Instant) {
        while let Some(index) = self.next_to_start(now) {
            self.start(now, index);
        }
    }

    fn next_to_start(&self, now: Instant) -> Option<usize> {
        self.outgoing.iter().position(|outgoing| {
            self.has_turn(outgoing) && self.held_until(outgoing).is_none_or(|at| at <= now)
        })
    }

    fn has_turn(&self, outgoing: &Outgoing) -> bool {
        let nstart = self.config.transmission.nstart.max(1);
        let is_to_same = |other: &&Outgoing| other.to == outgoing.to && other.is_under_way();
        !outgoing.is_under_way() && self.outgoing.iter().filter(is_to_same).count() < nstart
    }

    /// Returns the time until which the rate limit delays the request; `None` if it does not.
    fn held_until(&self, outgoing: &Outgoing) -> Option<Instant> {
        match outgoing.is_alone() {
            true => self.estimators.not_before(outgoing.to),
            false => None,
        }
    }

    /// Returns the earliest time at which a request that the rate limit delays may be sent.
    pub(super) fn next_unheld(&self) -> Option<Instant> {
        let waiting = self
            .outgoing
            .iter()
            .filter(|outgoing| self.has_turn(outgoing));
        waiting
            .filter_map(|outgoing| self.held_until(outgoing))
            .min()
    }

    fn start(&mut self, now: Instant, index: usize) {
        let token: Token = self.rng.next_u32().to_be_bytes();
        let Some(outgoing) = self.outgoing.get(index) else {
            return;
        };
        let Outgoing { serial, to, .. } = *outgoing;
        let silent = outgoing.is_alone() && self.estimators.must_confirm(to);
        let is_over = outgoing.is_alone() && !silent;
        let confirmable = silent || outgoing.transfer.request().confirmable;
        let mut packet = outgoing.transfer.packet();
        packet.set_token(token.to_vec());
        let id = self.send_message(now, to, packet, confirmable, Cargo::Request(serial));
        if is_over {
            self.outgoing.remove(index);
            return;
        }
        if let Some(outgoing) = self.outgoing.get_mut(index) {
            let until = (!confirmable).then(|| now + self.config.patience);
            outgoing.state = State::Sent {
                id,
                token,
                at: now,
                until,
            };
            outgoing.silent = silent;
        }
    }

    pub(super) fn has_token(&self, serial: u32, token: &[u8]) -> bool {
        let outgoing = self.outgoing.iter().find(|other| other.serial == serial);
        outgoing.is_some_and(|outgoing| outgoing.has_token(token))
    }

    /// Returns the serial number of the request to `peer` with this token (RFC 7252 §5.3.2).
    pub(super) fn with_token(&self, peer: Peer, token: &[u8]) -> Option<u32> {
        let is_it = |outgoing: &&Outgoing| outgoing.to == peer && outgoing.has_token(token);
        self.outgoing
            .iter()
            .find(is_it)
            .map(|outgoing| outgoing.serial)
    }

    pub(super) fn unreliable(&self, peer: Peer, id: MessageId) -> Option<u32> {
        let is_it = |outgoing: &&Outgoing| {
            outgoing.to == peer
                && matches!(outgoing.state, State::Sent { id: ours, .. } if ours == id)
        };
        self.outgoing
            .iter()
            .find(is_it)
            .map(|outgoing| outgoing.serial)
    }

    /// Processes the acknowledgement of a request whose response arrives in a separate message (RFC
    /// 7252 §5.2.2): limits the wait for the response. A request that only CoCoA made confirmable
    /// ends.
    pub(super) fn on_request_acknowledged(&mut self, now: Instant, serial: u32) {
        let Some(outgoing) = self.outgoing.iter_mut().find(|o| o.serial == serial) else {
            return;
        };
        if outgoing.silent {
            self.outgoing.retain(|outgoing| outgoing.serial != serial);
            return;
        }
        if let State::Sent { until, .. } = &mut outgoing.state {
            *until = Some(now + self.config.patience);
        }
    }

    pub(super) fn on_response(&mut self, now: Instant, serial: u32, packet: &coap_lite::Packet) {
        let Some(index) = self.outgoing.iter().position(|o| o.serial == serial) else {
            return;
        };
        let Some(outgoing) = self.outgoing.get_mut(index) else {
            return;
        };
        if outgoing.silent {
            self.outgoing.remove(index);
            return;
        }
        let request = RequestId(serial);
        match outgoing.transfer.on_response(packet) {
            Step::Next => {
                outgoing.state = State::Waiting;
                self.start(now, index);
            }
            Step::Done(response) => {
                self.outgoing.remove(index);
                self.events.push_back(Event::Response { request, response });
            }
            Step::Broken(breach) => self.fail(
                serial,
                match breach {
                    Breach::TooLarge => Failure::TooLarge,
                    Breach::Inconsistent => Failure::Inconsistent,
                },
            ),
        }
    }

    pub(super) fn fail(&mut self, serial: u32, failure: Failure) {
        let index = self.outgoing.iter().position(|o| o.serial == serial);
        let failed = index.map(|index| self.outgoing.remove(index));
        if failed.is_some_and(|outgoing| !outgoing.silent) {
            let request = RequestId(serial);
            self.events.push_back(Event::Failed { request, failure });
        }
    }

    /// Fails the requests whose response has not arrived in time.
    pub(super) fn end_of_patience(&mut self, now: Instant) {
        let is_over = |outgoing: &&Outgoing| outgoing.deadline().is_some_and(|at| at <= now);
        while let Some(serial) = self.outgoing.iter().find(is_over).map(|o| o.serial) {
            self.fail(serial, Failure::Timeout);
        }
    }
}
