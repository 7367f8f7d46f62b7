//! A leaf and its parent, which are within range of each other, in virtual time. The clients of the
//! leaf run on the parent.

use std::task::{Context, Waker};

use redpoll_leaf::{Device, ECHO_PORT, Services, Status, Storage};
use redpoll_stack::base::{Addr, Duration, Instant, Rng, StaticMemory};
use redpoll_stack::mac::{MacConfig, Radio, RadioIdentity};
use redpoll_stack::transport::{Endpoint, State};
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{
    ConnId, Connections, Datagrams, Error, Listeners, Node, NodeConfig, NodeStorage, Packets,
    Route, Routes, UdpId, Via,
};
use redpoll_uart::Begin;

use crate::air::{Air, AirRadio};

pub const PARENT: u16 = 1;
const LEAF: u16 = 2;

type ClientStorage = NodeStorage<
    Connections<4, 1_848, 1_848>,
    Listeners<1, 1>,
    Datagrams<1, 1_024>,
    Routes<1, 0>,
    Packets<8, 1_280>,
>;

pub struct Bench {
    air: Air,
    pub leaf: Device,
    pub services: Services,
    /// The status that the leaf's program passes, without the counters of the services.
    pub status: Status,
    radio: AirRadio,
    pub parent: Node<StaticMemory>,
    parents_radio: AirRadio,
}

fn parameters(parent: u16) -> Begin {
    let mut prefix = Addr::UNSPECIFIED;
    prefix.0[0] = 0xfd;
    Begin {
        pan_id: 0x7270,
        short: LEAF,
        extended: [2, 0, 0, 0, 0, 0, 0, 2],
        caps: Air::new(1).radio(0).caps(),
        prefix,
        parent,
        secret: [9; 16],
        random: [1 << 40, 7],
        first_tag: 0x1234,
    }
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with_parent(PARENT)
    }

    /// Returns a bench whose leaf has this parent.
    pub fn with_parent(parent: u16) -> Bench {
        let air = Air::new(2);
        let begin = parameters(parent);
        let storage = Box::leak(Box::new(Storage::NEW));
        let mut leaf = redpoll_leaf::node(&begin, storage.memory());
        let services = Services::start(&mut leaf, &begin);
        let mut radio = air.radio(0);
        radio.set_identity(RadioIdentity {
            pan_id: begin.pan_id,
            short: begin.short,
            extended: begin.extended,
        });
        let mut parents_radio = air.radio(1);
        let mac = MacConfig::default().with(|it| {
            it.pan_id = begin.pan_id;
            it.short = PARENT;
            it.extended = [2, 0, 0, 0, 0, 0, 0, 1];
            it.caps = parents_radio.caps();
        });
        parents_radio.set_identity((&mac).into());
        let config = NodeConfig::leaf(mac, begin.prefix, 7, [5; 16]);
        let storage = Box::leak(Box::new(ClientStorage::NEW));
        let mut parent = Node::new(config, storage.memory(), Rng::new(3));
        let to_leaf = Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via: Via::Neighbour(Address::Short(LEAF)),
        };
        parent.add_route(to_leaf).unwrap();
        Bench {
            air,
            leaf,
            services,
            status: Status::default(),
            radio,
            parent,
            parents_radio,
        }
    }

    pub fn now(&self) -> Instant {
        self.air.now()
    }

    pub fn at(&self, port: u16) -> Endpoint {
        Endpoint::new(self.leaf.address(), port)
    }

    /// Lets both nodes do what they can at this time.
    fn settle(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..1_000 {
            let parent = self.parent.drive(&mut self.parents_radio, &mut cx, None);
            while self.parent.poll_event().is_some() {}
            let wakes_at = self.services.wakes_at();
            let leaf = self.leaf.drive(&mut self.radio, &mut cx, wakes_at);
            if leaf.is_ready() {
                self.serve();
            }
            if parent.is_pending() && leaf.is_pending() {
                return;
            }
        }
        panic!("the nodes go on for ever at {:?}", self.now());
    }

    fn serve(&mut self) {
        let status = Status {
            now: self.radio.now(),
            requests: self.services.status().requests,
            ..self.status
        };
        self.services
            .serve(self.radio.now(), &mut self.leaf, status);
    }

    pub fn run_for(&mut self, ms: u64) {
        let end = self.now() + Duration::from_millis(ms);
        self.settle();
        while self.air.step(end) {
            self.settle();
        }
    }

    /// Runs until `condition` holds, for `ms` milliseconds at most; returns the elapsed
    /// milliseconds.
    #[track_caller]
    pub fn run_until(&mut self, ms: u64, mut condition: impl FnMut(&mut Bench) -> bool) -> u64 {
        let begun = self.now();
        while !condition(self) {
            let elapsed = self.now().since(begun).as_millis();
            assert!(elapsed < ms, "the condition never held");
            self.run_for(1);
        }
        self.now().since(begun).as_millis()
    }

    /// Opens a connection, and completes its handshake.
    #[track_caller]
    pub fn open(&mut self, port: u16) -> ConnId {
        let (now, to) = (self.now(), self.at(port));
        let conn = self.parent.tcp_connect(now, to).unwrap();
        self.run_until(1_000, |it| it.state(conn) == State::Established);
        conn
    }

    pub fn state(&self, conn: ConnId) -> State {
        self.parent.tcp_connection(conn).unwrap().state()
    }

    /// Sends all of `data`; runs the nodes while the client has no room for it.
    #[track_caller]
    pub fn send(&mut self, conn: ConnId, data: &[u8]) {
        let mut sent = 0;
        self.run_until(60_000, |it| {
            let now = it.now();
            match it.parent.tcp_send(now, conn, &data[sent..]) {
                Ok(len) => sent += len,
                Err(error) => assert_eq!(error, Error::WouldBlock),
            }
            sent == data.len()
        });
    }

    /// Returns the bytes that have arrived, and whether the stream has ended.
    #[track_caller]
    pub fn receive(&mut self, conn: ConnId) -> (Vec<u8>, bool) {
        let (now, mut all, mut bytes) = (self.now(), Vec::new(), [0; 500]);
        loop {
            match self.parent.tcp_recv(now, conn, &mut bytes) {
                Ok(0) => return (all, true),
                Ok(len) => all.extend_from_slice(&bytes[..len]),
                Err(Error::WouldBlock) => return (all, false),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Receives until the stream ends, for `ms` milliseconds at most.
    #[track_caller]
    pub fn receive_all(&mut self, conn: ConnId, ms: u64) -> Vec<u8> {
        let mut all = Vec::new();
        self.run_until(ms, |it| {
            let (bytes, has_ended) = it.receive(conn);
            all.extend(bytes);
            has_ended
        });
        all
    }

    pub fn close(&mut self, conn: ConnId) {
        let now = self.now();
        self.parent.tcp_close(now, conn);
        self.parent.tcp_release(now, conn);
    }

    /// Sends a request; returns the head of the answer, and the body.
    #[track_caller]
    pub fn fetch(&mut self, request: &str) -> (String, Vec<u8>) {
        let conn = self.open(redpoll_leaf::WEB_PORT);
        self.send(conn, request.as_bytes());
        let answer = self.receive_all(conn, 60_000);
        self.close(conn);
        self.run_for(100);
        split(&answer)
    }

    pub fn bind(&mut self) -> UdpId {
        self.parent.udp_bind(5_000).unwrap()
    }

    /// Sends a datagram to the echo service; returns the answer, if one arrives.
    pub fn echoed(&mut self, socket: UdpId, data: &[u8]) -> Option<Vec<u8>> {
        let (now, to) = (self.now(), self.at(ECHO_PORT));
        self.parent.udp_send(now, socket, to, data).unwrap();
        self.run_for(200);
        let mut bytes = [0; 500];
        let (len, from) = self.parent.udp_recv(socket, &mut bytes)?;
        assert_eq!(from, to);
        Some(bytes[..len].to_vec())
    }
}

/// Splits an answer after its head.
#[track_caller]
pub fn split(answer: &[u8]) -> (String, Vec<u8>) {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = answer.split_at(end.expect("the answer has a head") + 4);
    (String::from_utf8(head.to_vec()).unwrap(), body.to_vec())
}
