//! Event-driven use, as in TinyOS (Kumar et al. 2020, appendix A): one stack, an event loop, and
//! handlers that run to completion.
//!
//! Two nodes and the link between them run in virtual time. The loop does the work of a mote's
//! scheduler with its interrupts and timers: it takes the earliest pending input, passes it to a
//! node, and then *drains* that node: events go to its application, packets to the link. No handler
//! waits. A handler that cannot finish continues in the handler of a later event; data that does
//! not fit is sent when the node reports `Writable`.
//!
//! `cargo run -p redpoll-socket --example event_driven`

mod common;

use std::collections::VecDeque;

use common::{MTU, Node, endpoint, node};
use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, NodeEvent};
use redpoll_tcp::Event;

const BYTES: usize = 20_000;
const PORT: u16 = 80;
/// One-way delay of the link.
const LATENCY: Duration = Duration::from_millis(20);

struct Upload {
    sent: usize,
}

impl Upload {
    fn on_event(&mut self, node: &mut Node, now: Instant, event: NodeEvent) {
        match event {
            NodeEvent::Tcp(conn, Event::Connected | Event::Writable) => {
                self.fill(node, now, conn);
            }
            NodeEvent::Tcp(conn, Event::Closed) => node.tcp_release(now, conn),
            NodeEvent::Tcp(_, Event::Failed(error)) => panic!("upload: {error}"),
            _ => {}
        }
    }

    fn fill(&mut self, node: &mut Node, now: Instant, conn: ConnId) {
        while self.sent < BYTES {
            let chunk = [self.sent as u8; 100];
            let rest = chunk.len().min(BYTES - self.sent);
            match node.tcp_send(now, conn, &chunk[..rest]) {
                Ok(count) => self.sent += count,
                // `Writable` follows.
                Err(_) => return,
            }
        }
        node.tcp_close(now, conn);
    }
}

#[derive(Default)]
struct Sink {
    received: usize,
    done: bool,
}

impl Sink {
    fn on_event(&mut self, node: &mut Node, now: Instant, event: NodeEvent) {
        match event {
            // Read at once, because data may have arrived before the accept.
            NodeEvent::Accepted(listener) => {
                while let Some(conn) = node.tcp_accept(listener) {
                    self.empty(node, now, conn);
                }
            }
            NodeEvent::Tcp(conn, Event::Readable | Event::PeerClosed) => {
                self.empty(node, now, conn);
            }
            _ => {}
        }
    }

    fn empty(&mut self, node: &mut Node, now: Instant, conn: ConnId) {
        let (first, second) = node.tcp_peek(conn);
        let count = first.len() + second.len();
        self.received += node.tcp_consume(now, conn, count);
        if count == 0 && node.tcp_recv(now, conn, &mut [0]) == Ok(0) {
            node.tcp_close(now, conn);
            node.tcp_release(now, conn);
            self.done = true;
        } else if count > 0 {
            // Check whether the end of the stream follows these data.
            self.empty(node, now, conn);
        }
    }
}

/// Packets on their way to a node, with the times of their arrival.
type Link = VecDeque<(Instant, Vec<u8>)>;

fn drain(
    node: &mut Node,
    now: Instant,
    link: &mut Link,
    mut on_event: impl FnMut(&mut Node, Instant, NodeEvent),
) {
    while let Some(event) = node.poll_event() {
        on_event(node, now, event);
    }
    let mut packet = [0; MTU];
    while let Some(len) = node.poll_packet(now, &mut packet) {
        link.push_back((now + LATENCY, packet[..len].to_vec()));
    }
}

fn give(node: &mut Node, now: Instant, arriving: &mut Link) {
    node.on_timeout(now);
    while arriving.front().is_some_and(|(at, _)| *at <= now) {
        let (_, packet) = arriving
            .pop_front()
            .expect("the loop condition found a packet");
        // The node counts packets that it drops.
        let _ = node.input_packet(now, &packet);
    }
}

fn main() {
    let (mut client, mut server) = (node(1), node(2));
    let (mut to_client, mut to_server) = (Link::new(), Link::new());
    let (mut upload, mut sink) = (Upload { sent: 0 }, Sink::default());
    let mut now = Instant::ZERO;

    server.tcp_listen(PORT).expect("the port is free");
    client
        .tcp_connect(now, endpoint(2, PORT))
        .expect("the node has a route to the server");

    while !sink.done {
        drain(&mut client, now, &mut to_server, |node, now, event| {
            upload.on_event(node, now, event);
        });
        drain(&mut server, now, &mut to_client, |node, now, event| {
            sink.on_event(node, now, event);
        });
        // Sleep until the first packet arrives or the first timer expires.
        let packets = [&to_client, &to_server].map(|link| Some(link.front()?.0));
        let timers = [&client, &server].map(|node| Some(node.poll_at()?.at));
        let due = packets.into_iter().chain(timers).flatten().min();
        now = due.expect("a packet is in flight or a timer runs").max(now);
        give(&mut client, now, &mut to_client);
        give(&mut server, now, &mut to_server);
    }
    assert_eq!(sink.received, BYTES);
    println!("{BYTES} bytes in {} ms of virtual time", now.as_millis());
}

#[test]
fn it_runs() {
    main();
}
