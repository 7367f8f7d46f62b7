//! The configuration of a node, and its memory.

use redpoll_base::{Addr, Forwarding, Memory};
use redpoll_lowpan::{LowpanConfig, LowpanMemory};
use redpoll_mac::MacConfig;
use redpoll_tcp::{self as tcp, Algorithms, FastOpenServer, HalfOpen, Standard};
use redpoll_wire::ipv6::addr;
use redpoll_wire::sixlowpan::Contexts;

use crate::link::PollConfig;
use crate::net::nd::{Advertised, NdConfig};
use crate::net::routing::{Neighbour, RouteSlot};
use crate::transports::tcp::{ConnectionSlot, ListenerSlot};
use crate::transports::udp::UdpSlot;

/// The configuration of one node. `F` is the [`Memory::Forwards`] of the node's kind of memory, so
/// the compiler refuses the configuration of a router for a node that can only be a leaf.
///
/// ```compile_fail,E0308
/// use redpoll_stack::base::{Addr, Rng};
/// use redpoll_stack::mac::MacConfig;
/// use redpoll_stack::{LeafNode, LeafStorage, NodeConfig};
///
/// let config = NodeConfig::border(MacConfig::default(), Addr::UNSPECIFIED, 0, [7; 16]);
/// let storage: &'static mut LeafStorage = Box::leak(Box::new(LeafStorage::NEW));
/// let node = LeafNode::new(config, storage.memory(), Rng::new(1));
/// ```
#[derive(Clone, Debug)]
pub struct NodeConfig<A = Standard, F = bool> {
    /// MAC: addresses, PAN, abilities of the radio, retries.
    pub mac: MacConfig,
    /// 6LoWPAN: timeouts and limits.
    pub lowpan: LowpanConfig,
    /// The header-compression contexts that this network shares (RFC 6282 §3.1.2).
    pub contexts: Contexts,
    /// TCP: segment size, timers.
    pub tcp: tcp::Config<A>,
    /// The node's global address; unspecified if the node learns it.
    pub address: Addr,
    /// The hop limit of the node's own packets (CurHopLimit in RFC 4861).
    pub hop_limit: u8,
    /// Whether the node forwards packets of other nodes.
    pub forwards: F,
    /// Neighbour discovery. Default: none; address and routes are configured.
    pub nd: NdConfig,
    /// How the node sleeps; `None`: its receiver is always on.
    pub sleepy: Option<SleepyConfig>,
    /// Whether the MAC postpones a frame between two attempts, to send another frame to a sleepy
    /// node that is listening (Kumar et al. 2020 §8.2.3). Default true.
    pub preempts: bool,
    /// The secret key of initial sequence numbers (RFC 6528 §3): random, different for each node.
    pub isn_secret: [u8; 16],
}

impl NodeConfig {
    /// The MSS of nodes in a mesh, in bytes: five frames with the longest compressed header carry
    /// 462 bytes and 12 of TCP options. With a longer segment, the loss of one frame costs more
    /// than the saved headers (Kumar et al. 2020 §6.1).
    pub const MSS: u16 = 474;

    /// Returns a router of the mesh with `prefix`: it forwards, and advertises the prefix and
    /// itself to leaves that solicit. `border` is the address of the border router, which owns the
    /// prefix. The router needs routes, and memory for registrations.
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

    /// Returns the border router of the mesh with `prefix`, which it owns. It needs a route of
    /// [`Via::Host`](crate::Via::Host) for destinations outside the mesh.
    pub fn border(
        mac: MacConfig,
        prefix: Addr,
        first_tag: u16,
        isn_secret: [u8; 16],
    ) -> NodeConfig {
        let here = addr::from_prefix_and_short(&prefix, mac.short);
        NodeConfig::router(mac, prefix, here, first_tag, isn_secret)
    }
}

impl<F: Forwarding> NodeConfig<Standard, F> {
    /// Returns a leaf of a mesh with the 64-bit prefix `prefix`, which is also 6LoWPAN's context 0.
    /// Its address is derived from its short one (RFC 4944 §6), its receiver is always on, and it
    /// needs a route. `first_tag` (of 6LoWPAN's datagrams) and `isn_secret` are random,
    /// `isn_secret` also different for each node.
    ///
    /// ```
    /// use redpoll_stack::NodeConfig;
    /// use redpoll_stack::mac::MacConfig;
    /// use redpoll_stack::base::Addr;
    ///
    /// let mac = MacConfig::default().with(|it| it.short = 4);
    /// let prefix = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    /// let config: NodeConfig = NodeConfig::leaf(mac, prefix, 0x1234, [7; 16]);
    /// assert_eq!(config.address.to_string(), "fd00::ff:fe00:4");
    /// ```
    pub fn leaf(mac: MacConfig, prefix: Addr, first_tag: u16, isn_secret: [u8; 16]) -> Self {
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
            forwards: F::default(),
            nd: NdConfig::default(),
            sleepy: None,
            preempts: true,
            isn_secret,
        }
    }

    /// Returns a node without a radio, all of whose packets pass its host side: a TUN interface or
    /// an IP device. `isn_secret` is random and different for each node. The node needs a route:
    /// [`Via::Host`](crate::Via::Host) for everything. It needs none if its kind of memory has no
    /// radio ([`Memory::HAS_RADIO`]), such as [`HostMemory`](redpoll_base::HostMemory).
    pub fn over_ip(address: Addr, isn_secret: [u8; 16]) -> Self {
        NodeConfig {
            mac: MacConfig::default(),
            lowpan: LowpanConfig::default(),
            contexts: Contexts::default(),
            tcp: tcp::Config {
                // RFC 9293 §3.7.1: the least MTU of IPv6, less the headers.
                mss: 1_220,
                ..tcp::Config::default()
            },
            address,
            hop_limit: 64,
            forwards: F::default(),
            nd: NdConfig::default(),
            sleepy: None,
            preempts: true,
            isn_secret,
        }
    }
}

impl<A, F> NodeConfig<A, F> {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }

    /// Replaces TCP's [algorithms](tcp::Algorithms) in this configuration.
    pub fn with_algorithms<O>(self, algorithms: O) -> NodeConfig<O, F> {
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
}

/// The number of parents that a sleepy node can choose from.
pub(crate) const PARENTS_MAX: usize = 4;

/// A sleepy node: it sleeps between its frames and polls its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SleepyConfig {
    /// Short addresses of always-on neighbours that may be the parent, the preferred one first. All
    /// packets go through the parent.
    pub parents: [Option<u16>; PARENTS_MAX],
    /// The number of successive frames and data requests without acknowledgment, each after all its
    /// retries, after which the node changes to the next parent.
    pub parent_failures: u8,
    /// The times at which the node polls its parent.
    pub poll: PollConfig,
    /// Whether the parent sends all waiting frames after one poll
    /// ([`LowpanConfig::indirect_burst`]). If false, the node polls for each frame.
    pub burst: bool,
}

impl SleepyConfig {
    /// Returns the configuration of a sleepy node with these parents, the preferred one first. It
    /// changes its parent after 4 failures, and each poll fetches one frame.
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

/// The memory of a node's tables and buffers. Each length is a limit.
pub struct NodeMemory<M: Memory + 'static, A: Algorithms = Standard> {
    /// One slot per TCP connection, with its buffers; at most 255.
    pub connections: M::Table<ConnectionSlot<M::Buffer, A>>,
    /// One slot per listening port; at most 255.
    pub listeners: M::Table<ListenerSlot>,
    /// One entry per half-open connection of all listeners; at most 255. If no entry is free, or
    /// the table has none, SYN cookies keep the state at the peers. A node that can only be a leaf
    /// ([`Memory::ROUTES`]) has no SYN cookies: the SYN replaces the oldest entry.
    pub half_open: M::Table<HalfOpen>,
    /// One entry per server to which connections are opened with data (RFC 7413); at most 255.
    /// Without entries, connections are opened without data.
    pub servers: M::Table<FastOpenServer>,
    /// One slot per UDP socket; at most 255.
    pub udp: M::Table<UdpSlot<M::Buffer>>,
    /// The forwarding table.
    pub routes: M::Table<Option<RouteSlot>>,
    /// The addresses of hosts that register with this router; empty for a host.
    pub neighbours: M::Table<Option<Neighbour>>,
    /// Datagram slots for reassembly and queues.
    pub lowpan: LowpanMemory<M>,
}

/// Returns the seed of random early detection. Unlike the first datagram tag, the seed is not
/// visible on the air.
fn dice(secret: &[u8; 16]) -> u64 {
    let mut bytes = [0; 8];
    redpoll_base::copy(secret, &mut bytes);
    u64::from_le_bytes(bytes)
}
