//! Connections that the attacker opens and then keeps with little traffic.

use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::tcp::{Flags, HeaderView};

use super::{Attacker, Transmission};
use crate::drill::attack::AttackKind;
use crate::drill::forge::{Ends, Tcp, flag};
use crate::drill::scene::WEB;

/// Largest number of connections that the attacker keeps.
const HELD: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(super) struct AttackerConnection {
    ends: Ends,
    port: u16,
    seq: u32,
    ack: u32,
}

impl Attacker {
    pub(super) fn window(&self) -> u16 {
        match self.kind {
            AttackKind::SlowReaders => 64,
            AttackKind::TrickleReaders => 600,
            _ => 4_096,
        }
    }

    /// Returns an acknowledgment of all data on the next open connection, with a small window.
    pub(super) fn take_some(&mut self) -> Option<Vec<u8>> {
        let held = self.held.pop_front()?;
        self.held.push_back(held);
        Some(held.ends.tcp(&Tcp {
            src_port: held.port,
            dst_port: WEB,
            seq: held.seq,
            ack: held.ack,
            flags: flag::ACK,
            window: self.window(),
            data: b"",
        }))
    }

    /// Returns a segment with another byte of the request on the next open connection.
    pub(super) fn drip(&mut self) -> Option<Vec<u8>> {
        let mut held = self.held.pop_front()?;
        let tcp = Tcp {
            src_port: held.port,
            dst_port: WEB,
            seq: held.seq,
            ack: held.ack,
            flags: flag::ACK,
            window: 4_096,
            data: b"x",
        };
        held.seq = held.seq.wrapping_add(1);
        self.held.push_back(held);
        Some(held.ends.tcp(&tcp))
    }

    /// Updates a reader's connection after received data, and removes it after a reset.
    fn note(&mut self, packet: &[u8]) {
        let Some((_, tcp)) = segment(packet) else {
            return;
        };
        let (port, seq) = (tcp.dst_port(), tcp.seq().0);
        if tcp.flags().rst() {
            return self.held.retain(|held| held.port != port);
        }
        let len = tcp.payload_len() as u32;
        for held in self
            .held
            .iter_mut()
            .filter(|held| held.port == port && held.ack == seq)
        {
            held.ack = seq.wrapping_add(len);
        }
    }

    pub(in crate::drill) fn hear(&mut self, packet: &[u8]) -> Option<Transmission> {
        self.traffic.1 += packet.len() as u64;
        if self.kind == AttackKind::TrickleReaders {
            self.note(packet);
        }
        let completes = matches!(
            self.kind,
            AttackKind::SilentHandshakes
                | AttackKind::Slowloris
                | AttackKind::SlowReaders
                | AttackKind::TrickleReaders
        );
        let (ip, heard) = segment(packet).filter(|_| completes)?;
        if heard.flags() != Flags::SYN.with(Flags::ACK) {
            return None;
        }
        let ends = Ends {
            src: ip.dst,
            dst: ip.src,
        };
        let data: &[u8] = match self.kind {
            AttackKind::Slowloris => b"GET / HTTP/1.1\r\nHost: ",
            AttackKind::TrickleReaders => b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n",
            AttackKind::SlowReaders => b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            _ => b"",
        };
        let tcp = Tcp {
            src_port: heard.dst_port(),
            dst_port: heard.src_port(),
            seq: heard.ack_field().0,
            ack: (heard.seq() + 1).0,
            flags: flag::ACK,
            window: self.window(),
            data,
        };
        if self.held.len() == HELD {
            self.held.pop_front();
        }
        self.held.push_back(AttackerConnection {
            ends,
            port: tcp.src_port,
            seq: tcp.seq.wrapping_add(data.len() as u32),
            ack: tcp.ack,
        });
        let packet = ends.tcp(&tcp);
        self.traffic.0 += packet.len() as u64;
        Some(Transmission::Packet(packet))
    }
}

/// Returns the IPv6 header and the TCP segment of a packet; `None` without a valid TCP header.
fn segment(packet: &[u8]) -> Option<(Ipv6Header, HeaderView<'_>)> {
    let (ip, bytes) = Ipv6Header::parse(packet).ok()?;
    let tcp = HeaderView::parse(bytes).ok()?;
    (ip.next_header == next_header::TCP).then_some((ip, tcp))
}
