//! [`Streams`]: the same calls reach a node's TCP, or the transport in its place.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common;

use common::lone::Lone;
use common::packets::{ACK, FIN, SYN, read_tcp};
use common::peer::{HOST, Peer};
use common::{HeapMemory, address, node_of};
use redpoll_base::{Instant, Rng};
use redpoll_mac::CsmaCa;
use redpoll_stack::assist::NoAssist;
use redpoll_stack::transport::State;
use redpoll_stack::{
    Arrived, ConnId, Error, ListenerId, NoStreams, NodeCounters, NodeEvent, Outcome, Parts,
    Profile, Pull, Route, Stream, StreamTransport, Streams, Transport, Via,
};
use redpoll_tcp::{Endpoint, Standard};

const REMOTE: Endpoint = Endpoint {
    addr: HOST,
    port: 7_000,
};

/// An application that knows only [`Streams`].
fn serve(node: &mut impl Streams, now: Instant, id: ConnId) -> Vec<u8> {
    let mut read = [0; 100];
    let len = node.recv(now, id, &mut read).unwrap();
    assert_eq!(node.send(now, id, &read[..len]), Ok(len));
    node.close(now, id);
    read[..len].to_vec()
}

#[test]
fn an_application_serves_over_tcp() {
    let mut lone = Lone::border(|_| {});
    let listener = Streams::listen(&mut lone.node, 80).unwrap();
    assert_eq!(Streams::listen(&mut lone.node, 80), Err(Error::PortInUse));
    assert_eq!(Streams::accept(&mut lone.node, listener), None);
    let mut peer = Peer::open(&mut lone, 5_000);
    let id = Streams::accept(&mut lone.node, listener).unwrap();
    lone.node.expect(id, true);
    peer.give(&mut lone, ACK, b"echo");
    lone.host_packets();
    assert_eq!(serve(&mut lone.node, lone.now, id), b"echo");
    assert_eq!(lone.node.live(), 1);
    let stream = lone.node.stream(id).unwrap();
    assert_eq!((stream.remote.port, stream.local.port), (5_000, 80));
    assert_eq!((stream.state, stream.unacked), (State::FinWait1, 4));
    assert_eq!(stream.send_room, 1_500 - 4);
    let sent = lone.host_packets();
    let (flags, _, _, _, data) = read_tcp(&sent[0]).unwrap();
    assert_eq!((flags & FIN, data), (FIN, &b"echo"[..]));
    peer.ack += 5;
    peer.give(&mut lone, FIN | ACK, b"");
    // In TIME-WAIT, the connection is not live.
    assert_eq!(lone.node.stream(id).unwrap().state, State::TimeWait);
    assert_eq!(lone.node.live(), 0);
    lone.node.release(lone.now, id);
    let send = Streams::send(&mut lone.node, lone.now, id, b"x");
    assert_eq!(send, Err(Error::UnknownHandle));
}

#[test]
fn an_application_connects_and_aborts_over_tcp() {
    let mut lone = Lone::border(|_| {});
    let id = Streams::connect(&mut lone.node, lone.now, REMOTE).unwrap();
    let sent = lone.host_packets();
    let flags = read_tcp(&sent[0]).unwrap().0;
    assert_eq!(flags & (SYN | ACK), SYN);
    assert_eq!(lone.node.stream(id).unwrap().state, State::SynSent);
    let statistics = lone.node.tcp_connection(id).unwrap().counted().copied();
    assert_eq!(lone.node.stats(id).copied(), statistics);
    lone.node.abort(lone.now, id);
    assert_eq!(lone.node.live(), 0);
    lone.node.clear_routes();
    let refused = Streams::connect(&mut lone.node, lone.now, REMOTE);
    assert_eq!(refused, Err(Error::NoRoute));
    let unknown = ConnId::new(3, 9);
    assert_eq!(lone.node.stream(unknown), None);
    assert!(lone.node.stats(unknown).is_none());
}

/// The calls that a transport in place of TCP has received.
#[derive(Clone, Debug, Default)]
struct Recorder(Rc<RefCell<Vec<String>>>);

impl Recorder {
    fn note(&self, call: String) {
        self.0.borrow_mut().push(call);
    }
}

const ID: ConnId = ConnId::new(7, 8);
const LISTENER: ListenerId = ListenerId::new(5, 6);

impl Transport for Recorder {
    fn input(&mut self, _: Instant, arrived: &Arrived<'_>, _: &mut NodeCounters) -> Outcome {
        self.note(format!("input {}", arrived.upper.len()));
        Outcome::Taken
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        None
    }
}

impl StreamTransport for Recorder {
    fn is_there(&self) -> bool {
        true
    }

    fn listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        self.note(format!("listen {port}"));
        Ok(LISTENER)
    }

    fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        self.note(format!("accept {:?}", listener.parts()));
        Some(ID)
    }

    fn connect(
        &mut self,
        _: Instant,
        local: Endpoint,
        remote: Endpoint,
        _: &mut Rng,
    ) -> Result<ConnId, Error> {
        assert_eq!((local.addr, local.port), (address(1), 0));
        self.note(format!("connect {}", remote.port));
        Ok(ID)
    }

    fn send(&mut self, _: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        self.note(format!("send {:?} {}", id.parts(), data.len()));
        Ok(data.len())
    }

    fn recv(&mut self, _: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        self.note(format!("recv {:?}", id.parts()));
        out[..2].copy_from_slice(b"hi");
        Ok(2)
    }

    fn close(&mut self, _: Instant, id: ConnId) {
        self.note(format!("close {:?}", id.parts()));
    }

    fn abort(&mut self, _: Instant, id: ConnId) {
        self.note(format!("abort {:?}", id.parts()));
    }

    fn release(&mut self, _: Instant, id: ConnId) {
        self.note(format!("release {:?}", id.parts()));
    }

    fn stream(&self, _: ConnId) -> Option<Stream> {
        Some(Stream {
            local: REMOTE,
            remote: REMOTE,
            state: State::CloseWait,
            unacked: 3,
            send_room: 4,
        })
    }

    fn live(&self) -> usize {
        11
    }

    fn expects(&self) -> bool {
        false
    }
}

struct Replaced;

impl Profile for Replaced {
    type Memory = HeapMemory;
    type Access = CsmaCa;
    type Algorithms = Standard;
    type Assist = NoAssist;
    type Streams = Recorder;
    type Rules = common::rules::TestRules;
    type Handover = Pull;
}

#[test]
fn a_transport_in_place_of_tcp_gets_every_call_and_every_segment() {
    let recorder = Recorder::default();
    let calls = recorder.0.clone();
    let mut node = node_of::<Replaced>(Parts {
        access: CsmaCa,
        assist: NoAssist,
        streams: recorder,
        handover: Pull,
    });
    let host = Route {
        prefix: redpoll_base::Addr::UNSPECIFIED,
        len: 0,
        via: Via::Host,
    };
    node.add_route(host).unwrap();
    let now = Instant::from_millis(1_000);
    assert_eq!(node.listen(80), Ok(LISTENER));
    assert_eq!(node.accept(LISTENER), Some(ID));
    assert_eq!(node.connect(now, REMOTE), Ok(ID));
    node.expect(ID, true);
    assert_eq!(serve(&mut node, now, ID), b"hi");
    node.abort(now, ID);
    node.release(now, ID);
    let stream = node.stream(ID).unwrap();
    assert_eq!((stream.state, stream.unacked), (State::CloseWait, 3));
    assert_eq!(node.live(), 11);
    assert!(node.stats(ID).is_none());
    let peer = Peer {
        port: 5_000,
        seq: 1,
        ack: 0,
    };
    let packet = peer.segment(SYN, b"").packet(HOST, address(1));
    node.input_packet(now, &packet).unwrap();
    let expected = [
        "listen 80",
        "accept (5, 6)",
        "connect 7000",
        "recv (7, 8)",
        "send (7, 8) 2",
        "close (7, 8)",
        "abort (7, 8)",
        "release (7, 8)",
        "input 20",
    ];
    assert_eq!(*calls.borrow(), expected);
    // The node's own TCP has no part in this.
    assert_eq!(node.tcp_connections().count(), 0);
    assert_eq!(node.tcp_listeners().count(), 0);
}

/// The placeholder of a node without such a transport refuses every call.
#[test]
fn the_placeholder_has_no_connections() {
    let now = Instant::ZERO;
    let mut none = NoStreams;
    assert!(!none.is_there() && !none.expects());
    assert_eq!(none.listen(80), Err(Error::NoSlot));
    assert_eq!(none.accept(LISTENER), None);
    let mut rng = Rng::new(1);
    let connect = none.connect(now, REMOTE, REMOTE, &mut rng);
    assert_eq!(connect, Err(Error::NoSlot));
    assert_eq!(none.send(now, ID, b"x"), Err(Error::UnknownHandle));
    assert_eq!(none.recv(now, ID, &mut [0]), Err(Error::UnknownHandle));
    none.close(now, ID);
    none.abort(now, ID);
    none.release(now, ID);
    assert_eq!((none.stream(ID), none.live()), (None, 0));
    assert!(none.stats(ID).is_none() && none.poll_event().is_none());
}
