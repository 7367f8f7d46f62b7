//! Reassembly of IPv6 fragments at their destination (RFC 8200 §4.5).

use crate::common;

use common::lone::{Lone, SLOTS};
use common::packets::{icmp, packet, udp};
use common::{address, node_with_memory, prefix};
use redpoll_base::{Duration, Rng};
use redpoll_lowpan::{LowpanMemory, Slot};
use redpoll_stack::{DropReason, PartialSlot, Route, UdpId, UdpSlot, Via};

const FRAGMENT: u8 = 44;
const PORT: u16 = 7;

/// Returns node 1, with slots for 1,500-byte packets and a UDP socket; its mesh is on link.
fn lone() -> (Lone, UdpId) {
    let mut lone = Lone::border(|_| {});
    lone.node = node_with_memory(|memory| {
        memory.udp = [UdpSlot::new(vec![0; 4_096].into())].into();
        memory.lowpan = LowpanMemory {
            slots: vec![Slot::EMPTY; SLOTS].into(),
            bytes: vec![0; SLOTS * 1_508].into(),
        };
    });
    let (prefix, len, via) = (prefix(), 64, Via::OnLink);
    lone.node.add_route(Route { prefix, len, via }).unwrap();
    lone.node.join_fragments(vec![PartialSlot::EMPTY; 2].into());
    let socket = lone.node.udp_bind(PORT).unwrap();
    (lone, socket)
}

/// Returns an unfragmented datagram of `len` bytes from neighbour 5.
fn datagram(len: usize) -> Vec<u8> {
    let data: Vec<u8> = (0..len).map(|at| (at * 31 + at / 251) as u8).collect();
    udp(address(5), address(1), (9, PORT), &data)
}

/// Returns the bytes `from` to `to` after the header of `whole`, as a fragment.
fn cut(whole: &[u8], id: u32, from: usize, to: usize) -> Vec<u8> {
    let upper = &whole[40..];
    let more = u16::from(to < upper.len());
    let mut header = vec![whole[6], 0];
    header.extend((from as u16 | more).to_be_bytes());
    header.extend(id.to_be_bytes());
    header.extend(&upper[from..to.min(upper.len())]);
    packet(address(5), address(1), FRAGMENT, 64, &header)
}

/// Returns all of the packet, in fragments of random lengths.
fn shreds(whole: &[u8], id: u32, rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut from = 0;
    let mut fragments = Vec::new();
    while from < whole.len() - 40 {
        let to = from + 8 * (3 + rng.below(60) as usize);
        fragments.push(cut(whole, id, from, to));
        from = to;
    }
    for at in (1..fragments.len()).rev() {
        fragments.swap(at, rng.below(at as u32 + 1) as usize);
    }
    fragments
}

fn received(lone: &mut Lone, socket: UdpId) -> Option<Vec<u8>> {
    let mut out = [0; 2_048];
    let (len, _) = lone.node.udp_recv(socket, &mut out)?;
    Some(out[..len].to_vec())
}

#[test]
fn fifteen_hundred_bytes_arrive_in_any_order() {
    let mut rng = Rng::new(1);
    let (mut lone, socket) = lone();
    for round in 0..200 {
        let whole = datagram(1_452 - round as usize % 50);
        let mut fragments = shreds(&whole, round, &mut rng);
        // A copy of a fragment arrives while the packet is incomplete, and is dropped.
        fragments.insert(1, fragments[0].clone());
        for fragment in &fragments {
            assert_eq!(received(&mut lone, socket), None);
            lone.link_sends(5, fragment);
        }
        let data = received(&mut lone, socket).expect("a datagram");
        assert_eq!(data, whole[48..], "round {round}");
        assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    }
    assert_eq!(lone.dropped(DropReason::Fragment), 200);
    assert_eq!(lone.link_packets(), []);
}

#[test]
fn two_packets_grow_beside_each_other_and_a_third_takes_the_olders_place() {
    let (mut lone, socket) = lone();
    let (a, b, c) = (datagram(1_000), datagram(1_001), datagram(1_002));
    for (whole, id) in [(&a, 1), (&b, 2)] {
        lone.link_sends(5, &cut(whole, id, 0, 512));
        lone.run_for(Duration::from_millis(10));
    }
    lone.link_sends(5, &cut(&b, 2, 512, 1_024));
    assert_eq!(received(&mut lone, socket).unwrap(), b[48..]);
    for id in [3, 4] {
        lone.link_sends(5, &cut(&c, id, 0, 512));
        lone.run_for(Duration::from_millis(10));
    }
    assert_eq!(lone.dropped(DropReason::Fragment), 1);
    // A late fragment of the evicted first packet starts a reassembly that stays incomplete.
    lone.link_sends(5, &cut(&a, 1, 512, 1_024));
    assert_eq!(received(&mut lone, socket), None);
    lone.link_sends(5, &cut(&c, 4, 512, 1_024));
    assert_eq!(received(&mut lone, socket).unwrap(), c[48..]);
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS - 1);
}

/// The node silently drops all fragments of a packet with overlapping fragments, and also those
/// that arrive later (RFC 5722, RFC 8200 §4.5).
#[test]
fn overlapping_fragments_spoil_their_packet() {
    let whole = datagram(1_000);
    for (from, to) in [(256, 768), (512, 520), (0, 504), (0, 520)] {
        let (mut lone, socket) = lone();
        lone.link_sends(5, &cut(&whole, 1, 0, 512));
        lone.link_sends(5, &cut(&whole, 1, 512, 768));
        lone.link_sends(5, &cut(&whole, 1, from, to));
        lone.link_sends(5, &cut(&whole, 1, 768, 1_024));
        assert_eq!(received(&mut lone, socket), None, "{from}");
        lone.assert_silent("overlap");
        assert_eq!(lone.dropped(DropReason::Fragment), 2);
        // Fragments with another identification belong to another packet, which is complete.
        lone.link_sends(5, &cut(&whole, 2, 0, 512));
        lone.link_sends(5, &cut(&whole, 2, 512, 1_024));
        assert!(received(&mut lone, socket).is_some());
    }
}

/// Returns type and code, the pointer or unused word, and the quotation of the only error sent.
fn error(lone: &mut Lone) -> ((u8, u8), u32, Vec<u8>) {
    let mut sent = lone.link_packets();
    assert_eq!(sent.len(), 1);
    let error = sent.remove(0).1;
    let word = u32::from_be_bytes(error[44..48].try_into().unwrap());
    ((error[40], error[41]), word, error[48..].to_vec())
}

#[test]
fn an_incomplete_packet_causes_an_icmp_error_after_a_minute() {
    let (mut lone, socket) = lone();
    let whole = datagram(1_000);
    let first = cut(&whole, 1, 0, 512);
    // The last fragment comes first; without the first fragment, no error is possible.
    lone.link_sends(5, &cut(&whole, 2, 512, 1_024));
    lone.link_sends(5, &first);
    lone.run_for(Duration::from_secs(59));
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS - 2);
    lone.run_for(Duration::from_secs(3));
    let (kind, _, quoted) = error(&mut lone);
    assert_eq!(kind, (3, 1));
    // The quotation matches the received packet from the hop limit on.
    assert_eq!(quoted[7..], first[7..]);
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
    assert_eq!(lone.dropped(DropReason::Fragment), 2);
    lone.link_sends(5, &cut(&whole, 1, 512, 1_024));
    assert_eq!(received(&mut lone, socket), None);
}

#[test]
fn impossible_fragments_cause_a_parameter_problem() {
    let whole = datagram(1_000);
    let (mut lone, _) = lone();
    // This fragment is not the last one, so its length must be a multiple of eight.
    let mut odd = cut(&whole, 1, 0, 512);
    odd.truncate(40 + 8 + 509);
    odd[4..6].copy_from_slice(&(8u16 + 509).to_be_bytes());
    lone.link_sends(5, &odd);
    let (kind, pointer, _) = error(&mut lone);
    assert_eq!((kind, pointer), ((4, 0), 4));
    // This fragment ends beyond 65,535 bytes, the length of the longest packet.
    let mut beyond = cut(&whole, 1, 512, 1_024);
    beyond[42..44].copy_from_slice(&0xfff8u16.to_be_bytes());
    lone.link_sends(5, &beyond);
    let (kind, pointer, _) = error(&mut lone);
    assert_eq!((kind, pointer), ((4, 0), 42));
    // The first fragment does not contain the ports of the TCP header.
    let tcp = packet(address(5), address(1), 6, 64, &[0; 100]);
    lone.link_sends(5, &cut(&tcp, 1, 0, 16));
    let (kind, pointer, _) = error(&mut lone);
    assert_eq!((kind, pointer), ((4, 3), 0));
    // A packet longer than a slot is dropped without an error.
    let mut long = cut(&whole, 9, 512, 1_024);
    long[42..44].copy_from_slice(&1_464u16.to_be_bytes());
    lone.link_sends(5, &long);
    assert_eq!(lone.dropped(DropReason::TooBig), 1);
    lone.assert_silent("problems");
}

#[test]
fn an_echo_longer_than_the_link_takes_is_not_answered() {
    let (mut lone, _) = lone();
    let whole = icmp(address(5), address(1), 64, 128, 0, &[0; 1_396]);
    lone.link_sends(5, &cut(&whole, 1, 0, 800));
    lone.link_sends(5, &cut(&whole, 1, 800, 1_400));
    assert_eq!(lone.dropped(DropReason::BadChecksum), 0);
    assert_eq!(lone.dropped(DropReason::TooBig), 1);
    lone.assert_silent("too long an answer");
}

/// RFC 3168 §5.3.
#[test]
fn a_mark_on_one_fragment_marks_the_packet_if_it_is_ecn_capable() {
    let whole = datagram(1_000);
    let with_ecn = |bits: u8, from, to| {
        let mut fragment = cut(&whole, u32::from(bits), from, to);
        fragment[1] |= bits << 4;
        fragment
    };
    let (mut lone, socket) = lone();
    lone.link_sends(5, &with_ecn(2, 0, 512));
    let mut marked = with_ecn(2, 512, 1_024);
    marked[1] |= 3 << 4;
    lone.link_sends(5, &marked);
    assert!(received(&mut lone, socket).is_some());
    lone.link_sends(5, &with_ecn(0, 0, 512));
    let mut marked = with_ecn(0, 512, 1_024);
    marked[1] |= 3 << 4;
    lone.link_sends(5, &marked);
    assert_eq!(received(&mut lone, socket), None);
    lone.assert_silent("mixed");
}

/// Random fragments stay within the limits, and all memory is free afterwards.
#[test]
fn random_fragments_leave_no_state_behind() {
    let (mut lone, socket) = lone();
    let mut rng = Rng::new(7);
    let wholes: Vec<_> = (0..4).map(|n| datagram(600 + n * 100)).collect();
    let mut delivered = 0;
    for _ in 0..20_000 {
        let id = rng.below(4);
        let whole = &wholes[id as usize];
        let from = 8 * rng.below(90) as usize;
        let to = from + 8 * (1 + rng.below(90) as usize);
        if from + 40 < whole.len() {
            lone.link_sends(5, &cut(whole, id, from, to));
        }
        while let Some(data) = received(&mut lone, socket) {
            assert!(wholes.iter().any(|whole| whole[48..] == data));
            delivered += 1;
        }
        lone.link_packets();
        if rng.below(50) == 0 {
            lone.run_for(Duration::from_secs(70));
        }
    }
    assert!(delivered > 0);
    lone.run_for(Duration::from_secs(200));
    lone.link_packets();
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
}
