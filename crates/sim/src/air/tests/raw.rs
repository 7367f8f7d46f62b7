//! Raw radios: the firmware gets every frame, and the radio sends only the frames of the firmware.

use super::*;

/// Returns a frame of `len` bytes that requests an acknowledgment (IEEE 802.15.4-2015 §7.3.1).
fn data(from: u16, to: u16, dsn: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![0x61, 0x88, dsn, 0x70, 0x72];
    frame.extend(to.to_le_bytes());
    frame.extend(from.to_le_bytes());
    frame.resize(len, 0xaa);
    frame
}

/// Returns three nodes in a line, the middle one with a raw radio.
fn bench() -> Bench {
    let mut bench = Bench::line(3, Model::Ideal, 1, &[]);
    bench.air.make_raw(1);
    bench.is_raw = true;
    bench
}

fn send(bench: &mut Bench, frame: &[u8]) {
    let (now, queue) = (bench.now, &mut bench.queue);
    bench.air.send_raw(now, 1, frame, queue);
    bench.drain();
}

/// Checks that the raw radio indicates frames for its node and for other nodes, from beginning to
/// end, and acknowledges none, so the sender retransmits.
#[test]
fn a_raw_radio_receives_every_frame_and_acknowledges_none() {
    let mut bench = bench();
    bench.send(0, Address::Short(short(1)), 40);
    bench.run_until(Instant::from_millis(900));
    let (_, _, status, attempts) = bench.done[0];
    assert_eq!(status, TxStatus::NoAck);
    let copies = usize::from(attempts);
    assert_eq!(bench.heard.len(), 2 * copies, "each with its beginning");
    let (began, ended) = (bench.heard[0].0, bench.heard[1].0);
    // 40 bytes including the FCS, and 6 bytes of preamble and PHY header, at 32 µs per byte.
    assert_eq!(ended.since(began).as_micros(), 46 * 32);
    assert!(
        bench.heard[1]
            .2
            .as_ref()
            .is_some_and(|frame| frame.len() == 38)
    );
    // The raw radio also receives a frame for a node that is out of the sender's range.
    let before = bench.heard.len();
    bench.send(0, Address::Short(short(2)), 30);
    bench.run_until(Instant::from_millis(1_800));
    assert!(bench.heard.len() > before);
}

/// Checks that a sender accepts an acknowledgment by the firmware that arrives within its wait.
#[test]
fn a_raw_radio_acknowledges_by_sending() {
    let mut bench = bench();
    bench.send(0, Address::Short(short(1)), 40);
    while bench.heard.len() < 2 {
        let next = bench.queue.next_at().expect("a frame on its way");
        bench.run_until(next);
    }
    let dsn = bench.heard[1].2.as_ref().map(|frame| frame[2]);
    bench.run_until(bench.now + Duration::from_micros(300));
    send(&mut bench, &[0x02, 0x00, dsn.unwrap_or_default()]);
    bench.run_until(Instant::from_millis(200));
    let (_, _, status, attempts) = bench.done[0];
    assert_eq!((status, attempts), (TxStatus::Delivered, 1));
    assert_eq!(
        bench
            .air
            .ledger()
            .count(FrameClass::Ack, Outcome::Delivered),
        1
    );
}

/// Checks that frames of a raw radio arrive and are acknowledged by an ordinary radio. A frame sent
/// during a reception is transmitted, and the received frame is lost.
#[test]
fn frames_of_a_raw_radio_are_received() {
    let mut bench = bench();
    send(&mut bench, &data(short(1), short(2), 9, 50));
    bench.run_until(Instant::from_millis(50));
    assert_eq!(bench.received.len(), 1);
    let ack: Vec<_> = bench.heard.iter().filter_map(|it| it.2.clone()).collect();
    assert_eq!(ack, [[0x02, 0x00, 9]], "an immediate acknowledgement");
    bench.heard.clear();
    bench.send(0, Address::Short(short(1)), 100);
    while bench.heard.is_empty() {
        let next = bench.queue.next_at().expect("a frame on its way");
        bench.run_until(next);
    }
    send(&mut bench, &data(short(1), short(2), 10, 20));
    assert_eq!(bench.heard[1].2, Some(Vec::new()), "given up");
    bench.run_until(Instant::from_millis(300));
    assert_eq!(bench.received.len(), 2);
}
