//! What passes whatever the cache knows: nothing may be lost that an end would miss.

use crate::packets::{ACK, CWR, Tcp, ack, cache, data, due, open, pass, sent};
use redpoll_assist::cache::{Params, Verdict};

/// A segment that was acknowledged, and then one that says what `change` makes it say.
fn again(change: impl FnOnce(&mut Tcp)) -> Verdict {
    let mut cache = cache(Params::default(), 4, 4, 128);
    open(&mut cache);
    let first = data(100, 1, 16);
    pass(&mut cache, 0, &first.packet());
    // Some of the server's own, so that more could be acknowledged.
    let mut answer = ack(1, 116);
    answer.data = vec![5; 8];
    pass(&mut cache, 80, &answer.packet());
    let mut second = first;
    change(&mut second);
    pass(&mut cache, 2_000, &second.packet())
}

#[test]
fn news_beside_acknowledged_data_passes() {
    assert_eq!(again(|_| {}), Verdict::Keep);
    assert_eq!(again(|it| it.ack = 9), Verdict::Pass, "acknowledges more");
    assert_eq!(again(|it| it.window = 20), Verdict::Pass, "another window");
    assert_eq!(again(|it| it.flags = ACK | CWR), Verdict::Pass, "CWR");
    let more = |it: &mut Tcp| it.data.push(1);
    assert_eq!(again(more), Verdict::Pass, "a byte that is new");
}

#[test]
fn a_question_whether_the_peer_lives_passes() {
    let probe = |len: usize| {
        move |it: &mut Tcp| {
            it.seq = 115;
            it.data = vec![0; len];
        }
    };
    assert_eq!(again(probe(0)), Verdict::Pass);
    assert_eq!(again(probe(1)), Verdict::Pass);
}

/// An acknowledgment of what has not passed here may be a lie, and one with a wrong
/// checksum is none.
#[test]
fn only_what_can_be_counts() {
    for (number, spoil) in [(132, false), (116, true)] {
        let mut cache = cache(Params::default(), 4, 4, 128);
        open(&mut cache);
        let first = data(100, 1, 16).packet();
        pass(&mut cache, 0, &first);
        let mut answer = ack(1, number).packet();
        if spoil {
            // The window, which the number is not.
            answer[55] ^= 1;
        }
        assert_eq!(pass(&mut cache, 80, &answer), Verdict::Pass);
        assert!(due(&cache).is_some(), "the copy stays");
        assert_eq!(pass(&mut cache, 2_000, &first), Verdict::Pass);
    }
}

#[test]
fn broken_and_foreign_packets_pass_and_leave_nothing() {
    let mut cache = cache(Params::default(), 4, 4, 128);
    let whole = data(100, 1, 16).packet();
    for len in 40..whole.len() {
        assert_eq!(pass(&mut cache, 0, &whole[..len]), Verdict::Pass);
    }
    let mut udp = whole.clone();
    udp[6] = 17;
    let mut long_header = whole.clone();
    long_header[52] = 0xf0;
    for packet in [udp, long_header] {
        assert_eq!(pass(&mut cache, 0, &packet), Verdict::Pass);
    }
    assert_eq!((cache.flows(), due(&cache)), (0, None));
}

/// RFC 3168 §6.1.5: a retransmission is not ECN-capable; a mark is not taken away.
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
