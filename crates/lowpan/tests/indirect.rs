//! Datagrams for sleepy nodes: the time and order in which they leave, and the outcome of datagrams
//! that the node does not fetch.

use crate::common;

use common::*;
use redpoll_base::{Duration, Instant};
use redpoll_lowpan::{FrameOut, LossReason, LowpanConfig, LowpanEvent, Note};
use redpoll_wire::ieee802154::Address;

const T0: Instant = Instant::ZERO;
const S: Address = Address::Short(9);

fn wait(node: &mut Node, seed: usize, len: usize) {
    let slot = hold(node, &packet(ip(6), seed, len));
    node.queue_indirect(T0, slot, S);
}

fn next(node: &mut Node, now: Instant) -> Option<(FrameOut, Vec<u8>)> {
    let mut out = [0; CAPACITY];
    let built = node.next_frame(now, A, CAPACITY, &mut out, &mut Source::default())?;
    Some((built, out[..built.len].to_vec()))
}

#[test]
fn indirect_frames_leave_in_one_burst_after_a_data_request() {
    let mut node = node(4);
    assert!(!node.has_indirect(S));
    wait(&mut node, 1, 300);
    wait(&mut node, 2, 20);
    assert!(node.has_indirect(S) && !node.has_indirect(C));
    assert!(!node.has_frame() && next(&mut node, T0).is_none());
    node.on_data_request(ms(5), C);
    assert!(next(&mut node, ms(5)).is_none(), "somebody else's request");

    node.on_data_request(ms(10), S);
    let mut more = Vec::new();
    // Each frame extends the listening time of the node.
    for i in 1..=5 {
        let now = ms(10 + 90 * i);
        let Some((frame, _)) = next(&mut node, now) else {
            break;
        };
        assert!(frame.indirect && frame.repeats.is_none());
        assert_eq!(frame.dst, S);
        more.push(frame.more);
        node.on_frame_done(now, true);
    }
    assert_eq!(more, [true, true, true, false]);
    assert_eq!(node.counters().datagrams_sent, 2);
    assert_eq!(node.free_slots(), 4);
    assert!(!node.has_indirect(S));
}

#[test]
fn without_bursts_every_frame_takes_a_request() {
    let config = LowpanConfig::default().with(|it| it.indirect_burst = false);
    let mut node = node_with(config, 2, 1280);
    wait(&mut node, 1, 300);
    let mut requests = 0;
    while node.has_indirect(S) {
        requests += 1;
        node.on_data_request(ms(requests), S);
        let (frame, _) = next(&mut node, ms(requests)).expect("a frame");
        node.on_frame_done(ms(requests), true);
        assert_eq!(frame.more, node.has_indirect(S));
        assert!(next(&mut node, ms(requests)).is_none());
    }
    assert_eq!(requests, 3);
}

#[test]
fn a_datagram_for_a_node_that_stops_listening_goes_on_with_the_same_frame() {
    let mut node = node(2);
    let mut receiver = common::node(2);
    wait(&mut node, 1, 300);
    node.on_data_request(T0, S);
    let (_, first) = next(&mut node, T0).unwrap();
    receiver.input(T0, A, S, &first).unwrap();
    node.on_frame_done(T0, true);
    let (_, second) = next(&mut node, T0).unwrap();
    node.on_frame_suspended(T0, Note(77));
    assert!(next(&mut node, T0).is_none(), "it sleeps");

    let later = ms(900);
    node.on_data_request(later, S);
    let (frame, again) = next(&mut node, later).unwrap();
    assert_eq!((frame.repeats, &again), (Some(Note(77)), &second));
    let mut arrived = receiver.input(later, A, S, &again).unwrap();
    node.on_frame_done(later, true);
    while let Some((frame, bytes)) = next(&mut node, later) {
        assert_eq!(frame.repeats, None);
        arrived = receiver.input(later, A, S, &bytes).unwrap();
        node.on_frame_done(later, true);
    }
    let expected = packet(ip(6), 1, 300);
    assert_eq!(
        receiver.packet(arrived.expect("the whole datagram has arrived")),
        expected
    );
}

#[test]
fn the_first_frame_keeps_its_tag_when_it_is_repeated() {
    let mut node = node(2);
    wait(&mut node, 1, 300);
    node.on_data_request(T0, S);
    let (_, first) = next(&mut node, T0).unwrap();
    node.on_frame_suspended(T0, Note(1));
    node.on_data_request(T0, S);
    assert_eq!(next(&mut node, T0).unwrap().1, first);
}

#[test]
fn a_datagram_is_dropped_after_too_many_failed_requests() {
    let mut node = node(2);
    wait(&mut node, 1, 20);
    for _ in 0..4 {
        node.on_data_request(T0, S);
        assert!(next(&mut node, T0).is_some());
        assert_eq!(node.poll_event(), None);
        node.on_frame_suspended(T0, Note(1));
    }
    let reason = LossReason::LinkFailure;
    let next_hop = S;
    assert_eq!(
        node.poll_event(),
        Some(LowpanEvent::DatagramDropped { next_hop, reason })
    );
    assert_eq!(node.free_slots(), 2);
}

#[test]
fn an_indirect_datagram_without_a_request_expires() {
    let mut node = node(3);
    wait(&mut node, 1, 20);
    let at = node.poll_at().expect("an expiry").at;
    assert_eq!(at, T0 + Duration::from_millis(7_680));
    node.on_timeout(ms(7_679));
    assert!(node.has_indirect(S));
    node.on_timeout(at);
    assert!(!node.has_indirect(S));
    assert_eq!(node.counters().expired, 1);
    assert_eq!((node.free_slots(), node.poll_at()), (3, None));
}

#[test]
fn the_datagrams_that_wait_for_a_node_are_limited() {
    let mut node = node(6);
    for seed in 0..5 {
        wait(&mut node, seed, 20);
    }
    assert_eq!(node.counters().indirect_full, 1);
    assert!(!node.has_indirect_room(S) && node.has_indirect_room(C));
    assert_eq!(node.free_slots(), 2);
}

#[test]
fn frames_for_a_listening_node_interrupt_another_datagram() {
    let mut node = node(3);
    let slot = hold(&mut node, &packet(ip(6), 1, 300));
    node.queue(T0, slot, C);
    wait(&mut node, 2, 20);
    let (frame, first) = next(&mut node, T0).unwrap();
    assert_eq!((frame.dst, node.wants_preemption(T0)), (C, false));
    node.on_data_request(T0, S);
    assert!(node.wants_preemption(T0));
    // The MAC gives back the first frame, which it has not delivered.
    node.on_frame_suspended(T0, Note(5));
    let (frame, _) = next(&mut node, T0).unwrap();
    assert_eq!((frame.dst, node.wants_preemption(T0)), (S, false));
    node.on_frame_done(T0, true);
    assert!(!node.wants_segment(), "a datagram is half way");
    let (frame, again) = next(&mut node, T0).unwrap();
    assert_eq!((frame.dst, frame.repeats), (C, Some(Note(5))));
    assert_eq!(again, first);
    node.on_frame_done(T0, true);
    // Between two frames the MAC has no frame to give back; the datagram is suspended all the same.
    wait(&mut node, 3, 20);
    node.on_data_request(T0, S);
    assert_eq!(next(&mut node, T0).unwrap().0.dst, S);
    node.on_frame_done(T0, true);
    while let Some((frame, _)) = next(&mut node, T0) {
        assert_eq!((frame.dst, frame.repeats), (C, None));
        node.on_frame_done(T0, true);
    }
    assert_eq!(node.counters().datagrams_sent, 3);
    assert_eq!(node.free_slots(), 3);
}

#[test]
fn with_drop_rest_off_the_other_frames_leave_all_the_same() {
    let config = LowpanConfig::default().with(|it| it.drop_rest = false);
    let mut node = node_with(config, 1, 1280);
    let slot = hold(&mut node, &packet(ip(6), 1, 300));
    node.queue(T0, slot, C);
    let mut frames = 0;
    while next(&mut node, T0).is_some() {
        node.on_frame_done(T0, frames != 0);
        frames += 1;
    }
    assert_eq!(frames, 3);
    assert_eq!(node.counters().link_failure, 1);
    assert_eq!(node.counters().datagrams_sent, 0);
}

/// The outcome of a segment in a slot for a sleepy node is reported with the segment's handle, once
/// the sleepy node has received the segment or the segment expires.
#[test]
fn the_outcome_of_a_segment_is_reported_once() {
    let mut node = node(4);
    let segment = |node: &mut Node, seed, handle| {
        let slot = hold(node, &packet(ip(6), seed, 200));
        node.queue_indirect_segment(T0, slot, S, handle);
    };
    segment(&mut node, 1, 71);
    assert_eq!(node.poll_event(), None, "it waits");
    node.on_data_request(ms(10), S);
    while next(&mut node, ms(20)).is_some() {
        assert_eq!(
            node.poll_event(),
            None,
            "not before its last frame is there"
        );
        node.on_frame_done(ms(30), true);
    }
    assert_eq!(
        node.poll_event(),
        Some(LowpanEvent::SegmentSent { handle: 71 })
    );
    assert_eq!((node.poll_event(), node.free_slots()), (None, 4));

    // Several datagrams expire together, and each is reported.
    for handle in 72..75 {
        segment(&mut node, 2, handle);
    }
    node.on_timeout(ms(8_000));
    let lost = |handle| LowpanEvent::SegmentLost {
        handle,
        reason: LossReason::Expired,
    };
    let told: Vec<LowpanEvent> = std::iter::from_fn(|| node.poll_event()).collect();
    assert_eq!(told, [lost(72), lost(73), lost(74)]);
    assert_eq!((node.counters().expired, node.free_slots()), (3, 4));
}

#[test]
fn a_segment_beyond_the_indirect_limit_is_reported_at_once() {
    let config = LowpanConfig::default().with(|it| it.indirect_limit = 1);
    let mut node = node_with(config, 4, 1280);
    for handle in [1, 2] {
        let slot = hold(&mut node, &packet(ip(6), 1, 20));
        node.queue_indirect_segment(T0, slot, S, handle);
    }
    let lost = LowpanEvent::SegmentLost {
        handle: 2,
        reason: LossReason::IndirectFull,
    };
    assert_eq!((node.poll_event(), node.poll_event()), (Some(lost), None));
    assert_eq!(node.free_slots(), 3);
}
