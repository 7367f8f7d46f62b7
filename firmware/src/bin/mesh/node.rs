//! The nodes: configuration, tables and buffers.

use redpoll_stack::base::{Addr, Duration, StaticMemory};
use redpoll_stack::lowpan::Slot;
use redpoll_stack::mac::{MacConfig, RadioCaps};
use redpoll_stack::transport::{Config, FastOpenServer, HalfOpen};
use redpoll_stack::wire::ipv6::addr;
use redpoll_stack::wire::sixlowpan::Contexts;
use redpoll_stack::{
    Advertised, ConnectionSlot, ListenerSlot, NdConfig, Neighbour, Node, NodeConfig, PollConfig,
    PollPolicy, RouteSlot, SleepyConfig, UdpSlot,
};

pub type Device = Node<StaticMemory>;

/// Nodes in the line: root, router, leaf.
pub const NODES: usize = 3;
pub const ROOT: usize = 0;
const ROUTER: usize = 1;
pub const LEAF: usize = 2;
/// Bytes of each data buffer of a node: send buffer, receive buffer, buffer for UDP.
pub const BUFFER: usize = 1848;
pub const SLOTS: usize = 4;
pub const MTU: usize = 1280;

const PREFIX: Addr = Addr([
    0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
]);

pub fn short(index: usize) -> u16 {
    index as u16 + 1
}

pub fn address(index: usize) -> Addr {
    addr::from_prefix_and_short(&PREFIX, short(index))
}

pub fn config(index: usize, payload: usize) -> NodeConfig {
    let is_leaf = index == LEAF;
    NodeConfig::over_ip(address(index), [7; 16]).with(|it| {
        it.mac = MacConfig::default().with(|it| {
            it.short = short(index);
            it.extended = [2, 0, 0, 0, 0, 0, 0, index as u8];
            it.caps = RadioCaps {
                auto_ack: true,
                source_match: true,
                ..RadioCaps::default()
            };
        });
        it.contexts = Contexts::with_prefix(PREFIX);
        it.tcp = Config {
            mss: payload as u16 + 12,
            ..Config::default()
        };
        it.forwards = !is_leaf;
        it.sleepy = is_leaf.then_some(
            SleepyConfig::new([Some(short(ROUTER)), None, None, None]).with(|it| {
                it.poll = PollConfig::default().with(|it| {
                    it.policy = PollPolicy::Fixed {
                        interval: Duration::from_millis(100),
                    }
                });
                it.burst = true;
            }),
        );
        it.nd = NdConfig::default()
            .with(|it| it.advertise = (!is_leaf).then_some(Advertised::new(PREFIX, address(ROOT))));
    })
}

/// The tables and buffers of a node.
pub struct Memory {
    pub connections: [ConnectionSlot<&'static mut [u8]>; 1],
    pub listeners: [ListenerSlot; 1],
    pub half_open: [HalfOpen; 2],
    pub servers: [FastOpenServer; 1],
    pub udp: [UdpSlot<&'static mut [u8]>; 1],
    pub routes: [Option<RouteSlot>; 8],
    pub neighbours: [Option<Neighbour>; 4],
    pub slots: [Slot; SLOTS],
}

impl Memory {
    pub fn new(buffers: &'static mut Buffers) -> Memory {
        Memory {
            connections: [ConnectionSlot::new(&mut buffers.tx, &mut buffers.rx)],
            listeners: [ListenerSlot::default()],
            half_open: [HalfOpen::default(); 2],
            servers: [FastOpenServer::default(); 1],
            udp: [UdpSlot::new(&mut buffers.udp)],
            routes: [None; 8],
            neighbours: [None; 4],
            slots: [Slot::EMPTY; SLOTS],
        }
    }
}

/// Aligned to four bytes, so that copies cost the same in every build.
#[repr(align(4))]
pub struct Buffers {
    pub tx: [u8; BUFFER],
    pub rx: [u8; BUFFER],
    pub udp: [u8; BUFFER],
}

#[repr(align(4))]
pub struct Packets(pub [u8; SLOTS * MTU]);
