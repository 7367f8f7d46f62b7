#[cfg(feature = "node")]
mod node;

use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_wire::ipv6::mpl::{ALL_FORWARDERS, MplOption};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::{Dropped, Fate, GroupSlot, Memory, MessageSlot, Multicast, Params, SeedSlot};

struct Heap;

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

const GROUP: Addr = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]);
const NODE: Addr = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1]);
const SLOTS: usize = 3;

fn with(seed: u64, params: Params) -> Multicast<Heap> {
    let memory = Memory::<Heap> {
        groups: vec![GroupSlot::EMPTY; 1].into(),
        seeds: vec![SeedSlot::EMPTY; 2].into(),
        messages: vec![MessageSlot::EMPTY; SLOTS].into(),
        bytes: vec![0; SLOTS * 160].into(),
    };
    Multicast::new(params, Rng::new(seed), memory)
}

fn member(seed: u64) -> Multicast<Heap> {
    let mut multicast = with(seed, Params::default());
    assert!(multicast.join(&GROUP));
    multicast
}

/// Returns a border router that is a member of the group, too.
fn border(seed: u64) -> Multicast<Heap> {
    let mut multicast = member(seed);
    assert!(multicast.let_in(&GROUP));
    multicast
}

fn packet_to(dst: Addr, len: usize) -> Vec<u8> {
    let header = Ipv6Header {
        payload_len: len as u16,
        next_header: next_header::UDP,
        hop_limit: 16,
        src: Addr([0x20; 16]),
        dst,
        ..Ipv6Header::default()
    };
    [&header.to_bytes()[..], &vec![0x55; len]].concat()
}

fn header_of(packet: &[u8]) -> Ipv6Header {
    Ipv6Header::parse(packet).unwrap().0
}

fn from_host(border: &mut Multicast<Heap>, now: Instant, packet: &[u8]) -> Fate {
    border.on_host(now, &NODE, &header_of(packet), &mut packet.to_vec())
}

fn hears(multicast: &mut Multicast<Heap>, now: Instant, packet: &[u8]) -> Fate {
    multicast.on_link(now, &header_of(packet), &mut packet.to_vec())
}

/// Returns the next packet and its time.
fn next(multicast: &mut Multicast<Heap>) -> Option<(Instant, Vec<u8>)> {
    while let Some(wake) = multicast.poll_at() {
        let mut out = vec![0; 1_280];
        if let Some(len) = multicast.poll_packet(wake.at, &mut out) {
            out.truncate(len);
            return Some((wake.at, out));
        }
    }
    None
}

#[test]
fn a_packet_from_the_host_is_enclosed_and_sent_three_times() {
    let mut border = border(1);
    let packet = packet_to(GROUP, 20);
    let fate = from_host(&mut border, Instant::ZERO, &packet);
    assert_eq!(fate, Fate::Deliver(0));
    let mut sent = Vec::new();
    while let Some((at, message)) = next(&mut border) {
        let outer = header_of(&message);
        assert_eq!((outer.src, outer.dst), (NODE, ALL_FORWARDERS));
        assert_eq!(outer.hop_limit, super::HOP_LIMIT);
        let (_, place) = MplOption::find(&message).unwrap();
        assert_eq!(place, 42..48);
        assert_eq!(message[40], next_header::IPV6);
        assert_eq!(header_of(&message[48..]).hop_limit, 15);
        assert_eq!(message[56..], packet[8..]);
        sent.push(at);
    }
    // RFC 6206 §4.2: each transmission is in the second half of its interval.
    for (number, at) in sent.iter().enumerate() {
        let end = 100 * (number as u64 + 1);
        assert!((end - 50..end).contains(&at.as_millis()), "{sent:?}");
    }
    assert_eq!(sent.len(), 3);
    assert_eq!((border.counters().seeded, border.counters().sent), (1, 3));
}

fn message_of(border: &mut Multicast<Heap>, now: Instant) -> Vec<u8> {
    assert_eq!(
        from_host(border, now, &packet_to(GROUP, 20)),
        Fate::Deliver(0)
    );
    next(border).unwrap().1
}

#[test]
fn a_member_gets_a_message_once_and_forwards_it_with_one_hop_less() {
    let message = message_of(&mut border(1), Instant::ZERO);
    let mut node = member(2);
    assert_eq!(hears(&mut node, Instant::ZERO, &message), Fate::Deliver(48));
    assert_eq!(hears(&mut node, Instant::ZERO, &message), Fate::Keep);
    let (_, forwarded) = next(&mut node).unwrap();
    assert_eq!(header_of(&forwarded).hop_limit, super::HOP_LIMIT - 1);
    assert_eq!(forwarded[8..], message[8..]);
    while next(&mut node).is_some() {}
    // The slot is free now, and the seed's entry identifies the duplicate.
    assert_eq!(
        hears(&mut node, Instant::from_millis(900), &message),
        Fate::Keep
    );
    assert_eq!(next(&mut node), None);
    assert_eq!(node.counters().received, 1);
    assert_eq!(node.counters().duplicates, 2);
}

#[test]
fn a_forwarder_that_is_no_member_forwards() {
    let message = message_of(&mut border(1), Instant::ZERO);
    let mut node = with(2, Params::default());
    assert_eq!(hears(&mut node, Instant::ZERO, &message), Fate::Keep);
    assert!(next(&mut node).is_some());
}

/// RFC 6206 §4.2, rule 4: k transmissions of neighbours suppress that of the node in each interval.
#[test]
fn neighbours_suppress_transmissions() {
    let message = message_of(&mut border(1), Instant::ZERO);
    let mut node = member(2);
    for ms in (0..300).step_by(10) {
        hears(&mut node, Instant::from_millis(ms), &message);
        while node
            .poll_at()
            .is_some_and(|it| it.at <= Instant::from_millis(ms + 9))
        {
            let at = node.poll_at().unwrap().at;
            assert_eq!(node.poll_packet(at, &mut [0; 1_280]), None);
        }
    }
    assert_eq!((node.counters().sent, node.counters().suppressed), (0, 3));
    let flooding = Params::default().with(|it| (it.k, it.expirations) = (u8::MAX, 1));
    let mut node = with(2, flooding);
    for _ in 0..9 {
        hears(&mut node, Instant::ZERO, &message);
    }
    assert!(next(&mut node).is_some());
    assert_eq!(next(&mut node), None);
}

#[test]
fn numbers_wrap() {
    let (mut border, mut node) = (border(1), member(2));
    for number in 0..600 {
        let now = Instant::from_millis(number * 2_000);
        let message = message_of(&mut border, now);
        while next(&mut border).is_some() {}
        assert_eq!(
            hears(&mut node, now, &message),
            Fate::Deliver(48),
            "{number}"
        );
        assert_eq!(hears(&mut node, now, &message), Fate::Keep);
        while next(&mut node).is_some() {}
    }
}

#[test]
fn messages_of_a_restarted_seed_are_new() {
    let mut node = member(9);
    for start in 1..=2 {
        let message = message_of(&mut border(start), Instant::ZERO);
        assert_eq!(hears(&mut node, Instant::ZERO, &message), Fate::Deliver(48));
    }
}

#[test]
fn a_full_table_of_seeds_refuses_others_until_an_entry_expires() {
    let mut node = member(9);
    let messages: Vec<_> = (1..=3)
        .map(|seed| message_of(&mut border(seed), Instant::ZERO))
        .collect();
    let refused = Fate::Drop(Dropped::NoRoom);
    let fates: Vec<_> = messages
        .iter()
        .map(|message| hears(&mut node, Instant::ZERO, message))
        .collect();
    assert_eq!(fates, [Fate::Deliver(48), Fate::Deliver(48), refused]);
    assert_eq!(node.counters().without_seed, 1);
    while next(&mut node).is_some() {}
    let later = Instant::ZERO + Params::default().seed_lifetime;
    assert_eq!(hears(&mut node, later, &messages[2]), Fate::Deliver(48));
}

/// A message for which there was no room is accepted when a neighbour transmits it again.
#[test]
fn a_message_without_room_is_taken_later() {
    let mut border = border(1);
    let mut node = member(2);
    let mut messages = Vec::new();
    for number in 0..=SLOTS as u64 {
        messages.push(message_of(
            &mut border,
            Instant::from_millis(number * 2_000),
        ));
        while next(&mut border).is_some() {}
    }
    let last = messages.pop().unwrap();
    for message in &messages {
        assert_eq!(hears(&mut node, Instant::ZERO, message), Fate::Deliver(48));
    }
    let refused = Fate::Drop(Dropped::NoRoom);
    assert_eq!(hears(&mut node, Instant::ZERO, &last), refused);
    assert_eq!(node.counters().without_room, 1);
    while next(&mut node).is_some() {}
    assert_eq!(hears(&mut node, Instant::ZERO, &last), Fate::Deliver(48));
    let long = packet_to(GROUP, 113);
    assert_eq!(
        from_host(&mut border, Instant::from_millis(90_000), &long),
        refused
    );
}

#[test]
fn the_border_limits_the_rate_and_the_groups() {
    let mut border = border(1);
    let foreign = packet_to(
        Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb]),
        20,
    );
    let refused = Fate::Drop(Dropped::NotMember);
    assert_eq!(from_host(&mut border, Instant::ZERO, &foreign), refused);
    let mut passed = 0;
    let packet = packet_to(GROUP, 20);
    // The host sends 100 packets a second for 20 seconds.
    for number in 0..2_000_u64 {
        let now = Instant::ZERO + Duration::from_millis(number * 10);
        let fate = from_host(&mut border, now, &packet);
        passed += u32::from(fate == Fate::Deliver(0));
        while border.poll_at().is_some_and(|wake| wake.at <= now) {
            border.poll_packet(now, &mut [0; 1_280]);
        }
    }
    let counters = border.counters();
    assert_eq!(passed + counters.limited + counters.without_room, 2_000);
    assert_eq!(passed + counters.without_room, 4 + 9);
    assert_eq!(counters.foreign, 1);
}

#[test]
fn a_packet_from_another_machine_needs_two_hops() {
    let mut packet = packet_to(GROUP, 20);
    packet[7] = 1;
    let near = Params::default().with(|it| it.host_is_far = false);
    let mut border_of_host = with(1, near);
    assert!(border_of_host.let_in(&GROUP));
    let fate = from_host(&mut border_of_host, Instant::ZERO, &packet);
    assert_eq!(fate, Fate::Keep);
    let (_, message) = next(&mut border_of_host).unwrap();
    assert_eq!(header_of(&message[48..]).hop_limit, 1);
    let refused = Fate::Drop(Dropped::HopLimit);
    assert_eq!(from_host(&mut border(1), Instant::ZERO, &packet), refused);
}

#[test]
fn the_last_hop_delivers_and_does_not_forward() {
    let mut message = message_of(&mut border(1), Instant::ZERO);
    message[7] = 1;
    let mut node = member(2);
    assert_eq!(hears(&mut node, Instant::ZERO, &message), Fate::Deliver(48));
    assert_eq!(next(&mut node), None);
    assert_eq!(hears(&mut node, Instant::ZERO, &message), Fate::Keep);
    assert_eq!(node.counters().expired, 1);
}

/// A realm-local group needs no outer header (RFC 7731 §4.1).
#[test]
fn a_message_without_an_outer_header_is_delivered_without_its_option() {
    let realm = Addr([0xff, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]);
    let mut node = with(2, Params::default());
    assert!(node.join(&realm));
    let mut packet = packet_to(realm, 28);
    packet[6] = next_header::HOP_BY_HOP;
    packet[40..48].copy_from_slice(&MplOption::header(7, 1, next_header::UDP));
    let header = header_of(&packet);
    let fate = node.on_link(Instant::ZERO, &header, &mut packet);
    assert_eq!(fate, Fate::Deliver(0));
    assert_eq!(packet[40..48], [17, 0, 1, 4, 0, 0, 0, 0]);
    let (_, forwarded) = next(&mut node).unwrap();
    assert!(MplOption::find(&forwarded).is_some());
}

#[test]
fn invalid_messages_are_dropped() {
    let good = message_of(&mut border(1), Instant::ZERO);
    type Damage = fn(&mut Vec<u8>);
    let cases: [(&str, Damage); 5] = [
        ("no option", |it| it[42] = 1),
        ("another version", |it| it[44] |= 0x10),
        ("no packet inside", |it| it[40] = next_header::UDP),
        ("a packet to a node", |it| it[72] = 0x20),
        ("a longer packet", |it| it[53] += 1),
    ];
    for (name, damage) in cases {
        let mut message = good.clone();
        damage(&mut message);
        let mut node = member(2);
        let fate = hears(&mut node, Instant::ZERO, &message);
        assert_eq!(fate, Fate::Drop(Dropped::Malformed), "{name}");
        assert_eq!(node.counters().malformed, 1, "{name}");
        assert_eq!(node.poll_at(), None, "{name}");
    }
}

#[test]
fn a_border_router_that_is_no_member_only_forwards() {
    let mut border = with(1, Params::default());
    let link = Addr([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]);
    assert!(!border.let_in(&link) && !border.let_in(&ALL_FORWARDERS));
    assert!(border.let_in(&GROUP) && !border.is_member(&GROUP));
    let fate = from_host(&mut border, Instant::ZERO, &packet_to(GROUP, 20));
    assert_eq!(fate, Fate::Keep);
    let (now, message) = next(&mut border).unwrap();
    // A neighbour forwards the border router's own message.
    assert_eq!(hears(&mut border, now, &message), Fate::Keep);
    assert_eq!(border.counters().delivered, 0);
    // Leaving ends only the membership: the border router still forwards to the group.
    assert!(border.join(&GROUP) && border.leave(&GROUP));
    assert_eq!(
        from_host(&mut border, now, &packet_to(GROUP, 20)),
        Fate::Keep
    );
}

#[test]
fn membership_begins_and_ends() {
    let mut node = member(1);
    let other = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert!(!node.join(&NODE), "not a group");
    assert!(!node.join(&other), "no room");
    assert!(node.join(&GROUP), "already a member");
    assert!(node.leave(&GROUP) && !node.leave(&GROUP));
    assert!(node.join(&other) && node.is_member(&other));
}
