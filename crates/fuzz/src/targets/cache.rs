//! The segment cache with segments of a few connections, which have arbitrary numbers and sometimes
//! a changed byte. The cache may retransmit only packets that it has forwarded, and acknowledge
//! only data that an end has acknowledged in a segment that its receiver may accept.

use std::collections::{HashMap, HashSet};

use redpoll_assist::cache::{Cache, Disposition, FlowSlot, HeldSlot, Memory, Params};
use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_wire::ipv6::Ipv6Header;

use super::Heap;

const FLOWS: usize = 2;
const PACKETS: usize = 3;
const ROOM: usize = 100;
const HEADERS: usize = 60;
/// Largest window without window scaling, in bytes.
const WINDOW: u32 = 65_535;
const ACK: u8 = 16;
const SYN: u8 = 2;

/// Returns a packet without ECN field and hop limit, in which a retransmitted copy may differ.
fn bare(packet: &[u8]) -> Vec<u8> {
    let mut bare = packet.to_vec();
    bare[1] &= !0x30;
    bare[7] = 0;
    bare
}

fn number(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}

/// Returns address and port of the sender and of the receiver.
fn ends(packet: &[u8]) -> [Vec<u8>; 2] {
    let end =
        |addr: usize, port: usize| [&packet[addr..addr + 16], &packet[port..port + 2]].concat();
    [end(8, 40), end(24, 42)]
}

/// Returns whether a packet has TCP with a correct checksum directly after the IPv6 header.
fn is_sound(packet: &[u8]) -> bool {
    if packet.len() < HEADERS || packet[6] != 6 {
        return false;
    }
    let addr = |at: usize| Addr(packet[at..at + 16].try_into().expect("16 bytes"));
    let mut sum = Checksum::pseudo_header(&addr(8), &addr(24), 6, packet.len() as u32 - 40);
    sum.add(&packet[40..]);
    let offset = usize::from(packet[52] >> 4) * 4;
    let is_whole = usize::from(u16::from_be_bytes([packet[4], packet[5]])) == packet.len() - 40;
    sum.is_valid() && is_whole && (20..=packet.len() - 40).contains(&offset)
}

/// Corrects the TCP checksum of a packet.
fn mend(packet: &mut [u8]) {
    packet[56..58].fill(0);
    let addr = |at: usize| Addr(packet[at..at + 16].try_into().expect("16 bytes"));
    let mut sum = Checksum::pseudo_header(&addr(8), &addr(24), 6, packet.len() as u32 - 40);
    sum.add(&packet[40..]);
    let sum = sum.finish().to_be_bytes();
    packet[56..58].copy_from_slice(&sum);
}

/// Builds a packet from a step: flow, direction, flags, numbers, data, options, a changed byte.
fn packet(step: &[u8]) -> Vec<u8> {
    let (flow, is_up) = (step[0] & 3, step[0] & 0x80 != 0);
    let options: &[u8] = match (step[0] >> 2) & 3 {
        0 => &[],
        1 => &[1, 1, 8, 10, 0, 0, 0, step[9], 0, 0, 0, step[10]],
        2 => &[1, 1, 5, 10, 255, 255, 255, step[9], 255, 255, 255, step[10]],
        _ => &[1, 3, 3, step[9]],
    };
    let data = usize::from(step[1] % 32);
    let tcp = 20 + options.len() + data;
    let mut packet = vec![0x60, step[2] & 0x30, 0, 0, 0, tcp as u8, 6, 64];
    let mut ends = [[7, 4, flow], [1, 19, 137]];
    if !is_up {
        ends.reverse();
    }
    for [last, ..] in ends {
        packet.extend([0xfd; 15]);
        packet.push(last);
    }
    for [_, high, low] in ends {
        packet.extend([high, low]);
    }
    // Sequence and acknowledgment numbers are near the wrap-around, or far away.
    for (near, far) in [(step[3], step[4]), (step[5], step[6])] {
        let far = if far > 200 { u32::from(far) << 20 } else { 0 };
        packet.extend(
            u32::MAX
                .wrapping_sub(100)
                .wrapping_add(near.into())
                .wrapping_add(far)
                .to_be_bytes(),
        );
    }
    let flags = match step[7] {
        0..200 => ACK,
        flags => flags,
    };
    packet.extend([
        ((20 + options.len() as u8) / 4) << 4,
        flags,
        step[8] & 1,
        step[8],
    ]);
    packet.extend([0; 4]);
    packet.extend(options);
    packet.extend((0..data).map(|at| at as u8));
    mend(&mut packet);
    // Change a byte of some packets; correct the checksum in half of these.
    if step[11] > 200 {
        let place = usize::from(step[12]) % packet.len();
        packet[place] ^= step[13];
        if step[11] & 1 == 0 {
            mend(&mut packet);
        }
    }
    packet[0] = 0x60;
    packet
}

fn params(choice: u8) -> Params {
    let rules = match choice & 3 {
        0 => Params::cctrl(),
        1 => Params::dtc(),
        2 => Params::tss(),
        _ => Params {
            answers_duplicates: true,
            locks: true,
            ..Params::tss()
        },
    };
    Params {
        by_activity: choice & 4 != 0,
        segments: 1 + (choice >> 3) % 3,
        ..rules
    }
}

/// The packets and acknowledgments that the cache has seen, as a reference for what it may send.
#[derive(Default)]
struct Known {
    /// For each packet that the cache has kept instead of forwarding it at once, the number of
    /// copies that the cache has yet to forward.
    owed: HashMap<Vec<u8>, u32>,
    /// Forwarded packets, until the cache retransmits them.
    passed: HashSet<Vec<u8>>,
    /// Acknowledgment numbers of all packets, by sender and receiver.
    said: HashMap<[Vec<u8>; 2], HashSet<u32>>,
    /// Acknowledgment numbers of segments that the receiver may accept.
    told: HashSet<([Vec<u8>; 2], u32)>,
}

impl Known {
    fn hear(&mut self, packet: &[u8]) {
        if !is_sound(packet) || packet[53] & ACK == 0 {
            return;
        }
        let [from, to] = ends(packet);
        let (seq, ack) = (number(packet, 44), number(packet, 48));
        let other = self.said.get(&[to.clone(), from.clone()]);
        // The largest window with the largest scale (RFC 7323 §2.2).
        let may_reach = WINDOW << 14;
        let is_taken = packet[53] & SYN != 0
            || other.is_some_and(|all| all.iter().any(|said| seq.wrapping_sub(*said) <= may_reach));
        if is_taken {
            self.told.insert(([from.clone(), to.clone()], ack));
        }
        self.said.entry([from, to]).or_default().insert(ack);
    }

    fn sent(&mut self, packet: &[u8]) {
        assert!(packet.len() >= HEADERS);
        let bare = bare(packet);
        if let Some(owed) = self.owed.get_mut(&bare).filter(|owed| **owed > 0) {
            *owed -= 1;
            self.passed.insert(bare);
            return;
        }
        assert!(
            is_sound(packet),
            "the cache sent an incomplete or invalid packet"
        );
        if self.passed.remove(&bare) {
            return;
        }
        let offset = usize::from(packet[52] >> 4) * 4;
        assert_eq!(
            packet.len(),
            40 + offset,
            "an acknowledgment of the cache carries data"
        );
        assert_eq!(packet[53], ACK);
        let told = (ends(packet), number(packet, 48));
        assert!(
            self.told.contains(&told),
            "the cache acknowledged data that no node has acknowledged"
        );
    }
}

pub fn run(bytes: &[u8]) {
    let Some((choice, steps)) = bytes.split_first() else {
        return;
    };
    let memory = Memory::<Heap> {
        flows: vec![FlowSlot::EMPTY; FLOWS].into(),
        held: vec![HeldSlot::EMPTY; PACKETS].into(),
        bytes: vec![0; PACKETS * ROOM].into(),
    };
    let mut cache = Cache::new(params(*choice), Rng::new(1), memory);
    let mut known = Known::default();
    let mut now = Instant::ZERO;
    let mut kept = 0;
    let mut out = [0; 1_280];
    for step in steps.chunks_exact(16) {
        now += Duration::from_millis(u64::from(step[14]) * u64::from(step[15] >> 2));
        let packet = packet(step);
        match step[15] & 3 {
            3 if step[14] & 1 == 0 => cache.on_heard(now, Some(&packet[40..])),
            3 => cache.on_no_room(now),
            _ => {
                let Ok((header, _)) = Ipv6Header::parse_partial(&packet) else {
                    continue;
                };
                match cache.on_forward(now, &header, &packet) {
                    Disposition::Keep => {
                        kept += 1;
                        assert!(
                            is_sound(&packet),
                            "the cache keeps a packet that an end of the connection would refuse"
                        );
                        *known.owed.entry(bare(&packet)).or_default() += 1;
                    }
                    Disposition::Forward => {
                        known.passed.insert(bare(&packet));
                    }
                }
                known.hear(&packet);
            }
        }
        let mut turns = 0;
        while cache.poll_at().is_some_and(|wake| wake.at <= now)
            && let Some(len) = cache.poll_packet(now, &mut out)
        {
            known.sent(&out[..len]);
            turns += 1;
            assert!(turns < 64, "the cache does not stop sending packets");
        }
        assert!(cache.flows() <= FLOWS);
    }
    // The cache sends or drops every packet that it has kept, and then has no timer.
    for _ in 0..64 {
        let Some(wake) = cache.poll_at() else { break };
        now = wake.at.max(now);
        if let Some(len) = cache.poll_packet(now, &mut out) {
            known.sent(&out[..len]);
        }
    }
    assert_eq!(
        cache.poll_at(),
        None,
        "the cache still has a timer, so it never becomes empty"
    );
    let counted = cache.counters();
    let counted = counted.dropped + counted.duplicates + counted.waited + counted.refused;
    assert!(
        kept <= counted,
        "{kept} packets were kept, but the counters account for only {counted}"
    );
}
