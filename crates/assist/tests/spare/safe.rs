//! Networks that lose and duplicate packets, and ends that send false numbers. Every byte arrives
//! as it was sent and in order, and no byte is acknowledged that its receiver does not have. A node
//! is sent no more than its window, and memory is limited.

use std::collections::VecDeque;

use proptest::prelude::*;
use redpoll_assist::spare::Side::{self, Host, Mesh};
use redpoll_base::{Duration, Instant};

use crate::packets::{ACK, Engine, PSH, SYN, Tcp, crosses, engine};

fn byte(at: u32) -> u8 {
    (at ^ (at >> 7) ^ (at >> 13)) as u8
}

fn stream(from: u32, count: u32) -> Vec<u8> {
    (0..count).map(|at| byte(from.wrapping_add(at))).collect()
}

/// An end: the bytes that it has sent and received, as offsets from its first byte.
struct End {
    first: u32,
    una: u32,
    nxt: u32,
    /// The end of the peer's window.
    edge: u32,
    got: u32,
    window: u16,
    longest: u32,
}

impl End {
    fn number(&self, at: u32) -> u32 {
        self.first.wrapping_add(at)
    }
}

struct Net {
    engine: Engine,
    now: Instant,
    node: End,
    host: End,
    /// Packets in transit to the border router, and packets that have passed it.
    to_border: VecDeque<Tcp>,
    /// The end of the data forwarded to the node.
    passed: u32,
    /// Outcomes of the next packets, in order: see [`Net::fate`].
    trouble: Vec<u8>,
    turn: usize,
}

impl Net {
    fn end(&mut self, side: Side) -> (&mut End, &mut End) {
        match side {
            Mesh => (&mut self.node, &mut self.host),
            Host => (&mut self.host, &mut self.node),
        }
    }

    /// Returns the next packet's outcome: 0: lost; 1: duplicated; otherwise delivered once.
    fn fate(&mut self) -> u8 {
        self.turn += 1;
        self.trouble.get(self.turn - 1).copied().unwrap_or(9)
    }

    fn send(&mut self, side: Side, from: u32, len: u32, flags: u8) {
        let (own, peer) = self.end(side);
        let numbers = (own.number(from), peer.number(own.got));
        let payload = stream(own.number(from), len);
        let segment = Tcp::new(1, side, numbers, ACK | flags)
            .window(own.window)
            .payload(&payload);
        own.nxt = own.nxt.max(from + len);
        match self.fate() {
            0 => {}
            1 => self.to_border.extend([segment.clone(), segment]),
            _ => self.to_border.push_back(segment),
        }
        self.settle();
    }

    /// Writes new data, as far as the window permits.
    fn write(&mut self, side: Side, len: u32) {
        let (own, _) = self.end(side);
        let room = own.edge.saturating_sub(own.nxt);
        let (from, len) = (own.nxt, len.min(room).min(own.longest));
        if len > 0 {
            self.send(side, from, len, PSH);
        }
    }

    /// Retransmits at most `len` of the first unacknowledged bytes.
    fn again(&mut self, side: Side, len: u32) {
        let (own, _) = self.end(side);
        let (from, out) = (own.una, own.nxt - own.una);
        if out > 0 {
            let len = len.clamp(1, out).min(own.longest);
            self.send(side, from, len, 0);
        }
    }

    fn settle(&mut self) {
        while let Some(segment) = self.to_border.pop_front() {
            self.now += Duration::from_millis(7);
            for left in crosses(&mut self.engine, self.now, &segment) {
                self.check(&segment, &left);
                let times = match self.fate() {
                    0 => 0,
                    1 => 2,
                    _ => 1,
                };
                for _ in 0..times {
                    self.arrive(&left);
                }
            }
        }
    }

    fn check(&mut self, came: &Tcp, left: &Tcp) {
        let (own, peer) = self.end(left.from);
        let at = left.seq.wrapping_sub(own.first) as i32;
        assert!(
            left.ack.wrapping_sub(peer.first) <= own.got,
            "acknowledged too much"
        );
        for (place, payload) in left.payload.iter().enumerate() {
            assert_eq!(
                *payload,
                byte(left.seq.wrapping_add(place as u32)),
                "changed"
            );
        }
        if left.from != Host || left.payload.is_empty() || self.engine.counters().evicted > 0 {
            return;
        }
        let end = at as u32 + left.payload.len() as u32;
        assert!(
            at >= 0 && at as u32 <= self.passed,
            "out of order: {came:?} {left:?}"
        );
        assert!(
            left.payload.len() <= self.node.window.into(),
            "longer than the window"
        );
        self.passed = self.passed.max(end);
    }

    fn arrive(&mut self, segment: &Tcp) {
        let to = match segment.from {
            Mesh => Host,
            Host => Mesh,
        };
        let (own, peer) = self.end(to);
        let acked = segment.ack.wrapping_sub(own.first);
        if acked <= own.nxt {
            own.una = own.una.max(acked);
            own.edge = own.edge.max(acked + u32::from(segment.window));
        }
        let at = segment.seq.wrapping_sub(peer.first) as i32;
        let fits = segment.payload.len().min(own.window.into());
        let end = at + fits as i32;
        if at <= own.got as i32 && end > own.got as i32 {
            own.got = end as u32;
        }
        if !segment.payload.is_empty() {
            let at = own.nxt;
            self.send(to, at, 0, 0);
        }
    }

    fn open(window: u16, room: usize, trouble: Vec<u8>) -> Net {
        let end = |first, window, longest| End {
            first,
            una: 0,
            nxt: 0,
            edge: 0,
            got: 0,
            window,
            longest,
        };
        let mut net = Net {
            engine: engine(1, room),
            now: Instant::ZERO,
            node: end(5_000, window, 39),
            host: end(u32::MAX - 300, 10_000, 536),
            to_border: VecDeque::new(),
            passed: 0,
            trouble,
            turn: 0,
        };
        let answer = Tcp::new(1, Mesh, (4_999, u32::MAX - 300), SYN | ACK).window(window);
        let [passed] = &crosses(&mut net.engine, net.now, &answer)[..] else {
            panic!("one")
        };
        net.host.edge = passed.window.into();
        net.node.edge = 10_000;
        net
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(Side, u32),
    Again(Side, u32),
    /// Another connection requests the only slot.
    Other,
}

fn step() -> impl Strategy<Value = Step> {
    let side = || prop_oneof![Just(Mesh), Just(Host)];
    prop_oneof![
        8 => (side(), 1u32..200).prop_map(|(side, len)| Step::Write(side, len)),
        4 => (side(), 1u32..200).prop_map(|(side, len)| Step::Again(side, len)),
        1 => Just(Step::Other),
    ]
}

/// The second half of a segment is lost, and the node's retransmission ends between the halves. The
/// border router must forward its acknowledgment, although that also ends at the first half.
#[test]
fn a_retransmission_may_end_at_the_middle_of_a_split_segment() {
    let mut net = Net::open(1, 200, vec![2, 2, 2, 0, 2, 1, 0, 0, 0]);
    net.write(Mesh, 20);
    net.write(Mesh, 37);
    assert_eq!((net.node.una, net.host.got), (0, 39), "the rest is lost");
    for _ in 0..2 {
        net.again(Mesh, 1_000);
    }
    assert_eq!((net.node.una, net.host.got), (57, 57));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_whatever_is_lost(
        window in 1u16..200,
        room in 200usize..700,
        trouble in prop::collection::vec(0u8..6, 0..300),
        steps in prop::collection::vec(step(), 1..120),
        others: bool,
    ) {
        let mut net = Net::open(window, room, trouble);
        for step in steps {
            match step {
                Step::Write(side, len) => net.write(side, len),
                Step::Again(side, len) => net.again(side, len),
                Step::Other if others => {
                    let syn = Tcp::new(9, Mesh, (1, 0), SYN);
                    crosses(&mut net.engine, net.now, &syn);
                }
                Step::Other => {}
            }
            prop_assert!(net.engine.waiting() <= room as u64);
        }
        // From now on no packet is lost, and both ends retransmit until all data have arrived.
        net.turn = net.trouble.len();
        for _ in 0..2_000 {
            net.again(Host, 1_000);
            net.again(Mesh, 1_000);
        }
        prop_assert_eq!(net.node.got, net.host.nxt);
        prop_assert_eq!(net.host.got, net.node.nxt);
        prop_assert_eq!((net.host.una, net.node.una), (net.host.nxt, net.node.nxt));
    }

    /// Arbitrary fields in any order: only data that an end acknowledged are acknowledged, and at
    /// most two pieces leave the border router for each byte and each segment that arrived.
    #[test]
    fn false_fields_acknowledge_no_undelivered_data(
        lies in prop::collection::vec(
            (any::<bool>(), 1u8..4, any::<u32>(), 0u32..600, 0u8..64, any::<u16>(), 0usize..300, any::<bool>()),
            1..300,
        ),
    ) {
        let mut engine = engine(2, 160);
        let mut said = vec![0];
        let mut came = 0;
        for (is_up, node, wild, near, flags, window, len, is_near) in lies {
            let side = if is_up { Mesh } else { Host };
            let number = |by: u32| if is_near { near.wrapping_add(by) } else { wild };
            let segment = Tcp::new(node, side, (number(0), number(9)), flags)
                .window(if is_near { window % 60 } else { window })
                .payload(&stream(0, len as u32));
            said.push(segment.ack);
            came += 1 + segment.payload.len();
            for left in crosses(&mut engine, Instant::ZERO, &segment) {
                prop_assert!(said.contains(&left.ack));
            }
            prop_assert!(engine.waiting() <= 320 && engine.flows() <= 2);
        }
        let counters = engine.counters();
        prop_assert!(counters.pieces <= 2 * came as u64);
    }

    #[test]
    fn arbitrary_bytes_pass_unchanged_or_are_dropped(packets in prop::collection::vec(
        (any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)), 1..50,
    )) {
        let mut engine = engine(1, 160);
        for (is_up, mut packet) in packets {
            let side = if is_up { Mesh } else { Host };
            let before = packet.clone();
            prop_assert_eq!(engine.input(Instant::ZERO, side, &mut packet), Some(before.len()));
            prop_assert_eq!(packet, before);
        }
    }
}
