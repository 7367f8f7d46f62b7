//! Packets in any state of the cache: no data may be lost that an end needs.

use crate::packets::{ACK, CWR, RST, SYN, Tcp, ack, cache, data, due, open, pass, sent};
use redpoll_assist::cache::{Disposition, Params};

/// Passes a segment and its acknowledgment to the cache, and then the same segment with a change.
fn again(change: impl FnOnce(&mut Tcp)) -> Disposition {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16);
    pass(&mut cache, 0, &first.packet());
    // The answer has data, so that the client has something new to acknowledge.
    let mut answer = ack(1, 116);
    answer.data = vec![5; 8];
    pass(&mut cache, 80, &answer.packet());
    let mut second = first;
    change(&mut second);
    pass(&mut cache, 2_000, &second.packet())
}

#[test]
fn a_retransmission_with_new_header_fields_is_forwarded() {
    assert_eq!(again(|_| {}), Disposition::Keep);
    assert_eq!(
        again(|it| it.ack = 9),
        Disposition::Forward,
        "acknowledges more"
    );
    assert_eq!(
        again(|it| it.window = 20),
        Disposition::Forward,
        "another window"
    );
    assert_eq!(
        again(|it| it.flags = ACK | CWR),
        Disposition::Forward,
        "CWR"
    );
    let more = |it: &mut Tcp| it.data.push(1);
    assert_eq!(again(more), Disposition::Forward, "a byte that is new");
}

#[test]
fn keepalive_probes_are_forwarded() {
    let probe = |len: usize| {
        move |it: &mut Tcp| {
            it.seq = 115;
            it.data = vec![0; len];
        }
    };
    assert_eq!(again(probe(0)), Disposition::Forward);
    assert_eq!(again(probe(1)), Disposition::Forward);
}

/// An acknowledgment of data that did not pass here may be forged, and so may an acknowledgment
/// whose SEQ its receiver does not accept. An acknowledgment with a wrong checksum is ignored.
#[test]
fn forged_or_damaged_acknowledgments_release_no_copy() {
    let lies = [(132, 1, false), (116, 1, true)];
    // SEQs before the data that the receiver expects, and beyond the receiver's window of 48 bytes.
    let misplaced = [0, 50, 90_000, 0x8000_0000].map(|seq| (116, seq, false));
    for (number, seq, spoil) in lies.into_iter().chain(misplaced) {
        let mut cache = cache(Params::default(), 4, 4, 128);
        open(&mut cache);
        let first = data(100, 1, 16).packet();
        pass(&mut cache, 0, &first);
        let mut answer = ack(seq, number).packet();
        if spoil {
            // Damages the window field, which does not affect the acknowledgment number.
            answer[55] ^= 1;
        }
        assert_eq!(pass(&mut cache, 80, &answer), Disposition::Forward);
        assert!(due(&cache).is_some(), "the copy stays: {number} at {seq}");
        let told = "nothing is acknowledged";
        assert_eq!(
            pass(&mut cache, 2_000, &first),
            Disposition::Forward,
            "{told}"
        );
        // The cache still accepts the genuine acknowledgment.
        pass(&mut cache, 2_080, &ack(1, 116).packet());
        assert_eq!(pass(&mut cache, 4_000, &first), Disposition::Keep);
        let mut made = ack(1, 116).packet();
        made[7] = 64;
        assert_eq!(sent(&mut cache, 4_000), [made]);
    }
}

/// Window and timestamps of a forged segment are not forwarded in acknowledgments.
#[test]
fn other_fields_of_a_forged_segment_are_not_repeated() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16).packet();
    pass(&mut cache, 0, &first);
    pass(&mut cache, 80, &ack(1, 116).packet());
    let mut forged = ack(70_000, 116);
    forged.window = 9;
    forged.timestamps = Some((1, 2));
    pass(&mut cache, 90, &forged.packet());
    assert_eq!(pass(&mut cache, 2_000, &first), Disposition::Keep);
    let mut made = ack(1, 116).packet();
    made[7] = 64;
    assert_eq!(sent(&mut cache, 2_000), [made]);
}

/// A forged reset that its receiver would not accept (RFC 9293 §3.10.7.4), or a forged SYN within a
/// connection, does not end the connection. It does not validate a forged acknowledgment either.
#[test]
fn a_forged_reset_or_request_does_not_end_a_flow() {
    for flags in [RST, SYN] {
        let mut cache = cache(Params::default(), 4, 4, 128);
        open(&mut cache);
        let first = data(100, 1, 16).packet();
        pass(&mut cache, 0, &first);
        let mut forged = data(90_000, 0, 0);
        forged.flags = flags;
        assert_eq!(pass(&mut cache, 10, &forged.packet()), Disposition::Forward);
        assert!(due(&cache).is_some(), "{flags}");
        pass(&mut cache, 20, &ack(90_000, 116).packet());
        assert_eq!(
            pass(&mut cache, 2_000, &first),
            Disposition::Forward,
            "{flags}"
        );
    }
}

/// Without an observed handshake the window may be scaled (RFC 7323 §2.2), so a larger range is
/// accepted. With an observed handshake that scales the window, exactly the scaled range is
/// accepted.
#[test]
fn the_window_scale_option_is_applied_to_the_accepted_range() {
    let reach = |scale: Option<u8>, seq: u32| {
        let mut cache = cache(Params::default(), 4, 4, 128);
        let mut syn = data(99, 0, 0);
        let mut answer = ack(0, 100);
        (syn.flags, answer.flags) = (SYN, SYN | ACK);
        (syn.scale, answer.scale) = (scale, scale);
        if scale != Some(99) {
            pass(&mut cache, 0, &syn.packet());
            pass(&mut cache, 0, &answer.packet());
        }
        pass(&mut cache, 0, &data(100, 1, 0).packet());
        let first = data(100, 1, 16).packet();
        pass(&mut cache, 0, &first);
        pass(&mut cache, 80, &ack(seq, 116).packet());
        pass(&mut cache, 2_000, &first) == Disposition::Keep
    };
    assert!(reach(None, 49) && !reach(None, 50));
    assert!(reach(Some(2), 193) && !reach(Some(2), 194));
    // No handshake was seen.
    assert!(reach(Some(99), 65_536) && !reach(Some(99), 65_537));
}

/// A flow is learned again if no packet has matched for a minute, because its packets used another
/// path or its first packets were forged.
#[test]
fn a_flow_without_matches_is_learned_again() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open(&mut cache);
    pass(&mut cache, 0, &data(100, 1, 16).packet());
    for at in 0..2 {
        let ms = 70_000 * at;
        let first = data(900_000, 800_000, 16).packet();
        pass(&mut cache, ms + 10, &first);
        pass(&mut cache, ms + 20, &ack(800_000, 900_016).packet());
        let is_known = pass(&mut cache, ms + 30, &first) == Disposition::Keep;
        assert_eq!(is_known, at == 1);
    }
}

#[test]
fn damaged_and_foreign_packets_pass_without_state() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    let whole = data(100, 1, 16).packet();
    for len in 40..whole.len() {
        assert_eq!(pass(&mut cache, 0, &whole[..len]), Disposition::Forward);
    }
    let mut udp = whole.clone();
    udp[6] = 17;
    let mut long_header = whole.clone();
    long_header[52] = 0xf0;
    for packet in [udp, long_header] {
        assert_eq!(pass(&mut cache, 0, &packet), Disposition::Forward);
    }
    assert_eq!((cache.flows(), due(&cache)), (0, None));
}

/// RFC 3168 §6.1.5: a retransmission is not ECN-capable; a mark is not removed.
#[test]
fn copies_are_not_ecn_capable() {
    for (ecn, then) in [(2, 0), (1, 0), (3, 3), (0, 0)] {
        let mut cache = cache(Params::default(), 4, 4, 128);
        let mut segment = data(100, 1, 16);
        segment.ecn = ecn;
        pass(&mut cache, 0, &segment.packet());
        segment.ecn = then;
        assert_eq!(sent(&mut cache, 9_000), [segment.packet()], "{ecn}");
    }
}
