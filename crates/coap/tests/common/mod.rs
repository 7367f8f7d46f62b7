//! Two endpoints and the wire between them, in virtual time.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_coap::{Config, Endpoint, Event, Method, Peer, Request, Response, Status};

pub const CLIENT: Peer = Peer {
    addr: Addr::UNSPECIFIED,
    port: 40_000,
};
pub const SERVER: Peer = Peer {
    addr: Addr::UNSPECIFIED,
    port: 5_683,
};

/// Returns the type of a message (RFC 7252 §3).
pub fn kind(datagram: &[u8]) -> &'static str {
    ["CON", "NON", "ACK", "RST"][usize::from(datagram[0] >> 4 & 3)]
}

pub fn code(datagram: &[u8]) -> String {
    format!("{}.{:02}", datagram[1] >> 5, datagram[1] & 31)
}

pub fn id(datagram: &[u8]) -> u16 {
    u16::from_be_bytes([datagram[2], datagram[3]])
}

pub fn token(datagram: &[u8]) -> &[u8] {
    &datagram[4..4 + usize::from(datagram[0] & 15)]
}

pub struct Pair {
    pub now: Instant,
    pub client: Endpoint,
    pub server: Endpoint,
    /// The messages on the wire: the sender's initial, type and code.
    pub log: Vec<String>,
    pub requests: Vec<redpoll_coap::Incoming>,
}

impl Pair {
    pub fn new(client: Config, server: Config) -> Pair {
        Pair {
            now: Instant::ZERO,
            client: Endpoint::new(client, Rng::new(1)),
            server: Endpoint::new(server, Rng::new(2)),
            log: Vec::new(),
            requests: Vec::new(),
        }
    }

    pub fn wait(&mut self, time: Duration) {
        self.now += time;
        self.client.on_timeout(self.now);
        self.server.on_timeout(self.now);
    }

    pub fn sent(&mut self) -> Vec<u8> {
        self.client.poll_datagram().expect("a datagram").1
    }

    /// Delivers datagrams in both directions until there are none; `answer` is the application of
    /// the server.
    pub fn settle(&mut self, mut answer: impl FnMut(&redpoll_coap::Incoming) -> Response) {
        loop {
            let mut idle = true;
            while let Some((_, datagram)) = self.client.poll_datagram() {
                self.log
                    .push(format!("C {} {}", kind(&datagram), code(&datagram)));
                self.server.input(self.now, CLIENT, &datagram);
                idle = false;
            }
            while let Some(Event::Request { id, request, .. }) = self.server.poll_event() {
                let response = answer(&request);
                self.requests.push(request);
                self.server.respond(self.now, id, response);
            }
            while let Some((_, datagram)) = self.server.poll_datagram() {
                self.log
                    .push(format!("S {} {}", kind(&datagram), code(&datagram)));
                self.client.input(self.now, SERVER, &datagram);
                idle = false;
            }
            if idle {
                return;
            }
        }
    }

    pub fn event(&mut self) -> Event {
        let event = self.client.poll_event().expect("an event");
        assert_eq!(self.client.poll_event(), None);
        event
    }

    pub fn response(&mut self) -> Response {
        match self.event() {
            Event::Response { response, .. } => response,
            other => panic!("{other:?}"),
        }
    }

    pub fn get(&mut self, path: &str) {
        self.client
            .request(self.now, SERVER, Request::new(Method::Get, path))
            .unwrap();
    }
}

pub fn ok(_: &redpoll_coap::Incoming) -> Response {
    Response::new(Status::Content).with_payload(*b"ok")
}

pub fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

pub fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}
