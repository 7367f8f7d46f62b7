//! Whatever passes, in whatever order and however often: what the cache sends is what an
//! end has sent before, and acknowledges what the receiver has acknowledged.

use std::collections::HashSet;

use proptest::prelude::*;

use crate::packets::{CLIENT, FIN, RST, SERVER, SYN, Tcp, ack, cache, data, pass, sent};
use redpoll_assist::cache::{Params, Verdict};
use redpoll_base::Instant;

/// Something that happens to a cache.
#[derive(Clone, Debug)]
enum Happens {
    Passes(Tcp),
    Noise(Vec<u8>),
    Heard,
    Full,
}

fn happens() -> impl Strategy<Value = (u64, Happens)> {
    let sizes = (0..40u32, 0..40u32, 0..20usize);
    let flags = prop_oneof![8 => Just(16u8), 1 => Just(16 | FIN), 1 => Just(SYN), 1 => Just(RST)];
    let segment = (sizes, flags, any::<bool>(), 0..3u16, 0..4u8);
    let segment = segment.prop_map(|((seq, number, len), flags, is_up, port, ecn)| {
        // Around the end of the sequence space.
        let at = |offset: u32| u32::MAX.wrapping_sub(20).wrapping_add(offset);
        let mut it = match is_up {
            true => data(at(seq), at(number), len),
            false => ack(at(seq), at(number)),
        };
        let end = if is_up { &mut it.from } else { &mut it.to };
        end.1 += port;
        it.flags = flags;
        it.ecn = ecn;
        Happens::Passes(it)
    });
    let what = prop_oneof![
        12 => segment,
        1 => prop::collection::vec(any::<u8>(), 40..120).prop_map(Happens::Noise),
        2 => Just(Happens::Heard),
        1 => Just(Happens::Full),
    ];
    (0..3_000u64, what)
}

/// A packet without its ECN field and hop limit.
fn bare(packet: &[u8]) -> Vec<u8> {
    let mut bare = packet.to_vec();
    bare[1] &= !0x30;
    bare[7] = 0;
    bare
}

proptest! {
    #[test]
    fn nothing_is_invented(
        course in prop::collection::vec(happens(), 1..120),
        by_activity: bool,
        segments in 1..4u8,
    ) {
        let params = Params { by_activity, segments, ..Params::default() };
        let mut cache = cache(params, 2, 3, 100);
        let mut passed: HashSet<Vec<u8>> = HashSet::new();
        // What each end has acknowledged, by ports: the numbers that have passed.
        let mut told: HashSet<(u16, u16, u32)> = HashSet::new();
        let mut repeated: HashSet<Vec<u8>> = HashSet::new();
        let mut now = 0;
        for (pause, what) in course {
            now += pause;
            match what {
                Happens::Passes(it) => {
                    let packet = it.packet();
                    let verdict = pass(&mut cache, now, &packet);
                    if verdict == Verdict::Keep {
                        let end = it.seq.wrapping_add(it.data.len() as u32);
                        let is_told = told.iter().any(|(from, to, number)| {
                            (*from, *to) == (it.to.1, it.from.1)
                                && number.wrapping_sub(end) as i32 >= 0
                        });
                        prop_assert!(is_told, "kept, but never acknowledged: {it:?}");
                        prop_assert!(!it.data.is_empty());
                    }
                    // A segment that passes anew may be sent again anew.
                    repeated.remove(&bare(&packet));
                    passed.insert(bare(&packet));
                    if it.flags & 16 != 0 {
                        told.insert((it.from.1, it.to.1, it.ack));
                    }
                }
                Happens::Noise(bytes) => {
                    let mut bytes = bytes;
                    bytes[0] = 0x60;
                    pass(&mut cache, now, &bytes);
                }
                Happens::Heard => cache.on_heard(Instant::from_millis(now)),
                Happens::Full => cache.on_no_room(Instant::from_millis(now)),
            }
            for packet in sent(&mut cache, now) {
                if passed.contains(&bare(&packet)) && packet.len() > 60 {
                    prop_assert!(repeated.insert(bare(&packet)), "a copy is sent once");
                    continue;
                }
                let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
                let number = u32::from_be_bytes([packet[48], packet[49], packet[50], packet[51]]);
                prop_assert_eq!((packet.len(), packet[53]), (60, 16));
                prop_assert!(
                    told.contains(&(port(40), port(42), number)),
                    "acknowledges what nobody has: {}", number
                );
                // Anybody takes it for whole.
                let (header, _) =
                    redpoll_wire::ipv6::Ipv6Header::parse_partial(&packet).unwrap();
                prop_assert_eq!(usize::from(header.payload_len), packet.len() - 40);
            }
        }
        prop_assert!(cache.flows() <= 2);
        let _ = (CLIENT, SERVER);
    }
}
