//! Nodes on radios, with the driver that boards use.

#[path = "fake/air.rs"]
mod air;
#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;
mod fake;

use std::cell::Cell;

use air::{Air, AirRadio};
use embedded_io_async::{Read, Write};
use fake::{Task, run_with};
use redpoll_base::{Addr, Duration, Instant, LeafMemory, Rng, StaticMemory};
use redpoll_mac::{MacConfig, Radio, RadioEvent};
use redpoll_socket::nal::{LeafNet, Net, Watch};
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{
    LeafNode, LeafStorage, Node, NodeConfig, Route, RouterStorage, SleepyConfig, Via,
};
use redpoll_tcp::Endpoint;

const PREFIX: Addr = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

fn radio_and_mac(air: &Air, short: u16) -> (AirRadio, MacConfig) {
    let mut radio = air.radio(short.into());
    let mac = MacConfig::default().with(|it| {
        it.short = short;
        it.extended = [2, 0, 0, 0, 0, 0, 0, short as u8];
        it.caps = radio.caps();
    });
    radio.set_identity((&mac).into());
    (radio, mac)
}

/// Returns a leaf and its radio; all packets of the leaf go to `peer`.
fn leaf(air: &Air, short: u16, peer: u16, is_sleepy: bool) -> (LeafNode, AirRadio) {
    let (radio, mac) = radio_and_mac(air, short);
    let mut config = NodeConfig::leaf(mac, PREFIX, short, [7; 16]);
    config.sleepy = is_sleepy.then(|| SleepyConfig::new([Some(peer), None, None, None]));
    let storage = Box::leak(Box::new(LeafStorage::NEW));
    let mut node = LeafNode::new(
        config,
        storage.memory::<LeafMemory>(),
        Rng::new(short.into()),
    );
    let route = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(Address::Short(peer)),
    };
    node.add_route(route).unwrap();
    (node, radio)
}

/// Returns a router, which accepts sleepy leaves as its children.
fn router(air: &Air, short: u16) -> (Node<StaticMemory>, AirRadio) {
    let (radio, mac) = radio_and_mac(air, short);
    let config = NodeConfig::router(mac, PREFIX, Addr::UNSPECIFIED, 0, [7; 16]);
    let storage = Box::leak(Box::new(RouterStorage::NEW));
    (Node::new(config, storage.memory(), Rng::new(9)), radio)
}

fn pass(air: &Air) {
    assert!(
        air.step(Instant::from_millis(600_000)),
        "an event is pending"
    );
}

#[test]
fn a_stream_there_and_back_over_radios() {
    const BYTES: usize = 20_000;
    let air = Air::new(2);
    let clock = || air.now();
    let watches = || [const { Watch::FREE }; 3];
    let (node, mut radio) = leaf(&air, 0, 1, false);
    let here = LeafNet::new(node, clock, watches());
    let (node, mut peers_radio) = leaf(&air, 1, 0, false);
    let there = LeafNet::new(node, clock, watches());
    let to = Endpoint::new(there.ask(|node, _| node.address()), 7);
    let content = |at: usize| (at * 7 + at / 251) as u8;
    let echo = async {
        let listener = there.tcp_listen(7).unwrap();
        let mut stream = listener.accept().await.unwrap();
        let mut bytes = [0; 500];
        while let Ok(len @ 1..) = stream.read(&mut bytes).await {
            stream.write_all(&bytes[..len]).await.unwrap();
        }
    };
    let talk = async {
        let stream = here.tcp_connect(to).await.unwrap();
        let (mut input, mut output) = (&stream, &stream);
        let (mut sent, mut received) = (0, 0);
        while received < BYTES {
            if sent < BYTES && sent < received + 1_500 {
                let block: Vec<u8> = (sent..BYTES.min(sent + 300)).map(content).collect();
                sent += output.write(&block).await.unwrap();
                continue;
            }
            let mut bytes = [0; 700];
            let len = input.read(&mut bytes).await.unwrap();
            for (at, byte) in bytes[..len].iter().enumerate() {
                assert_eq!(*byte, content(received + at));
            }
            received += len;
        }
    };
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(async {
            let _ = here.run_on(&mut radio).await;
        }),
        Box::pin(async {
            let _ = there.run_on(&mut peers_radio).await;
        }),
        Box::pin(echo),
        Box::pin(talk),
    ];
    run_with(tasks, || pass(&air));
    let counters = here.ask(|node, _| *node.mac().counters());
    assert_eq!(
        (counters.no_ack, counters.radio_faults),
        (0, 0),
        "{counters:?}"
    );
}

/// A sleepy leaf polls its parent often while an application expects data.
#[test]
fn an_expectation_makes_a_sleepy_leaf_poll_often() {
    for opens_fast in [false, true] {
        let air = Air::new(3);
        let clock = || air.now();
        let (node, mut radio) = leaf(&air, 0, 1, true);
        let here = LeafNet::new(node, clock, [const { Watch::FREE }; 3]);
        let (node, mut parents_radio) = router(&air, 1);
        let there = Net::new(node, clock, [const { Watch::FREE }; 3]);
        let to = Endpoint::new(there.ask(|node, _| node.address()), 7);
        let frames = || here.ask(|node, _| node.mac().counters().delivered);
        let polls = Cell::new([0; 3]);
        // The third radio serves as a timer.
        let sleep = async |seconds| {
            let (mut timer, end) = (air.radio(2), air.now() + Duration::from_secs(seconds));
            let event = std::future::poll_fn(|cx| timer.poll_event(cx, Some(end))).await;
            assert_eq!(event, RadioEvent::Time);
        };
        let talk = async {
            let mut fast = here.tcp_connect_fast(to);
            let mut slow;
            let stream = if opens_fast {
                fast.expect(true);
                fast.write_all(b"x").await.unwrap();
                fast.flush().await.unwrap();
                fast.stream().unwrap()
            } else {
                slow = here.tcp_connect(to).await.unwrap();
                slow.expect(true);
                &mut slow
            };
            let mut counted = [0; 3];
            for (place, expected) in [(0, true), (1, false), (2, true)] {
                stream.expect(expected);
                sleep(5).await;
                let before = frames();
                sleep(20).await;
                counted[place] = frames() - before;
            }
            polls.set(counted);
        };
        let tasks: Vec<Task<'_>> = vec![
            Box::pin(async {
                let _ = here.run_on(&mut radio).await;
            }),
            Box::pin(async {
                let _ = there.run_on(&mut parents_radio).await;
            }),
            Box::pin(async {
                let listener = there.tcp_listen(7).unwrap();
                let _stream = listener.accept().await.unwrap();
                std::future::pending().await
            }),
            Box::pin(talk),
        ];
        run_with(tasks, || pass(&air));
        let [often, seldom, again] = polls.get();
        assert!(
            often > 4 * seldom && again > 4 * seldom,
            "{:?}",
            polls.get()
        );
    }
}
