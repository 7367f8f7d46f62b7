//! CoAP: two ends that exchange messages over the nodes.

use crate::image::host::{check, fail};
use crate::image::stopwatch::Stopwatch;
use crate::node::{BUFFER, LEAF, ROOT, address};
use crate::step::Step;
use crate::world::{Station, World};
use redpoll_coap as coap;
use redpoll_stack::UdpId;
use redpoll_stack::base::Rng;
use redpoll_stack::transport::Endpoint;

const COAP_PORT: u16 = 5683;

/// An end of CoAP: a socket of a node, and its endpoint.
pub struct Speaker {
    index: usize,
    socket: UdpId,
    endpoint: coap::Endpoint,
}

impl Speaker {
    pub fn new(world: &mut World, index: usize) -> Speaker {
        let Ok(socket) = world.stations[index].node.udp_bind(COAP_PORT) else {
            fail("no socket");
        };
        let rng = Rng::stream(2, index as u64);
        Speaker {
            index,
            socket,
            endpoint: coap::Endpoint::new(coap::Config::default(), rng),
        }
    }

    /// Sends the message that `act` makes to node `to`.
    fn say(&mut self, world: &mut World, to: usize, act: impl FnOnce(&mut coap::Endpoint)) {
        let mut lap = Stopwatch::default();
        let endpoint = &mut self.endpoint;
        let made = lap.lap(|| {
            act(endpoint);
            core::hint::black_box(endpoint.poll_at());
            endpoint.poll_datagram()
        });
        let Some((_, datagram)) = made else {
            fail("the endpoint made no message");
        };
        let (now, bytes) = (world.now, packet_bytes(&datagram));
        let remote = Endpoint::new(address(to), COAP_PORT);
        let Station { node, watches, .. } = &mut world.stations[self.index];
        watches.enter(lap, (Step::MessageOut, bytes));
        let watch = &mut watches.of(Step::DatagramOut, bytes).stopwatch;
        let socket = self.socket;
        check(
            watch
                .lap(|| node.udp_send(now, socket, remote, &datagram))
                .is_ok(),
        );
    }

    fn hear(&mut self, world: &mut World, from: usize) -> coap::Event {
        for _ in 0..1_000 {
            world.settle();
            let mut out = [0; BUFFER];
            let now = world.now;
            let Station { node, watches, .. } = &mut world.stations[self.index];
            let (mut lap, socket) = (Stopwatch::default(), self.socket);
            if let Some((len, _)) = lap.lap(|| node.udp_recv(socket, &mut out)) {
                let datagram = &out[..len];
                let bytes = packet_bytes(datagram);
                watches.of(Step::DatagramIn, bytes).stopwatch.add(&lap);
                let (mut lap, endpoint) = (Stopwatch::default(), &mut self.endpoint);
                let event = lap.lap(|| {
                    endpoint.input(now, peer(from), datagram);
                    core::hint::black_box(endpoint.poll_at());
                    endpoint.poll_event()
                });
                watches.enter(lap, (Step::MessageIn, bytes));
                match event {
                    Some(event) => return event,
                    None => fail("a message caused no event"),
                }
            }
            world.wait();
        }
        fail("no message comes")
    }
}

fn packet_bytes(datagram: &[u8]) -> u16 {
    datagram.len() as u16 + 48
}

fn peer(index: usize) -> coap::Peer {
    coap::Peer {
        addr: address(index),
        port: COAP_PORT,
    }
}

/// Posts a body from the leaf to the root, which confirms it.
pub fn post(world: &mut World, client: &mut Speaker, server: &mut Speaker, body: &[u8]) {
    let now = world.now;
    world.stations[LEAF].node.expect_packets(true);
    client.say(world, ROOT, |endpoint| {
        let request = coap::Request::new(coap::Method::Post, "readings");
        let request = request.with_payload(body);
        check(endpoint.request(now, peer(ROOT), request).is_ok());
    });
    let coap::Event::Request { id, request, .. } = server.hear(world, LEAF) else {
        fail("no request");
    };
    check(request.payload == body);
    let now = world.now;
    server.say(world, LEAF, |endpoint| {
        endpoint.respond(now, id, coap::Response::new(coap::Status::Changed));
    });
    let coap::Event::Response { response, .. } = client.hear(world, ROOT) else {
        fail("no response");
    };
    check(response.is_success());
    world.stations[LEAF].node.expect_packets(false);
}
