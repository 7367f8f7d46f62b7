//! The multicast forwarder with MPL messages that sometimes have a changed byte, packets from the
//! host, and passing time. Each message is forwarded a bounded number of times, and never with a
//! hop limit of 0.

use redpoll_assist::multicast::{
    Fate, GroupSlot, Memory, MessageSlot, Multicast, Params, SeedSlot,
};
use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_wire::ipv6::mpl::{ALL_FORWARDERS, MplOption};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::Heap;

const GROUP: Addr = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]);
const NODE: Addr = Addr([0xfd; 16]);
const MESSAGES: usize = 3;

fn packet(dst: Addr, len: usize) -> Vec<u8> {
    let header = Ipv6Header {
        payload_len: len as u16,
        next_header: next_header::UDP,
        hop_limit: 9,
        src: Addr([0x20; 16]),
        dst,
        ..Ipv6Header::default()
    };
    [&header.to_bytes()[..], &vec![7; len]].concat()
}

fn message(step: &[u8]) -> Vec<u8> {
    let inner = packet(GROUP, usize::from(step[0] % 64));
    let outer = Ipv6Header {
        payload_len: (inner.len() + MplOption::LEN) as u16,
        next_header: next_header::HOP_BY_HOP,
        hop_limit: step[1] % 8,
        src: Addr([0xfe; 16]),
        dst: ALL_FORWARDERS,
        ..Ipv6Header::default()
    };
    let option = MplOption::header((step[2] % 4).into(), step[3], next_header::IPV6);
    [&outer.to_bytes()[..], &option, &inner].concat()
}

pub fn run(bytes: &[u8]) {
    let memory = Memory::<Heap> {
        groups: vec![GroupSlot::EMPTY; 2].into(),
        seeds: vec![SeedSlot::EMPTY; 3].into(),
        messages: vec![MessageSlot::EMPTY; MESSAGES].into(),
        bytes: vec![0; MESSAGES * 128].into(),
    };
    let params = Params::default();
    let mut node = Multicast::new(params, Rng::new(1), memory);
    assert!(node.join(&GROUP) && node.let_in(&GROUP));
    let mut now = Instant::ZERO;
    for step in bytes.chunks_exact(8) {
        now += Duration::from_millis(step[7].into());
        let mut packet = match step[4] & 3 {
            0 => packet(GROUP, usize::from(step[0])),
            _ => message(step),
        };
        // Change a byte of some packets.
        if step[5] > 200 {
            let place = usize::from(step[6]) % packet.len();
            packet[place] ^= step[5];
        }
        let Ok((header, _)) = Ipv6Header::parse(&packet) else {
            continue;
        };
        let len = packet.len();
        let fate = match step[4] & 3 {
            0 => node.on_host(now, &NODE, &header, &mut packet),
            _ => node.on_link(now, &header, &mut packet),
        };
        if let Fate::Deliver(start) = fate {
            assert!(start < len);
            let (inner, _) =
                Ipv6Header::parse(&packet[start..]).expect("the inner packet has an IPv6 header");
            assert_eq!(inner.dst, GROUP);
        }
        let mut turns = 0;
        let mut out = [0; 1_280];
        while node.poll_at().is_some_and(|wake| wake.at <= now)
            && let Some(len) = node.poll_packet(now, &mut out)
        {
            let (sent, _) =
                Ipv6Header::parse(&out[..len]).expect("the sent message has an IPv6 header");
            assert!(sent.hop_limit > 0 && MplOption::find(&out[..len]).is_some());
            turns += 1;
            assert!(turns <= MESSAGES * usize::from(params.expirations));
        }
    }
    // The forwarder drops every message after a bounded number of transmissions.
    for _ in 0..=MESSAGES * usize::from(params.expirations) {
        let Some(wake) = node.poll_at() else { break };
        node.poll_packet(wake.at, &mut [0; 1_280]);
    }
    assert_eq!(node.poll_at(), None);
}
