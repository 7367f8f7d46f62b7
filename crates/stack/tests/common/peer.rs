//! A host behind the border router whose TCP the test controls.

use redpoll_base::Addr;
use redpoll_stack::ConnId;

use super::address;
use super::lone::Lone;
use super::packets::{ACK, FIN, SYN, Tcp, read_tcp};

pub const HOST: Addr = Addr([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
/// A peer at the host that sends only what the test requests.
pub struct Peer {
    pub port: u16,
    pub seq: u32,
    pub ack: u32,
}

/// Returns a peer and its connection to port 80 of the node. Takes all events of the node.
pub fn accepted(lone: &mut Lone) -> (Peer, ConnId) {
    let listener = lone.node.tcp_listen(80).unwrap();
    let peer = Peer::open(lone, 5_000);
    let conn = lone.node.tcp_accept(listener).unwrap();
    while lone.node.poll_event().is_some() {}
    (peer, conn)
}

impl Peer {
    pub fn open(lone: &mut Lone, port: u16) -> Peer {
        let mut peer = Peer::half_open(lone, port);
        peer.give(lone, ACK, b"");
        peer
    }

    pub fn half_open(lone: &mut Lone, port: u16) -> Peer {
        let mut peer = Peer {
            port,
            seq: 1_000,
            ack: 0,
        };
        peer.give(lone, SYN, b"");
        let answer = lone.host_packets();
        let (flags, seq, ..) = read_tcp(&answer[0]).unwrap();
        assert_eq!(flags, SYN | ACK);
        peer.ack = seq.wrapping_add(1);
        peer
    }

    pub fn segment<'a>(&self, flags: u8, data: &'a [u8]) -> Tcp<'a> {
        Tcp {
            src_port: self.port,
            dst_port: 80,
            seq: self.seq,
            ack: self.ack,
            flags,
            window: 4_000,
            data,
        }
    }

    pub fn give(&mut self, lone: &mut Lone, flags: u8, data: &[u8]) {
        let packet = self.segment(flags, data).packet(HOST, address(1));
        lone.host_sends(&packet).unwrap();
        self.seq += data.len() as u32 + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    }

    /// Acknowledges everything received; returns the received flags.
    pub fn acknowledge(&mut self, lone: &mut Lone) -> u8 {
        let mut seen = 0;
        for packet in lone.host_packets() {
            let Some((flags, seq, _, _, data)) = read_tcp(&packet) else {
                continue;
            };
            seen |= flags;
            self.ack = seq.wrapping_add(data.len() as u32 + u32::from(flags & FIN != 0));
        }
        self.give(lone, ACK, b"");
        seen
    }
}
