//! Calls all functions of a node, with arguments unknown to the compiler. Like `tcp`, the image is
//! never run: it shows the flash of the whole device side, and whether any of it could panic.
#![no_std]
#![no_main]

use core::hint::black_box;

use redpoll_firmware as image;
use redpoll_firmware::unknown::any;
use redpoll_stack::base::{Addr, Duration, Instant, Rng, StaticMemory};
use redpoll_stack::lowpan::{LowpanConfig, LowpanMemory, Slot};
use redpoll_stack::mac::{Ifs, MacConfig, Promised, RadioCaps, RadioResult, RxInfo};
use redpoll_stack::transport::{Config, Endpoint};
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::wire::sixlowpan::Contexts;
use redpoll_stack::{
    ConnectionSlot, ListenerSlot, NdConfig, Neighbour, Node, NodeConfig, NodeMemory, Route,
    RouteSlot, UdpSlot, Via,
};

fn now() -> Instant {
    Instant::from_micros(any(1))
}

fn span() -> Duration {
    Duration::from_micros(any(1))
}

fn addr() -> Addr {
    Addr(any([1; 16]))
}

fn endpoint() -> Endpoint {
    Endpoint::new(addr(), any(1))
}

fn config() -> NodeConfig {
    let mut contexts = Contexts::new();
    black_box(contexts.set(any(0), addr(), any(64)));
    NodeConfig {
        mac: MacConfig::default().with(|it| {
            it.pan_id = any(1);
            it.short = any(1);
            it.extended = any([1; 8]);
            it.caps = RadioCaps {
                auto_ack: any(true),
                csma: any(true),
                retries: any(true),
                source_match: any(true),
            };
            it.max_frame_retries = any(9);
            it.min_be = any(3);
            it.max_be = any(5);
            it.max_csma_backoffs = any(4);
            it.ifs = any(Ifs::Minimum);
            it.promised = any(Promised::Csma);
            it.link_retry_delay = span();
            it.indirect_retries = any(4);
            it.indirect_retry_delay = span();
            it.deaf_backoff = any(false);
            it.security_bytes = any(0);
            it.duplicate_timeout = span();
        }),
        lowpan: any(LowpanConfig::default()),
        contexts,
        tcp: any(Config::default()),
        address: addr(),
        hop_limit: any(64),
        forwards: any(true),
        sleepy: None,
        preempts: true,
        nd: any(NdConfig::default()),
        isn_secret: any([1; 16]),
    }
}

/// Extends the life of a local of [`image_main`], which never returns, to that of the image.
fn forever<T: ?Sized>(local: &mut T) -> &'static mut T {
    // SAFETY: only `image_main` calls this, once for each local; its frame is never left.
    unsafe { &mut *core::ptr::from_mut(local) }
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let Some([a, b, c, d]) = image::memory::buffers() else {
        image::host::exit(false)
    };
    let mut connections = [ConnectionSlot::new(a, b)];
    let mut listeners = [ListenerSlot::default()];
    let mut half_open = [HalfOpen::default(); 4];
    let mut servers = [FastOpenServer::default(); 2];
    let mut udp = [UdpSlot::new(c)];
    let mut routes: [Option<RouteSlot>; 4] = [None; 4];
    let mut neighbours: [Option<Neighbour>; 2] = [None; 2];
    let mut slots = [Slot::EMPTY];
    let memory = NodeMemory::<StaticMemory> {
        connections: forever(&mut connections),
        listeners: forever(&mut listeners),
        half_open: forever(&mut half_open),
        servers: forever(&mut servers),
        udp: forever(&mut udp),
        routes: forever(&mut routes),
        neighbours: forever(&mut neighbours),
        lowpan: LowpanMemory {
            slots: forever(&mut slots[..]),
            bytes: d,
        },
    };
    let mut node = Node::new(config(), memory, Rng::new(any(1)));
    #[cfg(feature = "rpl")]
    {
        let mut candidates = [None; 4];
        let neighbours = forever(&mut candidates[..]);
        route_by_rpl(&mut node, redpoll_stack::RplMemory { neighbours });
    }
    #[cfg(feature = "security")]
    {
        let (mut replay, mut names) = ([None; 8], [None; 4]);
        let memory = redpoll_stack::mac::security::SecurityMemory {
            replay: forever(&mut replay[..]),
            names: forever(&mut names[..]),
        };
        secure(&mut node, memory);
    }
    loop {
        link(&mut node);
        sockets(&mut node);
    }
}

/// Adds link-layer security to a node: AES in software, and keys that change.
#[cfg(feature = "security")]
#[inline(never)]
fn secure(
    node: &mut Node<StaticMemory>,
    memory: redpoll_stack::mac::security::SecurityMemory<StaticMemory>,
) {
    use redpoll_stack::mac::security::{Key, SecurityConfig, SecurityLevel, SoftwareAes};
    let config = SecurityConfig::new(
        match any(0u8) {
            5 => SecurityLevel::EncMic32,
            6 => SecurityLevel::EncMic64,
            _ => SecurityLevel::EncMic128,
        },
        Key::new(any(1), any([1; 16])),
        &SoftwareAes,
        any([1; 8]),
    )
    .with(|it| {
        it.eui64_prefix = any(Some([1; 6]));
        it.counter_stored = any(1);
        it.counter_stretch = any(1000);
    });
    node.secure(config, memory);
    if let Some(security) = node.security_mut() {
        if let Some(counter) = black_box(security.poll_counter()) {
            security.on_counter_stored(counter);
        }
        black_box(security.add_key(Key::new(any(1), any([1; 16])))).ok();
        black_box(security.switch_key(any(1))).ok();
        black_box(security.remove_key(any(1))).ok();
        black_box(security.name_neighbour(any(1), any([1; 8])));
        black_box(security.forget_neighbour(any([1; 8])));
        black_box((security.is_exhausted(), security.neighbours()));
        black_box(security.counters());
    }
}

#[cfg(feature = "rpl")]
#[inline(never)]
fn route_by_rpl(node: &mut Node<StaticMemory>, memory: redpoll_stack::RplMemory<StaticMemory>) {
    use redpoll_stack::{RplConfig, RplRole};
    let role = match any(0u8) {
        #[cfg(feature = "rpl-root")]
        0 => root(),
        1 => RplRole::Router,
        _ => RplRole::Leaf,
    };
    let config = RplConfig::new(any(1)).with(|it| {
        it.dao_delay = span();
        it.dao_ack = any(true);
        it.dao_timeout = span();
        it.dao_retries = any(1);
        it.dis_interval = span();
        it.probe_interval = span();
        it.tunnels = any(true);
        it.load_aware = any(true);
        it.dtsn_each_dio = any(false);
        it.dao_targets = any(1);
    });
    node.route_by_rpl(now(), role, config, memory);
    black_box((
        node.rpl_counters(),
        node.rpl_place(),
        node.rpl_targets(now()),
    ));
}

#[cfg(feature = "rpl-root")]
fn root() -> redpoll_stack::RplRole {
    use redpoll_stack::wire::rpl::Configuration;
    use redpoll_stack::{RplRole, RplRoot};
    let configuration = Configuration {
        flags: any(1),
        interval_doublings: any(1),
        interval_min: any(1),
        redundancy: any(1),
        max_rank_increase: any(1),
        min_hop_rank_increase: any(1),
        objective: any(1),
        lifetime: any(1),
        lifetime_unit_s: any(1),
    };
    RplRole::Root(RplRoot::new(addr(), any(1), configuration))
}

/// Makes all calls of a driver.
#[inline(never)]
fn link(node: &mut Node<StaticMemory>) {
    let bytes = any([0u8; 128]);
    let info = RxInfo {
        rssi_dbm: any(1),
        lqi: any(1),
        ack_sent_pending: any(true),
    };
    node.input_frame(now(), &bytes, info);
    let results = [
        RadioResult::Loaded,
        RadioResult::ChannelBusy,
        RadioResult::Sent,
        RadioResult::Acked {
            frame_pending: any(true),
        },
        RadioResult::NoAck,
    ];
    if let Some(result) = results.get(any(0usize)) {
        node.on_radio_done(now(), *result);
    }
    black_box(node.poll_radio(now()));
    black_box(node.frame());
    black_box(node.input_packet(now(), &bytes)).ok();
    let mut out = any([0u8; 128]);
    black_box(node.poll_packet(now(), &mut out));
    black_box(node.poll_at());
    node.on_timeout(now());
    while let Some(event) = node.poll_event() {
        black_box(event);
    }
    let via = match any(0u8) {
        0 => Via::Neighbour(Address::Short(any(1))),
        1 => Via::Neighbour(Address::Extended(any([1; 8]))),
        2 => Via::OnLink,
        _ => Via::Host,
    };
    let route = Route {
        prefix: addr(),
        len: any(64),
        via,
    };
    black_box(node.add_route(route)).ok();
    node.clear_routes();
    black_box((
        node.address(),
        node.tcp_config(),
        node.lowpan().free_slots(),
    ));
    black_box((
        node.counters(),
        node.mac().counters(),
        node.lowpan().counters(),
    ));
}

/// Makes all calls of an application.
#[inline(never)]
fn sockets(node: &mut Node<StaticMemory>) {
    let mut bytes = any([0u8; 64]);
    if let Ok(listener) = node.tcp_listen(any(80)) {
        black_box(node.tcp_accept(listener));
        node.tcp_unlisten(now(), listener);
    }
    if let Ok(id) = black_box(node.tcp_connect(now(), endpoint())) {
        black_box(node.tcp_send(now(), id, &bytes)).ok();
        black_box(node.tcp_recv(now(), id, &mut bytes)).ok();
        node.tcp_close(now(), id);
        node.tcp_abort(now(), id);
        node.tcp_release(now(), id);
        black_box(node.tcp_connection(id).map(|c| c.state()));
    }
    black_box(node.tcp_connections().count());
    if let Ok(id) = black_box(node.udp_bind(any(1))) {
        black_box(node.udp_send(now(), id, endpoint(), &bytes)).ok();
        black_box(node.udp_recv(id, &mut bytes));
        node.udp_close(id);
    }
    black_box(node.ping(now(), addr(), any(1), any(1), any(8))).ok();
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
