//! RFC 8985: loss detection by time, and tail loss probes.
#![cfg(feature = "rack-tlp")]

use redpoll_tcp::Config;
use redpoll_testkit::{FIN_ACK, Host, Record, SYN_ACK, recv, recv_nothing, send};

const RTT: u64 = 100;

fn plain() -> Config {
    Config {
        timestamps: false,
        mss: 462,
        min_rto: redpoll_testkit::ms(1_000),
        ..Config::default()
    }
}

/// Establishes a connection on a path of 100 ms, which was measured, with segments of 100 bytes and
/// `bytes` to send from 2 on. The time is 200 ms.
fn measured(bytes: usize) -> Host {
    let answer = Record::new().mss(100).sack_ok(true);
    let mut t = Host::established_by(&plain(), answer, 100);
    t.write(b"x");
    recv!(t, seq 1, ack 1, len 1);
    t.wait(RTT);
    send!(t, seq 1, ack 2);
    t.write(&vec![b'x'; bytes]);
    t
}

fn starts(t: &mut Host) -> Vec<u32> {
    t.sent().iter().map(Record::seq_number).collect()
}

/// RFC 8985 §6.2, step 5: one segment beyond the gap suffices when the reordering window has
/// passed, a quarter of the minimum round trip.
#[test]
fn a_loss_is_found_by_one_sack_and_a_timer() {
    let mut t = measured(200);
    assert_eq!(starts(&mut t), [2, 102]);
    t.wait(RTT);
    send!(t, seq 1, ack 2, sack [(102, 202)]);
    recv_nothing!(t);
    let now = t.ms();
    recv!(t, at now + RTT / 4, seq 2, ack 1, len 100);
    recv_nothing!(t);
    t.wait(RTT);
    send!(t, seq 1, ack 202);
    assert_eq!(t.conn.stats().rtos, 0);
    assert_eq!(t.conn.stats().retransmissions.fast, 1);
}

/// RFC 8985 §6.2: the arrival of later data reveals a lost retransmission.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let mut t = measured(600);
    assert_eq!(starts(&mut t), [2, 102, 202, 302]);
    t.wait(RTT);
    send!(t, seq 1, ack 2, sack [(102, 402)]);
    let sent = starts(&mut t);
    assert_eq!(sent[0], 2);
    assert!(sent.contains(&402), "{sent:?}");
    t.wait(RTT);
    send!(t, seq 1, ack 2, sack [(102, 502)]);
    assert_eq!(starts(&mut t)[0], 2);
    assert_eq!(t.conn.stats().rtos, 0);
}

/// RFC 8985 §7.2 and §7.3: the last segment is lost. It is retransmitted after two round trips;
/// with one segment outstanding, the delay includes a delayed ACK.
#[test]
fn the_tail_is_probed() {
    let mut t = measured(100);
    recv!(t, seq 2, ack 1, len 100);
    let at = t.conn.poll_at().unwrap().at.since(t.now()).as_millis();
    let mut t = measured(200);
    assert_eq!(starts(&mut t), [2, 102]);
    let pto = t.conn.poll_at().unwrap().at.since(t.now()).as_millis();
    assert_eq!(at, pto + 200, "the delayed ACK of a single segment");
    let now = t.ms();
    recv!(t, at now + pto, seq 102, ack 1, len 100);
    assert_eq!(t.conn.stats().tail_probes, 1);
    assert_eq!(t.conn.stats().rtos, 0);
    // RFC 8985 §7.3: "the sender MUST re-arm the RTO timer", and no second probe.
    recv!(t, at now + pto + 1_000, seq 2, ack 1, len 100);
    assert_eq!(t.conn.stats().rtos, 1);
}

/// RFC 8985 §7.2: "If SRTT is available: PTO = 2 * SRTT", and "If FlightSize is one segment: PTO +=
/// TLP.max_ack_delay". The handshake gives SRTT for the first data; data that take longer restart
/// the estimate.
#[test]
fn the_handshake_times_the_first_probe() {
    let answer = || Record::new().mss(100).sack_ok(true);
    for rtt in [5, 20, 100, 150, 300] {
        for (bytes, more) in [(200, 0), (100, 200)] {
            let mut t = Host::established_by(&plain(), answer(), rtt);
            t.write(&vec![b'x'; bytes]);
            let last = *starts(&mut t).last().unwrap();
            recv_nothing!(t, until 3 * rtt + more - 1);
            recv!(t, at 3 * rtt + more, seq last, ack 1, len 100);
            assert_eq!(t.conn.stats().tail_probes, 1);
            assert_eq!(t.conn.stats().rtos, 0);
        }
    }

    let mut t = Host::established_by(&plain(), answer(), 300);
    t.write(&[b'x'; 200]);
    assert_eq!(starts(&mut t), [1, 101]);
    t.wait(500);
    send!(t, seq 1, ack 201);
    t.write(&[b'x'; 200]);
    assert_eq!(starts(&mut t), [201, 301]);
    let pto = t.conn.poll_at().unwrap().at.since(t.now()).as_millis();
    assert_eq!(pto, 2 * 500);
}

/// RFC 8985 §7.2, for both roles, with and without timestamps: the round trip of the handshake
/// determines the time of the first probe.
#[test]
fn the_handshake_times_the_first_probe_of_either_end() {
    for (passive, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
        for rtt in [5, 40, 150, 300] {
            let config = Config {
                timestamps,
                ..plain()
            };
            let peer = |record: Record| match timestamps {
                true => record.mss(112).sack_ok(true).ts((1_000, 0)),
                false => record.mss(100).sack_ok(true),
            };
            let mut t = if passive {
                let syn = peer(Record::new().flags(redpoll_testkit::SYN).win(4_096));
                let mut t = Host::accept(&config, 4_096, 4_096, syn);
                let answer = t.sent();
                t.wait(rtt);
                let echo = answer[0].timestamps().map_or(0, |stamps| stamps.0);
                let ack = Record::new().seq(1).ack(1);
                t.send(if timestamps {
                    ack.ts((1_001, echo))
                } else {
                    ack
                });
                t
            } else {
                Host::established_by(&config, peer(Record::new()), rtt)
            };
            let what = format!("passive {passive}, timestamps {timestamps}, {rtt} ms");
            t.write(&[b'x'; 200]);
            assert_eq!(starts(&mut t), [1, 101], "{what}");
            t.run_until(3 * rtt - 1);
            assert_eq!(t.conn.stats().tail_probes, 0, "{what}");
            t.run_until(3 * rtt);
            assert_eq!(starts(&mut t), [101], "{what}");
            assert_eq!(t.conn.stats().tail_probes, 1, "{what}");
        }
    }
}

/// RFC 8985 §7.2: a probe is not later than the retransmission timer.
#[test]
fn a_probe_is_not_later_than_the_timeout() {
    let config = Config {
        min_rto: redpoll_testkit::ms(300),
        ..plain()
    };
    let answer = Record::new().mss(100).sack_ok(true);
    let mut t = Host::established_by(&config, answer, 60);
    t.write(&[b'x'; 100]);
    recv!(t, seq 1, ack 1, len 100);
    recv!(t, at 360, seq 1, ack 1, len 100);
    assert_eq!(t.conn.stats().rtos + t.conn.stats().tail_probes, 1);
}

/// RFC 8985 §7.3: new data are preferred to old data, regardless of cwnd.
#[test]
fn a_probe_is_new_data_if_there_is_any() {
    let mut t = measured(2000);
    assert_eq!(starts(&mut t), [2, 102, 202, 302]);
    let at = t.conn.poll_at().unwrap().at;
    t.run_until(at.as_millis() - 1_000);
    assert_eq!(starts(&mut t), [402]);
    assert_eq!(t.conn.stats().tail_probes, 1);
    // Only the probe arrived: its SACK shows that the four other segments are lost.
    t.wait(RTT);
    send!(t, seq 1, ack 2, sack [(402, 502)]);
    let sent = starts(&mut t);
    assert_eq!(sent.first(), Some(&2));
    assert_eq!(t.conn.stats().rtos, 0);
}

/// RFC 8985 §7.4.2: the probe has repaired the loss, which nevertheless is a sign of congestion.
#[test]
fn a_loss_that_the_probe_repaired_counts() {
    let mut t = measured(200);
    t.sent();
    let at = t.conn.poll_at().unwrap().at;
    t.run_until(at.as_millis() - 1_000);
    recv!(t, seq 102, ack 1, len 100);
    t.wait(RTT);
    send!(t, seq 1, ack 202);
    t.write(&[b'x'; 100]);
    recv!(t, seq 202, ack 1, len 100);
    let ssthresh = t.conn.info().ssthresh;
    t.wait(RTT);
    send!(t, seq 1, ack 302);
    assert!(t.conn.info().ssthresh < ssthresh);
}

/// RFC 8985 §7.4.2, case 1: the peer reports the probe as a duplicate.
#[test]
fn a_needless_probe_changes_nothing() {
    let mut t = measured(200);
    t.sent();
    let at = t.conn.poll_at().unwrap().at;
    t.run_until(at.as_millis() - 1_000);
    recv!(t, seq 102, ack 1, len 100);
    let before = t.conn.info().ssthresh;
    send!(t, seq 1, ack 202);
    send!(t, seq 1, ack 202, sack [(102, 202)]);
    t.write(&[b'x'; 100]);
    t.sent();
    send!(t, seq 1, ack 302);
    assert_eq!(t.conn.info().ssthresh, before);
}

/// Creates a connection like [`measured`], with a window of eight segments of which the first was
/// lost and retransmitted. No new data are left.
fn in_recovery() -> Host {
    let mut t = measured(800);
    let mut acked = 2;
    for _ in 0..2 {
        t.sent();
        t.wait(RTT);
        acked += 400;
        send!(t, seq 1, ack acked);
    }
    t.write(&[b'x'; 800]);
    assert_eq!(t.sent().len(), 8);
    t.wait(RTT);
    send!(t, seq 1, ack 802, sack [(902, 1_602)]);
    recv!(t, seq 802, ack 1, len 100);
    t
}

/// The retransmission or its ACK was lost in fast recovery, and no new data may be sent. A probe
/// repeats the retransmission after two round trips, before the timeout (RFC 8985 §7.3; RFC 6675
/// §4, rule 4).
#[test]
fn the_last_retransmission_is_probed() {
    let mut t = in_recovery();
    let now = t.ms();
    recv_nothing!(t, until now + 2 * RTT - 1);
    recv!(t, at now + 2 * RTT, seq 802, ack 1, len 100);
    assert_eq!(t.conn.stats().tail_probes, 1);
    // RFC 8985 §7.3: one probe, then the retransmission timer.
    recv!(t, at now + 2 * RTT + 1_000, seq 802, ack 1, len 100);
    assert_eq!((t.conn.stats().tail_probes, t.conn.stats().rtos), (1, 1));
}

/// A probe repeats the later one of two retransmissions, because the peer has reported the data
/// after them.
#[test]
fn the_probe_in_recovery_is_the_last_missing_segment() {
    let mut t = measured(400);
    assert_eq!(starts(&mut t), [2, 102, 202, 302]);
    t.wait(RTT);
    send!(t, seq 1, ack 2, sack [(302, 402)]);
    t.wait(RTT / 4);
    assert_eq!(starts(&mut t), [2]);
    t.wait(RTT);
    send!(t, seq 1, ack 102, sack [(302, 402)]);
    assert_eq!(starts(&mut t), [102, 202]);
    let now = t.ms();
    recv_nothing!(t, until now + 2 * RTT - 1);
    recv!(t, at now + 2 * RTT, seq 202, ack 1, len 100);
    assert_eq!((t.conn.stats().tail_probes, t.conn.stats().rtos), (1, 0));
}

/// RFC 5681 §4.3: the loss of a retransmission is a further sign of congestion. If the peer reports
/// both copies, only an ACK was lost (RFC 8985 §7.4.2).
#[test]
fn a_lost_retransmission_that_a_probe_repaired_counts() {
    for (is_reported, ssthresh) in [(true, 400), (false, 200)] {
        let mut t = in_recovery();
        assert_eq!(t.conn.info().ssthresh, 400);
        t.wait(2 * RTT);
        recv!(t, seq 802, ack 1, len 100);
        t.wait(RTT);
        if is_reported {
            send!(t, seq 1, ack 1_602, sack [(802, 902)]);
        } else {
            send!(t, seq 1, ack 1_602);
        }
        assert_eq!(t.conn.info().ssthresh, ssthresh, "{is_reported}");
        assert_eq!(t.conn.stats().rtos, 0);
    }
}

#[test]
fn a_lost_fin_is_probed() {
    let mut t = measured(100);
    t.close();
    recv!(t, flags FIN_ACK, seq 2, ack 1, len 100);
    let at = t.conn.poll_at().unwrap().at;
    t.run_until(at.as_millis() - 1_000);
    recv!(t, flags FIN_ACK, seq 2, ack 1, len 100);
    assert_eq!(t.conn.stats().rtos, 0);
}

/// RFC 8985 §6.3: a segment sent just before a timeout is not marked as lost, and not retransmitted
/// when the window opens.
#[test]
fn a_recent_segment_is_not_retransmitted_after_a_timeout() {
    let mut t = measured(100);
    recv!(t, seq 2, ack 1, len 100);
    let probe = t.ms() + 2 * RTT + 200;
    recv!(t, at probe, seq 2, ack 1, len 100);
    t.run_until(probe + 1_000 - 20);
    t.write(&[b'x'; 100]);
    recv!(t, seq 102, ack 1, len 100);
    recv!(t, at probe + 1_000, seq 2, ack 1, len 100);
    assert_eq!(t.conn.stats().rtos, 1);
    t.wait(RTT / 2);
    send!(t, seq 1, ack 102);
    recv_nothing!(t);
    t.wait(RTT / 2 - 20);
    send!(t, seq 1, ack 202);
    assert_eq!(t.conn.stats().bytes_sent, 1 + 4 * 100);
}

/// RFC 8985 §7.3: no probe before the first RTT sample: the SYN was lost, and its retransmission is
/// not measured. The retransmission timer remains.
#[test]
fn nothing_is_probed_before_a_measurement() {
    let mut t = Host::connect(&plain(), 4096, 4096);
    t.run_until(1_000);
    assert_eq!(t.sent().len(), 2);
    t.wait(RTT);
    send!(t, flags SYN_ACK, seq 0, ack 1, mss 100, sack_ok true);
    recv!(t, seq 1, ack 1);
    t.write(&[b'x'; 100]);
    recv!(t, seq 1, ack 1, len 100);
    recv!(t, at 1_000 + RTT + 3_000, seq 1, ack 1, len 100);
    assert_eq!(t.conn.stats().tail_probes, 0);
    assert_eq!(t.conn.stats().rtos, 2);
}

/// Without SACK there is neither detection by time nor a probe: RFC 8985 §3.
#[test]
fn without_sack_the_timer_remains() {
    let mut t = Host::established(&plain(), 100, 4096);
    t.write(&[b'x'; 200]);
    t.sent();
    recv!(t, at 1_000, seq 1, ack 1, len 100);
    assert_eq!(t.conn.stats().tail_probes, 0);
}

/// RFC 8985 §6.3: after a timeout all overdue data are lost, however long the timeout was.
#[test]
fn a_loss_of_a_minute_ago_is_repaired_without_another_timeout() {
    for seconds in [20, 40, 60] {
        let config = Config {
            min_rto: redpoll_testkit::ms(seconds * 1_000),
            ..plain()
        };
        let answer = Record::new().mss(100).sack_ok(true);
        let mut t = Host::established_by(&config, answer, RTT);
        t.write(&[b'x'; 300]);
        assert_eq!(starts(&mut t), [1, 101, 201]);
        t.run_until(3 * seconds * 1_000 / 2);
        t.sent();
        assert_eq!(t.conn.stats().rtos, 1);
        send!(t, seq 1, ack 101);
        assert_eq!(starts(&mut t), [101, 201], "after {seconds} s");
    }
}

/// Loses the first of two segments, starting at `from`. Returns the reordering window in
/// milliseconds.
fn reordering_window(t: &mut Host, from: u32) -> u64 {
    t.write(&[b'x'; 200]);
    assert_eq!(starts(t), [from, from + 100]);
    t.wait(RTT);
    send!(t, seq 1, ack from, sack [(from + 100, from + 200)]);
    let now = t.ms();
    let sent = loop {
        let sent = starts(t);
        if !sent.is_empty() {
            break sent;
        }
        t.wait(1);
    };
    assert_eq!(sent, [from]);
    let window = t.ms() - now;
    t.wait(RTT);
    send!(t, seq 1, ack from + 200);
    window
}

/// RFC 8985 §6.2, step 4: "Receiving an ACK with a DSACK option indicates a possible spurious
/// retransmission, suggesting that RACK.reo_wnd may be too small."
#[test]
fn a_needless_retransmission_by_time_widens_the_window() {
    let mut t = measured(200);
    assert_eq!(starts(&mut t), [2, 102]);
    t.wait(RTT);
    send!(t, seq 1, ack 2, sack [(102, 202)]);
    t.wait(RTT / 4);
    assert_eq!(starts(&mut t), [2]);
    // The first segment was only late.
    send!(t, seq 1, ack 202);
    t.wait(RTT);
    send!(t, seq 1, ack 202, sack [(2, 102)]);
    assert_eq!(reordering_window(&mut t, 202), RTT / 2);
}

/// RFC 8985 §6.2, step 4: probes and timeouts do not depend on the reordering window. If a lost ACK
/// lets them retransmit a segment that arrived, the window does not change.
#[test]
fn a_needless_probe_or_timeout_leaves_the_window() {
    for timeout in [false, true] {
        let mut t = measured(200);
        assert_eq!(starts(&mut t), [2, 102]);
        t.wait(2 * RTT);
        assert_eq!(starts(&mut t), [102]);
        let again = if timeout {
            t.wait(1_000);
            assert_eq!(starts(&mut t), [2]);
            (2, 102)
        } else {
            (102, 202)
        };
        t.wait(RTT);
        send!(t, seq 1, ack 202, sack [again]);
        assert_eq!(reordering_window(&mut t, 202), RTT / 4, "{timeout}");
        assert_eq!(t.conn.stats().rtos, u32::from(timeout));
    }
}
