//! A node on the caller's IPv6 stack: packets in and out, TCP between them and the sockets.

use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_socket::Errno;
use redpoll_stack::transport as tcp;
use redpoll_stack::wire::ipv6::{Ipv6Header, addr};
use redpoll_stack::{DropReason, NodeConfig, Route, Via};

use crate::entropy::{secret, seed};
use crate::error::{Code, bytes, bytes_mut, code, reference, value};
use crate::groups::{self, KindConfig};
use crate::handle::{Below, RpNode};
use crate::plan::Room;
use crate::role::LEAF;
use crate::store::Store;

/// The minimum MTU of IPv6 (RFC 8200 §5) in bytes: the smallest buffer for packets to send.
const MTU: u16 = 1_280;
/// The headers of IPv6 and TCP in a segment without options, in bytes.
const HEADERS: u16 = 60;
/// Least length of a send, receive or UDP buffer in bytes, the same as for a node with a radio.
const BUFFER_MIN: u16 = 64;
/// Longest delay of acknowledgements in units of 10 ms; RFC 9293 §3.8.6.3: less than 500 ms.
const ACK_DELAY_MAX: u8 = 47;

/// `struct rp_ip_config`; `redpoll.h` describes each member.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpIpConfig {
    pub address: [u8; 16],
    pub entropy: [u8; 32],
    pub mss: u16,
    pub send_buffer: u16,
    pub receive_buffer: u16,
    pub udp_buffer: u16,
    pub packet_bytes: u16,
    pub connections: u8,
    pub listeners: u8,
    pub half_open: u8,
    pub udp_sockets: u8,
    pub sockets: u8,
    pub packets: u8,
    pub hop_limit: u8,
    pub ack_delay: u8,
}

impl RpIpConfig {
    /// The default configuration; address and entropy are 0.
    const DEFAULT: RpIpConfig = RpIpConfig {
        address: [0; 16],
        entropy: [0; 32],
        mss: MTU - HEADERS,
        send_buffer: 4 * (MTU - HEADERS),
        receive_buffer: 4 * (MTU - HEADERS),
        udp_buffer: 512,
        packet_bytes: MTU,
        connections: 1,
        listeners: 1,
        half_open: 2,
        udp_sockets: 0,
        sockets: 4,
        packets: 2,
        hop_limit: 64,
        ack_delay: 20,
    };

    /// Returns `EINVAL` if a value is invalid, contradicts another or needs an absent feature.
    fn check(&self) -> Result<(), Errno> {
        let own = Addr(self.address);
        let no_address = own.is_unspecified() || own.is_multicast() || addr::is_link_local(&own);
        let buffers = [self.send_buffer, self.receive_buffer, self.udp_buffer];
        let refused = no_address
            || self.entropy == [0; 32]
            || buffers.iter().any(|len| *len < BUFFER_MIN)
            || self.mss < 64
            // Without path MTU discovery, packets have at most the minimum MTU (RFC 8201 §4).
            || (self.mss > MTU.saturating_sub(HEADERS) && !redpoll_tcp::PATH_MTU)
            // A packet buffer must hold a segment of the MSS that is announced to peers.
            || self.packet_bytes < self.mss.saturating_add(HEADERS)
            || self.packets == 0
            || self.hop_limit == 0
            || (self.udp_sockets > 0 && !Store::HAS_UDP)
            || !(1..=ACK_DELAY_MAX).contains(&self.ack_delay);
        if refused { Err(Errno::EINVAL) } else { Ok(()) }
    }

    fn room(&self) -> Room {
        Room {
            connections: self.connections,
            listeners: self.listeners,
            half_open: self.half_open,
            udp_sockets: self.udp_sockets,
            sockets: self.sockets,
            packets: self.packets,
            children: 0,
            rpl_neighbours: 0,
            groups: 0,
            role: LEAF,
            seed: 0,
            // One route is enough: all packets go to the host.
            routes: 1,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
            udp_buffer: self.udp_buffer,
            packet_bytes: self.packet_bytes,
        }
    }

    fn node_config(&self) -> KindConfig {
        NodeConfig::over_ip(Addr(self.address), secret(&self.entropy)).with(|it| {
            it.hop_limit = self.hop_limit;
            it.tcp = tcp::Config {
                mss: self.mss,
                delayed_ack: Duration::from_millis(10).times(self.ack_delay.into()),
                ..tcp::Config::default()
            };
        })
    }
}

/// # Safety
/// `config` is null or points to a `struct rp_ip_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_ip_config_init(config: *mut RpIpConfig) -> Code {
    // SAFETY: by this function's conditions.
    let config = unsafe { reference(config) };
    code(config.map(|config| {
        *config = RpIpConfig::DEFAULT;
        0
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `config` points to a `struct rp_ip_config`, and `len` to a
/// `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_sizeof_ip(config: *const RpIpConfig, len: *mut usize) -> Code {
    // SAFETY: by this function's conditions.
    let (config, len) = unsafe { (value(config), reference(len)) };
    code(config.and_then(|config| {
        config.check()?;
        *len? = RpNode::plan(&config.room())?.len();
        Ok(0)
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `config` points to a `struct rp_ip_config`, `made` to a
/// pointer, and `memory` to `len` bytes that no other code uses during the node's life.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_ip_init(
    memory: *mut u8,
    len: usize,
    config: *const RpIpConfig,
    made: *mut *mut RpNode,
) -> Code {
    // SAFETY: by this function's conditions.
    let config = unsafe { value(config) };
    let answer = config.and_then(|config| {
        config.check()?;
        let birth = |tables, groups| {
            let random = Rng::new(seed(&config.entropy));
            let mut node = groups::node(config.node_config(), tables, random, groups);
            // Ignores the result, because an empty table has room for this route.
            let _ = node.add_route(Route {
                prefix: Addr::UNSPECIFIED,
                len: 0,
                via: Via::Host,
            });
            node
        };
        // SAFETY: by this function's conditions.
        unsafe { RpNode::make((memory, len), &config.room(), Below::Ip, made, birth) }
    });
    code(answer.map(|()| 0))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `packet` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_ip_input(
    node: *mut RpNode,
    now_us: u64,
    packet: *const u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, packet) = unsafe { (RpNode::over_ip(node), bytes(packet, len)) };
    code(found.and_then(|node| input(node, Instant::from_micros(now_us), packet?)))
}

const IGNORED_MULTICAST: usize = 1;
const IGNORED_IPV4: usize = 2;

/// The shortest IPv4 header, in bytes (RFC 791 §3.1).
const IPV4_HEADER: usize = 20;

/// Checks a packet before the node receives it, so that the caller learns the error. Returns 0, or
/// why the node ignored the packet.
fn input(node: &mut RpNode, now: Instant, packet: &[u8]) -> Result<usize, Errno> {
    let longest = usize::from(node.packet_bytes);
    let node = node.node();
    let is_ipv4 = packet.first().is_some_and(|first| first >> 4 == 4);
    if is_ipv4 && packet.len() >= IPV4_HEADER {
        return Ok(IGNORED_IPV4);
    }
    let (header, _) = Ipv6Header::parse_partial(packet).or(Err(Errno::EINVAL))?;
    let announced = Ipv6Header::LEN.saturating_add(header.payload_len.into());
    if packet.len() < announced {
        return Err(Errno::EINVAL);
    }
    if header.dst.is_multicast() {
        return Ok(IGNORED_MULTICAST);
    }
    if node.address() != header.dst {
        return Err(Errno::EADDRNOTAVAIL);
    }
    if announced > longest {
        return Err(Errno::EMSGSIZE);
    }
    if !node.has_room() {
        return Err(Errno::EAGAIN);
    }
    match node.input_packet(now, packet) {
        Ok(()) => Ok(0),
        Err(DropReason::NoSlot) => Err(Errno::EAGAIN),
        Err(DropReason::TooBig) => Err(Errno::EMSGSIZE),
        Err(_) => Err(Errno::EINVAL),
    }
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `out` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_ip_output(
    node: *mut RpNode,
    now_us: u64,
    out: *mut u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, out) = unsafe { (RpNode::over_ip(node), bytes_mut(out, len)) };
    code(found.and_then(|node| {
        let out = out?;
        // A short `out` is refused, because a packet that does not fit would be lost.
        if out.len() < usize::from(node.packet_bytes.max(MTU)) {
            return Err(Errno::EINVAL);
        }
        let packet = node.node().poll_packet(Instant::from_micros(now_us), out);
        Ok(packet.unwrap_or(0))
    }))
}
