//! Builds IPv6 packets with TCP byte by byte, and TAiM engines with memory on the heap.

use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Memory, Params, Taim};
use redpoll_base::Instant;

pub enum Heap {}

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

pub type Engine = Taim<Heap, usize>;

pub fn engine(params: Params, flows: usize, packets: usize) -> Engine {
    let memory = Memory {
        flows: vec![FlowSlot::EMPTY; flows].into(),
        index: vec![0; (2 * flows).next_power_of_two()].into(),
        schedule: vec![0; flows].into(),
        held: (0..packets).map(|_| HeldSlot::EMPTY).collect(),
    };
    Taim::new(params, [3, 4], memory)
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;

/// A segment from end `from` (its last address byte and port) to `to`.
#[derive(Clone, Copy)]
pub struct Tcp {
    pub from: (u8, u16),
    pub to: (u8, u16),
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub len: usize,
}

impl Tcp {
    pub fn packet(self) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((20 + self.len as u16).to_be_bytes());
        bytes.extend([6, 64]);
        for end in [self.from, self.to] {
            let mut addr = [0xfd; 16];
            addr[15] = end.0;
            bytes.extend(addr);
        }
        bytes.extend(self.from.1.to_be_bytes());
        bytes.extend(self.to.1.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend([0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        bytes.resize(60 + self.len, 0);
        bytes
    }
}

/// A connection between a node of the mesh and the host, whose address ends with 200.
#[derive(Clone, Copy)]
pub struct Conn {
    pub node: (u8, u16),
    pub host: (u8, u16),
    /// Bytes that the node and the host have sent.
    pub up: u32,
    pub down: u32,
}

impl Conn {
    pub fn of(node: u8) -> Conn {
        Conn {
            node: (node, 1_000),
            host: (200, 80),
            up: u32::from(node).wrapping_mul(1_000_000_000),
            down: 77,
        }
    }

    fn segment(&self, is_up: bool, flags: u8, len: usize) -> Tcp {
        let (from, to) = match is_up {
            true => (self.node, self.host),
            false => (self.host, self.node),
        };
        let (seq, ack) = match is_up {
            true => (self.up, self.down),
            false => (self.down, self.up),
        };
        Tcp {
            from,
            to,
            seq,
            ack,
            flags,
            len,
        }
    }

    pub fn data(&mut self, len: usize) -> Vec<u8> {
        let packet = self.segment(true, ACK, len).packet();
        self.up = self.up.wrapping_add(len as u32);
        packet
    }

    pub fn data_down(&mut self, len: usize) -> Vec<u8> {
        let packet = self.segment(false, ACK, len).packet();
        self.down = self.down.wrapping_add(len as u32);
        packet
    }

    pub fn ack(&self) -> Vec<u8> {
        self.segment(false, ACK, 0).packet()
    }

    pub fn ack_up(&self) -> Vec<u8> {
        self.segment(true, ACK, 0).packet()
    }

    pub fn flags_up(&mut self, flags: u8) -> Vec<u8> {
        let packet = self.segment(true, flags, 0).packet();
        self.up = self.up.wrapping_add(u32::from(flags & (SYN | FIN) != 0));
        packet
    }

    pub fn flags_down(&mut self, flags: u8) -> Vec<u8> {
        let packet = self.segment(false, flags, 0).packet();
        self.down = self.down.wrapping_add(u32::from(flags & (SYN | FIN) != 0));
        packet
    }

    pub fn handshake(&mut self) -> [Vec<u8>; 3] {
        [
            self.flags_up(SYN),
            self.flags_down(SYN | ACK),
            self.ack_up(),
        ]
    }

    /// Passes the handshake, which confirms the flow, and leaves no packet waiting.
    pub fn open(&mut self, engine: &mut Engine, now: Instant) {
        for packet in self.handshake() {
            if engine.input(now, &packet, usize::MAX) == Input::Wait {
                while engine.waiting_packets() > 0 {
                    engine.take(now);
                }
            }
        }
    }
}

pub fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}
