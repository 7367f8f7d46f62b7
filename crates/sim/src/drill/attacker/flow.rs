//! Forged messages about the honest flow: segments, and ICMPv6 errors about segments.

use redpoll_tcp::Endpoint;

use super::Attacker;
use crate::drill::attack::AttackKind;
use crate::drill::forge::{Ends, Tcp, flag};
use crate::drill::scene::SINK;
use crate::node::SimNode;

impl Attacker {
    pub(super) fn ends_of(&self, sender: &SimNode) -> Option<(Endpoint, Endpoint)> {
        let mut all = sender.tcp_connections();
        let known = all.find(|(_, connection)| connection.remote().port == SINK);
        let (_, connection) = known.or_else(|| sender.tcp_connections().next())?;
        let (local, remote) = (connection.local(), connection.remote());
        let attacked = self.scene.address(self.scene.attacked);
        Some(if local.addr == attacked {
            (local, remote)
        } else {
            (remote, local)
        })
    }

    /// Returns a segment of the honest flow, or an ICMPv6 error about one, with random numbers.
    pub(super) fn about_the_flow(&mut self, mine: Endpoint, theirs: Endpoint) -> Vec<u8> {
        let ends = Ends {
            src: theirs.addr,
            dst: mine.addr,
        };
        let mut tcp = Tcp {
            src_port: theirs.port,
            dst_port: mine.port,
            seq: self.rng.next_u32(),
            ack: self.rng.next_u32(),
            flags: flag::RST,
            window: 0,
            data: &[],
        };
        match self.kind {
            AttackKind::ForgedIcmp => {
                let quoted = Ends {
                    src: mine.addr,
                    dst: theirs.addr,
                };
                let quoted = quoted.tcp(&Tcp {
                    src_port: mine.port,
                    dst_port: theirs.port,
                    flags: flag::ACK,
                    ..tcp
                });
                let (message, word) = match self.count % 3 {
                    0 => ((1, (self.count / 3 % 5) as u8), [0; 4]),
                    1 => ((2, 0), [0, 0, 0x05, 0x00]),
                    _ => ((3, 0), [0; 4]),
                };
                ends.icmp(64, message, &[&word, &quoted[..]].concat())
            }
            AttackKind::ForgedResets => ends.tcp(&tcp),
            _ => {
                tcp.flags = flag::ACK;
                if self.count.is_multiple_of(2) {
                    tcp.data = &[b'x'; 16];
                }
                if self.kind == AttackKind::AirResets && self.count.is_multiple_of(3) {
                    tcp.flags = flag::RST;
                }
                ends.tcp(&tcp)
            }
        }
    }
}
