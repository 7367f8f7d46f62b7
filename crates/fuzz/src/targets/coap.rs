//! A CoAP endpoint, client and server at the same time, with arbitrary datagrams.

use redpoll_base::{Addr, Instant, Rng};
use redpoll_coap::{Config, Endpoint, Event, Method, Peer, Request, Response, RtoPolicy, Status};

const MAX_BODY: usize = 2_000;

pub fn run(bytes: &[u8]) {
    let config = Config {
        rto: RtoPolicy::CocoaContiki,
        max_body: MAX_BODY,
        ..Config::default()
    };
    let mut endpoint = Endpoint::new(config, Rng::new(1));
    let peer = Peer {
        addr: Addr::UNSPECIFIED,
        port: 5_683,
    };
    let mut now = Instant::ZERO;
    // The input is a list of datagrams, each a length byte and as many bytes. Before each datagram,
    // the endpoint sends a request.
    let mut rest = bytes;
    while let Some((len, tail)) = rest.split_first() {
        let (datagram, tail) = tail.split_at(tail.len().min(usize::from(*len)));
        rest = tail;
        let request = Request::new(Method::Put, "a").with_payload(vec![7; 1_500]);
        let _ = endpoint.request(now, peer, request);
        endpoint.input(now, peer, datagram);
        while let Some(event) = endpoint.poll_event() {
            if let Event::Request { id, request, .. } = event {
                assert!(request.payload.len() <= MAX_BODY);
                let response = Response::new(Status::Content).with_payload(request.payload);
                endpoint.respond(now, id, response);
            }
        }
        while let Some((_, datagram)) = endpoint.poll_datagram() {
            assert!(datagram.len() <= 1_152);
        }
        if let Some(at) = endpoint.poll_at() {
            now = now.max(at);
            endpoint.on_timeout(now);
        }
    }
}
