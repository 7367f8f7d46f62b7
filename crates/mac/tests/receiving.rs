//! Frames that the MAC delivers, drops and counts; reception at any time.

use crate::bench;

use bench::*;
use redpoll_mac::{MacCounters, RadioResult, TxStatus};
use redpoll_wire::ieee802154::{Address, imm_ack};

#[test]
fn data_frames_for_this_node_are_delivered() {
    let mut b = Bench::new(config());
    let frame = data(PEER, ME, 5, b"hello");
    assert_eq!(b.hear(&frame), Some((PEER, b"hello".to_vec())));
    let frame = data(PEER, Address::Extended(config().extended), 6, b"to my EUI");
    assert_eq!(b.hear(&frame), Some((PEER, b"to my EUI".to_vec())));
    let from = Address::Extended([2, 0, 0, 0, 0, 0, 0, 3]);
    let frame = data(from, Address::BROADCAST, 6, b"to all");
    assert_eq!(b.hear(&frame), Some((from, b"to all".to_vec())));
    let mut expected = MacCounters::default();
    expected.rx_frames = 3;
    assert_eq!(*b.mac.counters(), expected);
    assert_eq!(b.poll(), None, "the radio has acknowledged them");
}

#[test]
fn every_drop_has_its_counter() {
    let mut b = Bench::new(config());
    let good = data(PEER, ME, 5, b"x");
    let mut secured = good.clone();
    secured[0] |= 0x08;
    let mut command = good.clone();
    command[0] = (command[0] & !7) | 3;
    let mut other_pan = good.clone();
    other_pan[3] ^= 1;
    let other_node = data(PEER, Address::Short(77), 5, b"x");
    for frame in [&secured, &command, &other_pan, &other_node] {
        assert_eq!(b.hear(frame), None);
    }
    for len in 0..9 {
        assert_eq!(b.hear(&good[..len]), None, "cut to {len} bytes");
    }
    assert_eq!(b.hear(&imm_ack(5, false)), None);
    let mut expected = MacCounters::default();
    expected.rx_secured = 1;
    expected.rx_unsupported_type = 1;
    expected.rx_other_pan = 1;
    expected.rx_not_for_us = 1;
    expected.rx_malformed = 9;
    expected.rx_stray_acks = 1;
    assert_eq!(*b.mac.counters(), expected);
    assert!(
        b.hear(&good).is_some(),
        "none of them was taken for its twin"
    );
}

#[test]
fn a_frame_repeated_because_its_ack_was_lost_goes_up_once() {
    let mut b = Bench::new(config());
    let frame = data(PEER, ME, 5, b"fragment");
    assert!(b.hear(&frame).is_some());
    for _ in 0..9 {
        b.pass(45_000);
        assert_eq!(b.hear(&frame), None);
    }
    assert_eq!(b.mac.counters().rx_duplicates, 9);
    assert!(b.hear(&data(PEER, ME, 6, b"fragment")).is_some());
    assert!(
        b.hear(&data(Address::Short(3), ME, 6, b"fragment"))
            .is_some()
    );
}

#[test]
fn sequence_numbers_wrap_and_neighbours_restart() {
    let mut b = Bench::new(config());
    // Within 3 s, the neighbour uses each sequence number at least three times.
    for i in 0..1_000u32 {
        let frame = data(PEER, ME, i as u8, b"x");
        assert!(b.hear(&frame).is_some(), "frame {i}");
        b.pass(3_000);
    }
    // The number of the last frame again, with other bytes, as after 255 frames to other receivers.
    let again = data(PEER, ME, 999u32 as u8, b"another");
    assert!(b.hear(&again).is_some());
    // 3 s later, the same bytes are a new frame: the neighbour may have restarted.
    b.pass(3_000_000);
    assert!(b.hear(&again).is_some());
    assert_eq!(b.mac.counters().rx_duplicates, 0);
}

#[test]
fn broadcasts_are_not_mistaken_for_repetitions() {
    let mut b = Bench::new(config());
    let frame = data(PEER, Address::BROADCAST, 5, b"beat");
    assert!(b.hear(&frame).is_some());
    assert!(b.hear(&frame).is_some(), "nobody repeats a broadcast");
}

#[test]
fn frames_are_heard_while_waiting_to_send() {
    let mut b = Bench::new(config());
    let mut dsn = 0;
    let mut heard = |b: &mut Bench, what: &str| {
        dsn += 1;
        let frame = data(PEER, ME, dsn, b"meanwhile");
        assert!(b.hear(&frame).is_some(), "{what}");
    };
    b.submit(PEER, b"x");
    heard(&mut b, "before the load");
    assert_eq!(b.poll(), LOAD);
    heard(&mut b, "during the load");
    b.done(RadioResult::Loaded);
    while b.mac.poll_at().is_none() {
        // A backoff of zero starts no timer: the channel stays busy until a longer one is drawn.
        assert_eq!(b.poll(), TRANSMIT);
        b.done(RadioResult::ChannelBusy);
    }
    heard(&mut b, "in a backoff");
    let until = b.mac.poll_at();
    heard(&mut b, "in a backoff");
    assert_eq!(b.mac.poll_at(), until, "and the backoff goes on");
    assert_eq!(b.next_work(), TRANSMIT);
    b.done(RadioResult::NoAck);
    assert!(b.mac.poll_at().is_some());
    heard(&mut b, "in a retry delay");
    b.attempt(ACKED);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 2)));
}
