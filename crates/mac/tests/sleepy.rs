//! Data requests, the frame-pending bit, sleep, and preempted frames.

use crate::bench;

use bench::*;
use redpoll_base::Duration;
use redpoll_mac::{
    MacEvent, PENDING_MAX, RadioCaps, RadioIdentity, RadioResult, RadioWork, Rest, RxInfo, Service,
    TxStatus,
};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, DATA_REQUEST, FrameHeader, FrameType, imm_ack};

const LOADED: RadioResult = RadioResult::Loaded;

fn command(dsn: u8, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        frame_type: FrameType::Command,
        security: false,
        frame_pending: false,
        ack_request: true,
        version: 1,
        dsn,
        dst_pan: Some(PAN),
        dst: ME,
        src_pan: Some(PAN),
        src: PEER,
    };
    let mut bytes = [0; 127];
    let mut cursor = Cursor::new(&mut bytes);
    header.emit(&mut cursor).unwrap();
    cursor.put(payload).unwrap();
    let len = cursor.position();
    bytes[..len].to_vec()
}

fn asked(promised: bool) -> Option<MacEvent> {
    let child = PEER;
    Some(MacEvent::DataRequest { child, promised })
}

#[test]
fn a_data_request_asks_for_an_ack_and_ends_with_its_pending_bit() {
    let mut b = Bench::new(config());
    assert!(b.mac.request_data(b.now, PEER));
    assert!(!b.mac.request_data(b.now, PEER), "one at a time");
    b.attempt(RadioResult::Acked {
        frame_pending: true,
    });
    let (header, payload) = FrameHeader::parse(&b.buffer).unwrap();
    assert_eq!(header.frame_type, FrameType::Command);
    assert!(header.ack_request);
    assert_eq!(payload, [DATA_REQUEST]);
    let polled = |status, frame_pending| {
        let parent = PEER;
        Some(MacEvent::Polled {
            parent,
            status,
            frame_pending,
        })
    };
    assert_eq!(b.mac.poll_event(), polled(TxStatus::Delivered, true));
    // After a data request, the next submitted frame is a data frame.
    b.submit(PEER, b"x");
    b.attempt(ACKED);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
    let (header, _) = FrameHeader::parse(&b.buffer).unwrap();
    assert_eq!(header.frame_type, FrameType::Data);

    assert!(b.mac.request_data(b.now, PEER));
    for _ in 0..5 {
        b.attempt(RadioResult::NoAck);
    }
    assert_eq!(b.mac.poll_event(), polled(TxStatus::NoAck, false));
}

#[test]
fn the_ack_of_a_data_request_says_whether_something_waits() {
    let mut b = Bench::new(bare());
    let acked = |b: &mut Bench, frame: &[u8], pending| {
        assert_eq!(b.hear(frame), None);
        assert_eq!(b.poll(), LOAD);
        assert_eq!(*b.buffer, imm_ack(frame[2], pending));
        b.done(LOADED);
        assert_eq!(b.poll(), TRANSMIT_AT_ONCE);
        b.done(RadioResult::Sent);
    };
    acked(&mut b, &command(1, &[DATA_REQUEST]), false);
    assert_eq!(b.mac.poll_event(), asked(false));
    assert!(b.mac.set_pending(2, true));
    acked(&mut b, &command(2, &[DATA_REQUEST]), true);
    assert_eq!(b.mac.poll_event(), asked(true));
    // The Imm-ACK of another command does not announce a waiting frame.
    acked(&mut b, &command(3, &[0x01]), false);
    assert_eq!(b.mac.poll_event(), None);
    assert_eq!(b.mac.counters().rx_unsupported_type, 1);
    assert!(b.mac.set_pending(2, false));
    acked(&mut b, &command(4, &[DATA_REQUEST]), false);
    assert_eq!(b.mac.counters().rx_data_requests, 3);
}

#[test]
fn the_source_match_table_follows_the_waiting_frames() {
    let mut b = Bench::new(config().with(|it| {
        it.caps = RadioCaps {
            auto_ack: true,
            source_match: true,
            ..BARE
        }
    }));
    let told = |pending| {
        Some(RadioWork::SourceMatch {
            neighbour: 2,
            pending,
        })
    };
    assert!(b.mac.set_pending(2, true));
    assert_eq!((b.poll(), b.poll()), (told(true), None));
    // The event repeats the pending bit of the radio's report: the radio has sent the Imm-ACK.
    let info = RxInfo {
        ack_sent_pending: true,
        ..RxInfo::default()
    };
    let request = command(1, &[DATA_REQUEST]);
    assert_eq!(b.mac.input_frame(b.now, &request, &info), None);
    assert_eq!(b.mac.poll_event(), asked(true));
    assert!(b.mac.set_pending(2, false));
    assert_eq!((b.poll(), b.poll()), (told(false), None));
    for neighbour in 10..10 + PENDING_MAX as u16 {
        assert!(b.mac.set_pending(neighbour, true));
    }
    assert!(!b.mac.set_pending(2, true));
}

#[test]
fn a_sleepy_mac_listens_only_for_acknowledgements() {
    let mut b = Bench::new(config());
    b.mac.set_rest(Rest::Sleep);
    assert_eq!((b.poll(), b.poll()), (Some(RadioWork::Sleep), None));
    b.submit(PEER, b"x");
    assert_eq!(b.poll(), LOAD);
    b.done(LOADED);
    while b.mac.poll_at().is_none() {
        // The backoff is zero.
        assert_eq!(b.poll(), TRANSMIT);
        b.done(RadioResult::ChannelBusy);
    }
    assert_eq!((b.poll(), b.poll()), (Some(RadioWork::Doze), None));
    b.sleep();
    assert_eq!(b.poll(), TRANSMIT);
    b.done(ACKED);
    assert_eq!(b.poll(), Some(RadioWork::Sleep));
    b.mac.set_rest(Rest::Listen);
    assert_eq!((b.poll(), b.poll()), (Some(RadioWork::Listen), None));
}

#[test]
fn a_sleepy_mac_stops_listening_before_it_loads() {
    let mut b = Bench::new(config());
    b.mac.set_rest(Rest::Sleep);
    assert_eq!(b.poll(), Some(RadioWork::Sleep));
    b.mac.set_rest(Rest::Listen);
    assert_eq!(b.poll(), Some(RadioWork::Listen));
    b.mac.set_rest(Rest::Sleep);
    b.submit(PEER, b"x");
    assert_eq!((b.poll(), b.poll()), (Some(RadioWork::Doze), LOAD));
}

/// Runs an attempt of a MAC that sleeps between its steps.
fn attempt_at_rest(b: &mut Bench, result: RadioResult) {
    loop {
        match b.poll() {
            Some(RadioWork::Load) => b.done(LOADED),
            Some(RadioWork::Transmit { .. }) => return b.done(result),
            Some(_) => {}
            None => drop(b.sleep()),
        }
    }
}

#[test]
fn a_sleepy_mac_sleeps_before_a_repetition_that_is_not_near() {
    let mut b = Bench::new(config());
    b.mac.set_rest(Rest::Sleep);
    b.poll();
    let mut slept = 0;
    for _ in 0..20 {
        b.submit(PEER, b"x");
        attempt_at_rest(&mut b, RadioResult::NoAck);
        let told = b.poll();
        let delay = b.sleep();
        if delay >= Duration::from_millis(10) {
            slept += 1;
            assert!(told.is_none_or(|told| told == RadioWork::Sleep));
            assert_eq!(b.poll(), LOAD, "the radio has lost the frame");
            b.done(LOADED);
        } else {
            assert!(told.is_none_or(|told| told == RadioWork::Doze));
        }
        attempt_at_rest(&mut b, ACKED);
        assert!(b.done_event().is_some());
        b.poll();
    }
    assert!((10..20).contains(&slept), "{slept} of 20 slept");
}

#[test]
fn deaf_listening_is_a_switch() {
    for deaf_backoff in [false, true] {
        let mut b = Bench::new(config().with(|it| {
            it.deaf_backoff = deaf_backoff;
            it.min_be = 8;
            it.max_be = 8;
        }));
        b.submit(PEER, b"x");
        assert_eq!(b.poll(), LOAD);
        b.done(LOADED);
        let doze = deaf_backoff.then_some(RadioWork::Doze);
        assert_eq!(b.poll(), doze);
        b.sleep();
        assert_eq!(b.poll(), TRANSMIT);
        b.done(RadioResult::NoAck);
        let listen = deaf_backoff.then_some(RadioWork::Listen);
        assert_eq!(b.poll(), listen, "the retry delay is not CSMA's");
    }
}

#[test]
fn a_preempted_frame_continues_with_its_retries() {
    let mut b = Bench::new(config().with(|it| {
        it.max_frame_retries = 3;
        it.link_retry_delay = Duration::from_millis(40);
    }));
    b.submit(PEER, b"first");
    assert_eq!(b.mac.preempt(b.now), None, "not loaded yet");
    b.attempt(RadioResult::NoAck);
    b.attempt(RadioResult::NoAck);
    let bytes = b.buffer.to_vec();
    let ticket = b.mac.preempt(b.now).expect("a retry delay");
    assert_eq!(b.done_event(), None);

    let room = b.mac.frame_mut(PEER).expect("the MAC is idle again");
    room[0] = b'y';
    let urgent = Service {
        frame_pending: true,
        quick: true,
        repeats: None,
    };
    b.mac.submit(b.now, 1, urgent);
    b.attempt(ACKED);
    let (header, _) = FrameHeader::parse(&b.buffer).unwrap();
    assert!(header.frame_pending);
    assert_ne!(header.dsn, bytes[2]);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));

    b.mac.frame_mut(PEER).unwrap()[..5].copy_from_slice(b"first");
    let again = Service {
        repeats: Some(ticket),
        ..Service::default()
    };
    b.mac.submit(b.now, 5, again);
    b.attempt(RadioResult::NoAck);
    assert_eq!(*b.buffer, bytes, "the same frame");
    b.attempt(RadioResult::NoAck);
    assert_eq!(b.done_event(), Some((TxStatus::NoAck, 4)));
    assert_eq!(b.mac.counters().preempted, 1);
}

/// A packet that waits for a sleepy child keeps the ticket of its frame as a number.
#[test]
fn a_ticket_that_was_kept_as_a_number_names_the_same_frame() {
    let mut b = Bench::new(config().with(|it| it.max_frame_retries = 3));
    b.submit(PEER, b"first");
    b.attempt(RadioResult::NoAck);
    b.attempt(RadioResult::NoAck);
    let bytes = b.buffer.to_vec();
    let ticket = b.mac.preempt(b.now).expect("a retry delay");
    let number = u16::from(ticket);
    assert_eq!(number.to_be_bytes(), [bytes[2], 2]);
    let resubmit = |b: &mut Bench, repeats| {
        b.mac.frame_mut(PEER).unwrap()[..5].copy_from_slice(b"first");
        let how = Service {
            repeats: Some(repeats),
            ..Service::default()
        };
        b.mac.submit(b.now, 5, how);
    };
    resubmit(&mut b, number.into());
    b.attempt(RadioResult::NoAck);
    b.attempt(RadioResult::NoAck);
    assert_eq!(*b.buffer, bytes);
    assert_eq!(b.done_event(), Some((TxStatus::NoAck, 4)));
    // After the last attempt, the frame can be submitted again with a new count of attempts.
    let last = b.mac.last_ticket();
    resubmit(&mut b, last);
    b.attempt(ACKED);
    assert_eq!(*b.buffer, bytes);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
}

#[test]
fn a_request_needs_a_parent_with_an_address() {
    let mut b = Bench::new(config());
    assert!(!b.mac.request_data(b.now, Address::Absent));
    assert_eq!(b.mac.counters().data_requests, 0);
    // The next frame is a data frame.
    b.submit(PEER, b"x");
    b.attempt(ACKED);
    let (header, _) = FrameHeader::parse(&b.buffer).unwrap();
    assert_eq!(header.frame_type, FrameType::Data);
}

/// IEEE 802.15.4-2015 §7.5.5: a data request goes to one coordinator, from a device with an address.
#[test]
fn requests_without_an_addressee_or_a_requester_are_malformed() {
    let mut b = Bench::new(bare());
    let request = |src: u16, dst: Address| {
        let mut frame = data(Address::Short(src), dst, 1, &[DATA_REQUEST]);
        frame[0] |= 0x03;
        frame
    };
    for frame in [
        request(2, Address::BROADCAST),
        request(0xfffe, ME),
        request(0xffff, ME),
    ] {
        assert_eq!(b.hear(&frame), None);
        assert_eq!(b.mac.poll_event(), None);
        assert_eq!(b.poll(), None, "no acknowledgment");
    }
    assert_eq!(b.mac.counters().rx_malformed, 3);
    assert_eq!(b.hear(&request(0xfffd, ME)), None);
    assert!(b.mac.poll_event().is_some());
}

#[test]
fn a_radio_gets_the_addresses_of_its_mac() {
    let config = config();
    let identity = RadioIdentity::from(&config);
    assert_eq!(identity.pan_id, PAN);
    assert_eq!(identity.short, 1);
    assert_eq!(identity.extended, [2, 0, 0, 0, 0, 0, 0, 1]);
}
