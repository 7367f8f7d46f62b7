//! Non-confirmable messages with both CoCoA policies: `CocoaDraft` follows draft-ietf-core-cocoa-03
//! §5; `CocoaContiki` does not limit them.

use crate::common;

use common::{Pair, SERVER, id, kind, ok, secs};
use redpoll_base::{Duration, Instant};
use redpoll_coap::{Config, Method, Request, RtoPolicy};

fn config(rto: RtoPolicy) -> Config {
    Config {
        rto,
        max_requests: 100,
        ..Config::default()
    }
}

fn pair(rto: RtoPolicy) -> Pair {
    Pair::new(config(rto), Config::default())
}

fn note(bytes: usize) -> Request {
    Request::new(Method::Post, "n")
        .with_payload(vec![7; bytes])
        .unreliable()
}

/// Advances the time to `end`, with answers after `rtt` or without answers. Returns the time and
/// type of every message that the client sent.
fn run(pair: &mut Pair, rtt: Option<Duration>, end: Instant) -> Vec<(Instant, &'static str)> {
    let mut sent = Vec::new();
    loop {
        while let Some((_, datagram)) = pair.client.poll_datagram() {
            sent.push((pair.now, kind(&datagram)));
            if kind(&datagram) == "CON"
                && let Some(rtt) = rtt
            {
                pair.now += rtt;
                let [high, low] = id(&datagram).to_be_bytes();
                pair.client.input(pair.now, SERVER, &[0x60, 0, high, low]);
            }
        }
        assert_eq!(
            pair.client.poll_event(),
            None,
            "no request waits for the answer"
        );
        match pair.client.poll_at() {
            Some(at) if at <= end => {
                assert!(at >= pair.now, "{at:?} is over at {:?}", pair.now);
                pair.now = at;
                pair.client.on_timeout(at);
            }
            _ => return sent,
        }
    }
}

fn confirmable(sent: &[(Instant, &str)]) -> usize {
    sent.iter().filter(|(_, kind)| *kind == "CON").count()
}

/// Rule 1: at least 2 of 16 consecutive messages are confirmable.
#[test]
fn of_sixteen_messages_two_are_confirmable_in_the_drafts_reading_alone() {
    for (policy, expected) in [
        (RtoPolicy::CocoaDraft, 6),
        (RtoPolicy::CocoaContiki, 0),
        (RtoPolicy::Rfc7252, 0),
    ] {
        let mut pair = pair(policy);
        for _ in 0..48 {
            pair.client.request(pair.now, SERVER, note(50)).unwrap();
        }
        let rtt = Duration::from_millis(100);
        let sent = run(&mut pair, Some(rtt), Instant::from_millis(1_000_000));
        assert_eq!(
            (sent.len(), confirmable(&sent)),
            (48, expected),
            "{policy:?}"
        );
        if policy == RtoPolicy::CocoaDraft {
            for window in sent.windows(16) {
                assert_eq!(confirmable(window), 2, "{window:?}");
            }
        }
        assert_eq!(pair.client.requests_open(), 0);
    }
}

/// Rule 3: one message per timeout. The timeout is 2 s before a round-trip time is known, and less
/// after answers arrived within 100 ms.
#[test]
fn the_rate_is_one_in_a_timeout() {
    let mut pair = pair(RtoPolicy::CocoaDraft);
    for _ in 0..40 {
        pair.client.request(pair.now, SERVER, note(50)).unwrap();
    }
    let rtt = Duration::from_millis(100);
    let sent = run(&mut pair, Some(rtt), Instant::from_millis(1_000_000));
    let gap = |at: usize| sent[at + 1].0.since(sent[at].0);
    assert_eq!(gap(0), secs(2));
    assert_eq!(sent[7].1, "CON");
    // A strong sample: 0.5 * (100 + 4 * 50) + 0.5 * 2000 ms. The old and the new estimate each have
    // a weight of one half.
    assert_eq!(gap(8), Duration::from_millis(1_150));
    assert!(gap(16) < gap(8) && gap(32) < Duration::from_millis(800));
    // The other policies, `CocoaContiki` and `Rfc7252`, send all messages at once.
    for policy in [RtoPolicy::CocoaContiki, RtoPolicy::Rfc7252] {
        let mut pair = self::pair(policy);
        for _ in 0..40 {
            pair.client.request(pair.now, SERVER, note(50)).unwrap();
        }
        let sent = run(&mut pair, None, Instant::from_millis(1_000_000));
        assert!(sent.iter().all(|(at, _)| *at == Instant::ZERO));
    }
}

/// CoCoA §5: "can always send non-confirmables if their rate does not exceed 1 B/s".
#[test]
fn a_byte_a_second_is_always_allowed() {
    let slow = Config {
        transmission: redpoll_coap::Transmission {
            ack_timeout: secs(30),
            ..Default::default()
        },
        ..config(RtoPolicy::CocoaDraft)
    };
    let mut pair = Pair::new(slow, Config::default());
    for _ in 0..3 {
        pair.client.request(pair.now, SERVER, note(2)).unwrap();
    }
    let (_, first) = pair.client.poll_datagram().unwrap();
    let seconds = first.len() as u64;
    assert!(seconds < 30, "less than the timeout of 30 s");
    let sent = run(&mut pair, None, Instant::from_millis(100_000));
    let times: Vec<Instant> = sent.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [1, 2].map(|n| Instant::ZERO + secs(n * seconds)));
}

/// The message that was made confirmable is retransmitted, and given up without an event; then
/// the others continue.
#[test]
fn a_message_made_confirmable_is_retransmitted_and_fails_without_an_event() {
    let mut pair = pair(RtoPolicy::CocoaDraft);
    for _ in 0..9 {
        pair.client.request(pair.now, SERVER, note(50)).unwrap();
    }
    let sent = run(&mut pair, None, Instant::from_millis(1_000_000));
    let kinds: Vec<&str> = sent.iter().map(|(_, kind)| *kind).collect();
    let expected = [&["NON"; 7][..], &["CON"; 5], &["NON"]].concat();
    assert_eq!(kinds, expected);
    assert_eq!(pair.client.counters().timeouts, 1);
    assert_eq!(pair.client.requests_open(), 0);
}

#[test]
fn resets_and_responses_end_a_confirmable_message_without_an_event() {
    for answer in ["reset", "response"] {
        let mut pair = pair(RtoPolicy::CocoaDraft);
        for _ in 0..8 {
            pair.client.request(pair.now, SERVER, note(50)).unwrap();
        }
        let last = loop {
            let at = pair.client.poll_at();
            while let Some((_, datagram)) = pair.client.poll_datagram() {
                if kind(&datagram) == "CON" {
                    pair.log.push(String::new());
                    let [high, low] = id(&datagram).to_be_bytes();
                    let mut reply = vec![0x70, 0, high, low];
                    if answer == "response" {
                        let token = common::token(&datagram);
                        reply = vec![0x60 | token.len() as u8, 0x44, high, low];
                        reply.extend(token);
                    }
                    pair.client.input(pair.now, SERVER, &reply);
                }
            }
            if !pair.log.is_empty() {
                break pair.client.poll_event();
            }
            pair.now = at.unwrap();
            pair.client.on_timeout(pair.now);
        };
        assert_eq!(last, None, "{answer}");
        assert_eq!(pair.client.requests_open(), 0, "{answer}");
        assert_eq!(pair.client.poll_at(), None, "{answer}");
    }
}

/// CoCoA §5: "Non-confirmables that form part of exchanges" follow the rules for exchanges: the
/// client sends one at a time, as fast as they are answered.
#[test]
fn exchanges_have_their_own_rules() {
    let mut pair = pair(RtoPolicy::CocoaDraft);
    let request = Request {
        confirmable: false,
        ..Request::new(Method::Get, "x")
    };
    for _ in 0..30 {
        pair.client
            .request(pair.now, SERVER, request.clone())
            .unwrap();
    }
    pair.settle(ok);
    assert_eq!(pair.now, Instant::ZERO);
    assert_eq!(
        pair.log
            .iter()
            .filter(|entry| *entry == "C NON 0.01")
            .count(),
        30
    );
}

#[test]
fn each_peer_has_a_rate_of_its_own() {
    let mut pair = pair(RtoPolicy::CocoaDraft);
    for port in 1..=5 {
        let to = redpoll_coap::Peer { port, ..SERVER };
        for _ in 0..2 {
            pair.client.request(pair.now, to, note(50)).unwrap();
        }
    }
    let sent = run(&mut pair, None, Instant::from_millis(1_000_000));
    let early = sent.iter().filter(|(at, _)| *at == Instant::ZERO).count();
    assert_eq!((early, sent.len()), (5, 10));
}
