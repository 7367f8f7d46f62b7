//! The traits of edge-nal beyond those that the applications of `samples` use.

#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;
mod fake;

use std::cell::RefCell;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use common::endpoint;
use edge_nal::{
    Close, MulticastV4, MulticastV6, Readable, TcpAccept, TcpBind, TcpConnect, TcpShutdown,
    TcpSplit, UdpBind, UdpConnect, UdpReceive, UdpSend, UdpSplit, UdpSplitMulticast,
};
use embedded_io_async::{Read, Write};
use fake::{Task, World, devices, drive, net, run};
use redpoll_socket::Errno;

fn at(number: u8, port: u16) -> SocketAddr {
    (endpoint(number, port).addr.0, port).into()
}

const V4: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 80);

/// Runs two applications on two nodes until `client` has ended.
fn play(server: impl AsyncFnOnce(&fake::Nodes<'_>), client: impl AsyncFnOnce(&fake::Nodes<'_>)) {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(0);
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(server(&there)),
        Box::pin(client(&here)),
    ];
    run(&world, tasks);
}

#[test]
fn halves_of_a_datagram_socket() {
    let server = async |net: &fake::Nodes<'_>| {
        let mut socket = UdpBind::bind(net, at(2, 9)).await.unwrap();
        let (mut input, mut output) = UdpSplit::split(&mut socket);
        input.readable().await.unwrap();
        let mut bytes = [0; 16];
        let (len, from) = input.receive(&mut bytes).await.unwrap();
        output.send(from, &bytes[..len]).await.unwrap();
        // From another port, which the connected peer does not hear.
        let mut other = UdpBind::bind(net, at(2, 10)).await.unwrap();
        other.send(from, b"stranger").await.unwrap();
        output.send(from, b"again").await.unwrap();
        std::future::pending().await
    };
    play(server, async |net| {
        let mut socket = UdpConnect::connect(net, at(1, 0), at(2, 9)).await.unwrap();
        socket.send(at(2, 9), b"dgram").await.unwrap();
        let mut bytes = [0; 16];
        for expected in [&b"dgram"[..], b"again"] {
            socket.readable().await.unwrap();
            let (len, from) = socket.receive(&mut bytes).await.unwrap();
            assert_eq!((&bytes[..len], from), (expected, at(2, 9)));
        }
    });
}

#[test]
fn addresses_of_ipv4_and_groups_are_refused() {
    let server = async |net: &fake::Nodes<'_>| {
        let mut socket = UdpBind::bind(net, at(2, 9)).await.unwrap();
        let mut bytes = [0; 16];
        let (len, from) = socket.receive(&mut bytes).await.unwrap();
        socket.send(from, &bytes[..len]).await.unwrap();
        std::future::pending().await
    };
    play(server, async |net| {
        let no_v4 = Errno::EAFNOSUPPORT;
        assert_eq!(UdpBind::bind(net, V4).await.err(), Some(no_v4));
        let connected = UdpConnect::connect(net, at(1, 0), V4).await;
        assert_eq!(connected.err(), Some(no_v4));
        let connected = UdpConnect::connect(net, V4, at(2, 9)).await;
        assert_eq!(connected.err(), Some(no_v4));
        assert_eq!(TcpConnect::connect(net, V4).await.err(), Some(no_v4));
        let mut socket = UdpBind::bind(net, at(1, 5)).await.unwrap();
        assert_eq!(socket.send(V4, b"x").await, Err(no_v4));
        let (any4, any6) = (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
        assert_eq!(socket.join_v4(any4, any4).await, Err(no_v4));
        assert_eq!(socket.leave_v4(any4, any4).await, Err(no_v4));
        assert_eq!(socket.join_v6(any6, 0).await, Err(Errno::EOPNOTSUPP));
        assert_eq!(socket.leave_v6(any6, 0).await, Err(Errno::EOPNOTSUPP));
        let (mut input, mut output, mut v4, mut v6) = socket.split_multicast();
        assert_eq!(v4.join_v4(any4, any4).await, Err(no_v4));
        assert_eq!(v6.leave_v6(any6, 0).await, Err(Errno::EOPNOTSUPP));
        // The other parts of the socket still work.
        output.send(at(2, 9), b"dgram").await.unwrap();
        let mut bytes = [0; 16];
        let (len, from) = input.receive(&mut bytes).await.unwrap();
        assert_eq!((&bytes[..len], from), (&b"dgram"[..], at(2, 9)));
    });
}

#[test]
fn closing_the_reading_direction_leaves_the_other_one_open() {
    let server = async |net: &fake::Nodes<'_>| {
        let listener = TcpBind::bind(net, at(2, 7)).await.unwrap();
        let (_, mut stream) = TcpAccept::accept(&listener).await.unwrap();
        stream.close(Close::Read).await.unwrap();
        let (mut input, mut output) = TcpSplit::split(&mut stream);
        input.readable().await.unwrap();
        let mut bytes = [0; 5];
        input.read_exact(&mut bytes).await.unwrap();
        output.write_all(&bytes).await.unwrap();
        output.flush().await.unwrap();
        stream.close(Close::Both).await.unwrap();
        assert_eq!(stream.write(b"x").await, Err(Errno::EPIPE));
        std::future::pending().await
    };
    play(server, async |net| {
        let mut stream = TcpConnect::connect(net, at(2, 7)).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        let mut bytes = [0; 9];
        stream.read_exact(&mut bytes[..5]).await.unwrap();
        assert_eq!(&bytes[..5], b"hello");
        assert_eq!(stream.read(&mut bytes).await, Ok(0));
    });
}

/// A server whose sockets are all in use resets the connection, and goes on.
#[test]
fn accept_continues_after_a_connection_without_a_watch() {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(0);
    // With the listener, these sockets use the four watches.
    let held = [there.udp_bind(1), there.udp_bind(2)].map(Result::unwrap);
    let held = RefCell::new(Some((held, there.tcp_listen(8).unwrap())));
    let server = async {
        let listener = TcpBind::bind(&there, at(2, 7)).await.unwrap();
        let (from, mut stream) = TcpAccept::accept(&listener).await.unwrap();
        assert_eq!(from.ip(), at(1, 0).ip());
        stream.write_all(b"welcome").await.unwrap();
        std::future::pending().await
    };
    let client = async {
        let mut bytes = [0; 7];
        for _ in 0..3 {
            let mut stream = TcpConnect::connect(&here, at(2, 7)).await.unwrap();
            assert_eq!(stream.read(&mut bytes).await, Err(Errno::ECONNRESET));
        }
        drop(held.take());
        let mut stream = TcpConnect::connect(&here, at(2, 7)).await.unwrap();
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"welcome");
    };
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(server),
        Box::pin(client),
    ];
    run(&world, tasks);
}
