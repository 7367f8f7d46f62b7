//! [`Node`]: calls its three parts in sequence.
//!
//! - [`Link`]: frames, fragments, sleep;
//! - [`Net`]: addresses, routes, control messages;
//! - [`Transports`]: connections and sockets.
//!
//! The parts do not know one another. The files here move data between the parts:
//!
//! - `mod.rs`: creation, time, events, routes;
//! - `config.rs`: the configuration;
//! - `radio.rs`: frames and radio work; `driver.rs`: the loop with a radio;
//! - `fragments.rs`: fragments of 6LoWPAN; `joining.rs`: reassembly of IPv6 fragments;
//! - `packets.rs`: packets to, through and from this node; `originate.rs`: its own packets;
//! - `deliver.rs`: packets for this node, and answers;
//! - `groups.rs`: packets to and from multicast groups;
//! - `messages.rs`: control messages and the packets of the assistant;
//! - `tables.rs`: use of the tables; `storage.rs`: their memory;
//! - `tcp.rs`, `udp.rs`: calls for applications; `streams.rs`: the calls of any transport;
//! - `headers.rs`: header changes of routing; `security.rs`: link-layer security.

pub(crate) mod config;
mod deliver;
mod driver;
mod fragments;
mod groups;
mod headers;
mod joining;
mod messages;
mod originate;
mod packets;
mod radio;
#[cfg(feature = "security")]
mod security;
pub(crate) mod storage;
mod streams;
pub(crate) mod tables;
mod tcp;
mod udp;

use redpoll_base::{Addr, Instant, LeafMemory, Memory, Rng, Wake, earliest};
use redpoll_mac::{CsmaCa, Mac};
use redpoll_tcp::Standard;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use crate::assist::NoAssist;
use crate::counters::NodeCounters;
use crate::host::HostQueue;
use crate::link::Link;
use crate::net::Net;
use crate::net::icmp::ErrorLimiter;
use crate::net::identity::Identity;
use crate::net::nd::{Discovery, Solicitor};
use crate::net::outgoing::Outbox;
use crate::net::routing::{Route, Routing, Via};
use crate::packet::NextHop;
use crate::profile::{Parts, Profile};
use crate::segments::Pull;
use crate::transports::tcp::TcpSockets;
use crate::transports::udp::UdpSockets;
use crate::transports::{NoStreams, Transports};
use crate::{Error, NodeEvent};
use config::{NodeConfig, NodeMemory};

/// A node of the network, with the parts that its [`Profile`] names. The [crate](crate)
/// documentation explains how to drive it.
pub struct Node<P: Profile> {
    handover: P::Handover,
    rng: Rng,
    pub(crate) link: Link<P::Memory, P::Access>,
    pub(crate) net: Net<P>,
    transports: Transports<P::Memory, P::Streams, P::Algorithms>,
    host: HostQueue,
    counters: NodeCounters,
    echo_reply: Option<(u16, u16)>,
}

/// A node that can only be a leaf, as on small devices.
pub type LeafNode = Node<LeafMemory>;

impl<M: Memory + 'static> Node<M> {
    /// Creates a node. `rng` drives backoff, ports and jitter.
    pub fn new(config: NodeConfig<Standard, M::Forwards>, memory: NodeMemory<M>, rng: Rng) -> Self {
        let parts = Parts {
            access: CsmaCa,
            assist: NoAssist,
            streams: NoStreams,
            handover: Pull,
        };
        Node::with_parts(config, memory, rng, parts)
    }
}

impl<P: Profile> Node<P> {
    /// As [`Node::new`], with the given parts: the [method of access](redpoll_mac::Access), the
    /// [assistant](crate::assist), the [transport](crate::StreamTransport) in place of TCP, and the
    /// [handover](crate::Handover) of segments.
    pub fn with_parts(
        config: NodeConfig<P::Algorithms, <P::Memory as Memory>::Forwards>,
        memory: NodeMemory<P::Memory, P::Algorithms>,
        mut rng: Rng,
        parts: Parts<P>,
    ) -> Self {
        let mac_rng = Rng::new(rng.next_u64());
        let parent = config
            .sleepy
            .and_then(|sleepy| sleepy.parents.first().copied()?);
        // RFC 4861 §6.3.7: a random delay of up to a second, so that nodes that start together do
        // not solicit together.
        let solicits = config.nd.solicit;
        let start = solicits.then(|| Instant::from_micros(rng.below(1_000_000).into()));
        let solicitor = match parent {
            Some(parent) => Solicitor::registering(Address::Short(parent), Instant::ZERO),
            None => Solicitor::new(start),
        };
        let identity = Identity {
            link: config.mac.address(),
            eui64: config.mac.extended,
            // RFC 4944 §7: the link-local address follows from the link address.
            link_local: addr::link_local(config.mac.address()).unwrap_or_default(),
            address: config.address,
            hop_limit: config.hop_limit,
            forwards: config.forwards.into(),
        };
        let mut link = Link::new(
            config.mac,
            parts.access,
            mac_rng,
            config.lowpan,
            config.contexts,
            memory.lowpan,
            config.preempts,
        );
        if let Some(sleepy) = &config.sleepy {
            link.fall_asleep(sleepy, &mut rng);
        }
        let sleepy = config.sleepy.as_ref();
        Node {
            link,
            net: Net {
                identity,
                routing: Routing::new(&config.nd, sleepy, memory.routes, memory.neighbours),
                nd: Discovery::new(solicitor),
                outbox: Outbox::default(),
                errors: ErrorLimiter::new(),
                resets: ErrorLimiter::new(),
                assist: parts.assist,
                joiner: None,
            },
            transports: Transports {
                tcp: TcpSockets::new(
                    memory.connections,
                    memory.listeners,
                    memory.half_open,
                    memory.servers,
                    config.tcp,
                    config.isn_secret,
                ),
                udp: UdpSockets::new(memory.udp),
                streams: parts.streams,
            },
            host: HostQueue::default(),
            counters: NodeCounters::default(),
            echo_reply: None,
            handover: parts.handover,
            rng,
        }
    }

    /// Returns the node's global address; unspecified before it has one.
    pub fn address(&self) -> Addr {
        self.net.identity.address
    }

    /// Returns the node's extended address, in printing order.
    pub fn eui64(&self) -> [u8; 8] {
        self.net.identity.eui64
    }

    /// Returns the assistant that the node was created with.
    pub fn assistant(&self) -> &P::Assist {
        &self.net.assist
    }

    /// Returns the transport in place of TCP.
    pub fn streams(&self) -> &P::Streams {
        &self.transports.streams
    }

    /// Adds a route, or replaces the one with the same prefix and length.
    ///
    /// # Errors
    /// [`Error::NoSlot`] if the table is full.
    pub fn add_route(&mut self, route: Route) -> Result<(), Error> {
        self.net.routing.add(route)
    }

    /// Adds a route to the address `to` that holds until a node registers this address with this
    /// router or a router behind it. A route of [`Node::add_route`] is not affected by
    /// registrations.
    ///
    /// # Errors
    /// [`Error::NoSlot`] if the table is full.
    pub fn add_route_until_registered(&mut self, to: Addr, via: Via) -> Result<(), Error> {
        self.net.routing.add_until_registered(to, via)
    }

    /// Removes every route.
    pub fn clear_routes(&mut self) {
        self.net.routing.clear();
    }

    /// Returns the time of the next call of [`Node::on_timeout`].
    pub fn poll_at(&self) -> Option<Wake> {
        let below = earliest(self.link.poll_at(), self.net.poll_at());
        earliest(below, self.transports.poll_at())
    }

    /// Runs every timer that is due at `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        if P::Memory::HAS_RADIO {
            if self.link.on_timeout(now) {
                self.drain_link(now);
            }
            self.link.on_late_timeout(now);
        }
        self.transports.on_timeout(now, &mut self.counters);
        if let Some(parent) = self.net.on_timeout(now, &mut self.counters)
            && P::Memory::HAS_RADIO
        {
            self.link.on_new_parent(now, parent);
        }
        self.give_up_fragments(now);
        self.send_messages(now);
        self.drain_assistant(now);
    }

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<NodeEvent> {
        if let Some((ident, seq)) = self.echo_reply.take() {
            return Some(NodeEvent::EchoReply { ident, seq });
        }
        if P::Memory::HAS_RADIO && self.net.nd.solicitor.take_duplicate() {
            let count = &mut self.counters.duplicate_addresses;
            *count = count.wrapping_add(1);
            return Some(NodeEvent::AddressInUse);
        }
        self.transports.poll_event()
    }

    /// Sets whether an application of a sleepy node waits for a packet. This is not necessary for
    /// the acknowledgments of TCP; for data of a TCP peer, use [`Self::tcp_expect`]. No effect on
    /// other nodes.
    pub fn expect_packets(&mut self, expected: bool) {
        self.link.expect_packets(expected);
    }

    /// Returns the source address for packets to `dst`, of the same scope (RFC 6724 §5, rule 2);
    /// `None` before the node has one.
    pub fn source_for(&self, dst: &Addr) -> Option<Addr> {
        self.net.identity.source_for(dst)
    }

    /// Returns the next hop of packets to `dst` at `now`; `None` without a route, or if the route
    /// does not use the radio.
    pub fn neighbour_towards(&self, now: Instant, dst: &Addr) -> Option<Address> {
        match self.net.routing.next_hop(now, dst)? {
            NextHop::Link(link) => Some(link),
            _ => None,
        }
    }

    /// Returns whether the node accepts packets from the host side now: more than half of the slots
    /// are free. A host that checks this keeps packets in its own, larger memory, and leaves half
    /// of the slots to the radio. Without this check, packets that wait for a route could fill all
    /// slots, and the messages that repair the route would find none.
    pub fn has_room(&self) -> bool {
        self.link.lowpan.has_half()
    }

    /// Returns the counters of the IP layer.
    pub fn counters(&self) -> &NodeCounters {
        &self.counters
    }

    /// Returns the node's MAC, with its counters.
    pub fn mac(&self) -> &Mac<P::Access> {
        &self.link.mac
    }
}
