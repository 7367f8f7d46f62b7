//! RFC 7959, section by section, on the wire.

use crate::common;

use common::{CLIENT, Pair, SERVER, at, code, secs};
use redpoll_base::Rng;
use redpoll_coap::{
    BlockSize, Config, Endpoint, Event, Failure, Incoming, Method, Part, Request, Response, Status,
};

fn config(block: usize, max_body: usize) -> Config {
    Config {
        block: BlockSize::at_most(block),
        max_body,
        // These tests do not limit responses to unverified addresses.
        initial_response: usize::MAX,
        ..Config::default()
    }
}

fn pair(client_block: usize, server_block: usize) -> Pair {
    Pair::new(config(client_block, 4_096), config(server_block, 4_096))
}

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 % 251) as u8).collect()
}

fn serve(len: usize) -> impl FnMut(&Incoming) -> Response {
    move |_| Response::new(Status::Content).with_payload(body(len))
}

fn get(mut pair: Pair, len: usize) -> usize {
    pair.get("f");
    pair.settle(serve(len));
    assert_eq!(pair.response().payload, body(len), "{len}");
    pair.log.len()
}

/// §2.4: a body arrives in blocks of the smaller of the two ends' sizes.
#[test]
fn s2_4_a_response_in_blocks() {
    for (len, blocks) in [(0, 1), (1, 1), (64, 1), (65, 2), (128, 2), (1_000, 16)] {
        assert_eq!(get(pair(1_024, 64), len), 2 * blocks, "{len}");
    }
    // The application receives one request.
    let mut pair = pair(1_024, 64);
    pair.get("f");
    pair.settle(serve(1_000));
    assert_eq!(pair.requests.len(), 1);
}

/// §2.4: with early negotiation the first block has the client's size.
#[test]
fn s2_4_early_negotiation() {
    let early = Config {
        negotiates_early: true,
        ..config(64, 4_096)
    };
    assert_eq!(get(Pair::new(early, config(1_024, 4_096)), 256), 8);
    // Without early negotiation the server chooses the size, and the client uses it.
    assert_eq!(get(pair(64, 256), 512), 4);
    // If the server's blocks are smaller than the client's, the server's size is used.
    let early = Config {
        negotiates_early: true,
        ..config(512, 4_096)
    };
    assert_eq!(get(Pair::new(early, config(32, 4_096)), 256), 16);
}

/// §2.4: a client does not combine blocks of two versions. The server restarts between two blocks,
/// with the same body or with another one.
#[test]
fn s2_4_etags_must_match() {
    for (changed, fails) in [(false, false), (true, true)] {
        let mut pair = pair(64, 64);
        pair.get("f");
        let request = pair.sent();
        let answer = |pair: &mut Pair, datagram: &[u8], version: u8| {
            pair.server.input(pair.now, CLIENT, datagram);
            let Some(Event::Request { id, .. }) = pair.server.poll_event() else {
                panic!("the application is not asked")
            };
            let body = vec![version; 128];
            let response = Response::new(Status::Content).with_payload(body);
            pair.server.respond(pair.now, id, response);
            let (_, datagram) = pair.server.poll_datagram().expect("a response");
            pair.client.input(pair.now, SERVER, &datagram);
        };
        answer(&mut pair, &request, 1);
        let second = pair.sent();
        pair.server = Endpoint::new(config(64, 4_096), Rng::new(3));
        answer(&mut pair, &second, 1 + u8::from(changed));
        let failed = Failure::Inconsistent;
        let event = pair.event();
        let is_failure = matches!(event, Event::Failed { failure, .. } if failure == failed);
        assert_eq!(is_failure, fails, "{event:?}");
    }
}

/// §2.5: a body is sent in blocks, and each block but the last is answered by 2.31.
#[test]
fn s2_5_a_request_in_blocks() {
    let mut pair = pair(64, 1_024);
    let request = Request::new(Method::Put, "f").with_payload(body(200));
    pair.client.request(pair.now, SERVER, request).unwrap();
    pair.settle(|_| Response::new(Status::Changed));
    assert_eq!(pair.requests.len(), 1);
    assert_eq!(pair.requests[0].payload, body(200));
    assert_eq!(pair.response().status, Status::Changed);
    assert_eq!(
        pair.log,
        [
            "C CON 0.03",
            "S ACK 2.31",
            "C CON 0.03",
            "S ACK 2.31",
            "C CON 0.03",
            "S ACK 2.31",
            "C CON 0.03",
            "S ACK 2.04"
        ]
    );
}

/// §2.3: the server asks for smaller blocks, and the client renumbers the remaining blocks.
#[test]
fn s2_3_the_size_goes_down() {
    let mut pair = pair(256, 32);
    let request = Request::new(Method::Post, "f").with_payload(body(400));
    pair.client.request(pair.now, SERVER, request).unwrap();
    pair.settle(|_| Response::new(Status::Created));
    assert_eq!(pair.requests[0].payload, body(400));
    // The first block has 256 bytes; 144 bytes follow in blocks of 32.
    assert_eq!(pair.log.len(), 2 * (1 + 5));
}

/// §2.7: a request body in blocks gets a response in blocks; the application gets one request.
#[test]
fn s2_7_blocks_in_both_directions() {
    let mut pair = pair(64, 64);
    let request = Request::new(Method::Post, "f").with_payload(body(150));
    pair.client.request(pair.now, SERVER, request).unwrap();
    pair.settle(serve(300));
    assert_eq!(pair.requests.len(), 1);
    assert_eq!(pair.requests[0].payload, body(150));
    assert_eq!(pair.response().payload, body(300));
    assert_eq!(pair.log.len(), 2 * (3 + 4));
}

/// Returns a PUT of one block with NUM, M, SZX, `payload` bytes, and a message ID.
fn block1(num: u8, more: bool, szx: u8, payload: usize, id: u8) -> Vec<u8> {
    let value = num << 4 | u8::from(more) << 3 | szx;
    // Uri-Path (11) "f", Block1 (27).
    let mut datagram = vec![0x40, 3, 9, id, 0xb1, b'f', 0xd1, 3, value];
    if payload > 0 {
        datagram.push(0xff);
        datagram.extend(body(payload));
    }
    datagram
}

/// Returns the code of the answer to a datagram. The application answers 2.04.
fn answer(pair: &mut Pair, datagram: &[u8]) -> String {
    pair.server.input(pair.now, CLIENT, datagram);
    while let Some(Event::Request { id, request, .. }) = pair.server.poll_event() {
        pair.requests.push(request);
        pair.server
            .respond(pair.now, id, Response::new(Status::Changed));
    }
    code(&pair.server.poll_datagram().expect("an answer").1)
}

/// §2.9.2: blocks out of sequence, or without the first block, are refused.
#[test]
fn s2_9_2_incomplete() {
    let mut pair = pair(64, 64);
    assert_eq!(answer(&mut pair, &block1(1, false, 2, 10, 1)), "4.08");
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 64, 2)), "2.31");
    assert_eq!(answer(&mut pair, &block1(2, false, 2, 10, 3)), "4.08");
    // The earlier blocks are dropped together with the refused block.
    assert_eq!(answer(&mut pair, &block1(1, false, 2, 10, 4)), "4.08");
    // An upload that begins again replaces its first attempt.
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 64, 5)), "2.31");
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 64, 6)), "2.31");
    assert_eq!(answer(&mut pair, &block1(1, false, 2, 10, 7)), "2.04");
    assert_eq!(pair.requests.len(), 1);
    assert_eq!(pair.requests[0].payload.len(), 74);
    // The Content-Format changes within the transfer.
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 64, 8)), "2.31");
    let other = [
        0x40, 3, 9, 9, 0xb1, b'f', 0x11, 42, 0xd1, 2, 0x12, 0xff, b'x',
    ];
    assert_eq!(answer(&mut pair, &other), "4.08");
}

/// §2.5: a server drops an unfinished body EXCHANGE_LIFETIME after its latest block.
#[test]
fn s2_5_an_unfinished_upload_expires() {
    let mut pair = pair(64, 64);
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 64, 1)), "2.31");
    pair.now = at(246_000);
    assert_eq!(answer(&mut pair, &block1(1, true, 2, 64, 2)), "2.31");
    pair.now = at(246_000 + 247_000);
    assert_eq!(answer(&mut pair, &block1(2, true, 2, 64, 3)), "4.08");
}

/// §2.2, §2.3: the reserved size, and payloads of another size, are refused.
#[test]
fn s2_2_blocks_that_make_no_sense() {
    let mut pair = pair(64, 64);
    assert_eq!(answer(&mut pair, &block1(0, true, 7, 64, 1)), "4.00");
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 63, 2)), "4.00");
    assert_eq!(answer(&mut pair, &block1(0, false, 2, 65, 3)), "4.00");
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 0, 4)), "4.00");
    // Block2 with a number beyond the end of the body.
    let beyond = [0x40, 1, 9, 5, 0xb1, b'f', 0xc1, 0x52];
    assert_eq!(answer(&mut pair, &beyond), "4.00");
}

/// §2.9.3: bodies and transfers for which there is no room are refused.
#[test]
fn s2_9_3_too_large() {
    let server = Config {
        max_transfers: 2,
        ..config(64, 100)
    };
    let mut pair = Pair::new(config(1_024, 4_096), server);
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 64, 1)), "2.31");
    assert_eq!(answer(&mut pair, &block1(1, true, 2, 64, 2)), "4.13");
    // The option Size1 (60) states the size of the body in the first block: 101 bytes.
    let told = [0x40, 3, 9, 3, 0xb1, b'f', 0xd1, 3, 0x08, 0xd1, 20, 101];
    assert_eq!(answer(&mut pair, &told), "4.13");
    // Three resources at a time exceed the limit by one: the first is dropped.
    for name in [b'x', b'y', b'z'] {
        let mut first = block1(0, true, 2, 64, name);
        first[5] = name;
        assert_eq!(answer(&mut pair, &first), "2.31");
    }
    for (name, code) in [(b'x', "4.08"), (b'y', "4.13")] {
        let mut second = block1(1, true, 2, 64, name + 10);
        second[5] = name;
        assert_eq!(answer(&mut pair, &second), code);
    }
    // A request without blocks; the answer contains the limit.
    let request = Request::new(Method::Put, "f").with_payload(body(101));
    pair.client.request(pair.now, SERVER, request).unwrap();
    pair.settle(|_| Response::new(Status::Changed));
    assert_eq!(pair.response().status, Status::RequestEntityTooLarge);
}

/// Uploads that only begin, again and again, do not prevent a client from completing its upload.
#[test]
fn unfinished_uploads_are_replaced() {
    let mut pair = pair(64, 64);
    let mut forged = 0;
    let mut forge = |pair: &mut Pair| {
        for _ in 0..6 {
            forged += 1;
            let mut first = block1(0, true, 2, 64, forged);
            first[5] = b'A' + forged % 26;
            pair.server.input(pair.now, CLIENT, &first);
            while pair.server.poll_datagram().is_some() {}
        }
        pair.now += secs(1);
    };
    forge(&mut pair);
    assert_eq!(answer(&mut pair, &block1(0, true, 2, 64, 250)), "2.31");
    assert_eq!(answer(&mut pair, &block1(1, true, 2, 64, 251)), "2.31");
    for _ in 0..20 {
        forge(&mut pair);
    }
    assert_eq!(answer(&mut pair, &block1(2, true, 2, 64, 252)), "2.31");
}

/// §2.4: a client fails a response that is longer than its `max_body`.
#[test]
fn a_response_that_is_too_large_fails() {
    let mut pair = Pair::new(config(64, 100), config(64, 4_096));
    pair.get("f");
    pair.settle(serve(101));
    assert!(matches!(
        pair.event(),
        Event::Failed {
            failure: Failure::TooLarge,
            ..
        }
    ));
}

/// §2.5: lost blocks are repeated as all messages are.
#[test]
fn blocks_survive_losses() {
    let mut pair = pair(64, 64);
    let request = Request::new(Method::Post, "f").with_payload(body(500));
    pair.client.request(pair.now, SERVER, request).unwrap();
    for round in 0.. {
        // Every third datagram is lost, in either direction.
        while let Some((_, datagram)) = pair.client.poll_datagram() {
            pair.log.push("C".to_owned());
            if !pair.log.len().is_multiple_of(3) {
                pair.server.input(pair.now, CLIENT, &datagram);
            }
            while let Some(Event::Request { id, request, .. }) = pair.server.poll_event() {
                pair.requests.push(request);
                let response = Response::new(Status::Content).with_payload(body(500));
                pair.server.respond(pair.now, id, response);
            }
            while let Some((_, datagram)) = pair.server.poll_datagram() {
                pair.log.push("S".to_owned());
                if !pair.log.len().is_multiple_of(3) {
                    pair.client.input(pair.now, SERVER, &datagram);
                }
            }
        }
        if let Some(event) = pair.client.poll_event() {
            let Event::Response { response, .. } = event else {
                panic!("{event:?}")
            };
            assert_eq!(response.payload, body(500));
            break;
        }
        assert!(round < 1_000);
        pair.wait(secs(1));
    }
    assert_eq!(pair.requests.len(), 1);
    assert_eq!(pair.requests[0].payload, body(500));
}

/// §2.3: M = 0 in the answer says that the server processed the block separately. Neither side
/// needs memory for the whole body.
#[test]
fn s2_3_parts_of_a_body() {
    let taking = Config {
        takes_parts: true,
        ..config(64, 64)
    };
    let mut pair = Pair::new(config(64, 64), taking);
    let (whole, size) = (body(150), BlockSize::at_most(64));
    let mut taken = Vec::new();
    for num in 0..3 {
        let begin = num as usize * 64;
        let payload = &whole[begin..whole.len().min(begin + 64)];
        let more = begin + 64 < whole.len();
        let part = Part { num, more, size };
        assert_eq!(part.offset(), begin);
        let request = Request::new(Method::Put, "image").with_part(part, payload);
        pair.client.request(pair.now, SERVER, request).unwrap();
        let request = pair.sent();
        // Block1 (27) has delta 16 after Uri-Path (11), and one byte with NUM, M and SZX 2.
        let value = (num << 4 | u32::from(more) << 3 | 2) as u8;
        assert!(
            request.windows(3).any(|at| at == [0xd1, 3, value]),
            "{request:x?}"
        );
        pair.server.input(pair.now, CLIENT, &request);
        let Some(Event::Request { id, request, .. }) = pair.server.poll_event() else {
            panic!("no request");
        };
        assert_eq!(request.part, Some(part));
        taken.extend(request.payload);
        pair.server
            .respond(pair.now, id, Response::new(Status::Changed));
        let (_, answer) = pair.server.poll_datagram().unwrap();
        assert_eq!(code(&answer), "2.04");
        let value = (num << 4 | 2) as u8;
        assert_eq!(answer[8..], [0xd1, 14, value], "M is unset");
        pair.client.input(pair.now, SERVER, &answer);
        assert!(pair.response().is_success());
    }
    assert_eq!(taken, whole);
}

#[test]
fn s2_3_a_part_of_a_wrong_length() {
    let taking = Config {
        takes_parts: true,
        ..config(64, 64)
    };
    let mut pair = Pair::new(config(64, 64), taking);
    let size = BlockSize::at_most(64);
    for (num, more, len) in [(1, true, 63), (1, true, 65), (2, false, 65)] {
        let part = Part { num, more, size };
        let request = Request::new(Method::Put, "image").with_part(part, body(len));
        pair.client.request(pair.now, SERVER, request).unwrap();
        pair.settle(|_| panic!("it is no block"));
        assert_eq!(pair.response().status, Status::BadRequest);
    }
}
