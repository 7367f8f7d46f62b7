//! Packets, built independently of the engine.

use redpoll_base::Addr;
use redpoll_base::checksum::Checksum;
use redpoll_wire::ipv6::Ipv6Header;

pub fn packet(src: Addr, dst: Addr, next_header: u8, hop_limit: u8, upper: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        payload_len: upper.len() as u16,
        next_header,
        hop_limit,
        src,
        dst,
        ..Ipv6Header::default()
    };
    [&header.to_bytes(), upper].concat()
}

fn summed(src: Addr, dst: Addr, protocol: u8, at: usize, mut upper: Vec<u8>) -> Vec<u8> {
    let mut sum = Checksum::pseudo_header(&src, &dst, protocol, upper.len() as u32);
    sum.add(&upper);
    upper[at..at + 2].copy_from_slice(&sum.finish().to_be_bytes());
    upper
}

#[derive(Clone, Copy, Default)]
pub struct Tcp<'a> {
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub data: &'a [u8],
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;

impl Tcp<'_> {
    pub fn packet(&self, src: Addr, dst: Addr) -> Vec<u8> {
        self.packet_with(src, dst, &[])
    }

    /// Returns the packet with these options, which fill whole words.
    pub fn packet_with(&self, src: Addr, dst: Addr, options: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.src_port.to_be_bytes());
        bytes.extend(self.dst_port.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        let offset = (5 + options.len() / 4) << 4;
        bytes.extend([offset as u8, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        bytes.extend(self.data);
        packet(src, dst, 6, 64, &summed(src, dst, 6, 16, bytes))
    }
}

/// Flags, sequence number, acknowledgment, window and data of a TCP packet.
pub fn read_tcp(packet: &[u8]) -> Option<(u8, u32, u32, u16, &[u8])> {
    let word = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
    if packet[6] != 6 || packet.len() < 60 {
        return None;
    }
    let data = 40 + usize::from(packet[52] >> 4) * 4;
    let window = u16::from_be_bytes([packet[54], packet[55]]);
    Some((packet[53], word(44), word(48), window, packet.get(data..)?))
}

pub fn udp(src: Addr, dst: Addr, ports: (u16, u16), data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(ports.0.to_be_bytes());
    bytes.extend(ports.1.to_be_bytes());
    bytes.extend((data.len() as u16 + 8).to_be_bytes());
    bytes.extend([0; 2]);
    bytes.extend(data);
    packet(src, dst, 17, 64, &summed(src, dst, 17, 6, bytes))
}

/// Returns an ICMPv6 message: type, code, and the rest after the checksum.
pub fn icmp(src: Addr, dst: Addr, hop_limit: u8, kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let message = [&[kind, code, 0, 0], rest].concat();
    packet(src, dst, 58, hop_limit, &summed(src, dst, 58, 2, message))
}

pub fn echo_request(src: Addr, dst: Addr) -> Vec<u8> {
    icmp(src, dst, 64, 128, 0, &[0, 1, 0, 2, 9, 9])
}
