//! RFC 2018: selective acknowledgments, sent and received.

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, SYN, SYN_ACK, recv, recv_nothing, send};

fn plain() -> Config {
    Config {
        timestamps: false,
        mss: 462,
        ..Config::default()
    }
}

/// Establishes a connection with SACK and segments of 100 bytes.
fn with_sack() -> Host {
    let answer = Record::new().mss(100).sack_ok(true);
    Host::established_by(&plain(), answer, 100)
}

/// RFC 2018 §2: SACK is offered in every SYN, and in the answer only if the peer offered it.
#[test]
fn sack_permitted_is_negotiated() {
    let mut t = Host::connect(&plain(), 64, 64);
    recv!(t, flags SYN, seq 0, mss 462, sack_ok true);
    let offer = Record::new().flags(SYN).sack_ok(true);
    let mut t = Host::accept(&plain(), 64, 64, offer);
    recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462, sack_ok true);
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SYN));
    let answer = recv!(t, flags SYN_ACK, seq 0, ack 1, mss 462);
    assert!(!format!("{answer:?}").contains("sack"));
}

/// RFC 2018 §2: the SACK-permitted option "MUST NOT be sent on non-SYN segments". Without the
/// option, no SACK blocks are sent.
#[test]
fn no_sack_blocks_are_sent_without_sack_permitted() {
    let mut t = Host::established(&plain(), 100, 4096);
    send!(t, seq 11, ack 1, data b"gap");
    recv!(t, seq 1, ack 1, sack []);
}

/// RFC 2018 §4: the first block covers the latest segment, and the others are the most recent ones.
#[test]
fn sack_blocks_begin_with_the_latest() {
    let mut t = with_sack();
    send!(t, seq 11, ack 1, len 10);
    recv!(t, seq 1, ack 1, sack [(11, 21)]);
    send!(t, seq 31, ack 1, len 10);
    recv!(t, seq 1, ack 1, sack [(31, 41), (11, 21)]);
    send!(t, seq 51, ack 1, len 10);
    recv!(t, seq 1, ack 1, sack [(51, 61), (31, 41), (11, 21)]);
    send!(t, seq 21, ack 1, len 5);
    recv!(t, seq 1, ack 1, sack [(11, 26), (51, 61), (31, 41)]);
    send!(t, seq 1, ack 1, len 10);
    recv!(t, seq 1, ack 26, sack [(51, 61), (31, 41)]);
}

/// RFC 2018 §3: with timestamps an ACK has room for three blocks, which reduce the payload.
#[test]
fn blocks_fit_beside_timestamps_and_data() {
    let config = Config {
        timestamps: true,
        ..plain()
    };
    let answer = Record::new().mss(100).sack_ok(true).ts((1, 1_000));
    let mut t = Host::established_by(&config, answer, 0);
    for seq in [11, 31, 51, 71] {
        send!(t, seq seq, ack 1, len 10, ts (2, 1_000));
    }
    t.write(&[b'x'; 300]);
    for record in t.sent() {
        let text = format!("{record:?}");
        assert_eq!(text.matches("), (").count(), 2, "{text}");
        // At most 20 + 12 + 28 bytes of headers, and 100 + 20 bytes in total.
        assert!(record.payload().len() <= 100 - 12 - 28, "{text}");
    }
}

fn four_out() -> Host {
    let mut t = with_sack();
    t.write(&[b'x'; 400]);
    assert_eq!(t.sent().len(), 4);
    t.wait(100);
    t
}

/// RFC 2018 §5: data that the peer holds are not retransmitted.
#[test]
fn only_the_hole_is_sent_again() {
    let mut t = four_out();
    send!(t, seq 1, ack 1, sack [(101, 401)]);
    recv!(t, seq 1, ack 1, len 100);
    recv_nothing!(t);
    send!(t, seq 1, ack 401);
    assert_eq!(t.conn.unacked(), 0);
    assert_eq!(t.conn.stats().retransmissions.fast, 1);
    assert_eq!(t.conn.poll_at(), None);
}

/// RFC 2018 §5.1: two holes in a small window, each retransmitted once.
#[test]
#[cfg(all(feature = "gentle-recovery", feature = "rack-tlp"))]
fn two_holes_in_four_segments() {
    let mut t = four_out();
    send!(t, seq 1, ack 1, sack [(101, 201)]);
    t.wait(1);
    send!(t, seq 1, ack 1, sack [(301, 401), (101, 201)]);
    t.wait(30);
    recv!(t, seq 1, ack 1, len 100);
    recv_nothing!(t);
    // RFC 9937: one segment is sent for each segment that arrives.
    send!(t, seq 1, ack 201, sack [(301, 401)]);
    recv!(t, seq 201, ack 1, len 100);
    recv_nothing!(t);
    send!(t, seq 1, ack 401);
    assert_eq!(t.conn.stats().rtos, 0);
}

/// RFC 2018 §8: data are kept until acknowledged; a peer that discards them gets them again.
#[test]
fn a_peer_may_renege() {
    let mut t = four_out();
    send!(t, seq 1, ack 1, sack [(101, 401)]);
    recv!(t, seq 1, ack 1, len 100);
    // The hole is filled, and the peer has discarded the data beyond it. A reordered ACK would look
    // the same, so the sender waits for half a round trip.
    t.wait(100);
    send!(t, seq 1, ack 101);
    recv_nothing!(t, until 349);
    t.wait(100);
    assert_eq!(t.conn.stats().rtos, 1);
    recv!(t, seq 101, ack 1, len 100);
    send!(t, seq 1, ack 101);
    let mut acked = 101;
    for _ in 0..20 {
        t.wait(500);
        for record in t.sent() {
            assert_eq!(record.seq_number(), acked);
            acked += record.payload().len() as u32;
            send!(t, seq 1, ack acked);
        }
    }
    assert_eq!(acked, 401);
    assert_eq!(t.conn.unacked(), 0);
}

/// Invalid SACK blocks: with data that were never sent or are below SND.UNA, with swapped edges,
/// with all outstanding data, or with parts of segments. None of them may prevent a retransmission.
#[test]
fn invalid_sack_blocks_cause_no_stall_or_panic() {
    for lie in [
        [(101, 402), (1, 2)],
        [(401, 501), (500_000, 600_000)],
        [(300, 200), (u32::MAX, 1)],
        [(0, 401), (1, 401)],
        [(50, 150), (101, 120)],
        [(102, 103), (104, 105)],
    ] {
        let mut t = four_out();
        for _ in 0..5 {
            send!(t, seq 1, ack 1, sack lie);
            t.wait(7);
        }
        // The peer has no data out of order and accepts data in order.
        let mut acked = 1;
        for _ in 0..60 {
            t.wait(500);
            for record in t.sent() {
                let end = record.seq_number() + record.payload().len() as u32;
                if record.seq_number() <= acked {
                    acked = acked.max(end);
                }
            }
            send!(t, seq 1, ack acked);
        }
        assert_eq!(acked, 401, "{lie:?}");
        assert_eq!(t.conn.unacked(), 0);
    }
}

#[test]
fn an_ack_of_unsent_data_is_not_believed() {
    let mut t = four_out();
    let cwnd = t.conn.info().cwnd;
    for _ in 0..5 {
        send!(t, seq 1, ack 402, sack [(101, 201)]);
        t.sent();
    }
    assert_eq!((t.conn.unacked(), t.conn.info().cwnd), (400, cwnd));
    assert_eq!(t.conn.stats().retransmissions.total(), 0);
}

/// RFC 2018 §4 and §8: "the first SACK block MUST reflect the newest segment. Even if the newest
/// segment is going to be discarded". Discarded text is reported once.
#[test]
fn a_discarded_segment_is_in_the_first_sack_block() {
    let mut t = with_sack();
    let room = if cfg!(feature = "large-windows") {
        5
    } else {
        3
    };
    for n in 0..room {
        send!(t, seq 11 + 20 * n, ack 1, len 10);
        t.sent();
    }
    let newest = 11 + 20 * room;
    send!(t, seq newest, ack 1, len 10);
    let told = t.sent();
    let text = format!("{:?}", told[0]);
    assert!(
        text.contains(&format!("[({newest}, {}), ({}, ", newest + 10, newest - 20)),
        "{text}"
    );
    t.wait(300);
    t.sent();
    send!(t, seq 11, ack 1, len 10);
    let text = format!("{:?}", t.sent()[0]);
    assert!(!text.contains(&format!("({newest}, ")), "{text}");
}

/// The receiver keeps more ranges than a SACK option can report, and discards no text.
#[test]
#[cfg(feature = "large-windows")]
fn one_range_more_than_can_be_reported_is_kept() {
    let mut t = with_sack();
    for n in 0..5 {
        send!(t, seq 11 + 20 * n, ack 1, len 10);
    }
    t.sent();
    for n in 0..5 {
        send!(t, seq 1 + 20 * n, ack 1, len 10);
    }
    assert_eq!(t.sent().last().unwrap().ack_number(), 101);
}
