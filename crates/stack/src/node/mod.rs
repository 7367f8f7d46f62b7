//! [`Node`]: the layers, and how they are driven.
//!
//! - `mod.rs`: birth, time, events, routes;
//! - `link.rs`: the radio side;
//! - `ip.rs`: packets on their way: forwarding, the host side;
//! - `paths.rs`: where a packet goes next;
//! - `attach.rs`: a sleepy node's parent, and routes to it;
//! - `discovery.rs`: neighbour discovery;
//! - `upper.rs`: packets for this node, and its answers;
//! - `sleepy.rs`: data requests, and what waits for them;
//! - `sockets.rs`: what applications call.

mod attach;
mod discovery;
mod fragments;
mod ip;
mod link;
mod paths;
mod sleepy;
mod sockets;
mod upper;

use redpoll_base::{Addr, Instant, Memory, Rng, Wake, earliest};
use redpoll_lowpan::{Lowpan, LowpanCounters};
use redpoll_mac::{Mac, MacCounters};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use crate::children::Children;
use crate::config::{NodeConfig, NodeMemory};
use crate::counters::NodeCounters;
use crate::host::HostQueue;
use crate::icmp::ErrorLimiter;
use crate::nd::{Neighbours, Solicitor};
use crate::poll::DataPoll;
use crate::routes::{Route, Routes};
use crate::tcp::TcpSockets;
use crate::udp::UdpSockets;
use crate::{Error, NodeEvent};
use paths::Paths;
use sleepy::Sleepy;

/// A node of the network. See the [crate](crate) for how to drive it.
pub struct Node<M: Memory + 'static> {
    config: NodeConfig,
    rng: Rng,
    link_local: Addr,
    mac: Mac,
    lowpan: Lowpan<M>,
    paths: Paths<M>,
    tcp: TcpSockets<M>,
    udp: UdpSockets<M>,
    solicitor: Solicitor,
    /// Some next hop has a long address: its frames have less room, and which
    /// frame comes next is known only when it is built. So all are built short.
    long_addresses: bool,
    sleepy: Option<Sleepy>,
    children: Children,
    preempts: bool,
    /// The frame that the MAC has is for a sleepy node.
    frame_is_indirect: bool,
    host: HostQueue,
    errors: ErrorLimiter,
    counters: NodeCounters,
    echo_reply: Option<(u16, u16)>,
}

impl<M: Memory + 'static> Node<M> {
    /// A node that listens and waits. `rng` drives backoff, ports and jitter.
    pub fn new(config: NodeConfig, memory: NodeMemory<M>, mut rng: Rng) -> Self {
        let mac_rng = Rng::new(rng.next_u64());
        // RFC 4861 §6.3.7: a random delay of up to a second keeps nodes that
        // start together from asking together.
        let start = config
            .nd
            .solicit
            .then(|| Instant::from_micros(rng.below(1_000_000).into()));
        let mut lowpan = Lowpan::new(config.lowpan.clone(), memory.lowpan);
        *lowpan.contexts_mut() = config.contexts.clone();
        Node {
            link_local: addr::link_local_from_short(config.mac.short),
            mac: Mac::new(config.mac.clone(), mac_rng),
            lowpan,
            paths: Paths {
                routes: Routes::new(memory.routes),
                neighbours: Neighbours::new(memory.neighbours),
            },
            tcp: TcpSockets::new(
                memory.connections,
                memory.listeners,
                memory.half_open,
                memory.servers,
                config.tcp.clone(),
                config.isn_secret,
            ),
            udp: UdpSockets::new(memory.udp),
            solicitor: match config
                .sleepy
                .and_then(|sleepy| sleepy.parents.first().copied()?)
            {
                Some(parent) => Solicitor::registering(Address::Short(parent), Instant::ZERO),
                None => Solicitor::new(start),
            },
            long_addresses: false,
            sleepy: config
                .sleepy
                .map(|sleepy| Sleepy::new(sleepy, DataPoll::new(sleepy.poll, &mut rng))),
            children: Children::default(),
            preempts: config.preempts,
            frame_is_indirect: false,
            host: HostQueue::default(),
            errors: ErrorLimiter::new(),
            counters: NodeCounters::default(),
            echo_reply: None,
            config,
            rng,
        }
    }

    /// The node's global address.
    pub fn address(&self) -> Addr {
        self.config.address
    }

    /// What the node was configured with.
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Adds a route, or replaces the one with the same prefix and length.
    ///
    /// # Errors
    /// [`Error::NoSlot`] if the table is full.
    pub fn add_route(&mut self, route: Route) -> Result<(), Error> {
        self.paths.routes.add(route)
    }

    /// Forgets every route.
    pub fn clear_routes(&mut self) {
        self.paths.routes.clear();
    }

    /// When the node wants [`Node::on_timeout`] next.
    pub fn poll_at(&self) -> Option<Wake> {
        let link = earliest(self.mac.poll_at(), self.lowpan.poll_at());
        let upper = earliest(self.tcp.poll_at(), self.solicitor.poll_at());
        earliest(earliest(link, upper), self.sleepy_poll_at())
    }

    /// Runs every timer that is due at `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        let due = |wake: Option<Wake>| wake.is_some_and(|w| w.at <= now);
        if due(self.mac.poll_at()) {
            self.mac.on_timeout(now);
            self.drain_link_events(now);
        }
        if due(self.lowpan.poll_at()) {
            self.lowpan.on_timeout(now);
        }
        if due(self.tcp.poll_at()) {
            self.tcp.on_timeout(now, &mut self.counters);
        }
        self.sleepy_timeout(now);
        if due(self.solicitor.poll_at()) {
            self.nd_timeout(now);
        }
    }

    /// The next thing that an application may want to know.
    pub fn poll_event(&mut self) -> Option<NodeEvent> {
        if let Some((ident, seq)) = self.echo_reply.take() {
            return Some(NodeEvent::EchoReply { ident, seq });
        }
        if let Some(event) = self.tcp.poll_event() {
            return Some(event);
        }
        self.udp.poll_event().map(NodeEvent::UdpReadable)
    }

    /// Counters of the IP layer.
    pub fn counters(&self) -> &NodeCounters {
        &self.counters
    }

    /// Counters of the MAC.
    pub fn mac_counters(&self) -> &MacCounters {
        self.mac.counters()
    }

    /// Datagram slots that are not in use: all of them when nothing is under way.
    pub fn free_slots(&self) -> usize {
        self.lowpan.free_slots()
    }

    /// Counters of 6LoWPAN.
    pub fn lowpan_counters(&self) -> &LowpanCounters {
        self.lowpan.counters()
    }
}
