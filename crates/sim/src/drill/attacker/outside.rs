//! Attacks from a host beyond the border router.

use redpoll_base::Addr;
use redpoll_wire::ipv6::next_header;

use super::{Attacker, Transmission};
use crate::drill::attack::AttackKind;
use crate::drill::forge::{Ends, Tcp, flag};
use crate::drill::scene::{COAP, SINK, WEB};
use crate::scenario::global_address;

/// Number of connections that [`AttackKind::TrickleReaders`] opens.
const READERS: usize = 4;

impl Attacker {
    pub(super) fn outside_shot(&mut self) -> Transmission {
        let ends = Ends {
            src: self.stranger(),
            dst: self.attacked(),
        };
        let port = self.port();
        let packet = match self.kind {
            AttackKind::SynFlood | AttackKind::SilentHandshakes | AttackKind::SlowReaders => {
                self.syn(ends, port)
            }
            // Every other time, the attacker sends another byte on an existing connection.
            AttackKind::Slowloris if self.count.is_multiple_of(2) => match self.drip() {
                Some(packet) => packet,
                None => self.syn(ends, port),
            },
            AttackKind::Slowloris => self.syn(ends, port),
            AttackKind::AddressScan => self.scan(ends.src, port),
            AttackKind::TrickleReaders
                if self.held.len() >= READERS || self.count.is_multiple_of(2) =>
            {
                match self.take_some() {
                    Some(packet) => packet,
                    None => self.syn(ends, port),
                }
            }
            AttackKind::TrickleReaders => self.syn(ends, port),
            AttackKind::OutsideRoutes => {
                let stops = ["leaf", "router", "leaf"].map(|name| self.named(name));
                ends.source_route(64, &stops)
            }
            AttackKind::OutsideTunnels => {
                let src = self.named("border");
                let inner = Ends {
                    src,
                    dst: self.named("leaf"),
                };
                ends.raw(next_header::IPV6, 64, &inner.echo_request(1, &[b'x'; 16]))
            }
            AttackKind::CoapAmplification => {
                // Confirmable GET /file: the path is option 11.
                let [high, low] = (self.count as u16).to_be_bytes();
                ends.udp(
                    (port, COAP),
                    &[0x40, 1, high, low, 0xb4, b'f', b'i', b'l', b'e'],
                )
            }
            AttackKind::UnfinishedUploads => {
                // PUT /store with Block1 (option 27): block 0 of 64 bytes, more blocks follow.
                let [high, low] = (self.count as u16).to_be_bytes();
                let head = [
                    0x40, 3, high, low, 0xb5, b's', b't', b'o', b'r', b'e', 0xd1, 3, 0x0a, 0xff,
                ];
                ends.udp((port, COAP), &[&head[..], &[b'x'; 64]].concat())
            }
            AttackKind::ClosedPorts => ends.udp((port, 33_434), &[b'x'; 16]),
            _ => ends.echo_request(self.count as u16, &[b'x'; 64]),
        };
        Transmission::Packet(packet)
    }

    fn syn(&mut self, ends: Ends, src_port: u16) -> Vec<u8> {
        let dst_port = match self.kind {
            AttackKind::Slowloris | AttackKind::SlowReaders | AttackKind::TrickleReaders => WEB,
            // Attack both ports in turn: every node has a web server, but only some have the sink.
            _ if self.count.is_multiple_of(2) => SINK,
            _ => WEB,
        };
        ends.tcp(&Tcp {
            src_port,
            dst_port,
            seq: self.rng.next_u32(),
            flags: flag::SYN,
            window: self.window(),
            ..Tcp::default()
        })
    }

    fn scan(&mut self, src: Addr, port: u16) -> Vec<u8> {
        // Addresses from 0x4000 on are unused in the scene.
        let nobody = 0x4000 + self.rng.below(0x4000) as u16;
        let dst = global_address(&self.scene.scenario.border.prefix, nobody);
        let ends = Ends { src, dst };
        match self.count % 3 {
            0 => ends.echo_request(self.count as u16, &[b'x'; 16]),
            1 => ends.udp((port, 53), &[b'x'; 16]),
            _ => ends.tcp(&Tcp {
                src_port: port,
                dst_port: 22,
                seq: self.rng.next_u32(),
                flags: flag::SYN,
                window: 1_024,
                ..Tcp::default()
            }),
        }
    }
}
