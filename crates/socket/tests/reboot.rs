//! A node that loses its power: a new node continues with its saved connection.

#[allow(dead_code)]
#[path = "../examples/common/mod.rs"]
mod common;

use common::{MTU, Node, endpoint, node};
use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, Error, NodeEvent};
use redpoll_tcp::{Event, FreezeError, ThawError};

/// Carries packets in both directions until there are none.
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
            // Unsent data is also saved.
            settle([&mut sensor, &mut server], now);
        }
        let mut frozen = [0; 400];
        let len = sensor.tcp_freeze(now, here, &mut frozen).unwrap();
        assert!(len <= 300, "{len}");
        assert!(sensor.tcp_connection(here).is_none());

        // A new node with the same address, whose clock continues.
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
fn an_unusable_frozen_connection_is_refused_and_takes_no_slot() {
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
    // The slots are free again.
    assert_eq!(sensor.tcp_connections().count(), 1);
    sensor.tcp_abort(now, twin);
    sensor.tcp_release(now, twin);
    settle([&mut sensor, &mut server], now);
    for _ in 0..4 {
        sensor.tcp_connect(now, endpoint(2, 80)).unwrap();
    }
    assert_eq!(thaw(&mut sensor, frozen), Err(Error::NoSlot));
}

/// Rejected bytes use no slot: a connection in TIME-WAIT keeps its own.
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

const FLAGS: usize = 40 + 13;

fn packets(node: &mut Node, now: Instant) -> Vec<Vec<u8>> {
    let mut packet = [0; MTU];
    std::iter::from_fn(|| {
        let len = node.poll_packet(now, &mut packet)?;
        Some(packet[..len].to_vec())
    })
    .collect()
}

/// The node stays awake after it froze the connection, and packets arrive late. A reset in answer
/// to one of them would end the connection at the peer.
#[test]
fn a_late_packet_does_not_reset_a_frozen_connection() {
    let mut now = Instant::from_millis(1_000);
    let (mut sensor, mut server) = (node(1), node(2));
    // Either end may freeze: the one that connects, and the one that listens.
    for sensor_opens in [true, false] {
        let port = if sensor_opens { 80 } else { 81 };
        let (from, to) = match sensor_opens {
            true => (&mut sensor, &mut server),
            false => (&mut server, &mut sensor),
        };
        let number = if sensor_opens { 2 } else { 1 };
        let listener = to.tcp_listen(port).unwrap();
        let opened = from.tcp_connect(now, endpoint(number, port)).unwrap();
        let mut late = Vec::new();
        // The ends exchange a handshake and a byte in each direction, with delayed acknowledgments.
        let mut accepted = None;
        for round in 0..8 {
            now += Duration::from_millis(250);
            sensor.on_timeout(now);
            server.on_timeout(now);
            let (from, to) = match sensor_opens {
                true => (&mut sensor, &mut server),
                false => (&mut server, &mut sensor),
            };
            if accepted.is_none() {
                accepted = to.tcp_accept(listener);
                if let Some(accepted) = accepted {
                    to.tcp_send(now, accepted, &[1]).unwrap();
                    from.tcp_send(now, opened, &[2]).unwrap();
                }
            }
            if let (4, Some(accepted)) = (round, accepted) {
                let here = if sensor_opens { opened } else { accepted };
                sensor.tcp_send(now, here, &[4]).unwrap();
            }
            for packet in packets(&mut sensor, now) {
                server.input_packet(now, &packet).unwrap();
            }
            for packet in packets(&mut server, now) {
                sensor.input_packet(now, &packet).unwrap();
                late.push(packet);
            }
        }
        let accepted = accepted.unwrap();
        let (here, there) = match sensor_opens {
            true => (opened, accepted),
            false => (accepted, opened),
        };
        let mut frozen = [0; 400];
        let len = sensor.tcp_freeze(now, here, &mut frozen).unwrap();
        // New data and the end of the stream also arrive late.
        server.tcp_send(now, there, &[3]).unwrap();
        late.extend(packets(&mut server, now));
        server.tcp_close(now, there);
        late.extend(packets(&mut server, now));
        // The late packets: SYN-ACK, ACK (with a DSACK of a probe), data and FIN.
        let has = |flags: u8| late.iter().any(|packet| packet[FLAGS] & 0x1f == flags);
        assert_eq!(has(0x12), sensor_opens);
        assert!(has(0x10) && has(0x18) && has(0x11), "{late:?}");
        for packet in &late {
            // Except a SYN, which opens another connection.
            if packet[FLAGS] & 0x12 != 0x02 {
                let _ = sensor.input_packet(now, packet);
                assert_eq!(
                    packets(&mut sensor, now),
                    Vec::<Vec<u8>>::new(),
                    "{packet:?}"
                );
            }
        }
        let here = sensor
            .tcp_thaw(now, Duration::from_secs(1), &mut frozen[..len])
            .unwrap();
        let later = now + Duration::from_secs(2);
        server.on_timeout(later);
        settle([&mut sensor, &mut server], later);
        let mut out = [0; 10];
        assert_eq!(sensor.tcp_recv(later, here, &mut out), Ok(2));
        assert_eq!(out[..2], [if sensor_opens { 1 } else { 2 }, 3]);
        // After the end of the connection, a late packet gets the answer of RFC 9293 §3.10.7.1.
        sensor.tcp_abort(later, here);
        sensor.tcp_release(later, here);
        drop(packets(&mut sensor, later));
        let _ = sensor.input_packet(later, &late[late.len() - 1]);
        assert_eq!(packets(&mut sensor, later).len(), 1, "a reset");
    }
}
