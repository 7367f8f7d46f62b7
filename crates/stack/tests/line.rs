//! Whole nodes in a line: TCP, UDP and ICMPv6 through every layer.

use crate::common;

use common::{Fate, Line, address, endpoint};
use redpoll_base::{Duration, Rng};
use redpoll_stack::{Advertised, ConnId, DropReason, Error, NdConfig, NodeEvent};

/// Sends `total` patterned bytes from the first node to the last, which checks them; both close.
fn transfer(line: &mut Line, total: usize, patience: Duration) {
    let last = line.nodes.len() - 1;
    let listener = line.nodes[last].tcp_listen(80).unwrap();
    let now = line.now;
    let target = endpoint(last as u16 + 1, 80);
    let client = line.nodes[0].tcp_connect(now, target).unwrap();
    let mut server: Option<ConnId> = None;
    let (mut sent, mut received, mut ended) = (0, 0, false);
    let pattern = |i: usize| (i * 31 + i / 251) as u8;
    let end = line.now + patience;
    while !ended {
        assert!(line.now < end, "stuck with {received} of {total} bytes");
        let chunk: Vec<u8> = (sent..total.min(sent + 300)).map(pattern).collect();
        let now = line.now;
        if sent < total {
            match line.nodes[0].tcp_send(now, client, &chunk) {
                Ok(taken) => sent += taken,
                Err(Error::WouldBlock) => {}
                Err(error) => panic!("{error}"),
            }
            if sent == total {
                line.nodes[0].tcp_close(now, client);
            }
        }
        server = server.or_else(|| line.nodes[last].tcp_accept(listener));
        let mut buffer = [0; 700];
        if let Some(server) = server {
            match line.nodes[last].tcp_recv(now, server, &mut buffer) {
                Ok(0) => ended = true,
                Ok(len) => {
                    for byte in &buffer[..len] {
                        assert_eq!(*byte, pattern(received));
                        received += 1;
                    }
                }
                Err(Error::WouldBlock) => {}
                Err(error) => panic!("{error}"),
            }
        }
        line.run_for(Duration::from_millis(5));
    }
    assert_eq!(received, total);
    let now = line.now;
    line.nodes[last].tcp_close(now, server.unwrap());
    line.nodes[last].tcp_release(line.now, server.unwrap());
    line.run_for(Duration::from_secs(2));
    line.nodes[0].tcp_release(line.now, client);
}

#[test]
fn a_transfer_over_one_hop() {
    transfer(&mut Line::new(2, 1848), 20_000, Duration::from_secs(60));
}

#[test]
fn a_transfer_over_four_hops() {
    let mut line = Line::new(5, 1848);
    transfer(&mut line, 20_000, Duration::from_secs(120));
    assert!(line.nodes[2].counters().forwarded > 40);
}

#[test]
fn a_transfer_survives_lost_frames_and_lost_acknowledgements() {
    for seed in 0..5 {
        let mut line = Line::new(3, 1848);
        let mut rng = Rng::new(seed);
        line.fate = Box::new(move |_| match rng.below(10) {
            0..=2 => Fate::Lost,
            3 => Fate::AckLost,
            _ => Fate::Arrives,
        });
        transfer(&mut line, 10_000, Duration::from_secs(600));
    }
}

/// On a link that loses more frames than its retries repair, datagrams are lost, and TCP
/// retransmits them.
#[test]
fn a_transfer_survives_lost_datagrams() {
    let mut line = Line::new(3, 1848);
    let mut rng = Rng::new(9);
    line.fate = Box::new(move |_| match rng.below(100) {
        0..=79 => Fate::Lost,
        _ => Fate::Arrives,
    });
    transfer(&mut line, 4_000, Duration::from_secs(3_600));
    let lost: u32 = line.nodes.iter().map(|n| n.mac().counters().no_ack).sum();
    assert!(lost > 0, "the test wants links that give up");
}

#[test]
fn a_refused_connection_fails_at_once() {
    let mut line = Line::new(3, 1848);
    let now = line.now;
    let client = line.nodes[0].tcp_connect(now, endpoint(3, 9)).unwrap();
    line.run_for(Duration::from_millis(500));
    let events = line.take_events(0);
    let failed = |e: &NodeEvent| matches!(e, NodeEvent::Tcp(id, redpoll_tcp::Event::Failed(_)) if *id == client);
    assert!(events.iter().any(failed), "{events:?}");
    assert_eq!(
        line.nodes[2].counters().dropped(DropReason::NoConnection),
        1
    );
}

#[test]
fn a_server_of_four_slots_serves_a_thousand_clients() {
    let mut line = Line::new(2, 600);
    let listener = line.nodes[1].tcp_listen(80).unwrap();
    for round in 0..1_000 {
        let now = line.now;
        let client = line.nodes[0].tcp_connect(now, endpoint(2, 80)).unwrap();
        line.run_for(Duration::from_millis(200));
        let server = line.nodes[1]
            .tcp_accept(listener)
            .unwrap_or_else(|| panic!("round {round}"));
        let now = line.now;
        assert_eq!(line.nodes[1].tcp_send(now, server, b"hello"), Ok(5));
        // The server closes first and stays in TIME-WAIT.
        line.nodes[1].tcp_close(now, server);
        line.nodes[1].tcp_release(line.now, server);
        line.run_for(Duration::from_millis(200));
        let mut buffer = [0; 16];
        let now = line.now;
        assert_eq!(line.nodes[0].tcp_recv(now, client, &mut buffer), Ok(5));
        assert_eq!(line.nodes[0].tcp_recv(now, client, &mut buffer), Ok(0));
        line.nodes[0].tcp_close(now, client);
        line.nodes[0].tcp_release(line.now, client);
        line.run_for(Duration::from_millis(200));
    }
    assert!(line.nodes[1].counters().time_wait_recycled > 900);
}

#[test]
fn udp_datagrams_cross_the_line_whole() {
    let mut line = Line::new(4, 600);
    let to = line.nodes[3].udp_bind(7).unwrap();
    let from = line.nodes[0].udp_bind(1234).unwrap();
    let data: Vec<u8> = (0..400).map(|i| i as u8).collect();
    let now = line.now;
    line.nodes[0]
        .udp_send(now, from, endpoint(4, 7), &data)
        .unwrap();
    line.run_for(Duration::from_secs(1));
    assert_eq!(line.take_events(3), [NodeEvent::UdpReadable(to)]);
    let mut out = [0; 500];
    let (len, src) = line.nodes[3].udp_recv(to, &mut out).unwrap();
    assert_eq!((&out[..len], src), (&data[..], endpoint(1, 1234)));
}

#[test]
fn a_ping_comes_back_and_a_short_hop_limit_is_reported() {
    let mut line = Line::new(4, 600);
    let now = line.now;
    line.nodes[0].ping(now, address(4), 5, 6, 56).unwrap();
    line.run_for(Duration::from_secs(1));
    let reply = NodeEvent::EchoReply { ident: 5, seq: 6 };
    assert_eq!(line.take_events(0), [reply]);
    assert_eq!(line.nodes[0].counters().icmp_errors_sent, 0);
}

#[test]
fn without_a_free_slot_packets_are_dropped_with_their_reason() {
    let mut line = Line::new(3, 600);
    let from = line.nodes[0].udp_bind(1).unwrap();
    line.nodes[2].udp_bind(7).unwrap();
    let now = line.now;
    let mut refused = 0;
    for _ in 0..50 {
        let sent = line.nodes[0].udp_send(now, from, endpoint(3, 7), &[0; 200]);
        refused += usize::from(sent == Err(Error::WouldBlock));
    }
    assert!(refused > 30);
    line.run_for(Duration::from_secs(5));
    let now = line.now;
    let again = line.nodes[0].udp_send(now, from, endpoint(3, 7), &[0; 200]);
    assert_eq!(again, Ok(()));
}

/// RFC 6775: a host without configuration learns prefix, context and router, registers there, and
/// is reachable by its new address.
#[test]
fn an_unconfigured_host_joins_by_neighbour_discovery() {
    let mut line = Line::new(2, 600);
    let nd = NdConfig::default().with(|it| {
        it.advertise = Some(
            Advertised::new(common::prefix(), address(1)).with(|it| it.context_lifetime_min = 600),
        )
    });
    line.nodes[0] = common::node_with(1, 600, |config| config.nd = nd);
    line.nodes[1] = common::node_with(2, 600, |config| {
        config.address = redpoll_base::Addr::UNSPECIFIED;
        config.contexts = Default::default();
        config.nd.solicit = true;
    });
    line.run_for(Duration::from_secs(3));
    assert_eq!(line.nodes[1].address(), address(2));
    let now = line.now;
    line.nodes[0].ping(now, address(2), 1, 1, 8).unwrap();
    line.run_for(Duration::from_secs(1));
    let reply = NodeEvent::EchoReply { ident: 1, seq: 1 };
    assert_eq!(line.take_events(0), [reply]);
    // The registration is renewed before its hour is over; nothing else is sent.
    let before = line.frames;
    line.run_for(Duration::from_secs(3_600));
    let now = line.now;
    line.nodes[0].ping(now, address(2), 1, 2, 8).unwrap();
    line.run_for(Duration::from_secs(1));
    assert_eq!(line.take_events(0).len(), 1);
    assert!(line.frames - before < 12, "{}", line.frames - before);
}
