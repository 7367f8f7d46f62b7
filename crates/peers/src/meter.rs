//! Measures a transfer from all packets that the stacks pass to the link, including lost ones.

use std::collections::BTreeMap;

use redpoll_wire::tcp::SeqNum;

use crate::packet::Summary;

#[derive(Clone, Default, Debug)]
pub struct Meter {
    pub data_segments: u64,
    pub data_bytes: u64,
    /// Segments with payload whose first byte was sent before.
    pub retransmissions: u64,
    /// Retransmissions whose bytes had all arrived, or were on their way without being lost.
    pub needless: u64,
    pub data_arrived: u64,
    /// Segments of the receiver that have no payload and no SYN, FIN or RST flag.
    pub acks: u64,
    /// Bytes of packets in both directions, IPv6 headers included.
    pub ip_bytes: u64,
    start: Option<SeqNum>,
    /// Offset of the first byte that the sender has not sent.
    max: u64,
    arrived: Ranges,
}

impl Meter {
    /// Counts a packet of `len` bytes that the sender passed to the link.
    pub fn on_sender(&mut self, packet: &Summary, len: usize, arrives: bool) {
        self.ip_bytes += len as u64;
        if packet.syn {
            self.start = Some(packet.seq + 1);
        }
        let Some(start) = self.start else { return };
        if packet.payload == 0 || packet.syn {
            return;
        }
        let from = self.offset(packet.seq.since(start));
        let to = from + u64::from(packet.payload);
        self.data_segments += 1;
        self.data_bytes += u64::from(packet.payload);
        if from < self.max {
            self.retransmissions += 1;
            // The link keeps the order: earlier packets that are not lost arrive first.
            self.needless += u64::from(self.arrived.contains(from, to));
        }
        self.max = self.max.max(to);
        if arrives {
            self.data_arrived += 1;
            self.arrived.insert(from, to);
        }
    }

    /// Counts a packet of `len` bytes that the receiver passed to the link.
    pub fn on_receiver(&mut self, packet: &Summary, len: usize) {
        self.ip_bytes += len as u64;
        if packet.payload == 0 && !packet.syn && !packet.ends {
            self.acks += 1;
        }
    }

    /// Returns the 64-bit offset nearest to `max` whose low 32 bits are `low`.
    fn offset(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.max as u32) as i32;
        self.max.saturating_add_signed(i64::from(ahead))
    }
}

/// A set of bytes, as disjoint and non-adjacent ranges from start to end.
#[derive(Clone, Default, Debug)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn contains(&self, from: u64, to: u64) -> bool {
        let last = self.0.range(..=from).next_back();
        last.is_some_and(|(_, end)| *end >= to)
    }

    fn insert(&mut self, mut from: u64, mut to: u64) {
        while let Some((&start, &end)) = self.0.range(..=to).next_back() {
            if end < from {
                break;
            }
            from = from.min(start);
            to = to.max(end);
            self.0.remove(&start);
        }
        self.0.insert(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u32, payload: u32) -> Summary {
        Summary {
            seq: SeqNum(seq),
            syn: false,
            ends: false,
            payload,
        }
    }

    fn syn(seq: u32) -> Summary {
        Summary {
            syn: true,
            ..data(seq, 0)
        }
    }

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut ranges = Ranges::default();
        ranges.insert(0, 10);
        ranges.insert(20, 30);
        assert!(!ranges.contains(5, 25));
        ranges.insert(10, 20);
        assert!(ranges.contains(0, 30) && ranges.0.len() == 1);
        ranges.insert(5, 8);
        assert!(ranges.contains(0, 30) && !ranges.contains(0, 31));
    }

    #[test]
    fn bytes_sent_after_their_arrival_are_needless() {
        let mut meter = Meter::default();
        // The sequence numbers wrap within the stream.
        let isn = u32::MAX - 99;
        meter.on_sender(&syn(isn), 60, true);
        meter.on_sender(&data(isn.wrapping_add(1), 100), 160, true);
        meter.on_sender(&data(isn.wrapping_add(101), 100), 160, false);
        assert_eq!(meter.retransmissions, 0);
        meter.on_sender(&data(isn.wrapping_add(101), 100), 160, true);
        assert_eq!((meter.retransmissions, meter.needless), (1, 0));
        meter.on_sender(&data(isn.wrapping_add(1), 100), 160, true);
        assert_eq!((meter.retransmissions, meter.needless), (2, 1));
        assert_eq!((meter.data_segments, meter.data_arrived), (4, 3));
        assert_eq!(meter.data_bytes, 400);
    }

    #[test]
    fn only_pure_acks_count() {
        let mut meter = Meter::default();
        meter.on_receiver(&syn(5), 60);
        meter.on_receiver(&data(6, 0), 60);
        let fin = Summary {
            ends: true,
            ..data(6, 0)
        };
        meter.on_receiver(&fin, 60);
        assert_eq!((meter.acks, meter.ip_bytes), (1, 180));
    }
}
