//! Packets from the host that wait until the border router has room for them.
//!
//! A border router has a dozen slots; its host has megabytes. A packet that finds half of the slots
//! taken waits here instead of being dropped. The remaining slots serve packets from the radio,
//! such as routing messages. Each pair of source and destination has its own queue, and the queues
//! are served in turn, so a flood does not delay the packets of other pairs. Linux's `fq_codel`
//! does the same by flows in front of any interface.

use std::collections::VecDeque;

use redpoll_base::Addr;
use redpoll_wire::ipv6::Ipv6Header;

type Pair = (Addr, Addr);

#[derive(Debug)]
pub(super) struct Waiting {
    /// Queues in the order of their turns; none is empty.
    queues: VecDeque<(Pair, VecDeque<Vec<u8>>)>,
    packets: usize,
    limit: usize,
    /// Packets dropped because the limit was reached.
    overflow: u64,
}

impl Waiting {
    /// Returns empty queues with room for `limit` packets.
    pub(super) fn new(limit: usize) -> Self {
        Waiting {
            queues: VecDeque::new(),
            packets: 0,
            limit,
            overflow: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    pub(super) fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Queues a packet. If there is no room, the longest queue loses its newest packet. Returns
    /// false if the packet cannot be queued: the limit is zero, or the packet is not IPv6.
    #[must_use]
    pub(super) fn push(&mut self, packet: &[u8]) -> bool {
        let Ok((header, _)) = Ipv6Header::parse_partial(packet) else {
            return false;
        };
        if self.limit == 0 {
            return false;
        }
        let pair = (header.src, header.dst);
        let queue = match self.queues.iter().position(|(of, _)| *of == pair) {
            Some(index) => &mut self.queues[index].1,
            None => {
                self.queues.push_back((pair, VecDeque::new()));
                let last = self.queues.len() - 1;
                &mut self.queues[last].1
            }
        };
        queue.push_back(packet.to_vec());
        self.packets += 1;
        if self.packets > self.limit {
            self.drop_from_longest();
        }
        true
    }

    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let (pair, mut queue) = self.queues.pop_front()?;
        let packet = queue.pop_front()?;
        self.packets -= 1;
        if !queue.is_empty() {
            self.queues.push_back((pair, queue));
        }
        Some(packet)
    }

    /// Drops the newest packet of the longest queue; of equally long queues, of the one served
    /// last.
    fn drop_from_longest(&mut self) {
        let lengths = self.queues.iter().map(|(_, queue)| queue.len());
        let Some((index, _)) = lengths.enumerate().max_by_key(|(_, len)| *len) else {
            return;
        };
        let queue = &mut self.queues[index].1;
        queue.pop_back();
        if queue.is_empty() {
            self.queues.remove(index);
        }
        self.packets -= 1;
        self.overflow += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Ecn;

    fn packet(src: u8, dst: u8, mark: u8) -> Vec<u8> {
        let addr = |last| Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        let header = Ipv6Header {
            dscp: 0,
            ecn: Ecn::NotEct,
            flow_label: 0,
            payload_len: 1,
            next_header: 59,
            hop_limit: 64,
            src: addr(src),
            dst: addr(dst),
        };
        let mut packet = header.to_bytes().to_vec();
        packet.push(mark);
        packet
    }

    fn marks(waiting: &mut Waiting) -> Vec<u8> {
        std::iter::from_fn(|| waiting.pop())
            .map(|packet| packet[40])
            .collect()
    }

    #[test]
    fn pairs_take_turns_and_keep_their_order() {
        let mut waiting = Waiting::new(10);
        for (src, dst, mark) in [(1, 9, 1), (1, 9, 2), (1, 9, 3), (1, 8, 4), (2, 9, 5)] {
            assert!(waiting.push(&packet(src, dst, mark)));
        }
        assert_eq!(marks(&mut waiting), [1, 4, 5, 2, 3]);
        assert!(waiting.is_empty());
        assert_eq!(waiting.overflow(), 0);
    }

    #[test]
    fn a_flood_loses_its_own_packets() {
        let mut waiting = Waiting::new(5);
        assert!(waiting.push(&packet(2, 9, 200)));
        for mark in 0..100 {
            assert!(waiting.push(&packet(1, 9, mark)));
        }
        assert!(waiting.push(&packet(2, 9, 201)));
        assert_eq!(waiting.overflow(), 97);
        assert_eq!(marks(&mut waiting), [200, 0, 201, 1, 2]);
    }

    #[test]
    fn packets_without_room_or_address_are_refused() {
        assert!(!Waiting::new(0).push(&packet(1, 9, 1)));
        assert!(!Waiting::new(5).push(&[0x45; 60]));
    }
}
