//! An access method with a cycle, whose decisions the test writes: the MAC carries out each decision
//! and reports each event to the cycle.

mod script;

use crate::bench;

use bench::{ME, PAN, PEER, data};
use redpoll_base::{Duration, Instant};
use redpoll_mac::{
    Cargo, Channel, CycleEvent, CycleProperties, Errand, MacEvent, Move, RadioResult, RadioWork,
    Service, TxStatus,
};
use redpoll_wire::ieee802154::{Address, FrameHeader};
use script::*;

#[test]
fn without_answers_a_frame_is_sent_once() {
    let mut node = Node::new();
    assert_eq!(node.mac.payload_capacity(PEER), 115);
    node.submit(b"x");
    assert_eq!(node.load(), TRANSMIT);
    assert_eq!(node.loaded[9..], [HEADER, b'x']);
    node.done(ACKED);
    assert_eq!(node.outcome(), Some((TxStatus::Delivered, 1)));
    assert_eq!(
        node.heard(),
        [SUBMITTED, READY, CycleEvent::Acked(TO_PEER), ENDED]
    );
    let counters = node.mac.counters();
    assert_eq!((counters.frames_sent, counters.acks_received), (1, 1));
    // The radio has dozed all the time, so it gets no other order.
    assert_eq!(node.poll(), None);
}

#[test]
fn the_cycle_delays_the_first_attempt() {
    let mut node = Node::new();
    let at = node.in_ms(70);
    node.answer(Kind::Submitted, Move::Wait(at));
    node.submit(b"x");
    assert_eq!(node.poll(), LOAD);
    node.done(LOADED);
    node.sleep_until(at);
    assert_eq!(node.poll(), TRANSMIT);
}

#[test]
fn a_frame_that_waits_without_cargo_is_loaded_after_the_wait() {
    let mut node = Node::new();
    node.demand(|it| it.cargo = Cargo::Nothing);
    let at = node.in_ms(70);
    node.answer(Kind::Submitted, Move::Wait(at));
    node.submit(b"x");
    assert_eq!(node.poll(), None);
    node.sleep_until(at);
    node.demand(|it| it.cargo = Cargo::Frame);
    assert_eq!(node.load(), TRANSMIT);
}

#[test]
fn each_wait_of_a_ready_frame_ends_in_the_next_question() {
    let mut node = Node::new();
    let (first, second) = (node.in_ms(5), node.in_ms(9));
    node.answer(Kind::Ready, Move::Wait(first));
    node.answer(Kind::Ready, Move::Await(second));
    node.answer(Kind::Ready, Move::Send { cca: false });
    node.submit(b"x");
    assert_eq!(node.load(), None);
    node.sleep_until(first);
    assert_eq!(node.poll(), None);
    node.sleep_until(second);
    assert_eq!(node.poll(), Some(RadioWork::Transmit { cca: false }));
    assert_eq!(node.heard(), [SUBMITTED, READY, READY, READY]);
}

#[test]
fn the_frame_follows_an_assessment_if_the_cycle_waits_and_otherwise_fails() {
    for (result, sensed, faults) in [
        (assessed(Channel::Receiving), Channel::Receiving, 0),
        (assessed(Channel::Busy), Channel::Busy, 0),
        // Results of other jobs.
        (answered(9), Channel::Clear, 1),
        (SENT, Channel::Clear, 1),
    ] {
        for continues in [true, false] {
            let mut node = Node::new();
            let at = node.in_ms(3);
            node.answer(Kind::Ready, Move::Assess(Job::Sense));
            match continues {
                true => node.answer(Kind::Sensed, Move::Wait(at)),
                false => node.answer(Kind::Failed, Move::Done),
            }
            node.submit(b"x");
            assert_eq!(node.load(), Some(RadioWork::Cycled(Job::Sense)));
            node.done(result);
            let sensed = CycleEvent::Sensed(sensed);
            assert_eq!(node.heard()[..3], [SUBMITTED, READY, sensed]);
            let counters = *node.mac.counters();
            assert_eq!(counters.radio_faults, faults);
            assert_eq!(counters.channel_busy, u32::from(!continues));
            if continues {
                assert_eq!(node.outcome(), None);
                node.sleep_until(at);
                assert_eq!(node.poll(), TRANSMIT);
            } else {
                let failed = (TxStatus::ChannelAccessFailure, 1);
                assert_eq!(node.outcome(), Some(failed));
            }
        }
    }
}

#[test]
fn a_frame_is_repeated_until_a_copy_is_acknowledged() {
    let mut node = Node::new();
    node.answer(Kind::Ready, Move::Repeat(Job::Repeat));
    node.submit(b"x");
    assert_eq!(node.load(), Some(RadioWork::Cycled(Job::Repeat)));
    node.done(answered(1_500));
    assert_eq!(node.outcome(), Some((TxStatus::Delivered, 1)));
    let answered = CycleEvent::Answered {
        target: TO_PEER,
        begun_ago: Duration::from_micros(1_500),
    };
    assert_eq!(node.heard(), [SUBMITTED, READY, answered, ENDED]);
    assert_eq!(node.mac.counters().acks_received, 1);
}

/// Without an answer to `Failed`, the retries of the MAC's configuration apply: here one.
#[test]
fn the_mac_retries_if_the_cycle_does_not_decide() {
    let mut node = Node::new();
    node.submit(b"x");
    assert_eq!(node.load(), TRANSMIT);
    node.done(NO_ACK);
    let failed = |transmissions| CycleEvent::Failed { transmissions };
    assert_eq!(node.heard(), [SUBMITTED, READY, SILENCE, failed(1)]);
    // The radio still contains the frame.
    assert_eq!(node.poll(), TRANSMIT);
    node.done(NO_ACK);
    assert_eq!(node.outcome(), Some((TxStatus::NoAck, 2)));
    assert_eq!(node.heard(), [READY, SILENCE, failed(2), ENDED]);
    let counters = node.mac.counters();
    assert_eq!((counters.no_ack, counters.frame_retries), (2, 1));
    assert_eq!(counters.dropped_no_ack, 1);
}

#[test]
fn the_cycle_retries_more_often_than_the_mac_would() {
    let mut node = Node::new();
    node.submit(b"x");
    assert_eq!(node.load(), TRANSMIT);
    let failed = |transmissions| CycleEvent::Failed { transmissions };
    for attempt in 1..=4 {
        let at = node.in_ms(50);
        node.answer(Kind::Failed, Move::Wait(at));
        node.done(NO_ACK);
        assert_eq!(node.heard().last(), Some(&failed(attempt)));
        node.sleep_until(at);
        assert_eq!(node.poll(), TRANSMIT);
    }
    node.answer(Kind::Failed, Move::Silence);
    node.done(NO_ACK);
    assert_eq!(node.outcome(), Some((TxStatus::NoAck, 5)));
    assert_eq!(node.mac.counters().frame_retries, 4);
}

/// Attempts on a busy channel are not transmissions, so they do not use up the attempts.
#[test]
fn attempts_on_a_busy_channel_do_not_count() {
    let mut node = Node::new();
    node.submit(b"x");
    assert_eq!(node.poll(), LOAD);
    node.done(LOADED);
    for _ in 0..3 {
        let at = node.in_ms(50);
        node.answer(Kind::Ready, Move::Collision);
        node.answer(Kind::Failed, Move::Wait(at));
        assert_eq!(node.poll(), None);
        let failed = CycleEvent::Failed { transmissions: 0 };
        assert_eq!(node.heard().last(), Some(&failed));
        node.sleep_until(at);
    }
    assert_eq!(node.poll(), TRANSMIT);
    node.done(ACKED);
    assert_eq!(node.outcome(), Some((TxStatus::Delivered, 1)));
    let counters = node.mac.counters();
    assert_eq!((counters.channel_busy, counters.frames_sent), (3, 1));
}

#[test]
fn the_cycle_ends_an_attempt_without_a_transmission() {
    let mut node = Node::new();
    node.answer(Kind::Ready, Move::Silence);
    node.answer(Kind::Failed, Move::Done);
    node.submit(b"x");
    assert_eq!(node.load(), None);
    assert_eq!(node.outcome(), Some((TxStatus::NoAck, 1)));
    assert_eq!(node.mac.counters().frames_sent, 0);

    node.answer(Kind::Ready, Move::Done);
    node.submit(b"x");
    assert_eq!(node.load(), None);
    assert_eq!(node.outcome(), Some((TxStatus::Delivered, 1)));
    assert_eq!(node.mac.counters().frames_sent, 0);
}

#[test]
fn a_busy_channel_ends_the_attempt_unless_the_cycle_continues() {
    let status = |answer: Option<Move<Job>>| {
        let mut node = Node::new();
        node.submit(b"x");
        assert_eq!(node.load(), TRANSMIT);
        if let Some(answer) = answer {
            node.answer(Kind::Blocked, answer);
        }
        let continues = matches!(answer, Some(Move::Wait(_)));
        if !continues {
            node.answer(Kind::Failed, Move::Done);
        }
        node.done(CHANNEL_BUSY);
        let failed = |event: &CycleEvent<'_>| matches!(event, CycleEvent::Failed { .. });
        assert_eq!(node.heard().iter().any(failed), !continues);
        assert_eq!(node.mac.counters().frames_sent, 0);
        assert_eq!(node.poll(), if continues { TRANSMIT } else { None });
        node.outcome()
    };
    let busy = TxStatus::ChannelAccessFailure;
    assert_eq!(status(None), Some((busy, 1)));
    assert_eq!(status(Some(Move::Collision)), Some((busy, 1)));
    assert_eq!(status(Some(Move::Silence)), Some((TxStatus::NoAck, 1)));
    assert_eq!(status(Some(Move::Wait(Instant::ZERO))), None);
}

#[test]
fn a_frame_without_acknowledgment_is_sent_as_often_as_the_cycle_wants() {
    let mut node = Node::with(CycleProperties {
        asks_for_acks: false,
        ..PROPERTIES
    });
    node.answer(Kind::Sent, Move::Wait(Instant::ZERO));
    node.answer(Kind::Sent, Move::Wait(Instant::ZERO));
    node.submit(b"x");
    assert_eq!(node.load(), TRANSMIT);
    assert!(!FrameHeader::parse(&node.loaded).unwrap().0.ack_request);
    for _ in 0..2 {
        node.done(SENT);
        assert_eq!(node.poll(), TRANSMIT);
    }
    node.done(SENT);
    assert_eq!(node.outcome(), Some((TxStatus::Delivered, 1)));
    assert_eq!(node.mac.counters().frames_sent, 3);
}

#[test]
fn results_that_do_not_fit_a_transmission_are_faults() {
    for result in [LOADED, assessed(Channel::Clear)] {
        let mut node = Node::new();
        node.answer(Kind::Failed, Move::Done);
        node.submit(b"x");
        assert_eq!(node.load(), TRANSMIT);
        node.done(result);
        assert_eq!(node.outcome(), Some((TxStatus::NoAck, 1)), "{result:?}");
        assert_eq!(node.mac.counters().radio_faults, 1);
    }
}

#[test]
fn an_answered_strobe_is_followed_by_the_frame() {
    let mut node = Node::new();
    node.demand(|it| it.cargo = Cargo::Short);
    node.answer(Kind::Ready, Move::Repeat(Job::Repeat));
    node.submit(b"x");
    assert_eq!(node.load(), Some(RadioWork::Cycled(Job::Repeat)));
    let (header, content) = FrameHeader::parse(&node.loaded).unwrap();
    assert_eq!((header.src, header.dst), (ME, PEER));
    assert!(header.ack_request);
    assert_eq!(content, [STROBE, 7]);
    node.done(answered(900));
    assert_eq!(
        node.heard().last(),
        Some(&CycleEvent::StrobeAnswered(TO_PEER))
    );
    node.demand(|it| it.cargo = Cargo::Frame);
    assert_eq!(node.load(), TRANSMIT);
    assert_eq!(node.loaded[9..], [HEADER, b'x']);
    node.done(ACKED);
    assert_eq!(node.outcome(), Some((TxStatus::Delivered, 1)));
    assert_eq!(node.mac.counters().frames_sent, 1, "strobes do not count");
}

#[test]
fn a_strobe_without_answer_fails_like_a_frame() {
    for (result, status, transmissions) in [
        (NO_ACK, TxStatus::NoAck, 1),
        (SENT, TxStatus::NoAck, 1),
        (assessed(Channel::Clear), TxStatus::NoAck, 1),
        (CHANNEL_BUSY, TxStatus::ChannelAccessFailure, 0),
    ] {
        let mut node = Node::new();
        node.demand(|it| it.cargo = Cargo::Short);
        node.answer(Kind::Ready, Move::Repeat(Job::Repeat));
        node.answer(Kind::Failed, Move::Done);
        node.submit(b"x");
        assert_eq!(node.load(), Some(RadioWork::Cycled(Job::Repeat)));
        node.done(result);
        assert_eq!(node.outcome(), Some((status, 1)), "{result:?}");
        let heard = node.heard();
        assert!(heard.contains(&CycleEvent::Failed { transmissions }));
        let blocked = heard.contains(&CycleEvent::Blocked);
        assert_eq!(blocked, result == CHANNEL_BUSY);
    }
}

#[test]
fn the_receivers_cycle_assesses_the_channel_between_frames() {
    let mut node = Node::new();
    let at = node.in_ms(125);
    node.demand(|it| it.next = Some(at));
    node.sleep_until(at);
    for (result, found, faults) in [
        (assessed(Channel::Busy), Channel::Busy, 0),
        (assessed(Channel::Receiving), Channel::Receiving, 0),
        (SENT, Channel::Clear, 1),
    ] {
        node.errand(Errand::Assess(Job::Sniff));
        assert_eq!(node.poll(), Some(RadioWork::Cycled(Job::Sniff)));
        assert_eq!(node.mac.poll_at(), None, "the radio is not free");
        node.done(result);
        assert_eq!(node.heard(), [CycleEvent::Assessed(found)]);
        assert_eq!(node.mac.counters().radio_faults, faults);
    }
    // Then the receiver stays on for the announced frame.
    node.demand(|it| it.listens = true);
    assert_eq!(node.poll(), Some(RadioWork::Listen));
    node.demand(|it| it.listens = false);
    assert_eq!(node.poll(), Some(RadioWork::Doze));
}

#[test]
fn the_receivers_cycle_waits_while_a_frame_occupies_the_channel() {
    let mut node = Node::new();
    let at = node.in_ms(5);
    node.answer(Kind::Submitted, Move::Wait(at));
    node.submit(b"x");
    assert_eq!(node.poll(), LOAD);
    node.done(LOADED);
    node.errand(Errand::Assess(Job::Sniff));
    let next = node.in_ms(2);
    node.demand(|it| (it.has_channel, it.next) = (true, Some(next)));
    assert_eq!(node.poll(), None);
    assert_eq!(node.mac.poll_at().map(|wake| wake.at), Some(at));
    node.demand(|it| it.has_channel = false);
    assert_eq!(node.mac.poll_at().map(|wake| wake.at), Some(next));
    assert_eq!(node.poll(), Some(RadioWork::Cycled(Job::Sniff)));
}

#[test]
fn a_probe_is_loaded_once_and_sent_to_all() {
    let mut node = Node::new();
    node.errand(Errand::Probe);
    assert_eq!(node.load(), TRANSMIT);
    let (header, content) = FrameHeader::parse(&node.loaded).unwrap();
    assert_eq!((header.src, header.dst), (ME, Address::BROADCAST));
    assert!(!header.ack_request);
    assert_eq!(content, [STROBE, 7]);
    node.done(SENT);
    assert_eq!(node.heard(), [CycleEvent::Probed]);
    // The radio still contains the probe.
    node.errand(Errand::Probe);
    assert_eq!(node.poll(), TRANSMIT);
    node.done(CHANNEL_BUSY);
    assert_eq!(node.heard(), [CycleEvent::Probed]);
    assert_eq!(node.mac.counters().channel_busy, 0);
}

#[test]
fn a_frame_that_waits_for_a_probe_listens_until_it_arrives() {
    let mut node = Node::new();
    let at = node.in_ms(500);
    node.answer(Kind::Ready, Move::Await(at));
    node.submit(b"x");
    assert_eq!(node.load(), None);
    node.demand(|it| it.awaits_probe = true);
    assert_eq!(node.poll(), Some(RadioWork::Listen));
    node.heard();
    // The cycle does not want the first probe.
    let probe = |dsn| data(PEER, Address::BROADCAST, dsn, &[PROBE]);
    assert_eq!(node.hear(&probe(1)), None);
    assert_eq!(node.poll(), None);
    node.answer(Kind::Probe, Move::Send { cca: true });
    assert_eq!(node.hear(&probe(2)), None);
    let event = CycleEvent::Probe {
        src: PEER,
        target: TO_PEER,
    };
    assert_eq!(node.heard(), [event, event]);
    assert_eq!(node.poll(), TRANSMIT);
    // A probe during the transmission has no effect.
    assert_eq!(node.hear(&probe(3)), None);
    assert_eq!(node.heard(), [READY]);
}

#[test]
fn frames_are_unwrapped_and_strobes_are_not_delivered() {
    let mut node = Node::new();
    let mut frame = data(PEER, ME, 1, &[HEADER, b'x']);
    assert_eq!(node.hear(&frame), Some(b"x".to_vec()));
    assert_eq!(node.heard(), [CycleEvent::Frame { more: false }]);
    frame[0] |= 0x10;
    frame[2] = 2;
    assert_eq!(node.hear(&frame), Some(b"x".to_vec()));
    assert_eq!(node.heard(), [CycleEvent::Frame { more: true }]);
    assert_eq!(node.hear(&data(PEER, ME, 3, &[STROBE])), None);
    assert_eq!(node.heard(), [CycleEvent::Strobe]);
    assert_eq!(node.hear(&data(PEER, ME, 4, &[PROBE])), None);
    assert_eq!(node.hear(&data(PEER, ME, 5, b"of another method")), None);
    assert_eq!(node.heard(), []);
    let counters = node.mac.counters();
    assert_eq!((counters.rx_frames, counters.rx_malformed), (2, 1));
}

#[test]
fn copies_of_a_broadcast_are_dropped_if_the_method_repeats_all_frames() {
    for repeats_all in [true, false] {
        let mut node = Node::with(CycleProperties {
            repeats_all,
            ..PROPERTIES
        });
        let frame = data(PEER, Address::BROADCAST, 1, &[HEADER, b'x']);
        assert!(node.hear(&frame).is_some());
        assert_eq!(node.hear(&frame).is_none(), repeats_all);
        assert_eq!(node.mac.counters().rx_duplicates, u32::from(repeats_all));
    }
}

#[test]
fn frames_for_others_are_overheard() {
    let mut node = Node::new();
    let now = node.now;
    let mut frame = data(PEER, Address::Short(9), 1, b"x");
    assert_eq!(node.mac.on_overheard(now, &frame), Some(&b"x"[..]));
    // The cycle hears of a secured frame, whose payload is not returned.
    frame[0] |= 0x08;
    assert_eq!(node.mac.on_overheard(now, &frame), None);
    assert_eq!(node.script.borrow().overheard, [b"x", b"x"]);
    let mut command = data(PEER, Address::Short(9), 1, b"x");
    command[0] |= 0x03;
    for frame in [&data(PEER, ME, 1, b"x"), &command, &vec![0x41]] {
        assert_eq!(node.mac.on_overheard(now, frame), None);
    }
    assert_eq!(node.script.borrow().overheard.len(), 2);
}

/// A child that has just polled listens, so its frame is sent by CSMA-CA and not repeated.
#[test]
fn a_frame_for_a_polling_child_passes_the_cycle_by() {
    let mut node = Node::new();
    let quick = Service {
        quick: true,
        ..Service::default()
    };
    node.submit_as(b"x", quick);
    assert_eq!(node.poll(), LOAD);
    assert_eq!(node.loaded[9..], [HEADER, b'x']);
    node.done(LOADED);
    let mut work = node.poll();
    while work.is_none() {
        node.now = node.mac.poll_at().unwrap().at;
        node.mac.on_timeout(node.now);
        work = node.poll();
    }
    assert_eq!(work, TRANSMIT);
    node.done(ACKED);
    assert_eq!(node.outcome(), Some((TxStatus::Delivered, 1)));
    assert_eq!(node.heard(), [SUBMITTED, ENDED]);
}

#[test]
fn a_data_request_is_cycled_without_the_methods_header() {
    let mut node = Node::with(CycleProperties {
        asks_for_acks: false,
        ..PROPERTIES
    });
    assert!(node.mac.request_data(node.now, PEER));
    assert_eq!(node.load(), TRANSMIT);
    let (header, payload) = FrameHeader::parse(&node.loaded).unwrap();
    assert_eq!((header.dst, header.dst_pan), (PEER, Some(PAN)));
    // The parent's acknowledgment states whether frames wait, so a request always asks for it.
    assert!(header.ack_request);
    assert_eq!(payload, [4]);
    node.done(RadioResult::Acked {
        frame_pending: true,
    });
    let polled = MacEvent::Polled {
        parent: PEER,
        status: TxStatus::Delivered,
        frame_pending: true,
    };
    assert_eq!(node.mac.poll_event(), Some(polled));
    assert_eq!(
        node.heard(),
        [SUBMITTED, READY, CycleEvent::Acked(TO_PEER), ENDED]
    );
}

#[test]
fn a_frame_that_waits_can_be_preempted() {
    let mut node = Node::new();
    let at = node.in_ms(70);
    node.answer(Kind::Submitted, Move::Wait(at));
    node.submit(b"x");
    assert_eq!(node.poll(), LOAD);
    node.done(LOADED);
    assert!(node.mac.preempt(node.now).is_some());
    assert_eq!(node.heard(), [SUBMITTED, CycleEvent::Preempted]);
    assert!(node.mac.is_idle());
}
