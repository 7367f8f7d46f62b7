//! The order of leaving: no packet is lost or duplicated, a flow keeps its order, the flow with
//! the least throughput is first, and no time is wasted.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use redpoll_assist::taim::{Contention, Input, Lead, Params, Policy, Share};
use redpoll_base::{Duration, Instant};

use crate::packets::{ACK, Conn, Engine, FIN, RST, SYN, Tcp, engine, ms};

#[test]
fn a_flow_waits_from_its_third_packet_on_and_others_pass() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conn = Conn::of(1);
    let [syn, syn_ack, ack] = conn.handshake();
    assert_eq!(engine.input(ms(0), &syn, 0), Input::Pass(0));
    assert_eq!(engine.input(ms(1), &syn_ack, 1), Input::Pass(1));
    assert_eq!(engine.input(ms(2), &ack, 2), Input::Wait);
    assert_eq!(engine.poll(ms(2)).map(|packet| packet.handle), Some(2));

    let mut udp = conn.data(10);
    udp[6] = 17;
    assert_eq!(engine.input(ms(3), &udp, 3), Input::Pass(3));
    let mut fragment = udp.clone();
    fragment[6] = 44;
    fragment[40..48].copy_from_slice(&[6, 0, 0, 1, 0, 0, 0, 9]);
    assert_eq!(engine.input(ms(3), &fragment, 4), Input::Pass(4));
    assert_eq!(engine.counters().foreign, 2);
}

#[test]
fn one_packet_leaves_every_delaytime_and_the_first_one_at_once() {
    let mut engine = engine(Params::default(), 16, 16);
    let mut conns = [Conn::of(1), Conn::of(2)];
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    for (handle, conn) in conns.iter_mut().enumerate() {
        assert_eq!(engine.input(ms(1_000), &conn.data(9), handle), Input::Wait);
    }
    assert_eq!(engine.poll(ms(1_000)).map(|packet| packet.handle), Some(0));
    assert_eq!(engine.poll(ms(1_000)), None);
    let at = engine.poll_at().expect("a packet waits").at;
    assert_eq!(at, ms(1_050));
    let second = engine.poll(at).expect("the packet is due");
    assert_eq!(
        (second.handle, second.waited),
        (1, Duration::from_millis(50))
    );
    assert_eq!(second.late, Duration::ZERO);
}

/// Returns two flows at the end of their second period; the first one had ten times the second
/// one's throughput.
fn unequal() -> (Engine, [Conn; 2], Instant) {
    let mut engine = engine(Params::default(), 16, 64);
    let mut conns = [Conn::of(1), Conn::of(2)];
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    let end = 2 * 60_000;
    for step in 0..end / 1_000 {
        let now = ms(step * 1_000);
        for (conn, len) in conns.iter_mut().zip([100, 10]) {
            for packet in [conn.data(len), conn.ack()] {
                engine.input(now, &packet, usize::MAX);
                while engine.take(now).is_some() {}
            }
        }
        assert!(engine.poll(now).is_none());
    }
    assert!(engine.poll(ms(end)).is_none());
    (engine, conns, ms(end))
}

#[test]
fn the_flow_with_the_least_throughput_overtakes_earlier_packets() {
    let (mut engine, [mut fast, mut slow], now) = unequal();
    let throughputs: Vec<_> = engine.flows().map(|flow| flow.throughput).collect();
    assert!(
        throughputs == [100, 10] || throughputs == [10, 100],
        "{throughputs:?}"
    );
    let mut handles = Vec::new();
    for handle in 0..3 {
        assert_eq!(engine.input(now, &fast.data(100), handle), Input::Wait);
    }
    for handle in 3..6 {
        assert_eq!(engine.input(now, &slow.data(10), handle), Input::Wait);
    }
    while let Some(wake) = engine.poll_at().filter(|_| engine.waiting_packets() > 0) {
        handles.extend(engine.poll(wake.at).map(|packet| packet.handle));
    }
    assert_eq!(handles, [3, 4, 5, 0, 1, 2]);
}

#[derive(Clone, Debug)]
enum Step {
    /// This number of milliseconds passes.
    Time(u64),
    Poll,
    /// A flow's node or host sends `len` bytes, or an acknowledgment if `len` is 0.
    Send {
        flow: u8,
        is_up: bool,
        len: usize,
    },
    /// A segment of a flow with any numbers and flags.
    Lie {
        flow: u8,
        seq: u32,
        ack: u32,
        flags: u8,
    },
    /// A segment that belongs to no connection.
    Forge {
        from: u8,
        port: u16,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..200).prop_map(Step::Time),
        (0u64..2).prop_map(|minutes| Step::Time(minutes * 60_000)),
        Just(Step::Poll),
        Just(Step::Poll),
        (1u8..9, any::<bool>(), 0usize..50).prop_map(|(flow, is_up, len)| Step::Send {
            flow,
            is_up,
            len
        }),
        (1u8..9, any::<bool>(), 0usize..50).prop_map(|(flow, is_up, len)| Step::Send {
            flow,
            is_up,
            len
        }),
        (1u8..9, any::<u32>(), any::<u32>(), 0u8..32).prop_map(|(flow, seq, ack, flags)| {
            Step::Lie {
                flow,
                seq,
                ack,
                flags,
            }
        }),
        (9u8..80, any::<u16>()).prop_map(|(from, port)| Step::Forge { from, port }),
    ]
}

#[derive(Default)]
struct Ledger {
    inside: BTreeMap<usize, VecDeque<usize>>,
    left: usize,
}

impl Ledger {
    fn leaves(&mut self, flow_of: &[usize], handle: usize) {
        let flow = flow_of[handle];
        let queue = self.inside.entry(flow).or_default();
        assert_eq!(queue.pop_front(), Some(handle), "out of order, or doubled");
        self.left += 1;
    }
}

fn waiting_shares(engine: &Engine, conns: &[Conn]) -> BTreeMap<usize, u64> {
    let waiting = engine.flows().filter(|flow| flow.waiting > 0);
    let shares = waiting.filter_map(|flow| {
        let ends = [flow.ends.lower, flow.ends.upper];
        let is_of = |conn: &Conn| {
            ends.iter()
                .any(|end| (end.addr.0[15], end.port) == conn.node)
        };
        Some((conns.iter().position(is_of)?, flow.share))
    });
    shares.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// With little memory, flows are replaced and packets are pushed out. Every packet leaves once,
    /// and a flow's packets leave in order. The next packet is that of the waiting flow with the
    /// least throughput. If no packet may leave yet, the next one may leave at the announced time,
    /// at most `delaytime` after the previous packet.
    #[test]
    fn nothing_is_lost_doubled_or_out_of_order(
        steps in prop::collection::vec(step(), 1..400),
        flows in 4usize..24,
        packets in 1usize..40,
        flow_packets in 1u32..10,
        max_wait in prop::option::of(1u64..3_000),
        by_lead: bool,
        has_condition: bool,
    ) {
        let policy = match by_lead {
            true => Policy::Lead(Lead::default()),
            false => Policy::Taim,
        };
        let params = Params {
            policy,
            flow_packets,
            max_wait: max_wait.map(Duration::from_millis),
            contention: has_condition.then(Contention::default),
            ..Params::default()
        };
        let mut engine = engine(params, flows, packets);
        let mut conns: Vec<Conn> = (0..9).map(Conn::of).collect();
        let mut now = Instant::ZERO;
        let mut flow_of = Vec::new();
        let mut ledger = Ledger::default();
        let mut turn = Instant::ZERO;
        let mut input = |engine: &mut Engine, ledger: &mut Ledger, now, flow, packet: &[u8]| {
            let handle = flow_of.len();
            flow_of.push(flow);
            ledger.inside.entry(flow).or_default().push_back(handle);
            match engine.input(now, packet, handle) {
                Input::Wait => {}
                Input::Pass(handle) | Input::WaitInstead(handle) => {
                    ledger.leaves(&flow_of, handle);
                }
            }
            flow_of.clone()
        };
        let mut known = Vec::new();
        for conn in &mut conns[1..] {
            for packet in conn.handshake() {
                known = input(&mut engine, &mut ledger, now, conn.node.0.into(), &packet);
            }
        }
        for step in steps {
            match step {
                Step::Time(ms) => now += Duration::from_millis(ms),
                Step::Poll => loop {
                    let before = waiting_shares(&engine, &conns);
                    let (overdue, periods) = (engine.counters().overdue, engine.counters().periods);
                    let Some(packet) = engine.poll(now) else { break };
                    ledger.leaves(&known, packet.handle);
                    let in_turn = engine.counters().overdue == overdue;
                    if in_turn && !by_lead && engine.counters().periods == periods {
                        let own = before.get(&known[packet.handle]);
                        prop_assert_eq!(own, before.values().min());
                    }
                    if in_turn {
                        turn = now;
                    }
                    let delay = match by_lead {
                        true => Lead::default().max_hold,
                        false => Duration::from_micros(engine.delay_ns().div_ceil(1_000)),
                    };
                    let next = engine.poll_at().map(|wake| wake.at);
                    if engine.waiting_packets() > 0 {
                        prop_assert!(next.is_some_and(|at| at <= turn.max(now) + delay));
                    }
                },
                Step::Send { flow, is_up, len } => {
                    let conn = &mut conns[usize::from(flow)];
                    let packet = match is_up {
                        true => conn.data(len),
                        false => conn.data_down(len),
                    };
                    known = input(&mut engine, &mut ledger, now, flow.into(), &packet);
                }
                Step::Lie { flow, seq, ack, flags } => {
                    let (from, to) = (conns[usize::from(flow)].node, conns[usize::from(flow)].host);
                    let packet = Tcp { from, to, seq, ack, flags, len: 1 }.packet();
                    known = input(&mut engine, &mut ledger, now, flow.into(), &packet);
                }
                Step::Forge { from, port } => {
                    let packet = Tcp {
                        from: (from, port),
                        to: (200, 80),
                        seq: 5,
                        ack: 6,
                        flags: [SYN, ACK, FIN | ACK, RST][usize::from(port % 4)],
                        len: 3,
                    }
                    .packet();
                    let flow = 1_000 + usize::from(from) * 65_536 + usize::from(port);
                    known = input(&mut engine, &mut ledger, now, flow, &packet);
                }
            }
            let inside: usize = ledger.inside.values().map(VecDeque::len).sum();
            prop_assert_eq!(inside, engine.waiting_packets() as usize);
            prop_assert!(inside <= packets);
            let (on_probation, confirmed) = engine.flow_counts();
            prop_assert!((on_probation + confirmed) as usize <= flows);
        }
        // Without further input, the engine releases all waiting packets at the times that it
        // announces.
        while engine.waiting_packets() > 0 {
            now = engine.poll_at().expect("a packet waits").at.max(now);
            if let Some(packet) = engine.poll(now) {
                ledger.leaves(&known, packet.handle);
            }
        }
        prop_assert_eq!(ledger.left, known.len());
    }
}

/// The first flow sends nine times as many packets as the second. Its packets wait once it is four
/// segments ahead of the mean, at most for a second each. All packets of the second flow leave.
#[test]
fn a_flow_in_the_lead_waits_for_the_others() {
    let lead = Lead {
        slack: 4,
        gain: Share::from_percent(0),
        ..Lead::default()
    };
    let params = Params {
        policy: Policy::Lead(lead),
        flow_packets: 1_000,
        ..Params::default()
    };
    let mut engine = engine(params, 16, 256);
    let mut conns = [Conn::of(1), Conn::of(2)];
    for conn in &mut conns {
        conn.open(&mut engine, ms(0));
    }
    let (mut sent, mut left) = ([0, 0], [0, 0]);
    for at in 0..200_u64 {
        let now = ms(10 * at);
        let flow = usize::from(at % 10 == 9);
        sent[flow] += 1;
        let packet = conns[flow].data(100);
        match engine.input(now, &packet, flow) {
            Input::Wait => {}
            Input::Pass(flow) | Input::WaitInstead(flow) => left[flow] += 1,
        }
        while let Some(packet) = engine.poll(now) {
            assert!(packet.waited <= Duration::from_secs(1));
            left[packet.handle] += 1;
        }
        if at < 100 {
            // Each flow may begin four segments behind the mean and get four segments ahead of it,
            // so the flows differ by at most 16 segments, and by one in progress for each flow.
            assert!(left[0] <= left[1] + 18, "{left:?}");
        }
    }
    assert_eq!(sent, [180, 20]);
    assert_eq!(left[1], 20, "who is behind waits for nothing");
    // Packets of the leading flow leave after a second at most.
    assert!(engine.counters().overdue > 0 && left[0] > 60, "{left:?}");
}

#[test]
fn a_slow_flow_overtakes_until_it_has_caught_up() {
    let (mut engine, [mut fast, mut slow], now) = unequal();
    // The slow flow is 5,400 bytes behind in a period of a minute: 27 times 200 bytes.
    for handle in 0..40 {
        assert_eq!(engine.input(now, &slow.data(200), handle), Input::Wait);
    }
    assert_eq!(engine.input(now, &fast.data(1), 99), Input::Wait);
    let mut first = Vec::new();
    for _ in 0..41 {
        first.extend(engine.take(now));
    }
    let place = first.iter().position(|handle| *handle == 99);
    // The slow flow's key counts one packet until that leaves, and then all 40: 8,000 bytes. So the
    // fast flow's packet is the second to leave.
    assert_eq!(place, Some(1));
}
