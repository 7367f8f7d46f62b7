//! RFC 7252, section by section, on the wire.

use crate::common;

use common::{CLIENT, Pair, SERVER, at, code, id, kind, ok, secs, token};
use redpoll_base::Duration;
use redpoll_coap::{
    Busy, Config, Event, Expect, Failure, Method, Request, Response, Status, Transmission,
};

fn pair() -> Pair {
    Pair::new(Config::default(), Config::default())
}

/// §4.2: a message is repeated after 2 to 3 s, four times, with a timeout that doubles; then it
/// fails.
#[test]
fn s4_2_a_confirmable_message_is_repeated_and_given_up() {
    let mut pair = pair();
    pair.get("a");
    let first = pair.sent();
    let mut waits = Vec::new();
    let mut last = pair.now;
    while let Some(due) = pair.client.poll_at() {
        pair.now = due;
        pair.client.on_timeout(due);
        waits.push(due.since(last));
        last = due;
        if let Some((to, again)) = pair.client.poll_datagram() {
            assert_eq!((to, &again), (SERVER, &first));
        }
    }
    assert_eq!(waits.len(), 5);
    assert!(waits[0] >= secs(2) && waits[0] <= secs(3), "{waits:?}");
    for pair in waits.windows(2) {
        assert_eq!(pair[1], pair[0].times(2));
    }
    let failure = Failure::Timeout;
    assert!(matches!(pair.event(), Event::Failed { failure: f, .. } if f == failure));
    assert_eq!(pair.client.counters().retransmissions, 4);
}

/// §4.2: an acknowledgement or a reset ends the repetitions.
#[test]
fn s4_2_a_reset_fails_the_request() {
    let mut pair = pair();
    pair.get("a");
    let request = pair.sent();
    let mut reset = [0x70, 0, request[2], request[3]];
    // A reset with the ID of another message has no effect, nor does one from another peer.
    pair.client.input(pair.now, CLIENT, &reset);
    reset[3] ^= 1;
    pair.client.input(pair.now, SERVER, &reset);
    assert_eq!(pair.client.poll_event(), None);
    reset[3] ^= 1;
    pair.client.input(pair.now, SERVER, &reset);
    assert!(matches!(
        pair.event(),
        Event::Failed {
            failure: Failure::Reset,
            ..
        }
    ));
    assert_eq!(pair.client.poll_at(), None);
}

/// §4.2, §4.3: a meaningless message is reset if it is confirmable, otherwise ignored.
#[test]
fn s4_2_meaningless_messages_are_reset_or_ignored() {
    let mut pair = pair();
    // A CoAP ping is answered with a reset.
    pair.server.input(pair.now, CLIENT, &[0x40, 0, 1, 2]);
    assert_eq!(
        pair.server.poll_datagram(),
        Some((CLIENT, vec![0x70, 0, 1, 2]))
    );
    // An unexpected response, first confirmable, then not; an acknowledgement is never answered.
    pair.server.input(pair.now, CLIENT, &[0x40, 0x45, 1, 3]);
    assert_eq!(
        pair.server.poll_datagram(),
        Some((CLIENT, vec![0x70, 0, 1, 3]))
    );
    pair.server.input(pair.now, CLIENT, &[0x50, 0x45, 1, 4]);
    pair.server.input(pair.now, CLIENT, &[0x60, 0x45, 1, 5]);
    pair.server.input(pair.now, CLIENT, &[0x70, 0, 1, 6]);
    pair.server.input(pair.now, CLIENT, &[0xff; 40]);
    assert_eq!(pair.server.poll_datagram(), None);
    assert_eq!(pair.server.poll_event(), None);
    assert_eq!(pair.server.counters().rejected, 6);
}

/// §4.5: a duplicate gets the same acknowledgement and is not processed again.
#[test]
fn s4_5_duplicates_are_answered_and_not_processed() {
    let mut pair = pair();
    pair.get("a");
    let request = pair.sent();
    pair.server.input(pair.now, CLIENT, &request);
    // Before the application has answered, no answer can be repeated.
    pair.server.input(pair.now, CLIENT, &request);
    let Some(Event::Request { id, .. }) = pair.server.poll_event() else {
        panic!("no request")
    };
    assert_eq!(pair.server.poll_event(), None);
    assert_eq!(pair.server.poll_datagram(), None);
    pair.server
        .respond(pair.now, id, Response::new(Status::Content));
    let answer = pair.server.poll_datagram();
    assert!(answer.is_some());
    pair.server.input(at(246_000), CLIENT, &request);
    assert_eq!(pair.server.poll_datagram(), answer);
    assert_eq!(pair.server.poll_event(), None);
    // After EXCHANGE_LIFETIME the ID belongs to a new message.
    pair.server.input(at(247_000), CLIENT, &request);
    assert!(matches!(
        pair.server.poll_event(),
        Some(Event::Request { .. })
    ));
    assert_eq!(pair.server.counters().duplicates, 2);
}

/// §4.7: NSTART limits the interactions with a peer at the same time, by default to one.
#[test]
fn s4_7_nstart_bounds_the_outstanding_interactions() {
    for nstart in [1, 2] {
        let transmission = Transmission {
            nstart,
            ..Transmission::default()
        };
        let client = Config {
            transmission,
            max_requests: 4,
            ..Config::default()
        };
        let mut pair = Pair::new(client, Config::default());
        for _ in 0..4 {
            pair.get("a");
        }
        let fifth = Request::new(Method::Get, "a");
        assert_eq!(pair.client.request(pair.now, SERVER, fifth), Err(Busy));
        let mut sent = 0;
        while pair.client.poll_datagram().is_some() {
            sent += 1;
        }
        assert_eq!(sent, nstart);
        // An answer releases the next request.
        assert_eq!(pair.client.requests_open(), 4);
    }
    let mut pair = pair();
    for _ in 0..3 {
        pair.get("a");
    }
    pair.settle(ok);
    let (answers, others) = pair
        .log
        .iter()
        .partition::<Vec<_>, _>(|l| *l == "S ACK 2.05");
    assert_eq!((answers.len(), others.len()), (3, 3));
    assert_eq!(pair.log[..2], ["C CON 0.01", "S ACK 2.05"]);
}

/// §5.2.1: the acknowledgement contains the response.
#[test]
fn s5_2_1_piggybacked() {
    let mut pair = pair();
    pair.get("a/b");
    assert_eq!(pair.client.expects(), Expect::Data);
    pair.settle(ok);
    assert_eq!(pair.log, ["C CON 0.01", "S ACK 2.05"]);
    assert_eq!(pair.requests[0].path, "a/b");
    assert_eq!(pair.response().payload, b"ok");
    assert_eq!(pair.client.expects(), Expect::Nothing);
    assert_eq!((pair.client.poll_at(), pair.server.poll_at()), (None, None));
}

/// §5.2.2: a request that takes long is acknowledged by an Empty message and answered by a separate
/// confirmable message, also if the request is repeated.
#[test]
fn s5_2_2_separate() {
    let mut pair = pair();
    pair.get("a");
    let request = pair.sent();
    pair.server.input(pair.now, CLIENT, &request);
    let Some(Event::Request { id: asked, .. }) = pair.server.poll_event() else {
        panic!("no request")
    };
    pair.wait(secs(1));
    let (_, alone) = pair
        .server
        .poll_datagram()
        .expect("the response is sent at once");
    assert_eq!((kind(&alone), code(&alone).as_str()), ("ACK", "0.00"));
    pair.server.input(pair.now, CLIENT, &request);
    assert_eq!(pair.server.poll_datagram().unwrap().1, alone);
    pair.client.input(pair.now, SERVER, &alone);
    assert_eq!(pair.client.expects(), Expect::Data);
    // The client retransmits nothing from now on.
    pair.wait(secs(60));
    assert_eq!(pair.client.poll_datagram(), None);
    pair.server
        .respond(pair.now, asked, Response::new(Status::Content));
    assert_eq!(pair.server.expects(), Expect::Ack);
    let (_, response) = pair.server.poll_datagram().unwrap();
    assert_eq!((kind(&response), code(&response).as_str()), ("CON", "2.05"));
    assert_eq!(token(&response), token(&request));
    assert_ne!(id(&response), id(&request));
    pair.client.input(pair.now, SERVER, &response);
    let ack = pair.sent();
    assert_eq!((kind(&ack), code(&ack).as_str()), ("ACK", "0.00"));
    // If the acknowledgement is lost, the retransmitted response gets the same acknowledgement.
    pair.client.input(pair.now, SERVER, &response);
    assert_eq!(pair.sent(), ack);
    pair.server.input(pair.now, CLIENT, &ack);
    assert_eq!(pair.server.poll_at(), None);
    assert_eq!(pair.response().status, Status::Content);
}

/// §5.2.2: a response that arrives before the acknowledgement also acknowledges the request.
#[test]
fn s5_2_2_a_response_serves_as_acknowledgement() {
    let mut pair = pair();
    pair.get("a");
    let request = pair.sent();
    let mut response = vec![0x44, 0x45, 9, 9];
    response.extend(token(&request));
    pair.client.input(pair.now, SERVER, &response);
    assert_eq!(pair.response().status, Status::Content);
    assert_eq!(pair.sent(), [0x60, 0, 9, 9]);
    assert_eq!(pair.client.poll_at(), None);
    // The late acknowledgement has no effect.
    pair.client
        .input(pair.now, SERVER, &[0x60, 0, request[2], request[3]]);
    assert_eq!(pair.client.poll_datagram(), None);
}

/// §5.2.2: the client does not wait for a missing response forever.
#[test]
fn s5_2_2_a_missing_separate_response_ends_the_request() {
    let mut pair = pair();
    pair.get("a");
    let request = pair.sent();
    let ack = [0x60, 0, request[2], request[3]];
    pair.client.input(pair.now, SERVER, &ack);
    pair.wait(Duration::from_millis(92_999));
    assert_eq!(pair.client.poll_event(), None);
    pair.wait(secs(1));
    assert!(matches!(pair.event(), Event::Failed { .. }));
}

/// §5.2.3: a request that is not confirmable gets a response that is not confirmable.
#[test]
fn s5_2_3_non_confirmable() {
    let mut pair = pair();
    let request = Request {
        confirmable: false,
        ..Request::new(Method::Get, "a")
    };
    pair.client.request(pair.now, SERVER, request).unwrap();
    pair.settle(ok);
    assert_eq!(pair.log, ["C NON 0.01", "S NON 2.05"]);
    assert_eq!(pair.response().payload, b"ok");
    // A client without interest in a response (RFC 7967) gets no response.
    let request = Request::new(Method::Post, "a").unreliable();
    pair.client.request(pair.now, SERVER, request).unwrap();
    assert_eq!(pair.client.requests_open(), 0);
    pair.settle(ok);
    assert_eq!(pair.log[2..], ["C NON 0.02"]);
    assert_eq!(pair.client.poll_event(), None);
}

/// §5.3.2: peer, ID and token must match.
#[test]
fn s5_3_2_a_response_must_match() {
    let mut pair = pair();
    pair.get("a");
    let request = pair.sent();
    let mut response = vec![0x64, 0x45, request[2], request[3]];
    response.extend(token(&request));
    let mut other_token = response.clone();
    other_token[4] ^= 1;
    let mut other_id = response.clone();
    other_id[3] ^= 1;
    for (from, datagram) in [
        (SERVER, &other_token),
        (SERVER, &other_id),
        (CLIENT, &response),
    ] {
        pair.client.input(pair.now, from, datagram);
        assert_eq!(pair.client.poll_event(), None);
        assert_eq!(pair.client.poll_datagram(), None);
    }
    pair.client.input(pair.now, SERVER, &response);
    assert_eq!(pair.response().status, Status::Content);
}

fn answer(first: u8, method: u8, options: &[u8]) -> Option<String> {
    let mut pair = pair();
    let mut datagram = vec![first, method, 1, 2];
    datagram.extend(options);
    pair.server.input(pair.now, CLIENT, &datagram);
    if let Some(Event::Request { id, .. }) = pair.server.poll_event() {
        let response = Response {
            content_format: Some(0),
            ..Response::new(Status::Content)
        };
        pair.server.respond(pair.now, id, response);
    }
    let (_, datagram) = pair.server.poll_datagram()?;
    Some(format!("{} {}", kind(&datagram), code(&datagram)))
}

/// §5.4.1, §5.4.3, §5.4.5: critical options that the endpoint does not understand are refused.
#[test]
fn s5_4_critical_options_are_refused() {
    let con = |options: &[u8]| answer(0x40, 1, options);
    assert_eq!(con(&[]).as_deref(), Some("ACK 2.05"));
    // If-Match (1) is not understood; option 2 is elective.
    assert_eq!(con(&[0x10]).as_deref(), Some("ACK 4.02"));
    assert_eq!(con(&[0x20]).as_deref(), Some("ACK 2.05"));
    // Uri-Port of three bytes; Accept twice.
    assert_eq!(con(&[0x73, 1, 2, 3]).as_deref(), Some("ACK 4.02"));
    assert_eq!(con(&[0xd0, 4, 0x00]).as_deref(), Some("ACK 4.02"));
    // Uri-Path that is not UTF-8.
    assert_eq!(con(&[0xb1, 0xff]).as_deref(), Some("ACK 4.02"));
    // A message that is not confirmable is rejected silently.
    assert_eq!(answer(0x50, 1, &[0x10]), None);
}

/// §5.8, §5.10.2, §5.10.4.
#[test]
fn s5_methods_proxies_and_formats_that_are_not_there() {
    assert_eq!(answer(0x40, 31, &[]).as_deref(), Some("ACK 4.05"));
    let proxy = [0xd3, 35 - 13, b'a', b':', b'b'];
    assert_eq!(answer(0x40, 1, &proxy).as_deref(), Some("ACK 5.05"));
    // Accept: 0 is available, 42 is not.
    assert_eq!(answer(0x40, 1, &[0xd0, 4]).as_deref(), Some("ACK 2.05"));
    assert_eq!(answer(0x40, 1, &[0xd1, 4, 42]).as_deref(), Some("ACK 4.06"));
}

/// §5.2: an unknown code counts as the general code of its class.
#[test]
fn s5_2_unknown_codes() {
    for (code, status) in [
        (0x9e, Status::BadRequest),
        (0xbe, Status::InternalServerError),
    ] {
        let mut pair = pair();
        pair.get("a");
        let request = pair.sent();
        let mut response = vec![0x64, code, request[2], request[3]];
        response.extend(token(&request));
        pair.client.input(pair.now, SERVER, &response);
        assert_eq!(pair.response().status, status);
    }
}

#[test]
fn a_server_without_room_answers_service_unavailable() {
    let mut pair = pair();
    for number in 0..20 {
        pair.server.input(pair.now, CLIENT, &[0x40, 1, 0, number]);
    }
    let mut refused = 0;
    while let Some((_, datagram)) = pair.server.poll_datagram() {
        assert_eq!(code(&datagram), "5.03");
        refused += 1;
    }
    assert_eq!(refused, 12);
}

#[test]
fn expects_since_is_the_time_of_the_request() {
    let mut pair = pair();
    assert_eq!(pair.client.expects_since(), None);
    pair.wait(secs(5));
    pair.get("a");
    pair.wait(secs(1));
    assert_eq!(pair.client.expects_since(), Some(at(5_000)));
    pair.settle(ok);
    assert_eq!(pair.client.expects_since(), None);
}
