//! Fragments that a relay forwards from `A` to `C` (RFC 8930).

use crate::common;

use common::*;
use redpoll_base::{Duration, Instant, Rng};
use redpoll_lowpan::{
    DropReason, ForwardingMemory, FragmentBuffer, LossReason, LowpanConfig, LowpanEvent, Onward,
    SlotId, VirtualBuffer,
};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::fragment::Header;

const START: Instant = Instant::ZERO;

fn forwarding(datagrams: usize, fragments: usize) -> ForwardingMemory<Heap> {
    ForwardingMemory {
        datagrams: vec![VirtualBuffer::EMPTY; datagrams].into(),
        fragments: vec![FragmentBuffer::EMPTY; fragments].into(),
    }
}

fn relay_with(config: LowpanConfig, datagrams: usize, fragments: usize) -> Node {
    let mut relay = node_with(config, 2, 1280);
    relay.forward_fragments(forwarding(datagrams, fragments));
    relay
}

fn relay() -> Node {
    let config = LowpanConfig::default().with(|it| it.first_tag = 700);
    relay_with(config, 4, 16)
}

/// Returns the frames of a packet from `A` to `C`, as `A` sends them to the relay `B`.
fn from_a(packet: &[u8], first_tag: u16) -> Vec<Vec<u8>> {
    let config = LowpanConfig::default().with(|it| it.first_tag = first_tag);
    let mut a = node_with(config, 2, 1280);
    a.forward_fragments(forwarding(1, 1));
    let slot = hold(&mut a, packet);
    a.queue(START, slot, B);
    drain(&mut a, START)
}

fn to_c(next_header: u8) -> Ipv6Header {
    Ipv6Header {
        dst: addr(3),
        ..ip(next_header)
    }
}

/// Delivers a fragment from `A` to the relay, which forwards it to `C`.
fn pass(relay: &mut Node, now: Instant, frame: &[u8]) -> Result<Option<SlotId>, DropReason> {
    relay.input_routed(now, A, B, frame, |_| {
        Some(Onward {
            next_hop: C,
            link_src: B,
            capacity: CAPACITY,
        })
    })
}

fn leaves(relay: &mut Node, now: Instant) -> Option<(Address, Vec<u8>)> {
    let mut out = [0; CAPACITY];
    let frame = relay.next_frame(now, B, CAPACITY, &mut out, &mut Source::default())?;
    Some((frame.dst, out[..frame.len].to_vec()))
}

fn all(relay: &mut Node, now: Instant) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some((dst, frame)) = leaves(relay, now) {
        assert_eq!(dst, C);
        frames.push(frame);
        relay.on_frame_done(now, true);
    }
    frames
}

fn at_c(frames: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut c = node(2);
    let mut whole = None;
    for frame in frames {
        if let Ok(Some(slot)) = c.input(START, B, C, frame) {
            assert!(whole.is_none());
            whole = Some(c.packet(slot).to_vec());
        }
    }
    whole
}

fn one_hop_on(mut packet: Vec<u8>) -> Vec<u8> {
    packet[7] -= 1;
    packet
}

/// RFC 8930 §5: each fragment is forwarded as soon as it has arrived, with the relay's own tag. The
/// first has the headers compressed for the next link. No slot is taken.
#[test]
fn fragments_pass_through_as_they_come() {
    for packet in [packet(to_c(6), 3, 700), {
        let mut udp = udp_packet(3, 600);
        udp[24..40].copy_from_slice(&addr(3).0);
        udp
    }] {
        let frames = from_a(&packet, 41);
        assert!(frames.len() >= 6);
        let mut relay = relay();
        let mut onward = Vec::new();
        for frame in &frames {
            assert_eq!(pass(&mut relay, START, frame), Ok(None));
            let sent = all(&mut relay, START);
            assert_eq!(sent.len(), 1);
            assert_eq!(Header::parse(&sent[0]).unwrap().0.tag(), 700);
            onward.extend(sent);
        }
        assert_eq!(relay.free_slots(), 2);
        assert_eq!(relay.counters().datagrams_forwarded, 1);
        assert_eq!(relay.counters().fragments_forwarded, frames.len() as u32);
        assert_eq!(relay.occupancy().current, 0);
        assert_eq!(at_c(&onward), Some(one_hop_on(packet)));
        // The last fragment again, as if its acknowledgement was lost.
        let again = pass(&mut relay, START, frames.last().unwrap());
        assert_eq!(again, Err(DropReason::Duplicate));
    }
}

/// For any length, the first fragment leaves room for longer headers.
#[test]
fn a_first_fragment_has_room_to_grow() {
    for dscp in [0, 1] {
        for len in 300..316 {
            let header = Ipv6Header { dscp, ..to_c(6) };
            let packet = packet(header, 1, len);
            let frames = from_a(&packet, 0);
            let mut relay = relay();
            for frame in &frames {
                assert_eq!(pass(&mut relay, START, frame), Ok(None));
            }
            assert_eq!(relay.counters().datagrams_forwarded, 1, "{dscp} {len}");
            assert_eq!(at_c(&all(&mut relay, START)), Some(one_hop_on(packet)));
        }
    }
}

#[test]
fn after_a_gap_the_rest_is_dropped() {
    let frames = from_a(&packet(to_c(6), 3, 700), 41);
    let mut relay = relay();
    pass(&mut relay, START, &frames[0]).unwrap();
    pass(&mut relay, START, &frames[1]).unwrap();
    assert_eq!(
        pass(&mut relay, START, &frames[1]),
        Err(DropReason::Duplicate)
    );
    assert_eq!(
        pass(&mut relay, START, &frames[3]),
        Err(DropReason::FragmentGap)
    );
    assert_eq!(leaves(&mut relay, START), None);
    assert!(!relay.has_frame());
    assert_eq!(pass(&mut relay, START, &frames[4]), Err(DropReason::Orphan));
    assert_eq!(relay.counters().fragment_gap, 1);
    assert_eq!(relay.free_slots(), 2);
}

/// If the link loses a fragment, the relay forwards neither the waiting fragments nor the later
/// fragments. With `drop_rest` off it forwards them.
#[test]
fn a_lost_fragment_takes_the_others_with_it() {
    for drop_rest in [true, false] {
        let config = LowpanConfig::default().with(|it| it.drop_rest = drop_rest);
        let mut relay = relay_with(config, 4, 16);
        let frames = from_a(&packet(to_c(6), 3, 700), 41);
        for frame in &frames[..3] {
            pass(&mut relay, START, frame).unwrap();
        }
        leaves(&mut relay, START).unwrap();
        relay.on_frame_done(START, false);
        let dropped = LowpanEvent::DatagramDropped {
            next_hop: C,
            reason: LossReason::LinkFailure,
        };
        assert_eq!(relay.poll_event(), Some(dropped));
        assert_eq!(relay.counters().link_failure, 1);
        assert_eq!(leaves(&mut relay, START).is_some(), !drop_rest);
        let next = pass(&mut relay, START, &frames[3]);
        assert_eq!(next.err(), drop_rest.then_some(DropReason::Orphan));
    }
}

#[test]
fn memory_limits_the_datagrams_in_transit() {
    // The fourth fragment finds no free buffer: the relay drops the datagram with its first three
    // fragments.
    let mut relay = relay_with(LowpanConfig::default(), 4, 3);
    let frames = from_a(&packet(to_c(6), 3, 700), 41);
    for frame in &frames[..3] {
        pass(&mut relay, START, frame).unwrap();
    }
    let full = pass(&mut relay, START, &frames[3]);
    assert_eq!(full, Err(DropReason::NoFragmentBuffer));
    assert_eq!(relay.counters().no_fragment_buffer, 1);
    assert_eq!(leaves(&mut relay, START), None);
    assert_eq!(pass(&mut relay, START, &frames[4]), Err(DropReason::Orphan));

    // A second datagram finds no free entry, so the relay reassembles it.
    let mut relay = relay_with(LowpanConfig::default(), 1, 16);
    pass(&mut relay, START, &frames[0]).unwrap();
    let second = packet(to_c(6), 5, 200);
    let slot = from_a(&second, 42)
        .iter()
        .find_map(|frame| pass(&mut relay, START, frame).unwrap());
    assert_eq!(relay.packet(slot.unwrap()), second);
}

/// RFC 8930 §5 requires "a timer that allows discarding the stale 6LFF state".
#[test]
fn a_datagram_that_does_not_go_on_is_forgotten() {
    let mut relay = relay();
    let frames = from_a(&packet(to_c(6), 3, 700), 41);
    pass(&mut relay, ms(10), &frames[0]).unwrap();
    assert_eq!(all(&mut relay, ms(20)).len(), 1);
    assert_eq!(relay.poll_at().unwrap().at, ms(3_010));
    relay.on_timeout(ms(3_009));
    assert_eq!(relay.counters().forward_timeout, 0);
    relay.on_timeout(ms(3_010));
    assert_eq!(relay.counters().forward_timeout, 1);
    assert_eq!(relay.poll_at(), None);
    assert_eq!(
        pass(&mut relay, ms(3_020), &frames[1]),
        Err(DropReason::Orphan)
    );
}

#[test]
fn without_a_route_or_memory_a_datagram_is_reassembled() {
    let packet = packet(to_c(6), 3, 700);
    let frames = from_a(&packet, 41);
    let mut with = relay();
    let mut without = node(2);
    for relay in [&mut with, &mut without] {
        let asks = |relay: &mut Node, frame| relay.input_routed(START, A, B, frame, |_| None);
        let slot = frames.iter().find_map(|frame| asks(relay, frame).unwrap());
        assert_eq!(relay.packet(slot.unwrap()), packet);
    }
    let slot = frames
        .iter()
        .find_map(|frame| pass(&mut without, ms(9_000), frame).unwrap());
    assert!(slot.is_some());
}

#[test]
fn forwarded_datagrams_take_turns_with_own_ones() {
    let mut relay = node(4);
    relay.forward_fragments(forwarding(4, 16));
    for tag in [1, 2] {
        for frame in &from_a(&packet(to_c(6), 3, 200), tag) {
            pass(&mut relay, START, frame).unwrap();
        }
    }
    let own = Ipv6Header {
        src: addr(2),
        ..to_c(59)
    };
    for _ in 0..2 {
        let slot = hold(&mut relay, &packet(own, 9, 20));
        relay.queue(START, slot, C);
    }
    let mut order = String::new();
    while let Some((_, frame)) = leaves(&mut relay, START) {
        order.push(match Header::parse(&frame) {
            Ok((Header::First { .. }, _)) => 'F',
            Ok((Header::Next { .. }, _)) => 'n',
            Err(_) => 'o',
        });
        relay.on_frame_done(START, true);
    }
    let per_datagram = (order.len() - 2) / 2;
    let datagram = format!("F{}", "n".repeat(per_datagram - 1));
    assert_eq!(order, format!("{datagram}o{datagram}o"));
}

/// RFC 8930 §5: fragments are "separated with an inter-frame gap". Other datagrams may use the gap.
#[test]
fn fragments_leave_a_gap_for_others() {
    let config = LowpanConfig::default().with(|it| it.fragment_gap = Duration::from_millis(10));
    let mut relay = relay_with(config, 4, 16);
    let own = Ipv6Header {
        src: addr(2),
        ..to_c(6)
    };
    let slot = hold(&mut relay, &packet(own, 9, 200));
    relay.queue(START, slot, C);
    leaves(&mut relay, START).unwrap();
    relay.on_frame_done(START, true);
    assert_eq!(leaves(&mut relay, ms(9)), None);
    assert_eq!(relay.poll_at().unwrap().at, ms(10));
    pass(&mut relay, ms(9), &from_a(&packet(to_c(6), 3, 200), 7)[0]).unwrap();
    assert!(leaves(&mut relay, ms(9)).is_some());
    relay.on_frame_done(ms(9), true);
    let (_, frame) = leaves(&mut relay, ms(10)).unwrap();
    assert!(matches!(
        Header::parse(&frame),
        Ok((Header::Next { .. }, _))
    ));
}

/// Over links that lose, repeat and swap fragments, datagrams arrive intact and at most once, and
/// all memory is freed.
#[test]
fn over_bad_links_packets_arrive_intact_or_not_at_all() {
    let mut rng = Rng::new(1);
    let mut arrived = 0;
    for round in 0..400 {
        let mut relay = relay_with(LowpanConfig::default(), 3, 12);
        let mut c = node(4);
        let packets: Vec<_> = (0..4).map(|i| packet(to_c(6), i, 150 + 150 * i)).collect();
        let mut frames: Vec<_> = (0..4).flat_map(|i| from_a(&packets[i], i as u16)).collect();
        for i in 1..frames.len() {
            if rng.below(30) == 0 {
                frames.swap(i - 1, i);
            }
        }
        let mut whole = [0; 4];
        for frame in &frames {
            for _ in 0..[1, 1, 1, 1, 1, 1, 1, 1, 0, 2][rng.below(10) as usize] {
                if let Ok(Some(slot)) = pass(&mut relay, START, frame) {
                    relay.release(slot);
                }
            }
            while rng.below(2) == 0
                && let Some((_, frame)) = leaves(&mut relay, START)
            {
                let delivered = rng.below(20) > 0;
                relay.on_frame_done(START, delivered);
                if delivered && let Ok(Some(slot)) = c.input(START, B, C, &frame) {
                    let is_same = |p: &&Vec<u8>| one_hop_on((*p).clone()) == c.packet(slot);
                    let which = packets
                        .iter()
                        .position(|p| is_same(&p))
                        .expect("the packet is one of those sent");
                    whole[which] += 1;
                    c.release(slot);
                }
            }
        }
        assert!(whole.iter().all(|n| *n <= 1), "round {round}: {whole:?}");
        arrived += whole.iter().sum::<i32>();
        let end = ms(60_000);
        relay.on_timeout(end);
        all(&mut relay, end);
        assert_eq!(relay.free_slots(), 2);
        assert_eq!(relay.occupancy().current, 0);
        assert_eq!(relay.poll_at(), None);
    }
    assert!(arrived > 300, "{arrived}");
}
