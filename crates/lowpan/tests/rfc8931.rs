//! RFC 8931: `A` sends recoverable fragments to `B`, and retransmits lost fragments individually.

use crate::common;

use common::recoverable::*;
use common::*;
use redpoll_base::Duration;
use redpoll_lowpan::{DropReason, LossReason, LowpanConfig, LowpanEvent, RecoveryConfig};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::recoverable::{Ack, Bitmap, Fragment};
use redpoll_wire::sixlowpan::{Dispatch, dispatch};

/// §5.1, §6: sequence numbers count from 0, sizes and offsets refer to the compressed form, and the
/// last fragment requests an acknowledgment; §4.1: the first has room for a longer header.
#[test]
fn a_datagram_leaves_in_recoverable_fragments() {
    let (mut a, _) = pair();
    let (packet, frames) = begin(&mut a, START, 6);
    let n = frames.len();
    let asks: Vec<_> = (0..n).map(|i| (i as u8, i + 1 == n)).collect();
    assert_eq!(sequences(&frames), asks);
    let first = header(&frames[0]);
    assert!(frames[0].len() + 9 <= CAPACITY);
    assert!(frames[1..n - 1].iter().all(|f| f.len() == CAPACITY));
    let mut covered = first.size;
    for frame in &frames[1..] {
        let header = header(frame);
        assert_eq!((header.tag, header.offset), (first.tag, covered));
        covered += header.size;
    }
    assert_eq!(first.offset, covered);
    // The compressed header has seven bytes: two of encoding, the next header, and 16 bits of each
    // address.
    assert!(usize::from(covered) < packet.len() - 30);
}

/// §6: a datagram that has arrived is acknowledged with a full bitmap. Only then it counts as sent.
#[test]
fn a_full_bitmap_ends_a_datagram() {
    let (mut a, mut b) = pair();
    let (packet, frames) = begin(&mut a, START, 6);
    assert_eq!(a.counters().datagrams_sent, 0);
    let (last, others) = frames.split_last().unwrap();
    for frame in others {
        assert_eq!(receive(&mut b, START, frame), None);
        assert!(!b.has_frame(), "nobody asked");
    }
    assert_eq!(receive(&mut b, START, last), Some(packet));
    let ack = ack(&mut b, START, B, A);
    assert_eq!(ack.bitmap, Bitmap::FULL);
    assert_eq!(ack.tag, header(last).tag);
    a.input(START, B, A, &ack.to_bytes()).unwrap();
    assert_eq!(a.counters().datagrams_sent, 1);
    assert_eq!((a.free_slots(), a.occupancy().current), (4, 0));
    assert_eq!(a.poll_at(), None);
}

/// A segment counts as sent only when all its fragments have arrived, retransmitted ones included.
#[test]
fn a_segment_has_been_sent_when_it_has_arrived() {
    let (mut a, mut b) = pair();
    let (segment, packet) = segment(7, ip(6), 462);
    assert!(a.start_segment(START, segment));
    let frames_out = frames(&mut a, START, A, B);
    assert_eq!(a.poll_event(), None);
    assert!(a.wants_segment(), "others may follow meanwhile");
    for (i, frame) in frames_out.iter().enumerate() {
        if i != 2 {
            assert_eq!(receive(&mut b, START, frame), None);
        }
    }
    let partial = ack(&mut b, START, B, A);
    a.input(START, B, A, &partial.to_bytes()).unwrap();
    let again = frames(&mut a, START, A, B);
    assert_eq!(sequences(&again), [(2, true)]);
    assert_eq!(receive(&mut b, START, &again[0]), Some(packet));
    let full = ack(&mut b, START, B, A);
    a.input(START, B, A, &full.to_bytes()).unwrap();
    let sent = LowpanEvent::SegmentSent { handle: 7 };
    assert_eq!(a.poll_event(), Some(sent));
    assert_eq!(a.poll_event(), None);
    assert_eq!(a.recovery_counters().repeated, 1);
}

/// §6: "lost fragments MUST be retried in sequence, oldest first". Only the lost fragments are
/// retransmitted.
#[test]
fn only_lost_fragments_are_retransmitted() {
    let (mut a, mut b) = pair();
    let (packet, first) = begin(&mut a, START, 6);
    assert_eq!(first.len(), 5);
    for i in [0, 2, 4] {
        receive(&mut b, START, &first[i]);
    }
    let partial = ack(&mut b, START, B, A);
    assert_eq!(partial.bitmap, bits(&[0, 2, 4]));
    assert_eq!(a.poll_at().unwrap().at, ms(500));
    a.input(ms(40), B, A, &partial.to_bytes()).unwrap();
    let again = frames(&mut a, ms(40), A, B);
    assert_eq!(sequences(&again), [(1, false), (3, true)]);
    // Fragment 3 is lost again, and the link does not report this. The timer detects the loss,
    // after a first measured round-trip time of 40 ms (RFC 6298 §2.2).
    assert_eq!(receive(&mut b, ms(60), &again[0]), None);
    assert_eq!(a.poll_at().unwrap().at, ms(40 + 40 + 4 * 20));
    a.on_timeout(ms(160));
    let third = frames(&mut a, ms(160), A, B);
    assert_eq!(sequences(&third), [(3, true)]);
    assert_eq!(receive(&mut b, ms(160), &third[0]), Some(packet));
}

/// RFC 6298 §3: an acknowledgment after a timeout may answer the first request or the retransmitted
/// one, so it gives no round-trip time.
#[test]
fn an_ambiguous_round_trip_is_not_measured() {
    let (mut a, mut b) = pair();
    let (_, first) = begin(&mut a, START, 6);
    for frame in &first[..4] {
        receive(&mut b, START, frame);
    }
    a.on_timeout(ms(500));
    let again = frames(&mut a, ms(500), A, B);
    let partial = Ack {
        ecn: false,
        tag: header(&again[0]).tag,
        bitmap: bits(&[0, 1, 2]),
    };
    a.input(ms(501), B, A, &partial.to_bytes()).unwrap();
    frames(&mut a, ms(501), A, B);
    assert_eq!(a.poll_at().unwrap().at, ms(501 + 500));
}

/// §7.2: a node counts its retries, round trips and ECN marks.
#[test]
fn timeouts_round_trips_and_marks_are_counted() {
    let (mut a, mut b) = pair();
    let (_, first) = begin(&mut a, START, 6);
    for frame in &first {
        receive(&mut b, START, frame);
    }
    let full = ack(&mut b, START, B, A);
    let marked = Ack { ecn: true, ..full };
    a.input(ms(40), B, A, &marked.to_bytes()).unwrap();
    let (_, second) = begin(&mut a, ms(50), 6);
    a.on_timeout(ms(50 + 500));
    frames(&mut a, ms(550), A, B);
    let tag = header(&second[0]).tag;
    let late = Ack { tag, ..full };
    a.input(ms(600), B, A, &late.to_bytes()).unwrap();
    let counters = a.recovery_counters();
    assert_eq!((counters.datagrams, counters.repeated), (2, 1));
    assert_eq!((counters.timeouts, counters.congested), (1, 1));
    // The second acknowledgment follows a timeout, so it gives no round-trip time.
    let trips = (counters.round_trip_us, counters.longest_round_trip_us);
    assert_eq!(trips, (40_000, 40_000));
    let counters = b.recovery_counters();
    assert_eq!((counters.acknowledgments, counters.timeouts), (1, 0));
}

/// §5: a tag is not used again while its datagram is in flight.
#[test]
fn tags_of_living_datagrams_are_left_out() {
    let mut a = recovering(RecoveryConfig::default());
    let (_, first) = begin(&mut a, START, 6);
    let tag = header(&first[0]).tag;
    for _ in 0..300 {
        let (_, frames) = begin(&mut a, START, 6);
        let full = Ack {
            ecn: false,
            tag: header(&frames[0]).tag,
            bitmap: Bitmap::FULL,
        };
        assert_ne!(full.tag, tag);
        a.input(START, B, A, &full.to_bytes()).unwrap();
    }
    assert_eq!(a.counters().datagrams_sent, 300);
}

/// §6: the timer doubles, the retries end, the datagram is aborted, restarted with another tag,
/// and finally given up.
#[test]
fn retries_are_bounded() {
    let mut a = recovering(RecoveryConfig::default().with(|it| {
        it.fragment_retries = 2;
        it.datagram_retries = 1;
    }));
    let (_, first) = begin(&mut a, START, 6);
    let tag = header(&first[0]).tag;
    let mut now = 0;
    for (wait, expected) in [
        (500, vec![(4, true)]),
        (1_000, vec![(4, true)]),
        // The abort leaves, and the restart follows immediately.
        (
            2_000,
            vec![
                (0, false),
                (0, false),
                (1, false),
                (2, false),
                (3, false),
                (4, true),
            ],
        ),
        (500, vec![(4, true)]),
        (1_000, vec![(4, true)]),
        (2_000, vec![(0, false)]),
    ] {
        a.on_timeout(ms(now + wait - 1));
        assert!(!a.has_frame(), "{now}");
        now += wait;
        a.on_timeout(ms(now));
        let frames = frames(&mut a, ms(now), A, B);
        assert_eq!(sequences(&frames), expected, "{now}");
        if wait == 2_000 {
            assert!(header(&frames[0]).is_abort());
            assert!(frames[1..].iter().all(|f| header(f).tag != tag));
        }
    }
    let dropped = LowpanEvent::DatagramDropped {
        next_hop: B,
        reason: LossReason::NotRecovered,
    };
    assert_eq!(a.poll_event(), Some(dropped));
    assert_eq!(a.counters().not_recovered, 1);
    assert_eq!(a.recovery_counters().restarted, 1);
    assert_eq!((a.free_slots(), a.poll_at()), (4, None));
}

/// §7.1: Window_Size limits the number of unacknowledged fragments.
#[test]
fn a_window_asks_more_often() {
    let mut a = recovering(RecoveryConfig::default().with(|it| it.window = 2));
    let mut b = recovering(RecoveryConfig::default());
    let (packet, mut frames_out) = begin(&mut a, START, 6);
    let mut arrived = None;
    let trains = [
        vec![(0, false), (1, true)],
        vec![(2, false), (3, true)],
        vec![(4, true)],
        vec![(1, true)],
    ];
    for train in trains {
        assert_eq!(sequences(&frames_out), train);
        for frame in &frames_out {
            let lost = header(frame).sequence == 1 && train.len() == 2;
            if lost {
                // Fragment 1 is lost. The acknowledgment is requested by a copy with the number 0,
                // which is itself dropped.
                b.input(
                    START,
                    A,
                    B,
                    &emit(
                        Fragment {
                            sequence: 0,
                            ack_request: true,
                            ..header(frame)
                        },
                        &frame[6..],
                    ),
                )
                .unwrap_err();
            } else {
                arrived = arrived.or(receive(&mut b, START, frame));
            }
        }
        let ack = ack(&mut b, START, B, A);
        a.input(START, B, A, &ack.to_bytes()).unwrap();
        frames_out = frames(&mut a, START, A, B);
    }
    assert!(frames_out.is_empty());
    assert_eq!(arrived, Some(packet));
    assert_eq!(a.counters().datagrams_sent, 1);
}

/// §7.1: MinFragmentSize and MaxFragmentSize limit the lengths of fragments.
#[test]
fn fragments_are_as_long_as_configured() {
    let with = |min_fragment, max_fragment| {
        RecoveryConfig::default().with(|it| {
            it.min_fragment = min_fragment;
            it.max_fragment = max_fragment;
        })
    };
    let (_, frames) = begin(&mut recovering(with(40, 64)), START, 6);
    let sizes: Vec<_> = frames.iter().map(|frame| header(frame).size).collect();
    assert!(sizes[1..sizes.len() - 1].iter().all(|size| *size == 64));
    assert!(sizes[0] <= 64);

    // Without room for the minimum, plain fragments leave; a maximum above 511 counts as 511.
    let (_, plain) = begin(&mut recovering(with(111, 2_000)), START, 6);
    assert_eq!(dispatch(&plain[0]), Dispatch::First);
    let mut wide = recovering(with(110, 2_000));
    let slot = hold(&mut wide, &packet(ip(6), 3, 1_200));
    wide.queue(START, slot, B);
    let mut out = [0; 900];
    let frame = wide.next_frame(START, A, 900, &mut out, &mut Source::default());
    assert_eq!(frame.map(|frame| frame.len), Some(511 + 6));
    // A datagram of more fragments than the 5-bit sequence can number is sent as plain fragments.
    let (_, plain) = begin(&mut recovering(with(4, 15)), START, 6);
    assert_eq!(dispatch(&plain[0]), Dispatch::First);
}

/// §6: late fragments of a datagram that has arrived are ignored, and acknowledged in full if they
/// request this; the packet is delivered once.
#[test]
fn late_fragments_are_absorbed() {
    let (mut a, mut b) = pair();
    let (packet, first) = begin(&mut a, START, 6);
    let whole = first.iter().find_map(|f| receive(&mut b, START, f));
    assert_eq!(whole, Some(packet));
    ack(&mut b, START, B, A);
    for (i, frame) in first.iter().enumerate() {
        assert_eq!(b.input(ms(100), A, B, frame), Err(DropReason::Duplicate));
        assert_eq!(b.has_frame(), i == 4);
    }
    assert_eq!(ack(&mut b, ms(100), B, A).bitmap, Bitmap::FULL);
    assert_eq!(b.free_slots(), 4);
    // After the timeout, the receiver has no state of the datagram.
    b.on_timeout(ms(2_000));
    assert_eq!(b.poll_at(), None);
    assert_eq!(b.input(ms(2_000), A, B, &first[4]), Err(DropReason::Orphan));
    assert_eq!(ack(&mut b, ms(2_000), B, A).bitmap, Bitmap::NULL);
}

/// RFC 8930 §5: if the link loses the first fragment, the datagram is given up.
#[test]
fn a_first_fragment_that_the_link_loses_ends_the_datagram() {
    let (mut a, _) = pair();
    let (segment, _) = segment(7, ip(6), 462);
    a.start_segment(START, segment);
    next_frame(&mut a, START, &mut Source::default()).unwrap();
    a.on_frame_done(START, false);
    let lost = LowpanEvent::SegmentLost {
        handle: 7,
        reason: LossReason::LinkFailure,
    };
    assert_eq!(a.poll_event(), Some(lost));
    assert_eq!(next_frame(&mut a, START, &mut Source::default()), None);

    // A lost fragment other than the first is retransmitted.
    let (segment, _) = common::segment(8, ip(6), 462);
    a.start_segment(START, segment);
    for i in 0..5 {
        next_frame(&mut a, START, &mut Source::default()).unwrap();
        a.on_frame_done(START, i != 2);
    }
    assert_eq!(a.poll_event(), None);
    assert!(a.poll_at().is_some());
}

/// If the transport frees a segment's bytes before all fragments have left, the node sends no more
/// of these fragments, and sends an abort to the receiver.
#[test]
fn a_segment_that_is_gone_is_aborted() {
    let (mut a, _) = pair();
    let (segment, _) = segment(7, ip(6), 462);
    a.start_segment(START, segment);
    next_frame(&mut a, START, &mut Source::default()).unwrap();
    a.on_frame_done(START, true);
    let mut gone = Source {
        reads_left: Some(0),
        ..Source::default()
    };
    let (_, frame) = next_frame(&mut a, START, &mut gone).unwrap();
    assert!(header(&frame).is_abort());
    a.on_frame_done(START, true);
    let lost = LowpanEvent::SegmentLost {
        handle: 7,
        reason: LossReason::Gone,
    };
    assert_eq!(a.poll_event(), Some(lost));
}

/// §5.1: positions do not follow from sequence numbers. The parts of a fragment that was cut in two
/// have other sequence numbers than the fragment, and may overlap.
#[test]
fn fragments_under_other_numbers_fill_the_gap() {
    let (mut a, mut b) = pair();
    let (packet, first) = begin(&mut a, START, 6);
    for i in [0, 1, 2, 4] {
        assert_eq!(receive(&mut b, START, &first[i]), None);
    }
    let lost = header(&first[3]);
    let body = &first[3][6..];
    let half = Fragment {
        sequence: 13,
        size: 60,
        ..lost
    };
    let rest = Fragment {
        sequence: 14,
        size: lost.size - 50,
        offset: lost.offset + 50,
        ..lost
    };
    assert_eq!(receive(&mut b, START, &emit(half, &body[..60])), None);
    ack(&mut b, START, B, A);
    let whole = receive(&mut b, START, &emit(rest, &body[50..]));
    assert_eq!(whole, Some(packet));
    // This acknowledgment was not requested.
    assert_eq!(ack(&mut b, START, B, A).bitmap, Bitmap::FULL);
}

/// A first fragment whose reassembly cannot succeed takes no slot; a misplaced fragment is dropped.
#[test]
fn impossible_fragments_begin_no_reassembly() {
    let (mut a, mut b) = pair();
    let (_, first) = begin(&mut a, START, 6);
    assert_eq!(
        b.input(START, A, Address::BROADCAST, &first[0]),
        Err(DropReason::Unsupported)
    );
    // A datagram must not be shorter than its first fragment, or longer than a slot.
    let body = &first[0][6..];
    for (offset, reason) in [(20, DropReason::Malformed), (5_000, DropReason::TooLarge)] {
        let bad = Fragment {
            offset,
            ..header(&first[0])
        };
        assert_eq!(b.input(START, A, B, &emit(bad, body)), Err(reason));
    }
    frames(&mut b, START, B, A);
    receive(&mut b, START, &first[0]);
    // A later fragment must not exceed the end of the datagram, or begin within its headers.
    for offset in [header(&first[0]).offset - 10, 2] {
        let bad = Fragment {
            offset,
            ..header(&first[1])
        };
        let answer = b.input(START, A, B, &emit(bad, &first[1][6..]));
        assert_eq!(answer, Err(DropReason::Malformed));
    }
    assert_eq!(b.free_slots(), 3);
}

/// §4.2: between the fragments is a gap for other frames.
#[test]
fn fragments_leave_a_gap() {
    let config = LowpanConfig::default().with(|it| it.fragment_gap = Duration::from_millis(10));
    let mut a = node_with(config, 4, 1280);
    a.recover_fragments(RecoveryConfig::default(), memory(4, 4, 4));
    let slot = hold(&mut a, &packet(ip(6), 3, 200));
    a.queue(START, slot, B);
    next_frame(&mut a, START, &mut Source::default()).unwrap();
    a.on_frame_done(START, true);
    assert_eq!(next_frame(&mut a, ms(9), &mut Source::default()), None);
    assert_eq!(a.poll_at().unwrap().at, ms(10));
    assert!(next_frame(&mut a, ms(10), &mut Source::default()).is_some());
}

/// Sends the second fragment of `fragments` unknown datagrams to `b`. Returns the number of
/// refusals that `b` sends if the link delivers every refusal (`delivered`) or no refusal.
fn refused(fragments: u8, delivered: bool) -> usize {
    let (mut a, mut b) = pair();
    let (_, frames) = begin(&mut a, START, 6);
    let mut refused = 0;
    for tag in 0..fragments {
        let stray = Fragment {
            tag,
            ..header(&frames[1])
        };
        let orphan = b.input(START, A, B, &emit(stray, &frames[1][6..]));
        assert_eq!(orphan, Err(DropReason::Orphan));
        let frame = next_frame(&mut b, START, &mut Source::default());
        refused += usize::from(frame.is_some());
        b.on_frame_done(START, delivered);
    }
    refused
}

/// A neighbour that acknowledges refusals gets one for each datagram whose first fragment was lost.
/// A neighbour that does not gets few, because each of these refusals occupies the radio for all
/// link retries.
#[test]
fn few_refusals_are_sent_to_neighbours_that_do_not_acknowledge() {
    assert_eq!(refused(60, true), 60);
    assert!((1..=8).contains(&refused(60, false)));
}
