//! A radio that leaves acknowledgements to the MAC, in both directions.

use crate::bench;

use bench::*;
use redpoll_base::Duration;
use redpoll_mac::{RadioResult, TxStatus};
use redpoll_wire::ieee802154::{Address, imm_ack};

const SENT: RadioResult = RadioResult::Sent;
const LOADED: RadioResult = RadioResult::Loaded;

#[test]
fn waits_macackwaitduration_for_the_ack_of_its_frame() {
    let mut b = Bench::new(bare());
    b.submit(PEER, b"x");
    b.attempt(SENT);
    let dsn = b.dsn();
    b.pass(544);
    assert_eq!(b.hear(&imm_ack(dsn.wrapping_add(1), false)), None);
    assert_eq!(b.done_event(), None, "somebody else's");
    assert_eq!(b.mac.counters().rx_stray_acks, 1);
    assert_eq!(b.hear(&imm_ack(dsn, false)), None);
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
    assert_eq!(b.mac.counters().acks_received, 1);
    assert!(b.mac.is_idle());
}

#[test]
fn without_an_ack_in_time_the_frame_goes_out_again() {
    let mut b = Bench::new(bare().with(|it| it.max_frame_retries = 1));
    b.submit(PEER, b"x");
    b.attempt(SENT);
    let first = b.buffer.to_vec();
    assert_eq!(b.sleep(), Duration::from_micros(864));
    assert_eq!(b.hear(&imm_ack(b.dsn(), false)), None);
    assert_eq!(b.done_event(), None, "too late to be sure whose it is");
    b.attempt(SENT);
    assert_eq!(*b.buffer, first, "the same frame");
    assert_eq!(b.sleep(), Duration::from_micros(864));
    assert_eq!(b.done_event(), Some((TxStatus::NoAck, 2)));
    assert_eq!(b.mac.counters().no_ack, 2);
}

#[test]
fn acknowledges_frames_and_their_repetitions() {
    let mut b = Bench::new(bare());
    let frame = data(PEER, ME, 9, b"x");
    for first in [true, false] {
        assert_eq!(b.hear(&frame).is_some(), first);
        if first {
            assert_eq!(b.poll(), LOAD);
            b.done(LOADED);
        }
        // The copy needs no load, because the radio still contains the same Imm-ACK.
        assert_eq!(*b.buffer, imm_ack(9, false));
        assert_eq!(b.poll(), TRANSMIT_AT_ONCE, "an Imm-ACK does no CSMA");
        assert_eq!(b.poll(), None);
        b.pass(352);
        b.done(SENT);
        assert_eq!(b.poll(), None);
        b.pass(10_000);
    }
    assert_eq!(b.mac.counters().acks_sent, 2);
    assert_eq!(b.mac.counters().rx_duplicates, 1);
}

#[test]
fn acknowledges_only_frames_to_this_node_that_request_it() {
    let mut b = Bench::new(bare());
    let mut unasked = data(PEER, ME, 9, b"x");
    unasked[0] &= !0x20;
    let mut nosy = data(PEER, Address::BROADCAST, 9, b"x");
    nosy[0] |= 0x20;
    for frame in [&unasked, &nosy, &data(PEER, Address::Short(7), 9, b"x")] {
        b.hear(frame);
        assert_eq!(b.poll(), None);
    }
    // A secured frame is acknowledged although this MAC, which has no security, drops it.
    let mut secured = data(PEER, ME, 9, b"x");
    secured[0] |= 0x08;
    assert_eq!(b.hear(&secured), None);
    assert_eq!(b.poll(), LOAD);
    assert_eq!(*b.buffer, imm_ack(9, false));
}

#[test]
fn an_ack_precedes_the_waiting_frame_which_is_loaded_again() {
    let mut b = Bench::new(bare());
    b.submit(PEER, b"mine");
    assert_eq!(b.poll(), LOAD);
    let mine = b.buffer.to_vec();
    assert!(b.hear(&data(PEER, ME, 9, b"x")).is_some());
    assert_eq!(b.poll(), None, "the radio is still loading");
    b.done(LOADED);
    assert_eq!(b.poll(), LOAD);
    assert_eq!(*b.buffer, imm_ack(9, false));
    b.done(LOADED);
    assert_eq!(b.poll(), TRANSMIT_AT_ONCE);
    b.pass(352);
    b.done(SENT);
    assert_eq!(b.next_work(), LOAD);
    assert_eq!(*b.buffer, mine);
    b.done(LOADED);
    assert_eq!(b.poll(), TRANSMIT, "its backoff is over");
    b.done(SENT);
    let dsn = b.dsn();
    b.pass(544);
    b.hear(&imm_ack(dsn, false));
    assert_eq!(b.done_event(), Some((TxStatus::Delivered, 1)));
}

#[test]
fn an_ack_that_would_come_too_late_is_not_sent() {
    let mut b = Bench::new(bare());
    b.submit(PEER, b"mine");
    assert_eq!(b.poll(), LOAD);
    b.hear(&data(PEER, ME, 9, b"x"));
    b.pass(513);
    b.done(LOADED);
    assert_eq!(b.next_work(), TRANSMIT, "on with the frame, still loaded");
    assert_eq!(b.mac.counters().acks_late, 1);
    assert_eq!(b.mac.counters().acks_sent, 0);
}

/// Returns a data frame to this node, written field by field; `None` if the combination does not
/// exist. `compression` is the PAN ID compression field. The destination is this node, or absent.
fn of_fields(version: u16, dst: u16, src: u16, compression: bool, more: u16) -> Option<Vec<u8>> {
    const PAN_BYTES: [u8; 2] = PAN.to_le_bytes();
    // IEEE 802.15.4-2015 table 7-2: whether the destination's and the source's PAN are present.
    let (dst_pan, src_pan) = match (version, dst, src, compression) {
        (0 | 1, 0, _, true) | (0 | 1, _, 0, true) => return None,
        (0 | 1, _, _, true) => (true, false),
        (0 | 1, _, _, false) => (dst != 0, src != 0),
        (_, 0, 0, _) => (compression, false),
        (_, 0, _, false) => (false, true),
        (_, _, 0, false) | (_, 3, 3, false) => (true, false),
        (_, 0, _, true) | (_, _, 0, true) | (_, 3, 3, true) => (false, false),
        (_, _, _, false) => (true, true),
        (_, _, _, true) => (true, false),
    };
    let control = 1 | 1 << 5 | u16::from(compression) << 6 | more;
    let control = control | dst << 10 | version << 12 | src << 14;
    let mut frame = control.to_le_bytes().to_vec();
    if more & 1 << 8 == 0 {
        frame.push(9);
    }
    let mut address = |mode: u16, has_pan: bool, own: bool| {
        if has_pan {
            frame.extend(PAN_BYTES);
        }
        match mode {
            2 => frame.extend(u16::to_le_bytes(if own { 1 } else { 2 })),
            3 => frame.extend([if own { 1 } else { 2 }, 0, 0, 0, 0, 0, 0, 2]),
            _ => {}
        }
    };
    address(dst, dst_pan, true);
    address(src, src_pan, false);
    if more & 1 << 9 != 0 {
        // Header termination 2: the payload follows.
        frame.extend([0x80, 0x3f]);
    }
    frame.extend(b"payload");
    Some(frame)
}

/// A data frame with any header that versions 0 to 2 allow is delivered and acknowledged, or
/// neither. An exception is a frame without a source, which is acknowledged so that its sender
/// does not repeat it.
#[test]
fn frames_of_every_version_are_delivered_and_acknowledged_or_neither() {
    let (mut delivered, mut refused) = ([0; 4], [0; 4]);
    for version in 0..4 {
        for (dst, src) in [0, 2, 3]
            .into_iter()
            .flat_map(|dst| [0, 2, 3].map(|src| (dst, src)))
        {
            for compression in [false, true] {
                // Sequence number suppression and information elements, which only version 2 has.
                for more in [0, 1 << 8, 1 << 9, 3 << 8] {
                    let is_plain = more == 0 || version < 2;
                    let fields = if version < 2 { 0 } else { more };
                    let frame = of_fields(version, dst, src, compression, fields);
                    let Some(frame) = frame else { continue };
                    let mut b = Bench::new(bare());
                    let heard = b.hear(&frame);
                    let is_acknowledged = b.poll() == LOAD;
                    let what = format!("version {version}, {dst}, {src}, {compression}, {more:#x}");
                    let is_for_us = dst != 0 && is_plain && version < 3;
                    let expected = (is_for_us && src != 0).then(|| b"payload".to_vec());
                    assert_eq!(heard.map(|it| it.1), expected, "{what}");
                    assert_eq!(is_acknowledged, is_for_us, "{what}");
                    if is_acknowledged {
                        assert_eq!(*b.buffer, imm_ack(9, false), "{what}");
                    }
                    match is_for_us {
                        true => delivered[usize::from(version)] += 1,
                        false => refused[usize::from(version)] += 1,
                    }
                }
            }
        }
    }
    assert!(
        delivered[..3].iter().all(|count| *count > 0),
        "{delivered:?}"
    );
    assert!(refused.iter().all(|count| *count > 0), "{refused:?}");
}
