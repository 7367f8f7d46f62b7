//! Tests the times of copies and of acknowledgments (Hurni et al. 2012, §3.2 and §3.3).

use crate::packets::{ACK, CLIENT, FIN, Heap, SERVER, SYN};
use crate::packets::{ack, cache, data, due, open, pass, sent};
use redpoll_assist::cache::{Cache, Disposition, Params};
use redpoll_base::Instant;

#[test]
fn a_segment_that_is_not_acknowledged_is_sent_again_once() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    let first = data(100, 1, 16).packet();
    assert_eq!(pass(&mut cache, 0, &first), Disposition::Forward);
    // Three times the 3 s that are assumed as the round trip before the first sample.
    assert_eq!(due(&cache), Some(9_000));
    assert!(sent(&mut cache, 8_999).is_empty());
    assert_eq!(sent(&mut cache, 9_000), [first]);
    assert_eq!(due(&cache), None);
    assert_eq!(cache.counters().repeated, 1);
}

#[test]
fn an_acknowledgment_releases_the_copy_and_measures_the_round_trip() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    pass(&mut cache, 0, &data(100, 1, 16).packet());
    pass(&mut cache, 80, &ack(1, 116).packet());
    assert_eq!((due(&cache), cache.counters().acknowledged), (None, 1));
    // The first sample is the estimate; a later sample counts with a weight of one eighth.
    pass(&mut cache, 1_000, &data(116, 1, 16).packet());
    assert_eq!(due(&cache), Some(1_240));
    pass(&mut cache, 1_160, &ack(1, 132).packet());
    pass(&mut cache, 2_000, &data(132, 1, 16).packet());
    assert_eq!(due(&cache), Some(2_000 + 3 * 90));
}

#[test]
fn a_retransmitted_segment_gives_no_rtt_sample() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    let first = data(100, 1, 16).packet();
    pass(&mut cache, 0, &first);
    pass(&mut cache, 500, &first);
    pass(&mut cache, 600, &ack(1, 116).packet());
    pass(&mut cache, 1_000, &data(116, 1, 16).packet());
    assert_eq!(due(&cache), Some(10_000), "the estimate is what it was");
}

#[test]
fn acknowledged_data_are_answered_and_not_forwarded() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16).packet();
    pass(&mut cache, 0, &first);
    pass(&mut cache, 80, &ack(1, 116).packet());
    assert_eq!(pass(&mut cache, 2_000, &first), Disposition::Keep);
    assert_eq!(
        sent(&mut cache, 2_000),
        [{
            let mut made = ack(1, 116).packet();
            made[7] = 64;
            made
        }]
    );
    assert_eq!(due(&cache), None);
    let counters = cache.counters();
    assert_eq!((counters.dropped, counters.regenerated), (1, 1));
}

#[test]
fn timestamps_and_window_of_an_answer_are_the_latest() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open(&mut cache);
    let mut first = data(100, 1, 16);
    first.timestamps = Some((7, 3));
    pass(&mut cache, 0, &first.packet());
    let mut answer = ack(1, 116);
    answer.timestamps = Some((50, 7));
    answer.window = 900;
    pass(&mut cache, 80, &answer.packet());
    assert_eq!(pass(&mut cache, 2_000, &first.packet()), Disposition::Keep);
    let mut expected = answer.packet();
    expected[7] = 64;
    assert_eq!(sent(&mut cache, 2_000), [expected]);
}

#[test]
fn without_regeneration_it_passes() {
    let params = Params {
        regenerates: false,
        ..Params::default()
    };
    let mut cache = cache(params, 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16).packet();
    pass(&mut cache, 0, &first);
    pass(&mut cache, 80, &ack(1, 116).packet());
    assert_eq!(pass(&mut cache, 2_000, &first), Disposition::Forward);
    assert!(sent(&mut cache, 9_999).is_empty());
}

#[test]
fn the_timeout_is_early_on_a_quiet_channel_and_late_on_a_busy_one() {
    let params = Params {
        by_activity: true,
        ..Params::default()
    };
    let mut quiet = cache(params, 4, 4, 128);
    let first = data(100, 1, 16).packet();
    pass(&mut quiet, 0, &first);
    assert_eq!(due(&quiet), Some(6_000));
    assert_eq!(sent(&mut quiet, 6_000), std::slice::from_ref(&first));
    assert_eq!(quiet.counters().repeated_early, 1);

    let mut loud = cache(params, 4, 4, 128);
    pass(&mut loud, 0, &first);
    loud.on_heard(Instant::from_millis(3_001), None);
    assert!(sent(&mut loud, 6_000).is_empty());
    assert_eq!(due(&loud), Some(9_000));
    loud.on_heard(Instant::from_millis(8_999), None);
    assert_eq!(sent(&mut loud, 9_000), [first], "then in any case");
    assert_eq!(loud.counters().repeated_early, 0);
}

#[test]
fn the_oldest_outstanding_segment_is_cached() {
    let mut one = cache(Params::default(), 4, 4, 128);
    let segments = [0, 1, 2].map(|at| data(100 + 16 * at, 1, 16).packet());
    for segment in &segments {
        pass(&mut one, 0, segment);
    }
    assert_eq!(sent(&mut one, 9_000), [segments[0].clone()]);
    let params = Params {
        segments: 2,
        ..Params::default()
    };
    let mut two = cache(params, 4, 4, 128);
    for segment in &segments {
        pass(&mut two, 0, segment);
    }
    pass(&mut two, 1, &ack(1, 116).packet());
    assert_eq!(sent(&mut two, 9_001), [segments[1].clone()]);
    assert_eq!(two.counters().without_room, 1);
}

#[test]
fn segments_beyond_a_gap_and_retransmissions_are_not_cached() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    pass(&mut cache, 0, &data(100, 1, 16).packet());
    pass(&mut cache, 10, &ack(1, 116).packet());
    pass(&mut cache, 20, &data(132, 1, 16).packet());
    pass(&mut cache, 30, &data(116, 1, 16).packet());
    assert_eq!(due(&cache), None);
    // After this segment all data are in order again.
    pass(&mut cache, 40, &data(148, 1, 16).packet());
    assert!(due(&cache).is_some());
}

#[test]
fn a_reset_or_a_new_connection_empties_the_cache() {
    for flags in [crate::packets::RST, SYN] {
        let mut cache = cache(Params::default(), 4, 4, 128);
        pass(&mut cache, 0, &data(100, 1, 16).packet());
        let mut other = data(9_000, 0, 0);
        other.flags = flags;
        pass(&mut cache, 10, &other.packet());
        assert_eq!(due(&cache), None, "{flags}");
    }
}

#[test]
fn syns_and_fins_are_neither_kept_nor_answered() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    let mut syn = data(99, 0, 0);
    syn.flags = SYN;
    let mut answer = ack(0, 100);
    answer.flags = SYN | ACK;
    let mut fin = data(100, 1, 4);
    fin.flags = ACK | FIN;
    for (ms, it) in [&syn, &answer, &fin, &ack(1, 105)].into_iter().enumerate() {
        assert_eq!(
            pass(&mut cache, ms as u64, &it.packet()),
            Disposition::Forward
        );
    }
    for (ms, it) in [&syn, &answer, &fin].into_iter().enumerate() {
        let ms = 100 + ms as u64;
        assert_eq!(pass(&mut cache, ms, &it.packet()), Disposition::Forward);
    }
    assert_eq!(due(&cache), None);
}

/// TCP Fast Open (RFC 7413): sixteen bytes with the SYN, part of which the server acknowledges.
fn open_fast(cache: &mut Cache<Heap>, number: u32) {
    let mut syn = data(99, 0, 16);
    syn.flags = SYN;
    let mut answer = ack(0, number);
    answer.flags = SYN | ACK;
    for (ms, it) in [(0, &syn), (80, &answer), (90, &data(number, 1, 0))] {
        assert_eq!(pass(cache, ms, &it.packet()), Disposition::Forward);
    }
    assert_eq!(due(cache), None, "no SYN is kept");
}

#[test]
fn acknowledged_syn_data_are_not_retransmitted() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open_fast(&mut cache, 116);
    // The sender has not received the server's acknowledgment, so it retransmits.
    assert_eq!(
        pass(&mut cache, 200, &data(100, 1, 16).packet()),
        Disposition::Keep
    );
    let mut made = ack(1, 116).packet();
    made[7] = 64;
    assert_eq!(sent(&mut cache, 200), [made]);
    let next = data(116, 1, 16).packet();
    assert_eq!(pass(&mut cache, 300, &next), Disposition::Forward);
    assert!(due(&cache).is_some());
}

#[test]
fn unacknowledged_syn_data_are_cached_when_retransmitted() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open_fast(&mut cache, 100);
    let again = data(100, 1, 16).packet();
    assert_eq!(pass(&mut cache, 200, &again), Disposition::Forward);
    let at = due(&cache).expect("the cache keeps the packet");
    assert_eq!(sent(&mut cache, at), std::slice::from_ref(&again));
    pass(&mut cache, at + 80, &ack(1, 116).packet());
    assert_eq!(pass(&mut cache, at + 90, &again), Disposition::Keep);
}

/// A client may retransmit a SYN without its data (RFC 7413 §4.2.1) or with them. The SYN passes
/// whatever the server has answered. The server's acknowledgment of the data in the first SYN then
/// also acknowledges the retransmitted data.
#[test]
fn a_syn_with_data_that_is_sent_again_passes() {
    for len in [0, 16] {
        let mut cache = cache(Params::default(), 4, 4, 128);
        let mut again = data(99, 0, 16);
        again.flags = SYN;
        let mut answer = ack(0, 116);
        answer.flags = SYN | ACK;
        pass(&mut cache, 0, &again.packet());
        pass(&mut cache, 80, &answer.packet());
        again.data.truncate(len);
        assert_eq!(
            pass(&mut cache, 1_000, &again.packet()),
            Disposition::Forward
        );
        assert_eq!(
            pass(&mut cache, 1_080, &answer.packet()),
            Disposition::Forward
        );
        pass(&mut cache, 1_090, &data(116, 1, 0).packet());
        let next = data(116, 1, 16).packet();
        pass(&mut cache, 1_100, &next);
        assert!(due(&cache).is_some(), "{len}");
        pass(&mut cache, 1_180, &ack(1, 132).packet());
        assert_eq!(pass(&mut cache, 3_000, &next), Disposition::Keep);
    }
}

#[test]
fn memory_is_bounded_and_the_oldest_goes_first() {
    let mut cache = cache(Params::default(), 2, 2, 80);
    let of = |port: u16, len: usize| {
        let mut it = data(100, 1, len);
        it.from = (CLIENT.0, port);
        it.packet()
    };
    pass(&mut cache, 0, &of(1, 16));
    pass(&mut cache, 10, &of(2, 16));
    assert_eq!((cache.flows(), cache.counters().cached), (2, 2));
    pass(&mut cache, 20, &of(3, 16));
    assert_eq!((cache.flows(), cache.counters().evicted), (2, 1));
    let sent_by = |packet: &Vec<u8>| u16::from_be_bytes([packet[40], packet[41]]);
    let ports: Vec<u16> = sent(&mut cache, 9_020).iter().map(sent_by).collect();
    assert_eq!(ports, [2, 3], "the first one's copy went with it");
    // 60 bytes of headers and 21 of data are more than there is room for.
    pass(&mut cache, 9_030, &of(4, 21));
    assert_eq!(due(&cache), None);
    let mut both_ways = ack(1, 116);
    both_ways.to = (SERVER.0, 9);
    pass(&mut cache, 9_040, &both_ways.packet());
}

#[test]
fn without_room_a_retransmission_is_retried_later() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    pass(&mut cache, 0, &data(100, 1, 16).packet());
    cache.on_no_room(Instant::from_millis(9_000));
    assert_eq!(due(&cache), Some(9_020));
    assert!(sent(&mut cache, 9_019).is_empty());
    assert_eq!(sent(&mut cache, 9_020).len(), 1);
}
