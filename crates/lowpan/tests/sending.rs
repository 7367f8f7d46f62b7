//! The order in which datagrams leave, and the outcome for a datagram that loses its bytes or its
//! link between two of its frames.

use crate::common;

use common::*;
use redpoll_base::{Duration, Ecn, Instant};
use redpoll_lowpan::{LossReason, LowpanConfig, LowpanEvent, RedConfig};
use redpoll_wire::ipv6::Ipv6Header;

const T0: Instant = Instant::ZERO;

#[test]
fn a_segment_withdrawn_between_two_fragments_drops_the_rest() {
    for frames_before in 0..5 {
        let mut node = node(1);
        let (pulled, _) = segment(7, ip(6), 462);
        assert!(node.start_segment(T0, pulled));
        let waiting = hold_for_queue(&mut node);
        let mut source = Source {
            reads_left: Some(frames_before),
            ..Source::default()
        };
        for _ in 0..frames_before {
            next_frame(&mut node, T0, &mut source).expect("a frame");
            node.on_frame_done(T0, true);
            assert_eq!(node.poll_event(), None);
        }
        // The call that finds the segment's bytes gone builds a frame of the queued datagram.
        let (dst, _) = next_frame(&mut node, T0, &mut source).expect("the next datagram");
        assert_eq!(dst, C);
        let reason = LossReason::Gone;
        assert_eq!(
            node.poll_event(),
            Some(LowpanEvent::SegmentLost { handle: 7, reason })
        );
        assert_eq!(node.poll_event(), None);
        node.on_frame_done(T0, true);
        assert_eq!(node.counters().segment_gone, 1);
        assert_eq!(node.counters().datagrams_sent, 1);
        assert!(!node.has_frame());
        assert!(node.packet(waiting).is_empty());
        assert_eq!(node.free_slots(), 1);
    }
}

fn hold_for_queue(node: &mut Node) -> redpoll_lowpan::SlotId {
    let slot = hold(node, &packet(ip(6), 1, 20));
    node.queue(T0, slot, C);
    slot
}

/// Fewer bytes than requested do not make a shorter segment.
#[test]
fn a_short_read_counts_as_gone() {
    struct Short;
    impl redpoll_lowpan::PayloadSource for Short {
        fn read(
            &mut self,
            _: u32,
            _: usize,
            out: &mut [u8],
        ) -> Result<usize, redpoll_lowpan::Gone> {
            Ok(out.len() - 1)
        }
    }
    let mut node = node(1);
    assert!(node.start_segment(T0, segment(1, ip(6), 100).0));
    let mut out = [0; CAPACITY];
    assert_eq!(node.next_frame(T0, A, CAPACITY, &mut out, &mut Short), None);
    let reason = LossReason::Gone;
    assert_eq!(
        node.poll_event(),
        Some(LowpanEvent::SegmentLost { handle: 1, reason })
    );
}

#[test]
fn a_link_failure_at_any_frame_drops_the_rest() {
    for failing in 0..5 {
        for own in [true, false] {
            let mut node = node(1);
            let (pulled, bytes) = segment(7, ip(6), 462);
            if own {
                assert!(node.start_segment(T0, pulled));
            } else {
                let slot = hold(&mut node, &bytes);
                node.queue(T0, slot, B);
            }
            for i in 0..=failing {
                next_frame(&mut node, T0, &mut Source::default()).expect("a frame");
                node.on_frame_done(T0, i != failing);
            }
            assert!(!node.has_frame());
            let reason = LossReason::LinkFailure;
            let expected = if own {
                LowpanEvent::SegmentLost { handle: 7, reason }
            } else {
                LowpanEvent::DatagramDropped {
                    next_hop: B,
                    reason,
                }
            };
            assert_eq!(node.poll_event(), Some(expected));
            assert_eq!(node.poll_event(), None);
            assert_eq!(node.counters().link_failure, 1);
            assert_eq!(node.free_slots(), 1);
        }
    }
}

/// A segment's payload is read once for each frame, when this frame is built.
#[test]
fn payload_is_read_when_the_frame_is_built() {
    let mut node = node(1);
    let mut source = Source::default();
    assert!(node.start_segment(T0, segment(1, ip(6), 462).0));
    assert_eq!(source.reads, 0);
    for n in 1..=5 {
        assert!(next_frame(&mut node, T0, &mut source).is_some());
        assert_eq!(source.reads, n);
        // While a frame is with the MAC, no other frame is built.
        assert!(!node.has_frame());
        assert_eq!(next_frame(&mut node, T0, &mut source), None);
        assert_eq!(source.reads, n);
        node.on_frame_done(T0, true);
    }
    // For a segment without payload no bytes are read.
    node.poll_event();
    assert!(node.start_segment(T0, segment(2, ip(6), 0).0));
    assert!(next_frame(&mut node, T0, &mut source).is_some());
    assert_eq!(source.reads, 5);
}

#[test]
fn a_segment_is_wanted_only_when_it_could_start() {
    let mut node = node(2);
    assert!(node.wants_segment());
    assert!(node.start_segment(T0, segment(1, ip(6), 200).0));
    assert!(!node.wants_segment());
    assert!(!node.start_segment(T0, segment(2, ip(6), 200).0));
    while next_frame(&mut node, T0, &mut Source::default()).is_some() {
        assert!(!node.wants_segment());
        node.on_frame_done(T0, true);
    }
    // The event of the first segment has to be taken first.
    assert!(!node.wants_segment());
    assert!(!node.start_segment(T0, segment(2, ip(6), 200).0));
    assert_eq!(
        node.poll_event(),
        Some(LowpanEvent::SegmentSent { handle: 1 })
    );
    assert!(node.wants_segment());
    // A datagram is queued now, and it is the queue's turn.
    hold_for_queue(&mut node);
    assert!(!node.wants_segment());
    assert!(next_frame(&mut node, T0, &mut Source::default()).is_some());
    assert!(!node.wants_segment());
    node.on_frame_done(T0, true);
    assert!(node.wants_segment());
}

/// Segments of the node's own connections alternate with queued datagrams.
#[test]
fn own_and_queued_datagrams_alternate() {
    let mut node = node(6);
    for seed in 0..4 {
        let slot = hold(&mut node, &packet(ip(6), seed, 300));
        node.queue(T0, slot, C);
    }
    let mut order = Vec::new();
    let mut handle = 0;
    loop {
        if node.wants_segment() && handle < 6 {
            handle += 1;
            assert!(node.start_segment(T0, segment(handle, ip(6), 300).0));
        }
        let Some((dst, frame)) = next_frame(&mut node, T0, &mut Source::default()) else {
            break;
        };
        // Records first fragments only, because datagrams alternate as a whole.
        if frame[0] & 0xf8 == 0xc0 {
            order.push(dst);
        }
        node.on_frame_done(T0, true);
        while node.poll_event().is_some() {}
    }
    assert_eq!(order, [B, C, B, C, B, C, B, C, B, B]);
    assert_eq!(node.counters().segments_sent, 6);
    assert_eq!(node.counters().datagrams_sent, 4);
}

#[test]
fn the_queue_is_first_in_first_out() {
    let mut node = node(5);
    let mut sent = Vec::new();
    let mut queued = 0;
    for round in 0..20 {
        while node.free_slots() > 1 {
            let slot = hold(&mut node, &packet(ip(6), queued, 10));
            node.queue(T0, slot, C);
            queued += 1;
        }
        for _ in 0..=round % 3 {
            let (_, frame) = next_frame(&mut node, T0, &mut Source::default()).unwrap();
            sent.push(frame[frame.len() - 10..].to_vec());
            node.on_frame_done(T0, true);
        }
    }
    let expected: Vec<_> = (0..sent.len()).map(|seed| pattern(seed, 10)).collect();
    assert_eq!(sent, expected);
}

#[test]
fn occupancy_is_averaged_over_time() {
    let mut node = node(4);
    for at in [0, 100] {
        let slot = hold(&mut node, &packet(ip(6), 1, 20));
        node.queue(ms(at), slot, C);
    }
    // Queue length: 1 from 0 ms, 2 from 100 ms, 1 from 300 ms, 0 from 400 ms.
    for at in [300, 400] {
        next_frame(&mut node, ms(at - 5), &mut Source::default()).unwrap();
        node.on_frame_done(ms(at), true);
    }
    let occupancy = node.occupancy();
    assert_eq!((occupancy.current, occupancy.peak), (0, 2));
    assert_eq!(occupancy.mean_milli(ms(1_000)), 600);
}

#[test]
fn a_reserve_is_kept_for_the_radio() {
    let mut node = node(3);
    let first = node.allocate(100).unwrap();
    assert!(node.allocate(100).is_some());
    assert_eq!(node.allocate(100), None);
    let frame = &frames_of(&packet(ip(6), 1, 20), 0)[0];
    assert!(node.input(T0, A, B, frame).unwrap().is_some());
    node.release(first);
    assert_eq!(node.allocate(100), None);
    // A single slot can be allocated despite the reserve.
    assert!(common::node(1).allocate(100).is_some());
}

#[test]
fn a_held_packet_changes_its_length_within_its_slot() {
    let mut node = node_with(Default::default(), 2, 200);
    let slot = hold(&mut node, &packet(ip(6), 1, 20));
    let answer = packet(ip(6), 2, 160);
    node.resize(slot, answer.len());
    node.packet_mut(slot).copy_from_slice(&answer);
    node.resize(slot, 1_000);
    assert_eq!(node.packet(slot).len(), 200);
    node.resize(slot, 50);
    assert_eq!(node.packet(slot), &answer[..50]);
    node.queue(T0, slot, C);
    node.resize(slot, 200);
    assert_eq!(node.packet(slot), []);
}

#[test]
fn calls_without_an_operation_change_nothing() {
    let mut node = node(2);
    node.on_frame_done(T0, true);
    node.on_frame_done(T0, false);
    let slot = hold(&mut node, &packet(ip(6), 1, 20));
    node.queue(T0, slot, C);
    node.queue(T0, slot, B);
    node.release(slot);
    assert!(node.packet_mut(slot).is_empty());
    assert_eq!(drain(&mut node, T0).len(), 1);
    node.release(slot);
    node.queue(T0, slot, B);
    assert!(!node.has_frame());
    assert_eq!(node.free_slots(), 2);
    assert_eq!(node.poll_event(), None);
}

/// Returns a node with a queue so long that its average is at the upper threshold.
fn crowded(ecn: Ecn) -> Node {
    let config = LowpanConfig::default()
        .with(|it| it.red = Some(RedConfig::default().with(|it| it.weight_shift = 0)));
    let mut node = node_with(config, 8, 1280);
    for seed in 0..5 {
        let header = Ipv6Header { ecn, ..ip(6) };
        let slot = hold(&mut node, &packet(header, seed, 300));
        node.queue(T0, slot, C);
    }
    node
}

/// RFC 3168 §5: the mark precedes the first fragment, which contains the ECN bits.
#[test]
fn red_marks_a_datagram_before_its_first_fragment_leaves() {
    let mut node = crowded(Ecn::Ect0);
    let mut receiver = common::node(2);
    let mut marks = Vec::new();
    while let Some((_, frame)) = next_frame(&mut node, T0, &mut Source::default()) {
        if let Some(slot) = receiver.input(T0, A, C, &frame).unwrap() {
            let ecn = redpoll_wire::ipv6::ecn(receiver.packet(slot));
            marks.push(ecn == Some(Ecn::Ce));
            receiver.release(slot);
        }
        node.on_frame_done(T0, true);
    }
    // After the last two datagrams, the queue is below the upper threshold.
    assert_eq!(marks[..2], [true, true]);
    assert_eq!(marks.len(), 5);
    assert!(!marks[4], "the queue is empty");
    let marked = marks.iter().filter(|marked| **marked).count();
    assert_eq!(node.counters().marked as usize, marked);
}

#[test]
fn red_drops_whole_datagrams_that_take_no_marks() {
    let mut node = crowded(Ecn::NotEct);
    let (dst, _) = next_frame(&mut node, T0, &mut Source::default()).expect("a later one");
    assert_eq!(dst, C);
    let dropped = node.counters().red;
    assert!((2..5).contains(&dropped), "{dropped}");
    assert_eq!(node.free_slots(), 3 + dropped as usize);
}

#[test]
fn all_fragments_but_the_last_promise_another() {
    for burst in [true, false] {
        let config = LowpanConfig::default().with(|it| it.fragment_pending = burst);
        let mut node = node_with(config, 2, 1280);
        for next_hop in [C, redpoll_wire::ieee802154::Address::BROADCAST] {
            let slot = hold(&mut node, &packet(ip(6), 1, 300));
            node.queue(T0, slot, next_hop);
            let mut more = Vec::new();
            let mut out = [0; CAPACITY];
            while let Some(frame) =
                node.next_frame(T0, A, CAPACITY, &mut out, &mut Source::default())
            {
                more.push(frame.more);
                node.on_frame_done(T0, true);
            }
            let promises = burst && next_hop == C;
            assert_eq!(more, [promises, promises, false]);
        }
    }
}

/// The last frame of a segment announces the next segment only if both pending options are on.
#[test]
fn a_segment_that_is_followed_promises_the_next() {
    for (fragments, segments, promises) in [
        (true, true, true),
        (true, false, false),
        (false, true, false),
    ] {
        let config = LowpanConfig::default().with(|it| {
            it.fragment_pending = fragments;
            it.segment_pending = segments;
        });
        for is_followed in [false, true] {
            let mut node = node_with(config.clone(), 2, 1280);
            let (pulled, _) = segment(7, ip(6), 300);
            let pulled = redpoll_lowpan::PulledDatagram {
                is_followed,
                ..pulled
            };
            assert!(node.start_segment(T0, pulled));
            let mut more = Vec::new();
            let mut out = [0; CAPACITY];
            while let Some(frame) =
                node.next_frame(T0, A, CAPACITY, &mut out, &mut Source::default())
            {
                more.push(frame.more);
                node.on_frame_done(T0, true);
            }
            assert_eq!(more.pop(), Some(is_followed && promises));
            assert!(more.iter().all(|more| *more == fragments));
        }
    }
}

#[test]
fn a_pause_follows_a_frame_that_the_next_hop_forwards() {
    let far = ip(6);
    let near = Ipv6Header {
        dst: redpoll_wire::ipv6::addr::link_local_from_short(3),
        ..far
    };
    for (header, pauses) in [(far, true), (near, false)] {
        let config = LowpanConfig::default().with(|it| it.pause = Duration::from_millis(8));
        let mut node = node_with(config, 3, 1280);
        for port in [1, 2] {
            let slot = hold(&mut node, &packet(header, port, 300));
            node.queue(T0, slot, C);
        }
        let mut frames = 0;
        while next_frame(&mut node, T0, &mut Source::default()).is_some() {
            node.on_frame_done(T0, true);
            frames += 1;
        }
        assert_eq!(frames, if pauses { 3 } else { 6 });
        if pauses {
            assert!(!node.wants_segment());
            let end = T0 + Duration::from_millis(24);
            assert_eq!(node.poll_at().map(|wake| wake.at), Some(end));
            node.on_timeout(end);
            assert!(next_frame(&mut node, end, &mut Source::default()).is_some());
        }
    }
}

/// With RED, a node pauses between datagrams if it sends those of two conversations (pairs of
/// nodes). With only one conversation it does not pause.
#[test]
fn random_early_detection_pauses_where_two_conversations_meet() {
    let config = LowpanConfig::default()
        .with(|it| it.red = Some(RedConfig::default().with(|it| it.weight_shift = 0)));
    for (second, pauses) in [(3, true), (1, false)] {
        let mut node = node_with(config.clone(), 8, 1280);
        for (seed, from) in [1, second, 1, second].into_iter().enumerate() {
            let header = Ipv6Header {
                ecn: Ecn::Ect0,
                src: common::addr(from),
                ..ip(6)
            };
            let slot = hold(&mut node, &packet(header, seed, 300));
            node.queue(T0, slot, C);
        }
        // The first two datagrams belong to different conversations if `second` is 3.
        assert_eq!(drain(&mut node, T0).len(), if pauses { 6 } else { 12 });
        if pauses {
            let end = T0 + RedConfig::default().pause.times(3);
            assert_eq!(node.poll_at().map(|wake| wake.at), Some(end));
            node.on_timeout(end);
            assert_eq!(drain(&mut node, end).len(), 3);
        }
    }
}
