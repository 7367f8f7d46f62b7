//! RFC 9175 §2, RFC 7252 §11.3: a forged source address does not attract long answers.

use crate::common;

use coap_lite::{CoapOption, Packet};
use common::*;
use redpoll_base::{Addr, Instant, Rng};
use redpoll_coap::{BlockSize, Config, Endpoint, Event, Method, Peer, Request, Response, Status};

fn file(len: usize) -> impl FnMut(&redpoll_coap::Incoming) -> Response {
    move |_| Response::new(Status::Content).with_payload(vec![b'x'; len])
}

/// Returns the number of bytes of all datagrams that a server sends to a peer that requests a file.
fn answered(server: &mut Endpoint, now: Instant, from: Peer, datagram: &[u8]) -> usize {
    server.input(now, from, datagram);
    while let Some(Event::Request { id, request, .. }) = server.poll_event() {
        server.respond(now, id, file(5_000)(&request));
    }
    let sent = std::iter::from_fn(|| server.poll_datagram());
    sent.map(|(_, datagram)| datagram.len()).sum()
}

/// RFC 9175 §2.4, item 3: with headers of 48 bytes no answer is longer than three times its
/// request, whatever the peer, the number of requests and the block.
#[test]
fn answers_to_forged_requests_are_at_most_three_times_as_long() {
    let mut server = Endpoint::new(Config::default(), Rng::new(2));
    for n in 0..500_u16 {
        let from = Peer {
            addr: Addr([n as u8; 16]),
            port: 1_000 + n,
        };
        let [high, low] = n.to_be_bytes();
        // Requests that are confirmable or not, GET or POST, with the first block or a later block.
        let kind = if n % 2 == 0 { 0x40 } else { 0x50 };
        let method = if n % 3 == 0 { 2 } else { 1 };
        let mut datagram = vec![kind, method, high, low, 0xb1, b'f'];
        if n % 5 == 0 {
            // Block2 (23): number 1, 1024 bytes.
            datagram.extend([0xc1, 0x16]);
        }
        let now = at(u64::from(n) * 100);
        let back = answered(&mut server, now, from, &datagram);
        let most = 3 * (48 + datagram.len());
        assert!(
            back > 0 && 48 + back <= most,
            "{n}: {back} of {}",
            datagram.len()
        );
    }
}

/// RFC 9175 §2.3: a peer at its true address repeats the request once with the option and gets the
/// whole answer; the next request is answered at once.
#[test]
fn a_client_with_the_echo_option_gets_the_whole_answer() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.get("f");
    pair.settle(file(3_000));
    assert_eq!(pair.response().payload.len(), 3_000);
    let (first, rest) = pair.log.split_at(4);
    assert_eq!(
        first,
        ["C CON 0.01", "S ACK 2.05", "C CON 0.01", "S ACK 2.05"]
    );
    assert_eq!(rest.len(), 4, "two blocks more: {rest:?}");
    assert_eq!(pair.server.counters().challenges, 1);
    pair.log.clear();
    pair.get("f");
    pair.settle(file(3_000));
    assert_eq!(pair.response().payload.len(), 3_000);
    assert_eq!(pair.log.len(), 6);
    // After an hour the verification has expired.
    pair.wait(secs(3_601));
    pair.get("f");
    pair.settle(file(3_000));
    pair.response();
    assert_eq!(pair.server.counters().challenges, 2);
}

/// Removes the Echo option (252) from a response, to simulate a client that does not implement the
/// option.
fn without_echo(datagram: &[u8]) -> Vec<u8> {
    let mut packet = Packet::from_bytes(datagram).unwrap();
    packet.clear_option(CoapOption::Unknown(252));
    packet.to_bytes().unwrap()
}

/// A client that does not implement the option gets the file in smaller blocks (RFC 7959 §2.4),
/// whatever block size it requests. Each block is at most three times as long as its request.
#[test]
fn a_client_without_the_echo_option_gets_small_blocks() {
    for (early, block) in [false, true].into_iter().flat_map(|early| {
        [16, 32, 64, 128, 256, 512, 1_024].map(|block| (early, BlockSize::at_most(block)))
    }) {
        let config = Config {
            negotiates_early: early,
            block,
            ..Config::default()
        };
        let mut client = Endpoint::new(config, Rng::new(1));
        let mut server = Endpoint::new(Config::default(), Rng::new(2));
        let get = Request::new(Method::Get, "f");
        client.request(at(0), SERVER, get).unwrap();
        let mut messages = 0;
        while let Some((_, datagram)) = client.poll_datagram() {
            messages += 1;
            server.input(at(messages), CLIENT, &datagram);
            if let Some(Event::Request { id, request, .. }) = server.poll_event() {
                server.respond(at(messages), id, file(3_000)(&request));
            }
            let (_, answer) = server.poll_datagram().expect("an answer");
            assert!(48 + answer.len() <= 3 * (48 + datagram.len()), "{block:?}");
            client.input(at(messages), SERVER, &without_echo(&answer));
        }
        let Some(Event::Response { response, .. }) = client.poll_event() else {
            panic!("no event");
        };
        assert_eq!(response.status, Status::Content, "{early}, {block:?}");
        assert_eq!(response.payload.len(), 3_000);
    }
}

#[test]
fn short_answers_are_given_at_once() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.get("f");
    pair.settle(file(100));
    assert_eq!(pair.log, ["C CON 0.01", "S ACK 2.05"]);
    assert_eq!(pair.response().payload.len(), 100);
}

/// A POST must not run twice, so the server answers it in small blocks instead of challenging it.
#[test]
fn a_post_is_not_asked_for_again() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.client
        .request(pair.now, SERVER, Request::new(Method::Post, "f"))
        .unwrap();
    pair.settle(file(300));
    assert_eq!(pair.response().payload.len(), 300);
    assert_eq!(pair.requests.len(), 1);
    assert_eq!(pair.server.counters().challenges, 0);
}

#[test]
fn a_client_repeats_once() {
    let never = Config {
        initial_response: 0,
        ..Config::default()
    };
    let mut client = Endpoint::new(Config::default(), Rng::new(1));
    client
        .request(at(0), SERVER, Request::new(Method::Get, "f"))
        .unwrap();
    for n in 0..2 {
        let (_, datagram) = client.poll_datagram().expect("a request");
        // Each client has a separate server, which does not know the other's value.
        let mut server = Endpoint::new(never, Rng::new(2 + n));
        server.input(at(0), CLIENT, &datagram);
        if let Some(Event::Request { id, request, .. }) = server.poll_event() {
            server.respond(at(0), id, file(10)(&request));
        }
        let (_, answer) = server.poll_datagram().expect("an answer");
        assert_eq!(code(&answer), "4.01");
        client.input(at(0), SERVER, &answer);
    }
    assert!(client.poll_datagram().is_none());
    let Some(Event::Response { response, .. }) = client.poll_event() else {
        panic!("no event");
    };
    assert_eq!(response.status, Status::Unauthorized);
}
