//! Runs the applications of `samples`, which use futures, on simulated nodes. Other tests run them
//! over a fake device, a serial line and a TUN interface.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use edge_nal::{TcpBind, TcpConnect, UdpBind, UdpReceive, UdpSend};
use embedded_io_async::{Read, Write};
use redpoll_base::{Duration, Instant};
use redpoll_samples::{http, peers};
use redpoll_sim::tasks::Tasks;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};
use redpoll_socket::nal::Clock;

const FILE: usize = 5_000;

fn line() -> (Scenario, World) {
    let overrides = [
        ("medium.success_ratio_rx", "95 %"),
        ("tcp.connections", "4"),
    ];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut scenario = Scenario::load("line-3", &overrides).unwrap();
    for node in scenario.nodes.iter_mut().chain(&mut scenario.host) {
        node.apps.clear();
    }
    let world = World::new(&scenario, 1).unwrap();
    (scenario, world)
}

fn at(scenario: &Scenario, node: usize, port: u16) -> SocketAddr {
    (scenario.address(node).unwrap().0, port).into()
}

#[test]
fn the_web_server_and_the_sensor_run_on_nodes() {
    let (scenario, mut world) = line();
    let heard = Rc::new(RefCell::default());
    let done = Rc::new(Cell::new(false));
    let (server, client) = (3, 0);
    let (web, mqtt) = (at(&scenario, server, 80), at(&scenario, client, 1_883));
    world.add_app(
        server,
        Tasks::start(4, move |net, time| async move {
            peers::publish(&*net, mqtt).await;
            let pause = |ms: u32| time.sleep(Duration::from_millis(ms.into()));
            panic!("{:?}", http::serve(&*net, 80, FILE, pause).await);
        }),
    );
    let (hears, ends) = (Rc::clone(&heard), Rc::clone(&done));
    world.add_app(
        client,
        Tasks::start(2, move |net, time| async move {
            peers::broker(&*net, 1_883, &hears).await;
            time.sleep(Duration::from_secs(1)).await;
            peers::browse(&*net, web, FILE).await;
            ends.set(true);
        }),
    );
    world.run_until(Instant::from_millis(120_000));
    assert!(done.get());
    peers::all_heard(&heard);
    let report = world.report();
    assert!(report.oracle.ok, "{:?}", report.oracle.violations);
}

#[test]
fn tasks_share_a_node_and_end_with_their_sockets() {
    let (scenario, mut world) = line();
    let echoed = Rc::new(Cell::new(0));
    let port: u16 = 7;
    for (here, there) in [(1, 2), (2, 1)] {
        world.add_app(
            here,
            Tasks::start(2, move |net, _| async move {
                let any = (at_any(), port).into();
                let listener = TcpBind::bind(&*net, any).await.unwrap();
                let mut stream = listener.accept().await.unwrap();
                let mut bytes = [0; 4];
                stream.read_exact(&mut bytes).await.unwrap();
                stream.write_all(&bytes).await.unwrap();
            }),
        );
        let echo = at(&scenario, here, port);
        let echoed = Rc::clone(&echoed);
        world.add_app(
            there,
            Tasks::start(1, move |net, time| async move {
                let mut stream = edge_nal::TcpConnect::connect(&*net, echo).await.unwrap();
                stream.write_all(&port.to_be_bytes()).await.unwrap();
                stream.write_all(b"ab").await.unwrap();
                stream.flush().await.unwrap();
                let mut bytes = [0; 4];
                stream.read_exact(&mut bytes).await.unwrap();
                assert_eq!(bytes[..2], port.to_be_bytes());
                // The peer's task has ended, which closed the peer's socket.
                assert_eq!(stream.read(&mut bytes).await, Ok(0));
                let begun = redpoll_socket::nal::Clock::now(&time);
                time.sleep(Duration::from_secs(2)).await;
                let slept = redpoll_socket::nal::Clock::now(&time).since(begun);
                assert_eq!(slept, Duration::from_secs(2));
                echoed.set(echoed.get() + 1);
            }),
        );
    }
    world.run_until(Instant::from_millis(30_000));
    assert_eq!(echoed.get(), 2);
}

fn at_any() -> std::net::IpAddr {
    std::net::Ipv6Addr::UNSPECIFIED.into()
}

#[test]
fn datagrams_between_tasks() {
    let (scenario, mut world) = line();
    let there = at(&scenario, 3, 9);
    world.add_app(
        3,
        Tasks::start(1, move |net, _| async move {
            let mut socket = UdpBind::bind(&*net, there).await.unwrap();
            let mut bytes = [0; 20];
            loop {
                let (len, from) = socket.receive(&mut bytes).await.unwrap();
                socket.send(from, &bytes[..len]).await.unwrap();
            }
        }),
    );
    let heard = Rc::new(Cell::new(false));
    let hears = Rc::clone(&heard);
    world.add_app(
        0,
        Tasks::start(1, move |net, _| async move {
            let any = (at_any(), 0).into();
            let mut socket = UdpBind::bind(&*net, any).await.unwrap();
            socket.send(there, b"there and back").await.unwrap();
            let mut bytes = [0; 20];
            let (len, _) = socket.receive(&mut bytes).await.unwrap();
            hears.set(&bytes[..len] == b"there and back");
        }),
    );
    world.run_until(Instant::from_millis(5_000));
    assert!(heard.get());
}

/// Counts the frames of a node that carry the first fragment of a segment with a reading.
struct Readings {
    from: usize,
    count: Rc<Cell<u64>>,
}

impl FrameTrace for Readings {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let is_reading = frame.from == self.from && frame.mpdu.len() > 100;
        self.count.set(self.count.get() + u64::from(is_reading));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

/// Checks that a sleepy leaf sends no probe before its data request fetches the server's delayed
/// acknowledgment (RFC 8985 §7.2). The leaf opens a connection for each reading.
#[test]
fn a_leaf_asks_its_parent_before_it_probes() {
    const READINGS: u64 = 40;
    let pause = Duration::from_secs(60);
    for (hops, seed) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)] {
        let text = format!(
            r#"
            duration = "1 h"
            [topology]
            kind = "line"
            nodes = {}
            spacing = "40 m"
            [medium]
            model = "unit-disk"
            [tcp]
            connections = 3
            [nodes.node-1]
            role = "border"
            [nodes.node-{}]
            role = "leaf"
            sleepy = true
            [poll]
            policy = "learned"
            base_interval = "24 h"
            "#,
            hops + 1,
            hops + 1
        );
        let scenario = Scenario::parse("readings", &text, &[]).unwrap();
        let mut world = World::new(&scenario, seed).unwrap();
        let (count, heard) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let from = hops;
        let trace = Readings {
            from,
            count: Rc::clone(&count),
        };
        world.add_trace(Box::new(trace));
        let (server, hears) = (at(&scenario, 0, 7), Rc::clone(&heard));
        world.add_app(
            0,
            Tasks::start(2, move |net, _| async move {
                let listener = TcpBind::bind(&*net, server).await.unwrap();
                while let Ok(mut stream) = listener.accept().await {
                    let mut bytes = [0; 100];
                    while let Ok(len @ 1..) = stream.read(&mut bytes).await {
                        hears.set(hears.get() + len);
                    }
                }
            }),
        );
        world.add_app(
            hops,
            Tasks::start(2, move |net, time| async move {
                for number in 1..=READINGS {
                    let due = Instant::ZERO + pause.times(number);
                    time.sleep(due.since(time.now())).await;
                    let mut stream = TcpConnect::connect(&*net, server).await.unwrap();
                    stream.write_all(&[0; 82]).await.unwrap();
                    stream.flush().await.unwrap();
                }
            }),
        );
        world.run_until(Instant::ZERO + pause.times(READINGS + 1));
        assert_eq!(heard.get() as u64, 82 * READINGS);
        // One segment per reading. With probes before the data requests, 58 to 80 are sent.
        let count = count.get();
        assert!(
            (READINGS..=READINGS + 4).contains(&count),
            "{hops} hops, seed {seed}: {count}"
        );
    }
}
