//! The segments of each TCP connection.
//!
//! A segment is recorded where its sender sends it: for a node in the first frame with its
//! header, except link retries; for the host where its packet enters the mesh. Any TCP is
//! therefore visible, and forwarded segments are not counted twice. Congestion windows and timers
//! are known only for Redpoll's own connections, which are inspected.

use std::collections::{BTreeMap, HashMap, VecDeque};

use redpoll_base::Addr;
use redpoll_sim::live::{ConnectionSample, Frame, HostPacket, Sample};
use redpoll_wire::ipv6::next_header;
use redpoll_wire::tcp::SeqNum;

use crate::layers::open::Packet;
use crate::layers::{Opened, Tcp};
use crate::message::{EndInfo, EndRow, FlowInfo, SegmentRow};

const REMEMBERED: usize = 1_024;

type End = (Addr, u16);

#[derive(Debug)]
pub(super) struct Flows {
    addresses: BTreeMap<Addr, u32>,
    names: Vec<String>,
    /// Address of the computer behind the border router.
    host: Addr,
    tracks: VecDeque<Track>,
    /// Number of forgotten flows, which is the number of the first remembered flow.
    forgotten: u32,
    /// The present connection between two ends.
    present: HashMap<(End, End), u32>,
}

#[derive(Debug)]
struct Track {
    info: FlowInfo,
    ends: [End; 2],
    /// For each end: first sequence number seen, and highest one sent, relative to the first.
    first: [Option<SeqNum>; 2],
    highest: [u32; 2],
    /// Shift of each end's window, from its SYN (RFC 7323 §2.2).
    shifts: [Option<u8>; 2],
    rows: [Option<EndRow>; 2],
}

impl Track {
    /// Returns the receive window in bytes that end `side` announces. Windows are scaled if both
    /// SYNs had the option, and never in a SYN.
    fn window(&mut self, side: usize, tcp: &Tcp) -> u32 {
        let window = u32::from(tcp.window);
        if tcp.flags.syn() {
            self.shifts[side] = tcp.scale;
            return window;
        }
        match self.shifts {
            [Some(a), Some(b)] => window << [a, b][side].min(14),
            _ => window,
        }
    }
}

impl Flows {
    pub(super) fn new(addresses: BTreeMap<Addr, u32>, names: Vec<String>, host: Addr) -> Flows {
        Flows {
            addresses,
            names,
            host,
            tracks: VecDeque::new(),
            forgotten: 0,
            present: HashMap::new(),
        }
    }

    pub(super) fn next(&self) -> u32 {
        self.forgotten + self.tracks.len() as u32
    }

    pub(super) fn since(&self, first: u32) -> Vec<&FlowInfo> {
        let skipped = first.saturating_sub(self.forgotten) as usize;
        let tracks = self.tracks.iter().skip(skipped);
        tracks.map(|track| &track.info).collect()
    }

    fn track(&mut self, id: u32) -> Option<&mut Track> {
        self.tracks
            .get_mut(id.checked_sub(self.forgotten)? as usize)
    }

    pub(super) fn ends(&self) -> impl Iterator<Item = &EndRow> {
        self.tracks.iter().flat_map(|track| &track.rows).flatten()
    }

    /// Records the segment in a frame, when its origin transmits it for the first time.
    pub(super) fn frame(&mut self, frame: &Frame, opened: &Opened<'_>) -> Option<SegmentRow> {
        let packet = opened.packet.as_ref()?;
        let origin = self.addresses.get(&packet.ip.src);
        // Ignores frames of forwarders.
        origin.filter(|origin| **origin == frame.from)?;
        self.segment(frame.start.as_micros(), packet)
    }

    /// Records a segment from the host. Segments from the mesh are recorded from their frames.
    pub(super) fn packet(&mut self, packet: &HostPacket) -> Option<SegmentRow> {
        let parsed = Packet::parse(&packet.bytes)?;
        let is_of_mesh = self.addresses.contains_key(&parsed.ip.src);
        (packet.into_mesh != is_of_mesh).then_some(())?;
        if is_of_mesh {
            // No row, because the segment has a row from its frame on the air.
            return None;
        }
        self.segment(packet.at.as_micros(), &parsed)
    }

    fn segment(&mut self, at: u64, packet: &Packet) -> Option<SegmentRow> {
        if packet.upper != next_header::TCP {
            return None;
        }
        let tcp = Tcp::parse(&packet.body, packet.body_len)?;
        let from = (packet.ip.src, tcp.ports[0]);
        let to = (packet.dst, tcp.ports[1]);
        let (id, side) = self.find(at, from, to, &tcp)?;
        let track = self.track(id)?;
        let first = *track.first[side].get_or_insert(tcp.seq);
        // The number is 0 for data that were sent before the viewer connected.
        let seq = tcp.seq - first;
        let end = seq + tcp.space();
        let is_again = tcp.space() > 0 && end <= track.highest[side];
        track.highest[side] = track.highest[side].max(end);
        let window = track.window(side, &tcp);
        let other = 1 - side;
        let base = match (track.first[other], tcp.ack) {
            (Some(base), _) => base,
            (None, Some(ack)) => *track.first[other].insert(ack),
            (None, None) => SeqNum(0),
        };
        let relative = |number: SeqNum| number - base;
        Some(SegmentRow(
            id,
            side == 0,
            at,
            seq,
            tcp.ack.map_or(0, relative),
            tcp.len,
            tcp.flags.0,
            is_again,
            tcp.sack
                .iter()
                .flatten()
                .map(|number| relative(SeqNum(*number)))
                .collect(),
            window,
        ))
    }

    /// Returns the connection of a segment, and the end that sends it.
    fn find(&mut self, at: u64, from: End, to: End, tcp: &Tcp) -> Option<(u32, usize)> {
        let opens = tcp.flags.syn() && !tcp.flags.ack();
        let known = |ends: (End, End)| self.present.get(&ends).copied();
        let (forth, back) = (known((from, to)), known((to, from)));
        if let Some(id) = forth {
            let track = self.track(id)?;
            // A SYN with another sequence number opens a new connection between the same ports.
            let is_other = opens && track.first[0].is_some_and(|first| first != tcp.seq);
            if !is_other {
                return Some((id, 0));
            }
        } else if let Some(id) = back {
            let is_answer = !opens;
            if is_answer {
                return Some((id, 1));
            }
        }
        if tcp.flags.rst() {
            return None;
        }
        // If a flow's beginning is unknown, the end with the greater port counts as the opener.
        let is_forward = opens || (!tcp.flags.syn() && from.1 >= to.1);
        let (a, b, side) = if is_forward {
            (from, to, 0)
        } else {
            (to, from, 1)
        };
        Some((self.add(at, a, b), side))
    }

    fn add(&mut self, at: u64, a: End, b: End) -> u32 {
        if self.tracks.len() >= REMEMBERED
            && let Some(oldest) = self.tracks.pop_front()
        {
            self.forgotten += 1;
            let [a, b] = oldest.ends;
            if self.present.get(&(a, b)) == Some(&oldest.info.id) {
                self.present.remove(&(a, b));
            }
        }
        let id = self.next();
        let info = FlowInfo {
            id,
            a: self.end(a),
            b: self.end(b),
            since: at,
        };
        self.tracks.push_back(Track {
            info,
            ends: [a, b],
            first: [None; 2],
            highest: [0; 2],
            shifts: [None; 2],
            rows: [None, None],
        });
        self.present.insert((a, b), id);
        id
    }

    fn end(&self, (addr, port): End) -> EndInfo {
        let node = self.addresses.get(&addr);
        let name = node.and_then(|node| self.names.get(*node as usize));
        EndInfo {
            node: node.map_or(-1, |node| *node as i32),
            name: match name {
                Some(name) => format!("{name}:{port}"),
                None if addr == self.host => format!("host:{port}"),
                None => format!("[{addr}]:{port}"),
            },
        }
    }

    /// Records the present state of the nodes' ends of connections; returns those that have
    /// changed.
    pub(super) fn sample(&mut self, sample: &Sample) -> Vec<EndRow> {
        let mut changed = Vec::new();
        for conn in &sample.connections {
            let local = (conn.local.addr, conn.local.port);
            let remote = (conn.remote.addr, conn.remote.port);
            let id = |a, b| self.present.get(&(a, b)).copied();
            let found = match (id(local, remote), id(remote, local)) {
                (Some(id), _) => Some((id, 0)),
                (None, Some(id)) => Some((id, 1)),
                (None, None) => None,
            };
            let Some((id, side)) = found else { continue };
            let row = end_row(id, side == 0, conn);
            let Some(track) = self.track(id) else {
                continue;
            };
            debug_assert_eq!(track.ends[side], local);
            if track.rows[side].as_ref() != Some(&row) {
                track.rows[side] = Some(row.clone());
                changed.push(row);
            }
        }
        changed
    }
}

fn end_row(id: u32, opened: bool, conn: &ConnectionSample) -> EndRow {
    EndRow(
        id,
        opened,
        conn.state.clone(),
        conn.cwnd,
        // Before the first loss the threshold is as high as possible (RFC 5681 §3.1).
        if conn.ssthresh < u16::MAX.into() {
            conn.ssthresh
        } else {
            0
        },
        conn.rto_ms as f32,
        conn.rtt_ms as f32,
        conn.acked,
        conn.received,
        conn.unacked,
        conn.retransmissions.rto,
        conn.retransmissions.total() - conn.retransmissions.rto,
    )
}

#[cfg(test)]
mod tests {
    use redpoll_wire::tcp::Flags;

    use super::*;

    /// Returns the windows of a connection whose SYNs have these shifts: of both SYNs, and of the
    /// segments after them. Each header has the window 500.
    fn windows(shifts: [Option<u8>; 2]) -> [u32; 4] {
        let mut flows = Flows::new(BTreeMap::new(), Vec::new(), Addr([0; 16]));
        let ends = [(Addr([1; 16]), 1), (Addr([2; 16]), 2)];
        flows.add(0, ends[0], ends[1]);
        let track = flows.track(0).unwrap();
        let mut window = |side: usize, flags, scale| {
            let mut tcp = Tcp::default();
            (tcp.flags, tcp.scale, tcp.window) = (flags, scale, 500);
            track.window(side, &tcp)
        };
        [
            window(0, Flags::SYN, shifts[0]),
            window(1, Flags::SYN, shifts[1]),
            window(0, Flags::ACK, None),
            window(1, Flags::ACK, None),
        ]
    }

    #[test]
    fn a_window_is_scaled_if_both_syns_have_the_option() {
        assert_eq!(windows([None, None]), [500; 4]);
        assert_eq!(windows([Some(7), None]), [500; 4]);
        assert_eq!(windows([None, Some(7)]), [500; 4]);
        assert_eq!(windows([Some(7), Some(0)]), [500, 500, 64_000, 500]);
        // A shift above 14 counts as 14 (RFC 7323 §2.3).
        assert_eq!(windows([Some(200), Some(1)]), [500, 500, 8_192_000, 1_000]);
    }
}
