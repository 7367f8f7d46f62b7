//! A radio that leaves acknowledgements to the MAC, in both directions.

use crate::bench;

use bench::*;
use redpoll_base::Duration;
use redpoll_mac::{RadioResult, TxStatus};
use redpoll_wire::ieee802154::{Address, imm_ack};

const SENT: RadioResult = RadioResult::Sent;
const LOADED: RadioResult = RadioResult::Loaded;

#[test]
fn waits_macackwaitduration_for_the_ack_of_its_frame() {
    let mut b = Bench::new(bare());
    b.submit(PEER, b"x");
    b.attempt(SENT);
    let dsn = b.dsn();
    b.pass(544);
    assert_eq!(b.hear(&imm_ack(dsn.wrapping_add(1), false)), None);
    assert_eq!(b.done_event(), None, "somebody else's");
    assert_eq!(b.mac.counters().rx_stray_acks, 1);
    assert_eq!(b.hear(&imm_ack(dsn, false)), None);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
    assert_eq!(b.mac.counters().acks_received, 1);
    assert!(b.mac.is_idle());
}

#[test]
fn without_an_ack_in_time_the_frame_goes_out_again() {
    let mut b = Bench::new(bare().with(|it| it.max_frame_retries = 1));
    b.submit(PEER, b"x");
    b.attempt(SENT);
    let first = b.buffer.to_vec();
    assert_eq!(b.sleep(), Duration::from_micros(864));
    assert_eq!(b.hear(&imm_ack(b.dsn(), false)), None);
    assert_eq!(b.done_event(), None, "too late to be sure whose it is");
    b.attempt(SENT);
    assert_eq!(*b.buffer, first, "the same frame");
    assert_eq!(b.sleep(), Duration::from_micros(864));
    assert_eq!(b.done_event(), Some((TxStatus::NoAck, 2)));
    assert_eq!(b.mac.counters().no_ack, 2);
}

#[test]
fn acknowledges_frames_and_their_repetitions() {
    let mut b = Bench::new(bare());
    let frame = data(PEER, ME, 9, b"x");
    for first in [true, false] {
        assert_eq!(b.hear(&frame).is_some(), first);
        if first {
            assert_eq!(b.poll(), LOAD);
            b.done(LOADED);
        }
        // The copy needs no load, because the radio still contains the same Imm-ACK.
        assert_eq!(*b.buffer, imm_ack(9, false));
        assert_eq!(b.poll(), TRANSMIT_AT_ONCE, "an Imm-ACK does no CSMA");
        assert_eq!(b.poll(), None);
        b.pass(352);
        b.done(SENT);
        assert_eq!(b.poll(), None);
        b.pass(10_000);
    }
    assert_eq!(b.mac.counters().acks_sent, 2);
    assert_eq!(b.mac.counters().rx_duplicates, 1);
}

#[test]
fn acknowledges_only_frames_to_this_node_that_request_it() {
    let mut b = Bench::new(bare());
    let mut unasked = data(PEER, ME, 9, b"x");
    unasked[0] &= !0x20;
    let mut nosy = data(PEER, Address::BROADCAST, 9, b"x");
    nosy[0] |= 0x20;
    for frame in [&unasked, &nosy, &data(PEER, Address::Short(7), 9, b"x")] {
        b.hear(frame);
        assert_eq!(b.poll(), None);
    }
    // A secured frame is acknowledged although this MAC, which has no security, drops it.
    let mut secured = data(PEER, ME, 9, b"x");
    secured[0] |= 0x08;
    assert_eq!(b.hear(&secured), None);
    assert_eq!(b.poll(), LOAD);
    assert_eq!(*b.buffer, imm_ack(9, false));
}

#[test]
fn an_ack_precedes_the_waiting_frame_which_is_loaded_again() {
    let mut b = Bench::new(bare());
    b.submit(PEER, b"mine");
    assert_eq!(b.poll(), LOAD);
    let mine = b.buffer.to_vec();
    assert!(b.hear(&data(PEER, ME, 9, b"x")).is_some());
    assert_eq!(b.poll(), None, "the radio is still loading");
    b.done(LOADED);
    assert_eq!(b.poll(), LOAD);
    assert_eq!(*b.buffer, imm_ack(9, false));
    b.done(LOADED);
    assert_eq!(b.poll(), TRANSMIT_AT_ONCE);
    b.pass(352);
    b.done(SENT);
    assert_eq!(b.next_work(), LOAD);
    assert_eq!(*b.buffer, mine);
    b.done(LOADED);
    assert_eq!(b.poll(), TRANSMIT, "its backoff is over");
    b.done(SENT);
    let dsn = b.dsn();
    b.pass(544);
    b.hear(&imm_ack(dsn, false));
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
}

#[test]
fn an_ack_that_would_come_too_late_is_not_sent() {
    let mut b = Bench::new(bare());
    b.submit(PEER, b"mine");
    assert_eq!(b.poll(), LOAD);
    b.hear(&data(PEER, ME, 9, b"x"));
    b.pass(513);
    b.done(LOADED);
    assert_eq!(b.next_work(), TRANSMIT, "on with the frame, still loaded");
    assert_eq!(b.mac.counters().acks_late, 1);
    assert_eq!(b.mac.counters().acks_sent, 0);
}
