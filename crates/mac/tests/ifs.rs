//! The interframe space (IEEE 802.15.4-2015 §6.2.4).

use crate::bench;

use bench::*;
use redpoll_base::Duration;
use redpoll_mac::{Ifs, RadioResult, Service};
use redpoll_wire::ieee802154::Address;

/// Returns a MAC without a backoff, so that it waits only for the space.
fn spaced(ifs: Ifs) -> Bench {
    Bench::new(config().with(|it| {
        it.min_be = 0;
        it.max_be = 0;
        it.ifs = ifs;
    }))
}

fn send(b: &mut Bench, dst: Address, payload: usize, result: RadioResult) {
    b.mac.frame_mut(dst).expect("the MAC is idle")[..payload].fill(1);
    b.mac.submit(b.now, payload, Service::default());
    while b.poll() != LOAD {
        b.sleep();
    }
    b.done(RadioResult::Loaded);
    b.attempt(result);
    assert!(b.done_event().is_some());
}

/// Returns the time from the end of an exchange until the next frame is given to the radio, and the
/// time until the radio has the command to assess the channel and send it.
fn waits(b: &mut Bench) -> (u64, u64) {
    let end = b.now;
    b.mac.frame_mut(PEER).expect("the MAC is idle")[0] = 1;
    b.mac.submit(b.now, 1, Service::default());
    let us = |b: &Bench| b.now.since(end).as_micros();
    while b.poll() != LOAD {
        b.sleep();
    }
    let loading = us(b);
    b.done(RadioResult::Loaded);
    while b.poll() != TRANSMIT {
        b.sleep();
    }
    let sending = us(b);
    b.done(ACKED);
    assert!(b.done_event().is_some());
    (loading, sending)
}

#[test]
fn assessment_and_turnaround_count_towards_the_space() {
    let mut b = spaced(Ifs::Minimum);
    send(&mut b, PEER, 80, ACKED);
    assert_eq!(waits(&mut b), (0, 640 - 128 - 192));
}

#[test]
fn behind_a_short_frame_assessment_and_turnaround_are_space_enough() {
    // A short frame has up to 18 bytes: 9 of header, 7 of payload and 2 of FCS.
    let mut b = spaced(Ifs::Minimum);
    send(&mut b, PEER, 7, ACKED);
    assert_eq!(waits(&mut b), (0, 0));
    send(&mut b, PEER, 8, ACKED);
    assert_eq!(waits(&mut b), (0, 320));
}

#[test]
fn loading_and_csma_begin_behind_the_space_if_so_asked() {
    let mut b = spaced(Ifs::Sequential);
    send(&mut b, PEER, 80, ACKED);
    assert_eq!(waits(&mut b), (640, 640));
    send(&mut b, PEER, 7, ACKED);
    assert_eq!(waits(&mut b), (192, 192));
    send(&mut b, Address::BROADCAST, 80, RadioResult::Sent);
    assert_eq!(waits(&mut b), (640, 640));
}

#[test]
fn time_already_passed_counts_towards_the_interframe_space() {
    for ifs in [Ifs::Minimum, Ifs::Sequential] {
        let mut b = spaced(ifs);
        send(&mut b, PEER, 80, ACKED);
        b.now += Duration::from_micros(640);
        assert_eq!(waits(&mut b), (0, 0));
    }
}

#[test]
fn without_an_interframe_space_there_is_no_wait() {
    let mut b = spaced(Ifs::Off);
    send(&mut b, PEER, 80, ACKED);
    assert_eq!(waits(&mut b), (0, 0));
}
