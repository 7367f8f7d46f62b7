//! What a node is told at its birth, and the memory it gets.

use redpoll_base::{Addr, Memory};
use redpoll_lowpan::{LowpanConfig, LowpanMemory};
use redpoll_mac::MacConfig;
use redpoll_tcp::{self as tcp, Algorithms, FastOpenServer, HalfOpen, Standard};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;
use redpoll_wire::sixlowpan::Contexts;

use crate::link::PollConfig;
use crate::net::nd::{Advertised, NdConfig};
use crate::net::routing::{Neighbour, RouteSlot};
use crate::transports::tcp::{ConnectionSlot, ListenerSlot};
use crate::transports::udp::UdpSlot;

/// Everything that distinguishes one node from another.
#[derive(Clone, Debug)]
pub struct NodeConfig<A = Standard> {
    /// The MAC: addresses, PAN, radio abilities, retries.
    pub mac: MacConfig,
    /// 6LoWPAN: timeouts and limits.
    pub lowpan: LowpanConfig,
    /// The header-compression contexts that this network shares (RFC 6282 §3.1.2).
    pub contexts: Contexts,
    /// TCP: segment size, timers.
    pub tcp: tcp::Config<A>,
    /// The node's global address; unspecified if it is to be learned.
    pub address: Addr,
    /// The hop limit of packets that start here (RFC 4861 calls it CurHopLimit).
    pub hop_limit: u8,
    /// Whether packets for others are forwarded.
    pub forwards: bool,
    /// Neighbour discovery. Default: none; address and routes are given.
    pub nd: NdConfig,
    /// How the node sleeps; `None`: its radio is always on.
    pub sleepy: Option<SleepyConfig>,
    /// Whether a frame makes way, between two attempts, for one to a sleepy
    /// node that listens (Kumar et al. 2020 §8.2.3). Default true.
    pub preempts: bool,
    /// The secret key of initial sequence numbers (RFC 6528 §3): random, per node.
    pub isn_secret: [u8; 16],
}

impl NodeConfig {
    /// The MSS of nodes in a mesh, in bytes: five frames with the longest compressed header
    /// carry 462 bytes and 12 of TCP's options. Beyond that a segment that loses one frame
    /// loses more than it gained (Kumar et al. 2020 §6.1).
    pub const MSS: u16 = 474;

    /// A leaf of a mesh with the prefix `prefix` (64 bits), which is also 6LoWPAN's context
    /// 0: its address is made of its short one (RFC 4944 §6), its receiver is always on, and
    /// it forwards nothing. `first_tag` (of 6LoWPAN's datagrams) and `isn_secret` are random,
    /// the latter the node's own. It wants a route.
    ///
    /// ```
    /// use redpoll_stack::NodeConfig;
    /// use redpoll_stack::mac::MacConfig;
    /// use redpoll_stack::base::Addr;
    ///
    /// let mac = MacConfig::default().with(|it| it.short = 4);
    /// let prefix = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    /// let config = NodeConfig::leaf(mac, prefix, 0x1234, [7; 16]);
    /// assert_eq!(config.address.to_string(), "fd00::ff:fe00:4");
    /// ```
    pub fn leaf(mac: MacConfig, prefix: Addr, first_tag: u16, isn_secret: [u8; 16]) -> NodeConfig {
        NodeConfig {
            lowpan: LowpanConfig::default().with(|it| {
                it.first_tag = first_tag;
                it.red_seed = dice(&isn_secret);
            }),
            contexts: Contexts::with_prefix(prefix),
            tcp: tcp::Config {
                mss: NodeConfig::MSS,
                ..tcp::Config::default()
            },
            address: addr::from_prefix_and_short(&prefix, mac.short),
            mac,
            hop_limit: 64,
            forwards: false,
            nd: NdConfig::default(),
            sleepy: None,
            preempts: true,
            isn_secret,
        }
    }

    /// A router of such a mesh: it forwards, and tells leaves that ask of the prefix and of
    /// itself. `border` is the address of the border router that the prefix comes from. It
    /// wants routes, and memory for those that register with it.
    pub fn router(
        mac: MacConfig,
        prefix: Addr,
        border: Addr,
        first_tag: u16,
        isn_secret: [u8; 16],
    ) -> NodeConfig {
        let leaf = NodeConfig::leaf(mac, prefix, first_tag, isn_secret);
        NodeConfig {
            forwards: true,
            nd: NdConfig {
                solicit: false,
                advertise: Some(Advertised::new(prefix, border)),
            },
            ..leaf
        }
    }

    /// The border router of such a mesh: a router that the prefix comes from. It wants a
    /// route of [`Via::Host`](crate::Via::Host) for all that is not in the mesh.
    pub fn border(
        mac: MacConfig,
        prefix: Addr,
        first_tag: u16,
        isn_secret: [u8; 16],
    ) -> NodeConfig {
        let here = addr::from_prefix_and_short(&prefix, mac.short);
        NodeConfig::router(mac, prefix, here, first_tag, isn_secret)
    }

    /// A node without a radio, all of whose packets go over its host side: a TUN
    /// interface, an IP device. `isn_secret` is random, and the node's own. It wants a
    /// route: [`Via::Host`](crate::Via::Host) for everything.
    pub fn over_ip(address: Addr, isn_secret: [u8; 16]) -> NodeConfig {
        NodeConfig {
            mac: MacConfig::default(),
            lowpan: LowpanConfig::default(),
            contexts: Contexts::default(),
            tcp: tcp::Config {
                // RFC 9293 §3.7.1: what the least MTU of IPv6 leaves of a packet.
                mss: 1_220,
                ..tcp::Config::default()
            },
            address,
            hop_limit: 64,
            forwards: false,
            nd: NdConfig::default(),
            sleepy: None,
            preempts: true,
            isn_secret,
        }
    }
}

impl<A> NodeConfig<A> {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }

    /// The same configuration with other [algorithms](tcp::Algorithms) of TCP.
    pub fn with_algorithms<O>(self, algorithms: O) -> NodeConfig<O> {
        NodeConfig {
            mac: self.mac,
            lowpan: self.lowpan,
            contexts: self.contexts,
            tcp: self.tcp.with_algorithms(algorithms),
            address: self.address,
            hop_limit: self.hop_limit,
            forwards: self.forwards,
            nd: self.nd,
            sleepy: self.sleepy,
            preempts: self.preempts,
            isn_secret: self.isn_secret,
        }
    }

    /// The link-layer address that this node's frames carry.
    pub fn link_address(&self) -> Address {
        self.mac.address()
    }
}

/// Parents that a sleepy node can choose from.
pub const PARENTS_MAX: usize = 4;

/// A node that sleeps between its frames and asks its parent for what waits
/// there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SleepyConfig {
    /// Short addresses of always-on neighbours that may be its parent, through
    /// which all its packets go; the first choice first.
    pub parents: [Option<u16>; PARENTS_MAX],
    /// Frames and data requests in a row that the parent does not acknowledge,
    /// each after all its retries, after which the next one takes its place.
    pub parent_failures: u8,
    /// When it asks.
    pub poll: PollConfig,
    /// Whether its parent sends all frames that wait after one request
    /// ([`LowpanConfig::indirect_burst`]); else it asks for each.
    pub burst: bool,
}

impl SleepyConfig {
    /// A sleepy node with these parents, the first choice first: it looks for another parent
    /// after 4 failures, and each request brings one frame.
    pub fn new(parents: [Option<u16>; PARENTS_MAX]) -> Self {
        SleepyConfig {
            parents,
            parent_failures: 4,
            poll: PollConfig::default(),
            burst: false,
        }
    }

    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

/// The memory of a node's tables and buffers. The lengths are the limits.
pub struct NodeMemory<M: Memory + 'static, A: Algorithms = Standard> {
    /// One slot a TCP connection, with its buffers; at most 255.
    pub connections: M::Table<ConnectionSlot<M::Buffer, A>>,
    /// One slot a listening port; at most 255.
    pub listeners: M::Table<ListenerSlot>,
    /// One entry a half-open connection, for all listeners; at most 255. When
    /// it is full (or empty from the start), the peers keep the state; those of a node
    /// that is a leaf and nothing else ([`Memory::ROUTES`]) ask again later.
    pub half_open: M::Table<HalfOpen>,
    /// One entry a server to which connections are opened with data (RFC 7413);
    /// at most 255. With none, they are opened the usual way.
    pub servers: M::Table<FastOpenServer>,
    /// One slot a UDP socket; at most 255.
    pub udp: M::Table<UdpSlot<M::Buffer>>,
    /// The forwarding table.
    pub routes: M::Table<Option<RouteSlot>>,
    /// Addresses of hosts that register with this router; empty for a host.
    pub neighbours: M::Table<Option<Neighbour>>,
    /// Datagram slots, for reassembly and queues.
    pub lowpan: LowpanMemory<M>,
}

/// What random early detection draws from: nothing that is seen on the air, such as a tag.
fn dice(secret: &[u8; 16]) -> u64 {
    let mut bytes = [0; 8];
    redpoll_base::copy(secret, &mut bytes);
    u64::from_le_bytes(bytes)
}
