//! Shared parts of the tests: nodes whose memory is on the heap, packets, a payload source.
#![allow(dead_code)]

#[cfg(feature = "recovery")]
pub mod recoverable;

use redpoll_base::{Addr, Ecn, Instant, Memory};
use redpoll_lowpan::{
    Gone, Lowpan, LowpanConfig, LowpanMemory, PayloadSource, PulledDatagram, Slot, SlotId,
    TRANSPORT_HEADER_MAX,
};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::udp::UdpHeader;

/// 6LoWPAN bytes that fit into a frame with two short addresses.
pub const CAPACITY: usize = 127 - 9 - 2;
pub const A: Address = Address::Short(1);
pub const B: Address = Address::Short(2);
pub const C: Address = Address::Short(3);

pub enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

pub type Node = Lowpan<Heap>;

pub fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

pub fn prefix() -> Addr {
    let mut addr = [0; 16];
    addr[..8].copy_from_slice(&[0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c]);
    Addr(addr)
}

pub fn addr(short: u16) -> Addr {
    let mut addr = prefix().0;
    addr[11..14].copy_from_slice(&[0xff, 0xfe, 0x00]);
    addr[14..].copy_from_slice(&short.to_be_bytes());
    Addr(addr)
}

pub fn node_with(config: LowpanConfig, slots: usize, slot_size: usize) -> Node {
    let memory = LowpanMemory {
        slots: vec![Slot::EMPTY; slots].into(),
        bytes: vec![0; slots * slot_size].into(),
    };
    let mut node = Lowpan::new(config, memory);
    assert!(node.contexts_mut().set(0, prefix(), 64));
    node
}

pub fn node(slots: usize) -> Node {
    node_with(LowpanConfig::default(), slots, 1280)
}

pub fn ip(next_header: u8) -> Ipv6Header {
    Ipv6Header {
        dscp: 0,
        ecn: Ecn::NotEct,
        flow_label: 0,
        payload_len: 0,
        next_header,
        hop_limit: 64,
        src: addr(1),
        dst: addr(2),
    }
}

/// Returns bytes that are different for every seed and place.
pub fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i * 7 + i / 251 + seed * 13) as u8)
        .collect()
}

pub fn packet(header: Ipv6Header, seed: usize, len: usize) -> Vec<u8> {
    let header = Ipv6Header {
        payload_len: len as u16,
        ..header
    };
    let mut bytes = header.to_bytes().to_vec();
    bytes.extend(pattern(seed, len));
    bytes
}

pub fn udp_packet(seed: usize, len: usize) -> Vec<u8> {
    let payload = pattern(seed, len);
    let udp = UdpHeader::for_payload(&addr(1), 5683, &addr(2), 0xf0b1, &payload).unwrap();
    let mut bytes = packet(ip(17), 0, len + 8);
    bytes.truncate(40);
    bytes.extend(udp.to_bytes());
    bytes.extend(payload);
    bytes
}

/// Returns a TCP segment with a header of 32 bytes, and its whole packet.
pub fn segment(handle: u32, ip: Ipv6Header, payload_len: usize) -> (PulledDatagram, Vec<u8>) {
    let mut header = [0; TRANSPORT_HEADER_MAX];
    header[..32].copy_from_slice(&pattern(99, 32));
    let mut bytes = packet(ip, 0, 32 + payload_len);
    bytes.truncate(40);
    bytes.extend(&header[..32]);
    bytes.extend(pattern(handle as usize, payload_len));
    let pulled = PulledDatagram {
        ip,
        header,
        header_len: 32,
        payload_len: payload_len as u16,
        handle,
        next_hop: B,
        is_followed: false,
    };
    (pulled, bytes)
}

/// The transport's send buffer: the payload of segment `h` is `pattern(h, …)`.
#[derive(Default)]
pub struct Source {
    /// Number of reads that still succeed; `None` if all succeed.
    pub reads_left: Option<usize>,
    pub reads: usize,
}

impl PayloadSource for Source {
    fn read(&mut self, handle: u32, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        self.reads += 1;
        match &mut self.reads_left {
            Some(0) => return Err(Gone),
            Some(left) => *left -= 1,
            None => {}
        }
        let bytes = pattern(handle as usize, offset + out.len());
        out.copy_from_slice(&bytes[offset..]);
        Ok(out.len())
    }
}

pub fn hold(node: &mut Node, packet: &[u8]) -> SlotId {
    let slot = node.allocate(packet.len()).expect("a slot is free");
    node.packet_mut(slot).copy_from_slice(packet);
    slot
}

pub fn next_frame(
    node: &mut Node,
    now: Instant,
    source: &mut Source,
) -> Option<(Address, Vec<u8>)> {
    let mut out = [0; CAPACITY];
    let frame = node.next_frame(now, A, CAPACITY, &mut out, source)?;
    Some((frame.dst, out[..frame.len].to_vec()))
}

/// Returns all frames that a node sends; the link delivers each.
pub fn drain(node: &mut Node, now: Instant) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some((_, frame)) = next_frame(node, now, &mut Source::default()) {
        frames.push(frame);
        node.on_frame_done(now, true);
    }
    frames
}

pub fn frames_of(packet: &[u8], first_tag: u16) -> Vec<Vec<u8>> {
    let config = LowpanConfig::default().with(|it| it.first_tag = first_tag);
    let mut node = node_with(config, 2, 2048);
    let slot = hold(&mut node, packet);
    node.queue(Instant::ZERO, slot, B);
    drain(&mut node, Instant::ZERO)
}

/// Feeds a frame from `A` to `B` and takes out the packet it completes.
pub fn receive(node: &mut Node, now: Instant, frame: &[u8]) -> Option<Vec<u8>> {
    let slot = node.input(now, A, B, frame).unwrap()?;
    let packet = node.packet(slot).to_vec();
    node.release(slot);
    Some(packet)
}
