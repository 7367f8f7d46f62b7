//! Receiver of datagrams with readings.

use redpoll_base::Instant;
use redpoll_stack::{NodeEvent, UdpId};
use redpoll_tcp::Endpoint;

use crate::traffic::peers::{Pair, Peers};
use crate::traffic::{App, Context};

/// Reports to the oracle the readings of all sensors that send to this port.
pub(in crate::traffic) struct DatagramSink {
    port: u16,
    peers: Peers,
    socket: Option<UdpId>,
}

impl DatagramSink {
    pub(in crate::traffic) fn new(port: u16, peers: Peers) -> DatagramSink {
        DatagramSink {
            port,
            peers,
            socket: None,
        }
    }
}

impl App for DatagramSink {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.socket = cx.node.udp_bind(self.port).ok();
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let NodeEvent::UdpReadable(socket) = event else {
            return;
        };
        if Some(*socket) != self.socket {
            return;
        }
        let local = Endpoint {
            addr: cx.node.address(),
            port: self.port,
        };
        let mut datagram = [0; 1_280];
        while let Some((len, sender)) = cx.node.udp_recv(*socket, &mut datagram) {
            if let Some(flow) = self.peers.flow(&Pair::new(sender, local), None) {
                cx.oracle
                    .readings_received(flow, cx.world_time, &datagram[..len]);
            }
        }
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }
}
