//! Three nodes in memory: a sleepy leaf that sends to a root through a router, by TCP and then by
//! CoAP. Measures the instructions of each of their steps. Runs on QEMU, see [`image::stopwatch`].
//!
//! The radios accept each frame at once; the time advances by a few milliseconds per frame. One
//! attempt in sixteen finds the channel busy, another one loses its acknowledgment. The steps are
//! those of the simulator, which multiplies them by these measurements.
#![no_std]
#![no_main]

#[path = "../../../crates/sim/src/energy/step.rs"]
mod step;

use core::fmt::Write;
use image::heap::Heap;

use image::host::{self, Console, check, fail};
use image::stopwatch::{self, Stopwatch};
use redpoll_coap as coap;
use redpoll_firmware as image;
use redpoll_stack::base::{Addr, Duration, Instant, Rng, StaticMemory};
use redpoll_stack::lowpan::{LowpanMemory, Slot};
use redpoll_stack::mac::{FrameBuf, MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};
use redpoll_stack::transport::{Config, Endpoint};
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::wire::ieee802154::{Address, FrameHeader, FrameType};
use redpoll_stack::wire::ipv6::addr;
use redpoll_stack::wire::sixlowpan::Contexts;
use redpoll_stack::{
    Advertised, ConnId, ConnectionSlot, ListenerId, ListenerSlot, NdConfig, Neighbour, Node,
    NodeConfig, NodeMemory, PollConfig, PollPolicy, Route, RouteSlot, SleepyConfig, UdpId, UdpSlot,
    Via,
};
use step::{Before, Loads, Step};

#[global_allocator]
static HEAP: Heap = Heap::new();

type Device = Node<StaticMemory>;

/// Nodes in the line: root, router, leaf.
const NODES: usize = 3;
const ROOT: usize = 0;
const ROUTER: usize = 1;
const LEAF: usize = 2;
/// Bytes of a connection's buffers.
const BUFFER: usize = 1848;
const SLOTS: usize = 4;
const MTU: usize = 1280;
const BYTES: usize = 60_000;
/// Bytes that the leaf sends before counting begins.
const FIRST: usize = 6_000;
const PORT: u16 = 7;
/// Messages of each length that the leaf sends by CoAP.
const MESSAGES: u32 = 60;
const SHORT: usize = 16;
const COAP_PORT: u16 = 5683;
/// Longest packet in bytes that fits in one frame.
const ONE_FRAME: u16 = 104;
/// Approximate duration of a frame.
const FRAME: Duration = Duration::from_millis(4);

const PREFIX: Addr = Addr([
    0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
]);

fn short(index: usize) -> u16 {
    index as u16 + 1
}

fn address(index: usize) -> Addr {
    addr::from_prefix_and_short(&PREFIX, short(index))
}

fn config(index: usize, payload: usize) -> NodeConfig {
    let is_leaf = index == LEAF;
    NodeConfig::over_ip(address(index), [7; 16]).with(|it| {
        it.mac = MacConfig::default().with(|it| {
            it.short = short(index);
            it.extended = [2, 0, 0, 0, 0, 0, 0, index as u8];
            it.caps = RadioCaps {
                auto_ack: true,
                source_match: true,
                ..RadioCaps::default()
            };
        });
        it.contexts = Contexts::with_prefix(PREFIX);
        it.tcp = Config {
            mss: payload as u16 + 12,
            ..Config::default()
        };
        it.forwards = !is_leaf;
        it.sleepy = is_leaf.then_some(
            SleepyConfig::new([Some(short(ROUTER)), None, None, None]).with(|it| {
                it.poll = PollConfig::default().with(|it| {
                    it.policy = PollPolicy::Fixed {
                        interval: Duration::from_millis(100),
                    }
                });
                it.burst = true;
            }),
        );
        it.nd = NdConfig::default()
            .with(|it| it.advertise = (!is_leaf).then_some(Advertised::new(PREFIX, address(ROOT))));
    })
}

/// The tables and buffers of a node.
struct Memory {
    connections: [ConnectionSlot<&'static mut [u8]>; 1],
    listeners: [ListenerSlot; 1],
    half_open: [HalfOpen; 2],
    servers: [FastOpenServer; 1],
    udp: [UdpSlot<&'static mut [u8]>; 1],
    routes: [Option<RouteSlot>; 8],
    neighbours: [Option<Neighbour>; 4],
    slots: [Slot; SLOTS],
}

impl Memory {
    fn new(buffers: &'static mut Buffers) -> Memory {
        Memory {
            connections: [ConnectionSlot::new(&mut buffers.tx, &mut buffers.rx)],
            listeners: [ListenerSlot::default()],
            half_open: [HalfOpen::default(); 2],
            servers: [FastOpenServer::default(); 1],
            udp: [UdpSlot::new(&mut buffers.udp)],
            routes: [None; 8],
            neighbours: [None; 4],
            slots: [Slot::EMPTY; SLOTS],
        }
    }
}

/// Aligned to four bytes, so that copies cost the same in every build.
#[repr(align(4))]
struct Buffers {
    tx: [u8; BUFFER],
    rx: [u8; BUFFER],
    udp: [u8; BUFFER],
}

#[repr(align(4))]
struct Packets([u8; SLOTS * MTU]);

/// Extends the life of a local of [`image_main`], which never returns, to that of the image.
fn forever<T: ?Sized>(local: &mut T) -> &'static mut T {
    // SAFETY: only `image_main` calls this, once for each local; its frame is never left.
    unsafe { &mut *core::ptr::from_mut(local) }
}

/// A node, its radio, and the instructions of its steps.
struct Station {
    node: Device,
    loaded: FrameBuf,
    asleep: bool,
    /// Whether the radio's acknowledgments of the leaf's data requests announce a frame.
    promises: bool,
    loads: Loads,
    watches: Watches,
}

/// Measurements by step. Steps with a packet's bytes are measured separately for packets of one
/// frame and of several frames.
struct Watches([[Watch; 2]; Step::ALL.len()]);

#[derive(Default)]
struct Watch {
    stopwatch: Stopwatch,
    /// Number of times the step was taken. A step may be timed in several laps.
    count: u32,
    bytes: u64,
}

impl Watches {
    fn of(&mut self, step: Step, bytes: u16) -> &mut Watch {
        &mut self.0[step as usize][usize::from(bytes > ONE_FRAME)]
    }

    fn enter(&mut self, lap: Stopwatch, (step, bytes): (Step, u16)) {
        let watch = self.of(step, bytes);
        watch.stopwatch.add(&lap);
        watch.count += 1;
        watch.bytes += u64::from(bytes);
    }
}

struct World {
    stations: [Station; NODES],
    now: Instant,
    attempts: u32,
    /// Bytes of each data packet, with its headers.
    data_bytes: u16,
    ack_bytes: u16,
}

impl World {
    /// Does all pending work of the nodes.
    fn settle(&mut self) {
        loop {
            let mut busy = false;
            for index in 0..NODES {
                busy |= self.serve(index);
            }
            if !busy {
                return;
            }
        }
    }

    /// Carries out an operation of the node's radio; returns whether there was one.
    fn serve(&mut self, index: usize) -> bool {
        let Station {
            node,
            watches,
            loads,
            loaded,
            ..
        } = &mut self.stations[index];
        let now = self.now;
        let mut lap = Stopwatch::default();
        let Some(work) = lap.lap(|| node.poll_radio(now)) else {
            lap.lap(|| node.poll_at());
            lap.lap(|| node.poll_event().is_some());
            watches.enter(lap, (Step::Rest, 0));
            return false;
        };
        match work {
            RadioWork::Load => {
                let step = loads.step(node, node.frame());
                watches.enter(lap, step);
                let _ = loaded.copy_from(node.frame());
                self.done(index, RadioResult::Loaded);
            }
            _ => {
                watches.enter(lap, (Step::Order, 0));
                match work {
                    RadioWork::Transmit { .. } => self.transmit(index),
                    RadioWork::SourceMatch { pending, .. } => {
                        self.stations[index].promises = pending
                    }
                    RadioWork::Sleep => self.stations[index].asleep = true,
                    _ => self.stations[index].asleep = false,
                }
            }
        }
        true
    }

    fn done(&mut self, index: usize, result: RadioResult) {
        let now = self.now;
        let Station { node, watches, .. } = &mut self.stations[index];
        let mut lap = Stopwatch::default();
        lap.lap(|| node.on_radio_done(now, result));
        watches.enter(lap, (Step::of_result(result), 0));
    }

    /// Delivers a node's loaded frame to its receivers.
    fn transmit(&mut self, from: usize) {
        self.now += FRAME;
        self.attempts += 1;
        if self.attempts % 16 == 5 {
            return self.done(from, RadioResult::ChannelBusy);
        }
        let frame = self.stations[from].loaded.clone();
        let Ok((header, _)) = FrameHeader::parse(&frame) else {
            fail("a frame does not parse");
        };
        let mut result = RadioResult::Sent;
        for to in [from.wrapping_sub(1), from + 1] {
            let Some(station) = self.stations.get_mut(to) else {
                continue;
            };
            let is_for_it = header.dst == Address::Short(short(to));
            if is_for_it && station.asleep {
                result = RadioResult::NoAck;
            } else if is_for_it || header.dst == Address::BROADCAST {
                let is_request = header.frame_type != FrameType::Data;
                let pending = is_request && station.promises;
                if is_for_it {
                    result = RadioResult::Acked {
                        frame_pending: pending,
                    };
                }
                let info = RxInfo {
                    ack_sent_pending: pending,
                    ..RxInfo::default()
                };
                let Station { node, watches, .. } = station;
                let (now, before) = (self.now, Before::of(node));
                let mut lap = Stopwatch::default();
                lap.lap(|| node.input_frame(now, &frame, info));
                watches.enter(lap, before.step(node, &frame));
            }
        }
        if self.attempts % 16 == 11 && result != RadioResult::Sent {
            result = RadioResult::NoAck;
        }
        self.done(from, result);
    }

    /// Advances the time to the next timer.
    fn wait(&mut self) {
        let wakes = self.stations.iter().filter_map(|s| s.node.poll_at());
        let Some(next) = wakes.map(|wake| wake.at).min() else {
            fail("no node has a timer set");
        };
        self.now = self.now.max(next);
        for Station { node, watches, .. } in &mut self.stations {
            if node.poll_at().is_some_and(|wake| wake.at <= self.now) {
                let (now, mut lap) = (self.now, Stopwatch::default());
                lap.lap(|| node.on_timeout(now));
                watches.enter(lap, (Step::Timer, 0));
            }
        }
    }

    /// Sends data from the leaf if it fits.
    fn send(&mut self, id: ConnId, data: &[u8]) -> bool {
        let (now, bytes) = (self.now, self.data_bytes);
        let Station { node, watches, .. } = &mut self.stations[LEAF];
        let room = node.tcp_connection(id).map_or(0, |c| c.send_room());
        if room < data.len() {
            return false;
        }
        let watch = &mut watches.of(Step::PacketOut, bytes).stopwatch;
        check(watch.lap(|| node.tcp_send(now, id, data)) == Ok(data.len()));
        true
    }

    /// Reads arrived data at the root; returns its length.
    fn receive(&mut self, id: ConnId, out: &mut [u8]) -> usize {
        let now = self.now;
        let mut taken = 0;
        // Both ends get events: the root about data, the leaf about acknowledgments.
        for (index, bytes) in [(ROOT, self.data_bytes), (LEAF, self.ack_bytes)] {
            let Station { node, watches, .. } = &mut self.stations[index];
            let mut lap = Stopwatch::default();
            while let Some(event) = lap.lap(|| node.poll_event()) {
                core::hint::black_box(event);
                watches.of(Step::PacketIn, bytes).stopwatch.add(&lap);
                lap = Stopwatch::default();
            }
        }
        let Station { node, watches, .. } = &mut self.stations[ROOT];
        let watch = &mut watches.of(Step::PacketIn, self.data_bytes).stopwatch;
        while node.tcp_connection(id).is_some_and(|c| c.recv_queue() > 0) {
            match watch.lap(|| node.tcp_recv(now, id, out)) {
                Ok(len) => taken += len,
                Err(_) => fail("received data cannot be read"),
            }
        }
        taken
    }
}

/// An end of CoAP: a socket of a node, and its endpoint.
struct Speaker {
    index: usize,
    socket: UdpId,
    endpoint: coap::Endpoint,
}

impl Speaker {
    fn new(world: &mut World, index: usize) -> Speaker {
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
fn post(world: &mut World, client: &mut Speaker, server: &mut Speaker, body: &[u8]) {
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

/// Opens the connection; its segments are not counted.
fn connect(world: &mut World, listener: ListenerId) -> (ConnId, ConnId) {
    let remote = Endpoint::new(address(ROOT), PORT);
    let Ok(id) = world.stations[LEAF].node.tcp_connect(world.now, remote) else {
        fail("no connection");
    };
    for _ in 0..1_000 {
        world.settle();
        if let Some(accepted) = world.stations[ROOT].node.tcp_accept(listener) {
            return (id, accepted);
        }
        world.wait();
    }
    fail("no connection is accepted")
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let payload = host::argument().unwrap_or(462) as usize;
    stopwatch::start();

    let mut buffers = [const {
        Buffers {
            tx: [0; BUFFER],
            rx: [0; BUFFER],
            udp: [0; BUFFER],
        }
    }; NODES];
    let mut packets = [const { Packets([0; SLOTS * MTU]) }; NODES];
    let mut memories = forever(&mut buffers).each_mut().map(Memory::new);
    let mut memories = forever(&mut memories).iter_mut();
    let mut packets = forever(&mut packets).iter_mut();
    let mut index = 0;
    let stations = [(); NODES].map(|()| {
        let (Some(memory), Some(packets)) = (memories.next(), packets.next()) else {
            fail("no memory");
        };
        let memory = NodeMemory::<StaticMemory> {
            connections: &mut memory.connections,
            listeners: &mut memory.listeners,
            half_open: &mut memory.half_open,
            servers: &mut memory.servers,
            udp: &mut memory.udp,
            routes: &mut memory.routes,
            neighbours: &mut memory.neighbours,
            lowpan: LowpanMemory {
                slots: &mut memory.slots,
                bytes: &mut packets.0,
            },
        };
        let mut node = Node::new(config(index, payload), memory, Rng::stream(1, index as u64));
        for there in (0..NODES).filter(|there| *there != index) {
            let hop = if there > index { index + 1 } else { index - 1 };
            let route = Route {
                prefix: address(there),
                len: 128,
                via: Via::Neighbour(Address::Short(short(hop))),
            };
            check(node.add_route(route).is_ok());
        }
        index += 1;
        Station {
            node,
            loaded: FrameBuf::new(),
            asleep: false,
            promises: false,
            loads: Loads::default(),
            watches: Watches(Default::default()),
        }
    });
    let mut world = World {
        stations,
        now: Instant::from_millis(1),
        attempts: 0,
        // IPv6, TCP with timestamps.
        data_bytes: (40 + 32 + payload) as u16,
        ack_bytes: 0,
    };
    let Ok(listener) = world.stations[ROOT].node.tcp_listen(PORT) else {
        fail("no listener");
    };
    let (client, server) = connect(&mut world, listener);

    let source = [0x55; 1024];
    let mut sink = [0; BUFFER];
    let (mut sent, mut received) = (0, 0);
    let mut is_counting = false;
    while received < BYTES {
        while sent < BYTES && world.send(client, &source[..payload]) {
            sent += payload;
        }
        world.settle();
        received += world.receive(server, &mut sink);
        world.settle();
        world.wait();
        if !is_counting && received >= FIRST {
            is_counting = true;
            for station in &mut world.stations {
                station.watches = Watches(Default::default());
            }
        }
    }
    let mut client = Speaker::new(&mut world, LEAF);
    let mut server = Speaker::new(&mut world, ROOT);
    for _ in 0..MESSAGES {
        post(&mut world, &mut client, &mut server, &source[..payload]);
        post(&mut world, &mut client, &mut server, &source[..SHORT]);
    }
    print(&world);
    host::exit(true)
}

fn print(world: &World) {
    let mut console = Console;
    let calibration = stopwatch::calibrate();
    let mut empty = Stopwatch::default();
    for _ in 0..1_000 {
        empty.lap(|| ());
    }
    for (name, number) in [
        (
            "calibration_instructions",
            u64::from(stopwatch::CALIBRATION),
        ),
        ("calibration_ticks", calibration),
        ("empty_ticks", empty.ticks()),
        ("empty_laps", u64::from(empty.laps())),
    ] {
        let _ = writeln!(console, "{name} {number}");
    }
    for step in Step::ALL {
        for (several, name) in ["one", "several"].into_iter().enumerate() {
            let sum = |of: fn(&Watch) -> u64| -> u64 {
                let watches = world
                    .stations
                    .iter()
                    .map(|s| &s.watches.0[step as usize][several]);
                watches.map(of).sum()
            };
            for (what, number) in [
                ("ticks", sum(|w| w.stopwatch.ticks())),
                ("laps", sum(|w| w.stopwatch.laps().into())),
                ("count", sum(|w| w.count.into())),
                ("bytes", sum(|w| w.bytes)),
            ] {
                let _ = writeln!(console, "{}.{name}.{what} {number}", step.name());
            }
        }
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Console, "error {info}");
    host::exit(false)
}
