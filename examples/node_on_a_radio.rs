//! A node on a radio, from the radio's work to a socket: an echo server, and a client that
//! tries it.
//!
//! `cargo run -p redpoll-sim --example node_on_a_radio` runs both on simulated radios. A board runs
//! one of them: the driver of its radio, a type with the trait `Radio` (docs/porting.md), replaces
//! `Ether`, and a loop that lets the processor rest replaces the last function. No other line
//! depends on the place where it runs.

use std::task::{Context, Waker};

use redpoll_base::{Addr, Instant, LeafMemory, Rng};
use redpoll_sim::{Ether, RadioConfig};
use redpoll_stack::mac::{MacConfig, Radio};
use redpoll_stack::transport::Endpoint;
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{ConnId, Error, LeafStorage, Node, NodeConfig, NodeEvent, Route, Via};

/// The mesh's prefix: the same on all of its nodes.
const PREFIX: Addr = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/// A node of the mesh and its radio.
pub struct OnRadio<R> {
    pub node: Node<LeafMemory>,
    pub radio: R,
}

/// Makes a leaf. `seed` and `secret` are random: different after each start and for each node.
pub fn leaf<R: Radio>(mut radio: R, ends: [u16; 2], seed: u64, secret: [u8; 16]) -> OnRadio<R> {
    let [short, parent] = ends;
    // The node's addresses, and the radio's functions: the MAC implements the rest.
    let mac = MacConfig::default().with(|it| {
        it.short = short;
        it.extended = (0x0200_0000_0000_0000 | u64::from(short)).to_be_bytes();
        it.caps = radio.caps();
    });
    // The radio receives frames for these addresses only.
    radio.set_identity((&mac).into());
    // The defaults of a leaf: a short address, its receiver on, nothing forwarded.
    let config = NodeConfig::leaf(mac, PREFIX, seed as u16, secret);
    // All of the node's memory. On a board: a `static`, in a cell that is taken once.
    let storage = Box::leak(Box::new(LeafStorage::NEW));
    let mut node = Node::new(config, storage.memory(), Rng::new(seed));
    // One route: everything is behind the parent.
    let everything = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(Address::Short(parent)),
    };
    node.add_route(everything)
        .expect("the table of routes has room for one route");
    OnRadio { node, radio }
}

impl<R: Radio> OnRadio<R> {
    /// Passes operations from the node to the radio and events from the radio to the node, until
    /// there are none. Events of the node go to the application.
    pub fn turn(&mut self, mut on_event: impl FnMut(&mut Node<LeafMemory>, Instant, NodeEvent)) {
        // A polling loop has no task to wake.
        let mut cx = Context::from_waker(Waker::noop());
        // `drive` asks `Node::poll_radio` for work, starts it, waits for the radio or the node's
        // next timeout, and passes the event to the node.
        while self.node.drive(&mut self.radio, &mut cx, None).is_ready() {
            while let Some(event) = self.node.poll_event() {
                on_event(&mut self.node, self.radio.now(), event);
            }
        }
    }
}

/// Handles an event at the server: sends received bytes back.
pub fn echo(node: &mut Node<LeafMemory>, now: Instant, event: NodeEvent) {
    let conn: ConnId = match event {
        // A new connection, which has its own events from now on.
        NodeEvent::Accepted(listener) => match node.tcp_accept(listener) {
            Some(conn) => conn,
            None => return,
        },
        NodeEvent::Tcp(conn, _) => conn,
        _ => return,
    };
    let mut bytes = [0; 64];
    loop {
        // Echo as much as the send buffer has room for. The rest stays in the receive buffer,
        // and TCP's window limits the other end.
        let room = node.tcp_connection(conn).map_or(0, |it| it.send_room());
        let len = room.min(bytes.len());
        match node.tcp_recv(now, conn, &mut bytes[..len]) {
            // The other end has sent all of its data.
            Ok(0) if len > 0 => break,
            Ok(0) | Err(Error::WouldBlock) => return,
            Ok(len) => drop(node.tcp_send(now, conn, &bytes[..len])),
            Err(_) => break,
        }
    }
    // This end's FIN. The slot is free again when the other end has received it.
    node.tcp_close(now, conn);
    node.tcp_release(now, conn);
}

/// Lets a client send `hello` to a server; returns the answer.
pub fn run() -> String {
    // Two radios that hear each other.
    let ether = Ether::new(2, &RadioConfig::default());
    let mut server = leaf(ether.radio(0), [1, 2], 11, [1; 16]);
    let mut client = leaf(ether.radio(1), [2, 1], 12, [2; 16]);
    // Port 7: `NodeEvent::Accepted` reports a new connection.
    server
        .node
        .tcp_listen(7)
        .expect("the node has room for one listener");
    let to = Endpoint::new(server.node.address(), 7);
    let now = client.radio.now();
    let conn = client
        .node
        .tcp_connect(now, to)
        .expect("the node has room for a connection");
    // The data is in the connection's buffer until the handshake is over.
    client
        .node
        .tcp_send(now, conn, b"hello")
        .expect("the send buffer has room");
    let mut answer = Vec::new();
    while answer.len() < 5 {
        server.turn(echo);
        client.turn(|node, now, _| {
            let mut bytes = [0; 64];
            let len = node.tcp_recv(now, conn, &mut bytes).unwrap_or(0);
            answer.extend(&bytes[..len]);
        });
        // On a board: wait for an interrupt.
        assert!(ether.step(), "neither node waits for an event");
    }
    String::from_utf8(answer).expect("the answer is UTF-8")
}

fn main() {
    println!("it came back: {}", run());
}

#[test]
fn it_comes_back() {
    assert_eq!(run(), "hello");
}
