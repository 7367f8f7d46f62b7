//! State of nodes and their connections at one instant.

use redpoll_base::{Duration, Instant};
use redpoll_tcp::{Endpoint, Retransmissions};

use crate::air::{MessageType, Outcome};
use crate::oracle::{End, FlowSample};
use crate::radio::State;
use crate::world::World;

/// State of a world at one instant.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sample {
    pub at: Instant,
    pub nodes: Vec<NodeSample>,
    /// Connections of Redpoll's TCP, in the order of their nodes.
    pub connections: Vec<ConnectionSample>,
    /// Flows, in the order of [`World::flows`].
    pub flows: Vec<FlowSample>,
    /// Air time of all nodes since the beginning by type of message. The order of types is fixed.
    pub air_times: Vec<(&'static str, Duration)>,
}

/// State of a node. Counters start at the beginning of the run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NodeSample {
    pub radio: State,
    pub position_m: (f64, f64),
    /// Index of the node's next hop towards the root.
    pub parent: Option<u32>,
    /// Datagram slots in use.
    pub queued: u16,
    /// Time of the node's radio in each [`State`], in the order of `State::ALL`.
    pub spent: [Duration; State::ALL.len()],
    /// Share of time in which the radio was not asleep or, with a duty-cycled MAC, was on.
    pub duty_cycle: f64,
    /// Charge of radio and processor, in millicoulombs.
    pub charge_mc: f64,
    pub sent: u32,
    pub retries: u32,
    pub collisions: u32,
}

impl NodeSample {
    pub fn spent(&self, state: State) -> Duration {
        self.spent[state as usize]
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionSample {
    pub node: u32,
    pub local: Endpoint,
    /// Address and port of the other end.
    pub remote: Endpoint,
    /// Name of the connection's state (RFC 9293 §3.3.2).
    pub state: String,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow start threshold in bytes.
    pub ssthresh: u32,
    pub rto_ms: f64,
    /// Latest round-trip time, in milliseconds.
    pub rtt_ms: f64,
    pub rtt_samples: u32,
    /// Smoothed round-trip time in milliseconds; `None` before the first measurement.
    pub srtt_ms: Option<f64>,
    /// Bytes in the network (RFC 9937 §6.2).
    pub in_flight: u32,
    /// Bytes from the application that the peer has not acknowledged.
    pub unacked: u32,
    pub acked: u32,
    /// Payload bytes received in order.
    pub received: u32,
    pub retransmissions: Retransmissions,
    /// The connection's flow, by its index in [`Sample::flows`], and this end of the flow.
    pub flow: Option<(u32, End)>,
}

impl World {
    /// Returns the present state. The cost of a call grows with the number of nodes.
    pub fn live_sample(&self) -> Sample {
        let nodes = 0..self.scenario().nodes.len();
        Sample {
            at: self.now(),
            nodes: nodes.map(|index| self.sample_node(index)).collect(),
            connections: self.sample_connections(),
            flows: self.oracle().samples().collect(),
            air_times: self.sample_air_times(),
        }
    }

    fn sample_node(&self, index: usize) -> NodeSample {
        let (node, now) = (self.node(index), self.now());
        let scenario = self.scenario();
        let station = &self.air().stations()[index];
        let mac = node.map(|node| *node.mac().counters()).unwrap_or_default();
        let slots = usize::from(scenario.lowpan.slots);
        let free = node.map_or(slots, |node| node.lowpan().free_slots());
        let lost = self.air().ledger().lost_at(index);
        NodeSample {
            radio: station.state(),
            position_m: scenario.nodes[index].position_m,
            parent: self.parent_of(index).map(|parent| parent as u32),
            queued: slots.saturating_sub(free) as u16,
            spent: State::ALL.map(|state| station.times.in_state(now, state)),
            duty_cycle: self.duty_cycle(index),
            charge_mc: self.energy_of(index).charge_mc,
            sent: mac.frames_sent,
            retries: mac.frame_retries,
            collisions: lost[Outcome::Collision as usize],
        }
    }

    fn sample_air_times(&self) -> Vec<(&'static str, Duration)> {
        let times = self.air().air_times(self.now());
        let all = MessageType::ALL.iter();
        all.map(|message| (message.title(), times.of(*message).1))
            .collect()
    }

    fn sample_connections(&self) -> Vec<ConnectionSample> {
        let mut connections = Vec::new();
        for (index, native) in self.natives() {
            for (id, conn) in native.node.tcp_connections() {
                let (stats, info) = (conn.stats(), conn.info());
                let watch = native.watches.iter().find(|watch| watch.conn == id);
                connections.push(ConnectionSample {
                    node: index as u32,
                    local: conn.local(),
                    remote: conn.remote(),
                    state: format!("{:?}", conn.state()),
                    cwnd: info.cwnd,
                    ssthresh: info.ssthresh,
                    rto_ms: info.rto.as_micros() as f64 / 1e3,
                    rtt_ms: stats.last_rtt.as_micros() as f64 / 1e3,
                    rtt_samples: stats.rtt_samples,
                    srtt_ms: info.srtt.map(|srtt| srtt.as_micros() as f64 / 1e3),
                    in_flight: info.in_flight,
                    unacked: u32::try_from(conn.unacked()).unwrap_or(u32::MAX),
                    acked: stats.bytes_acked,
                    received: stats.bytes_received,
                    retransmissions: stats.retransmissions,
                    flow: watch.map(|watch| (watch.source.flow.index(), watch.source.end)),
                });
            }
        }
        connections
    }
}
