//! FQ-CoDel (RFC 8290) behind a shaper, between mesh and host: the equivalent of Linux on a border
//! router without TAiM.
//!
//! One packet leaves per `spacing`, from the queues of all flows in turn: deficit round robin by
//! bytes, with priority for new queues. CoDel drops or marks packets that have waited too long;
//! without CoDel, the queues are served by plain deficit round robin. Without a shaper, no packets
//! would wait, because the bottleneck is the mesh.
//!
//! Each flow has its own queue, whereas RFC 8290 §4.1 uses a hash.

mod codel;
mod spacing;

use std::collections::{BTreeMap, VecDeque};

use redpoll_base::{Duration, Ecn, Instant};
use redpoll_wire::ipv6;

pub use codel::CoDel;
use codel::State;
use spacing::Spacing;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FairQueueParams {
    /// Time between two departures, or its minimum if `longest_spacing` is set.
    pub spacing: Duration,
    /// Maximum time between departures, for a shaper that adapts; `None` for a constant time.
    pub longest_spacing: Option<Duration>,
    /// Bytes that a queue may send per turn (RFC 8290 §5.2.4).
    pub quantum: u32,
    /// CoDel's parameters; `None` disables CoDel.
    pub codel: Option<CoDel>,
    /// Maximum number of waiting packets. A further packet displaces the first packet of the
    /// longest queue (RFC 8290 §4.1.3).
    pub packets: u16,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct FairQueueCounters {
    pub released: u64,
    /// Sum of the waiting times of the released packets, in microseconds.
    pub waited_us: u64,
    pub longest_wait_us: u64,
    /// Packets dropped by CoDel, or because the limit [`FairQueueParams::packets`] was reached.
    pub dropped: u64,
    /// Packets marked by CoDel (RFC 3168).
    pub marked: u64,
}

/// A flow: its addresses, next header and ports.
type Flow = [u8; 37];

#[derive(Debug)]
struct Waiting<P> {
    packet: P,
    len: usize,
    since: Instant,
}

#[derive(Debug)]
struct Queue<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: usize,
    deficit: i64,
    codel: State,
    is_listed: bool,
}

impl<P> Default for Queue<P> {
    fn default() -> Self {
        Queue {
            waiting: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            codel: State::default(),
            is_listed: false,
        }
    }
}

#[derive(Debug)]
pub struct FairQueue<P> {
    params: FairQueueParams,
    /// The queues in the order of their flows. If several queues are the longest,
    /// `drop_of_longest` drops a packet of the last one.
    queues: BTreeMap<Flow, Queue<P>>,
    fresh: VecDeque<Flow>,
    old: VecDeque<Flow>,
    waiting: usize,
    next: Instant,
    spacing: Spacing,
    counters: FairQueueCounters,
}

impl<P: AsMut<Vec<u8>>> FairQueue<P> {
    pub fn new(params: FairQueueParams) -> Self {
        FairQueue {
            params,
            queues: BTreeMap::new(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            waiting: 0,
            next: Instant::ZERO,
            spacing: Spacing::new(params.spacing, params.longest_spacing),
            counters: FairQueueCounters::default(),
        }
    }

    pub fn counters(&self) -> &FairQueueCounters {
        &self.counters
    }

    pub fn waiting(&self) -> usize {
        self.waiting
    }

    pub fn input(&mut self, now: Instant, mut packet: P) {
        let bytes = packet.as_mut();
        let flow = flow(bytes);
        let len = bytes.len();
        self.spacing.on_packet(now, flow, len);
        let queue = self.queues.entry(flow).or_default();
        queue.bytes += len;
        queue.waiting.push_back(Waiting {
            packet,
            len,
            since: now,
        });
        if !queue.is_listed {
            queue.is_listed = true;
            queue.deficit = self.params.quantum.into();
            self.fresh.push_back(flow);
        }
        self.waiting += 1;
        if self.waiting > self.params.packets.into() {
            self.drop_of_longest();
        }
    }

    fn drop_of_longest(&mut self) {
        let longest = self.queues.values_mut().max_by_key(|queue| queue.bytes);
        if let Some(queue) = longest
            && let Some(gone) = queue.waiting.pop_front()
        {
            queue.bytes -= gone.len;
            self.waiting -= 1;
            self.counters.dropped += 1;
        }
    }

    pub fn poll_at(&self) -> Option<Instant> {
        (self.waiting > 0).then_some(self.next)
    }

    /// Returns the packet that leaves now, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<P> {
        if self.waiting == 0 || self.next > now {
            return None;
        }
        let queues = &self.queues;
        let waits = |flow: &Flow| queues.get(flow).is_some_and(|it| !it.waiting.is_empty());
        let spacing = self.spacing.at(now, waits);
        let mut left = self.dequeue(now)?;
        self.next = now + spacing;
        let waited = now.since(left.since).as_micros();
        let counters = &mut self.counters;
        counters.released += 1;
        counters.waited_us += waited;
        counters.longest_wait_us = counters.longest_wait_us.max(waited);
        let _ = left.packet.as_mut();
        Some(left.packet)
    }

    /// Selects the next packet (RFC 8290 §4.2).
    fn dequeue(&mut self, now: Instant) -> Option<Waiting<P>> {
        loop {
            let is_fresh = !self.fresh.is_empty();
            let list = if is_fresh {
                &mut self.fresh
            } else {
                &mut self.old
            };
            let flow = *list.front()?;
            let queue = self.queues.get_mut(&flow)?;
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.params.quantum);
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            let Some(mut head) = queue.waiting.pop_front() else {
                list.pop_front();
                if is_fresh {
                    self.old.push_back(flow);
                } else {
                    self.queues.remove(&flow);
                }
                continue;
            };
            queue.bytes -= head.len;
            self.waiting -= 1;
            let waited = now.since(head.since);
            let is_last = queue.waiting.is_empty();
            if let Some(codel) = &self.params.codel
                && queue.codel.on_leaving(now, (waited, is_last), codel)
            {
                if !mark(head.packet.as_mut()) {
                    self.counters.dropped += 1;
                    continue;
                }
                self.counters.marked += 1;
            }
            queue.deficit -= head.len as i64;
            return Some(head);
        }
    }
}

/// Sets CE on an ECN-capable packet (RFC 3168 §5). Returns false for other packets.
fn mark(packet: &mut [u8]) -> bool {
    match ipv6::ecn(packet) {
        None | Some(Ecn::NotEct) => false,
        Some(_) => {
            // The two low bits of the traffic class (RFC 8200 §3).
            packet[1] |= 0x30;
            true
        }
    }
}

/// Returns the flow of a packet. Without ports, the flow has the bytes at the place of the ports.
fn flow(packet: &[u8]) -> Flow {
    let mut flow = [0; 37];
    let parts = [packet.get(6..7), packet.get(8..40), packet.get(40..44)];
    let parts = parts.into_iter().flatten().flatten();
    for (to, from) in flow.iter_mut().zip(parts) {
        *to = *from;
    }
    flow
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Packet(Vec<u8>);

    impl AsMut<Vec<u8>> for Packet {
        fn as_mut(&mut self) -> &mut Vec<u8> {
            &mut self.0
        }
    }

    fn packet(flow: u8, place: u8, len: usize) -> Packet {
        let mut bytes = vec![0; len];
        (bytes[0], bytes[6], bytes[8], bytes[len - 1]) = (0x60, 6, flow, place);
        Packet(bytes)
    }

    fn queue(codel: Option<CoDel>) -> FairQueue<Packet> {
        FairQueue::new(FairQueueParams {
            spacing: Duration::from_millis(10),
            longest_spacing: None,
            quantum: 300,
            codel,
            packets: 100,
        })
    }

    #[test]
    fn flows_share_by_bytes_and_keep_their_order() {
        let mut queue = queue(None);
        for place in 0..40 {
            queue.input(Instant::ZERO, packet(1, place, 200));
            queue.input(Instant::ZERO, packet(2, place, 100));
        }
        let (mut bytes, mut last) = ([0, 0], [-1, -1]);
        for ms in 0..30 {
            let now = Instant::from_millis(10 * ms);
            let Some(Packet(left)) = queue.poll(now) else {
                panic!("one packet every 10 ms")
            };
            assert!(queue.poll(now).is_none(), "only one packet every 10 ms");
            let at = usize::from(left[8]) - 1;
            bytes[at] += left.len();
            let place = i32::from(left[left.len() - 1]);
            assert_eq!(place, last[at] + 1);
            last[at] = place;
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 300, "{bytes:?}");
    }

    #[test]
    fn a_flow_that_begins_is_served_first() {
        let mut queue = queue(None);
        for place in 0..40 {
            queue.input(Instant::ZERO, packet(1, place, 200));
        }
        for ms in 0..4 {
            queue.poll(Instant::from_millis(10 * ms));
        }
        queue.input(Instant::from_millis(40), packet(2, 0, 200));
        let left = queue.poll(Instant::from_millis(40)).unwrap();
        assert_eq!(left.0[8], 2);
    }

    #[test]
    fn queues_of_equal_length_lose_the_same_packets_in_each_run() {
        let run = || {
            let mut queue = queue(None);
            for place in 0..30 {
                for flow in 1..=8 {
                    queue.input(Instant::ZERO, packet(flow, place, 100));
                }
            }
            let left = (0..100).map(|n| queue.poll(Instant::from_millis(10 * n)).unwrap());
            left.map(|Packet(it)| (it[8], it[99])).collect::<Vec<_>>()
        };
        let first = run();
        assert!((0..20).all(|_| run() == first));
    }

    #[test]
    fn late_packets_are_dropped_or_marked_and_excess_packets_are_dropped() {
        let codel = CoDel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
        };
        for (ecn, dropped, marked) in [(0, true, false), (0x20, false, true)] {
            let mut queue = queue(Some(codel));
            for place in 0..150 {
                let mut it = packet(1, place, 100);
                it.0[1] = ecn;
                queue.input(Instant::ZERO, it);
            }
            assert_eq!((queue.waiting(), queue.counters().dropped), (100, 50));
            let mut ce = 0;
            for ms in 0..60 {
                let left = queue.poll(Instant::from_millis(10 * ms));
                ce += u64::from(left.is_some_and(|it| it.0[1] == 0x30));
            }
            let counters = queue.counters();
            assert_eq!(counters.dropped > 50, dropped);
            assert_eq!((counters.marked > 0, ce), (marked, counters.marked));
        }
    }
}
