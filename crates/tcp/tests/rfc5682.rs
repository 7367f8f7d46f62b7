//! RFC 5682: F-RTO detects spurious timeouts without timestamps; the response is RFC 4015's.
#![cfg(feature = "gentle-recovery")]

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, SYN_ACK, ms, recv, recv_nothing, send};
use redpoll_wire::tcp::Flags;

const RTT: u64 = 100;

fn plain(sack: bool) -> Config {
    Config {
        timestamps: false,
        mss: 462,
        min_rto: ms(1_000),
        sack,
        ..Config::default()
    }
}

/// Writes `bytes` and sends four segments of 100 bytes, starting at 1, on a path of 100 ms. The
/// timer has expired and the first segment was retransmitted; the ACKs of all segments are in
/// transit. With SACK, a tail probe with new data, the segment at 401, precedes the timeout.
fn timed_out(sack: bool, bytes: usize, window: u16) -> Host {
    let answer = Record::new().mss(100).win(window).sack_ok(sack);
    let mut t = Host::established_by(&plain(sack), answer, RTT);
    t.write(&vec![b'x'; bytes]);
    assert_eq!(starts(&mut t), [1, 101, 201, 301]);
    if sack && bytes > 400 {
        t.run_until(t.ms() + 1_000);
        assert_eq!(starts(&mut t), [401]);
    }
    while t.conn.stats().rtos == 0 {
        let at = t.conn.poll_at().unwrap().at;
        t.run_until(at.as_millis() - 1_000);
    }
    let again = starts(&mut t);
    assert_eq!(again.last(), Some(&1));
    assert_eq!(
        (t.conn.info().cwnd, t.conn.info().ssthresh < u32::MAX),
        (100, true)
    );
    t
}

fn starts(t: &mut Host) -> Vec<u32> {
    t.sent().iter().map(Record::seq_number).collect()
}

fn resent(t: &Host) -> u32 {
    t.conn.stats().retransmissions.rto
}

/// RFC 5682 §2.1, steps 2b and 3b: after a timeout, two consecutive ACKs advance the window. The
/// timeout was spurious: only the first segment is retransmitted, and the reduction of cwnd is
/// undone.
#[test]
fn two_advancing_acks_reveal_a_spurious_timeout() {
    let mut t = timed_out(false, 4096, 60_000);
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [401, 501], "new data, two segments");
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 1);
    // RFC 4015 §3.1, step 9: cwnd is FlightSize plus the acknowledged bytes.
    assert_eq!(t.conn.info().cwnd, 400 + 100);
    assert_eq!(t.conn.info().ssthresh, 65_535, "it had been in slow start");
    assert_eq!(starts(&mut t), [601]);
    for ack in [301, 401, 501, 601] {
        send!(t, seq 1, ack ack, win 60_000);
        assert!(starts(&mut t).iter().all(|seq| *seq > 600));
    }
    assert_eq!(resent(&t), 1);
}

/// RFC 5682 §2.1, step 3a: if the second ACK is a duplicate, the other segments were lost.
#[test]
fn a_duplicate_as_the_second_ack_confirms_the_loss() {
    let mut t = timed_out(false, 4096, 60_000);
    let ssthresh = t.conn.info().ssthresh;
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [401, 501]);
    send!(t, seq 1, ack 101, win 60_000);
    assert!(t.conn.info().cwnd <= 300);
    assert_eq!(starts(&mut t).first(), Some(&101));
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(starts(&mut t).first(), Some(&201), "slow start goes on");
    assert_eq!(t.conn.stats().undone_reductions, 0);
    assert_eq!(t.conn.info().ssthresh, ssthresh);
}

/// RFC 5682 §2.1, step 2a: conventional recovery if the first ACK is a duplicate, covers all data,
/// or covers only a part of the retransmission.
#[test]
fn some_first_acks_confirm_the_loss() {
    let mut t = timed_out(false, 4096, 60_000);
    send!(t, seq 1, ack 1, win 60_000);
    assert_eq!(starts(&mut t), [101], "conservation: one for one");
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [201, 301]);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 0);

    let mut t = timed_out(false, 4096, 60_000);
    send!(t, seq 1, ack 51, win 60_000);
    assert!(starts(&mut t).iter().all(|seq| *seq < 401));
    send!(t, seq 1, ack 101, win 60_000);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 0);

    let mut t = timed_out(false, 4096, 60_000);
    let ssthresh = t.conn.info().ssthresh;
    send!(t, seq 1, ack 401, win 60_000);
    assert_eq!(starts(&mut t), [401, 501]);
    send!(t, seq 1, ack 501, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 0);
    assert_eq!(t.conn.info().ssthresh, ssthresh);
}

/// RFC 5682 §2.1: an ACK that is neither new nor a duplicate is ignored.
#[test]
fn window_updates_are_no_answers() {
    let mut t = timed_out(false, 4096, 60_000);
    send!(t, seq 1, ack 1, win 59_000);
    send!(t, seq 1, ack 101, win 59_000);
    assert_eq!(starts(&mut t), [401, 501]);
    send!(t, seq 1, ack 101, win 60_000);
    recv_nothing!(t);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 1);
}

/// RFC 5682 §2.1, step 2b: without new data, or without room for them, lost data are retransmitted
/// at once.
#[test]
fn without_new_data_the_repair_goes_on() {
    let mut t = timed_out(false, 400, 60_000);
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [101, 201]);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 0, "that proves nothing");

    let mut t = timed_out(false, 4096, 400);
    send!(t, seq 1, ack 101, win 300);
    assert_eq!(starts(&mut t), [101, 201]);
}

/// RFC 5682 §2.1, step 1: a second timeout of the same segment continues the test; a timeout after
/// the first ACK ends it.
#[test]
fn a_second_timeout() {
    let mut t = timed_out(false, 4096, 60_000);
    recv!(t, at 1_000 + RTT + 2_000, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [401, 501]);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 1);

    let mut t = timed_out(false, 4096, 60_000);
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [401, 501]);
    while resent(&t) < 2 {
        let at = t.conn.poll_at().unwrap().at;
        t.run_until(at.as_millis() - 1_000);
        t.drain();
    }
    assert_eq!(starts(&mut t), [101]);
    send!(t, seq 1, ack 201, win 60_000);
    assert_eq!(starts(&mut t), [201, 301]);
    send!(t, seq 1, ack 301, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 0);
}

/// RFC 5682 §2.1: a timeout during fast recovery is not tested for being spurious.
#[test]
fn not_in_fast_recovery() {
    let answer = Record::new().mss(100).win(60_000);
    let mut t = Host::established_by(&plain(false), answer, RTT);
    t.write(&[b'x'; 4096]);
    t.sent();
    t.wait(RTT);
    for _ in 0..3 {
        send!(t, seq 1, ack 1, win 60_000);
    }
    t.sent();
    t.wait(2_000);
    assert_eq!(t.conn.stats().rtos, 1);
    t.sent();
    send!(t, seq 1, ack 101, win 60_000);
    assert!(starts(&mut t).starts_with(&[101]));
}

/// RFC 5682 §3.1, steps 2 and 3b: with SACK, duplicates do not end the test. The timeout was
/// spurious if a SACK block beyond a gap reports data that were sent before the timeout.
#[test]
#[cfg(feature = "rack-tlp")]
fn sack_blocks_beyond_a_gap_reveal_a_spurious_timeout() {
    let mut t = timed_out(true, 4096, 60_000);
    send!(t, seq 1, ack 1, win 60_000);
    recv_nothing!(t);
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [501, 601]);
    send!(t, seq 1, ack 101, win 60_000, sack [(201, 301)]);
    assert_eq!(t.conn.stats().undone_reductions, 1);
    assert_eq!(resent(&t), 1);
}

/// RFC 5682 §3.1, step 3a: SACK of data sent after the timeout indicates a loss.
#[test]
#[cfg(feature = "rack-tlp")]
fn sack_of_new_data_tells_of_loss() {
    for blocks in [[(501, 601)], [(501, 701)]] {
        let mut t = timed_out(true, 4096, 60_000);
        send!(t, seq 1, ack 101, win 60_000);
        assert_eq!(starts(&mut t), [501, 601]);
        send!(t, seq 1, ack 101, win 60_000, sack blocks);
        assert_eq!(starts(&mut t).first(), Some(&101));
        assert_eq!(t.conn.stats().undone_reductions, 0);
    }
}

#[test]
#[cfg(feature = "rack-tlp")]
fn a_hole_in_sight_is_repaired() {
    let mut t = timed_out(true, 4096, 60_000);
    send!(t, seq 1, ack 101, win 60_000, sack [(201, 401)]);
    assert_eq!(starts(&mut t).first(), Some(&101));
}

/// RFC 4015 §3.1, step 9: an echo of a mark prevents the restoration of cwnd, but no further data
/// are retransmitted.
#[test]
fn a_marked_answer_restores_nothing() {
    let setup = SYN_ACK.with(Flags::ECE);
    let mut t = Host::connect(&plain(false), 4096, 64);
    t.sent();
    t.wait(RTT);
    send!(t, flags setup, seq 0, ack 1, mss 100, win 60_000);
    t.write(&[b'x'; 4096]);
    t.sent();
    t.run_until(1_000 + RTT);
    assert_eq!(starts(&mut t), [1]);
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(starts(&mut t), [401, 501]);
    let cwnd = t.conn.info().cwnd;
    send!(t, flags Flags::ACK.with(Flags::ECE), seq 1, ack 201, win 60_000);
    assert_eq!(t.conn.stats().undone_reductions, 1);
    assert!(t.conn.info().cwnd <= cwnd);
    recv_nothing!(t);
}

/// RFC 4015 §3.1, step 11: the next sample makes the timer more conservative: SRTT becomes at least
/// the sample, instead of moving by an eighth of the difference.
#[test]
fn a_spurious_timeout_raises_srtt_to_the_sample() {
    let mut t = timed_out(false, 4096, 60_000);
    send!(t, seq 1, ack 101, win 60_000);
    t.sent();
    send!(t, seq 1, ack 201, win 60_000);
    t.sent();
    let samples = t.conn.stats().rtt_samples;
    t.wait(1_600);
    send!(t, seq 1, ack 401, win 60_000);
    send!(t, seq 1, ack 601, win 60_000);
    assert_eq!(t.conn.stats().rtt_samples, samples + 1);
    // SRTT 1600 and RTTVAR 800.
    assert_eq!(t.conn.info().rto, ms(1_600 + 4 * 800));
}
