//! The cache as a node calls it.

use redpoll_assist::cache::Params;
use redpoll_base::Instant;
use redpoll_stack::assist::{Assist, Disposition, Passing};
use redpoll_wire::ipv6::Ipv6Header;

use crate::packets::{ack, cache, data, open};

fn forwards(assistant: &mut impl Assist, ms: u64, packet: &[u8]) -> Disposition {
    let (header, _) = Ipv6Header::parse(packet).unwrap();
    let mut bytes = packet.to_vec();
    let mut passing = Passing {
        header: &header,
        bytes: &mut bytes,
    };
    let disposition = assistant.on_forward(Instant::from_millis(ms), &mut passing);
    assert_eq!(bytes, packet, "the cache changes no packet");
    disposition
}

fn due(assistant: &impl Assist) -> Option<u64> {
    assistant.poll_at().map(|wake| wake.at.as_millis())
}

fn sends(assistant: &mut impl Assist, ms: u64) -> Option<Vec<u8>> {
    let mut out = [0; 1_280];
    let len = assistant.poll_packet(Instant::from_millis(ms), &mut out)?;
    Some(out[..len].to_vec())
}

/// The timeout is three times the initial round-trip time of 3 s.
#[test]
fn a_lost_segment_is_sent_once_the_node_has_room() {
    let mut cache = cache(Params::cctrl(), 2, 2, 128);
    open(&mut cache);
    let segment = data(100, 1, 16).packet();
    assert_eq!(forwards(&mut cache, 0, &segment), Disposition::Forward);
    assert_eq!(due(&cache), Some(9_000));
    assert_eq!(sends(&mut cache, 8_999), None);
    Assist::on_no_room(&mut cache, Instant::from_millis(9_000));
    assert_eq!(due(&cache), Some(9_020));
    assert_eq!(sends(&mut cache, 9_019), None);
    assert_eq!(sends(&mut cache, 9_020), Some(segment));
    assert_eq!(due(&cache), None);
}

#[test]
fn acknowledged_data_is_kept_and_answered() {
    let mut cache = cache(Params::cctrl(), 2, 2, 128);
    open(&mut cache);
    let segment = data(100, 1, 16).packet();
    let answer = ack(1, 116).packet();
    for packet in [&segment, &answer] {
        assert_eq!(forwards(&mut cache, 0, packet), Disposition::Forward);
    }
    assert_eq!(forwards(&mut cache, 500, &segment), Disposition::Keep);
    assert_eq!(due(&cache), Some(0), "at once");
    let sent = sends(&mut cache, 500).unwrap();
    assert_eq!(sent[40..56], answer[40..56], "ports, numbers, window");
}

/// While the air is busy, the cache waits for the whole timeout, otherwise for two thirds of it.
#[test]
fn frames_that_the_node_hears_postpone_the_copy() {
    for (hears, at) in [(false, 6_000), (true, 9_000)] {
        let params = Params {
            by_activity: true,
            ..Params::cctrl()
        };
        let mut cache = cache(params, 2, 2, 128);
        open(&mut cache);
        let segment = data(100, 1, 16).packet();
        forwards(&mut cache, 0, &segment);
        if hears {
            Assist::on_heard(&mut cache, Instant::from_millis(5_000), None);
        }
        assert_eq!(sends(&mut cache, 6_000).is_some(), !hears);
        assert_eq!(sends(&mut cache, at).is_some(), hears);
        assert_eq!(cache.counters().heard, u32::from(hears));
    }
}
