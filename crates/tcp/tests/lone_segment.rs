//! A sender avoids single segments that wait for a delayed ACK. A receiver acknowledges every
//! second segment at once (RFC 5681 §4.2), and a single one after a delay, here 200 ms (RFC 9006
//! §3.2.3).

use redpoll_tcp::Config;
use redpoll_testkit::{Host, Record, SYN, recv, send};

/// One-way latency in milliseconds.
const LATENCY: u64 = 50;

fn config(nagle: bool) -> Config {
    Config {
        timestamps: false,
        sack: false,
        mss: 462,
        min_rto: redpoll_testkit::ms(1_000),
        nagle,
        ..Config::default()
    }
}

/// Creates a sender and a receiver with `window` bytes of buffer and segments of 462 bytes.
fn ends(nagle: bool, window: u16) -> [Host; 2] {
    let config = config(nagle);
    let answer = Record::new().mss(462).win(window);
    let sender = Host::established_by(&config, answer, 0);
    let request = Record::new().flags(SYN).mss(462);
    let mut receiver = Host::accept(&config, 64, usize::from(window), request);
    receiver.sent();
    send!(receiver, seq 1, ack 1);
    [sender, receiver]
}

/// Returns the milliseconds until `bytes` are acknowledged, and the number of segments.
fn time_to_send(nagle: bool, window: u16, bytes: usize) -> (u64, u32) {
    let [mut sender, mut receiver] = ends(nagle, window);
    sender.write(&vec![b'x'; bytes]);
    let (mut data, mut acks) = (Vec::new(), Vec::new());
    while (sender.conn.stats().bytes_acked as usize) < bytes {
        let now = sender.ms();
        let arrived = |(at, _): &(u64, Record)| *at <= now;
        for (_, record) in data.extract_if(.., |it| arrived(it)) {
            receiver.send(record);
            receiver.read(4096);
            let answers = receiver.sent();
            acks.extend(answers.into_iter().map(|it| (now + LATENCY, it)));
        }
        for (_, record) in acks.extract_if(.., |it| arrived(it)) {
            sender.send(record);
        }
        data.extend(sender.sent().into_iter().map(|it| (now + LATENCY, it)));
        acks.extend(receiver.sent().into_iter().map(|it| (now + LATENCY, it)));
        sender.wait(1);
        receiver.wait(1);
        assert!(now < 20_000);
    }
    assert_eq!(sender.conn.stats().rtos, 0);
    (sender.ms(), sender.conn.stats().data_segments_sent)
}

/// Into a window without room for two full-sized segments, the sender sends two smaller ones.
#[test]
fn a_window_of_one_segment_takes_two_halves() {
    let (time, segments) = time_to_send(true, 462, 4 * 462);
    assert_eq!(segments, 8);
    assert!(
        time <= 4 * (2 * LATENCY + 2),
        "{time} ms for four round trips"
    );
    let (time, _) = time_to_send(true, 693, 2 * 693);
    assert!(time <= 2 * (2 * LATENCY + 2), "{time} ms for two");
    // The sender does not divide segments if the window has room for two.
    let (_, segments) = time_to_send(true, 924, 4 * 462);
    assert_eq!(segments, 4);
}

#[test]
fn a_tiny_window_is_not_divided() {
    let (_, segments) = time_to_send(true, 100, 300);
    assert_eq!(segments, 3);
}

/// The last of an odd number of segments is sent in two halves if the Nagle algorithm, which avoids
/// small segments, is off.
#[test]
fn the_last_of_an_odd_number_of_segments_is_split() {
    for (segments, with_nagle) in [(1, 1), (2, 2), (3, 3), (4, 4)] {
        let bytes = segments * 462;
        let odd = segments % 2;
        let (time, sent) = time_to_send(false, 1848, bytes);
        assert_eq!(sent as usize, segments + odd);
        assert!(time <= 2 * LATENCY + 2, "{time} ms for {segments}");
        let (time, sent) = time_to_send(true, 1848, bytes);
        assert_eq!(sent, with_nagle);
        assert_eq!(time > 200, odd == 1, "{time} ms for {segments}");
    }
}

#[test]
fn some_last_segments_stay_whole() {
    let [mut t, _] = ends(false, 1848);
    t.write(&[b'x'; 462]);
    t.close();
    recv!(t, flags redpoll_testkit::FIN_ACK, seq 1, ack 1, len 462);
    let [mut t, _] = ends(false, 1848);
    t.write(&[b'x'; 461]);
    recv!(t, seq 1, ack 1, len 461);
}
