//! The rules of DTC and TSS, with a test for each rule.

use crate::packets::{ACK, FIN, Heap, SYN, Tcp, ack, cache, data, due, pass, sent};
use redpoll_assist::cache::{Cache, Choice, Disposition, Params};
use redpoll_base::Instant;

/// Returns a packet as the next hop sends it, with its IPv6 header compressed to two bytes.
fn passed_on(it: &Tcp) -> Vec<u8> {
    let packet = it.packet();
    [&[0x7a, 0x33], &packet[40..]].concat()
}

/// Time at which [`open`] is over, in ms.
const T: u64 = 2_000;

fn open(cache: &mut Cache<Heap>) {
    let mut syn = data(99, 0, 0);
    syn.flags = SYN;
    let mut answer = ack(0, 100);
    answer.flags = SYN | ACK;
    for (ms, it) in [(0, syn), (1_000, answer), (T, data(100, 1, 0))] {
        assert_eq!(pass(cache, ms, &it.packet()), Disposition::Forward);
    }
}

fn hear(cache: &mut Cache<Heap>, ms: u64, frame: &[u8]) {
    cache.on_heard(Instant::from_millis(ms), Some(frame));
}

#[test]
fn the_handshake_is_timed_and_the_timeout_is_half_as_long() {
    let tss = Params {
        acknowledges_again: false,
        ..Params::tss()
    };
    for params in [Params::dtc(), tss] {
        let mut cache = cache(params, 4, 4, 128);
        let mut syn = data(99, 0, 0);
        syn.flags = SYN;
        let mut answer = ack(0, 100);
        answer.flags = SYN | ACK;
        pass(&mut cache, 0, &syn.packet());
        pass(&mut cache, 80, &answer.packet());
        pass(&mut cache, 100, &data(100, 1, 0).packet());
        pass(&mut cache, 200, &data(100, 1, 16).packet());
        assert_eq!(due(&cache), Some(200 + 120));
    }
}

#[test]
fn dtc_keeps_the_newest_and_others_by_chance() {
    let params = Params {
        locks: false,
        choice: Choice::Newest { others_percent: 0 },
        ..Params::dtc()
    };
    let mut cache = cache(params, 4, 4, 128);
    open(&mut cache);
    let (first, second) = (data(100, 1, 16).packet(), data(116, 1, 16).packet());
    for it in [&first, &second, &first] {
        assert_eq!(pass(&mut cache, T, it), Disposition::Forward);
    }
    assert_eq!(sent(&mut cache, T + 60_000), [second]);

    let always = Params {
        choice: Choice::Newest {
            others_percent: 100,
        },
        ..params
    };
    let mut cache = crate::packets::cache(always, 4, 4, 128);
    open(&mut cache);
    for seq in [100, 116, 100] {
        pass(&mut cache, T, &data(seq, 1, 16).packet());
    }
    assert_eq!(sent(&mut cache, T + 60_000), [first]);
}

/// Even with room for several segments, a segment that its sender repeats is stored once.
#[test]
fn dtc_keeps_one_copy_of_a_segment_that_comes_again() {
    let params = Params {
        locks: false,
        segments: 3,
        choice: Choice::Newest {
            others_percent: 100,
        },
        ..Params::dtc()
    };
    let mut cache = cache(params, 4, 4, 128);
    open(&mut cache);
    let (first, second) = (data(100, 1, 16).packet(), data(116, 1, 16).packet());
    for it in [&first, &second, &first, &first] {
        assert_eq!(pass(&mut cache, T, it), Disposition::Forward);
    }
    let mut copies = sent(&mut cache, T + 60_000);
    copies.sort();
    assert_eq!(copies, [first, second]);
}

#[test]
fn dtc_locks_a_copy_until_the_next_hop_passes_it_on() {
    let mut cache = cache(Params::dtc(), 4, 4, 128);
    open(&mut cache);
    pass(&mut cache, T, &data(100, 1, 16).packet());
    pass(&mut cache, T + 1, &data(116, 1, 16).packet());
    assert_eq!(cache.counters().without_room, 1);
    hear(&mut cache, T + 2, &passed_on(&data(100, 1, 16)));
    assert_eq!(cache.counters().reached, 1);
    let third = data(132, 1, 16).packet();
    pass(&mut cache, T + 3, &third);
    assert_eq!(sent(&mut cache, T + 60_000), [third]);
}

#[test]
fn dtc_answers_a_duplicate_acknowledgment_with_its_copy() {
    let mut cache = cache(Params::dtc(), 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16).packet();
    pass(&mut cache, T, &first);
    pass(&mut cache, T + 1, &data(116, 1, 16).packet());
    let asks = ack(1, 100).packet();
    assert_eq!(pass(&mut cache, T + 110, &asks), Disposition::Keep);
    assert_eq!(sent(&mut cache, T + 110), [first]);
    assert_eq!(
        pass(&mut cache, T + 120, &asks),
        Disposition::Keep,
        "it is on its way"
    );
    assert!(sent(&mut cache, T + 120).is_empty());
    // By this time the copy has been dropped, so the sender has to retransmit the segment.
    assert_eq!(sent(&mut cache, T + 10_000), Vec::<Vec<u8>>::new());
    assert_eq!(pass(&mut cache, T + 10_000, &asks), Disposition::Forward);
    assert_eq!(cache.counters().duplicates, 2);
}

#[test]
fn dtc_forwards_acknowledgments_that_are_not_pure_duplicates() {
    let asks = ack(1, 100);
    let more = |change: fn(&mut Tcp)| {
        let mut it = asks.clone();
        change(&mut it);
        it
    };
    for it in [
        more(|it| it.window += 1),
        more(|it| it.flags |= 0x40), // ECE
        more(|it| it.flags |= FIN),
        more(|it| it.sack = vec![(132, 148)]),
        more(|it| it.sack = vec![(116, 132), (148, 164)]),
        more(|it| it.sack = vec![(90, 100)]),
        more(|it| it.data = vec![7; 16]),
    ] {
        let mut cache = cache(Params::dtc(), 4, 4, 128);
        open(&mut cache);
        pass(&mut cache, T, &asks.packet());
        pass(&mut cache, T, &data(100, 1, 16).packet());
        assert_eq!(
            pass(&mut cache, T + 100, &it.packet()),
            Disposition::Forward,
            "{it:?}"
        );
        assert!(sent(&mut cache, T + 100).is_empty());
    }
    // The receiver lacks only the copied segment, so the cache drops the duplicate acknowledgment.
    let mut cache = cache(Params::dtc(), 4, 4, 128);
    open(&mut cache);
    pass(&mut cache, T, &asks.packet());
    pass(&mut cache, T, &data(100, 1, 16).packet());
    let filled = more(|it| it.sack = vec![(116, 132)]);
    assert_eq!(
        pass(&mut cache, T + 100, &filled.packet()),
        Disposition::Keep
    );
}

#[test]
fn tss_lets_a_segment_pass_when_the_one_before_it_is_at_the_next_hop() {
    let mut cache = cache(Params::tss(), 4, 4, 128);
    open(&mut cache);
    let all = [100, 116, 132, 148].map(|seq| data(seq, 1, 16));
    assert_eq!(pass(&mut cache, T, &all[0].packet()), Disposition::Forward);
    assert_eq!(pass(&mut cache, T + 1, &all[1].packet()), Disposition::Keep);
    assert_eq!(pass(&mut cache, T + 2, &all[2].packet()), Disposition::Keep);
    // With a copy and two waiting segments, there is no room for another.
    assert_eq!(pass(&mut cache, T + 3, &all[3].packet()), Disposition::Keep);
    assert_eq!(cache.counters().refused, 1);
    assert!(sent(&mut cache, T + 4).is_empty());
    hear(&mut cache, T + 5, &passed_on(&all[2]));
    assert!(
        sent(&mut cache, T + 5).is_empty(),
        "what waits has not been sent"
    );
    hear(&mut cache, T + 6, &passed_on(&all[0]));
    assert_eq!(sent(&mut cache, T + 6), [all[1].packet()]);
    // An acknowledgment releases the next segment, as an overheard frame does.
    pass(&mut cache, T + 7, &ack(1, 132).packet());
    assert_eq!(sent(&mut cache, T + 7), [all[2].packet()]);
}

#[test]
fn tss_overhears_the_last_fragment() {
    let mut cache = cache(Params::tss(), 4, 4, 400);
    open(&mut cache);
    let long = data(100, 1, 200);
    pass(&mut cache, T, &long.packet());
    pass(&mut cache, T, &data(300, 1, 16).packet());
    let packet = long.packet();
    let tail = &packet[packet.len() - 40..];
    hear(&mut cache, T + 1, &[&[0xc1, 0x00, 0, 9], tail].concat());
    assert!(sent(&mut cache, T + 1).is_empty(), "a first fragment");
    hear(&mut cache, T + 2, &[&[0xe1, 0x00, 0, 9, 20], tail].concat());
    assert_eq!(sent(&mut cache, T + 2).len(), 1);
}

#[test]
fn tss_delays_no_segment_longer_than_two_timeouts() {
    let params = Params {
        acknowledges_again: false,
        ..Params::tss()
    };
    let mut cache = cache(params, 4, 4, 128);
    open(&mut cache);
    let (first, second) = (data(100, 1, 16).packet(), data(116, 1, 16).packet());
    pass(&mut cache, T, &first);
    pass(&mut cache, T + 1, &second);
    let timeout = due(&cache).unwrap() - T;
    assert_eq!(sent(&mut cache, T + timeout), [first]);
    assert!(sent(&mut cache, T + 2 * timeout - 1).is_empty());
    assert_eq!(sent(&mut cache, T + 2 * timeout), [second]);
}

#[test]
fn tss_keeps_the_order_of_all_that_an_end_sends() {
    let mut cache = cache(Params::tss(), 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16);
    let bare = data(116, 9, 0);
    let mut last = data(116, 9, 0);
    last.flags |= FIN;
    pass(&mut cache, T, &first.packet());
    assert_eq!(pass(&mut cache, T, &bare.packet()), Disposition::Forward);
    let second = data(116, 9, 16);
    pass(&mut cache, T + 1, &second.packet());
    last.seq = 132;
    assert_eq!(pass(&mut cache, T + 2, &last.packet()), Disposition::Keep);
    hear(&mut cache, T + 3, &passed_on(&first));
    assert_eq!(sent(&mut cache, T + 3), [second.packet()]);
    hear(&mut cache, T + 4, &passed_on(&second));
    assert_eq!(sent(&mut cache, T + 4), [last.packet()]);
}

#[test]
fn tss_sends_its_copy_in_the_place_of_a_retransmission() {
    let mut cache = cache(Params::tss(), 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16).packet();
    pass(&mut cache, T, &first);
    pass(&mut cache, T + 1, &data(116, 1, 16).packet());
    assert_eq!(pass(&mut cache, T + 2, &first), Disposition::Keep);
    assert_eq!(sent(&mut cache, T + 2), [first]);
}

#[test]
fn tss_repeats_an_acknowledgment_without_effect_once() {
    let params = Params {
        holds_back: false,
        ..Params::tss()
    };
    let mut cache = cache(params, 4, 4, 128);
    open(&mut cache);
    pass(&mut cache, T, &data(100, 1, 16).packet());
    let answer = ack(1, 116).packet();
    pass(&mut cache, T + 80, &answer);
    let at = due(&cache).unwrap() - T;
    let mut again = answer.clone();
    again[7] = 64;
    assert_eq!(sent(&mut cache, T + at), [again]);
    assert!(sent(&mut cache, T + 600_000).is_empty());
    assert_eq!(cache.counters().again, 1);

    pass(&mut cache, T + 600_000, &data(116, 1, 16).packet());
    pass(&mut cache, T + 600_080, &ack(1, 132).packet());
    pass(&mut cache, T + 600_090, &data(132, 1, 16).packet());
    pass(&mut cache, T + 600_095, &ack(1, 148).packet());
    // After a FIN, no acknowledgment is repeated: a closed end would answer it with a reset.
    let mut last = data(148, 1, 0);
    last.flags |= FIN;
    pass(&mut cache, T + 600_100, &last.packet());
    assert!(sent(&mut cache, T + 1_200_000).is_empty());
}

#[test]
fn tss_forgets_no_connection_that_has_packets_here() {
    let mut cache = cache(Params::tss(), 1, 4, 128);
    open(&mut cache);
    pass(&mut cache, T, &data(100, 1, 16).packet());
    pass(&mut cache, T + 1, &data(116, 1, 16).packet());
    let mut other = data(500, 1, 16);
    other.from.1 += 1;
    assert_eq!(
        pass(&mut cache, T + 2, &other.packet()),
        Disposition::Forward
    );
    assert_eq!((cache.flows(), cache.counters().evicted), (1, 0));
    hear(&mut cache, T + 3, &passed_on(&data(100, 1, 16)));
    assert_eq!(sent(&mut cache, T + 3).len(), 1);
}
