//! The path of a frame to the air, on a radio with hardware Imm-ACKs: the order of operations,
//! CSMA-CA, retries, and the events for the layer above.

use crate::bench;

use bench::*;
use redpoll_base::{Duration, Rng};
use redpoll_mac::{CsmaCa, FrameBuf, Mac, RadioCaps, RadioResult, Service, TxStatus};
use redpoll_wire::ieee802154::{Address, FrameHeader};

#[test]
fn load_back_off_transmit() {
    let mut b = Bench::new(config());
    assert_eq!(b.poll(), None, "nothing to send, so the radio just listens");
    assert!(b.mac.is_idle());
    b.submit(PEER, b"hello");
    assert!(!b.mac.is_idle());
    assert_eq!(b.mac.frame_mut(PEER), None, "one frame at a time");

    assert_eq!(b.poll(), LOAD);
    assert_eq!(b.poll(), None, "the radio has its work");
    b.done(RadioResult::Loaded);
    assert_eq!(b.next_work(), TRANSMIT);
    b.pass(1_000);
    b.done(ACKED);
    assert!(!b.mac.is_idle(), "the event has not been taken");
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
    assert_eq!(b.done_event(), None);
    assert!(b.mac.is_idle());
    assert_eq!(b.mac.poll_at(), None);

    let c = b.mac.counters();
    assert_eq!((c.submitted, c.frames_sent, c.delivered), (1, 1, 1));
    assert_eq!(
        (c.acks_received, c.frame_retries, c.radio_faults),
        (1, 0, 0)
    );
}

#[test]
fn frames_carry_short_addresses_in_nine_bytes_and_count_up() {
    let mut b = Bench::new(config());
    let mut dsns = vec![];
    for _ in 0..300 {
        assert_eq!(b.mac.payload_capacity(PEER), 116);
        b.submit(PEER, &[0x5a; 116]);
        assert_eq!(b.poll(), LOAD);
        assert_eq!(b.buffer.len(), 125);
        let (header, payload) = FrameHeader::parse(&b.buffer).unwrap();
        assert_eq!((header.src, header.dst), (ME, PEER));
        assert_eq!((header.src_pan, header.dst_pan), (Some(PAN), Some(PAN)));
        assert!(header.ack_request && !header.security && !header.frame_pending);
        assert_eq!(payload, [0x5a; 116]);
        dsns.push(header.dsn);
        b.done(RadioResult::Loaded);
        b.attempt(ACKED);
        assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
    }
    for pair in dsns.windows(2) {
        assert_eq!(pair[1], pair[0].wrapping_add(1));
    }
}

#[test]
fn sequence_numbers_start_anywhere() {
    let first = |seed| {
        let mut mac = Mac::new(config(), CsmaCa, Rng::new(seed));
        mac.frame_mut(PEER).unwrap();
        mac.submit(FromSecs::from_secs(0), 0, Service::default());
        mac.poll_radio(FromSecs::from_secs(0));
        mac.frame()[2]
    };
    let starts: std::collections::BTreeSet<u8> = (0..100).map(first).collect();
    assert!(starts.len() > 60, "{starts:?}");
}

#[test]
fn a_broadcast_asks_for_nothing_and_is_done_when_sent() {
    let mut b = Bench::new(config());
    b.submit(Address::BROADCAST, b"to all");
    assert_eq!(b.poll(), LOAD);
    let (header, _) = FrameHeader::parse(&b.buffer).unwrap();
    assert!(!header.ack_request);
    b.done(RadioResult::Loaded);
    b.attempt(RadioResult::Sent);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
    assert_eq!(b.mac.counters().acks_received, 0);
}

#[test]
fn the_absent_address_has_no_frame_and_submit_needs_one() {
    let mut b = Bench::new(config());
    assert_eq!(b.mac.payload_capacity(Address::Absent), 0);
    assert_eq!(b.mac.frame_mut(Address::Absent), None);
    b.mac.submit(b.now, 5, Service::default());
    assert!(b.mac.is_idle(), "there was no frame to submit");

    let far = Address::Extended([2, 0, 0, 0, 0, 0, 0, 2]);
    let room = b.mac.frame_mut(far).unwrap().len();
    assert_eq!(room, b.mac.payload_capacity(far));
    assert_eq!(room, 110);
    b.mac.submit(b.now, usize::MAX, Service::default());
    assert_eq!(b.poll(), LOAD);
    assert_eq!(b.buffer.len(), FrameBuf::CAPACITY);
}

#[test]
fn a_node_without_short_address_uses_its_extended_one() {
    let mut b = Bench::new(config().with(|it| it.short = 0xfffe));
    let own = Address::Extended(config().extended);
    assert_eq!(b.mac.config().address(), own);
    b.submit(PEER, b"");
    assert_eq!(b.poll(), LOAD);
    let (header, _) = FrameHeader::parse(&b.buffer).unwrap();
    assert_eq!(header.src, own);
}

#[test]
fn each_busy_channel_widens_the_backoff_and_the_fifth_ends_the_attempt() {
    let mut longest = [Duration::ZERO; 5];
    for seed in 0..400 {
        let mut b = Bench::new(config());
        b.mac = Mac::new(config(), CsmaCa, Rng::new(seed));
        b.submit(PEER, b"x");
        assert_eq!(b.poll(), LOAD);
        b.done(RadioResult::Loaded);
        for longest in &mut longest {
            let before = b.now;
            assert_eq!(b.next_work(), TRANSMIT, "loaded once, and kept");
            *longest = (*longest).max(b.now - before);
            b.done(RadioResult::ChannelBusy);
        }
        assert_eq!(b.mac.counters().channel_busy, 5);
        assert_eq!(b.mac.counters().channel_access_failures, 1);
        assert_eq!(b.mac.counters().frames_sent, 0);
        assert_eq!(b.mac.counters().frame_retries, 1);
    }
    let periods = longest.map(|d| d.as_micros() / 320);
    assert_eq!(periods, [7, 15, 31, 31, 31]);
}

#[test]
fn failures_are_followed_by_a_random_delay_and_a_fresh_csma() {
    // The channel is busy three times first: the next attempt must start again with macMinBE.
    let mut longest = Duration::ZERO;
    let mut shortest = Duration::MAX;
    let mut longest_backoff = Duration::ZERO;
    for seed in 0..400 {
        let mut b = Bench::new(config());
        b.mac = Mac::new(config(), CsmaCa, Rng::new(seed));
        b.submit(PEER, b"x");
        for _ in 0..3 {
            b.attempt(RadioResult::ChannelBusy);
        }
        b.attempt(RadioResult::NoAck);
        assert_eq!(b.poll(), None);
        let delay = b.sleep();
        longest = longest.max(delay);
        shortest = shortest.min(delay);
        let before = b.now;
        assert_eq!(b.next_work(), TRANSMIT);
        longest_backoff = longest_backoff.max(b.now - before);
        b.done(ACKED);
        assert_eq!(b.done_event(), Some((TxStatus::Delivered, 2)));
    }
    assert!(longest <= Duration::from_millis(40) && longest > Duration::from_millis(39));
    assert!(shortest < Duration::from_millis(1));
    assert_eq!(longest_backoff, Duration::from_micros(7 * 320));
}

#[test]
fn no_delay_when_d_is_zero() {
    let mut b = Bench::new(config().with(|it| it.link_retry_delay = Duration::ZERO));
    for _ in 0..200 {
        b.submit(PEER, b"x");
        b.attempt(RadioResult::NoAck);
        let before = b.now;
        assert_eq!(b.next_work(), TRANSMIT);
        assert!(b.now - before <= Duration::from_micros(7 * 320));
        b.done(ACKED);
        assert_eq!(b.done_event(), Some((TxStatus::Delivered, 2)));
    }
}

#[test]
fn a_frame_fails_with_its_reason_after_the_last_retry() {
    for (result, status) in [
        (RadioResult::NoAck, TxStatus::NoAck),
        (RadioResult::ChannelBusy, TxStatus::ChannelAccessFailure),
    ] {
        let mut b = Bench::new(config().with(|it| {
            it.max_frame_retries = 3;
            it.max_csma_backoffs = 0;
        }));
        b.submit(PEER, b"x");
        for _ in 0..4 {
            assert_eq!(b.done_event(), None);
            b.attempt(result);
        }
        assert_eq!(b.done_event(), Some((status, 4)));
        assert_eq!(b.mac.poll_at(), None);
        assert_eq!(b.next_work(), None);
        let c = *b.mac.counters();
        assert_eq!(c.frame_retries, 3);
        assert_eq!(c.no_ack + c.channel_access_failures, 4);
        assert_eq!(c.dropped_no_ack + c.dropped_channel_access, 1);
        assert_eq!(c.delivered, 0);
    }
}

#[test]
fn the_defaults_make_ten_attempts() {
    let mut b = Bench::new(config());
    b.submit(PEER, b"x");
    for _ in 0..10 {
        b.attempt(RadioResult::NoAck);
    }
    assert_eq!(b.done_event(), Some((TxStatus::NoAck, 10)));
}

#[test]
fn a_radio_with_csma_and_retries_decides_the_result() {
    let caps = RadioCaps {
        auto_ack: true,
        csma: true,
        retries: true,
        source_match: false,
    };
    for (result, status) in [
        (ACKED, TxStatus::Delivered),
        (RadioResult::NoAck, TxStatus::NoAck),
        (RadioResult::ChannelBusy, TxStatus::ChannelAccessFailure),
    ] {
        let mut b = Bench::new(config().with(|it| it.caps = caps));
        b.submit(PEER, b"x");
        assert_eq!(b.poll(), LOAD);
        b.done(RadioResult::Loaded);
        assert_eq!(b.poll(), TRANSMIT, "no backoff by the MAC");
        b.done(result);
        assert_eq!(b.done_event(), Some((status, 1)));
    }
}

#[test]
fn a_radio_with_csma_alone_leaves_the_retries_to_the_mac() {
    let caps = RadioCaps {
        auto_ack: true,
        csma: true,
        ..RadioCaps::default()
    };
    let mut b = Bench::new(config().with(|it| it.caps = caps));
    b.submit(PEER, b"x");
    b.attempt(RadioResult::ChannelBusy);
    assert_eq!(b.mac.counters().channel_access_failures, 1);
    b.sleep();
    assert_eq!(b.poll(), TRANSMIT);
    b.done(ACKED);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 2)));
}

#[test]
fn results_without_an_operation_are_counted_and_ignored() {
    let mut b = Bench::new(config());
    for result in [ACKED, RadioResult::Loaded, RadioResult::NoAck] {
        b.done(result);
    }
    assert_eq!(b.mac.counters().radio_faults, 3);
    b.submit(PEER, b"x");
    b.done(ACKED);
    assert_eq!(b.done_event(), None);
    // A radio with `auto_ack` must not report `Sent`: this is a fault, and counts as `NoAck`.
    b.attempt(RadioResult::Sent);
    assert_eq!(b.mac.counters().radio_faults, 5);
    assert_eq!(b.mac.counters().no_ack, 1);
    b.attempt(ACKED);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 2)));
}
