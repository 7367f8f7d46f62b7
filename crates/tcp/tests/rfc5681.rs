//! RFC 5681: slow start, congestion avoidance, fast retransmit, idle restart.

use redpoll_base::Duration;
use redpoll_tcp::Config;
use redpoll_testkit::{FIN_ACK, Host, Record, SYN, SYN_ACK, recv, recv_nothing, send};

fn plain() -> Config {
    Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        mss: 3000,
        ..Config::default()
    }
}

/// Sends full-sized segments of 100 bytes, unlimited by the window, from a full buffer.
fn busy() -> Host {
    let mut t = Host::established_with(&plain(), 100, 60_000, 60_000, 64);
    t.write(&[b'x'; 60_000]);
    t
}

fn sizes(t: &mut Host) -> Vec<(u32, usize)> {
    t.sent()
        .iter()
        .map(|record| (record.seq_number(), record.payload().len()))
        .collect()
}

/// RFC 5681 §3.1: IW is four, three or two segments, depending on their size.
#[test]
fn initial_window() {
    for (mss, segments) in [(1095, 4), (1096, 3), (2190, 3), (2191, 2)] {
        let mut t = Host::established_with(&plain(), mss, 60_000, 60_000, 64);
        t.max_len = 4000;
        t.write(&[b'x'; 60_000]);
        assert_eq!(t.sent().len(), segments, "{mss}");
    }
}

/// RFC 5681 §3.1: IW is one segment after a lost SYN.
#[test]
fn initial_window_after_a_lost_syn() {
    let mut t = Host::connect(&plain(), 4000, 64);
    t.write(&[b'x'; 4000]);
    recv!(t, flags SYN, seq 0, mss 3000);
    recv!(t, at 1000, flags SYN, seq 0, mss 3000);
    send!(t, flags SYN_ACK, seq 0, ack 1, mss 100);
    recv!(t, seq 1, ack 1, len 100);
    recv_nothing!(t);
}

/// RFC 5681 §3.1, equation (2), with RFC 3465 §2.2: cwnd grows by the acknowledged bytes, at most
/// by two SMSS per ACK.
#[test]
fn slow_start() {
    let mut t = busy();
    assert_eq!(sizes(&mut t).len(), 4);
    assert_eq!(t.conn.info().cwnd, 400);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.info().cwnd, 600);
    assert_eq!(sizes(&mut t).len(), 4);
    // ACK division has no effect: 19 ACKs of one byte each raise cwnd by 19 bytes.
    for ack in 202..=220 {
        send!(t, seq 1, ack ack, win 60_000);
    }
    assert_eq!(t.conn.info().cwnd, 619);
    t.drain();
    send!(t, seq 1, ack 801, win 60_000);
    assert_eq!(t.conn.info().cwnd, 819);
}

/// RFC 5681 §3.1: above ssthresh, cwnd grows by one SMSS per round trip.
#[test]
fn congestion_avoidance() {
    let mut t = busy();
    t.sent();
    t.run_until(1000);
    // A timeout with four segments outstanding: ssthresh is two segments, and cwnd is one segment.
    assert_eq!((t.conn.info().cwnd, t.conn.info().ssthresh), (100, 200));
    t.sent();
    // The peer already had the three other segments, so its ACK covers all four.
    let mut next = 401;
    send!(t, seq 1, ack next, win 60_000);
    assert_eq!(t.conn.info().cwnd, 200);
    let mut ack_all = |t: &mut Host| {
        for (seq, len) in sizes(t) {
            next = next.max(seq + len as u32);
            send!(t, seq 1, ack next, win 60_000);
        }
    };
    for window in 3..8 {
        ack_all(&mut t);
        assert_eq!(t.conn.info().cwnd, window * 100);
    }
}

/// RFC 5681 §3.1: if cwnd equals ssthresh, slow start is allowed. The first ACK then adds a
/// segment, and the following ones count in congestion avoidance.
#[test]
fn at_the_threshold_the_first_ack_adds_a_segment() {
    let mut t = busy();
    t.sent();
    t.run_until(1000);
    t.sent();
    send!(t, seq 1, ack 401, win 60_000);
    assert_eq!((t.conn.info().cwnd, t.conn.info().ssthresh), (200, 200));
    t.sent();
    send!(t, seq 1, ack 501, win 60_000);
    assert_eq!(t.conn.info().cwnd, 300);
    t.sent();
    for (ack, cwnd) in [(601, 300), (701, 300), (801, 400)] {
        send!(t, seq 1, ack ack, win 60_000);
        assert_eq!(t.conn.info().cwnd, cwnd, "{ack}");
        t.sent();
    }
}

/// RFC 5681 §3.1, equation (4); a second timeout of the same segment keeps ssthresh.
#[test]
fn timeouts_collapse_the_window() {
    let mut t = busy();
    t.sent();
    send!(t, seq 1, ack 401, win 60_000);
    t.drain();
    send!(t, seq 1, ack 901, win 60_000);
    assert_eq!(t.conn.info().cwnd, 800);
    t.drain();
    t.sent();
    recv!(t, at 1000, seq 901, ack 1, len 100);
    assert_eq!((t.conn.info().cwnd, t.conn.info().ssthresh), (100, 400));
    recv!(t, at 3000, seq 901, ack 1, len 100);
    assert_eq!((t.conn.info().cwnd, t.conn.info().ssthresh), (100, 400));
}

/// RFC 5681 §3.2, step 1 (RFC 3042): each of the first two duplicate ACKs releases a new segment.
/// Steps 2 to 5 with the window of RFC 9937: the third one triggers the retransmission.
#[test]
fn fast_retransmit() {
    let mut t = busy();
    t.sent();
    send!(t, seq 1, ack 101, win 60_000);
    t.sent(); // the segments at 401 and 501
    for seq in [601, 701] {
        send!(t, seq 1, ack 101, win 60_000);
        recv!(t, seq seq, ack 1, len 100);
        recv_nothing!(t);
        assert_eq!(
            t.conn.info().cwnd,
            500,
            "limited transmit does not change cwnd"
        );
    }
    send!(t, seq 1, ack 101, win 60_000);
    recv!(t, seq 101, ack 1, len 100);
    // ssthresh is half of the five segments without limited transmit.
    assert_eq!(t.conn.info().ssthresh, 250);
    recv_nothing!(t);
    // Three of the seven outstanding segments have arrived and one is retransmitted. Two more
    // duplicates reduce the bytes in flight below ssthresh; then new data follow.
    send!(t, seq 1, ack 101, win 60_000);
    send!(t, seq 1, ack 101, win 60_000);
    recv_nothing!(t);
    send!(t, seq 1, ack 101, win 60_000);
    recv!(t, seq 801, ack 1, len 100);
    recv_nothing!(t);
    // RFC 9937 §6.4: at the end of recovery, cwnd becomes ssthresh.
    send!(t, seq 1, ack 901, win 60_000);
    assert_eq!(t.conn.info().cwnd, 250);
    assert_eq!(t.conn.stats().retransmissions.fast, 1);
    assert_eq!(t.conn.stats().rtos, 0);
}

/// RFC 5681 §2: an ACK is a duplicate only if all conditions (a) to (e) hold.
#[test]
fn only_real_duplicates_count() {
    let mut t = busy();
    t.sent();
    for n in 0..9 {
        send!(t, seq 1, ack 1, win 50_000 + n); // (e) another window
    }
    for n in 0..9 {
        send!(t, seq 1 + n, ack 1, win 60_000, data b"d"); // (b) data
    }
    assert_eq!(t.conn.stats().dup_acks_received, 0);
    assert_eq!(t.conn.stats().retransmissions.fast, 0);
}

#[test]
fn repeated_acks_of_an_idle_connection_have_no_effect() {
    let mut t = Host::established(&plain(), 100, 4096);
    for _ in 0..9 {
        send!(t, seq 1, ack 1);
    }
    recv_nothing!(t);
    assert_eq!(t.conn.stats().dup_acks_received, 0);
}

#[test]
fn two_duplicates_are_not_a_loss() {
    let mut t = busy();
    t.sent();
    send!(t, seq 1, ack 1, win 60_000);
    send!(t, seq 1, ack 1, win 60_000);
    send!(t, seq 1, ack 401, win 60_000);
    assert_eq!(t.conn.stats().retransmissions.total(), 0);
    assert_eq!(t.conn.info().cwnd, 600);
}

/// RFC 5681 §4.1: after a silence of more than an RTO, the restart window is IW.
#[test]
fn an_idle_connection_restarts_slowly() {
    let mut t = busy();
    let mut acked = 1;
    while t.conn.unacked() > 0 {
        let end = t
            .sent()
            .iter()
            .map(|r| r.seq_number() + r.payload().len() as u32)
            .max();
        acked = end.unwrap_or(acked).max(acked);
        send!(t, seq 1, ack acked, win 60_000);
    }
    assert!(t.conn.info().cwnd > 1000);
    let cwnd = t.conn.info().cwnd;
    t.wait(500);
    t.write(b"x");
    t.sent();
    send!(t, seq 1, ack acked + 1, win 60_000);
    assert!(t.conn.info().cwnd >= cwnd, "half a second is not idle");
    t.wait(5_000);
    t.write(&[b'x'; 2000]);
    assert_eq!(t.sent().len(), 4);
}

/// RFC 5681 §4.1: a connection with data in flight is not idle, even if the window has stopped new
/// data for more than an RTO.
#[test]
fn a_connection_with_data_in_flight_does_not_restart() {
    let mut t = busy();
    let end = |sizes: Vec<(u32, usize)>| sizes.last().map(|(at, len)| at + *len as u32).unwrap();
    let mut acked = end(sizes(&mut t));
    while t.conn.info().cwnd < 1_000 {
        send!(t, seq 1, ack acked, win 60_000);
        acked = end(sizes(&mut t));
    }
    let end = acked;
    acked -= 800;
    let cwnd = t.conn.info().cwnd;
    for _ in 0..6 {
        t.wait(900);
        acked += 100;
        send!(t, seq 1, ack acked, win (end - acked) as u16);
        recv_nothing!(t);
    }
    assert_eq!(t.conn.stats().rtos, 0);
    send!(t, seq 1, ack acked, win 60_000);
    assert!(sizes(&mut t).len() > 4);
    assert!(t.conn.info().cwnd >= cwnd);
}

/// RFC 5681 §3.1 and RFC 7661 §4.3: cwnd does not grow while the connection never fills it, because
/// the ACKs then show nothing about the path.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let config = Config {
        timestamps: false,
        mss: 462,
        ..Config::default()
    };
    let mut t = Host::established(&config, 462, 60_000);
    let begin = t.conn.info().cwnd;
    let mut acked = 1;
    for _ in 0..3_000 {
        t.write(&[b'x'; 100]);
        assert_eq!(t.sent().len(), 1);
        t.wait(50);
        acked += 100;
        send!(t, seq 1, ack acked, win 60_000);
        t.wait(50);
    }
    assert_eq!(t.conn.info().cwnd, begin);
    // A filled window grows, up to twice the data outstanding in a round trip.
    for _ in 0..20 {
        t.write(&[b'x'; 4_000]);
        while t.conn.unacked() > 0 {
            let sent = t.sent();
            t.wait(50);
            for record in sent {
                acked += record.payload().len() as u32;
                send!(t, seq 1, ack acked, win 60_000);
            }
        }
    }
    assert!(t.conn.info().cwnd > begin);
    assert!(
        t.conn.info().cwnd <= 2 * 4_000 + 462,
        "{}",
        t.conn.info().cwnd
    );
}

/// RFC 7661 §4.3: whether cwnd was filled depends on the maximum outstanding in the round trip, not
/// on the data outstanding at each ACK. In slow start, four ACKs for the four segments of a filled
/// cwnd double it.
#[test]
fn every_acknowledgment_of_a_filled_window_counts() {
    let mut t = busy();
    let mut t4 = Host::established_with(&plain(), 100, 60_000, 60_000, 64);
    t4.write(&[b'x'; 400]);
    for (t, filled) in [(&mut t, true), (&mut t4, false)] {
        assert_eq!(sizes(t).len(), 4);
        for n in 1..=4 {
            send!(t, seq 1, ack 1 + 100 * n, win 60_000);
            assert_eq!(t.conn.info().cwnd, 400 + 100 * n, "{filled}");
        }
    }
    // Two segments of a window of eight are used: less than half.
    t4.write(&[b'x'; 200]);
    assert_eq!(sizes(&mut t4).len(), 2);
    send!(t4, seq 1, ack 501, win 60_000);
    send!(t4, seq 1, ack 601, win 60_000);
    assert_eq!(t4.conn.info().cwnd, 800);
    // Only ACKs of the filled window increase cwnd, not the ACK of the segment sent after it.
    t4.write(&[b'x'; 800]);
    assert_eq!(sizes(&mut t4).len(), 8);
    send!(t4, seq 1, ack 1201, win 60_000);
    assert_eq!(t4.conn.info().cwnd, 1_000);
    t4.write(&[b'x'; 100]);
    assert_eq!(sizes(&mut t4).len(), 1);
    send!(t4, seq 1, ack 1401, win 60_000);
    assert_eq!(t4.conn.info().cwnd, 1_200, "the rest of the filled window");
    send!(t4, seq 1, ack 1501, win 60_000);
    assert_eq!(t4.conn.info().cwnd, 1_200);
}

/// Returns the number of acknowledgments that `t` has sent by now and in the following half second.
fn acks_soon(t: &mut Host) -> usize {
    t.wait(500);
    t.sent().len()
}

/// RFC 5681 §4.2: "A TCP receiver MUST NOT generate more than one ACK for every incoming segment".
/// With and without SACK, each segment that arrives twice, lies beyond a gap or fills a gap elicits
/// a single ACK.
#[test]
fn one_acknowledgment_for_each_segment() {
    for sack in [false, true] {
        let answer = Record::new().mss(100).sack_ok(sack);
        let mut t = Host::established_by(&plain(), answer, 100);
        send!(t, seq 1, ack 1, len 100);
        assert_eq!(acks_soon(&mut t), 1, "in order");
        send!(t, seq 1, ack 1, len 100);
        assert_eq!(acks_soon(&mut t), 1, "a duplicate below the window");
        send!(t, seq 201, ack 1, len 100);
        assert_eq!(acks_soon(&mut t), 1, "beyond a gap");
        send!(t, seq 201, ack 1, len 100);
        assert_eq!(acks_soon(&mut t), 1, "a duplicate beyond a gap");
        send!(t, seq 101, ack 1, len 50);
        assert_eq!(acks_soon(&mut t), 1, "a part of the gap");
        send!(t, seq 151, ack 1, len 50);
        assert_eq!(acks_soon(&mut t), 1, "the rest of the gap");
        send!(t, seq 251, ack 1, len 100);
        assert_eq!(acks_soon(&mut t), 1, "old and new text");
        send!(t, flags FIN_ACK, seq 401, ack 1, len 100);
        assert_eq!(acks_soon(&mut t), 1, "a FIN beyond a gap");
        send!(t, seq 351, ack 1, len 50);
        assert_eq!(acks_soon(&mut t), 1, "the gap before the FIN");
    }
}

/// RFC 5681 §4.2: several segments that arrive before the link is free elicit at most as many ACKs,
/// whatever their order.
#[test]
fn no_more_acknowledgments_than_segments_in_any_order() {
    for sack in [false, true] {
        for order in 0..120usize {
            let mut left = vec![0u32, 1, 2, 3, 4];
            let mut rest = order;
            let answer = Record::new().mss(100).sack_ok(sack);
            let mut t = Host::established_by(&plain(), answer, 100);
            let mut count = 0;
            while !left.is_empty() {
                let n = left.remove(rest % left.len());
                rest /= left.len() + 1;
                for _ in 0..=n % 2 {
                    send!(t, seq 1 + 100 * n, ack 1, len 100);
                    count += 1;
                }
            }
            assert!(acks_soon(&mut t) <= count, "{order}");
            assert_eq!(t.read(600).len(), 500);
        }
    }
}
