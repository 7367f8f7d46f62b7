//! RFC 6675: the segments that recovery with SACK sends, and when. RACK detects the losses (RFC
//! 8985 §9.2).

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, ms, recv_nothing, send};

fn plain() -> Config {
    Config {
        timestamps: false,
        mss: 462,
        min_rto: ms(1_000),
        ..Config::default()
    }
}

/// Establishes a connection with SACK and segments of 100 bytes on a path of 100 ms, with `bytes`
/// to send from sequence number 1 on. Returns at 100 ms.
fn with_sack(bytes: usize) -> Host {
    let answer = Record::new().mss(100).win(60_000).sack_ok(true);
    let mut t = Host::established_by(&plain(), answer, 100);
    t.write(&vec![b'x'; bytes]);
    t
}

/// Fills a cwnd of `cwnd` bytes on a connection [`with_sack`]; returns the outstanding range.
fn grown(cwnd: u32) -> (Host, u32, u32) {
    let mut t = with_sack(4096);
    let mut una = 1;
    while t.conn.info().cwnd < cwnd {
        t.sent();
        t.wait(100);
        una += 100;
        send!(t, seq 1, ack una, win 60_000);
    }
    let end = t.sent().last().unwrap().seq_number() + 100;
    (t, una, end)
}

fn starts(t: &mut Host) -> Vec<u32> {
    t.sent().iter().map(Record::seq_number).collect()
}

/// RFC 6675 §5, steps 1 and 4: more than two segments beyond a gap indicate a loss at once; two may
/// be reordered.
#[test]
fn more_than_two_segments_beyond_a_gap_are_a_loss() {
    for (end, resent) in [(301, 0), (302, 1), (401, 1)] {
        let mut t = with_sack(400);
        assert_eq!(starts(&mut t), [1, 101, 201, 301]);
        t.wait(100);
        send!(t, seq 1, ack 1, win 60_000, sack [(101, end)]);
        assert_eq!(starts(&mut t), vec![1; resent], "up to {end}");
        assert_eq!(t.conn.info().ssthresh < 65_535, resent == 1);
    }
}

/// RFC 6675 §4, NextSeg, and §5, step C: within cwnd, holes in order precede new data.
#[test]
fn holes_come_before_new_data() {
    let (mut t, una, end) = grown(800);
    t.wait(100);
    // The first and the fourth segment are lost.
    let blocks = [(una + 400, end), (una + 100, una + 300)];
    send!(t, seq 1, ack una, win 60_000, sack blocks);
    let sent = starts(&mut t);
    assert_eq!(sent[..3], [una, una + 300, end], "{sent:?}");
    assert!(sent[2..].is_sorted());
    // Pipe, which is two retransmissions and the new data, is at most cwnd.
    assert!(sent.len() as u32 * 100 <= t.conn.info().cwnd);
    assert!(
        (sent.len() as u32 + 1) * 100 > t.conn.info().cwnd,
        "and no less"
    );
}

/// RFC 6675 §5, steps 4.1 and A: one reduction up to RecoveryPoint; a loss of later data causes
/// another reduction.
#[test]
#[cfg(feature = "rack-tlp")]
fn one_reduction_up_to_the_recovery_point() {
    let (mut t, una, end) = grown(800);
    t.wait(100);
    send!(t, seq 1, ack una, win 60_000, sack [(una + 100, una + 500)]);
    let ssthresh = t.conn.info().ssthresh;
    assert!(starts(&mut t).contains(&una));
    // A second hole in the same window does not reduce ssthresh again.
    t.wait(5);
    let blocks = [(una + 600, end), (una + 100, una + 500)];
    send!(t, seq 1, ack una, win 60_000, sack blocks);
    assert!(starts(&mut t).contains(&(una + 500)));
    assert_eq!(t.conn.info().ssthresh, ssthresh);
    t.wait(100);
    send!(t, seq 1, ack end, win 60_000);
    assert_eq!(t.conn.info().cwnd, ssthresh, "recovery is over");
    t.drain();
    t.wait(100);
    let new = t.sent().last().unwrap().seq_number() + 100;
    send!(t, seq 1, ack end, win 60_000, sack [(end + 100, new)]);
    assert!(t.conn.info().ssthresh < ssthresh, "another window");
}

/// RFC 6675 §5, step 3, and RFC 5681 §3.2: an arrived segment releases a new segment; a duplicate
/// without new information releases no segment.
#[test]
fn limited_transmit_needs_new_sack_information() {
    let mut t = with_sack(2000);
    assert_eq!(starts(&mut t), [1, 101, 201, 301]);
    t.wait(100);
    let cwnd = t.conn.info().cwnd;
    send!(t, seq 1, ack 1, win 60_000, sack [(101, 201)]);
    assert_eq!(starts(&mut t), [401]);
    for _ in 0..3 {
        send!(t, seq 1, ack 1, win 60_000, sack [(101, 201)]);
        recv_nothing!(t);
    }
    assert_eq!(t.conn.info().cwnd, cwnd);
}

/// RFC 6675 §5.1: after a timeout, SACK controls which holes are filled, and starts no further
/// recovery.
#[test]
fn sacks_after_a_timeout_are_used() {
    let (mut t, una, end) = grown(1_200);
    let rtos = t.conn.stats().rtos;
    while t.conn.stats().rtos == rtos {
        let at = t.conn.poll_at().unwrap().at;
        t.run_until(at.as_millis() - 1_000);
    }
    assert_eq!(starts(&mut t).last(), Some(&una));
    let ssthresh = t.conn.info().ssthresh;
    assert!(ssthresh > 500, "{ssthresh}");
    t.wait(100);
    // The first two segments were lost; the third and later segments have arrived.
    let blocks = [(una + 200, una + 300), (una + 400, end)];
    send!(t, seq 1, ack una + 100, win 60_000, sack blocks);
    t.wait(50);
    let sent = starts(&mut t);
    assert_eq!(sent.first(), Some(&(una + 100)));
    assert!(!sent.contains(&(una + 200)), "{sent:?}");
    assert!(sent.contains(&(una + 300)), "{sent:?}");
    assert_eq!(t.conn.info().ssthresh, ssthresh);
}

/// RFC 6675 §5.1: a loss of data outstanding at the timeout starts no further recovery.
#[test]
#[cfg(feature = "rack-tlp")]
fn a_loss_found_after_a_timeout_starts_no_recovery() {
    let mut t = with_sack(0);
    let mut una = 1;
    while t.conn.info().cwnd < 1_200 {
        // Data for more than half of the window; with less, the window would not grow.
        t.write(&[b'x'; 700]);
        while t.conn.unacked() > 0 {
            let sent = t.sent().len() as u32;
            t.wait(100);
            una += sent * 100;
            send!(t, seq 1, ack una, win 60_000);
        }
    }
    t.write(&[b'x'; 100]);
    while t.conn.stats().tail_probes == 0 {
        t.drain();
        t.wait(10);
    }
    t.wait(980);
    t.sent();
    t.write(&[b'x'; 600]);
    assert_eq!(t.sent().len(), 6);
    t.wait(30);
    assert_eq!((t.conn.stats().rtos, t.conn.info().ssthresh), (1, 350));
    assert_eq!(starts(&mut t), [una]);
    t.wait(120);
    let block = (una + 200, una + 700);
    send!(t, seq 1, ack una + 100, win 60_000, sack [block]);
    assert_eq!(starts(&mut t), [una + 100]);
    assert_eq!(t.conn.info().ssthresh, 350);
}

/// RFC 6675 §5, step 4.2, without RFC 9937: cwnd is half of the flight at once.
#[test]
#[cfg(not(feature = "gentle-recovery"))]
fn without_rate_reduction_the_window_is_the_threshold() {
    let (mut t, una, _) = grown(800);
    t.wait(100);
    send!(t, seq 1, ack una, win 60_000, sack [(una + 100, una + 500)]);
    assert_eq!(t.conn.info().cwnd, t.conn.info().ssthresh);
    assert!(starts(&mut t).contains(&una));
}

/// RFC 6675 §5.1, without RFC 8985: the retransmission timer repairs a lost retransmission.
#[test]
#[cfg(not(feature = "rack-tlp"))]
fn a_lost_retransmission_waits_for_the_timer() {
    let (mut t, una, end) = grown(800);
    t.wait(100);
    send!(t, seq 1, ack una, win 60_000, sack [(una + 100, end)]);
    let sent = starts(&mut t);
    assert_eq!(sent[0], una);
    let new = sent[sent.len() - 1] + 100;
    t.wait(150);
    send!(t, seq 1, ack una, win 60_000, sack [(una + 100, new)]);
    assert!(!starts(&mut t).contains(&una));
    t.wait(1_000);
    assert_eq!(starts(&mut t)[0], una);
}
