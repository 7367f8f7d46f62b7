//! RFC 3522 and RFC 4015: timestamps show that a loss was spurious.

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, recv, send};

const RTT: u64 = 100;

/// Sends four segments of 88 bytes at 100 ms, with timestamps, with or without SACK. The time 0 is
/// 1000 on the clock of the timestamps.
fn four_out(sack: bool) -> Host {
    let config = Config::default();
    let answer = Record::new().mss(100).ts((7, 1_000)).sack_ok(sack);
    let mut t = Host::established_by(&config, answer, RTT);
    t.write(&[b'x'; 88 * 20]);
    assert_eq!(t.sent().len(), 4);
    t
}

/// RFC 3522 §3.2: the ACK of a retransmitted segment echoes the timestamp of the original
/// transmission. The spurious timeout is undone, and no further data are retransmitted.
#[test]
fn a_premature_timeout_is_taken_back() {
    let mut t = four_out(false);
    let flight = 4 * 88;
    t.run_until(2_000);
    assert!(t.conn.stats().rtos >= 1);
    assert_eq!(t.conn.info().cwnd, 88);
    t.sent();
    send!(t, seq 1, ack 89, ts (8, 1_100));
    assert_eq!(t.conn.stats().undone_reductions, 1);
    assert!(t.conn.info().ssthresh >= flight);
    assert!(t.conn.info().cwnd >= flight);
    assert!(t.sent().iter().all(|record| record.seq_number() > flight));
}

#[test]
fn a_timeout_that_was_right_stays() {
    let mut t = four_out(false);
    t.run_until(2_000);
    let again = t.sent().last().unwrap().timestamps().unwrap().0;
    send!(t, seq 1, ack 89, ts (8, again));
    assert_eq!(t.conn.stats().undone_reductions, 0);
    assert_eq!(t.conn.info().ssthresh, 2 * 88);
}

/// RFC 3522 §3.2, step 5: all segments had arrived, but all ACKs were lost. The timeout was not
/// spurious, whatever timestamp the ACK echoes.
#[test]
fn the_loss_of_all_acknowledgments_is_a_loss() {
    let mut t = four_out(false);
    t.run_until(2_000);
    t.sent();
    send!(t, seq 1, ack 353, ts (8, 1_100));
    assert_eq!(t.conn.stats().undone_reductions, 0);
    assert_eq!(t.conn.info().ssthresh, 2 * 88);
}

/// Reordering beyond RACK's window causes a spurious retransmission; its reduction is undone.
#[test]
fn a_needless_fast_retransmission_is_taken_back() {
    let mut t = four_out(true);
    t.wait(RTT);
    send!(t, seq 1, ack 1, ts (8, 1_000), sack [(89, 353)]);
    recv!(t, seq 1, ack 1, len 88);
    t.sent();
    assert_eq!(t.conn.info().ssthresh, 2 * 88);
    t.wait(5);
    send!(t, seq 1, ack 353, ts (8, 1_100));
    assert_eq!(t.conn.stats().undone_reductions, 1);
    assert!(t.conn.info().ssthresh >= 4 * 88);
}

/// RFC 3522 §3.2: only the first ACK of a recovery is evaluated. A later ACK may echo a
/// retransmission older than the latest one, although no retransmission was spurious.
#[test]
#[cfg(feature = "rack-tlp")]
fn later_retransmissions_make_no_earlier_one_needless() {
    let mut t = four_out(true);
    t.wait(RTT);
    send!(t, seq 1, ack 177, ts (8, 1_000));
    send!(t, seq 1, ack 353, ts (8, 1_000));
    let window = t.sent();
    assert_eq!(window.len(), 8);
    // All segments but the last are lost, and retransmitted as the window permits.
    t.wait(RTT);
    let last = 353 + 7 * 88;
    let echo = window[7].timestamps().unwrap().0;
    send!(t, seq 1, ack 353, ts (9, echo), sack [(last, last + 88)]);
    t.wait(RTT / 2);
    let first = t.sent().pop().unwrap();
    t.wait(RTT);
    let echo = first.timestamps().unwrap().0;
    send!(t, seq 1, ack 441, ts (10, echo), sack [(last, last + 88)]);
    let second = t.sent();
    assert!(second.len() > 1, "{second:?}");
    t.wait(RTT);
    let echo = second[0].timestamps().unwrap().0;
    send!(t, seq 1, ack 529, ts (11, echo), sack [(last, last + 88)]);
    assert!(!t.sent().is_empty(), "others follow");
    t.wait(5);
    send!(t, seq 1, ack 617, ts (11, echo), sack [(last, last + 88)]);
    assert_eq!(t.conn.stats().undone_reductions, 0);
    assert_eq!(t.conn.info().ssthresh, 4 * 88);
}
