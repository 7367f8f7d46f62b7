//! The async sockets, with a small executor and virtual time.

#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;

use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use common::{HeapMemory, MTU, Node, endpoint, node};
use embedded_io_async::{ErrorKind, Read, Write};
use embedded_nal_async::{ConnectedUdp, TcpConnect, UdpStack, UnconnectedUdp};
use redpoll_base::{Duration, Instant};
use redpoll_socket::Errno;
use redpoll_socket::nal::{Clock, Net, Watch};
use redpoll_tcp::FreezeError;

struct Time<'t>(&'t Cell<u64>);

impl Clock for Time<'_> {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.get())
    }
}

type World<'t> = Net<HeapMemory, Time<'t>, [Watch; 4]>;

fn net(number: u8, time: &Cell<u64>) -> World<'_> {
    Net::new(node(number), Time(time), [const { Watch::FREE }; 4])
}

fn at(number: u8, port: u16) -> SocketAddr {
    (endpoint(number, port).addr.0, port).into()
}

/// Whether a task was woken, and how often.
struct Flag(AtomicBool, AtomicUsize);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

fn carry(from: &World<'_>, to: &World<'_>) -> bool {
    let mut any = false;
    loop {
        let mut packet = [0; MTU];
        let Some(len) = from.with(|node, now| node.poll_packet(now, &mut packet)) else {
            return any;
        };
        any = true;
        to.with(|node, now| node.input_packet(now, &packet[..len]).ok());
    }
}

/// Runs `task` to its end; polls it only after a wake-up, and panics if no wake-up can follow.
fn run<R>(time: &Cell<u64>, nets: [&World<'_>; 2], task: impl Future<Output = R>) -> R {
    let flag = Arc::new(Flag(AtomicBool::new(true), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut cx = Context::from_waker(&waker);
    let mut task = pin!(task);
    for _ in 0..100_000 {
        if flag.0.swap(false, Ordering::SeqCst)
            && let Poll::Ready(result) = task.as_mut().poll(&mut cx)
        {
            return result;
        }
        let mut moved = carry(nets[0], nets[1]);
        moved |= carry(nets[1], nets[0]);
        if !moved && !flag.0.load(Ordering::SeqCst) {
            let due = nets.iter().filter_map(|net| net.poll_at()).min();
            let due = due.expect("an event is pending that wakes the task");
            time.set(due.as_micros().max(time.get()));
            for net in nets {
                net.with(|node, now| node.on_timeout(now));
            }
        }
    }
    panic!("the task goes on for ever");
}

async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut done_a, mut done_b) = (None, None);
    std::future::poll_fn(move |cx| {
        if done_a.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(cx)
        {
            done_a = Some(value);
        }
        if done_b.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(cx)
        {
            done_b = Some(value);
        }
        match (done_a.take(), done_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (done_a, done_b) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

#[test]
fn a_stream_there_and_back_by_the_traits() {
    const BYTES: usize = 30_000;
    let time = Cell::new(0);
    let (client, server) = (net(1, &time), net(2, &time));
    let serve = async {
        let listener = server.tcp_listen(80)?;
        let mut stream = listener.accept().await?;
        let mut seen = 0;
        loop {
            let mut piece = Vec::new();
            let count = stream.read_with(|first, second| {
                piece = [first, second].concat();
                piece.len()
            });
            if count.await? == 0 {
                return Ok::<usize, Errno>(seen);
            }
            assert!(piece.iter().all(|byte| *byte == 7));
            seen += piece.len();
            stream.write_all(&piece).await?;
        }
    };
    let talk = async {
        let mut stream = client.connect(at(2, 80)).await?;
        let mut back = [0; 1_000];
        for _ in 0..BYTES / back.len() {
            stream.write_all(&[7; 1_000]).await?;
            assert_eq!(stream.read_exact(&mut back).await.ok(), Some(()));
        }
        stream.flush().await?;
        stream.shutdown();
        // The end of the stream arrives when the server's stream is dropped.
        assert_eq!(stream.read(&mut back).await, Ok(0));
        assert_eq!(stream.write(b"x").await, Err(Errno::EPIPE));
        Ok::<(), Errno>(())
    };
    let (talked, served) = run(&time, [&client, &server], both(talk, serve));
    assert_eq!((talked, served), (Ok(()), Ok(BYTES)));
    // Both streams were dropped, so the connections close, and the nodes release them in time.
    let day = Duration::from_secs(24 * 60 * 60).as_micros();
    for _ in 0..1_000 {
        carry(&client, &server);
        carry(&server, &client);
        let due = [&client, &server].map(|net| net.poll_at());
        let Some(due) = due.into_iter().flatten().min() else {
            break;
        };
        time.set(due.as_micros().max(time.get()));
        assert!(time.get() < day);
        for net in [&client, &server] {
            net.with(|node, now| node.on_timeout(now));
        }
    }
    for net in [&client, &server] {
        assert_eq!(net.with(|node, _| node.tcp_connections().count()), 0);
    }
}

#[test]
fn failed_operations_return_errors_and_free_their_slots() {
    let time = Cell::new(0);
    let (client, server) = (net(1, &time), net(2, &time));
    let nets = [&client, &server];
    // Together, these connections would need more watches and slots than there are.
    for _ in 0..9 {
        let refused = run(&time, nets, client.connect(at(2, 80)));
        assert_eq!(refused.err(), Some(Errno::ECONNREFUSED));
    }
    let v4 = SocketAddr::from(([127, 0, 0, 1], 80));
    let failed = run(&time, nets, client.connect(v4)).err();
    assert_eq!(failed, Some(Errno::EAFNOSUPPORT));
    // The sockets occupy all watches; the next round shows that dropped sockets free them.
    for _ in 0..3 {
        let held = [client.udp_bind(0), client.udp_bind(0)].map(Result::unwrap);
        let ports = held.map(|socket| socket.local().port());
        assert_ne!(ports[0], ports[1]);
        let listeners = [80, 81].map(|port| client.tcp_listen(port).unwrap());
        assert_eq!(client.tcp_listen(80).err(), Some(Errno::EADDRINUSE));
        drop(listeners);
        assert_eq!(client.with(|node, _| node.tcp_connections().count()), 0);
    }
    // The peer resets the connection.
    let task = async {
        let listener = server.tcp_listen(80).unwrap();
        let (connected, accepted) = both(client.connect(at(2, 80)), listener.accept()).await;
        let (mut here, there) = (connected.unwrap(), accepted.unwrap());
        there.abort();
        let mut buffer = [0; 9];
        assert_eq!(here.read(&mut buffer).await, Err(Errno::ECONNRESET));
        assert_eq!(here.flush().await, Err(Errno::ECONNRESET));
        assert_eq!(here.write(&buffer).await, Err(Errno::ECONNRESET));
    };
    run(&time, nets, task);
}

#[test]
fn flush_waits_for_the_acknowledgment() {
    let time = Cell::new(0);
    let (client, server) = (net(1, &time), net(2, &time));
    let unacked = || {
        client.with(|node, _| {
            let connections = node.tcp_connections();
            connections.map(|(_, c)| c.unacked()).sum::<usize>()
        })
    };
    let task = async {
        let listener = server.tcp_listen(80).unwrap();
        let (connected, accepted) = both(client.connect(at(2, 80)), listener.accept()).await;
        let (mut stream, _there) = (connected.unwrap(), accepted.unwrap());
        stream.write_all(&[1; 500]).await.unwrap();
        assert_eq!(unacked(), 500);
        stream.flush().await.unwrap();
        assert_eq!(unacked(), 0);
    };
    run(&time, [&client, &server], task);
}

#[test]
fn datagrams_by_the_traits() {
    let time = Cell::new(0);
    let (here, there) = (net(1, &time), net(2, &time));
    let task = async {
        let (_, mut server) = (&there).bind_single(at(2, 53)).await?;
        let (local, mut client) = UdpStack::connect(&&here, at(2, 53)).await?;
        let mut buffer = [0; 16];
        let ask = async {
            ConnectedUdp::send(&mut client, b"ask").await?;
            let mut buffer = [0; 16];
            let count = ConnectedUdp::receive_into(&mut client, &mut buffer).await?;
            assert_eq!(&buffer[..count], b"answer");
            Ok::<(), Errno>(())
        };
        let answer = async {
            let (count, to, from) = UnconnectedUdp::receive_into(&mut server, &mut buffer).await?;
            assert_eq!(
                (&buffer[..count], to, from),
                (&b"ask"[..], at(2, 53), local)
            );
            // A datagram from another port is not from the peer.
            there
                .udp_bind(54)?
                .send_to(endpoint(1, from.port()), b"else")?;
            UnconnectedUdp::send(&mut server, to, from, b"answer").await
        };
        let (asked, answered) = both(ask, answer).await;
        asked.and(answered)
    };
    assert_eq!(run(&time, [&here, &there], task), Ok::<(), Errno>(()));
}

#[test]
fn work_wakes_the_driver() {
    let time = Cell::new(0);
    let here = net(1, &time);
    let flag = Arc::new(Flag(AtomicBool::new(false), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut cx = Context::from_waker(&waker);
    let mut work = pin!(async {
        here.work().await;
        here.work().await;
    });
    assert!(work.as_mut().poll(&mut cx).is_pending());
    assert_eq!(flag.1.load(Ordering::SeqCst), 0);
    let mut connect = pin!(here.tcp_connect(endpoint(2, 80)));
    assert!(connect.as_mut().poll(&mut cx).is_pending());
    assert_eq!(flag.1.load(Ordering::SeqCst), 1);
    assert!(work.as_mut().poll(&mut cx).is_ready());
}

#[test]
fn errors_have_the_kinds_of_embedded_io() {
    for (errno, kind) in [
        (Errno::ECONNREFUSED, ErrorKind::ConnectionRefused),
        (Errno::ECONNRESET, ErrorKind::ConnectionReset),
        (Errno::ECONNABORTED, ErrorKind::ConnectionAborted),
        (Errno::ENOTCONN, ErrorKind::NotConnected),
        (Errno::EADDRINUSE, ErrorKind::AddrInUse),
        (Errno::EADDRNOTAVAIL, ErrorKind::AddrNotAvailable),
        (Errno::EPIPE, ErrorKind::BrokenPipe),
        (Errno::EINVAL, ErrorKind::InvalidInput),
        (Errno::EMSGSIZE, ErrorKind::InvalidInput),
        (Errno::ETIMEDOUT, ErrorKind::TimedOut),
        (Errno::EMFILE, ErrorKind::OutOfMemory),
        (Errno::EAFNOSUPPORT, ErrorKind::Unsupported),
        (Errno::EOPNOTSUPP, ErrorKind::Unsupported),
        (Errno::EHOSTUNREACH, ErrorKind::Other),
        (Errno::Other(4), ErrorKind::Other),
    ] {
        assert_eq!(embedded_io_async::Error::kind(&errno), kind, "{errno}");
    }
}

#[test]
fn sockets_without_a_watch_are_refused_and_take_no_slot() {
    let time = Cell::new(0);
    let (here, there) = (net(1, &time), net(2, &time));
    let held = [here.udp_bind(5).unwrap(), here.udp_bind(6).unwrap()];
    let listeners = [80, 81].map(|port| here.tcp_listen(port).unwrap());
    // The node has slots for connections, but all four watches are in use.
    let connect = run(&time, [&here, &there], here.tcp_connect(endpoint(2, 80)));
    assert_eq!(connect.err(), Some(Errno::EMFILE));
    let mut fast = here.tcp_connect_fast(endpoint(2, 80));
    let written = run(&time, [&here, &there], fast.write(b"reading"));
    assert_eq!(written, Err(Errno::EMFILE));
    assert!(fast.stream().is_none());
    let accept = both(there.connect(at(1, 80)), listeners[0].accept());
    let (connected, accepted) = run(&time, [&here, &there], accept);
    assert_eq!(accepted.err(), Some(Errno::EMFILE));
    let mut stream = connected.unwrap();
    let answer = run(&time, [&here, &there], stream.read(&mut [0]));
    assert_eq!(answer, Err(Errno::ECONNRESET));
    assert_eq!(here.with(|node, _| node.tcp_connections().count()), 0);
    // The reverse: there are watches for sockets for which the node has no slot.
    drop(held);
    assert_eq!(here.tcp_listen(82).err(), Some(Errno::EMFILE));
    drop(listeners);
    let held = [here.udp_bind(0).unwrap(), here.udp_bind(0).unwrap()];
    assert_eq!(here.udp_bind(0).err(), Some(Errno::EMFILE));
    assert_eq!(
        here.udp_bind(held[0].local().port()).err(),
        Some(Errno::EADDRINUSE)
    );
    drop(held);
    let one: Net<HeapMemory, _, [Watch; 0]> = Net::new(node(3), Time(&time), []);
    assert_eq!(one.udp_bind(5).err(), Some(Errno::EMFILE));
    assert_eq!(one.tcp_listen(80).err(), Some(Errno::EMFILE));
    one.ask(|node, _| assert!(node.udp_bind(5).is_ok() && node.tcp_listen(80).is_ok()));
}

#[test]
fn a_stream_continues_after_a_reboot() {
    let time = Cell::new(0);
    let (here, there) = (net(1, &time), net(2, &time));
    let task = async {
        let listener = there.tcp_listen(80).unwrap();
        let (connected, accepted) = both(here.connect(at(2, 80)), listener.accept()).await;
        let (mut stream, mut peer) = (connected.unwrap(), accepted.unwrap());
        stream.write_all(b"one").await.unwrap();
        assert_eq!(stream.freeze(&mut [0; 20]), Err(FreezeError::NoRoom));
        assert_eq!(stream.remote(), Some(endpoint(2, 80)));
        let mut frozen = [0; 400];
        let len = stream.freeze(&mut frozen).unwrap();
        assert_eq!(stream.remote(), None);
        assert_eq!(stream.read(&mut [0]).await, Err(Errno::ENOTCONN));
        assert_eq!(stream.flush().await, Err(Errno::ENOTCONN));
        drop(stream);
        here.ask(|own, _| *own = node(1));
        let frozen = &mut frozen[..len];
        // A refused call leaves the bytes valid.
        let held = [here.udp_bind(0), here.udp_bind(0)].map(Result::unwrap);
        let listeners = [80, 81].map(|port| here.tcp_listen(port).unwrap());
        let slept = Duration::from_secs(1);
        assert_eq!(here.tcp_thaw(slept, frozen).err(), Some(Errno::EMFILE));
        drop((held, listeners));
        let mut stream = here.tcp_thaw(slept, frozen).unwrap();
        assert!(here.tcp_thaw(slept, frozen).is_err(), "twice");
        stream.write_all(b"two").await.unwrap();
        let mut bytes = [0; 6];
        peer.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"onetwo");
    };
    run(&time, [&here, &there], task);
}

/// A driver that keeps the node, takes its events and lends it to the sockets.
#[test]
fn a_lent_node_wakes_tasks_by_the_events_that_its_driver_passes() {
    let time = Cell::new(0);
    let there = net(2, &time);
    let here: World<'_> = Net::lent(node(9), Time(&time), [const { Watch::FREE }; 4]);
    let mut own = node(1);
    let flag = Arc::new(Flag(AtomicBool::new(false), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&flag));
    let is_woken = || flag.0.swap(false, Ordering::SeqCst);
    let exchange = |own: &mut Node| {
        let (now, mut packet) = (Instant::from_micros(time.get()), [0; MTU]);
        for _ in 0..4 {
            while let Some(len) = own.poll_packet(now, &mut packet) {
                there.with(|node, now| node.input_packet(now, &packet[..len]).ok());
            }
            while let Some(len) = there.with(|node, now| node.poll_packet(now, &mut packet)) {
                own.input_packet(now, &packet[..len]).unwrap();
            }
        }
    };
    let mut serve = pin!(async {
        let listener = here.tcp_listen(80).unwrap();
        let mut stream = listener.accept().await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.flush().await.unwrap();
        stream
    });
    let mut lend = |own: &mut Node| {
        here.swap(own);
        let polled = serve.as_mut().poll(&mut Context::from_waker(&waker));
        here.swap(own);
        polled
    };
    assert!(lend(&mut own).is_pending());
    let mut ask = pin!(async {
        let mut stream = there.connect(at(1, 80)).await.unwrap();
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"hello");
    });
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(ask.as_mut().poll(cx).is_pending());
    exchange(&mut own);
    // The events of a lent node stay in the node.
    here.swap(&mut own);
    here.with(|_, _| ());
    here.swap(&mut own);
    assert!(!is_woken());
    while let Some(event) = own.poll_event() {
        here.on_event(event);
    }
    assert!(is_woken() && !here.is_flushing());
    assert!(lend(&mut own).is_pending());
    assert!(here.is_flushing());
    assert!(ask.as_mut().poll(cx).is_pending());
    exchange(&mut own);
    assert!(ask.as_mut().poll(cx).is_ready());
    time.set(time.get() + 1_000_000);
    there.with(|node, now| node.on_timeout(now));
    exchange(&mut own);
    // No event reports the acknowledgment.
    while let Some(event) = own.poll_event() {
        here.on_event(event);
    }
    is_woken();
    here.swap(&mut own);
    here.with(|_, _| ());
    here.swap(&mut own);
    assert!(is_woken() && !here.is_flushing());
    assert!(lend(&mut own).is_ready());
    assert_eq!(here.ask(|node, _| node.address()), endpoint(9, 0).addr);
}

#[test]
fn datagrams_without_a_peer_or_from_a_chosen_port() {
    let time = Cell::new(0);
    let (here, there) = (net(1, &time), net(2, &time));
    let task = async {
        let (local, mut client) = (&here).connect_from(at(1, 77), at(2, 53)).await?;
        assert_eq!(local, at(1, 77));
        let mut server = (&there).bind_multiple(at(2, 53)).await?;
        let unconnected = ConnectedUdp::send(&mut server, b"?").await;
        assert_eq!(unconnected, Err(Errno::EDESTADDRREQ));
        ConnectedUdp::send(&mut client, b"ask").await?;
        let mut bytes = [0; 2];
        let (len, _, from) = UnconnectedUdp::receive_into(&mut server, &mut bytes).await?;
        assert_eq!((&bytes[..len], from), (&b"as"[..], local));
        let v4 = SocketAddr::from(([127, 0, 0, 1], 80));
        let sent = UnconnectedUdp::send(&mut server, local, v4, b"x").await;
        assert_eq!(sent, Err(Errno::EAFNOSUPPORT));
        let long = server.send_to(endpoint(1, 77), &[0; 2_000]);
        assert_eq!(long, Err(Errno::EMSGSIZE));
        // Datagrams for which there is no room are lost; the call succeeds.
        for _ in 0..20 {
            server.send_to(endpoint(1, 77), b"x")?;
        }
        here.udp_bind(0)?.send_to(endpoint(2, 53), b"x")
    };
    assert_eq!(run(&time, [&here, &there], task), Ok(()));
}

#[test]
fn empty_buffers_do_not_wait() {
    let time = Cell::new(0);
    let (here, there) = (net(1, &time), net(2, &time));
    let task = async {
        let listener = there.tcp_listen(80).unwrap();
        let (connected, accepted) = both(here.connect(at(2, 80)), listener.accept()).await;
        let (mut stream, _peer) = (connected.unwrap(), accepted.unwrap());
        assert_eq!(stream.read(&mut []).await, Ok(0));
        assert_eq!(stream.write(&[]).await, Ok(0));
        let mut fast = here.tcp_connect_fast(endpoint(2, 80));
        assert_eq!(fast.write(&[]).await, Ok(0));
        assert!(fast.stream().is_none());
    };
    run(&time, [&here, &there], task);
}
