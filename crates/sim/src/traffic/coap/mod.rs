//! CoAP on a node: a UDP socket, and the endpoint that uses it.

mod server;

use redpoll_base::Instant;
use redpoll_coap::{Config, Endpoint, Event, Expect, Peer};
use redpoll_stack::{Error, NodeEvent, UdpId};
use redpoll_tcp::Endpoint as Socket;

use super::Context;
use crate::oracle::FlowId;

pub(super) use server::Server;

/// Path to which sensors post their readings.
pub(super) const READINGS: &str = "readings";

pub(super) struct Port {
    pub(super) endpoint: Endpoint,
    socket: Option<UdpId>,
    expects_requests: bool,
    /// Whether this application's latest call made the node expect packets.
    expected: bool,
    /// Number of messages for which the node had no room; CoAP retransmits the confirmable ones.
    no_room: u64,
}

impl Port {
    pub(super) fn new(config: Config, rng: redpoll_base::Rng) -> Port {
        Port {
            endpoint: Endpoint::new(config, rng),
            socket: None,
            expects_requests: false,
            expected: false,
            no_room: 0,
        }
    }

    pub(super) fn open(&mut self, cx: &mut Context<'_>, port: u16) -> Result<(), Error> {
        self.socket = Some(cx.node.udp_bind(port)?);
        Ok(())
    }

    /// Reads the datagrams that `event` reports. Returns whether it reports any.
    pub(super) fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) -> bool {
        let NodeEvent::UdpReadable(socket) = event else {
            return false;
        };
        if Some(*socket) != self.socket {
            return false;
        }
        let mut datagram = [0; 1_280];
        loop {
            let is_for_group = cx.node.udp_is_for_group(*socket);
            let Some((len, from)) = cx.node.udp_recv(*socket, &mut datagram) else {
                return true;
            };
            let datagram = &datagram[..len];
            match is_for_group {
                true => self.endpoint.input_to_group(cx.now, peer(from), datagram),
                false => self.endpoint.input(cx.now, peer(from), datagram),
            }
            cx.labour.message_in(len);
        }
    }

    pub(super) fn expect_requests(&mut self, expected: bool) {
        self.expects_requests = expected;
    }

    pub(super) fn on_timer(&mut self, cx: &mut Context<'_>) {
        if self.next_timer().is_some_and(|at| at <= cx.now) {
            self.endpoint.on_timeout(cx.now);
        }
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.endpoint.poll_at()
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Option<Event> {
        while let (Some(socket), Some((to, datagram))) =
            (self.socket, self.endpoint.poll_datagram())
        {
            let to = Socket {
                addr: to.addr,
                port: to.port,
            };
            cx.labour.message_out(datagram.len());
            if cx.node.udp_send(cx.now, socket, to, &datagram).is_err() {
                self.no_room += 1;
            }
        }
        let event = self.endpoint.poll_event();
        // A sleepy node polls its parent more often while an answer is expected.
        let expects = self.expects_requests || self.endpoint.expects() != Expect::Nothing;
        if expects != self.expected {
            self.expected = expects;
            cx.node.expect_packets(expects);
        }
        event
    }

    /// Reports the counters to the oracle; `samples` counts the round-trip times reported so far.
    pub(super) fn report_counters(&self, cx: &mut Context<'_>, flow: FlowId, samples: &mut u64) {
        let counters = self.endpoint.counters();
        let is_new = counters.rtt_samples > *samples;
        *samples = counters.rtt_samples;
        let rtt = is_new.then_some(counters.last_rtt_us);
        cx.oracle
            .messages_sent(flow, counters.sent, counters.retransmissions, rtt);
    }

    pub(super) fn losses(&self) -> Vec<(&'static str, u64)> {
        vec![("coap_message_without_slot", self.no_room)]
    }
}

pub(super) fn peer(socket: Socket) -> Peer {
    Peer {
        addr: socket.addr,
        port: socket.port,
    }
}
