//! RFC 6582: NewReno's recovery from several losses in one window.

use redpoll_base::Duration;
use redpoll_tcp::Config;
use redpoll_testkit::{Host, recv, recv_nothing, send};

/// Sends ten segments of 100 bytes, 1 to 1000, with more data waiting.
fn ten_out() -> Host {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established_with(&config, 100, 60_000, 60_000, 64);
    t.write(&[b'x'; 60_000]);
    t.sent();
    // Acknowledgments let the window grow to ten segments.
    let mut acked = 0;
    while t.conn.info().cwnd < 1000 {
        acked += 100;
        send!(t, seq 1, ack 1 + acked, win 60_000);
        t.drain();
    }
    t.sent();
    t
}

fn edges(t: &mut Host) -> (u32, u32) {
    send!(t, flags redpoll_wire::tcp::Flags::SYN, seq 0); // a challenge ACK contains SND.NXT
    let nxt = t.sent().last().unwrap().seq_number();
    (nxt - 1000, nxt)
}

fn duplicates(t: &mut Host, una: u32, count: usize) {
    for _ in 0..count {
        send!(t, seq 1, ack una, win 60_000);
    }
}

/// RFC 6582 §3.2, step 3: each partial acknowledgment repairs the next hole.
#[test]
fn partial_acknowledgments_repair_one_hole_each() {
    let mut t = ten_out();
    let (una, nxt) = edges(&mut t);
    // Lost: the segments at una, una + 300 and una + 600.
    duplicates(&mut t, una, 3);
    assert_eq!(t.conn.info().ssthresh, 500);
    let sent = t.sent();
    assert_eq!(sent.last().unwrap().seq_number(), una);
    duplicates(&mut t, una, 4);
    t.sent();
    for hole in [una + 300, una + 600] {
        send!(t, seq 1, ack hole, win 60_000);
        let sent = t.sent();
        assert_eq!(sent[0].seq_number(), hole);
        assert_eq!(sent.iter().filter(|r| r.seq_number() < nxt).count(), 1);
    }
    assert_eq!(t.conn.stats().retransmissions.fast, 3);
    assert_eq!(t.conn.info().ssthresh, 500, "one reduction for one window");
    assert_eq!(t.conn.stats().rtos, 0);
    // A full acknowledgment: all data outstanding at the start of recovery.
    send!(t, seq 1, ack nxt, win 60_000);
    assert!(t.conn.info().cwnd <= 500);
    assert_eq!(
        t.conn.stats().bad_segments,
        1,
        "the SYN by which `edges` asked"
    );
}

/// RFC 6582 §3.2, step 3, as in RFC 9937: cwnd exceeds ssthresh by at most a segment, however the
/// acknowledgments are divided.
#[test]
fn partial_acknowledgments_do_not_inflate_the_window() {
    for step in [1, 50, 100, 300] {
        let mut t = ten_out();
        let (una, nxt) = edges(&mut t);
        duplicates(&mut t, una, 9);
        t.sent();
        let mut ack = una;
        while ack + step < nxt {
            ack += step;
            send!(t, seq 1, ack ack, win 60_000);
            t.drain();
            assert!(t.conn.info().cwnd <= 500 + 100, "{}", t.conn.info().cwnd);
        }
    }
}

/// RFC 6582 §3.2, step 2: after a timeout, duplicates of retransmitted data start no recovery.
#[test]
fn duplicates_after_a_timeout_do_not_reduce_again() {
    let mut t = ten_out();
    let (una, nxt) = edges(&mut t);
    t.run_until(1000);
    assert_eq!(t.conn.stats().rtos, 1);
    let ssthresh = t.conn.info().ssthresh;
    t.sent();
    duplicates(&mut t, una, 5);
    assert_eq!(t.conn.stats().retransmissions.fast, 0);
    // Only the first segment was missing: one ACK covers everything.
    send!(t, seq 1, ack nxt, win 60_000);
    duplicates(&mut t, nxt, 5);
    assert_eq!(t.conn.stats().retransmissions.fast, 0);
    assert_eq!(t.conn.info().ssthresh, ssthresh);
}

#[test]
fn a_loss_in_the_next_window_counts_again() {
    let mut t = ten_out();
    let (una, nxt) = edges(&mut t);
    duplicates(&mut t, una, 3);
    t.sent();
    send!(t, seq 1, ack nxt, win 60_000);
    t.sent();
    let ssthresh = t.conn.info().ssthresh;
    send!(t, seq 1, ack nxt + 100, win 60_000);
    t.sent();
    duplicates(&mut t, nxt + 100, 3);
    t.sent();
    assert!(t.conn.info().ssthresh < ssthresh);
    assert_eq!(t.conn.stats().retransmissions.fast, 2);
}

#[test]
fn the_very_first_segment_is_retransmitted_fast() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established(&config, 100, 4096);
    t.write(&[b'x'; 400]);
    t.sent();
    duplicates_small(&mut t);
    recv!(t, seq 1, ack 1, len 100);
    recv_nothing!(t);
}

fn duplicates_small(t: &mut Host) {
    for _ in 0..3 {
        send!(t, seq 1, ack 1);
    }
}

#[test]
fn recovery_with_no_new_data_to_send() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established(&config, 100, 4096);
    t.write(&[b'x'; 400]);
    t.sent();
    duplicates_small(&mut t);
    recv!(t, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 301);
    recv!(t, seq 301, ack 1, len 100);
    send!(t, seq 1, ack 401);
    assert_eq!(t.conn.unacked(), 0);
    assert_eq!(t.conn.poll_at(), None);
}

/// A fast retransmission restarts the timer: it must not be repeated within an RTO (RFC 6298 §5).
#[test]
fn the_timer_follows_the_retransmission() {
    let config = Config {
        timestamps: false,
        min_rto: Duration::from_secs(1),
        ..Config::default()
    };
    let mut t = Host::established(&config, 100, 4096);
    t.write(&[b'x'; 400]);
    t.sent();
    t.run_until(900);
    duplicates_small(&mut t);
    recv!(t, seq 1, ack 1, len 100);
    recv_nothing!(t, until 1_899);
    recv!(t, at 1_900, seq 1, ack 1, len 100);
}
