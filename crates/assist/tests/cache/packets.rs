//! Builds TCP segments over IPv6, and a cache with memory on the heap.

use redpoll_assist::cache::{Cache, Disposition, FlowSlot, HeldSlot, Memory, Params};
use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Instant, Rng};
use redpoll_wire::ipv6::Ipv6Header;

pub enum Heap {}

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

/// Returns a cache for `flows` connections and `packets` copies of `bytes` each.
pub fn cache(params: Params, flows: usize, packets: usize, bytes: usize) -> Cache<Heap> {
    Cache::new(
        params,
        Rng::new(1),
        Memory {
            flows: vec![FlowSlot::EMPTY; flows].into(),
            held: vec![HeldSlot::EMPTY; packets].into(),
            bytes: vec![0; packets * bytes].into(),
        },
    )
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
pub const CWR: u8 = 128;

pub const CLIENT: (u8, u16) = (7, 1_025);
pub const SERVER: (u8, u16) = (1, 5_001);

/// A segment from end `from` (its last address byte and port) to `to`.
#[derive(Clone, Debug)]
pub struct Tcp {
    pub from: (u8, u16),
    pub to: (u8, u16),
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<(u32, u32)>,
    pub scale: Option<u8>,
    pub ecn: u8,
    pub data: Vec<u8>,
}

pub fn data(seq: u32, ack: u32, len: usize) -> Tcp {
    let data = (0..len).map(|at| seq.wrapping_add(at as u32) as u8);
    Tcp {
        from: CLIENT,
        to: SERVER,
        seq,
        ack,
        flags: ACK,
        window: 48,
        timestamps: None,
        sack: Vec::new(),
        scale: None,
        ecn: 0,
        data: data.collect(),
    }
}

pub fn ack(seq: u32, ack: u32) -> Tcp {
    Tcp {
        from: SERVER,
        to: CLIENT,
        ..data(seq, ack, 0)
    }
}

impl Tcp {
    pub fn packet(&self) -> Vec<u8> {
        let mut tcp = Vec::new();
        tcp.extend(self.from.1.to_be_bytes());
        tcp.extend(self.to.1.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        let mut options = Vec::new();
        if let Some((value, echo)) = self.timestamps {
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        if let Some(scale) = self.scale {
            options.extend([1, 3, 3, scale]);
        }
        if !self.sack.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * self.sack.len() as u8]);
            for (left, right) in &self.sack {
                options.extend(left.to_be_bytes());
                options.extend(right.to_be_bytes());
            }
        }
        let offset = (20 + options.len() as u8) << 2;
        tcp.extend([offset, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.extend(&self.data);
        let addr = |end: (u8, u16)| {
            let mut addr = [0xfd; 16];
            addr[15] = end.0;
            Addr(addr)
        };
        let (src, dst) = (addr(self.from), addr(self.to));
        let mut sum = Checksum::pseudo_header(&src, &dst, 6, tcp.len() as u32);
        sum.add(&tcp);
        tcp[16..18].copy_from_slice(&sum.finish().to_be_bytes());
        let header = Ipv6Header {
            ecn: redpoll_base::Ecn::from_bits(self.ecn),
            payload_len: tcp.len() as u16,
            next_header: 6,
            hop_limit: 63,
            src,
            dst,
            ..Ipv6Header::default()
        };
        let mut packet = header.to_bytes().to_vec();
        packet.extend(tcp);
        packet
    }
}

/// Passes the handshake of a connection whose [`data`] begins at 100 and acknowledges 1.
pub fn open(cache: &mut Cache<Heap>) {
    let mut syn = data(99, 0, 0);
    syn.flags = SYN;
    let mut answer = ack(0, 100);
    answer.flags = SYN | ACK;
    for it in [syn, answer, data(100, 1, 0)] {
        assert_eq!(pass(cache, 0, &it.packet()), Disposition::Forward);
    }
}

pub fn pass(cache: &mut Cache<Heap>, ms: u64, packet: &[u8]) -> Disposition {
    let (header, _) = Ipv6Header::parse_partial(packet).unwrap();
    cache.on_forward(Instant::from_millis(ms), &header, packet)
}

pub fn sent(cache: &mut Cache<Heap>, ms: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let now = Instant::from_millis(ms);
    let mut out = [0; 1_280];
    while cache.poll_at().is_some_and(|wake| wake.at <= now)
        && let Some(len) = cache.poll_packet(now, &mut out)
    {
        all.push(out[..len].to_vec());
    }
    all
}

/// Returns the time at which the cache must be called, in ms.
pub fn due(cache: &Cache<Heap>) -> Option<u64> {
    cache.poll_at().map(|wake| wake.at.as_millis())
}
