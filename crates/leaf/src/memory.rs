//! Where everything of a leaf lies: the lengths are the limits.

use redpoll_base::LeafMemory;
use redpoll_stack::lowpan::{LowpanMemory, Slot};
use redpoll_stack::{
    ConnectionSlot, FastOpenServer, HalfOpen, ListenerSlot, Neighbour, NodeMemory, RouteSlot,
    UdpSlot,
};

/// Bytes of each of the connection's buffers: four segments of 462.
const STREAM: usize = 1_848;
/// Bytes that wait in the UDP socket.
const DATAGRAMS: usize = 192;
/// Packets that are put together, or wait for the radio, at the same time.
const SLOTS: usize = 3;
/// The longest of them: a segment of five frames, its headers not compressed.
const PACKET: usize = 544;

/// Buffers of bytes, at a multiple of four, so that copies are of words.
#[derive(Debug)]
#[repr(align(4))]
pub struct Buffers {
    send: [u8; STREAM],
    receive: [u8; STREAM],
    udp: [u8; DATAGRAMS],
    packets: [u8; SLOTS * PACKET],
}

impl Buffers {
    /// All zero.
    pub const fn new() -> Buffers {
        Buffers {
            send: [0; STREAM],
            receive: [0; STREAM],
            udp: [0; DATAGRAMS],
            packets: [0; SLOTS * PACKET],
        }
    }

    /// Tables over the buffers, to be put into a place of their own.
    pub fn slots(&'static mut self) -> Slots {
        Slots {
            connections: [ConnectionSlot::new(&mut self.send, &mut self.receive)],
            listeners: [ListenerSlot::default(), ListenerSlot::default()],
            half_open: [HalfOpen::default()],
            servers: [],
            udp: [UdpSlot::new(&mut self.udp)],
            routes: [None],
            neighbours: [],
            slots: [Slot::EMPTY; SLOTS],
            packets: &mut self.packets,
        }
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Buffers::new()
    }
}

/// A node's tables.
pub struct Slots {
    connections: [ConnectionSlot<&'static mut [u8]>; 1],
    listeners: [ListenerSlot; 2],
    half_open: [HalfOpen; 1],
    servers: [FastOpenServer; 0],
    udp: [UdpSlot<&'static mut [u8]>; 1],
    routes: [Option<RouteSlot>; 1],
    neighbours: [Option<Neighbour>; 0],
    slots: [Slot; SLOTS],
    packets: &'static mut [u8],
}

/// What a [node](crate::node()) is made with.
pub struct Tables {
    pub(crate) memory: NodeMemory<LeafMemory>,
}

impl Slots {
    /// The tables, in their place.
    pub fn tables(&'static mut self) -> Tables {
        Tables {
            memory: NodeMemory {
                connections: &mut self.connections,
                listeners: &mut self.listeners,
                half_open: &mut self.half_open,
                servers: &mut self.servers,
                udp: &mut self.udp,
                routes: &mut self.routes,
                neighbours: &mut self.neighbours,
                lowpan: LowpanMemory {
                    slots: &mut self.slots,
                    bytes: self.packets,
                },
            },
        }
    }
}
