//! RFC 3042: limited transmit without SACK. With SACK: `rfc6675.rs`.

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, ms, recv_nothing, send};

/// Writes 2000 bytes and sends four segments of 100 bytes, starting at 1, without SACK.
fn four_out(window: u16) -> Host {
    let config = Config {
        timestamps: false,
        min_rto: ms(1_000),
        ..Config::default()
    };
    let answer = Record::new().mss(100).win(window);
    let mut t = Host::established_by(&config, answer, 100);
    t.write(&[b'x'; 2000]);
    assert_eq!(starts(&mut t), [1, 101, 201, 301]);
    t.wait(100);
    t
}

fn starts(t: &mut Host) -> Vec<u32> {
    t.sent().iter().map(Record::seq_number).collect()
}

/// RFC 3042 §2: each of the first two duplicate ACKs releases a new segment; cwnd "MUST NOT be
/// changed". The third one indicates a loss.
#[test]
fn two_duplicates_bring_a_new_segment_each() {
    let mut t = four_out(60_000);
    let cwnd = t.conn.info().cwnd;
    for new in [401, 501] {
        send!(t, seq 1, ack 1, win 60_000);
        assert_eq!(starts(&mut t), [new]);
        assert_eq!(t.conn.info().cwnd, cwnd);
    }
    send!(t, seq 1, ack 1, win 60_000);
    assert_eq!(starts(&mut t), [1]);
    assert_eq!(t.conn.stats().rtos, 0);
}

/// RFC 3042 §2: limited transmit sends a segment only if the peer's window permits it.
#[test]
fn the_window_of_the_peer_counts() {
    let mut t = four_out(400);
    send!(t, seq 1, ack 1, win 400);
    recv_nothing!(t);
}

/// RFC 3042 §2: at most cwnd plus two segments are outstanding, even after a timeout, when more
/// than two duplicates indicate no loss (RFC 6582 §4).
#[test]
fn no_more_than_two_segments_beyond_cwnd() {
    let mut t = four_out(60_000);
    t.run_until(1_100);
    assert_eq!(t.conn.stats().rtos, 1);
    t.sent();
    send!(t, seq 1, ack 401, win 60_000);
    assert_eq!(starts(&mut t), [401, 501]);
    assert_eq!(t.conn.info().cwnd, 200);
    let mut new = Vec::new();
    for _ in 0..5 {
        send!(t, seq 1, ack 401, win 60_000);
        new.extend(starts(&mut t));
    }
    assert_eq!(new, [601, 701]);
    assert_eq!(t.conn.info().cwnd, 200);
}

/// RFC 3042 §2 and RFC 5681 §3.2, step 2: segments of limited transmit do not count for ssthresh.
#[test]
fn limited_transmit_is_not_counted_in_ssthresh() {
    let mut t = four_out(60_000);
    for _ in 0..3 {
        send!(t, seq 1, ack 1, win 60_000);
        t.drain();
    }
    assert_eq!(t.conn.info().ssthresh, 200, "half of four, not of six");
}
