//! A whole node under frames from its mesh and packets from its host: no
//! panic, and every datagram slot free when all is quiet.
//!
//! The input is a list of steps: a byte that says what happens, and for frames
//! and packets a length and the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_lowpan::{
    ForwardingMemory, FragmentBuffer, Incoming, LowpanConfig, LowpanMemory, Outgoing,
    RecoveryConfig, RecoveryMemory, Slot, SwitchedPath, VirtualBuffer,
};
use redpoll_mac::{MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};
use redpoll_stack::{
    Advertised, ConnectionSlot, HalfOpen, ListenerId, ListenerSlot, NdConfig, Node, NodeConfig,
    NodeEvent, NodeMemory, PartialSlot, Route, UdpId, UdpSlot, Via,
};
use redpoll_tcp::Endpoint;
use redpoll_wire::ipv6::addr;
use redpoll_wire::sixlowpan::Contexts;

enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    const JOINS_FRAGMENTS: bool = true;
}

const SLOTS: usize = 4;
const PREFIX: Addr = Addr([
    0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
]);

fn buffer(len: usize) -> Box<[u8]> {
    vec![0; len].into()
}

fn node() -> Node<Heap> {
    let config = NodeConfig {
        mac: MacConfig {
            short: 1,
            extended: [2, 0, 0, 0, 0, 0, 0, 1],
            caps: RadioCaps {
                auto_ack: true,
                ..RadioCaps::default()
            },
            ..MacConfig::default()
        },
        lowpan: LowpanConfig::default(),
        contexts: Contexts::with_prefix(PREFIX),
        tcp: redpoll_tcp::Config {
            max_retries: 3,
            syn_retries: 2,
            ..redpoll_tcp::Config::default()
        },
        address: addr::from_prefix_and_short(&PREFIX, 1),
        hop_limit: 64,
        forwards: true,
        sleepy: None,
        preempts: true,
        nd: NdConfig {
            solicit: false,
            advertise: Some(Advertised {
                prefix: PREFIX,
                router_lifetime_s: 600,
                context_lifetime_min: 60,
                border_router: addr::from_prefix_and_short(&PREFIX, 1),
            }),
        },
        isn_secret: [7; 16],
    };
    let memory = NodeMemory {
        connections: (0..3)
            .map(|_| ConnectionSlot::new(buffer(700), buffer(700)))
            .collect(),
        listeners: vec![ListenerSlot::default()].into(),
        half_open: [HalfOpen::default(); 2].into(),
        servers: Box::default(),
        udp: vec![UdpSlot::new(buffer(300))].into(),
        routes: vec![None; 3].into(),
        neighbours: vec![None; 2].into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; SLOTS].into(),
            bytes: buffer(SLOTS * 1280),
        },
    };
    let mut node = Node::new(config, memory, Rng::new(1));
    node.fragments().forward(ForwardingMemory {
        datagrams: vec![VirtualBuffer::EMPTY; 2].into(),
        fragments: vec![FragmentBuffer::EMPTY; 3].into(),
    });
    node.join_fragments(vec![PartialSlot::EMPTY; 2].into());
    node.fragments().recover(
        RecoveryConfig::default(),
        RecoveryMemory {
            outgoing: vec![Outgoing::EMPTY; 2].into(),
            incoming: vec![Incoming::EMPTY; 2].into(),
            paths: vec![SwitchedPath::EMPTY; 2].into(),
        },
    );
    for (prefix, len, via) in [(PREFIX, 64, Via::OnLink), (Addr::UNSPECIFIED, 0, Via::Host)] {
        node.add_route(Route { prefix, len, via })
            .expect("the table has room");
    }
    node
}

struct Scene {
    node: Node<Heap>,
    now: Instant,
    listener: ListenerId,
    socket: UdpId,
    deaf: bool,
}

impl Scene {
    /// Does all that is due until `end`, with an application that reads what
    /// comes and closes what is closed.
    fn run_until(&mut self, end: Instant) {
        loop {
            self.serve();
            match self.node.poll_at() {
                Some(wake) if wake.at <= end => {
                    self.now = self.now.max(wake.at);
                    self.node.on_timeout(self.now);
                }
                _ => break,
            }
        }
        self.now = self.now.max(end);
    }

    fn serve(&mut self) {
        let mut bytes = [0; 1280];
        while let Some(event) = self.node.poll_event() {
            match event {
                NodeEvent::Accepted(listener) => while self.node.tcp_accept(listener).is_some() {},
                NodeEvent::Tcp(conn, _) => {
                    while matches!(self.node.tcp_recv(self.now, conn, &mut bytes), Ok(1..)) {}
                    let _ = self.node.tcp_send(self.now, conn, &bytes[..90]);
                }
                _ => {}
            }
        }
        while self.node.udp_recv(self.socket, &mut bytes).is_some() {}
        while let Some(work) = self.node.poll_radio(self.now) {
            let result = match work {
                RadioWork::Load => RadioResult::Loaded,
                RadioWork::Transmit { .. } if self.deaf => RadioResult::NoAck,
                RadioWork::Transmit { .. } => RadioResult::Acked {
                    frame_pending: false,
                },
                // Of a duty-cycled MAC's works this node has none.
                _ => continue,
            };
            self.node.on_radio_done(self.now, result);
        }
        while self.node.poll_packet(self.now, &mut bytes).is_some() {}
    }
}

fuzz_target!(|input: &[u8]| {
    let mut node = node();
    let listener = node.tcp_listen(80).expect("a free slot");
    let socket = node.udp_bind(9).expect("a free slot");
    let mut scene = Scene {
        node,
        now: Instant::from_millis(1),
        listener,
        socket,
        deaf: false,
    };
    let mut rest = input;
    while let [what, len, tail @ ..] = rest {
        let (bytes, tail) = match what % 8 {
            0..=4 => tail.split_at(tail.len().min(usize::from(*len))),
            _ => (&[][..], tail),
        };
        rest = tail;
        let now = scene.now;
        match what % 8 {
            0..=2 => scene.node.input_frame(now, bytes, RxInfo::default()),
            3 | 4 => drop(scene.node.input_packet(now, bytes)),
            5 => scene.run_until(now + Duration::from_millis(u64::from(*len) * 10)),
            6 => scene.deaf = len & 1 == 1,
            _ => {
                let to = Endpoint {
                    addr: addr::from_prefix_and_short(&PREFIX, u16::from(*len)),
                    port: 7,
                };
                let _ = scene.node.tcp_connect(now, to);
            }
        }
    }
    // Nobody keeps anything, and everything has its time.
    while scene.node.tcp_accept(scene.listener).is_some() {}
    let open: Vec<_> = scene.node.tcp_connections().map(|(id, _)| id).collect();
    for conn in open {
        scene.node.tcp_release(scene.now, conn);
    }
    for _ in 0..8 {
        scene.run_until(scene.now + Duration::from_secs(60));
    }
    assert_eq!(scene.node.tcp_connections().count(), 0);
    assert_eq!(scene.node.free_slots(), SLOTS);
});
