//! Which packets pass between host and mesh.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_stack::assist::Assist;
use redpoll_stack::{DropReason, Node, StreamTransport};
use redpoll_wire::ipv6::{self, Ipv6Header};

/// Why a packet from the host did not enter the mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejected {
    /// Not a well-formed IPv6 packet (an IPv4 packet, garbage, cut short).
    Malformed,
    /// Its source claims to be inside the mesh, which is behind us.
    SpoofedSource,
    /// A group or link-local destination: the host's own chatter on its
    /// interface (router solicitations, multicast DNS). It stays there.
    NotForMesh,
    /// Its destination is not inside the mesh's prefix.
    ForeignDestination,
    /// The node refused it for a reason of its own, which it counts.
    Node(DropReason),
}

/// What passed, and what did not, by reason. Counters wrap after 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounters {
    /// Packets from the host that entered the node.
    pub to_mesh: u32,
    /// Packets from the mesh that the host was given.
    pub to_host: u32,
    /// See [`Rejected::Malformed`].
    pub malformed: u32,
    /// See [`Rejected::SpoofedSource`].
    pub spoofed_source: u32,
    /// See [`Rejected::NotForMesh`].
    pub not_for_mesh: u32,
    /// See [`Rejected::ForeignDestination`].
    pub foreign_destination: u32,
    /// See [`Rejected::Node`].
    pub node: u32,
}

/// The host side of a border router: knows the mesh's prefix and lets packets
/// pass by it.
#[derive(Clone, Debug)]
pub struct Gate {
    prefix: Addr,
    prefix_len: u8,
    counters: GateCounters,
}

impl Gate {
    /// A gate for the mesh with this prefix of `prefix_len` bits.
    pub const fn new(prefix: Addr, prefix_len: u8) -> Self {
        Gate {
            prefix,
            prefix_len,
            counters: GateCounters {
                to_mesh: 0,
                to_host: 0,
                malformed: 0,
                spoofed_source: 0,
                not_for_mesh: 0,
                foreign_destination: 0,
                node: 0,
            },
        }
    }

    /// What passed and what did not.
    pub fn counters(&self) -> &GateCounters {
        &self.counters
    }

    /// A packet from the host, for the mesh or the border router itself.
    ///
    /// # Errors
    /// The reason why it does not enter; it is counted.
    pub fn input_packet<M: Memory + 'static, A: Assist, T: StreamTransport>(
        &mut self,
        now: Instant,
        node: &mut Node<M, A, T>,
        packet: &[u8],
    ) -> Result<(), Rejected> {
        let result = self
            .check(packet)
            .and_then(|()| node.input_packet(now, packet).map_err(Rejected::Node));
        let counters = &mut self.counters;
        let counter = match result {
            Ok(()) => &mut counters.to_mesh,
            Err(Rejected::Malformed) => &mut counters.malformed,
            Err(Rejected::SpoofedSource) => &mut counters.spoofed_source,
            Err(Rejected::NotForMesh) => &mut counters.not_for_mesh,
            Err(Rejected::ForeignDestination) => &mut counters.foreign_destination,
            Err(Rejected::Node(_)) => &mut counters.node,
        };
        *counter = counter.wrapping_add(1);
        result
    }

    /// The next packet for the host, written to the start of `out` (at least
    /// 1280 bytes). Returns its length.
    pub fn poll_packet<M: Memory + 'static, A: Assist, T: StreamTransport>(
        &mut self,
        now: Instant,
        node: &mut Node<M, A, T>,
        out: &mut [u8],
    ) -> Option<usize> {
        let len = node.poll_packet(now, out)?;
        self.counters.to_host = self.counters.to_host.wrapping_add(1);
        Some(len)
    }

    fn check(&self, packet: &[u8]) -> Result<(), Rejected> {
        let (header, _) = Ipv6Header::parse(packet).map_err(|_| Rejected::Malformed)?;
        if header.dst.is_multicast() || ipv6::addr::is_link_local(&header.dst) {
            return Err(Rejected::NotForMesh);
        }
        if self.contains(&header.src) {
            return Err(Rejected::SpoofedSource);
        }
        if !self.contains(&header.dst) {
            return Err(Rejected::ForeignDestination);
        }
        Ok(())
    }

    fn contains(&self, addr: &Addr) -> bool {
        addr.shares_prefix(&self.prefix, self.prefix_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Ecn;

    fn packet(src: Addr, dst: Addr) -> [u8; 40] {
        Ipv6Header {
            dscp: 0,
            ecn: Ecn::NotEct,
            flow_label: 0,
            payload_len: 0,
            next_header: 59,
            hop_limit: 64,
            src,
            dst,
        }
        .to_bytes()
    }

    fn addr(text: &str) -> Addr {
        text.parse::<core::net::Ipv6Addr>().unwrap().into()
    }

    #[test]
    fn only_foreign_packets_for_the_mesh_enter() {
        let gate = Gate::new(addr("fd00:1::"), 64);
        let check = |src, dst| gate.check(&packet(addr(src), addr(dst)));
        assert_eq!(check("2001:db8::1", "fd00:1::5"), Ok(()));
        assert_eq!(
            check("fd00:1::9", "fd00:1::5"),
            Err(Rejected::SpoofedSource)
        );
        assert_eq!(
            check("2001:db8::1", "fd00:2::5"),
            Err(Rejected::ForeignDestination)
        );
        assert_eq!(check("fe80::1", "ff02::2"), Err(Rejected::NotForMesh));
        assert_eq!(gate.check(&[0x45; 60]), Err(Rejected::Malformed));
        assert_eq!(gate.check(&[]), Err(Rejected::Malformed));
    }
}
