//! Tests the effect of the border router on packets, packet by packet.

use std::slice::from_ref;

use redpoll_assist::spare::Side::{Host, Mesh};
use redpoll_base::Instant;

use crate::packets::{ACK, Engine, FIN, PSH, RST, SYN, Tcp, URG, crosses, engine};

const NOW: Instant = Instant::ZERO;

/// Sequence number of the node's first byte; `DOWN` is that of the host's first byte.
const UP: u32 = 1_001;
const DOWN: u32 = u32::MAX - 20;

fn up(numbers: (u32, u32), flags: u8) -> Tcp {
    Tcp::new(1, Mesh, numbers, flags)
}

fn down(numbers: (u32, u32), flags: u8) -> Tcp {
    Tcp::new(1, Host, numbers, flags).window(64_000)
}

fn open(engine: &mut Engine) {
    let syn = down((DOWN.wrapping_sub(1), 0), SYN).options(&[2, 4, 4, 196, 4, 2, 3, 3, 7, 0, 0, 0]);
    assert_eq!(crosses(engine, NOW, &syn), from_ref(&syn));
    let answer = up((UP - 1, DOWN), SYN | ACK);
    let [passed] = &crosses(engine, NOW, &answer)[..] else {
        panic!("one")
    };
    assert_eq!(*passed, answer.window(160));
    let third = down((DOWN, UP), ACK);
    assert_eq!(crosses(engine, NOW, &third), from_ref(&third));
}

fn bytes(from: u8, count: u8) -> Vec<u8> {
    (from..from + count).collect()
}

#[test]
fn data_beyond_the_window_leaves_later_in_full_pieces() {
    let mut engine = engine(2, 160);
    open(&mut engine);
    let data = down((DOWN, UP), ACK | PSH).payload(&bytes(0, 100));
    let piece = |at: u8, len: u8, flags| {
        let seq = DOWN.wrapping_add(at.into());
        down((seq, UP), flags).payload(&bytes(at, len))
    };
    assert_eq!(crosses(&mut engine, NOW, &data), [piece(0, 40, ACK)]);
    // The node's window holds back the remaining bytes, whatever the host sends.
    assert_eq!(crosses(&mut engine, NOW, &piece(100, 48, ACK | PSH)), []);
    assert_eq!(engine.waiting(), 108);
    for (acked, at, len, flags) in [
        (40, 40, 40, ACK),
        (80, 80, 40, ACK),
        (120, 120, 28, ACK | PSH),
    ] {
        let ack = up((UP, DOWN.wrapping_add(acked)), ACK);
        assert_eq!(
            crosses(&mut engine, NOW, &ack),
            [ack.clone().window(160), piece(at, len, flags)]
        );
    }
    let last = up((UP, DOWN.wrapping_add(148)), ACK);
    assert_eq!(crosses(&mut engine, NOW, &last), [last.window(160)]);
    assert_eq!((engine.waiting(), engine.counters().pieces), (0, 4));
}

#[test]
fn a_retransmission_is_forwarded_again_with_its_fin() {
    let mut engine = engine(1, 160);
    open(&mut engine);
    let data = down((DOWN, UP), FIN | ACK).payload(&bytes(0, 50));
    let first = down((DOWN, UP), ACK).payload(&bytes(0, 40));
    assert_eq!(crosses(&mut engine, NOW, &data), from_ref(&first));
    assert_eq!(crosses(&mut engine, NOW, &data), [first]);
    let ack = up((UP, DOWN.wrapping_add(40)), ACK);
    let second = down((DOWN.wrapping_add(40), UP), FIN | ACK).payload(&bytes(40, 10));
    let [_, piece] = &crosses(&mut engine, NOW, &ack)[..] else {
        panic!("two")
    };
    assert_eq!(*piece, second);
    let fin = down((DOWN.wrapping_add(50), UP), FIN | ACK);
    assert_eq!(crosses(&mut engine, NOW, &fin), from_ref(&fin));
    let last = up((UP, DOWN.wrapping_add(51)), ACK);
    assert_eq!(crosses(&mut engine, NOW, &last), [last.window(160)]);
}

#[test]
fn a_closed_window_is_reported_and_probed() {
    let mut engine = engine(1, 160);
    open(&mut engine);
    let data = down((DOWN, UP), ACK).payload(&bytes(0, 100));
    crosses(&mut engine, NOW, &data);
    let closed = up((UP, DOWN.wrapping_add(40)), ACK).window(0);
    assert_eq!(crosses(&mut engine, NOW, &closed), from_ref(&closed));
    // Linux's probe has the sequence number before the first unacknowledged byte.
    let probe = down((DOWN.wrapping_add(39), UP), ACK);
    assert_eq!(crosses(&mut engine, NOW, &probe), from_ref(&probe));
    // A probe with new data.
    let probe = down((DOWN.wrapping_add(40), UP), ACK).payload(&bytes(40, 1));
    assert_eq!(
        crosses(&mut engine, NOW, &probe),
        [],
        "it was not passed on yet"
    );
    let open = up((UP, DOWN.wrapping_add(40)), ACK).window(40);
    assert_eq!(crosses(&mut engine, NOW, &open).len(), 2);
    let again = crosses(&mut engine, NOW, &probe);
    assert_eq!(again.len(), 1, "it was: it is asked for again");
}

#[test]
fn an_acknowledgment_does_not_wait_with_data() {
    let mut engine = engine(1, 160);
    open(&mut engine);
    crosses(
        &mut engine,
        NOW,
        &down((DOWN, UP), ACK).payload(&bytes(0, 80)),
    );
    let mine = up((UP, DOWN), ACK).payload(b"x");
    crosses(&mut engine, NOW, &mine);
    let both = down((DOWN.wrapping_add(80), UP + 1), ACK).payload(&bytes(80, 5));
    let passed = down((DOWN.wrapping_add(40), UP + 1), ACK);
    assert_eq!(crosses(&mut engine, NOW, &both), [passed]);
    // A host's segment without data gets the sequence number after the forwarded data.
    let pure = down((DOWN.wrapping_add(85), UP + 1), ACK).window(9);
    let passed = down((DOWN.wrapping_add(40), UP + 1), ACK).window(9);
    assert_eq!(crosses(&mut engine, NOW, &pure), [passed]);
}

#[test]
fn a_lone_segment_is_split_in_halves_and_acknowledged_once() {
    let mut engine = engine(1, 160);
    open(&mut engine);
    let data = up((UP, DOWN), ACK | PSH).payload(&bytes(0, 39));
    let first = up((UP, DOWN), ACK).window(160).payload(&bytes(0, 20));
    let second = up((UP + 20, DOWN), ACK | PSH).window(160);
    let second = second.payload(&bytes(20, 19));
    assert_eq!(crosses(&mut engine, NOW, &data), [first, second]);
    let halfway = down((DOWN, UP + 20), ACK);
    assert_eq!(crosses(&mut engine, NOW, &halfway), []);
    let whole = down((DOWN, UP + 39), ACK);
    assert_eq!(crosses(&mut engine, NOW, &whole), from_ref(&whole));
    // A segment that follows an unacknowledged one is forwarded unchanged.
    let one = up((UP + 39, DOWN), ACK).payload(&bytes(0, 39));
    assert_eq!(crosses(&mut engine, NOW, &one).len(), 2);
    let two = up((UP + 78, DOWN), ACK).payload(&bytes(0, 39));
    assert_eq!(crosses(&mut engine, NOW, &two), [two.window(160)]);
    assert_eq!(engine.counters().halved, 2);
}

#[test]
fn connections_opened_by_the_node_are_assisted() {
    let mut engine = engine(1, 160);
    let syn = up((UP - 1, 0), SYN);
    assert_eq!(crosses(&mut engine, NOW, &syn), [syn.clone().window(160)]);
    let answer = down((DOWN.wrapping_sub(1), UP), SYN | ACK).options(&[2, 4, 4, 196]);
    assert_eq!(crosses(&mut engine, NOW, &answer), from_ref(&answer));
    let third = up((UP, DOWN), ACK);
    assert_eq!(
        crosses(&mut engine, NOW, &third),
        [third.clone().window(160)]
    );
    let data = up((UP, DOWN), ACK).payload(&bytes(0, 38));
    assert_eq!(crosses(&mut engine, NOW, &data).len(), 2);
    let data = down((DOWN, UP + 38), ACK).payload(&bytes(0, 70));
    let [piece] = &crosses(&mut engine, NOW, &data)[..] else {
        panic!("one")
    };
    assert_eq!((piece.payload.len(), engine.waiting()), (40, 30));
}

#[test]
fn nodes_with_larger_windows_or_options_are_not_assisted() {
    let stamps = [8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for syn in [
        up((7, 0), SYN).window(1_848).options(&[2, 4, 1, 206]),
        up((7, 0), SYN).options(&stamps),
        up((7, 0), SYN | 0xc0),
        up((7, 0), SYN).payload(b"fast open"),
        up((7, 0), SYN).window(0),
        // The border router's buffer of 160 bytes has no room for a whole window.
        up((7, 0), SYN).window(200),
    ] {
        let mut engine = engine(1, 160);
        assert_eq!(crosses(&mut engine, NOW, &syn), from_ref(&syn));
        assert_eq!(engine.flows(), 0, "{syn:?}");
    }
    let mut engine = engine(1, 160);
    let syn = up((7, 0), SYN).window(48).options(&[2, 4, 0, 48]);
    let [passed] = &crosses(&mut engine, NOW, &syn)[..] else {
        panic!("one")
    };
    assert_eq!((passed.window, engine.flows()), (160, 1));
}

#[test]
fn unknown_segments_end_the_assistance_and_damaged_ones_are_dropped() {
    for odd in [
        down((DOWN, UP), ACK).payload(b"a").options(&[1, 1, 1, 1]),
        down((DOWN, UP), ACK | URG).payload(b"a"),
        up((UP, DOWN), ACK | URG).payload(b"ab"),
        down((DOWN, UP), RST | ACK),
        up((UP, DOWN), RST),
    ] {
        let mut engine = engine(1, 160);
        open(&mut engine);
        assert_eq!(crosses(&mut engine, NOW, &odd), from_ref(&odd));
        assert_eq!(engine.flows(), 0, "{odd:?}");
    }
    let mut engine = engine(1, 160);
    open(&mut engine);
    let mut broken = down((DOWN, UP), ACK).payload(&bytes(0, 30)).packet();
    broken[70] ^= 1;
    assert_eq!(engine.input(NOW, Host, &mut broken), None);
    assert_eq!(
        (engine.poll(&mut [0; 1_280]), engine.counters().dropped),
        (None, 1)
    );
    // The border router changes the window of this packet and updates the checksum for this change
    // only, so the checksum of the damaged packet remains wrong.
    let mut broken = up((UP, DOWN), ACK).payload(&bytes(0, 30)).packet();
    broken[70] ^= 1;
    assert_eq!(engine.input(NOW, Mesh, &mut broken), Some(90));
    let good = up((UP, DOWN), ACK)
        .payload(&bytes(0, 30))
        .window(160)
        .packet();
    let differs = good.iter().zip(&broken).filter(|(a, b)| a != b).count();
    assert_eq!(differs, 1);
}

#[test]
fn a_flow_slot_takes_at_most_112_bytes() {
    let bytes = size_of::<redpoll_assist::spare::FlowSlot>();
    assert!(bytes <= 112, "{bytes}");
}

#[test]
fn the_longest_idle_connection_is_evicted() {
    let mut engine = engine(3, 160);
    for (node, second) in [(1, 1), (2, 2), (3, 3)] {
        let syn = Tcp::new(node, Mesh, (7, 0), SYN);
        crosses(&mut engine, Instant::from_millis(1_000 * second), &syn);
    }
    let stirs = Tcp::new(1, Host, (50, 8), ACK);
    crosses(&mut engine, Instant::from_millis(4_000), &stirs);
    crosses(
        &mut engine,
        Instant::from_millis(5_000),
        &Tcp::new(4, Mesh, (7, 0), SYN),
    );
    assert_eq!((engine.flows(), engine.counters().evicted), (3, 1));
    for (node, spared) in [(2, false), (1, true), (3, true), (4, true)] {
        let ack = Tcp::new(node, Mesh, (8, 51), ACK);
        let passed = &crosses(&mut engine, Instant::from_millis(6_000), &ack)[0];
        assert_eq!(passed.window == 160, spared, "{node}");
    }
}
