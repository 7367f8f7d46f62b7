//! A node over IP devices of embassy-net, with a small executor and virtual time. The executor
//! polls a task only after its waker was used.

#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;

mod fake;

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use common::{MTU, endpoint};
use embassy_net_driver::HardwareAddress;
use embassy_net_driver::{Capabilities, Driver, LinkState, RxToken};
use embedded_io_async::{Read, Write};
use fake::{Device, Flag, Nodes, Place, Task, Time, World, devices, drive, net, run};
use redpoll_socket::Errno;
use redpoll_socket::nal::{Net, Watch};
use redpoll_stack::Listen;

/// Checks an echo server over devices that lose one of `loses` packets.
fn echo(loses: u32) {
    const BYTES: usize = 60_000;
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(loses);
    let content = |at: usize| (at * 7 + at / 251) as u8;
    let server = async {
        let listener = there.tcp_listen(7).unwrap();
        let mut stream = listener.accept().await.unwrap();
        let mut bytes = [0; 500];
        while let Ok(len @ 1..) = stream.read(&mut bytes).await {
            stream.write_all(&bytes[..len]).await.unwrap();
        }
    };
    let client = async {
        let mut stream = here.tcp_connect(endpoint(2, 7)).await.unwrap();
        let (mut sent, mut received) = (0, 0);
        while received < BYTES {
            if sent < BYTES && sent < received + 1_500 {
                let block: Vec<u8> = (sent..BYTES.min(sent + 300)).map(content).collect();
                sent += stream.write(&block).await.unwrap();
                continue;
            }
            let mut bytes = [0; 700];
            let len = stream.read(&mut bytes).await.unwrap();
            for (at, byte) in bytes[..len].iter().enumerate() {
                assert_eq!(*byte, content(received + at));
            }
            received += len;
        }
        assert_eq!((sent, received), (BYTES, BYTES));
    };
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(server),
        Box::pin(client),
    ];
    run(&world, tasks);
}

#[test]
fn a_stream_there_and_back_over_devices_with_little_room() {
    echo(0);
}

#[test]
fn packets_lost_by_the_device_are_retransmitted_by_the_timer() {
    echo(9);
}

#[test]
fn other_devices_are_refused() {
    let refuses = |device: Device, room: usize| {
        let world = World::default();
        let net = net(1, &world);
        let (mut device, mut packet) = (device, vec![0; room]);
        let task = async {
            net.run_over(&mut device, &mut packet, |at| world.sleep(at))
                .await
                .unwrap_err()
        };
        let mut task = Box::pin(task);
        let flag = Waker::from(Arc::new(Flag(AtomicBool::new(false))));
        match task.as_mut().poll(&mut Context::from_waker(&flag)) {
            Poll::Ready(errno) => errno,
            Poll::Pending => panic!("it runs"),
        }
    };
    let [device, _] = devices(0);
    let ethernet = Device {
        address: HardwareAddress::Ethernet([2; 6]),
        ..device
    };
    assert_eq!(refuses(ethernet, MTU), Errno::EOPNOTSUPP);
    let [device, _] = devices(0);
    assert_eq!(
        refuses(
            Device {
                mtu: 1_279,
                ..device
            },
            MTU
        ),
        Errno::EMSGSIZE
    );
    let [device, _] = devices(0);
    assert_eq!(refuses(device, MTU - 1), Errno::EMSGSIZE);
}

struct Flood(Cell<u32>);

struct Junk;

impl RxToken for Junk {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, f: F) -> R {
        f(&mut [0; 60])
    }
}

impl Driver for Flood {
    type RxToken<'a> = Junk;
    type TxToken<'a> = Place;

    fn receive(&mut self, _: &mut Context<'_>) -> Option<(Junk, Place)> {
        self.0.set(self.0.get() + 1);
        Some((Junk, Place(Rc::default())))
    }

    fn transmit(&mut self, _: &mut Context<'_>) -> Option<Place> {
        Some(Place(Rc::default()))
    }

    fn link_state(&mut self, _: &mut Context<'_>) -> LinkState {
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        let [device, _] = devices(0);
        device.capabilities()
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ip
    }
}

#[test]
fn a_device_that_is_never_idle_leaves_others_their_turn() {
    let world = World::default();
    let net = net(1, &world);
    let (mut device, mut packet) = (Flood(Cell::new(0)), [0; MTU]);
    let mut task = Box::pin(net.run_over(&mut device, &mut packet, |at| world.sleep(at)));
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(flag.clone());
    for _ in 0..3 {
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        assert!(flag.0.swap(false, Ordering::SeqCst), "it goes on later");
    }
    drop(task);
    assert!(
        (3..100).contains(&device.0.get()),
        "{} packets",
        device.0.get()
    );
}

#[test]
fn a_call_to_the_node_wakes_the_driver() {
    let world = World::default();
    let net = net(1, &world);
    let [mut device, _] = devices(0);
    let out = device.output.clone();
    let mut packet = [0; MTU];
    let mut task = Box::pin(net.run_over(&mut device, &mut packet, |at| world.sleep(at)));
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(flag.clone());
    for _ in 0..5 {
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    flag.0.store(false, Ordering::SeqCst);
    net.ask(|node, now| node.ping(now, endpoint(2, 1).addr, 1, 1, 0).unwrap());
    assert!(flag.0.load(Ordering::SeqCst));
    let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    assert_eq!(out.packets.borrow().len(), 1);
}

#[test]
fn no_packet_is_longer_than_the_device_takes() {
    let world = World::default();
    let long = |number| {
        let node = common::node_with(number, 1_440, 4_096);
        Net::new(node, Time(&world), [const { Watch::FREE }; 4])
    };
    let (here, there): (Nodes<'_>, Nodes<'_>) = (long(1), long(2));
    let [mut a, mut b] = devices(0);
    let way = a.output.clone();
    let server = async {
        let listener = there.tcp_listen(7).unwrap();
        let mut stream = listener.accept().await.unwrap();
        while let Ok(1..) = stream.read(&mut [0; 500]).await {}
    };
    let client = async {
        let mut stream = here.tcp_connect(endpoint(2, 7)).await.unwrap();
        stream.write_all(&[1; 20_000]).await.unwrap();
        stream.flush().await.unwrap();
    };
    let (mut one, mut other) = ([0; 2_048], [0; 2_048]);
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(async {
            let ended = here.run_over(&mut a, &mut one, |at| world.sleep(at)).await;
            panic!("{ended:?}");
        }),
        Box::pin(async {
            let ended = there
                .run_over(&mut b, &mut other, |at| world.sleep(at))
                .await;
            panic!("{ended:?}");
        }),
        Box::pin(server),
        Box::pin(client),
    ];
    run(&world, tasks);
    assert!(
        (1_000..=MTU).contains(&way.longest.get()),
        "{}",
        way.longest.get()
    );
}

/// RFC 7413: the first connection requests a cookie, the second one opens with its data.
#[test]
fn a_stream_opens_with_the_first_written_data() {
    let world = World::default();
    let (here, there) = (net(1, &world), net(2, &world));
    let [mut a, mut b] = devices(0);
    let server = async {
        let how = Listen {
            fast_open: 2,
            ..Listen::default()
        };
        let listener = there.tcp_listen_with(7, how).unwrap();
        loop {
            let mut stream = listener.accept().await.unwrap();
            let mut bytes = [0; 7];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
        }
    };
    let client = async {
        for fast_opens in 0..2 {
            let mut stream = here.tcp_connect_fast(endpoint(2, 7));
            let mut bytes = [0; 7];
            assert_eq!(stream.read(&mut bytes).await, Err(Errno::ENOTCONN));
            assert_eq!(stream.flush().await, Ok(()));
            assert!(stream.stream().is_none());
            stream.write_all(b"reading").await.unwrap();
            stream.flush().await.unwrap();
            stream.read_exact(&mut bytes).await.unwrap();
            assert_eq!(&bytes, b"reading");
            assert!(stream.stream().unwrap().remote() == Some(endpoint(2, 7)));
            let counted = there.with(|node, _| node.counters().fast_opens);
            assert_eq!(counted, fast_opens);
        }
        let mut nobody = here.tcp_connect_fast(endpoint(2, 8));
        nobody.write_all(b"reading").await.unwrap();
        assert_eq!(nobody.read(&mut [0]).await, Err(Errno::ECONNREFUSED));
    };
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&here, &mut a, &world)),
        Box::pin(drive(&there, &mut b, &world)),
        Box::pin(server),
        Box::pin(client),
    ];
    run(&world, tasks);
}
