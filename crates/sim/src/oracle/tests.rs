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
    let figures = &oracle.figures(at(2_000))[0];
    assert_eq!(figures.delivered_bytes, 11);
    assert!((figures.goodput_kbps - 0.088).abs() < 1e-9);
}

#[test]
fn violations_are_named_with_time_and_flow() {
    let (mut oracle, id) = oracle();
    oracle.sent(id, at(1), b"hello");
    oracle.received(id, at(10), b"hexlo");
    assert_eq!(
        oracle.violations(),
        ["0.010000 s: flow bulk: byte 2 of the stream arrived with a wrong value"]
    );
    oracle.received(id, at(11), b"o");
    oracle.sent(id, at(12), b"more");
    oracle.ended(id, at(13));
    oracle.sent(id, at(5), b"past");
    assert_eq!(
        &oracle.violations()[1..],
        [
            "0.011000 s: flow bulk: the receiver has 6 bytes, but only 5 were sent",
            "0.013000 s: flow bulk: the stream ended with 4 bytes missing",
            "the virtual time ran backwards, from 0.013000 s to 0.005000 s",
        ]
    );
    assert!(!oracle.is_satisfied());
}

#[test]
fn datagrams_arrive_once_or_not_at_all() {
    let (mut oracle, id) = oracle();
    for seq in 0..4 {
        oracle.datagram_sent(id, at(1), seq);
    }
    oracle.datagram_received(id, at(2), 3, 50);
    oracle.datagram_received(id, at(3), 0, 50);
    oracle.datagram_received(id, at(4), 1, 50);
    assert!(oracle.is_satisfied());
    let figures = &oracle.figures(at(2_000))[0];
    assert_eq!((figures.segments_sent, figures.segment_loss), (4, 0.25));
    oracle.datagram_received(id, at(5), 3, 50);
    oracle.datagram_received(id, at(6), 4, 50);
    assert_eq!(oracle.violations().len(), 2, "{:?}", oracle.violations());
}

#[test]
fn numbers_may_be_left_out() {
    let (mut oracle, id) = oracle();
    for seq in [0, 1, 5] {
        oracle.datagram_sent(id, at(1), seq);
    }
    for seq in [5, 0] {
        oracle.datagram_received(id, at(2), seq, 50);
    }
    assert!(oracle.is_satisfied());
    let figures = &oracle.figures(at(2_000))[0];
    assert_eq!(
        (figures.segments_sent, figures.segment_loss),
        (3, 1.0 / 3.0)
    );
    oracle.datagram_received(id, at(3), 3, 50);
    oracle.datagram_sent(id, at(3), 4);
    assert_eq!(oracle.violations().len(), 2, "{:?}", oracle.violations());
}

#[test]
fn a_datagram_that_may_still_come_is_not_lost() {
    let (mut oracle, id) = oracle();
    oracle.datagram_sent(id, at(0), 0);
    oracle.datagram_received(id, at(400), 0, 50);
    oracle.datagram_sent(id, at(1_000), 1);
    oracle.datagram_sent(id, at(1_800), 2);
    let loss = |now| oracle.figures(at(now))[0].segment_loss;
    assert_eq!(loss(1_400), 0.0);
    assert_eq!(loss(1_401), 0.5);
    assert_eq!(loss(2_000), 0.5);
    assert_eq!(loss(3_000), 2.0 / 3.0);
}

/// Returns the statistics of a connection that handed `segments` segments of 100 bytes to the link.
fn sent(segments: u32) -> Stats {
    let mut stats = Stats::default();
    stats.segments_sent = segments;
    stats.data_segments_sent = segments;
    stats.bytes_sent = segments * 100;
    stats
}

fn received(segments: u32) -> Stats {
    let mut stats = Stats::default();
    stats.segments_received = segments;
    stats.data_segments_received = segments;
    stats.bytes_received = segments * 100;
    stats
}

/// Returns an oracle with a flow of `bytes` written bytes, and the sources of both ends'
/// statistics.
fn watched(bytes: usize) -> (Oracle, Source, Source) {
    let (mut oracle, id) = oracle();
    oracle.sent(id, at(0), &vec![0; bytes]);
    let sender = oracle.source(id, End::Sender);
    let receiver = oracle.source(id, End::Receiver);
    (oracle, sender, receiver)
}

impl Oracle {
    fn loss(&self) -> f64 {
        self.figures(at(2_000))[0].segment_loss
    }
}

#[test]
fn statistics_add_up_over_connections() {
    let (mut oracle, sender, receiver) = watched(10_000);
    let mut stats = sent(8);
    stats.rtt_samples = 1;
    stats.last_rtt = Duration::from_millis(100);
    oracle.observe(&sender, at(1), &stats);
    oracle.observe(&sender, at(1), &stats);
    stats.rtt_samples = 2;
    stats.last_rtt = Duration::from_millis(200);
    stats.retransmissions.rto = 2;
    oracle.observe(&sender, at(1), &stats);
    let again = oracle.source(sender.flow, End::Sender);
    oracle.observe(&again, at(1), &sent(2));
    oracle.observe(&receiver, at(1), &received(9));
    assert!(oracle.is_satisfied(), "{:?}", oracle.violations());
    let figures = &oracle.figures(at(2_000))[0];
    assert_eq!(figures.segments_sent, 10);
    assert_eq!(figures.segment_loss, 0.1);
    assert_eq!(figures.retransmissions.rto, 2);
    let rtt = figures.rtt_ms;
    assert!((rtt.p50.unwrap() - 100.0).abs() < 1.0, "{rtt:?}");
    assert!((rtt.p95.unwrap() - 200.0).abs() < 2.0, "{rtt:?}");
}

#[test]
fn segments_under_way_are_not_lost() {
    let (mut oracle, sender, receiver) = watched(10_000);
    oracle.observe(&receiver, at(1), &received(6));
    oracle.observe(&sender, at(1), &sent(10));
    assert_eq!(oracle.loss(), 0.0, "four under way");

    // The seventh segment was lost and retransmitted; three later segments are in transit as well.
    let mut resent = sent(11);
    resent.retransmissions.fast = 1;
    oracle.observe(&sender, at(2), &resent);
    assert_eq!(oracle.loss(), 1.0 / 7.0);

    // These three segments arrive and wait for the seventh.
    let mut gap = received(6);
    gap.segments_received += 3;
    gap.data_segments_received += 3;
    gap.out_of_order_segments = 3;
    oracle.observe(&receiver, at(3), &gap);
    assert_eq!(oracle.loss(), 1.0 / 10.0, "the seventh is under way");

    // The missing segment arrives, and all data are in order.
    let mut filled = received(10);
    filled.out_of_order_segments = 3;
    oracle.observe(&receiver, at(4), &filled);
    assert_eq!(oracle.loss(), 1.0 / 11.0);

    // One more segment is sent. The oracle cannot know that it is lost until it is retransmitted.
    resent.data_segments_sent += 1;
    resent.bytes_sent += 100;
    oracle.observe(&sender, at(5), &resent);
    assert_eq!(oracle.loss(), 1.0 / 11.0);
    assert!(oracle.is_satisfied(), "{:?}", oracle.violations());
}

/// Checks that statistics of the previous connection are ignored. A receiver may report them while
/// it does not know that the sender's connection failed.
#[test]
fn statistics_of_earlier_connections_are_ignored() {
    let (mut oracle, sender, receiver) = watched(10_000);
    oracle.observe(&receiver, at(1), &received(6));
    oracle.observe(&sender, at(1), &sent(10));
    oracle.restart(sender.flow);
    oracle.observe(&receiver, at(2), &received(7));
    assert_eq!(oracle.loss(), 0.4);
}

#[test]
fn a_restart_excuses_data_in_transit() {
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

#[test]
fn impossible_statistics_are_violations() {
    let acked = |bytes| {
        let mut stats = sent(10);
        stats.bytes_acked = bytes;
        stats
    };
    let cases: [(&str, Stats, Stats); 5] = [
        ("fine", acked(600), received(6)),
        (
            "601 bytes were acknowledged, but only 600 were received",
            acked(601),
            received(6),
        ),
        (
            "1100 bytes were sent, but the application wrote only 1000",
            sent(11),
            received(6),
        ),
        (
            "1100 bytes were received, but the application wrote only 1000",
            sent(10),
            received(11),
        ),
        (
            "a counter of TCP at the Sender decreased",
            sent(4),
            received(6),
        ),
    ];
    for (expected, sender_says, receiver_says) in cases {
        let (mut oracle, sender, receiver) = watched(1_000);
        oracle.observe(&sender, at(1), &sent(5));
        oracle.observe(&receiver, at(2), &receiver_says);
        oracle.observe(&sender, at(3), &sender_says);
        let found = oracle.violations().first().map(String::as_str);
        let found = found.map_or("fine", |text| text.split("bulk: ").last().unwrap());
        assert_eq!(found, expected);
    }
}

/// Checks that the engine's 32-bit counters may wrap in a flow of 5 GiB, but may not decrease.
#[test]
fn counters_may_overflow_but_not_go_down() {
    let (mut oracle, id) = oracle();
    let source = oracle.source(id, End::Sender);
    let step = 1 << 29;
    for turn in 0..=10_u32 {
        let mut stats = Stats::default();
        stats.bytes_sent = turn.wrapping_mul(step);
        stats.bytes_acked = turn.wrapping_mul(step);
        stats.data_segments_sent = turn.wrapping_mul(step / 500);
        oracle.observe(&source, at(u64::from(turn)), &stats);
    }
    assert_eq!(oracle.violations(), [""; 0]);
    let stats = Stats::default();
    oracle.observe(&source, at(20), &stats);
    assert_eq!(
        oracle.violations(),
        ["0.020000 s: flow bulk: a counter of TCP at the Sender decreased"]
    );
}

/// Checks that only Fast Open permits data twice (late duplicate of a SYN, RFC 7413 §2.1).
#[test]
fn with_fast_open_the_first_bytes_of_a_connection_may_arrive_once_more() {
    for has_fast_open in [true, false] {
        let mut oracle = Oracle::default().with_fast_open(has_fast_open);
        let id = oracle.flow("bulk", "a", "b");
        let accept = |oracle: &mut Oracle| oracle.watch(id, End::Receiver, ConnId::new(0, 0));
        oracle.restart(id);
        oracle.sent(id, at(1), b"hello world");
        accept(&mut oracle);
        oracle.received(id, at(10), b"hello");
        accept(&mut oracle);
        oracle.received(id, at(20), b"hello");
        oracle.received(id, at(30), b" world");
        assert_eq!(oracle.is_satisfied(), has_fast_open);
    }
    // The first bytes of a later connection are not mistaken for a late duplicate of the earlier
    // connection's SYN.
    let mut oracle = Oracle::default().with_fast_open(true);
    let id = oracle.flow("bulk", "a", "b");
    for (ms, bytes) in [(1, b"one"), (2, b"two")] {
        oracle.restart(id);
        oracle.sent(id, at(ms), bytes);
        oracle.watch(id, End::Receiver, ConnId::new(0, 0));
        oracle.received(id, at(ms), bytes);
    }
    assert!(oracle.is_satisfied());
}
