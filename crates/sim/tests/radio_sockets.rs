//! Async sockets over nodes on the simulator's radio, with the driver that boards use.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use embedded_io_async::{Read, Write};
use redpoll_base::{Addr, LeafMemory, Memory, Rng, StaticMemory};
use redpoll_mac::{MacConfig, Radio};
use redpoll_sim::{Ether, RadioConfig};
use redpoll_socket::nal::{Clock, Net, Profile, Watch};
use redpoll_stack::{
    BorderStorage, LeafStorage, Node, NodeConfig, NodeMemory, Route, RouterStorage, Via,
};
use redpoll_tcp::{Endpoint, Standard};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use crate::radio::nrf::{Halves, Nrf};

type Watches = [Watch; 3];

const WATCHES: Watches = [const { Watch::FREE }; 3];
const PREFIX: Addr = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

fn mac(radio: &mut impl Radio, short: u16) -> MacConfig {
    let mac = MacConfig::default().with(|it| {
        it.short = short;
        it.caps = radio.caps();
    });
    radio.set_identity((&mac).into());
    mac
}

/// Returns a node with a default route and host routes.
fn node<M: Memory>(
    config: NodeConfig<Standard, M::Forwards>,
    memory: NodeMemory<M>,
    everything: Via,
    nodes: &[(u16, u16)],
) -> Node<M> {
    let seed = config.mac.short.into();
    let mut node = Node::new(config, memory, Rng::new(seed));
    let everything = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: everything,
    };
    node.add_route(everything).unwrap();
    for (to, over) in nodes {
        let route = Route {
            prefix: addr::from_prefix_and_short(&PREFIX, *to),
            len: 128,
            via: Via::Neighbour(Address::Short(*over)),
        };
        node.add_route(route).unwrap();
    }
    node
}

fn leaf(radio: &mut impl Radio, [short, peer]: [u16; 2]) -> Node<LeafMemory> {
    let config = NodeConfig::leaf(mac(radio, short), PREFIX, short, [7; 16]);
    let storage = Box::leak(Box::new(LeafStorage::NEW));
    let peer = Via::Neighbour(Address::Short(peer));
    node(config, storage.memory(), peer, &[])
}

#[test]
fn three_thousand_bytes_come_back() {
    let ether = Ether::new(2, &RadioConfig::default());
    let time = ether.radio(0);
    let clock = || time.now();
    let (mut here, mut there) = (ether.radio(0), ether.radio(1));
    let server = Net::<LeafMemory, _, _>::new(leaf(&mut here, [1, 2]), clock, WATCHES);
    let client = Net::<LeafMemory, _, _>::new(leaf(&mut there, [2, 1]), clock, WATCHES);
    let to = server.ask(|node, _| Endpoint::new(node.address(), 7));
    let drivers: [Driver<'_>; 2] = [
        Box::pin(server.run_on(&mut here)),
        Box::pin(client.run_on(&mut there)),
    ];
    assert_eq!(echoed(&ether, &server, &client, to, drivers), expected());
}

/// Checks that the other node gets every acknowledgment in time and retransmits nothing, if the
/// leaf's driver only receives and sends, like `embassy-nrf`'s, so that the leaf's node creates the
/// acknowledgments.
#[test]
fn three_thousand_bytes_come_back_over_a_driver_without_acknowledgments() {
    let ether = Ether::new(2, &RadioConfig::default());
    let time = ether.radio(0);
    let clock = || time.now();
    let (mut here, mut there) = (Halves::new(Nrf::new(ether.raw(0))), ether.radio(1));
    let server = Net::<LeafMemory, _, _>::new(leaf(&mut here, [1, 2]), clock, WATCHES);
    let client = Net::<LeafMemory, _, _>::new(leaf(&mut there, [2, 1]), clock, WATCHES);
    let to = server.ask(|node, _| Endpoint::new(node.address(), 7));
    let drivers: [Driver<'_>; 2] = [
        Box::pin(server.run_on(&mut here)),
        Box::pin(client.run_on(&mut there)),
    ];
    assert_eq!(echoed(&ether, &server, &client, to, drivers), expected());
    let [here, there] = [
        server.ask(|node, _| *node.mac().counters()),
        client.ask(|node, _| *node.mac().counters()),
    ];
    assert_eq!((here.acks_late, here.radio_faults), (0, 0), "{here:?}");
    assert!(here.acks_sent > 60, "{here:?}");
    assert_eq!(there.radio_faults, 0, "{there:?}");
}

type Driver<'a> = Pin<Box<dyn Future<Output = Infallible> + 'a>>;

fn expected() -> Vec<u8> {
    (0..30).flat_map(|number| [number; 100]).collect()
}

/// Sends 3,000 bytes to the echo service of `server`, and returns the answer.
fn echoed<const N: usize, P: Profile, Q: Profile, C: Clock, D: Clock>(
    ether: &Ether,
    server: &Net<P, C, Watches>,
    client: &Net<Q, D, Watches>,
    to: Endpoint,
    mut drivers: [Driver<'_>; N],
) -> Vec<u8> {
    let mut serve = pin!(async {
        let listener = server.tcp_listen(7).unwrap();
        let mut stream = listener.accept().await.unwrap();
        let mut bytes = [0; 100];
        while let Ok(len @ 1..) = stream.read(&mut bytes).await {
            stream.write_all(&bytes[..len]).await.unwrap();
        }
    });
    let mut ask = pin!(async {
        let mut stream = client.tcp_connect(to).await.unwrap();
        let mut back = Vec::new();
        for number in 0..30 {
            stream.write_all(&[number; 100]).await.unwrap();
            let mut bytes = [0; 100];
            stream.read_exact(&mut bytes).await.unwrap();
            back.extend(bytes);
        }
        back
    });
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        // Every task is polled, whether it was woken or not: time does not pass meanwhile.
        for _ in 0..4 {
            for driver in &mut drivers {
                assert!(driver.as_mut().poll(&mut cx).is_pending());
            }
            assert!(serve.as_mut().poll(&mut cx).is_pending());
        }
        if let Poll::Ready(back) = ask.as_mut().poll(&mut cx) {
            return back;
        }
        drivers.iter_mut().for_each(|it| {
            let _ = it.as_mut().poll(&mut cx);
        });
        assert!(ether.step(), "no event is pending");
    }
}

/// Checks that a leaf and a border router, with typical memory and configuration, exchange packets
/// through a router in both directions.
#[test]
fn a_leaf_talks_to_a_border_router_over_a_router() {
    let ether = Ether::new(3, &RadioConfig::default());
    let time = ether.radio(0);
    let clock = || time.now();
    let [mut first, mut second, mut third] = [0, 1, 2].map(|station| ether.radio(station));
    let config = NodeConfig::border(mac(&mut first, 1), PREFIX, 1, [7; 16]);
    let border_address = config.address;
    let memory = Box::leak(Box::new(BorderStorage::NEW)).memory();
    let border = node(config, memory, Via::Host, &[(2, 2), (3, 2)]);
    let config = NodeConfig::router(mac(&mut second, 2), PREFIX, border_address, 2, [7; 16]);
    let memory = Box::leak(Box::new(RouterStorage::NEW)).memory();
    let over = Via::Neighbour(Address::Short(1));
    let router = node(config, memory, over, &[(3, 3)]);
    let leaf = leaf(&mut third, [3, 2]);
    let border = Net::<StaticMemory, _, _>::new(border, clock, WATCHES);
    let router = Net::<StaticMemory, _, _>::new(router, clock, WATCHES);
    let leaf = Net::<LeafMemory, _, _>::new(leaf, clock, WATCHES);
    let drivers: [Driver<'_>; 3] = [
        Box::pin(border.run_on(&mut first)),
        Box::pin(router.run_on(&mut second)),
        Box::pin(leaf.run_on(&mut third)),
    ];
    let to = Endpoint::new(border_address, 7);
    assert_eq!(echoed(&ether, &border, &leaf, to, drivers), expected());
    let forwarded = router.ask(|node, _| node.counters().forwarded);
    assert!(forwarded > 60, "{forwarded}");
}
