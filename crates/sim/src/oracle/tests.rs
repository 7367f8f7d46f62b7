use redpoll_base::{Duration, Instant};
use redpoll_tcp::Stats;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn oracle() -> (Oracle, FlowId) {
    let mut oracle = Oracle::default();
    let id = oracle.flow("bulk", "a", "b");
    (oracle, id)
}

#[test]
fn bytes_in_order_satisfy_it() {
    let (mut oracle, id) = oracle();
    oracle.sent(id, at(1), b"hello ");
    oracle.sent(id, at(2), b"world");
    oracle.received(id, at(10), b"hel");
    oracle.received(id, at(1_010), b"lo world");
    oracle.ended(id, at(1_011));
    assert!(oracle.is_satisfied());
    let figures = &oracle.figures()[0];
    assert_eq!(figures.delivered_bytes, 11);
    assert!((figures.goodput_kbps - 0.088).abs() < 1e-9);
}

#[test]
fn what_must_not_happen_is_named() {
    let (mut oracle, id) = oracle();
    oracle.sent(id, at(1), b"hello");
    oracle.received(id, at(10), b"hexlo");
    assert_eq!(
        oracle.violations(),
        ["0.010000 s: flow bulk: byte 2 is wrong"]
    );
    oracle.received(id, at(11), b"o");
    oracle.sent(id, at(12), b"more");
    oracle.ended(id, at(13));
    oracle.sent(id, at(5), b"past");
    assert_eq!(
        &oracle.violations()[1..],
        [
            "0.011000 s: flow bulk: 6 bytes received of 5 sent",
            "0.013000 s: flow bulk: ended with 4 bytes missing",
            "time ran backwards, from 0.013000 s to 0.005000 s",
        ]
    );
    assert!(!oracle.is_satisfied());
}

#[test]
fn datagrams_arrive_once_or_not_at_all() {
    let (mut oracle, id) = oracle();
    for seq in 0..4 {
        oracle.datagram_sent(id, at(1), seq, 50);
    }
    oracle.datagram_received(id, at(2), 3, 50);
    oracle.datagram_received(id, at(3), 0, 50);
    oracle.datagram_received(id, at(4), 1, 50);
    assert!(oracle.is_satisfied());
    let figures = &oracle.figures()[0];
    assert_eq!((figures.segments_sent, figures.segment_loss), (4, 0.25));
    oracle.datagram_received(id, at(5), 3, 50);
    oracle.datagram_received(id, at(6), 4, 50);
    assert_eq!(oracle.violations().len(), 2, "{:?}", oracle.violations());
}

#[test]
fn statistics_add_up_over_connections() {
    let (mut oracle, id) = oracle();
    let mut stats = Stats {
        segments_sent: 10,
        data_segments_sent: 8,
        rtt_samples: 1,
        last_rtt: Duration::from_millis(100),
        ..Stats::default()
    };
    oracle.observe(id, End::Sender, &stats);
    oracle.observe(id, End::Sender, &stats);
    stats.rtt_samples = 2;
    stats.last_rtt = Duration::from_millis(200);
    stats.retransmissions.rto = 2;
    oracle.observe(id, End::Sender, &stats);
    let second = Stats {
        segments_sent: 3,
        data_segments_sent: 2,
        ..Stats::default()
    };
    oracle.observe(id, End::Sender, &second);
    let received = Stats {
        segments_received: 8,
        data_segments_received: 9,
        ..Stats::default()
    };
    oracle.observe(id, End::Receiver, &received);
    let figures = &oracle.figures()[0];
    assert_eq!(figures.segments_sent, 10);
    assert_eq!(figures.segment_loss, 0.1);
    assert_eq!(figures.retransmissions.rto, 2);
    let rtt = figures.rtt_ms;
    assert!((rtt.p50.unwrap() - 100.0).abs() < 1.0, "{rtt:?}");
    assert!((rtt.p95.unwrap() - 200.0).abs() < 2.0, "{rtt:?}");
}

#[test]
fn a_restart_forgives_what_was_on_its_way() {
    let (mut oracle, id) = oracle();
    oracle.sent(id, at(1), b"lost");
    oracle.restart(id);
    oracle.sent(id, at(2), b"new");
    oracle.received(id, at(3), b"new");
    oracle.ended(id, at(3));
    assert!(oracle.is_satisfied());
}

#[test]
fn patterns_differ_between_flows_and_places() {
    let of = |flow| -> Vec<u8> { (0..64).map(|i| Oracle::pattern(FlowId(flow), i)).collect() };
    assert_ne!(of(0), of(1));
    let mut seen = of(0);
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 40);
}

#[test]
fn either_end_may_ask_for_a_flow_first() {
    let (mut oracle, id) = oracle();
    assert_eq!(oracle.flow("bulk", "a", "b"), id);
    assert_ne!(oracle.flow("bulk", "a", "c"), id);
}
