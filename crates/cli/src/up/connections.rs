//! Logs each TCP connection between this computer and the mesh when it opens and when it ends. The
//! connections are seen in packets, or reported by the forwarder.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

use redpoll_base::Instant;
use redpoll_linux::forward::{Ending, ForwardEvent, Passage};
use redpoll_sim::Scenario;
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::tcp::{Flags, HeaderView};

/// Maximum number of connections watched at a time; another connection replaces the oldest.
const WATCHED: usize = 256;
const LINES: usize = 1_024;

#[derive(Default)]
pub(super) struct Connections {
    names: BTreeMap<Ipv6Addr, String>,
    watched: VecDeque<Watched>,
    /// Forwarded connections with their start times; the forwarder limits their number.
    forwarded: BTreeMap<(SocketAddr, SocketAddrV6), Instant>,
    lines: VecDeque<String>,
}

/// A watched connection, which `from` opened.
struct Watched {
    from: SocketAddrV6,
    to: SocketAddrV6,
    since: Instant,
    is_open: bool,
    /// Whether `from` and `to` have sent FIN; `bytes`: payload bytes that each has sent so far,
    /// retransmissions included.
    ended: [bool; 2],
    bytes: [u64; 2],
}

struct Segment {
    from: SocketAddrV6,
    to: SocketAddrV6,
    flags: Flags,
    payload: u64,
}

impl Segment {
    /// Returns the segment in an IPv6 packet without extension headers; `None` if the packet
    /// carries no TCP, or a length in it is impossible.
    fn of(packet: &[u8]) -> Option<Segment> {
        let (ip, bytes) = Ipv6Header::parse(packet).ok()?;
        if ip.next_header != next_header::TCP {
            return None;
        }
        let tcp = HeaderView::parse(bytes).ok()?;
        Some(Segment {
            from: SocketAddrV6::new(ip.src.0.into(), tcp.src_port(), 0, 0),
            to: SocketAddrV6::new(ip.dst.0.into(), tcp.dst_port(), 0, 0),
            flags: tcp.flags(),
            payload: tcp.payload_len() as u64,
        })
    }
}

impl Connections {
    pub(super) fn of(scenario: &Scenario) -> Connections {
        let name = |(index, node): (usize, &redpoll_sim::NodeSpec)| {
            let address = Ipv6Addr::from(scenario.address(index)?);
            Some((address, node.name.clone()))
        };
        Connections {
            names: scenario.nodes.iter().enumerate().filter_map(name).collect(),
            ..Connections::default()
        }
    }

    pub(super) fn see(&mut self, now: Instant, packet: &[u8]) {
        let Some(segment) = Segment::of(packet) else {
            return;
        };
        let Segment { from, to, .. } = segment;
        let found = self.watched.iter().position(|watched| {
            (watched.from, watched.to) == (from, to) || (watched.from, watched.to) == (to, from)
        });
        if segment.flags.syn() && !segment.flags.ack() {
            if found.is_none() {
                if self.watched.len() >= WATCHED {
                    self.watched.pop_front();
                }
                self.watched.push_back(Watched {
                    from,
                    to,
                    since: now,
                    is_open: false,
                    ended: [false; 2],
                    bytes: [0; 2],
                });
            }
            return;
        }
        let Some(index) = found else { return };
        let watched = &mut self.watched[index];
        let side = usize::from(watched.from != from);
        watched.bytes[side] += segment.payload;
        watched.ended[side] |= segment.flags.fin();
        if segment.flags.syn() && !watched.is_open {
            watched.is_open = true;
            let ends = (watched.from.into(), watched.to);
            self.say(now, ends, "open");
        } else if segment.flags.rst() || watched.ended == [true; 2] {
            let [sent, received] = watched.bytes;
            let how = if segment.flags.rst() {
                "reset"
            } else {
                "closed"
            };
            let ends = (watched.from.into(), watched.to);
            let since = watched.since;
            self.watched.remove(index);
            self.say(now, ends, &ending(how, now, since, [sent, received]));
        }
    }

    pub(super) fn forward(&mut self, now: Instant, event: &ForwardEvent) {
        let ends = (event.from, event.to);
        match event.what {
            Passage::Begun => {
                self.forwarded.insert(ends, now);
                self.say(now, ends, "forwarded");
            }
            Passage::Ended { how, bytes } => {
                let how = match how {
                    Ending::Closed => "closed",
                    Ending::BrokenByMesh => "aborted by the mesh",
                    Ending::BrokenByHost => "reset by this computer",
                };
                let since = self.forwarded.remove(&ends).unwrap_or(now);
                self.say(now, ends, &ending(how, now, since, bytes));
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.watched.len() + self.forwarded.len()
    }

    pub(super) fn line(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    fn say(&mut self, now: Instant, (from, to): (SocketAddr, SocketAddrV6), what: &str) {
        if self.lines.len() < LINES {
            let seconds = now.as_millis() as f64 / 1_000.0;
            let (from, to) = (self.name(&from), self.name(&to.into()));
            self.lines
                .push_back(format!("{seconds:>9.3} s  {from} -> {to}  {what}\n"));
        }
    }

    fn name(&self, socket: &SocketAddr) -> String {
        match socket {
            SocketAddr::V6(v6) if self.names.contains_key(v6.ip()) => {
                format!("{}:{}", self.names[v6.ip()], v6.port())
            }
            _ => socket.to_string(),
        }
    }
}

fn ending(how: &str, now: Instant, since: Instant, [there, back]: [u64; 2]) -> String {
    let took = now.since(since).as_millis() as f64 / 1_000.0;
    format!("{how} after {took:.1} s, {there} bytes into the mesh, {back} bytes out of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIN: u8 = 0x01;
    const SYN: u8 = 0x02;
    const RST: u8 = 0x04;
    const ACK: u8 = 0x10;

    fn packet(from: (Ipv6Addr, u16), to: (Ipv6Addr, u16), flags: u8, payload: usize) -> Vec<u8> {
        let mut packet = vec![0; 60 + payload];
        packet[0] = 0x60;
        packet[4..6].copy_from_slice(&(20 + payload as u16).to_be_bytes());
        packet[6] = 6;
        packet[8..24].copy_from_slice(&from.0.octets());
        packet[24..40].copy_from_slice(&to.0.octets());
        packet[40..42].copy_from_slice(&from.1.to_be_bytes());
        packet[42..44].copy_from_slice(&to.1.to_be_bytes());
        packet[52] = 0x50;
        packet[53] = flags;
        packet
    }

    #[test]
    fn a_connection_has_a_line_at_its_beginning_and_its_end() {
        let scenario = Scenario::load("office", &[]).unwrap();
        let leaf = (Ipv6Addr::from(scenario.address(11).unwrap()), 80);
        let host = ("fd00::1".parse().unwrap(), 40_000);
        let mut connections = Connections::of(&scenario);
        let at = Instant::from_millis;
        connections.see(at(1_000), &packet(host, leaf, SYN, 0));
        connections.see(at(1_100), &packet(leaf, host, SYN | ACK, 0));
        connections.see(at(1_200), &packet(leaf, host, SYN | ACK, 0));
        connections.see(at(1_300), &packet(host, leaf, ACK, 18));
        connections.see(at(1_500), &packet(leaf, host, FIN | ACK, 200));
        assert_eq!(
            connections.line().unwrap(),
            "    1.100 s  [fd00::1]:40000 -> leaf-12:80  open\n"
        );
        assert_eq!(connections.line(), None);
        connections.see(at(1_600), &packet(host, leaf, FIN | ACK, 0));
        assert_eq!(
            connections.line().unwrap(),
            "    1.600 s  [fd00::1]:40000 -> leaf-12:80  closed after 0.6 s, 18 bytes into the mesh, 200 bytes out of it\n"
        );
        connections.see(at(1_700), &packet(leaf, host, ACK, 0));
        connections.see(at(2_000), &packet(leaf, host, SYN, 0));
        connections.see(at(2_100), &packet(host, leaf, RST | ACK, 0));
        let refused = connections.line().unwrap();
        assert!(refused.contains("leaf-12:80 -> [fd00::1]:40000  reset after 0.1 s"));
        assert!(connections.watched.is_empty());
    }

    #[test]
    fn headers_with_impossible_lengths_are_not_counted() {
        let scenario = Scenario::load("office", &[]).unwrap();
        let leaf = (Ipv6Addr::from(scenario.address(11).unwrap()), 80);
        let host = ("fd00::1".parse().unwrap(), 40_000);
        let mut connections = Connections::of(&scenario);
        let mut see = |packet: &[u8]| connections.see(Instant::ZERO, packet);
        see(&packet(host, leaf, SYN, 0));
        see(&packet(leaf, host, SYN | ACK, 0));
        // Data offsets of 0, 16 and 60 bytes in a segment of 28 bytes.
        for words in [0x00, 0x40, 0xf0] {
            let mut bad = packet(host, leaf, RST | ACK, 8);
            bad[52] = words;
            see(&bad);
        }
        // The packet has fewer bytes than its IPv6 header states.
        see(&packet(host, leaf, RST | ACK, 8)[..60]);
        see(&packet(host, leaf, RST | ACK, 3));
        let lines: Vec<_> = std::iter::from_fn(|| connections.line()).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].contains("reset after 0.0 s, 3 bytes into the mesh"));
    }

    #[test]
    fn a_forwarded_connection_has_its_lines_too() {
        let scenario = Scenario::load("office", &[]).unwrap();
        let leaf = Ipv6Addr::from(scenario.address(11).unwrap());
        let event = |what| ForwardEvent {
            from: "127.0.0.1:40000".parse().unwrap(),
            to: SocketAddrV6::new(leaf, 80, 0, 0),
            what,
        };
        let mut connections = Connections::of(&scenario);
        let at = Instant::from_millis;
        connections.forward(at(1_000), &event(Passage::Begun));
        let line = "    1.000 s  127.0.0.1:40000 -> leaf-12:80  forwarded\n";
        assert_eq!(connections.line().unwrap(), line);
        assert_eq!(connections.count(), 1);
        let ended = Passage::Ended {
            how: Ending::BrokenByMesh,
            bytes: [7, 9],
        };
        connections.forward(at(3_500), &event(ended));
        let line = connections.line().unwrap();
        let what = "aborted by the mesh after 2.5 s, 7 bytes into the mesh, 9 bytes out of it\n";
        assert!(line.ends_with(what), "{line}");
        assert_eq!(connections.count(), 0);
    }

    #[test]
    fn random_packets_take_bounded_memory() {
        let mut connections = Connections::default();
        let mut rng = redpoll_base::Rng::new(1);
        for _ in 0..20_000 {
            let len = rng.below(100) as usize;
            let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
            if let Some([first, .., next]) = bytes.get_mut(..7) {
                (*first, *next) = (0x60, 6);
            }
            connections.see(Instant::ZERO, &bytes);
        }
        assert!(connections.watched.len() <= WATCHED && connections.lines.len() <= LINES);
    }
}
