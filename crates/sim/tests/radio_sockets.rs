//! Async sockets over nodes that are on the simulator's radio, by the driver that a board has.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use embedded_io_async::{Read, Write};
use redpoll_base::{Addr, LeafMemory, Rng};
use redpoll_mac::{MacConfig, Radio};
use redpoll_sim::ether::Ether;
use redpoll_sim::radio::Config;
use redpoll_socket::nal::{Net, Watch};
use redpoll_stack::{LeafStorage, Node, NodeConfig, Route, Via};
use redpoll_tcp::Endpoint;
use redpoll_wire::ieee802154::Address;

fn net(radio: &mut impl Radio, [short, peer]: [u16; 2]) -> Node<LeafMemory> {
    let mac = MacConfig {
        short,
        caps: radio.caps(),
        ..MacConfig::default()
    };
    radio.set_identity(mac.identity());
    let prefix = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let config = NodeConfig::leaf(mac, prefix, short, [7; 16]);
    let storage = Box::leak(Box::new(LeafStorage::NEW));
    let mut node = Node::new(config, storage.memory(), Rng::new(short.into()));
    let everything = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(Address::Short(peer)),
    };
    node.add_route(everything).unwrap();
    node
}

#[test]
fn three_thousand_bytes_come_back() {
    let ether = Ether::new(2, &Config::default());
    let clock = || ether.now();
    let (mut here, mut there) = (ether.radio(0), ether.radio(1));
    let watches = || [const { Watch::FREE }; 3];
    let server = Net::<LeafMemory, _, _>::new(net(&mut here, [1, 2]), clock, watches());
    let client = Net::<LeafMemory, _, _>::new(net(&mut there, [2, 1]), clock, watches());
    let to = server.ask(|node, _| Endpoint::new(node.address(), 7));
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
    let mut drivers = [
        Box::pin(server.run_on(&mut here)),
        Box::pin(client.run_on(&mut there)),
    ];
    let mut cx = Context::from_waker(Waker::noop());
    let back = loop {
        // Every task is asked, whether it was woken or not: time does not pass meanwhile.
        for _ in 0..4 {
            for driver in &mut drivers {
                assert!(driver.as_mut().poll(&mut cx).is_pending());
            }
            assert!(serve.as_mut().poll(&mut cx).is_pending());
        }
        if let std::task::Poll::Ready(back) = ask.as_mut().poll(&mut cx) {
            break back;
        }
        drivers.iter_mut().for_each(|it| {
            let _ = it.as_mut().poll(&mut cx);
        });
        assert!(ether.step(), "nothing is to come");
    };
    let expected: Vec<u8> = (0..30).flat_map(|number| [number; 100]).collect();
    assert_eq!(back, expected);
}
