//! Fragmentation: frames are as full as possible, and the reassembled packet equals the sent one.

use crate::common;

use common::*;
use redpoll_base::{Ecn, Instant};
use redpoll_lowpan::{
    COMPRESSED_HEADER_MAX, LossReason, LowpanEvent, frames_needed, mss_for_frames,
};
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::sixlowpan::fragment::Header;

fn pulled_frames(ip: Ipv6Header, payload_len: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut node = node(1);
    let (pulled, packet) = segment(7, ip, payload_len);
    assert!(node.start_segment(Instant::ZERO, pulled));
    let frames = drain(&mut node, Instant::ZERO);
    assert_eq!(
        node.poll_event(),
        Some(LowpanEvent::SegmentSent { handle: 7 })
    );
    (frames, packet)
}

fn reassembled(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut node = node(1);
    let (last, others) = frames.split_last().unwrap();
    for frame in others {
        assert_eq!(receive(&mut node, Instant::ZERO, frame), None);
    }
    let packet = receive(&mut node, Instant::ZERO, last).expect("the datagram is complete");
    assert_eq!(node.free_slots(), 1);
    packet
}

#[test]
fn a_segment_of_462_bytes_takes_five_frames() {
    let (frames, packet) = pulled_frames(ip(6), 462);
    assert_eq!(frames.len(), 5);
    assert_eq!(reassembled(&frames), packet);
    // FRAG1: 4 bytes of header, 3 of compressed IPv6 header, 104 of the packet. FRAGN: 5 bytes of
    // header, 104 of the packet. Eight more bytes would not fit.
    let lengths: Vec<_> = frames.iter().map(Vec::len).collect();
    assert_eq!(lengths, [111, 109, 109, 109, 83]);

    // As from a Linux host: the full source address and the flow label are sent uncompressed.
    let far = Ipv6Header {
        src: "2001:db8:1:2:3:4:5:6"
            .parse::<core::net::Ipv6Addr>()
            .unwrap()
            .into(),
        flow_label: 0xabcde,
        hop_limit: 61,
        ..ip(6)
    };
    let (frames, packet) = pulled_frames(far, 462);
    assert_eq!(frames.len(), 5);
    assert_eq!(reassembled(&frames), packet);
}

#[test]
fn the_mss_for_n_frames_fills_n_frames_exactly() {
    // The compressed header has 3 bytes: only the next header is in-line.
    let header_len = 3;
    for frames in 1..=11u8 {
        let mss = usize::from(mss_for_frames(frames, header_len, CAPACITY));
        let (sent, packet) = pulled_frames(ip(6), mss);
        assert_eq!(sent.len(), usize::from(frames), "MSS {mss}");
        assert_eq!(sent.last().unwrap().len(), CAPACITY, "MSS {mss}");
        assert_eq!(reassembled(&sent), packet);
        let (sent, packet) = pulled_frames(ip(6), mss + 1);
        assert_eq!(sent.len(), usize::from(frames) + 1, "MSS {mss} + 1");
        assert_eq!(reassembled(&sent), packet);
    }
}

#[test]
fn announced_sizes_agree_with_the_sent_fragments() {
    for len in 0..=1100 {
        let (sent, _) = pulled_frames(ip(6), len);
        assert_eq!(
            frames_needed(32 + len, 3, CAPACITY),
            Some(sent.len()),
            "{len}"
        );
    }
    assert_eq!(mss_for_frames(5, COMPRESSED_HEADER_MAX, CAPACITY), 463);
    assert_eq!(mss_for_frames(0, 3, CAPACITY), 0);
    assert_eq!(mss_for_frames(255, 3, CAPACITY), 1280 - 40 - 32);
    assert_eq!(mss_for_frames(5, 40, 43), 0);
    assert_eq!(frames_needed(100, 40, 43), None);
    assert_eq!(frames_needed(100, 3, 12), None);
}

#[test]
fn a_datagram_that_fits_into_one_frame_is_not_fragmented() {
    let largest = CAPACITY - 3;
    let frames = frames_of(&packet(ip(6), 1, largest), 0);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].len(), CAPACITY);
    assert_eq!(reassembled(&frames), packet(ip(6), 1, largest));
    assert_eq!(frames_of(&packet(ip(6), 1, largest + 1), 0).len(), 2);
}

/// A packet of any length up to the MTU is reassembled unchanged, as TCP and as compressed UDP.
#[test]
fn every_length_comes_out_as_it_went_in() {
    for len in 0..=1240 {
        let tcp = packet(ip(6), len, len);
        assert_eq!(reassembled(&frames_of(&tcp, len as u16)), tcp);
        if len >= 8 {
            let udp = udp_packet(len, len - 8);
            let frames = frames_of(&udp, len as u16);
            assert_eq!(reassembled(&frames), udp);
            if frames.len() == 1 {
                // 2 bytes of compressed IPv6 header, and 6 of UDP header with one short port.
                assert_eq!(frames[0].len(), 2 + 6 + len - 8);
            }
        }
    }
}

/// A UDP packet whose length field disagrees with IPv6 is carried unchanged.
#[test]
fn an_odd_udp_header_is_not_repaired() {
    let mut odd = udp_packet(1, 300);
    odd[45] ^= 1;
    assert_eq!(reassembled(&frames_of(&odd, 0)), odd);
}

#[test]
fn traffic_class_and_flow_label_survive() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        for (dscp, flow_label) in [(0, 0), (46, 0), (0, 0x12345), (46, 0x12345)] {
            for payload_len in [0, 462] {
                let header = Ipv6Header {
                    ecn,
                    dscp,
                    flow_label,
                    hop_limit: 63,
                    ..ip(6)
                };
                let (frames, packet) = pulled_frames(header, payload_len);
                let arrived = reassembled(&frames);
                assert_eq!(arrived, packet);
                let (header, _) = Ipv6Header::parse(&arrived).unwrap();
                assert_eq!((header.ecn, header.dscp), (ecn, dscp));
            }
        }
    }
}

/// RFC 4944 §5.3: "The sender SHALL increment datagram_tag for successive,
/// fragmented datagrams"; 65535 is followed by zero.
#[test]
fn tags_count_fragmented_datagrams_and_wrap() {
    let mut node = node_with(
        redpoll_lowpan::LowpanConfig::default().with(|it| it.first_tag = u16::MAX),
        4,
        1280,
    );
    for (seed, len) in [(1, 300), (2, 20), (3, 300)] {
        let slot = hold(&mut node, &packet(ip(6), seed, len));
        node.queue(Instant::ZERO, slot, B);
    }
    let tags: Vec<_> = drain(&mut node, Instant::ZERO)
        .iter()
        .filter_map(|frame| Header::parse(frame).ok())
        .map(|(header, _)| header.tag())
        .collect();
    assert_eq!(tags, [u16::MAX, u16::MAX, u16::MAX, 0, 0, 0]);
}

#[test]
fn oversized_datagrams_are_dropped_with_their_reason() {
    let lost = |reason| {
        Some(LowpanEvent::DatagramDropped {
            next_hop: B,
            reason,
        })
    };
    let mut node = node_with(Default::default(), 4, 3000);
    let slot = hold(&mut node, &packet(ip(6), 1, 2008));
    node.queue(Instant::ZERO, slot, B);
    assert!(drain(&mut node, Instant::ZERO).is_empty());
    assert_eq!(node.poll_event(), lost(LossReason::Unsendable));

    // Three malformed packets: one is not IPv6, one is too short, one has a byte after its payload.
    let mut wrong = packet(ip(6), 1, 200);
    wrong[0] = 0x45;
    let slot = hold(&mut node, &wrong);
    node.queue(Instant::ZERO, slot, B);
    let slot = hold(&mut node, &packet(ip(6), 1, 200)[..200]);
    node.queue(Instant::ZERO, slot, B);
    let mut trailing = packet(ip(6), 1, 200);
    trailing.push(0);
    let slot = hold(&mut node, &trailing);
    node.queue(Instant::ZERO, slot, B);
    assert!(drain(&mut node, Instant::ZERO).is_empty());
    assert_eq!(node.poll_event(), lost(LossReason::Malformed));
    assert_eq!(node.poll_event(), None);
    assert_eq!(node.counters().malformed_out, 3);

    // With frames of less than 13 bytes, the headers do not fit and the segment is lost.
    for capacity in 0..14 {
        let (pulled, _) = segment(3, ip(6), 462);
        assert!(node.start_segment(Instant::ZERO, pulled));
        let mut out = [0; CAPACITY];
        let mut frames = 0;
        while node
            .next_frame(Instant::ZERO, A, capacity, &mut out, &mut Source::default())
            .is_some()
        {
            frames += 1;
            node.on_frame_done(Instant::ZERO, true);
        }
        let event = node.poll_event();
        if capacity < 13 {
            let reason = LossReason::Unsendable;
            assert_eq!(event, Some(LowpanEvent::SegmentLost { handle: 3, reason }));
        } else {
            assert_eq!(event, Some(LowpanEvent::SegmentSent { handle: 3 }));
            assert!(frames > 50);
        }
    }
    assert_eq!(node.free_slots(), 4);
}

/// A relay receives a packet into a slot, changes the hop limit there, and sends the packet on.
#[test]
fn a_relay_forwards_from_the_slot_it_received_into() {
    let sent = packet(ip(6), 5, 494);
    let mut relay = node(1);
    let mut arrived = None;
    for frame in frames_of(&sent, 9) {
        arrived = relay.input(Instant::ZERO, A, B, &frame).unwrap();
    }
    let slot = arrived.expect("the datagram is complete");
    assert_eq!(relay.link_source(slot), Some(A));
    assert_eq!(
        redpoll_wire::ipv6::decrement_hop_limit(relay.packet_mut(slot)),
        Some(63)
    );
    relay.queue(Instant::ZERO, slot, C);
    // A queued packet no longer belongs to the caller.
    assert!(relay.packet(slot).is_empty());
    relay.release(slot);
    assert_eq!(relay.free_slots(), 0);

    let mut last = node(1);
    let mut arrived = None;
    let mut out = [0; CAPACITY];
    while let Some(frame) =
        relay.next_frame(Instant::ZERO, B, CAPACITY, &mut out, &mut Source::default())
    {
        assert_eq!(frame.dst, C);
        arrived = last.input(Instant::ZERO, B, C, &out[..frame.len]).unwrap();
        relay.on_frame_done(Instant::ZERO, true);
    }
    let mut expected = sent;
    expected[7] = 63;
    assert_eq!(last.packet(arrived.unwrap()), expected);
    assert_eq!(relay.free_slots(), 1);
    assert_eq!(relay.counters().datagrams_sent, 1);
}
