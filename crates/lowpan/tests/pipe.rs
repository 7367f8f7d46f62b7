//! Property tests with random links, random bytes and random orders of calls.

use crate::common;

use std::collections::{HashMap, HashSet};

use common::*;
use proptest::prelude::*;
use redpoll_base::{Duration, Instant, Rng};
use redpoll_lowpan::LowpanConfig;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::fragment::Header;

/// The probability in percent of each effect of a link on a frame, and the largest number of places
/// by which the link moves a frame.
#[derive(Clone, Copy, Debug)]
struct Link {
    loss: u32,
    duplication: u32,
    reordering: u32,
    displacement: usize,
}

fn link() -> impl Strategy<Value = Link> {
    (0..40u32, 0..40u32, 0..40u32, 0..8usize).prop_map(
        |(loss, duplication, reordering, displacement)| Link {
            loss,
            duplication,
            reordering,
            displacement,
        },
    )
}

/// Returns the frames in the order of their arrival: the datagram of each frame, and its bytes.
fn carry(link: Link, frames: Vec<(usize, Vec<u8>)>, rng: &mut Rng) -> Vec<(usize, Vec<u8>)> {
    let mut arrivals = Vec::new();
    let place = |i: usize, rng: &mut Rng| {
        let moved = rng.below(100) < link.reordering;
        let by = if moved {
            rng.below(link.displacement as u32 + 1)
        } else {
            0
        };
        (i * 2 + by as usize * 2, rng.next_u32())
    };
    for (i, frame) in frames.into_iter().enumerate() {
        if rng.below(100) < link.loss {
            continue;
        }
        // Only fragments are copied, because the MAC recognises copies of unfragmented packets.
        if rng.below(100) < link.duplication && Header::parse(&frame.1).is_ok() {
            arrivals.push((place(i, rng), frame.clone()));
        }
        arrivals.push((place(i, rng), frame));
    }
    arrivals.sort_by_key(|(place, _)| *place);
    arrivals.into_iter().map(|(_, frame)| frame).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Over any link, packets arrive intact and at most once. If a packet is missing although all
    /// its frames arrived, a counter has the reason.
    #[test]
    fn packets_arrive_intact_at_most_once(
        link in link(),
        seed: u64,
        slots in 1usize..5,
        lengths in prop::collection::vec(0usize..1200, 1..30),
    ) {
        let mut rng = Rng::new(seed);
        let packets: Vec<_> = lengths
            .iter()
            .enumerate()
            // The first four payload bytes are the index of the packet.
            .map(|(i, len)| {
                let mut packet = packet(ip(6), i, len + 4);
                packet[40..44].copy_from_slice(&(i as u32).to_be_bytes());
                packet
            })
            .collect();
        let mut frames = Vec::new();
        for (i, packet) in packets.iter().enumerate() {
            frames.extend(frames_of(packet, i as u16).into_iter().map(|frame| (i, frame)));
        }
        let sent: HashMap<usize, usize> = frames.iter().fold(HashMap::new(), |mut all, (i, _)| {
            *all.entry(*i).or_default() += 1;
            all
        });
        let arrivals = carry(link, frames, &mut rng);
        let mut carried: HashMap<usize, HashSet<Vec<u8>>> = HashMap::new();
        for (i, frame) in &arrivals {
            carried.entry(*i).or_default().insert(frame.clone());
        }

        let mut receiver = node(slots);
        let mut received = HashSet::new();
        let mut now = Instant::ZERO;
        for (_, frame) in &arrivals {
            now += Duration::from_millis(8);
            if let Ok(Some(slot)) = receiver.input(now, A, B, frame) {
                let bytes = receiver.packet(slot);
                let i = u32::from_be_bytes(bytes[40..44].try_into().unwrap()) as usize;
                prop_assert_eq!(bytes, &packets[i][..]);
                prop_assert!(received.insert(i), "packet {} twice", i);
                receiver.release(slot);
            }
        }
        receiver.on_timeout(now + Duration::from_secs(60));
        prop_assert_eq!(receiver.free_slots(), slots);
        prop_assert_eq!(receiver.poll_at(), None);

        // Datagrams that are missing although all frames arrived were dropped with a reason.
        let withheld = sent
            .iter()
            .filter(|(i, count)| carried.get(i).map_or(0, HashSet::len) == **count)
            .filter(|(i, _)| !received.contains(i))
            .count();
        let counters = receiver.counters();
        let named = counters.no_slot + counters.evicted + counters.reassembly_timeout;
        prop_assert!(withheld as u32 <= named, "{} withheld, {:?}", withheld, counters);
        prop_assert_eq!(counters.malformed + counters.unsupported + counters.overlap, 0);
        prop_assert_eq!(counters.packets_received as usize, received.len());
        // Without loss and reordering, all packets arrive, despite duplicates and a single slot.
        if link.loss == 0 && link.reordering == 0 {
            prop_assert_eq!(received.len(), packets.len());
        }
    }

    /// Random bytes, and frames with random changes, cause no panic and leave all slots free. Each
    /// delivered packet is IPv6 with a correct length.
    #[test]
    fn random_frames_cause_no_panic_and_keep_no_slot(
        seed: u64,
        slot_size in 0usize..1400,
        frames in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..126), 0u8..8, any::<bool>()),
            1..60,
        ),
    ) {
        let mut rng = Rng::new(seed);
        let genuine = frames_of(&packet(ip(6), 1, 494), 1);
        let mut receiver = node_with(LowpanConfig::default(), 3, slot_size);
        let mut now = Instant::ZERO;
        for (bytes, kind, extended) in frames {
            now += Duration::from_millis(u64::from(rng.below(1_000)));
            let mut frame = bytes;
            match (kind, &mut frame[..]) {
                // Gives the frame a beginning with a valid dispatch.
                (0, [first, ..]) => *first = 0x60 | *first & 0x1f,
                (1, [first, ..]) => *first = 0xc0 | *first & 0x03,
                (2, [first, ..]) => *first = 0xe0 | *first & 0x03,
                (3, [first, second, ..]) => (*first, *second) = (0x41, 0x60),
                (4, [a, b, c, d, e, ..]) => {
                    (*a, *b, *c, *d, *e) = (0xc0, *b & 0x7f, 0, *d & 1, 0x60 | *e & 0x1f);
                }
                (5 | 6, _) => {
                    frame = genuine[rng.below(5) as usize].clone();
                    let at = rng.below(frame.len() as u32 + 20) as usize;
                    if let Some(byte) = frame.get_mut(at) {
                        *byte = rng.next_u32() as u8;
                    }
                }
                _ => {}
            }
            let src = if extended { Address::Extended([7; 8]) } else { A };
            if let Ok(Some(slot)) = receiver.input(now, src, B, &frame) {
                let (_, payload) = redpoll_wire::ipv6::Ipv6Header::parse(receiver.packet(slot)).unwrap();
                prop_assert_eq!(payload.len() + 40, receiver.packet(slot).len());
                receiver.release(slot);
            }
        }
        receiver.on_timeout(now + Duration::from_secs(10));
        prop_assert_eq!(receiver.free_slots(), 3);
    }

    /// With any order of calls on the sending side, each accepted segment gets one event, all slots
    /// become free, and at most one frame is out at a time.
    #[test]
    fn every_segment_ends_exactly_once(
        steps in prop::collection::vec((0u8..6, 0usize..1300, any::<bool>()), 1..200),
    ) {
        let mut node = node(4);
        let mut now = Instant::ZERO;
        let (mut taken, mut ended, mut out) = (0u32, 0u32, false);
        let mut count = |node: &mut Node| while let Some(event) = node.poll_event() {
            use redpoll_lowpan::LowpanEvent::*;
            match event {
                SegmentSent { handle } | SegmentLost { handle, .. } => {
                    ended += 1;
                    assert_eq!(handle, ended);
                }
                DatagramDropped { .. } => {}
                other => panic!("{other:?}"),
            }
        };
        for (step, len, good) in steps {
            now += Duration::from_millis(1);
            match step {
                0 if node.wants_segment() || good => {
                    let wanted = node.wants_segment();
                    let accepted = node.start_segment(now, segment(taken + 1, ip(6), len).0);
                    prop_assert!(accepted || !wanted);
                    taken += u32::from(accepted);
                }
                1 => {
                    if let Some(slot) = node.allocate(len) {
                        let header = packet(ip(6), len, len.saturating_sub(40));
                        let keep = header.len().min(len);
                        node.packet_mut(slot)[..keep].copy_from_slice(&header[..keep]);
                        if good { node.queue(now, slot, C) } else { node.release(slot) }
                    }
                }
                2 | 3 => {
                    let mut source = Source { reads_left: (!good).then_some(0), reads: 0 };
                    let frame = next_frame(&mut node, now, &mut source);
                    prop_assert!(!(out && frame.is_some()));
                    out |= frame.is_some();
                }
                4 => {
                    node.on_frame_done(now, good);
                    out = false;
                }
                _ => count(&mut node),
            }
        }
        node.on_frame_done(now, true);
        drain(&mut node, now);
        count(&mut node);
        prop_assert_eq!(taken, ended);
        prop_assert_eq!(node.free_slots(), 4);
        prop_assert_eq!(node.occupancy().current, 0);
    }
}
