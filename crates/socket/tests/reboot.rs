//! A node that loses its power: its connection is written down, and a node made anew goes on
//! with it.

#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;

use common::{MTU, Node, endpoint, node};
use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, Error, NodeEvent};
use redpoll_tcp::{Event, FreezeError, ThawError};

/// Carries packets both ways until there are none.
fn settle(nodes: [&mut Node; 2], now: Instant) {
    let mut packet = [0; MTU];
    let [a, b] = nodes;
    for _ in 0..4 {
        while let Some(len) = a.poll_packet(now, &mut packet) {
            b.input_packet(now, &packet[..len]).unwrap();
        }
        while let Some(len) = b.poll_packet(now, &mut packet) {
            a.input_packet(now, &packet[..len]).unwrap();
        }
    }
}

fn connected(sensor: &mut Node, server: &mut Node, now: Instant) -> [ConnId; 2] {
    let listener = server.tcp_listen(80).unwrap();
    let here = sensor.tcp_connect(now, endpoint(2, 80)).unwrap();
    settle([sensor, server], now);
    assert_eq!(
        sensor.poll_event(),
        Some(NodeEvent::Tcp(here, Event::Connected))
    );
    let there = server.tcp_accept(listener).unwrap();
    [here, there]
}

#[test]
fn a_connection_survives_a_reboot() {
    let now = Instant::from_millis(1_000);
    let (mut sensor, mut server) = (node(1), node(2));
    let [mut here, there] = connected(&mut sensor, &mut server, now);
    let mut received = Vec::new();
    for reading in 0..20u8 {
        sensor.tcp_send(now, here, &[reading; 30]).unwrap();
        if reading % 2 == 0 {
            // What is not even sent yet is written down as well.
            settle([&mut sensor, &mut server], now);
        }
        let mut frozen = [0; 400];
        let len = sensor.tcp_freeze(now, here, &mut frozen).unwrap();
        assert!(len <= 300, "{len}");
        assert!(sensor.tcp_connection(here).is_none());

        // Another node in all but its address, whose clock is where the first one's was.
        sensor = node(1);
        let slept = Duration::from_secs(60);
        here = sensor.tcp_thaw(now, slept, &mut frozen[..len]).unwrap();
        for _ in 0..3 {
            settle([&mut sensor, &mut server], now);
            let mut out = [0; 500];
            while let Ok(len @ 1..) = server.tcp_recv(now, there, &mut out) {
                received.extend_from_slice(&out[..len]);
            }
        }
    }
    let expected: Vec<u8> = (0..20).flat_map(|reading| [reading; 30]).collect();
    assert_eq!(received, expected);
    sensor.tcp_close(now, here);
    settle([&mut sensor, &mut server], now);
    let mut events = std::iter::from_fn(|| server.poll_event());
    assert!(events.any(|event| event == NodeEvent::Tcp(there, Event::PeerClosed)));
}

#[test]
fn what_cannot_go_on_is_refused_and_leaves_nothing() {
    let now = Instant::from_millis(1_000);
    let (mut sensor, mut server) = (node(1), node(2));
    let [here, _] = connected(&mut sensor, &mut server, now);
    let mut frozen = [0; 400];
    let short = sensor.tcp_freeze(now, here, &mut [0; 50]);
    assert_eq!(short, Err(FreezeError::NoRoom));
    assert!(sensor.tcp_connection(here).is_some(), "it goes on");
    let len = sensor.tcp_freeze(now, here, &mut frozen).unwrap();
    let again = sensor.tcp_freeze(now, here, &mut frozen);
    assert_eq!(again, Err(FreezeError::State));
    let frozen = &frozen[..len];
    let thaw = |node: &mut Node, bytes: &[u8]| {
        let mut copy = bytes.to_vec();
        node.tcp_thaw(now, Duration::ZERO, &mut copy)
    };
    let damaged = thaw(&mut sensor, &frozen[1..]);
    assert!(
        matches!(damaged, Err(Error::Thaw(ThawError::Version))),
        "{damaged:?}"
    );
    assert_eq!(
        thaw(&mut server, frozen),
        Err(Error::NoRoute),
        "of another node"
    );
    let twin = thaw(&mut sensor, frozen).unwrap();
    assert_eq!(thaw(&mut sensor, frozen), Err(Error::PortInUse), "twice");
    // The slots are there again.
    assert_eq!(sensor.tcp_connections().count(), 1);
    sensor.tcp_abort(now, twin);
    sensor.tcp_release(now, twin);
    settle([&mut sensor, &mut server], now);
    for _ in 0..4 {
        sensor.tcp_connect(now, endpoint(2, 80)).unwrap();
    }
    assert_eq!(thaw(&mut sensor, frozen), Err(Error::NoSlot));
}

/// Bytes that are refused cost nobody anything: a connection in TIME-WAIT keeps its slot.
#[test]
fn refused_bytes_take_no_slot() {
    let now = Instant::from_millis(1_000);
    let (mut sensor, mut server) = (node(1), node(2));
    let listener = server.tcp_listen(80).unwrap();
    for _ in 0..4 {
        let here = sensor.tcp_connect(now, endpoint(2, 80)).unwrap();
        settle([&mut sensor, &mut server], now);
        let there = server.tcp_accept(listener).unwrap();
        sensor.tcp_close(now, here);
        settle([&mut sensor, &mut server], now);
        server.tcp_close(now, there);
        settle([&mut sensor, &mut server], now);
        sensor.tcp_release(now, here);
        server.tcp_release(now, there);
        settle([&mut sensor, &mut server], now);
        while sensor.poll_event().is_some() {}
    }
    assert_eq!(sensor.tcp_connections().count(), 4);
    assert!(sensor.tcp_thaw(now, Duration::ZERO, &mut [9; 100]).is_err());
    assert_eq!(sensor.tcp_connections().count(), 4);
}
