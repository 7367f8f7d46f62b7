//! Runs the applications of `samples`, which use only the traits of edge-nal, over a fake IP device
//! that loses packets, over the driver of the crate `openthread`, and over a noisy serial line.

#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;
mod fake;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Poll, Waker};

use common::{MTU, endpoint};
use edge_nal::{Close, Readable, TcpBind, TcpShutdown, TcpSplit, UdpBind, UdpReceive, UdpSend};
use embassy_net_driver::HardwareAddress;
use embedded_io_async::{ErrorType, Read, Write};
use fake::{Nodes, Task, World, devices, drive, net, run};
use redpoll_base::Instant;
use redpoll_samples::http;
use redpoll_samples::peers::{all_heard, broker, browse, publish};
use redpoll_socket::Errno;
use redpoll_socket::nal::LineMemory;

const FILE: usize = 30_000;

fn at(number: u8, port: u16) -> SocketAddr {
    (endpoint(number, port).addr.0, port).into()
}

/// Waits for `ms` milliseconds.
async fn pause(world: &World, ms: u32) {
    let until = Instant::from_micros(world.now.get() + u64::from(ms) * 1_000);
    world.sleep(until).await;
}

async fn serve(world: &World, net: &Nodes<'_>) -> impl std::fmt::Debug {
    http::serve(net, 80, FILE, |ms| pause(world, ms)).await
}

/// Runs the web server and the broker on one node and the browser and the sensor on the other.
/// `carriers` carry the packets between the nodes.
fn play<'a>(world: &World, here: &'a Nodes<'a>, there: &'a Nodes<'a>, carriers: Vec<Task<'a>>) {
    let heard = RefCell::default();
    let mut tasks = carriers;
    tasks.push(Box::pin(async {
        panic!("{:?}", serve(world, there).await)
    }));
    tasks.push(Box::pin(broker(there, 1_883, &heard)));
    tasks.push(Box::pin(async {
        browse(here, at(2, 80), FILE).await;
        publish(here, at(2, 1_883)).await;
    }));
    run(world, tasks);
    all_heard(&heard);
}

#[test]
fn over_a_fake_device_that_loses_packets() {
    for loses in [0, 9] {
        let world = World::default();
        let (here, there) = (net(1, &world), net(2, &world));
        let [mut a, mut b] = devices(loses);
        let carriers: Vec<Task<'_>> = vec![
            Box::pin(drive(&here, &mut a, &world)),
            Box::pin(drive(&there, &mut b, &world)),
        ];
        play(&world, &here, &there, carriers);
    }
}

async fn carry(
    from: &mut embassy_net_driver_channel::TxRunner<'_, MTU>,
    to: &mut embassy_net_driver_channel::RxRunner<'_, MTU>,
) {
    loop {
        let packet = from.tx_buf().await;
        let room = to.rx_buf().await;
        room[..packet.len()].copy_from_slice(packet);
        to.rx_done(packet.len());
        from.tx_done();
    }
}

/// The driver of `openthread::enet` is an `embassy_net_driver_channel::Device`, as here. A second
/// device at the other end replaces the mesh.
#[test]
fn over_the_driver_that_openthread_gives() {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let mut states = [const { embassy_net_driver_channel::State::<MTU, 2, 2>::new() }; 2];
    let [a, b] = &mut states;
    let (runner, mut a) = embassy_net_driver_channel::new(a, HardwareAddress::Ip);
    let (_, mut a_in, mut a_out) = runner.split();
    let (runner, mut b) = embassy_net_driver_channel::new(b, HardwareAddress::Ip);
    let (_, mut b_in, mut b_out) = runner.split();
    let carriers: Vec<Task<'_>> = vec![
        Box::pin(carry(&mut a_out, &mut b_in)),
        Box::pin(carry(&mut b_out, &mut a_in)),
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
    ];
    play(&world, &here, &there, carriers);
}

#[derive(Clone, Default)]
struct Wire {
    bytes: Rc<RefCell<VecDeque<u8>>>,
    reader: Rc<RefCell<Option<Waker>>>,
    sent: Rc<Cell<u32>>,
    /// The line changes one byte out of every `noise` bytes; 0 for no changes.
    noise: u32,
}

impl ErrorType for Wire {
    type Error = Infallible;
}

impl Read for Wire {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Infallible> {
        poll_fn(|cx| {
            let mut bytes = self.bytes.borrow_mut();
            let len = bytes.len().min(buf.len());
            if len == 0 {
                self.reader.replace(Some(cx.waker().clone()));
                return Poll::Pending;
            }
            for (place, byte) in buf.iter_mut().zip(bytes.drain(..len)) {
                *place = byte;
            }
            Poll::Ready(Ok(len))
        })
        .await
    }
}

impl Write for Wire {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Infallible> {
        for byte in buf {
            self.sent.set(self.sent.get() + 1);
            let is_noisy = self.noise > 0 && self.sent.get().is_multiple_of(self.noise);
            let byte = if is_noisy { byte ^ 0x11 } else { *byte };
            self.bytes.borrow_mut().push_back(byte);
        }
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
        Ok(buf.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[test]
fn over_a_serial_line_with_noise() {
    for noise in [0, 9_973] {
        let world = World::default();
        let (here, there) = (net(1, &world), net(2, &world));
        let wire = || Wire {
            noise,
            ..Wire::default()
        };
        let (up, down) = (wire(), wire());
        let mut rooms = [[0; MTU]; 4];
        let [a, b, c, d] = &mut rooms;
        let memory = |input, output| LineMemory { input, output };
        let line = |net, ends: (&Wire, &Wire), memory| {
            let (input, output) = (ends.0.clone(), ends.1.clone());
            let world = &world;
            let net: &Nodes<'_> = net;
            async move {
                let sleep = |at| world.sleep(at);
                let ended = net.run_over_slip(input, output, memory, sleep).await;
                panic!("{ended:?}");
            }
        };
        let carriers: Vec<Task<'_>> = vec![
            Box::pin(line(&here, (&down, &up), memory(&mut a[..], &mut b[..]))),
            Box::pin(line(&there, (&up, &down), memory(&mut c[..], &mut d[..]))),
        ];
        play(&world, &here, &there, carriers);
    }
}

#[test]
fn halves_of_a_stream_its_ends_and_datagrams() {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(0);
    let echo = async {
        let listener = TcpBind::bind(&there, at(2, 7)).await.unwrap();
        let (from, mut stream) = edge_nal::TcpAccept::accept(&listener).await.unwrap();
        assert_eq!(from.ip(), at(1, 0).ip());
        let (mut input, mut output) = stream.split();
        input.readable().await.unwrap();
        let mut bytes = [0; 16];
        let len = input.read(&mut bytes).await.unwrap();
        output.write_all(&bytes[..len]).await.unwrap();
        // The other end has closed; no data follows.
        stream.readable().await.unwrap();
        assert_eq!(stream.read(&mut bytes).await, Ok(0));
        stream.close(Close::Both).await.unwrap();
        drop(stream);
        let mut udp = UdpBind::bind(&there, at(2, 9)).await.unwrap();
        udp.readable().await.unwrap();
        let (len, from) = udp.receive(&mut bytes).await.unwrap();
        assert_eq!((&bytes[..len], from.ip()), (&b"dgram"[..], at(1, 0).ip()));
        udp.send(from, b"back").await.unwrap();
        // Reading a reset connection returns the error.
        let (_, mut stream) = edge_nal::TcpAccept::accept(&listener).await.unwrap();
        TcpShutdown::abort(&mut stream).await.unwrap();
        std::future::pending().await
    };
    let client = async {
        for (place, why) in [
            (at(3, 80), Errno::EADDRNOTAVAIL),
            (at(1, 0), Errno::EINVAL),
            (([0, 0, 0, 0], 80).into(), Errno::EAFNOSUPPORT),
        ] {
            assert_eq!(TcpBind::bind(&here, place).await.err(), Some(why));
        }
        let mut stream = edge_nal::TcpConnect::connect(&here, at(2, 7))
            .await
            .unwrap();
        stream.write_all(b"hello").await.unwrap();
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"hello");
        stream.close(Close::Write).await.unwrap();
        assert_eq!(stream.read(&mut bytes).await, Ok(0));
        let mut udp = UdpBind::bind(&here, at(1, 0)).await.unwrap();
        let any = (0, std::net::Ipv6Addr::UNSPECIFIED);
        let joined = edge_nal::MulticastV6::join_v6(&mut udp, any.1, any.0).await;
        assert_eq!(joined, Err(Errno::EOPNOTSUPP));
        // Wait until the other end has bound its UDP socket.
        pause(&world, 5_000).await;
        udp.send(at(2, 9), b"dgram").await.unwrap();
        let (len, _) = udp.receive(&mut bytes).await.unwrap();
        assert_eq!(&bytes[..len], b"back");
        let mut stream = edge_nal::TcpConnect::connect(&here, at(2, 7))
            .await
            .unwrap();
        let answer = stream.read(&mut bytes).await;
        assert_eq!(answer, Err(Errno::ECONNRESET));
    };
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(echo),
        Box::pin(client),
    ];
    run(&world, tasks);
}

/// A client that blocks other clients.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Foe {
    /// Reads this number of bytes of the file each second.
    Slow(usize),
    /// Never ends its request.
    Half,
    Silent,
    /// Keeps the connection after an answer.
    Idle,
    /// Keeps the connection after the server has closed.
    Deaf,
}

/// Acts as `foe` until the server ends the connection; returns its duration in milliseconds.
async fn act(world: &World, net: &Nodes<'_>, foe: Foe) -> u64 {
    let Ok(mut stream) = edge_nal::TcpConnect::connect(net, at(2, 80)).await else {
        pause(world, 10).await;
        return 0;
    };
    let begun = world.now.get();
    let since = || (world.now.get() - begun) / 1_000;
    let request = match foe {
        Foe::Slow(_) => "GET /file HTTP/1.1\r\nHost: a\r\n\r\n",
        Foe::Half => "GET / HTTP/1.1\r\nX: ",
        Foe::Silent => "",
        Foe::Idle => "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        Foe::Deaf => "GET / HTTP/1.1\r\n\r\n",
    };
    let _ = stream.write_all(request.as_bytes()).await;
    let mut bytes = [0; 300];
    loop {
        let ended = match foe {
            Foe::Slow(len) => {
                pause(world, 1_000).await;
                len > 0 && matches!(stream.read(&mut bytes[..len]).await, Ok(0) | Err(_))
                    || len == 0 && stream.write(b"G").await.is_err()
            }
            Foe::Half => {
                pause(world, 1_000).await;
                stream.write(b"x").await.is_err()
            }
            Foe::Silent | Foe::Idle => matches!(stream.read(&mut bytes).await, Ok(0) | Err(_)),
            Foe::Deaf => stream.read(&mut bytes).await.is_err(),
        };
        if ended {
            return since();
        }
        if foe == Foe::Deaf {
            pause(world, 1_000).await;
        }
    }
}

const FOES: [Foe; 6] = [
    Foe::Slow(0),
    Foe::Slow(1),
    Foe::Half,
    Foe::Silent,
    Foe::Idle,
    Foe::Deaf,
];

async fn fetch(world: &World, net: &Nodes<'_>) {
    // Retry while closed connections of the foes occupy all slots.
    let mut stream = loop {
        match edge_nal::TcpConnect::connect(net, at(2, 80)).await {
            Ok(stream) => break stream,
            Err(error) => assert_eq!(error, Errno::EMFILE),
        }
        pause(world, 10).await;
    };
    let request = b"GET /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let (mut answer, mut bytes) = (Vec::new(), [0; 300]);
    while let len @ 1.. = stream.read(&mut bytes).await.unwrap() {
        answer.extend_from_slice(&bytes[..len]);
    }
    let body = answer.split_off(answer.len() - FILE);
    assert!(body.into_iter().eq((0..FILE).map(http::content)));
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

/// Fetches the file five times while three foes connect again and again.
fn fetch_beside(foes: [Foe; 3]) {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(0);
    let mut tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(async { panic!("{:?}", serve(&world, &there).await) }),
    ];
    for foe in foes {
        let (here, world) = (&here, &world);
        tasks.push(Box::pin(async move {
            loop {
                act(world, here, foe).await;
            }
        }));
    }
    tasks.push(Box::pin(async {
        pause(&world, 1_000).await;
        for _ in 0..5 {
            let before = world.now.get();
            fetch(&world, &here).await;
            let took = (world.now.get() - before) / 1_000_000;
            assert!(took < 60, "{foes:?}: {took} s");
            pause(&world, 700).await;
        }
    }));
    run(&world, tasks);
}

#[test]
fn a_client_is_served_beside_others_that_hold_connections() {
    for foe in FOES {
        fetch_beside([foe; 3]);
    }
    for (n, foe) in FOES.into_iter().enumerate() {
        fetch_beside([foe, FOES[(n + 1) % 6], FOES[(n + 3) % 6]]);
    }
}

/// Runs one client alone; returns the duration of its connection in milliseconds.
fn alone(foe: Foe) -> u64 {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(0);
    let took = Cell::new(0);
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(async { panic!("{:?}", serve(&world, &there).await) }),
        Box::pin(async { took.set(act(&world, &here, foe).await) }),
    ];
    run(&world, tasks);
    took.get()
}

#[test]
fn a_connection_without_progress_ends_even_if_no_other_waits() {
    for (foe, from, to) in [
        (Foe::Slow(0), 60_000, 122_000),
        (Foe::Slow(1), 60_000, 122_000),
        (Foe::Half, 60_000, 62_000),
        (Foe::Silent, 60_000, 62_000),
        (Foe::Idle, 15_000, 16_000),
        // A slow client that is alone gets the whole file, and then stays idle.
        (Foe::Slow(200), FILE as u64 * 5, FILE as u64 * 5 + 17_000),
    ] {
        let took = alone(foe);
        assert!((from..to).contains(&took), "{foe:?}: {took} ms");
    }
}

#[test]
fn requests_need_one_host_and_names_without_spaces() {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(0);
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(async { panic!("{:?}", serve(&world, &there).await) }),
        Box::pin(async {
            let mut all = redpoll_testkit::requests();
            let long = format!(
                "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
                "x".repeat(600)
            );
            all.push((long.into_bytes(), true));
            for (request, is_wrong) in all {
                let text = String::from_utf8_lossy(&request).into_owned();
                let mut stream = edge_nal::TcpConnect::connect(&here, at(2, 80))
                    .await
                    .unwrap();
                stream.write_all(&request).await.unwrap();
                let mut status = [0; 12];
                stream.read_exact(&mut status).await.expect(&text);
                assert_eq!(&status[..7], b"HTTP/1.", "{text}");
                assert_eq!(status[9] == b'4', is_wrong, "{text}");
                if !is_wrong {
                    continue;
                }
                // The whole answer arrives. Some answers leave the connection open.
                let (mut rest, mut bytes) = (Vec::new(), [0; 300]);
                while !rest.ends_with(b"\r\n\r\n") {
                    let len = stream.read(&mut bytes).await.expect(&text);
                    assert_ne!(len, 0, "{text}: {rest:?}");
                    rest.extend_from_slice(&bytes[..len]);
                }
            }
        }),
    ];
    run(&world, tasks);
}
