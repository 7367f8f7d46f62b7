//! For packets in any order and number, the cache sends only packets that an end sent before,
//! and acknowledges only data that the receiver acknowledged.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use crate::packets::{CLIENT, FIN, RST, SERVER, SYN, Tcp, ack, cache, data, pass, sent};
use redpoll_assist::cache::{Disposition, Params};
use redpoll_base::Instant;

#[derive(Clone, Debug)]
enum Happens {
    Passes(Tcp),
    Noise(Vec<u8>),
    Heard(Tcp),
    Full,
}

fn happens() -> impl Strategy<Value = (u64, Happens)> {
    // Some numbers are far from the receiver's window, as guesses are.
    let seq = prop_oneof![8 => 0..40u32, 1 => 80_000..u32::MAX - 80_000];
    let sizes = (seq, 0..40u32, 0..20usize);
    let flags = prop_oneof![8 => Just(16u8), 1 => Just(16 | FIN), 1 => Just(SYN), 1 => Just(RST)];
    let segment = (sizes, flags, any::<bool>(), 0..3u16, 0..4u8);
    let segment = segment.prop_map(|((seq, number, len), flags, is_up, port, ecn)| {
        // The numbers are around the end of the sequence space.
        let at = |offset: u32| u32::MAX.wrapping_sub(20).wrapping_add(offset);
        let mut it = match is_up {
            true => data(at(seq), at(number), len),
            false => ack(at(seq), at(number)),
        };
        let end = if is_up { &mut it.from } else { &mut it.to };
        end.1 += port;
        it.flags = flags;
        it.ecn = ecn;
        it
    });
    let what = prop_oneof![
        12 => segment.clone().prop_map(Happens::Passes),
        1 => prop::collection::vec(any::<u8>(), 40..120).prop_map(Happens::Noise),
        3 => segment.prop_map(Happens::Heard),
        1 => Just(Happens::Full),
    ];
    (0..3_000u64, what)
}

/// Generates the rules of cctrl, DTC and TSS, and a mixture of DTC and TSS.
fn rules() -> impl Strategy<Value = Params> {
    let both = Params {
        answers_duplicates: true,
        locks: true,
        ..Params::tss()
    };
    let rules = prop_oneof![
        Just(Params::cctrl()),
        Just(Params::dtc()),
        Just(Params::tss()),
        Just(both),
    ];
    let by = (rules, any::<bool>(), 1..4u8);
    by.prop_map(|(rules, by_activity, segments)| Params {
        by_activity,
        segments,
        ..rules
    })
}

/// Returns a packet without its ECN field and hop limit.
fn bare(packet: &[u8]) -> Vec<u8> {
    let mut bare = packet.to_vec();
    bare[1] &= !0x30;
    bare[7] = 0;
    bare
}

#[derive(Default)]
struct Known {
    /// How often each packet was kept by the cache, minus how often it has left since.
    owed: HashMap<Vec<u8>, usize>,
    /// Packets that were forwarded, and not retransmitted by the cache since.
    passed: HashSet<Vec<u8>>,
    /// The acknowledgments of each end, by ports, in segments that their receiver may accept.
    told: HashSet<(u16, u16, u32)>,
    /// All acknowledgment numbers that have passed.
    said: HashSet<(u16, u16, u32)>,
}

impl Known {
    fn passes(&mut self, it: &Tcp) {
        if it.flags & 16 == 0 {
            return;
        }
        let may_be_taken = self.said.iter().any(|(from, to, number)| {
            (*from, *to) == (it.to.1, it.from.1) && it.seq.wrapping_sub(*number) <= 65_535
        });
        let said = (it.from.1, it.to.1, it.ack);
        self.said.insert(said);
        if may_be_taken {
            self.told.insert(said);
        }
    }

    fn has_told(&self, it: &Tcp) -> bool {
        let end = it.seq.wrapping_add(it.data.len() as u32);
        self.told.iter().any(|(from, to, number)| {
            (*from, *to) == (it.to.1, it.from.1) && number.wrapping_sub(end) as i32 >= 0
        })
    }
}

proptest! {
    #[test]
    fn every_sent_packet_was_received_before(
        course in prop::collection::vec(happens(), 1..120),
        params in rules(),
    ) {
        let mut cache = cache(params, 2, 3, 100);
        let mut known = Known::default();
        let mut now = 0;
        let mut kept = 0;
        for (pause, what) in course {
            now += pause;
            match what {
                Happens::Passes(it) => {
                    let packet = it.packet();
                    let verdict = pass(&mut cache, now, &packet);
                    if verdict == Disposition::Keep {
                        kept += 1;
                        let others = params.holds_back || params.answers_duplicates;
                        prop_assert!(
                            others || known.has_told(&it) && !it.data.is_empty(),
                            "kept, but never acknowledged: {it:?}"
                        );
                        *known.owed.entry(bare(&packet)).or_default() += 1;
                    } else {
                        known.passed.insert(bare(&packet));
                    }
                    known.passes(&it);
                }
                Happens::Noise(bytes) => {
                    let mut bytes = bytes;
                    bytes[0] = 0x60;
                    pass(&mut cache, now, &bytes);
                }
                Happens::Heard(it) => {
                    let passing = it.packet().split_off(40);
                    cache.on_heard(Instant::from_millis(now), Some(&passing));
                }
                Happens::Full => cache.on_no_room(Instant::from_millis(now)),
            }
            for packet in sent(&mut cache, now) {
                // Every receiver accepts the packet, because its length field is correct.
                let (header, _) =
                    redpoll_wire::ipv6::Ipv6Header::parse_partial(&packet).unwrap();
                prop_assert_eq!(usize::from(header.payload_len), packet.len() - 40);
                let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
                let number = u32::from_be_bytes([packet[48], packet[49], packet[50], packet[51]]);
                let bare = bare(&packet);
                if let Some(owed) = known.owed.get_mut(&bare).filter(|owed| **owed > 0) {
                    // A kept packet leaves now, so the cache may retransmit it later.
                    *owed -= 1;
                    known.passed.insert(bare);
                    continue;
                }
                if packet.len() > 60 {
                    prop_assert!(known.passed.remove(&bare), "a copy is sent once");
                    continue;
                }
                prop_assert_eq!((packet.len(), packet[53]), (60, 16));
                prop_assert!(
                    known.told.contains(&(port(40), port(42), number)),
                    "acknowledges what nobody has: {}", number
                );
            }
        }
        prop_assert!(cache.flows() <= 2);
        let counted = cache.counters();
        let counted = counted.dropped + counted.duplicates + counted.waited + counted.refused;
        prop_assert!(kept <= counted, "{kept} were kept, {counted} counted");
        let _ = (CLIENT, SERVER);
    }

    /// The packets of a direction leave in the order of their arrival, except for copies. The
    /// packets of the test differ, so the test can recognise each one.
    #[test]
    fn packets_of_a_direction_keep_their_order(
        course in prop::collection::vec(happens(), 1..120),
        params in rules(),
    ) {
        let mut cache = cache(params, 3, 8, 100);
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut last: HashMap<[u8; 4], usize> = HashMap::new();
        let mut now = 0;
        for (at, (pause, what)) in course.into_iter().enumerate() {
            now += pause;
            let mut left = Vec::new();
            match what {
                Happens::Passes(mut it) => {
                    it.timestamps = Some((at as u32, 0));
                    let packet = it.packet();
                    places.insert(bare(&packet), at);
                    if pass(&mut cache, now, &packet) == Disposition::Forward {
                        left.push(packet);
                    }
                }
                Happens::Heard(it) => {
                    // All cached packets with this sequence number.
                    let mut packets = places.keys().filter(|packet| packet[44..48] == it.seq.to_be_bytes());
                    let passing = packets.next().map(|packet| packet[40..].to_vec());
                    cache.on_heard(Instant::from_millis(now), passing.as_deref());
                }
                Happens::Noise(_) | Happens::Full => {}
            }
            left.extend(sent(&mut cache, now));
            for packet in left {
                if !places.contains_key(&bare(&packet)) {
                    // The cache has made this acknowledgment.
                    prop_assert_eq!(packet.len(), 72);
                    continue;
                }
                let direction = [packet[40], packet[41], packet[42], packet[43]];
                let first = places.insert(bare(&packet), usize::MAX);
                match (first, last.get(&direction)) {
                    // A copy, because this packet has left before: the order does not apply.
                    (Some(usize::MAX), _) => {}
                    (Some(place), Some(before)) => {
                        prop_assert!(place > *before, "{place} came before {before}");
                        last.insert(direction, place);
                    }
                    (place, _) => {
                        last.insert(direction, place.unwrap_or_default());
                    }
                }
            }
        }
    }
}
