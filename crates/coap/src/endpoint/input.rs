//! Received messages: acknowledgements and resets, duplicates, requests and responses (RFC 7252
//! §4.2 to §4.5).

use alloc::vec::Vec;
use coap_lite::{MessageType, Packet};
use redpoll_base::Instant;

use super::{Endpoint, Failure};
use crate::message::{Class, MessageId, Peer, Unfit, decode, empty};
use crate::options;
use crate::reliable::{Cargo, Pending};
use crate::seen::Receipt;

impl Endpoint {
    /// Handles a received datagram; arbitrary bytes are safe.
    pub fn input(&mut self, now: Instant, from: Peer, datagram: &[u8]) {
        self.counters.received += 1;
        let (packet, class) = match decode(datagram) {
            Ok(message) => message,
            Err(unfit) => {
                self.counters.rejected += 1;
                if let Unfit::Reset(id) = unfit {
                    self.send(from, empty(MessageType::Reset, id));
                }
                return;
            }
        };
        let id = packet.header.message_id;
        match (packet.header.get_type(), class) {
            (MessageType::Acknowledgement, Class::Empty) => self.on_ack(now, from, id),
            (MessageType::Acknowledgement, _) => self.on_piggybacked(now, from, packet),
            (MessageType::Reset, _) => self.on_reset(from, id),
            (kind, class) => {
                let confirmable = kind == MessageType::Confirmable;
                if self.is_duplicate(now, from, id, confirmable) {
                    return;
                }
                if class == Class::Request {
                    self.on_request(now, from, packet, false);
                } else {
                    self.on_separate(now, from, packet, confirmable);
                }
            }
        }
        self.start_waiting(now);
    }

    /// Returns whether a message is a duplicate; if so, repeats the stored answer (RFC 7252 §4.5).
    pub(super) fn is_duplicate(
        &mut self,
        now: Instant,
        from: Peer,
        id: MessageId,
        confirmable: bool,
    ) -> bool {
        let lifetime = if confirmable {
            self.config.transmission.exchange_lifetime()
        } else {
            self.config.transmission.non_lifetime()
        };
        let Receipt::Duplicate(answer) = self.seen.judge(now, from, id, lifetime) else {
            return false;
        };
        self.counters.duplicates += 1;
        if confirmable && !answer.is_empty() {
            self.send(from, answer);
        }
        true
    }

    /// Sends an answer to a confirmable message, and stores it for duplicates of the message.
    pub(super) fn answer(&mut self, to: Peer, id: MessageId, datagram: Vec<u8>) {
        self.seen.answered(to, id, &datagram);
        self.send(to, datagram);
    }

    /// RFC 7252 §4.2 and §4.3: a confirmable message is rejected by a Reset, any other silently.
    pub(super) fn reject(&mut self, from: Peer, id: MessageId, confirmable: bool) {
        self.counters.rejected += 1;
        if confirmable {
            self.answer(from, id, empty(MessageType::Reset, id));
        }
    }

    fn on_ack(&mut self, now: Instant, from: Peer, id: MessageId) {
        let Some(pending) = self.reliable.take(from, id) else {
            // RFC 7252 §4.2: acknowledgements are never answered.
            self.counters.rejected += 1;
            return;
        };
        self.learn(now, &pending);
        if let Cargo::Request(serial) = pending.cargo {
            self.on_request_acknowledged(now, serial);
        }
    }

    /// Handles a piggybacked response, whose ID and token must match (RFC 7252 §5.2.1, §5.3.2).
    fn on_piggybacked(&mut self, now: Instant, from: Peer, mut packet: Packet) {
        let id = packet.header.message_id;
        let cargo = self.reliable.find(from, id).map(|pending| pending.cargo);
        let is_ours = match cargo {
            // RFC 7252 §5.2.2: any matching Acknowledgement ends the retransmission of a separate
            // response, "silently ignoring any Response Code or payload" in the Acknowledgement.
            Some(Cargo::Response) => return self.on_ack(now, from, id),
            Some(Cargo::Request(serial)) => self.has_token(serial, packet.get_token()),
            None => false,
        };
        // RFC 7252 §5.4.1: a response with a critical option that is not understood is rejected,
        // here silently.
        if !is_ours || options::check(&mut packet).is_err() {
            self.counters.rejected += 1;
            return;
        }
        if let Some(pending) = self.reliable.take(from, id) {
            self.learn(now, &pending);
            if let Cargo::Request(serial) = pending.cargo {
                self.on_response(now, serial, &packet);
            }
        }
    }

    /// Handles a response in a separate message (RFC 7252 §5.2.2, §5.2.3).
    fn on_separate(&mut self, now: Instant, from: Peer, mut packet: Packet, confirmable: bool) {
        let id = packet.header.message_id;
        let serial = self.with_token(from, packet.get_token());
        let is_fit = options::check(&mut packet).is_ok();
        let Some(serial) = serial.filter(|_| is_fit) else {
            return self.reject(from, id, confirmable);
        };
        if confirmable {
            self.answer(from, id, empty(MessageType::Acknowledgement, id));
        }
        // RFC 7252 §5.2.2: if the response arrives before the acknowledgement of the request,
        // "this also serves as an acknowledgement".
        if let Some(pending) = self.reliable.take_cargo(Cargo::Request(serial)) {
            self.learn(now, &pending);
        }
        self.on_response(now, serial, &packet);
    }

    fn on_reset(&mut self, from: Peer, id: MessageId) {
        if let Some(pending) = self.reliable.take(from, id) {
            if let Cargo::Request(serial) = pending.cargo {
                self.fail(serial, Failure::Reset);
            }
        } else if let Some(serial) = self.unreliable(from, id) {
            self.fail(serial, Failure::Reset);
        } else {
            self.counters.rejected += 1;
        }
    }

    fn learn(&mut self, now: Instant, pending: &Pending) {
        let rtt = now.since(pending.first_sent);
        if pending.retransmissions == 0 {
            self.counters.last_rtt_us = rtt.as_micros();
            self.counters.rtt_samples += 1;
        }
        self.estimators
            .on_answer(now, pending.peer, rtt, pending.retransmissions);
    }
}
