//! RFC 8931: recoverable fragments that pass through a relay, from `A` through `B` to `C`, and the
//! behaviour of nodes without memory for them.

use crate::common;

use common::recoverable::*;
use common::*;
use redpoll_base::{Duration, Instant, Rng};
use redpoll_lowpan::{DropReason, LowpanEvent, Onward, RecoveryConfig};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::recoverable::{Ack, Bitmap, Fragment};
use redpoll_wire::sixlowpan::{Dispatch, dispatch, fragment};

/// §6.1.1: the relay replaces the tag; §4.4: it adapts size and offset to the first fragment's new
/// length; §6.2: an acknowledgment returns to `A` with the tag that `A` chose.
#[test]
fn a_relay_switches_labels() {
    for packet in [packet(to_c(6), 3, 500), {
        let mut udp = udp_packet(3, 480);
        udp[24..40].copy_from_slice(&addr(3).0);
        udp
    }] {
        let (mut a, mut relay) = pair();
        let mut c = recovering(RecoveryConfig::default());
        // The tags of the relay's own datagrams differ from those of `A`.
        let slot = hold(&mut relay, &common::packet(to_c(59), 1, 300));
        relay.queue(START, slot, C);
        let others = frames(&mut relay, START, B, C);
        let slot = hold(&mut a, &packet);
        a.queue(START, slot, B);
        let frames_out = frames(&mut a, START, A, B);
        let mut arrived = None;
        let mut grown = None;
        for frame in &frames_out {
            assert_eq!(pass(&mut relay, START, frame), Ok(None));
            let onward = frames(&mut relay, START, B, C);
            assert_eq!(onward.len(), 1, "as it comes");
            let (before, after) = (header(frame), header(&onward[0]));
            assert_ne!(after.tag, before.tag);
            assert_ne!(after.tag, header(&others[0]).tag);
            assert_eq!(after.sequence, before.sequence);
            let grown = *grown.get_or_insert(after.size - before.size);
            assert_eq!(after.offset, before.offset + grown);
            if let Ok(Some(slot)) = c.input(START, B, C, &onward[0]) {
                arrived = Some(c.packet(slot).to_vec());
            }
        }
        // The hop limit and the source's last 16 bits can no longer be elided; the destination's
        // last 16 bits now can.
        assert_eq!(grown, Some(1));
        assert_eq!(arrived, Some(one_hop_on(packet)));
        assert_eq!(relay.free_slots(), 3);
        let back = ack(&mut c, START, C, B);
        relay.input(START, C, B, &back.to_bytes()).unwrap();
        let back = ack(&mut relay, START, B, A);
        assert_eq!(back.tag, header(&frames_out[0]).tag);
        assert_eq!(back.bitmap, Bitmap::FULL);
        a.input(START, B, A, &back.to_bytes()).unwrap();
        assert_eq!(a.counters().datagrams_sent, 1);
    }
}

/// A neighbour that retransmits fragments without end does not keep the relay's own datagrams from
/// leaving.
#[test]
fn own_datagrams_leave_between_retransmitted_fragments() {
    let (mut a, mut relay) = pair();
    let (_, first) = begin(&mut a, START, 6);
    for frame in &first {
        pass(&mut relay, START, frame).unwrap();
    }
    let slot = hold(&mut relay, &common::packet(to_c(59), 1, 40));
    relay.queue(START, slot, C);
    let mut left = 0;
    let mut out = [0; CAPACITY];
    while let Some(frame) = relay.next_frame(START, B, CAPACITY, &mut out, &mut Source::default()) {
        let frame = out[..frame.len].to_vec();
        relay.on_frame_done(START, true);
        if Fragment::parse(&frame).is_err() {
            break;
        }
        left += 1;
        assert!(left <= 16, "the own datagram has no turn");
        pass(&mut relay, START, &first[1]).unwrap();
    }
    assert!(left > 5, "{left}");
}

/// Sends the relay's next frame, which the link delivers. Returns its header, and whether its tag
/// is `own`.
fn leaves(relay: &mut Node, now: Instant, own: Option<u8>) -> Option<(Fragment, bool)> {
    let mut out = [0; CAPACITY];
    let frame = relay.next_frame(now, B, CAPACITY, &mut out, &mut Source::default())?;
    relay.on_frame_done(now, true);
    let fragment = header(&out[..frame.len]);
    Some((fragment, own == Some(fragment.tag)))
}

/// A retransmitted fragment of the relay's own datagram must arrive before its receiver discards
/// the datagram. Forwarded fragments delay the retransmission by at most as many frames as the
/// datagram's first transmission had. Forwarded fragments that left after this transmission and
/// before the timeout count towards this limit.
#[test]
fn forwarded_fragments_and_retransmitted_own_ones_alternate() {
    for len in [150, 300, 500, 1_100] {
        for waited in 0..20 {
            let (mut a, mut relay) = pair();
            let (_, first) = begin(&mut a, START, 6);
            let fill = |relay: &mut Node, now| while pass(relay, now, &first[1]).is_ok() {};
            pass(&mut relay, START, &first[0]).unwrap();
            let forwarded = leaves(&mut relay, START, None).unwrap().0.tag;
            let slot = hold(&mut relay, &common::packet(to_c(59), 1, len));
            relay.queue(START, slot, C);
            // Counts the frames of the datagram's first transmission.
            let own = leaves(&mut relay, START, None).unwrap().0.tag;
            assert_ne!(own, forwarded);
            let mut frames = 1_usize;
            while let Some((_, true)) = leaves(&mut relay, START, Some(own)) {
                frames += 1;
            }
            assert!(frames > 1, "{len} bytes");
            fill(&mut relay, START);
            for _ in 0..waited {
                assert!(!leaves(&mut relay, START, Some(own)).unwrap().1);
                fill(&mut relay, START);
            }
            // The acknowledgment does not arrive.
            let later = START + Duration::from_millis(600);
            relay.on_timeout(later);
            let mut between = 0;
            while !leaves(&mut relay, later, Some(own)).unwrap().1 {
                between += 1;
                fill(&mut relay, later);
            }
            let most = frames.saturating_sub(waited);
            assert!(between <= most, "{len} bytes, {waited}: {between} > {most}");
            assert!(
                !leaves(&mut relay, later, Some(own)).unwrap().1,
                "{len} bytes, {waited}: the forwarded fragments have no turn"
            );
        }
    }
}

/// After each retransmission for one datagram, a segment of the node's own transport leaves.
#[test]
fn a_segment_leaves_after_each_retransmitted_train() {
    for others in 1..=3 {
        let mut relay = recovering(RecoveryConfig::default());
        for seed in 0..others {
            let slot = hold(&mut relay, &common::packet(to_c(59), seed, 300));
            relay.queue(START, slot, C);
        }
        let first = frames(&mut relay, START, B, C);
        let begun: Vec<u8> = first.iter().map(|frame| header(frame).tag).collect();
        for round in 1..=3 {
            // No acknowledgment arrives, so one fragment of each datagram is retransmitted.
            let now = START + Duration::from_secs(round * 10);
            relay.on_timeout(now);
            let (mut trains, mut segments) = (0, Vec::new());
            loop {
                if relay.wants_segment() {
                    segments.push(trains);
                    let (segment, _) = segment(round as u32, to_c(6), 20);
                    assert!(relay.start_segment(now, segment));
                }
                let mut out = [0; CAPACITY];
                let source = &mut Source::default();
                let Some(frame) = relay.next_frame(now, B, CAPACITY, &mut out, source) else {
                    break;
                };
                let fragment = Fragment::parse(&out[..frame.len]).ok();
                trains += usize::from(fragment.is_some_and(|(it, _)| begun.contains(&it.tag)));
                relay.on_frame_done(now, true);
                if let Some(LowpanEvent::SegmentSent { .. }) = relay.poll_event()
                    && segments.len() > others
                {
                    break;
                }
            }
            let expected: Vec<usize> = (1..=others).collect();
            assert_eq!(segments[..others], expected, "round {round}");
        }
    }
}

#[test]
fn a_fragment_that_the_link_loses_takes_no_other_with_it() {
    let (mut a, mut relay) = pair();
    let (_, first) = begin(&mut a, START, 6);
    for frame in &first {
        pass(&mut relay, START, frame).unwrap();
    }
    let mut out = [0; CAPACITY];
    let mut left = Vec::new();
    while let Some(frame) = relay.next_frame(START, B, CAPACITY, &mut out, &mut Source::default()) {
        let sequence = header(&out[..frame.len]).sequence;
        relay.on_frame_done(START, sequence != 1);
        left.push(sequence);
    }
    assert_eq!(left, [0, 1, 2, 3, 4]);
    assert_eq!(relay.counters().link_failure, 1);
    assert_eq!(pass(&mut relay, START, &first[1]), Ok(None));
}

/// §6.2: after all fragments have arrived, a relay answers for the receiver, for a limited time.
#[test]
fn a_relay_answers_when_its_acknowledgment_was_lost() {
    let (mut a, mut relay) = pair();
    let (_, first) = begin(&mut a, START, 6);
    for frame in &first {
        pass(&mut relay, START, frame).unwrap();
    }
    let tag = header(&frames(&mut relay, START, B, C)[0]).tag;
    let full = Ack {
        ecn: false,
        tag,
        bitmap: Bitmap::FULL,
    };
    relay.input(START, C, B, &full.to_bytes()).unwrap();
    ack(&mut relay, START, B, A);
    a.on_timeout(ms(500));
    let again = frames(&mut a, ms(500), A, B);
    assert_eq!(
        pass(&mut relay, ms(500), &again[0]),
        Err(DropReason::Duplicate)
    );
    let back = ack(&mut relay, ms(500), B, A);
    assert_eq!(
        (back.tag, back.bitmap),
        (header(&again[0]).tag, Bitmap::FULL)
    );
    // A fragment that does not request an acknowledgment is dropped silently.
    assert_eq!(
        pass(&mut relay, ms(500), &first[1]),
        Err(DropReason::Duplicate)
    );
    assert!(!relay.has_frame());
    // RFC 8931 §6.2: "it arms a short timer, and upon timeout, the VRB [...] destroyed".
    relay.on_timeout(ms(2_000));
    assert_eq!(relay.poll_at(), None);
    assert_eq!(relay.counters().forward_timeout, 0);
    assert_eq!(
        pass(&mut relay, ms(2_000), &again[0]),
        Err(DropReason::Orphan)
    );
    assert_eq!(ack(&mut relay, ms(2_000), B, A).bitmap, Bitmap::NULL);
}

/// §6.1.2, §6.3: without the first fragment there is no path, and a null bitmap reports this;
/// the sender aborts, and restarts within its limit.
#[test]
fn a_null_bitmap_aborts() {
    let (mut a, mut relay) = pair();
    let (_, first) = begin(&mut a, START, 6);
    let mut restarted = first;
    for attempt in 0..2 {
        for frame in &restarted[1..] {
            assert_eq!(pass(&mut relay, START, frame), Err(DropReason::Orphan));
        }
        assert!(relay.poll_at().is_none(), "no state");
        let null = ack(&mut relay, START, B, A);
        assert_eq!(null.bitmap, Bitmap::NULL);
        assert_eq!(null.tag, header(&restarted[0]).tag);
        a.input(START, B, A, &null.to_bytes()).unwrap();
        let next = frames(&mut a, START, A, B);
        if attempt == 0 {
            assert_eq!(next.len(), 5);
            assert_ne!(header(&next[0]).tag, null.tag);
            restarted = next;
        } else {
            assert!(next.is_empty());
        }
        // The same null bitmap again matches no datagram.
        assert_eq!(
            a.input(START, B, A, &null.to_bytes()),
            Err(DropReason::Orphan)
        );
    }
    assert_eq!(a.counters().not_recovered, 1);
    assert_eq!(a.free_slots(), 4);
}

/// §6.3: a null bitmap that passes through removes the state on its path.
#[test]
fn a_null_bitmap_ends_the_path() {
    let (mut a, mut relay) = pair();
    let (_, first) = begin(&mut a, START, 6);
    pass(&mut relay, START, &first[0]).unwrap();
    let tag = header(&frames(&mut relay, START, B, C)[0]).tag;
    pass(&mut relay, START, &first[1]).unwrap();
    let null = Ack {
        ecn: false,
        tag,
        bitmap: Bitmap::NULL,
    };
    relay.input(START, C, B, &null.to_bytes()).unwrap();
    // The null bitmap also discards the queued fragment: the relay sends only the acknowledgment.
    assert_eq!(ack(&mut relay, START, B, A).bitmap, Bitmap::NULL);
    assert_eq!((relay.poll_at(), relay.occupancy().current), (None, 0));
    // §6.2: an acknowledgment without a path back is dropped silently.
    let stray = relay.input(START, C, B, &null.to_bytes());
    assert_eq!(stray, Err(DropReason::Orphan));
    assert!(!relay.has_frame());
}

/// §6.3: the sender's abort is forwarded and frees everything.
#[test]
fn an_abort_frees_path_and_slot() {
    let (mut a, mut relay) = pair();
    let mut c = recovering(RecoveryConfig::default());
    let (_, first) = begin(&mut a, START, 6);
    pass(&mut relay, START, &first[0]).unwrap();
    let onward = frames(&mut relay, START, B, C);
    c.input(START, B, C, &onward[0]).unwrap();
    assert_eq!(c.free_slots(), 3);
    let abort = Fragment::abort(header(&first[0]).tag);
    pass(&mut relay, START, &emit(abort, &[])).unwrap();
    assert_eq!(relay.poll_at(), None);
    let onward = frames(&mut relay, START, B, C);
    assert_eq!(onward.len(), 1);
    assert!(header(&onward[0]).is_abort());
    // RFC 8931 §6.3: "If an acknowledgment is requested", the receiver answers with a null bitmap.
    let asks = Fragment {
        ack_request: true,
        ..header(&onward[0])
    };
    c.input(START, B, C, &emit(asks, &[])).unwrap();
    assert_eq!(c.free_slots(), 4);
    assert_eq!(ack(&mut c, START, C, B).bitmap, Bitmap::NULL);
    assert_eq!(c.poll_at(), None);
}

/// §4.3, §6: congestion is marked, forwarded, echoed once, and obeyed.
#[test]
fn congestion_is_echoed_once() {
    let mut relay = node(4);
    relay.forward_fragments(forwarding(4));
    relay.recover_fragments(RecoveryConfig::default(), memory(4, 4, 4));
    let (mut a, mut c) = pair();
    let (_, first) = begin(&mut a, START, 6);
    let mut onward = Vec::new();
    for (i, frame) in first.iter().enumerate() {
        let passed = pass(&mut relay, START, frame);
        // The fifth fragment finds no room, and only this fragment is lost.
        assert_eq!(
            passed.err(),
            (i == 4).then_some(DropReason::NoFragmentBuffer)
        );
        if i == 3 {
            onward = frames(&mut relay, START, B, C);
        }
        if i == 3 {
            let marks: Vec<_> = onward.iter().map(|f| header(f).ecn).collect();
            assert_eq!(marks, [false, false, false, true]);
            // The relay is full again.
            for frame in [&first[1], &first[1], &first[1], &first[1]] {
                pass(&mut relay, START, frame).unwrap();
            }
        }
    }
    let asks = Fragment {
        ack_request: true,
        ..header(&onward[3])
    };
    c.input(START, B, C, &onward[0]).unwrap();
    c.input(START, B, C, &emit(asks, &onward[3][6..])).unwrap();
    let echo = ack(&mut c, START, C, B);
    assert_eq!((echo.ecn, echo.bitmap), (true, bits(&[0, 3])));
    c.input(
        START,
        B,
        C,
        &emit(Fragment { ecn: false, ..asks }, &onward[3][6..]),
    )
    .unwrap_err();
    assert!(!ack(&mut c, START, C, B).ecn, "at most once");

    // The relay forwards the echo, and the sender then sends one fragment at a time.
    frames(&mut relay, START, B, C);
    relay.input(START, C, B, &echo.to_bytes()).unwrap();
    // A later acknowledgment without ECN does not remove the echo that waits in the relay.
    let later = Ack { ecn: false, ..echo };
    relay.input(START, C, B, &later.to_bytes()).unwrap();
    let back = ack(&mut relay, START, B, A);
    assert!(back.ecn);
    a.input(START, B, A, &back.to_bytes()).unwrap();
    assert_eq!(sequences(&frames(&mut a, START, A, B)), [(1, true)]);
}

/// A node without memory handles a datagram in another way, or refuses it.
#[test]
fn memory_limits_the_datagrams_in_transit() {
    // `a` has no memory for its own recoverable datagrams, so it sends plain fragments.
    let mut a = node(4);
    a.forward_fragments(forwarding(16));
    a.recover_fragments(RecoveryConfig::default(), memory(0, 4, 4));
    let (packet, plain) = begin(&mut a, START, 6);
    let kinds: Vec<_> = plain.iter().map(|frame| dispatch(frame)).collect();
    assert_eq!(kinds[0], Dispatch::First);
    assert!(kinds[1..].iter().all(|kind| *kind == Dispatch::Next));
    assert!(fragment::Header::parse(&plain[0]).is_ok());

    // The relay has no memory for paths, so it reassembles the datagram.
    let (mut a, _) = pair();
    let (_, first) = begin(&mut a, START, 6);
    let mut relay = node(4);
    relay.forward_fragments(forwarding(16));
    relay.recover_fragments(RecoveryConfig::default(), memory(4, 4, 0));
    let slot = first
        .iter()
        .find_map(|frame| pass(&mut relay, START, frame).unwrap());
    assert_eq!(relay.packet(slot.unwrap()), packet);

    // A receiver without memory for arriving datagrams, or without a slot, sends a null bitmap.
    for (slots, incoming, reason) in [(4, 0, DropReason::NoSlot), (1, 4, DropReason::NoSlot)] {
        let mut b = node(slots);
        b.recover_fragments(RecoveryConfig::default(), memory(4, incoming, 0));
        let held = (slots == 1).then(|| hold(&mut b, &packet));
        assert_eq!(b.input(START, A, B, &first[0]), Err(reason));
        assert_eq!(ack(&mut b, START, B, A).bitmap, Bitmap::NULL);
        held.into_iter().for_each(|slot| b.release(slot));
    }

    // A node without recovery does not know recoverable fragments.
    assert_eq!(
        node(4).input(START, A, B, &first[0]),
        Err(DropReason::Unsupported)
    );
}

/// §6.3: a reassembly without progress is given up, and the sender receives a null bitmap.
#[test]
fn a_reassembly_that_does_not_go_on_is_aborted() {
    let (mut a, mut b) = pair();
    let (_, first) = begin(&mut a, START, 6);
    receive(&mut b, ms(10), &first[0]);
    b.on_timeout(ms(3_009));
    assert_eq!(b.free_slots(), 3);
    b.on_timeout(ms(3_010));
    assert_eq!((b.free_slots(), b.counters().reassembly_timeout), (4, 1));
    assert_eq!(ack(&mut b, ms(3_010), B, A).bitmap, Bitmap::NULL);

    // A relay also removes a path without progress.
    let mut relay = recovering(RecoveryConfig::default());
    pass(&mut relay, ms(10), &first[0]).unwrap();
    frames(&mut relay, ms(10), B, C);
    relay.on_timeout(ms(3_010));
    assert_eq!(relay.counters().forward_timeout, 1);
    assert_eq!(relay.poll_at(), None);
}

/// Over links that lose, repeat and swap frames, in both directions, every packet arrives intact
/// and once, or is reported as lost. Nothing remains in memory.
#[test]
fn over_bad_links_packets_arrive_or_are_reported() {
    let mut rng = Rng::new(1);
    let (mut arrived, mut lost) = (0, 0);
    for round in 0..300 {
        let config = RecoveryConfig::default().with(|it| it.window = [32, 3][round % 2]);
        let mut nodes = [(); 3].map(|()| {
            let mut node = node(6);
            node.forward_fragments(forwarding(16));
            node.recover_fragments(config.clone(), memory(4, 4, 4));
            node
        });
        let names = [A, B, C];
        let packets: Vec<_> = (0..4).map(|i| packet(to_c(6), i, 150 + 150 * i)).collect();
        let mut whole = [0; 4];
        for packet in &packets {
            let slot = hold(&mut nodes[0], packet);
            nodes[0].queue(START, slot, B);
        }
        let mut now = START;
        let mut air: Vec<(Address, Address, Vec<u8>)> = Vec::new();
        for _ in 0..4_000 {
            for (node, name) in nodes.iter_mut().zip(names) {
                let sent = sends(node, now, name);
                air.extend(sent.into_iter().map(|(to, frame)| (name, to, frame)));
            }
            if air.is_empty() {
                let wakes = nodes.iter().filter_map(|node| node.poll_at());
                let Some(at) = wakes.map(|wake| wake.at).min() else {
                    break;
                };
                now = now.max(at);
                nodes.iter_mut().for_each(|node| node.on_timeout(now));
                continue;
            }
            let next = if rng.below(20) == 0 { air.len() - 1 } else { 0 };
            let (from, to, frame) = air.remove(next);
            for _ in 0..[1, 1, 1, 1, 1, 1, 1, 1, 0, 2][rng.below(10) as usize] {
                let index = names.iter().position(|name| *name == to).unwrap();
                let onward = Onward {
                    next_hop: C,
                    link_src: B,
                    capacity: CAPACITY,
                };
                let route = |_: &Ipv6Header| (to == B).then_some(onward);
                let node = &mut nodes[index];
                if let Ok(Some(slot)) = node.input_routed(now, from, to, &frame, route) {
                    if to == B {
                        // The relay had no room for a path, and has reassembled the datagram.
                        node.packet_mut(slot)[7] -= 1;
                        node.queue(now, slot, C);
                        continue;
                    }
                    let same = |p: &&Vec<u8>| one_hop_on((*p).clone()) == node.packet(slot);
                    whole[packets
                        .iter()
                        .position(|p| same(&p))
                        .expect("the packet is one of those sent")] += 1;
                    node.release(slot);
                }
            }
        }
        // A datagram that its sender restarts after its arrival may be delivered twice.
        let restarted = nodes[0].recovery_counters().restarted;
        let twice = whole.iter().filter(|n| **n > 1).count() as u32;
        assert!(twice <= restarted, "round {round}: {whole:?}");
        arrived += whole.iter().filter(|n| **n > 0).count();
        lost += nodes[0].counters().not_recovered;
        let counted = nodes[0].counters().datagrams_sent + nodes[0].counters().not_recovered;
        assert_eq!(counted, 4);
        for node in &nodes {
            assert_eq!((node.free_slots(), node.occupancy().current), (6, 0));
            assert_eq!(node.poll_at(), None);
        }
    }
    assert!(arrived > 1_000, "{arrived} arrived, {lost} reported lost");
}

/// Returns neighbour `n` and its first fragment of a datagram that has no other fragments.
fn made_up(n: u16) -> (Address, Vec<u8>) {
    let mut packet = packet(to_c(6), 3, 500);
    packet.truncate(80);
    let header = Fragment {
        ecn: false,
        tag: n as u8,
        ack_request: false,
        sequence: 0,
        size: 81,
        offset: 541,
    };
    let body = [&[0x41], &packet[..]].concat();
    (Address::Short(0x4000 + n), emit(header, &body))
}

/// RFC 8931 §6.3: a stalled datagram is evicted, because a first fragment is easy to forge.
#[test]
fn forged_first_fragments_do_not_block_a_datagram() {
    let mut c = recovering(RecoveryConfig::default());
    let (mut a, mut now) = (recovering(RecoveryConfig::default()), START);
    for n in 0..100 {
        let (from, frame) = made_up(n);
        now = ms(u64::from(n) * 100);
        let _ = c.input(now, from, C, &frame);
        // After each forged fragment, a packet in one frame and one in several arrive.
        let whole = [&[0x41], &packet(to_c(59), 3, 20)[..]].concat();
        let slot = c.input(now + Duration::from_millis(50), A, C, &whole);
        c.release(slot.expect("a slot").expect("a packet"));
        let slot = hold(&mut a, &packet(to_c(6), 3, 500));
        a.queue(now, slot, C);
        let mut arrived = None;
        for frame in frames(&mut a, now, A, C) {
            if let Ok(Some(slot)) = c.input(now + Duration::from_millis(60), A, C, &frame) {
                arrived = Some(slot);
            }
        }
        c.release(arrived.unwrap_or_else(|| panic!("datagram {n}")));
        let answers = sends(&mut c, now + Duration::from_millis(70), C);
        for (to, ack) in &answers {
            assert_eq!(*to, A, "nobody else is told much");
            let _ = a.input(now + Duration::from_millis(70), C, A, ack);
        }
    }
    c.on_timeout(now + Duration::from_secs(20));
    sends(&mut c, now + Duration::from_secs(20), C);
    c.on_timeout(now + Duration::from_secs(30));
    assert_eq!(c.free_slots(), 4);
    assert_eq!(c.tables(), redpoll_lowpan::LowpanTables::default());
}

/// Checks that a relay has a path for honest datagrams despite forged first fragments.
#[test]
fn forged_first_fragments_hold_a_path_for_a_limited_time() {
    let (mut a, mut relay) = pair();
    for n in 0..100 {
        let now = ms(u64::from(n) * 100);
        let (from, frame) = made_up(n);
        let onward = |_: &Ipv6Header| {
            Some(Onward {
                next_hop: C,
                link_src: B,
                capacity: CAPACITY,
            })
        };
        let _ = relay.input_routed(now, from, B, &frame, onward);
        frames(&mut relay, now, B, C);
        if n % 10 != 9 {
            continue;
        }
        let (_, honest) = begin(&mut a, now, 6);
        let full = Ack {
            ecn: false,
            tag: header(&honest[0]).tag,
            bitmap: Bitmap::FULL,
        };
        for frame in &honest {
            assert_eq!(pass(&mut relay, now, frame), Ok(None), "{n}");
        }
        assert_eq!(frames(&mut relay, now, B, C).len(), honest.len());
        a.input(now, B, A, &full.to_bytes()).unwrap();
    }
}
