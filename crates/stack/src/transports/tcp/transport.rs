//! TCP as one of a node's transports.

use redpoll_base::{Addr, Instant, Memory, Wake, earliest};
use redpoll_tcp::{
    Algorithms, Endpoint, Error as TcpError, Event, Gone, IcmpKind, Incoming, IpMeta, Segment,
    SeqNum,
};
use redpoll_wire::ipv6::Ipv6Header;

use super::TcpSockets;
use crate::counters::{DropReason, NodeCounters};
use crate::ids::INDICES;
use crate::transports::{Arrived, Ask, Handle, Outcome, Pulled, Reach, Transport, Trouble};
use crate::{ConnId, NodeEvent};

impl<M: Memory + 'static, A: Algorithms> Transport for TcpSockets<M, A> {
    fn input(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome {
        let header = arrived.header;
        let meta = IpMeta {
            src: header.src,
            dst: header.dst,
            ecn: header.ecn,
            hop_limit: header.hop_limit,
        };
        match Segment::parse(&meta, arrived.upper) {
            Ok(seg) => {
                let incoming = Incoming {
                    now,
                    local: arrived.local,
                    meta: &meta,
                    seg: &seg,
                };
                self.on_segment(&incoming, counters)
            }
            Err(_) => Outcome::Drop(DropReason::Malformed),
        }
    }

    fn pull<H>(
        &mut self,
        now: Instant,
        ask: &Ask,
        reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        self.pull_next(now, ask, reach)
    }

    fn read(&self, handle: Handle, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        self.read_pulled(handle, offset, out)
    }

    fn on_sent(&mut self, now: Instant, handle: Handle) {
        self.on_link(handle, |connection, token| {
            connection.on_segment_sent(token, now);
        });
    }

    fn on_lost(&mut self, now: Instant, handle: Handle) {
        self.on_link(handle, |connection, token| {
            connection.on_segment_lost(token, now);
        });
    }

    /// RFC 5927 §4: an error is reported to a connection only if the quoted addresses, ports and
    /// sequence number match.
    fn on_icmp(&mut self, now: Instant, trouble: Trouble, ip: &Ipv6Header, rest: &[u8]) {
        let &[s0, s1, d0, d1, q0, q1, q2, q3, ..] = rest else {
            return;
        };
        let end = |addr: Addr, port| Endpoint {
            addr,
            port: u16::from_be_bytes(port),
        };
        let (local, remote) = (end(ip.src, [s0, s1]), end(ip.dst, [d0, d1]));
        let seq = SeqNum(u32::from_be_bytes([q0, q1, q2, q3]));
        self.report(now, &local, &remote, |c| match kind(trouble) {
            Ok(kind) => c.on_icmp(now, kind, seq),
            Err(mtu) => c.on_packet_too_big(now, mtu, seq),
        });
    }

    fn poll_at(&self) -> Option<Wake> {
        self.slots()
            .iter()
            .filter_map(|slot| slot.open()?.connection.poll_at())
            .fold(self.half_open.poll_at(), |a, b| earliest(a, Some(b)))
    }

    fn on_timeout(&mut self, now: Instant, counters: &mut NodeCounters) {
        let given_up = self.half_open.on_timeout(now, &self.config);
        let count = &mut counters.half_open_expired;
        *count = count.wrapping_add(given_up.into());
        for slot in self.connections.as_mut() {
            if let Some(open) = slot.open_mut()
                && open.connection.poll_at().is_some_and(|w| w.at <= now)
            {
                self.servers
                    .watch(now, &mut open.connection, None, |connection| {
                        connection.on_timeout(now);
                    });
                if open.released && open.connection.error() == Some(TcpError::TimedOut) {
                    counters.orphans_given_up = counters.orphans_given_up.wrapping_add(1);
                }
                self.dirty = true;
            }
        }
        self.reap();
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        if !self.dirty {
            return None;
        }
        for (index, slot) in INDICES.zip(self.connections.as_mut()) {
            let generation = slot.generation;
            // Released connections report no events.
            let Some(open) = slot.open_mut().filter(|open| !open.released) else {
                continue;
            };
            while let Some(event) = open.connection.poll_event() {
                if let Some(waits) = open.waits {
                    match event {
                        Event::Connected => return Some(NodeEvent::Accepted(waits.at)),
                        // The application does not know this connection yet: no report.
                        Event::Failed(_) | Event::Closed => {
                            open.released = true;
                            break;
                        }
                        _ => continue,
                    }
                }
                return Some(NodeEvent::Tcp(ConnId { index, generation }, event));
            }
        }
        self.dirty = false;
        self.reap();
        None
    }
}

/// Returns the kind of an ICMP error, or the MTU of "packet too big".
fn kind(trouble: Trouble) -> Result<IcmpKind, u16> {
    Ok(match trouble {
        Trouble::NoRoute => IcmpKind::NoRoute,
        Trouble::Prohibited => IcmpKind::Prohibited,
        Trouble::AddressUnreachable => IcmpKind::AddressUnreachable,
        Trouble::PortUnreachable => IcmpKind::PortUnreachable,
        Trouble::TimeExceeded => IcmpKind::TimeExceeded,
        Trouble::ParameterProblem => IcmpKind::ParameterProblem,
        Trouble::PacketTooBig { mtu } => return Err(mtu),
    })
}
