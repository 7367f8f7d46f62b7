//! Builds TCP segments over IPv6 with checksums, and an engine with memory on the heap.

use redpoll_assist::spare::{FlowSlot, Memory, Side, Spare};
use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Instant};

pub enum Heap {}

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

pub type Engine = Spare<Heap>;

pub fn engine(flows: usize, room: usize) -> Engine {
    Spare::new(Memory {
        flows: vec![FlowSlot::EMPTY; flows].into(),
        bytes: vec![0; flows * room].into(),
        half: vec![0; 1_280].into(),
    })
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;
pub const URG: u8 = 32;

/// A segment between a node, whose last address byte is `node`, and the host, whose byte is 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub node: u8,
    pub from: Side,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
}

impl Tcp {
    pub fn new(node: u8, from: Side, numbers: (u32, u32), flags: u8) -> Tcp {
        Tcp {
            node,
            from,
            seq: numbers.0,
            ack: numbers.1,
            flags,
            window: 40,
            options: Vec::new(),
            payload: Vec::new(),
        }
    }

    pub fn window(self, window: u16) -> Tcp {
        Tcp { window, ..self }
    }

    pub fn options(self, options: &[u8]) -> Tcp {
        let options = options.to_vec();
        Tcp { options, ..self }
    }

    pub fn payload(self, payload: &[u8]) -> Tcp {
        let payload = payload.to_vec();
        Tcp { payload, ..self }
    }

    pub fn packet(&self) -> Vec<u8> {
        let (mut node, mut host) = ([0xfd; 16], [0xfe; 16]);
        (node[15], host[15]) = (self.node, 200);
        let ends = [(node, 1_000_u16), (host, 80_u16)];
        let [from, to] = match self.from {
            Side::Mesh => ends,
            Side::Host => [ends[1], ends[0]],
        };
        let mut segment = Vec::new();
        segment.extend(from.1.to_be_bytes());
        segment.extend(to.1.to_be_bytes());
        segment.extend(self.seq.to_be_bytes());
        segment.extend(self.ack.to_be_bytes());
        let words = 5 + self.options.len().div_ceil(4);
        segment.extend([(words as u8) << 4, self.flags]);
        segment.extend(self.window.to_be_bytes());
        segment.extend([0; 4]);
        segment.extend(&self.options);
        segment.resize(4 * words, 0);
        segment.extend(&self.payload);
        let len = segment.len() as u32;
        let mut sum = Checksum::pseudo_header(&Addr(from.0), &Addr(to.0), 6, len);
        sum.add(&segment);
        segment[16..18].copy_from_slice(&sum.finish().to_be_bytes());
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend((len as u16).to_be_bytes());
        packet.extend([6, 64]);
        packet.extend(from.0);
        packet.extend(to.0);
        packet.extend(segment);
        packet
    }

    pub fn of(packet: &[u8], from: Side) -> Tcp {
        let segment = &packet[40..];
        let len = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
        assert_eq!(len, segment.len(), "the length of the payload");
        let addr = |at: usize| Addr(packet[at..at + 16].try_into().unwrap());
        let mut sum = Checksum::pseudo_header(&addr(8), &addr(24), 6, len as u32);
        sum.add(segment);
        assert!(sum.is_valid(), "checksum");
        let long = |at: usize| u32::from_be_bytes(segment[at..at + 4].try_into().unwrap());
        let data = usize::from(segment[12] >> 4) * 4;
        Tcp {
            node: match from {
                Side::Mesh => packet[23],
                Side::Host => packet[39],
            },
            from,
            seq: long(4),
            ack: long(8),
            flags: segment[13],
            window: u16::from_be_bytes([segment[14], segment[15]]),
            options: segment[20..data].to_vec(),
            payload: segment[data..].to_vec(),
        }
    }
}

/// Passes one packet; returns all resulting packets in order.
pub fn crosses(engine: &mut Engine, now: Instant, segment: &Tcp) -> Vec<Tcp> {
    let mut packet = segment.packet();
    let mut left = Vec::new();
    if let Some(len) = engine.input(now, segment.from, &mut packet) {
        left.push(Tcp::of(&packet[..len], segment.from));
    }
    let mut out = [0xaa; 1_280];
    while let Some((to, len)) = engine.poll(&mut out) {
        let from = match to {
            Side::Mesh => Side::Host,
            Side::Host => Side::Mesh,
        };
        left.push(Tcp::of(&out[..len], from));
    }
    left
}
