//! Frames that follow one another: no backoff for whoever promised them, and
//! room from whoever they were promised to.

mod bench;

use bench::*;
use redpoll_base::Duration;
use redpoll_mac::{MacConfig, RadioResult, Service, TxStatus};
use redpoll_wire::ieee802154::{Address, set_frame_pending};

/// Backoffs of a unit at least would show.
fn slow() -> MacConfig {
    MacConfig {
        min_be: 8,
        max_be: 8,
        ..config()
    }
}

fn submit(b: &mut Bench, dst: Address, frame_pending: bool) {
    b.mac.frame_mut(dst).expect("idle")[0] = 7;
    let how = Service {
        frame_pending,
        ..Service::default()
    };
    b.mac.submit_as(b.now, 1, how);
    assert_eq!(b.poll(), LOAD);
    b.done(RadioResult::Loaded);
}

fn end(b: &mut Bench, result: RadioResult) {
    b.attempt(result);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
}

#[test]
fn the_frame_that_was_promised_goes_out_without_a_backoff() {
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

#[test]
fn whoever_was_promised_a_frame_holds_its_own_back() {
    let no_backoff = MacConfig {
        min_be: 0,
        max_be: 0,
        ..config()
    };
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
