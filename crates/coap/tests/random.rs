//! For arbitrary input, an endpoint does not panic or exceed its memory, and its answers are
//! valid messages.

use crate::common;

use common::{CLIENT, SERVER, secs};
use proptest::prelude::*;
use redpoll_base::{Instant, Rng};
use redpoll_coap::{Config, Endpoint, Event, Method, Request, Response, RtoPolicy, Status};

fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let anything = proptest::collection::vec(any::<u8>(), 0..80);
    // Datagrams that resemble messages: version 1, short tokens, assigned codes, and options with
    // assigned numbers.
    let nearly = (
        0x40_u8..0x80,
        prop_oneof![0_u8..8, 0x40_u8..0x46, Just(0x5f), 0x80_u8..0x90],
        0_u8..4,
        proptest::collection::vec(
            (
                prop_oneof![0_u8..16, Just(0xb1), Just(0xc1), Just(0xd1), Just(0xff)],
                0_u8..64,
            ),
            0..12,
        ),
    );
    prop_oneof![
        anything,
        nearly.prop_map(|(first, code, id, rest)| {
            let mut datagram = vec![first & 0xf1, code, 0, id];
            datagram.extend(rest.into_iter().flat_map(|(a, b)| [a, b]));
            datagram
        })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_datagrams_cause_no_panic(datagrams in proptest::collection::vec(datagram(), 1..60), seed: u64) {
        let config = Config {
            rto: RtoPolicy::CocoaDraft,
            max_body: 2_000,
            ..Config::default()
        };
        let mut endpoint = Endpoint::new(config, Rng::new(seed));
        let mut now = Instant::ZERO;
        for (number, datagram) in datagrams.iter().enumerate() {
            if number % 4 == 0 {
                let request = Request::new(Method::Put, "a").with_payload(vec![7; 1_500]);
                let _ = endpoint.request(now, SERVER, request);
            }
            let from = if number % 3 == 0 { SERVER } else { CLIENT };
            endpoint.input(now, from, datagram);
            while let Some(event) = endpoint.poll_event() {
                if let Event::Request { id, request, .. } = event {
                    prop_assert!(request.payload.len() <= 2_000);
                    if number % 5 != 0 {
                        let response = Response::new(Status::Content).with_payload(vec![1; 3_000]);
                        endpoint.respond(now, id, response);
                    }
                }
            }
            while let Some((_, answer)) = endpoint.poll_datagram() {
                prop_assert!(answer.len() >= 4 && answer.len() <= 1_152, "{}", answer.len());
                prop_assert_eq!(answer[0] >> 6, 1);
            }
            if let Some(at) = endpoint.poll_at() && number % 2 == 0 {
                now = now.max(at);
                endpoint.on_timeout(now);
            }
        }
        prop_assert!(endpoint.requests_open() <= config.max_requests);
        // The endpoint must become idle.
        for _ in 0..100 {
            let Some(at) = endpoint.poll_at() else { break };
            prop_assert!(at <= now + secs(1_000));
            now = now.max(at);
            endpoint.on_timeout(now);
            while endpoint.poll_datagram().is_some() {}
        }
        prop_assert_eq!(endpoint.poll_at(), None);
    }
}
