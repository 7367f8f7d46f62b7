//! Frames that the previous frame announced: the sender's channel access, and the delay of the
//! receiver's own frames.

use crate::bench;

use bench::*;
use redpoll_base::Duration;
use redpoll_mac::{MacConfig, Promised, RadioResult, Service, TxStatus};
use redpoll_wire::ieee802154::{Address, set_frame_pending};

/// Returns settings with long backoffs, so that one before an announced frame would be noticed.
fn slow() -> MacConfig {
    config().with(|it| {
        it.min_be = 8;
        it.max_be = 8;
        it.promised = Promised::Burst;
    })
}

fn submit(b: &mut Bench, dst: Address, frame_pending: bool) {
    b.mac.frame_mut(dst).expect("the MAC is idle")[0] = 7;
    let how = Service {
        frame_pending,
        ..Service::default()
    };
    b.mac.submit(b.now, 1, how);
    assert_eq!(b.poll(), LOAD);
    b.done(RadioResult::Loaded);
}

fn end(b: &mut Bench, result: RadioResult) {
    b.attempt(result);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
}

#[test]
fn the_second_frame_of_a_burst_has_no_backoff() {
    let mut b = Bench::new(slow());
    submit(&mut b, PEER, true);
    assert_eq!(b.poll(), None, "the first has one");
    end(&mut b, ACKED);
    submit(&mut b, PEER, true);
    assert_eq!(b.poll(), TRANSMIT, "with an assessment all the same");
    b.done(ACKED);
    assert!(b.done_event().is_some());
    submit(&mut b, PEER, false);
    assert_eq!(b.poll(), TRANSMIT);
    b.done(ACKED);
    assert!(b.done_event().is_some());
    submit(&mut b, PEER, false);
    assert_eq!(b.poll(), None, "nothing was promised");
}

#[test]
fn a_burst_ends_with_another_addressee_or_a_failure() {
    let mut b = Bench::new(slow());
    submit(&mut b, PEER, true);
    end(&mut b, ACKED);
    submit(&mut b, Address::Short(3), true);
    assert_eq!(b.poll(), None, "promised to somebody else");
    end(&mut b, ACKED);
    for failure in [RadioResult::NoAck, RadioResult::ChannelBusy] {
        submit(&mut b, Address::Short(3), true);
        assert_eq!(b.poll(), TRANSMIT);
        b.done(failure);
        assert_eq!(b.poll(), None, "the next attempt has a backoff");
        b.attempt(ACKED);
        assert!(b.done_event().is_some());
    }
}

fn longest_backoff(promised: Promised, continues: bool) -> u64 {
    let config = config().with(|it| {
        it.promised = promised;
        it.ifs = redpoll_mac::Ifs::Off;
    });
    let mut b = Bench::new(config);
    let mut longest = 0;
    for _ in 0..200 {
        submit(&mut b, PEER, true);
        end(&mut b, ACKED);
        submit(
            &mut b,
            if continues { PEER } else { Address::Short(3) },
            true,
        );
        let begun = b.now;
        while b.poll() != Some(redpoll_mac::RadioWork::Transmit { cca: true }) {
            b.sleep();
        }
        longest = longest.max(b.now.since(begun).as_micros() / 320);
        b.done(ACKED);
        assert!(b.done_event().is_some());
        submit(&mut b, Address::Short(4), false);
        end(&mut b, ACKED);
    }
    longest
}

/// IEEE 802.15.4-2015 §6.2.5.1: a backoff has at most 2^BE - 1 units, BE = macMinBE = 3.
#[test]
fn the_standards_backoff_is_every_frames_own() {
    assert_eq!(longest_backoff(Promised::Csma, true), 7);
    assert_eq!(longest_backoff(Promised::Csma, false), 7);
    assert_eq!(longest_backoff(Promised::ByQueue, true), 3);
    assert_eq!(longest_backoff(Promised::ByQueue, false), 15);
}

#[test]
fn a_frame_with_the_pending_bit_delays_the_receiver_s_own_frame() {
    let no_backoff = config().with(|it| {
        it.min_be = 0;
        it.max_be = 0;
    });
    let mut b = Bench::new(no_backoff);
    let mut first = data(PEER, ME, 1, b"x");
    set_frame_pending(&mut first);
    assert!(b.hear(&first).is_some());
    submit(&mut b, PEER, false);
    assert_eq!(b.poll(), None);
    assert_eq!(b.sleep(), Duration::from_millis(8));
    assert_eq!(b.poll(), TRANSMIT, "it has not come");
    b.done(ACKED);
    assert!(b.done_event().is_some());

    first[2] = 2;
    assert!(b.hear(&first).is_some());
    assert!(b.hear(&data(PEER, ME, 3, b"y")).is_some(), "it has come");
    submit(&mut b, PEER, false);
    assert_eq!(b.poll(), TRANSMIT);
}

#[test]
fn a_delayed_frame_does_not_wait_for_a_second_neighbour() {
    let no_backoff = config().with(|it| {
        it.min_be = 0;
        it.max_be = 0;
    });
    let other = Address::Short(3);
    let promise = |src, dsn| {
        let mut frame = data(src, ME, dsn, b"x");
        set_frame_pending(&mut frame);
        frame
    };
    let mut b = Bench::new(no_backoff);
    assert!(b.hear(&promise(PEER, 1)).is_some());
    submit(&mut b, Address::Short(4), true);
    assert_eq!(b.poll(), None, "held back for one");
    assert!(b.hear(&promise(other, 1)).is_some());
    assert!(b.hear(&data(PEER, ME, 2, b"y")).is_some());
    b.sleep();
    assert_eq!(b.poll(), TRANSMIT, "not for the other, too");
    b.done(ACKED);
    assert!(b.done_event().is_some());

    assert!(b.hear(&promise(other, 2)).is_some());
    submit(&mut b, Address::Short(4), false);
    b.pass(640);
    while b.poll() != TRANSMIT {
        assert!(
            b.sleep() <= Duration::from_micros(640),
            "it belongs to the first"
        );
    }
    b.done(ACKED);
    assert!(b.done_event().is_some());

    assert!(b.hear(&promise(PEER, 3)).is_some());
    submit(&mut b, Address::Short(4), false);
    assert_eq!(b.poll(), None, "now it is others' turn");
}
