//! Requests to a group of servers (RFC 7252 §8).

use coap_lite::{MessageType, Packet};
use redpoll_base::{Duration, Instant};

use super::Endpoint;
use crate::message::{Class, Peer, decode};
use crate::reliable::Cargo;

/// An answer that waits for a random time, so that servers of a group do not answer simultaneously.
#[derive(Debug)]
pub(super) struct Delayed {
    at: Instant,
    to: Peer,
    packet: Packet,
}

impl Delayed {
    pub(super) fn at(&self) -> Instant {
        self.at
    }
}

impl Endpoint {
    /// Handles a received datagram whose destination is a multicast address. Only a
    /// non-confirmable request is valid (RFC 7252 §8.1), and nothing else gets an answer. The
    /// response is sent after a random time within [`Config::leisure`](crate::Config::leisure), and
    /// not at all if it is an error.
    pub fn input_to_group(&mut self, now: Instant, from: Peer, datagram: &[u8]) {
        self.counters.received += 1;
        let request = decode(datagram).ok().filter(|(packet, class)| {
            *class == Class::Request && packet.header.get_type() == MessageType::NonConfirmable
        });
        let Some((packet, _)) = request else {
            self.counters.rejected += 1;
            return;
        };
        if !self.is_duplicate(now, from, packet.header.message_id, false) {
            self.on_request(now, from, packet, true);
        }
    }

    /// Delays a response. Responses beyond [`Config::max_served`](crate::Config::max_served) are
    /// dropped.
    pub(super) fn delay(&mut self, now: Instant, to: Peer, packet: Packet) {
        if self.delayed.len() >= self.config.max_served {
            self.counters.queue_full += 1;
            return;
        }
        let leisure = self.config.leisure.as_micros();
        let delay = self.rng.below_u64(leisure.saturating_add(1));
        let at = now + Duration::from_micros(delay);
        self.delayed.push(Delayed { at, to, packet });
    }

    pub(super) fn answer_groups(&mut self, now: Instant) {
        let is_due = |delayed: &Delayed| delayed.at <= now;
        while let Some(index) = self.delayed.iter().position(is_due) {
            let Delayed { to, packet, .. } = self.delayed.swap_remove(index);
            self.send_message(now, to, packet, false, Cargo::Response);
        }
    }
}
