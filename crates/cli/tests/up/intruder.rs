//! A node that no scenario contains. It sends any IPv6 packet in frames over UDP.

use std::net::{Ipv6Addr, SocketAddrV6, UdpSocket};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redpoll_base::checksum::Checksum;
use redpoll_linux::radio::zep::Datagram;

/// A station whose frames the border router of `redpoll up --radio` receives.
pub struct Intruder {
    socket: UdpSocket,
    sequence: u8,
}

impl Intruder {
    /// Returns a station on a free port, and the `--radio` URL of a border router that hears it.
    pub fn new() -> (Intruder, String) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let here = socket.local_addr().unwrap();
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = free.local_addr().unwrap();
        drop(free);
        socket.connect(there).unwrap();
        let sequence = 0;
        (
            Intruder { socket, sequence },
            format!("zep://{here}?listen={there}"),
        )
    }

    /// Sends a UDP datagram from `from` to `to`, in a frame to the border router's short address.
    pub fn send(&mut self, from: (Ipv6Addr, u16), to: (Ipv6Addr, u16), text: &[u8]) {
        let mut frame = vec![0x41, 0x88, self.sequence];
        self.sequence = self.sequence.wrapping_add(1);
        for word in [0x7270_u16, 1, 99] {
            frame.extend(word.to_le_bytes());
        }
        // RFC 4944 §5.1: an uncompressed IPv6 packet.
        frame.push(0x41);
        frame.extend(packet(from, to, text));
        let datagram = Datagram {
            channel: 26,
            device: 99,
            lqi: 255,
            sequence: u32::from(self.sequence),
            mpdu: &frame,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.socket.send(&datagram.to_bytes(now)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn packet(from: (Ipv6Addr, u16), to: (Ipv6Addr, u16), text: &[u8]) -> Vec<u8> {
    let len = (8 + text.len()) as u16;
    let mut udp = [from.1.to_be_bytes(), to.1.to_be_bytes(), len.to_be_bytes()].concat();
    udp.extend([0, 0]);
    udp.extend(text);
    let mut sum = Checksum::pseudo_header(&from.0.into(), &to.0.into(), 17, u32::from(len));
    sum.add(&udp);
    udp[6..8].copy_from_slice(&sum.finish().to_be_bytes());
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(len.to_be_bytes());
    packet.extend([17, 64]);
    packet.extend(from.0.octets());
    packet.extend(to.0.octets());
    packet.extend(udp);
    packet
}

/// Returns the datagrams that arrive at a UDP socket, as text, until one second of silence.
pub fn received(socket: &UdpSocket) -> Vec<(SocketAddrV6, String)> {
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let mut all = Vec::new();
    let mut bytes = [0; 200];
    while let Ok((len, std::net::SocketAddr::V6(from))) = socket.recv_from(&mut bytes) {
        all.push((from, String::from_utf8_lossy(&bytes[..len]).into_owned()));
    }
    all
}
