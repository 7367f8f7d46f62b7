//! The configuration of a node, in C's layout.

use redpoll_base::{Addr, Duration, Memory};
use redpoll_socket::Errno;
use redpoll_stack::lowpan::LowpanConfig;
use redpoll_stack::mac::{MacConfig, RadioCaps};
use redpoll_stack::transport as tcp;
use redpoll_stack::{NodeConfig, PollConfig, SleepyConfig};

use crate::candidate::AVAILABLE;
use crate::entropy::{secret, seed};
use crate::error::{Code, code, reference};
use crate::groups;
use crate::plan::Room;
use crate::role::{BORDER, LEAF};
use crate::store::Store;

/// `RP_RADIO_AUTO_ACK`: the radio sends acknowledgements, and waits for them.
pub const AUTO_ACK: u8 = 1;
/// `RP_RADIO_CSMA`: the radio performs CSMA-CA.
pub const CSMA: u8 = 2;
/// `RP_RADIO_RETRIES`: the radio retries unacknowledged frames.
pub const RETRIES: u8 = 4;
/// `RP_RADIO_SOURCE_MATCH`: the radio sets the frame-pending bit for each neighbour.
pub const SOURCE_MATCH: u8 = 8;
const RADIO: u8 = AUTO_ACK | CSMA | RETRIES | SOURCE_MATCH;

/// No short address; as the parent of a node: no parent.
pub const NO_SHORT: u16 = 0xffff;

/// `struct rp_config`; `redpoll.h` describes each member.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpConfig {
    pub eui64: [u8; 8],
    pub prefix: [u8; 8],
    pub entropy: [u8; 32],
    pub poll_interval_ms: u32,
    pub pan_id: u16,
    pub short_address: u16,
    pub parent: u16,
    pub mss: u16,
    pub send_buffer: u16,
    pub receive_buffer: u16,
    pub udp_buffer: u16,
    pub routes: u16,
    pub packet_bytes: u16,
    pub role: u8,
    pub radio: u8,
    pub sleepy: u8,
    pub connections: u8,
    pub listeners: u8,
    pub half_open: u8,
    pub udp_sockets: u8,
    pub sockets: u8,
    pub packets: u8,
    pub children: u8,
    pub max_frame_retries: u8,
    pub rpl_neighbours: u8,
    pub groups: u8,
}

impl RpConfig {
    /// Returns the default configuration of a node of this role. Fields that differ per node are 0,
    /// or [`NO_SHORT`] for short addresses.
    fn of(role: u8) -> Result<RpConfig, Errno> {
        let is_leaf = role == LEAF;
        if role > BORDER {
            return Err(Errno::EINVAL);
        }
        Ok(RpConfig {
            eui64: [0; 8],
            prefix: [0; 8],
            entropy: [0; 32],
            poll_interval_ms: 0,
            pan_id: 0x7270,
            short_address: NO_SHORT,
            parent: NO_SHORT,
            mss: tcp::Config::default().mss,
            send_buffer: 1_848,
            receive_buffer: 1_848,
            udp_buffer: 512,
            routes: if is_leaf { 2 } else { 32 },
            packet_bytes: 1_280,
            role,
            radio: AUTO_ACK,
            sleepy: 0,
            connections: 1,
            listeners: 1,
            half_open: 2,
            udp_sockets: Store::HAS_UDP.into(),
            sockets: 4,
            packets: if is_leaf { 2 } else { 4 },
            children: 0,
            max_frame_retries: MacConfig::default().max_frame_retries,
            rpl_neighbours: 0,
            groups: 0,
        })
    }

    /// Returns `EINVAL` if a value is invalid, contradicts another or needs an absent feature.
    pub(crate) fn check(&self) -> Result<(), Errno> {
        let has_address = self.short_address < 0xfffe;
        let buffers = [self.send_buffer, self.receive_buffer, self.udp_buffer];
        let sleeps_without_parent = self.sleepy != 0 && self.parent >= 0xfffe;
        let sleeps_and_forwards = self.sleepy != 0 && self.role != LEAF;
        // A sleepy leaf and a router with sleepy children need an EUI-64, because routers identify
        // registrations by EUI-64 (RFC 8505).
        let registers = self.sleepy != 0 || self.children > 0;
        let routes_by_rpl = self.rpl_neighbours > 0;
        // With RPL, a parent must not be configured, because RPL chooses it. A sleepy leaf cannot
        // use RPL, because its parent routes for it.
        let cannot_route = self.sleepy != 0 || self.parent != NO_SHORT || !AVAILABLE;
        let refused = !has_address
            || routes_by_rpl && cannot_route
            || self.role > BORDER
            || self.radio & !RADIO != 0
            || self.entropy == [0; 32]
            || buffers.iter().any(|len| *len < 64)
            || self.packet_bytes < 128
            || self.packets == 0
            || self.routes == 0
            || self.mss < 64
            || sleeps_without_parent
            || registers && self.eui64 == [0; 8]
            || self.children > 0 && self.role == LEAF
            || sleeps_and_forwards
            || self.udp_sockets > 0 && !Store::HAS_UDP
            || self.groups > 0 && !groups::AVAILABLE;
        if refused { Err(Errno::EINVAL) } else { Ok(()) }
    }

    /// Returns how many buffers and table entries the node has, and their sizes.
    pub(crate) fn room(&self) -> Room {
        Room {
            connections: self.connections,
            listeners: self.listeners,
            half_open: self.half_open,
            udp_sockets: self.udp_sockets,
            sockets: self.sockets,
            packets: self.packets,
            children: self.children,
            rpl_neighbours: self.rpl_neighbours,
            groups: self.groups,
            role: self.role,
            seed: self.seed(),
            routes: self.routes,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            udp_buffer: self.udp_buffer,
            packet_bytes: self.packet_bytes,
        }
    }

    /// Returns the seed of the node's random choices. The rest of the entropy is secret.
    pub(crate) fn seed(&self) -> u64 {
        seed(&self.entropy)
    }

    /// Returns the first address of the mesh's /64.
    pub(crate) fn prefix(&self) -> Addr {
        let [a, b, c, d, e, f, g, h] = self.prefix;
        Addr([a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    pub(crate) fn node_config(&self) -> NodeConfig {
        let has = |bit| self.radio & bit != 0;
        let parents = [Some(self.parent), None, None, None];
        let mut poll = PollConfig::default();
        if self.poll_interval_ms > 0 {
            poll.base_interval = Duration::from_millis(self.poll_interval_ms.into());
        }
        let sleepy = SleepyConfig::new(parents).with(|it| it.poll = poll);
        let isn_secret = secret(&self.entropy);
        let mac = MacConfig::default().with(|it| {
            it.pan_id = self.pan_id;
            it.short = self.short_address;
            it.extended = self.eui64;
            it.caps = RadioCaps {
                auto_ack: has(AUTO_ACK),
                csma: has(CSMA),
                retries: has(RETRIES),
                source_match: has(SOURCE_MATCH),
            };
            it.max_frame_retries = self.max_frame_retries;
        });
        let (prefix, border) = (self.prefix(), Addr::UNSPECIFIED);
        NodeConfig::router(mac, prefix, border, 0, isn_secret).with(|it| {
            it.lowpan = LowpanConfig::default();
            it.tcp = tcp::Config {
                mss: self.mss,
                ..tcp::Config::default()
            };
            it.forwards = self.role != LEAF;
            it.nd.advertise = it.nd.advertise.filter(|_| self.children > 0);
            it.sleepy = (self.sleepy != 0).then_some(sleepy);
        })
    }
}

/// # Safety
/// `config` is null or points to a `struct rp_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_config_init(config: *mut RpConfig, role: u8) -> Code {
    // SAFETY: by this function's conditions.
    let filled = unsafe { reference(config) }
        .and_then(|config| RpConfig::of(role).map(|defaults| *config = defaults));
    code(filled.map(|()| 0))
}
