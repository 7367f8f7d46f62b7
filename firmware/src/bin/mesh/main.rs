//! Three nodes in memory: a sleepy leaf that sends to a root through a router, by TCP and then by
//! CoAP. Measures the instructions of each of their steps. Runs on QEMU, see [`image::stopwatch`].
//!
//! The radios accept each frame at once; the time advances by a few milliseconds per frame. In
//! sixteen attempts, one finds the channel busy, and another one loses its acknowledgment. The
//! simulator counts the same steps, and multiplies their numbers by these measurements.
#![no_std]
#![no_main]

mod node;
mod speaker;
#[path = "../../../../crates/sim/src/energy/step.rs"]
mod step;
mod world;

use core::fmt::Write;

use image::heap::Heap;
use image::host::{self, Console, check, fail};
use image::stopwatch::{self, Stopwatch};
use node::{
    BUFFER, Buffers, Device, LEAF, MTU, Memory, NODES, Packets, ROOT, SLOTS, address, config, short,
};
use redpoll_firmware as image;
use redpoll_stack::base::{Instant, Rng, StaticMemory};
use redpoll_stack::lowpan::LowpanMemory;
use redpoll_stack::mac::FrameBuf;
use redpoll_stack::transport::Endpoint;
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{ConnId, ListenerId, NodeMemory, Route, Via};
use speaker::{Speaker, post};
use step::{Loads, Step};
use world::{Station, Watch, Watches, World};

#[global_allocator]
static HEAP: Heap = Heap::new();

const BYTES: usize = 60_000;
/// Bytes that the leaf sends before counting begins.
const FIRST: usize = 6_000;
const PORT: u16 = 7;
/// Messages of each length that the leaf sends by CoAP.
const MESSAGES: u32 = 60;
const SHORT: usize = 16;

/// Extends the life of a local of [`image_main`], which never returns, to that of the image.
fn forever<T: ?Sized>(local: &mut T) -> &'static mut T {
    // SAFETY: only `image_main` calls this, once for each local; its frame is never left.
    unsafe { &mut *core::ptr::from_mut(local) }
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
        let mut node = Device::new(config(index, payload), memory, Rng::stream(1, index as u64));
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
