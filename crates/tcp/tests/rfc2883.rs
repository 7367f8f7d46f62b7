//! RFC 2883: reports of duplicates, and their use.

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, recv, recv_nothing, send};

fn with_sack() -> Host {
    let config = Config {
        timestamps: false,
        mss: 462,
        ..Config::default()
    };
    let answer = Record::new().mss(100).sack_ok(true);
    Host::established_by(&config, answer, 100)
}

/// RFC 2883 §4.1: a full duplicate below the cumulative acknowledgment is reported once.
#[test]
fn a_duplicate_below_the_acknowledgment() {
    let mut t = with_sack();
    send!(t, seq 1, ack 1, len 20);
    t.wait(300);
    recv!(t, seq 1, ack 21, sack []);
    send!(t, seq 1, ack 1, len 20);
    recv!(t, seq 1, ack 21, sack [(1, 21)]);
    send!(t, seq 31, ack 1, len 10);
    recv!(t, seq 1, ack 21, sack [(31, 41)]);
}

/// RFC 2883 §4.1.2: a duplicate beyond the gap is reported first; the second block encloses it.
#[test]
fn a_duplicate_beyond_the_gap() {
    let mut t = with_sack();
    send!(t, seq 11, ack 1, len 20);
    recv!(t, seq 1, ack 1, sack [(11, 31)]);
    send!(t, seq 15, ack 1, len 5);
    recv!(t, seq 1, ack 1, sack [(15, 20), (11, 31)]);
}

/// RFC 2883 §4.2: if a part of a segment is a duplicate, only this part is reported.
#[test]
fn a_partial_duplicate() {
    let mut t = with_sack();
    send!(t, seq 1, ack 1, len 20);
    t.wait(300);
    recv!(t, seq 1, ack 21);
    send!(t, seq 11, ack 1, len 20);
    t.wait(300);
    recv!(t, seq 1, ack 31, sack [(11, 21)]);
}

/// RFC 2883 §4.2: of several duplicate parts of a segment the first one is reported, in whatever
/// order they had arrived.
#[test]
fn of_several_duplicate_parts_the_first_is_reported() {
    for order in [[11u32, 31], [31, 11]] {
        let mut t = with_sack();
        for seq in order {
            send!(t, seq seq, ack 1, len 10);
            t.sent();
        }
        // New: 1 to 11, 21 to 31 and 41 to 51.
        send!(t, seq 1, ack 1, len 50);
        recv!(t, seq 1, ack 51, sack [(11, 21)]);
        // These segments follow a gap.
        let mut t = with_sack();
        for seq in order {
            send!(t, seq seq, ack 1, len 10);
            t.sent();
        }
        send!(t, seq 5, ack 1, len 50);
        recv!(t, seq 1, ack 1, sack [(11, 21), (5, 55)]);
    }
}

/// A reduction is undone when all retransmissions were duplicates (RFC 3708, RFC 4015 §3.2).
#[test]
fn a_needless_reduction_is_taken_back() {
    let mut t = with_sack();
    t.write(&[b'x'; 2000]);
    assert_eq!(t.sent().len(), 4);
    t.wait(100);
    let ssthresh = t.conn.info().ssthresh;
    // The first segment is late and not lost.
    send!(t, seq 1, ack 1, sack [(101, 401)]);
    recv!(t, seq 1, ack 1, len 100);
    assert_eq!(t.conn.info().ssthresh, 200);
    t.sent();
    send!(t, seq 1, ack 401);
    t.sent();
    t.wait(10);
    send!(t, seq 1, ack 401, sack [(1, 101)]);
    assert_eq!(t.conn.info().ssthresh, ssthresh.max(400));
    assert_eq!(t.conn.stats().undone_reductions, 1);
}

#[test]
fn a_duplicate_of_part_of_a_retransmission_undoes_no_reduction() {
    let mut t = with_sack();
    t.write(&[b'x'; 400]);
    t.sent();
    t.wait(100);
    send!(t, seq 1, ack 1, sack [(101, 401)]);
    recv!(t, seq 1, ack 1, len 100);
    send!(t, seq 1, ack 401, sack [(1, 51)]);
    recv_nothing!(t);
    assert_eq!(t.conn.info().ssthresh, 200);
    assert_eq!(t.conn.stats().undone_reductions, 0);
}

/// Two of four segments are marked as lost and retransmitted, which requires RACK because only two
/// follow. Returns whether `reports` of duplicates undo the reduction.
#[cfg(feature = "rack-tlp")]
fn is_undone_by(reports: &[(u32, u32)]) -> bool {
    let mut t = with_sack();
    t.write(&[b'x'; 400]);
    assert_eq!(t.sent().len(), 4);
    t.wait(100);
    send!(t, seq 1, ack 1, sack [(201, 401)]);
    t.wait(50);
    recv!(t, seq 1, ack 1, len 100);
    t.wait(100);
    send!(t, seq 1, ack 101, sack [(201, 401)]);
    recv!(t, seq 101, ack 1, len 100);
    t.wait(100);
    send!(t, seq 1, ack 401);
    for &report in reports {
        send!(t, seq 1, ack 401, sack [report]);
        t.wait(1);
    }
    t.conn.stats().undone_reductions > 0
}

/// RFC 2883 §4: a duplicate is reported once. If the network doubles the acknowledgment with the
/// report, this is not a second duplicate.
#[test]
#[cfg(feature = "rack-tlp")]
fn a_doubled_report_counts_once() {
    assert!(is_undone_by(&[(1, 101), (101, 201)]));
    assert!(!is_undone_by(&[(1, 101), (1, 101)]));
    assert!(!is_undone_by(&[(1, 101), (1, 101), (1, 101)]));
    assert!(!is_undone_by(&[(101, 201), (1, 101), (101, 201)]));
}

/// RFC 2883 §4: a block reports one segment. A block longer than a segment, or before the
/// retransmitted data, has no effect.
#[test]
#[cfg(feature = "rack-tlp")]
fn a_block_of_more_than_a_segment_is_no_report() {
    assert!(!is_undone_by(&[(1, 401)]));
    assert!(!is_undone_by(&[(1, 201)]));
    assert!(!is_undone_by(&[
        (u32::MAX - 200, 1),
        (u32::MAX - 300, u32::MAX - 200)
    ]));
}
