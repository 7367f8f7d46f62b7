//! Reassembly under the effects of a radio link on fragments.

use crate::common;

use common::*;
use redpoll_base::{Duration, Instant};
use redpoll_lowpan::{DropReason, LowpanConfig};
use redpoll_wire::ieee802154::Address;

const T0: Instant = Instant::ZERO;

/// The link ACK of the last fragment is lost, so the fragment arrives twice. Its copy must not
/// occupy the single slot.
#[test]
fn a_lost_link_ack_blocks_no_slot() {
    let sent = packet(ip(6), 1, 494);
    let frames = frames_of(&sent, 1);
    let mut node = node(1);
    let mut arrived = 0;
    for frame in &frames {
        arrived += usize::from(receive(&mut node, T0, frame).is_some());
    }
    assert_eq!(arrived, 1);
    for copy in frames.iter().rev().chain(&frames) {
        assert_eq!(node.input(ms(30), A, B, copy), Err(DropReason::Duplicate));
        assert_eq!(node.free_slots(), 1);
    }
    assert_eq!(node.poll_at(), None);
    assert_eq!(node.counters().duplicate, 10);
    // The slot takes the next datagram at once.
    let next = packet(ip(6), 2, 494);
    let arrived = frames_of(&next, 2)
        .iter()
        .find_map(|frame| receive(&mut node, ms(31), frame));
    assert_eq!(arrived, Some(next));
}

#[test]
fn copies_do_not_disturb_a_packet_that_is_being_forwarded() {
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    let mut node = node(2);
    let slot = frames
        .iter()
        .find_map(|frame| node.input(T0, A, B, frame).unwrap())
        .unwrap();
    node.queue(T0, slot, C);
    assert_eq!(
        node.input(ms(5), A, B, frames.last().unwrap()),
        Err(DropReason::Duplicate)
    );
    assert_eq!(node.free_slots(), 1);
    assert_eq!(drain(&mut node, ms(5)).len(), 5);
}

#[test]
fn copies_within_a_datagram_are_ignored_in_any_order() {
    let sent = packet(ip(6), 1, 494);
    let frames = frames_of(&sent, 1);
    let mut node = node(1);
    for order in [
        [4, 4, 3, 0, 0, 2, 1],
        [0, 1, 1, 0, 2, 4, 3],
        [2, 2, 2, 1, 4, 0, 3],
    ] {
        let mut node_copies = 0;
        let mut arrived = Vec::new();
        for i in order {
            match node.input(T0, A, B, &frames[i]) {
                Ok(Some(slot)) => {
                    arrived.push(node.packet(slot).to_vec());
                    node.release(slot);
                }
                Ok(None) => {}
                Err(DropReason::Duplicate) => node_copies += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(arrived.len(), 1);
        assert_eq!(arrived[0], sent);
        assert_eq!(node_copies, 2);
        // The next order of fragments goes to a new node, which does not remember the tag.
        node = common::node(1);
    }
}

/// RFC 4944 §5.3: source, destination, size and tag identify a datagram.
#[test]
fn datagrams_are_distinguished_by_tag_and_addresses() {
    let mut node = node(4);
    let one = packet(ip(6), 1, 494);
    let two = packet(ip(6), 2, 494);
    let (frames_one, frames_two) = (frames_of(&one, 7), frames_of(&two, 7));
    let mut arrived = Vec::new();
    for (a, c) in frames_one.iter().zip(&frames_two) {
        for (src, frame) in [(A, a), (C, c)] {
            if let Some(slot) = node.input(T0, src, B, frame).unwrap() {
                // The receiver derives elided addresses from the frame's addresses, so only the
                // payload is compared.
                arrived.push((src, node.packet(slot)[40..].to_vec()));
                node.release(slot);
            }
        }
    }
    assert_eq!(arrived, [(A, one[40..].to_vec()), (C, two[40..].to_vec())]);
}

#[test]
fn fragments_that_contradict_each_other_drop_the_datagram() {
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    let mut changed = frames[1].clone();
    *changed.last_mut().unwrap() ^= 1;
    // `shorter` ends 8 bytes earlier; `shifted` has the same bytes at an offset 8 bytes higher.
    let shorter = frames[1][..frames[1].len() - 8].to_vec();
    let mut shifted = frames[1].clone();
    shifted[4] += 1;
    for (wrong, expected) in [
        (changed, DropReason::Overlap),
        (shorter, DropReason::Duplicate),
        (shifted, DropReason::Overlap),
    ] {
        let mut node = node(1);
        for frame in &frames[..2] {
            assert_eq!(node.input(T0, A, B, frame), Ok(None));
        }
        assert_eq!(node.input(T0, A, B, &wrong), Err(expected));
        if expected == DropReason::Overlap {
            assert_eq!(node.free_slots(), 1);
            // Later fragments of the dropped datagram take no slot.
            assert_eq!(node.input(T0, A, B, &frames[2]), Err(DropReason::Orphan));
            assert_eq!(node.free_slots(), 1);
            assert_eq!((node.counters().overlap, node.counters().orphan), (1, 1));
        }
    }
}

#[test]
fn fragments_outside_their_datagram_are_malformed() {
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    let mut node = node(1);
    let mut beyond = frames[1].clone();
    beyond[4] = 55;
    // Malformed: a middle fragment of a length not divisible by 8, an empty one, a FRAGN at offset
    // 0.
    let ragged = frames[1][..frames[1].len() - 3].to_vec();
    let empty = frames[1][..5].to_vec();
    let mut zero = frames[1].clone();
    zero[4] = 0;
    let too_long = [frames[4].clone(), vec![0]].concat();
    for wrong in [
        beyond,
        ragged,
        empty,
        zero,
        too_long,
        frames[0][..4].to_vec(),
    ] {
        assert_eq!(
            node.input(T0, A, B, &wrong),
            Err(DropReason::Malformed),
            "{wrong:02x?}"
        );
        assert_eq!(node.free_slots(), 1);
    }
    assert_eq!(node.counters().malformed, 6);
}

#[test]
fn unknown_dispatches_have_their_drop_reason() {
    let mut node = node(1);
    for wrong in [
        &[][..],
        &[0x00, 1],
        &[0x42, 0xfb],
        &[0x50, 1],
        &[0xbf, 1, 2, 3],
        &[0xe8, 0],
    ] {
        assert_eq!(
            node.input(T0, A, B, wrong),
            Err(DropReason::Unsupported),
            "{wrong:02x?}"
        );
    }
    // HC1 inside a fragment is unsupported.
    assert_eq!(
        node.input(T0, A, B, &[0xc0, 100, 0, 1, 0x42, 0]),
        Err(DropReason::Unsupported)
    );
    // A header with an unknown context is malformed.
    assert_eq!(
        node.input(T0, A, B, &[0x7e, 0xf7, 0x30, 58, 0]),
        Err(DropReason::Malformed)
    );
    assert_eq!(node.counters().unsupported, 7);
    assert_eq!(node.free_slots(), 1);
}

#[test]
fn uncompressed_packets_are_understood() {
    let sent = packet(ip(6), 1, 60);
    let mut frame = vec![0x41];
    frame.extend(&sent);
    let mut node = node(1);
    // Padding after the packet is cut off.
    frame.push(0xee);
    assert_eq!(receive(&mut node, T0, &frame), Some(sent.clone()));
    assert_eq!(
        node.input(T0, A, B, &frame[..100]),
        Err(DropReason::Malformed)
    );
    // The packet arrives in two fragments.
    let mut first = vec![0xc0, 100, 0, 5, 0x41];
    first.extend(&sent[..64]);
    let mut last = vec![0xe0, 100, 0, 5, 8];
    last.extend(&sent[64..]);
    assert_eq!(receive(&mut node, T0, &first), None);
    assert_eq!(receive(&mut node, T0, &last), Some(sent));
    // The IPv6 header contradicts this size.
    first[1] = 101;
    assert_eq!(node.input(T0, A, B, &first), Err(DropReason::Malformed));
}

#[test]
fn a_datagram_beyond_the_slot_size_is_dropped_by_name() {
    let mut node = node_with(LowpanConfig::default(), 2, 300);
    for frame in frames_of(&packet(ip(6), 1, 261), 1) {
        assert_eq!(node.input(T0, A, B, &frame), Err(DropReason::TooLarge));
    }
    let fits = packet(ip(6), 1, 260);
    let arrived = frames_of(&fits, 2)
        .iter()
        .find_map(|frame| receive(&mut node, T0, frame));
    assert_eq!(arrived, Some(fits));
    assert_eq!(node.allocate(301), None);
    assert_eq!(node.free_slots(), 2);
}

/// The timeout runs from the last progress, the limit from the first fragment.
#[test]
fn reassembly_ends_after_its_timeout_and_its_limit() {
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    let mut node = node(1);
    assert_eq!(node.input(ms(0), A, B, &frames[0]), Ok(None));
    assert_eq!(node.poll_at().unwrap().at, ms(3_000));
    assert_eq!(node.input(ms(2_900), A, B, &frames[1]), Ok(None));
    // A repeated fragment does not count as progress.
    assert_eq!(
        node.input(ms(2_950), A, B, &frames[1]),
        Err(DropReason::Duplicate)
    );
    assert_eq!(node.poll_at().unwrap().at, ms(5_900));
    node.on_timeout(ms(5_899));
    assert_eq!(node.free_slots(), 0);
    node.on_timeout(ms(5_900));
    assert_eq!(node.free_slots(), 1);
    assert_eq!(node.counters().reassembly_timeout, 1);
    assert_eq!(node.poll_at(), None);
    // The remaining fragments belong to no reassembly, and take no slot.
    assert_eq!(
        node.input(ms(5_901), A, B, &frames[2]),
        Err(DropReason::Orphan)
    );
    assert_eq!(node.free_slots(), 1);

    // A datagram with steady progress also ends at the limit.
    let long = frames_of(&packet(ip(6), 1, 1200), 2);
    for (i, frame) in (0..4).zip(&long) {
        assert_eq!(node.input(ms(20_000 + i * 2_900), A, B, frame), Ok(None));
    }
    assert_eq!(node.poll_at().unwrap().at, ms(30_000));
    assert_eq!(
        node.input(ms(31_000), A, B, &long[4]),
        Err(DropReason::Orphan)
    );
    assert_eq!(node.free_slots(), 1);
}

#[test]
fn the_limit_is_sixty_seconds_at_most() {
    let config = LowpanConfig::default().with(|it| {
        it.reassembly_timeout = Duration::from_secs(1_000);
        it.reassembly_limit = Duration::from_secs(1_000);
    });
    let mut node = node_with(config, 1, 1280);
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    assert_eq!(node.input(T0, A, B, &frames[0]), Ok(None));
    assert_eq!(node.poll_at().unwrap().at, ms(60_000));
    assert_eq!(node.input(ms(50_000), A, B, &frames[1]), Ok(None));
    assert_eq!(node.poll_at().unwrap().at, ms(60_000));
}

const SOURCES: [Address; 3] = [Address::Short(11), Address::Short(12), Address::Short(13)];

#[test]
fn a_live_reassembly_is_not_evicted() {
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    let mut node = node(2);
    assert_eq!(node.input(ms(0), SOURCES[0], B, &frames[0]), Ok(None));
    assert_eq!(node.input(ms(10), SOURCES[1], B, &frames[0]), Ok(None));
    // The same source begins a datagram with another tag while slots are short: its older datagram
    // is evicted, and that of the other source is not.
    let next = frames_of(&packet(ip(6), 1, 494), 2);
    assert_eq!(node.input(ms(20), SOURCES[1], B, &next[0]), Ok(None));
    assert_eq!(node.counters().evicted, 1);
    assert_eq!(
        node.input(ms(21), SOURCES[1], B, &frames[1]),
        Err(DropReason::Orphan)
    );
    // A third source gets no slot for any fragment of its datagram.
    assert_eq!(
        node.input(ms(30), SOURCES[2], B, &frames[0]),
        Err(DropReason::NoSlot)
    );
    assert_eq!(
        node.input(ms(31), SOURCES[2], B, &frames[1]),
        Err(DropReason::Orphan)
    );
    // The remaining fragments of the first source complete its datagram.
    for frame in &frames[1..4] {
        assert_eq!(node.input(ms(40), SOURCES[0], B, frame), Ok(None));
    }
    assert!(
        node.input(ms(40), SOURCES[0], B, &frames[4])
            .unwrap()
            .is_some()
    );
}

#[test]
fn with_free_slots_no_datagram_is_evicted() {
    let mut node = node(3);
    for tag in 0..2 {
        let frames = frames_of(&packet(ip(6), 1, 494), tag);
        assert_eq!(node.input(ms(0), A, B, &frames[0]), Ok(None));
    }
    assert_eq!((node.free_slots(), node.counters().evicted), (1, 0));
}

#[test]
fn the_reassembly_stalled_longest_is_evicted() {
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    let mut node = node(2);
    assert_eq!(node.input(ms(0), SOURCES[0], B, &frames[0]), Ok(None));
    assert_eq!(node.input(ms(10), SOURCES[1], B, &frames[0]), Ok(None));
    assert_eq!(node.input(ms(100), SOURCES[0], B, &frames[1]), Ok(None));
    let whole = frames_of(&packet(ip(6), 1, 20), 0);
    assert_eq!(
        node.input(ms(259), SOURCES[2], B, &whole[0]),
        Err(DropReason::NoSlot)
    );
    // After 250 ms without progress, the datagram of the second source is evicted, and that of the
    // first source stays.
    let slot = node.input(ms(260), SOURCES[2], B, &whole[0]).unwrap();
    node.release(slot.unwrap());
    assert_eq!(node.input(ms(261), SOURCES[0], B, &frames[2]), Ok(None));
    assert_eq!(
        node.input(ms(261), SOURCES[1], B, &frames[2]),
        Err(DropReason::Orphan)
    );
    assert_eq!(node.counters().evicted, 1);
}

/// If several reassemblies have stalled, a new datagram evicts the one from its own source, and
/// otherwise the one whose last progress is the oldest.
#[test]
fn the_source_s_own_stalled_reassembly_is_evicted_first() {
    let begin = || {
        let frames = frames_of(&packet(ip(6), 1, 494), 1);
        let mut node = node(2);
        assert_eq!(node.input(ms(0), SOURCES[0], B, &frames[0]), Ok(None));
        assert_eq!(node.input(ms(10), SOURCES[1], B, &frames[0]), Ok(None));
        assert_eq!(node.input(ms(20), SOURCES[0], B, &frames[1]), Ok(None));
        (node, frames)
    };
    let next = frames_of(&packet(ip(6), 1, 494), 2);
    for (newcomer, survivor, victim) in [(2, 0, 1), (1, 0, 1), (0, 1, 0)] {
        let (mut node, frames) = begin();
        assert_eq!(
            node.input(ms(999), SOURCES[newcomer], B, &next[0]),
            Ok(None)
        );
        assert_eq!(
            node.input(ms(999), SOURCES[survivor], B, &frames[2]),
            Ok(None)
        );
        assert_eq!(
            node.input(ms(999), SOURCES[victim], B, &frames[2]),
            Err(DropReason::Orphan)
        );
    }
}

#[test]
fn a_later_fragment_evicts_no_reassembly() {
    let frames = frames_of(&packet(ip(6), 1, 494), 1);
    let mut node = node(1);
    assert_eq!(node.input(ms(0), SOURCES[0], B, &frames[0]), Ok(None));
    assert_eq!(
        node.input(ms(1_000), SOURCES[1], B, &frames[1]),
        Err(DropReason::NoSlot)
    );
    assert_eq!(node.input(ms(1_000), SOURCES[0], B, &frames[1]), Ok(None));
}

#[test]
fn queued_and_held_packets_are_not_evicted() {
    let whole = frames_of(&packet(ip(6), 1, 20), 0);
    let mut node = node(2);
    let held = node.input(ms(0), A, B, &whole[0]).unwrap().unwrap();
    let queued = node.input(ms(0), A, B, &whole[0]).unwrap().unwrap();
    node.queue(ms(0), queued, C);
    assert_eq!(
        node.input(ms(60_000), A, B, &whole[0]),
        Err(DropReason::NoSlot)
    );
    assert_eq!(node.packet(held), packet(ip(6), 1, 20));
    assert_eq!(drain(&mut node, ms(60_000)).len(), 1);
    assert_eq!(node.free_slots(), 1);
    assert_eq!(node.counters().peak_slots, 2);
}
