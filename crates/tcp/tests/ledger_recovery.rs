//! Claims of `docs/rfc` about loss recovery and ECN that no other test checks: RFC 3168, RFC 8985,
//! RFC 9937.

use redpoll_base::Ecn;
use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, SYN_ACK, ms, recv, recv_nothing, send};
use redpoll_wire::tcp::Flags;

const ACK: Flags = Flags::ACK;
const SETUP_SYN: Flags = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
const SETUP_SYN_ACK: Flags = SYN_ACK.with(Flags::ECE);

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

/// Establishes a connection [`with_sack`] and twelve segments outstanding; returns their range.
#[cfg(any(feature = "rack-tlp", feature = "gentle-recovery"))]
fn grown() -> (Host, u32, u32) {
    let mut t = with_sack(4096);
    let mut una = 1;
    while t.conn.info().cwnd < 1_200 {
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

fn capable() -> Host {
    let mut t = Host::connect(&plain(), 4096, 4096);
    t.sent();
    t.wait(100);
    send!(t, flags SETUP_SYN_ACK, seq 0, ack 1, mss 100, win 60_000, sack_ok true);
    t.sent();
    t.write(&[b'x'; 3000]);
    t
}

// RFC 3168.

/// RFC 3168 §6.1.1: neither SYN nor SYN-ACK is ECT.
#[test]
fn syns_are_not_ect() {
    let mut t = Host::connect(&plain(), 64, 64);
    assert_eq!(t.sent()[0].codepoint(), Ecn::NotEct);
    let mut t = Host::accept(&plain(), 64, 64, Record::new().flags(SETUP_SYN));
    assert_eq!(t.sent()[0].codepoint(), Ecn::NotEct);
}

/// RFC 3168 §6.1.2: the retransmission that comes first after the reduction does not carry CWR. The
/// first new data do, and nothing after them.
#[test]
fn only_new_data_carry_cwr() {
    let mut t = capable();
    assert_eq!(starts(&mut t), [1, 101, 201, 301]);
    t.wait(100);
    send!(t, flags ACK, seq 1, ack 1, win 60_000, sack [(101, 401)]);
    let mut sent = t.sent();
    t.wait(100);
    send!(t, flags ACK, seq 1, ack 401, win 60_000);
    sent.extend(t.sent());
    let told: Vec<(u32, bool)> = sent
        .iter()
        .map(|r| (r.seq_number(), r.control().contains(Flags::CWR)))
        .collect();
    assert_eq!(told[0], (1, false));
    assert_eq!(told[1], (401, true));
    assert!(
        told.len() > 2 && told[2..].iter().all(|(_, cwr)| !cwr),
        "{told:?}"
    );
}

/// RFC 3168 §6.1.6: a mark on a probe of a closed window is echoed.
#[test]
fn a_mark_on_a_window_probe_counts() {
    for (field, echoed) in [(Ecn::Ce, true), (Ecn::NotEct, false)] {
        let mut t = Host::accept(&plain(), 64, 4, Record::new().flags(SETUP_SYN));
        t.sent();
        send!(t, flags ACK, seq 1, ack 1, len 4);
        t.sent();
        send!(t, flags ACK, seq 5, ack 1, len 1, ecn field);
        let answer = recv!(t, seq 1, ack 5, win 0);
        assert_eq!(answer.control().contains(Flags::ECE), echoed);
    }
}

// RFC 8985.

/// RFC 8985 §9.2: with SACK, duplicates are not counted.
#[test]
fn with_sack_duplicates_without_blocks_are_not_counted() {
    let mut t = with_sack(400);
    assert_eq!(starts(&mut t), [1, 101, 201, 301]);
    t.wait(100);
    for _ in 0..5 {
        send!(t, seq 1, ack 1, win 60_000);
    }
    recv_nothing!(t);
    assert_eq!(t.conn.info().ssthresh, 65_535);
}

/// RFC 8985 §9.3 and RFC 5681 §4.3: the loss of a retransmission is another sign of congestion.
#[test]
#[cfg(feature = "rack-tlp")]
fn a_retransmission_that_is_lost_reduces_again() {
    let (mut t, una, end) = grown();
    t.wait(100);
    send!(t, seq 1, ack una, win 60_000, sack [(una + 100, end)]);
    let sent = starts(&mut t);
    assert_eq!(sent[0], una);
    assert!(sent.contains(&end), "{sent:?}");
    let once = t.conn.info().ssthresh;
    t.wait(100);
    send!(t, seq 1, ack una, win 60_000, sack [(una + 100, end + 100)]);
    assert_eq!(starts(&mut t)[0], una);
    assert!(t.conn.info().ssthresh < once, "{once}");
    assert_eq!(t.conn.stats().rtos, 0);
}

/// RFC 8985 §6.3: a segment sent just before a timeout is not marked as lost.
#[test]
#[cfg(feature = "rack-tlp")]
fn a_segment_sent_just_before_a_timeout_is_not_lost() {
    let mut t = with_sack(100);
    assert_eq!(starts(&mut t), [1]);
    while t.conn.stats().tail_probes == 0 {
        t.wait(10);
        t.drain();
    }
    t.sent();
    t.wait(980);
    assert_eq!(t.conn.stats().rtos, 0);
    t.write(&[b'x'; 100]);
    assert_eq!(starts(&mut t), [101]);
    t.wait(30);
    assert_eq!(t.conn.stats().rtos, 1);
    assert_eq!(starts(&mut t), [1]);
    // Nothing is sent, although cwnd would allow a retransmission.
    send!(t, seq 1, ack 101, win 60_000);
    assert_eq!(t.conn.info().cwnd, 200);
    recv_nothing!(t);
}

// RFC 9937.

/// RFC 9937 §6.4 and RFC 5681 §3.2, step 6: at the end cwnd is ssthresh, even if cwnd was lower.
#[test]
#[cfg(feature = "gentle-recovery")]
fn recovery_ends_with_the_threshold() {
    let (mut t, una, end) = grown();
    t.wait(100);
    send!(t, seq 1, ack una, win 60_000, sack [(una + 100, una + 400)]);
    assert_eq!(starts(&mut t)[0], una);
    assert!(t.conn.info().cwnd > t.conn.info().ssthresh);
    t.wait(100);
    send!(t, seq 1, ack end, win 60_000);
    assert_eq!(t.conn.info().cwnd, t.conn.info().ssthresh);
}
