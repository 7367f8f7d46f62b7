//! A complete node with frames from its mesh and packets from its host. The node must not panic.
//! After all connections are released and all timers have expired, every datagram slot must become
//! free.
//!
//! The first byte selects the routes: configured ones, or those of a root, router or leaf of RPL.
//! The rest is a list of steps: a byte for the kind of event, and for frames, packets and control
//! messages a length and bytes. This target wraps control messages in frames with a correct
//! checksum, which random bytes rarely have.

use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_lowpan::{
    ForwardingMemory, FragmentBuffer, Incoming, LowpanMemory, Outgoing, RecoveryConfig,
    RecoveryMemory, Slot, SwitchedPath, VirtualBuffer,
};
use redpoll_mac::{MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};
use redpoll_stack::transport::HalfOpen;
use redpoll_stack::{
    Advertised, ConnectionSlot, ListenerId, ListenerSlot, NdConfig, Node, NodeConfig, NodeEvent,
    NodeMemory, PartialSlot, Route, RplConfig, RplMemory, RplRole, RplRoot, UdpId, UdpSlot, Via,
};
use redpoll_tcp::Endpoint;
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};
use redpoll_wire::ipv6::{Ipv6Header, addr};
use redpoll_wire::rpl::{self, Configuration, config_flag, mode, objective};
use redpoll_wire::sixlowpan::Contexts;
use redpoll_wire::sixlowpan::iphc::{Upper, compress};

use super::Heap;

const SLOTS: usize = 4;
const PREFIX: Addr = Addr([
    0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
]);

const PAN: u16 = 0x7270;
const OWN: u16 = 1;
/// Maximum length of a frame in bytes, without check sequence.
const FRAME: usize = 125;
const ICMPV6: u8 = 58;
/// The DODAG configuration that a root advertises.
const CONFIGURATION: Configuration = Configuration {
    flags: config_flag::RPI_0X23,
    interval_doublings: 8,
    interval_min: 10,
    redundancy: 10,
    max_rank_increase: 1024,
    min_hop_rank_increase: 128,
    objective: objective::MRHOF,
    lifetime: 30,
    lifetime_unit_s: 60,
};

/// Returns the node's role in a DODAG; `None` if its routes are configured.
fn role(choice: u8) -> Option<RplRole> {
    let root = |mode| RplRole::Root(RplRoot::new(PREFIX, mode, CONFIGURATION));
    match choice % 8 {
        0 | 1 => None,
        2 => Some(root(mode::STORING)),
        3 => Some(root(mode::NON_STORING)),
        4 | 5 => Some(RplRole::Router),
        _ => Some(RplRole::Leaf),
    }
}

fn buffer(len: usize) -> Box<[u8]> {
    vec![0; len].into()
}

fn node(role: Option<RplRole>, now: Instant) -> Node<Heap> {
    let config =
        NodeConfig::over_ip(addr::from_prefix_and_short(&PREFIX, OWN), [7; 16]).with(|it| {
            it.mac = MacConfig::default().with(|it| {
                it.short = OWN;
                it.extended = [2, 0, 0, 0, 0, 0, 0, 1];
                it.caps = RadioCaps {
                    auto_ack: true,
                    ..RadioCaps::default()
                };
            });
            it.contexts = Contexts::with_prefix(PREFIX);
            it.tcp = redpoll_tcp::Config {
                max_retries: 3,
                syn_retries: 2,
                ..redpoll_tcp::Config::default()
            };
            it.forwards = role != Some(RplRole::Leaf);
            it.nd = NdConfig::default().with(|it| {
                it.advertise = Some(
                    Advertised::new(PREFIX, addr::from_prefix_and_short(&PREFIX, OWN))
                        .with(|it| it.router_lifetime_s = 600),
                )
            });
        });
    let memory = NodeMemory {
        connections: (0..3)
            .map(|_| ConnectionSlot::new(buffer(700), buffer(700)))
            .collect(),
        listeners: vec![ListenerSlot::default()].into(),
        half_open: [HalfOpen::default(); 2].into(),
        servers: Box::default(),
        udp: vec![UdpSlot::new(buffer(300))].into(),
        routes: vec![None; 6].into(),
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
    // RPL sets the default route of routers and leaves, and a root's routes into the mesh.
    let is_border = matches!(role, None | Some(RplRole::Root(_)));
    let routes = [
        (PREFIX, 64, Via::OnLink, role.is_none()),
        (Addr::UNSPECIFIED, 0, Via::Host, is_border),
    ];
    for (prefix, len, via, _) in routes.into_iter().filter(|(.., is_given)| *is_given) {
        node.add_route(Route { prefix, len, via })
            .expect("the table has room");
    }
    if let Some(role) = role {
        let config = RplConfig::new(1);
        let neighbours = vec![None; 2].into();
        node.route_by_rpl(now, role, config, RplMemory { neighbours });
    }
    node
}

/// Builds a frame with a control message from a neighbour. The first byte selects source and
/// destination; type, code and body follow.
fn control(bytes: &[u8]) -> Option<Vec<u8>> {
    let [ends, kind, code, body @ ..] = bytes else {
        return None;
    };
    let global = |short| addr::from_prefix_and_short(&PREFIX, short);
    let from = OWN + 1 + u16::from(ends & 3);
    let src = match ends >> 2 & 1 {
        0 => addr::link_local_from_short(from),
        _ => global(from),
    };
    let (dst, link) = match ends >> 3 & 3 {
        0 => (rpl::ALL_NODES, Address::BROADCAST),
        1 => (addr::LINK_LOCAL_ALL_NODES, Address::BROADCAST),
        2 => (addr::link_local_from_short(OWN), Address::Short(OWN)),
        _ => (global(OWN), Address::Short(OWN)),
    };
    let mut message = [&[*kind, *code, 0, 0], body].concat();
    let mut sum = Checksum::pseudo_header(&src, &dst, ICMPV6, message.len() as u32);
    sum.add(&message);
    message[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    let ip = Ipv6Header {
        payload_len: message.len() as u16,
        next_header: ICMPV6,
        hop_limit: 255,
        src,
        dst,
        ..Ipv6Header::default()
    };
    let header = FrameHeader {
        frame_type: FrameType::Data,
        ack_request: link != Address::BROADCAST,
        version: 1,
        dsn: bytes.iter().fold(0, |sum, byte| byte.wrapping_add(sum)),
        dst_pan: Some(PAN),
        dst: link,
        src_pan: Some(PAN),
        src: Address::Short(from),
        ..FrameHeader::default()
    };
    let mut frame = [0; FRAME];
    let mut out = Cursor::new(&mut frame);
    header.emit(&mut out).ok()?;
    let contexts = Contexts::with_prefix(PREFIX);
    compress(
        &ip,
        Upper::Other,
        Address::Short(from),
        link,
        &contexts,
        &mut out,
    )
    .ok()?;
    out.put(&message).ok()?;
    Some(out.written().to_vec())
}

struct Scene {
    node: Node<Heap>,
    now: Instant,
    listener: ListenerId,
    socket: UdpId,
    deaf: bool,
}

impl Scene {
    /// Runs the node until `end`. The application reads all data, and closes when the peer closes.
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
                // The configured MAC uses no operations of duty-cycled MACs.
                _ => continue,
            };
            self.node.on_radio_done(self.now, result);
        }
        while self.node.poll_packet(self.now, &mut bytes).is_some() {}
    }

    /// Releases all connections and lets all timers expire. Then no connection and no slot may be
    /// in use, except the slots of RPL's periodic messages.
    fn come_to_rest(&mut self) {
        while self.node.tcp_accept(self.listener).is_some() {}
        let open: Vec<_> = self.node.tcp_connections().map(|(id, _)| id).collect();
        for conn in open {
            self.node.tcp_release(self.now, conn);
        }
        for _ in 0..8 {
            self.run_until(self.now + Duration::from_secs(60));
        }
        assert_eq!(self.node.tcp_connections().count(), 0);
        let mut free = self.node.lowpan().free_slots();
        for _ in 0..60 {
            if free < SLOTS {
                self.run_until(self.now + Duration::from_secs(1));
                free = free.max(self.node.lowpan().free_slots());
            }
        }
        assert_eq!(free, SLOTS);
    }
}

pub fn run(input: &[u8]) {
    let Some((choice, steps)) = input.split_first() else {
        return;
    };
    let now = Instant::from_millis(1);
    let mut node = node(role(*choice), now);
    let listener = node.tcp_listen(80).expect("a slot is free");
    let socket = node.udp_bind(9).expect("a slot is free");
    let mut scene = Scene {
        node,
        now,
        listener,
        socket,
        deaf: false,
    };
    let mut rest = steps;
    while let [what, len, tail @ ..] = rest {
        let (bytes, tail) = match what % 10 {
            0..=6 => tail.split_at(tail.len().min(usize::from(*len))),
            _ => (&[][..], tail),
        };
        rest = tail;
        let now = scene.now;
        match what % 10 {
            0..=2 => scene.node.input_frame(now, bytes, RxInfo::default()),
            3 | 4 => drop(scene.node.input_packet(now, bytes)),
            5 | 6 => {
                if let Some(frame) = control(bytes) {
                    scene.node.input_frame(now, &frame, RxInfo::default());
                }
            }
            7 => scene.run_until(now + Duration::from_millis(u64::from(*len) * 10)),
            8 => scene.deaf = len & 1 == 1,
            _ => {
                let to = Endpoint {
                    addr: addr::from_prefix_and_short(&PREFIX, u16::from(*len)),
                    port: 7,
                };
                let _ = scene.node.tcp_connect(now, to);
            }
        }
    }
    scene.come_to_rest();
}
