//! RFC 7252 §8: multicast requests.

use crate::common;

use common::{CLIENT, Pair, kind};
use redpoll_base::{Duration, Instant, Rng};
use redpoll_coap::{Config, Endpoint, Event, Peer, Response, Status};

/// GET /a, with the token 7.
const GET: [u8; 7] = [0x51, 1, 0, 9, 7, 0xb1, b'a'];

fn server(seed: u64) -> Endpoint {
    Endpoint::new(Config::default(), Rng::new(seed))
}

/// Answers all requests with `response`. Returns the datagrams that the server sends until it is
/// idle, each with its time.
fn answers(server: &mut Endpoint, response: &Response) -> Vec<(Instant, Peer, Vec<u8>)> {
    let mut all = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        while let Some(Event::Request { id, .. }) = server.poll_event() {
            server.respond(now, id, response.clone());
        }
        while let Some((to, datagram)) = server.poll_datagram() {
            all.push((now, to, datagram));
        }
        let Some(at) = server.poll_at() else {
            return all;
        };
        now = at;
        server.on_timeout(now);
    }
}

/// §8.2: servers answer at a random time within the leisure.
#[test]
fn s8_2_servers_answer_at_different_times_within_the_leisure() {
    let content = Response::new(Status::Content).with_payload("x");
    let mut times = Vec::new();
    for seed in 0..40 {
        let mut server = server(seed);
        server.input_to_group(Instant::ZERO, CLIENT, &GET);
        let all = answers(&mut server, &content);
        let [(at, to, datagram)] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert_eq!((*to, kind(datagram)), (CLIENT, "NON"));
        assert_eq!((datagram[0] & 15, datagram[4]), (1, 7), "the token");
        times.push(at.as_millis());
    }
    times.sort_unstable();
    assert!(*times.last().unwrap() <= 5_000, "{times:?}");
    assert!(times[10] > 500 && times[30] < 4_700, "{times:?}");
    times.dedup();
    assert!(times.len() > 35, "{times:?}");
}

/// §8.2: a server "MAY always ignore the request", for example if the response is an error.
#[test]
fn s8_2_errors_are_not_sent() {
    let mut server = server(1);
    server.input_to_group(Instant::ZERO, CLIENT, &GET);
    assert_eq!(answers(&mut server, &Response::new(Status::NotFound)), []);
    // Requests with an unknown critical option, an unknown method or a proxy get no answer.
    for request in [
        &[0x50, 1, 0, 1, 0x91][..],
        &[0x50, 31, 0, 2],
        &[0x50, 1, 0, 3, 0xd1, 0x16, b'a'],
    ] {
        server.input_to_group(Instant::ZERO, CLIENT, request);
        let content = Response::new(Status::Content);
        assert_eq!(answers(&mut server, &content), [], "{request:?}");
    }
}

/// §8.1: requests are non-confirmable, and nothing is reset (§4.2, §4.3).
#[test]
fn s8_1_other_messages_get_no_answer() {
    let mut server = server(1);
    let mut cases: Vec<Vec<u8>> = vec![
        vec![0x41, 1, 0, 9, 7], // confirmable
        vec![0x40, 0, 0, 9],    // a ping
        vec![0x50, 0x45, 0, 9], // a response
        vec![0x60, 0, 0, 9],    // an acknowledgement
        vec![0x70, 0, 0, 9],    // a reset
        vec![0x49, 1, 0, 9],    // a format error
        Vec::new(),
    ];
    cases.push(GET[..5].iter().copied().chain([0xff]).collect());
    for case in &cases {
        server.input_to_group(Instant::ZERO, CLIENT, case);
        assert_eq!(server.poll_event(), None, "{case:?}");
        assert_eq!(server.poll_datagram(), None, "{case:?}");
    }
    assert_eq!(server.counters().rejected, cases.len() as u64);
}

#[test]
fn s4_5_duplicates_are_answered_once() {
    let mut server = server(1);
    for _ in 0..3 {
        server.input_to_group(Instant::ZERO, CLIENT, &GET);
    }
    let content = Response::new(Status::Content);
    assert_eq!(answers(&mut server, &content).len(), 1);
    assert_eq!(server.counters().duplicates, 2);
}

#[test]
fn the_number_of_delayed_answers_is_bounded() {
    let mut server = server(1);
    for id in 0..100 {
        let mut request = GET;
        request[3] = id;
        server.input_to_group(Instant::ZERO, CLIENT, &request);
        while let Some(Event::Request { id, .. }) = server.poll_event() {
            server.respond(Instant::ZERO, id, Response::new(Status::Content));
        }
    }
    assert_eq!(server.counters().queue_full, 92);
    let content = Response::new(Status::Content);
    assert_eq!(answers(&mut server, &content).len(), 8);
}

/// §8.2: a unicast request is answered at once, even while the answer to a group is delayed.
#[test]
fn a_unicast_request_is_answered_at_once() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.server.input_to_group(pair.now, CLIENT, &GET);
    pair.get("a");
    pair.settle(|_| Response::new(Status::Content));
    assert_eq!(pair.log, ["C CON 0.01", "S ACK 2.05"]);
    pair.wait(Duration::from_secs(5));
    let (_, datagram) = pair.server.poll_datagram().unwrap();
    assert_eq!(kind(&datagram), "NON");
}
