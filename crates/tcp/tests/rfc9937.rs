//! RFC 9937: how many bytes recovery sends for those that arrive.
#![cfg(feature = "gentle-recovery")]

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, send};

const MSS: u32 = 100;
const RTT: u64 = 100;

/// Returns a host with SACK, `window` segments in flight and more data to send; and its SND.UNA.
fn out(window: u32) -> (Host, u32) {
    let config = Config {
        timestamps: false,
        ..Config::default()
    };
    let answer = Record::new().mss(MSS as u16).win(60_000).sack_ok(true);
    let mut t = Host::established_by(&config, answer, RTT);
    let (mut una, mut nxt) = (1, 1);
    loop {
        t.write(&vec![b'x'; t.conn.send_room()]);
        let sent = t.sent();
        nxt = sent
            .iter()
            .map(|r| r.seq_number() + MSS)
            .max()
            .unwrap_or(nxt);
        if nxt - una >= window * MSS {
            return (t, una);
        }
        t.wait(RTT);
        while una < nxt {
            una += MSS;
            send!(t, seq 1, ack una, win 60_000);
        }
    }
}

#[cfg(feature = "rack-tlp")]
fn starts(t: &mut Host) -> Vec<u32> {
    t.sent().iter().map(Record::seq_number).collect()
}

/// RFC 9937 §6.2: while the network holds more than ssthresh, about two arrivals release one
/// segment; at the end ssthresh is outstanding (§6.4).
#[test]
fn the_window_comes_down_in_proportion() {
    let (mut t, una) = out(16);
    t.wait(RTT);
    let mut sent = 0;
    let arrived = 15;
    for n in 1..=arrived {
        let end = una + (n + 1) * MSS;
        send!(t, seq 1, ack una, win 60_000, sack [(una + MSS, end)]);
        sent += t.sent().len() as u32;
        // The third SACK detects the loss and starts PRR.
        if n >= 3 {
            assert!(n.div_ceil(2).abs_diff(sent) <= 1, "{sent} for {n}");
        }
    }
    let ssthresh = t.conn.info().ssthresh;
    assert_eq!(ssthresh, 16 * MSS / 2);
    assert!(sent * MSS >= ssthresh - 2 * MSS, "{sent}: no standstill");
    assert!(
        sent * MSS <= ssthresh + MSS,
        "{sent}: no more than ssthresh"
    );
    t.wait(RTT);
    send!(t, seq 1, ack una + 16 * MSS, win 60_000);
    assert_eq!(t.conn.info().cwnd, ssthresh);
    assert_eq!(t.conn.stats().retransmissions.total(), 1);
}

/// RFC 9937 §6.2: the first retransmission is sent at once, however much is outstanding.
#[test]
fn the_first_retransmission_does_not_wait() {
    let (mut t, una) = out(16);
    t.wait(RTT);
    send!(t, seq 1, ack una, win 60_000, sack [(una + MSS, una + 4 * MSS)]);
    assert_eq!(t.sent()[0].seq_number(), una);
}

/// RFC 9937 §6.2, SafeACK: an ACK that reveals further losses releases no more bytes than arrived.
#[test]
fn heavy_losses_are_repaired_one_for_one() {
    let (mut t, una) = out(16);
    t.wait(RTT);
    // The first twelve of sixteen are lost.
    for n in 13..=16 {
        let end = una + n * MSS;
        send!(t, seq 1, ack una, win 60_000, sack [(una + 12 * MSS, end)]);
    }
    let burst = t.sent().len();
    assert!(burst <= 3, "{burst}");
    t.wait(RTT);
    send!(t, seq 1, ack una + MSS, win 60_000, sack [(una + 12 * MSS, una + 16 * MSS)]);
    assert!((1..=2).contains(&t.sent().len()));
}

/// RFC 9937 §3, and RFC 8985 §9.3: only the first retransmission may exceed cwnd; one whose loss is
/// detected later must wait.
#[test]
#[cfg(feature = "rack-tlp")]
fn later_retransmissions_stay_within_cwnd() {
    let (mut t, una) = out(16);
    t.wait(RTT);
    let at = |n: u32| una + n * MSS;
    // Lost: the segments 0, 4 and 6. Two arrivals release one segment.
    send!(t, seq 1, ack una, win 60_000, sack [(at(1), at(4))]);
    let mut sent = starts(&mut t);
    assert_eq!(sent, [una]);
    for (arrived, segment) in [(4, 5), (5, 7), (6, 8)] {
        let block = (at(segment), at(segment + 1));
        send!(t, seq 1, ack una, win 60_000, sack [block, (at(1), at(4))]);
        sent.extend(starts(&mut t));
        assert_eq!(sent.len(), arrived / 2, "{sent:?}");
    }
    assert_eq!(sent, [una, at(4), at(6)]);
}
