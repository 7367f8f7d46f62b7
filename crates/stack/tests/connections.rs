//! Connection slots: their memory is available again whatever the peer, the route and the
//! application do.

use crate::common;

use common::lone::{Lone, SLOTS};
use common::packets::{ACK, FIN, RST, SYN, Tcp, icmp, read_tcp};
use common::peer::{HOST, Peer, accepted};
use common::{address, node_with};
use redpoll_base::{Addr, Duration};
use redpoll_stack::transport::{Event, State};
use redpoll_stack::{Advertised, DropReason, Error, NdConfig, NodeEvent, Route, Via};
use redpoll_tcp::Endpoint;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

const SLOTS_TCP: usize = 4;

fn open(lone: &Lone) -> usize {
    lone.node.tcp_connections().count()
}

#[test]
fn releasing_an_open_connection_resets_it() {
    let mut lone = Lone::border(|_| {});
    let (_peer, conn) = accepted(&mut lone);
    lone.node.tcp_release(lone.now, conn);
    let sent = lone.host_packets();
    assert_eq!(read_tcp(&sent[0]).unwrap().0 & RST, RST);
    assert_eq!(open(&lone), 0);
}

#[test]
fn a_released_handle_has_no_calls_and_no_events() {
    let mut lone = Lone::border(|_| {});
    let (mut peer, conn) = accepted(&mut lone);
    let now = lone.now;
    assert_eq!(lone.node.tcp_send(now, conn, b"goodbye"), Ok(7));
    lone.node.tcp_close(now, conn);
    lone.node.tcp_release(lone.now, conn);
    assert_eq!(
        lone.node.tcp_send(now, conn, b"x"),
        Err(Error::UnknownHandle)
    );
    assert_eq!(
        lone.node.tcp_recv(now, conn, &mut [0; 9]),
        Err(Error::UnknownHandle)
    );
    lone.node.tcp_abort(now, conn);
    // Data sent before the release still arrives, with the FIN.
    let sent = lone.host_packets();
    let (flags, _, _, _, data) = read_tcp(&sent[0]).unwrap();
    assert_eq!((flags & FIN, data), (FIN, &b"goodbye"[..]));
    peer.ack += 8;
    peer.give(&mut lone, FIN | ACK, b"");
    assert_eq!(lone.node.poll_event(), None);
    let state = lone.node.tcp_connection(conn).map(|c| c.state());
    assert_eq!(state, Some(State::TimeWait));
}

/// A peer that keeps sending must not hold the slot for ever (RFC 9293 §3.6.1): after the node's
/// own data, it gets a reset.
#[test]
fn a_peer_that_keeps_sending_is_reset_after_the_node_s_data() {
    let mut lone = Lone::border(|_| {});
    let (mut peer, conn) = accepted(&mut lone);
    peer.give(&mut lone, ACK, &[1; 900]);
    let now = lone.now;
    assert_eq!(lone.node.tcp_send(now, conn, &[7; 400]), Ok(400));
    lone.node.tcp_close(now, conn);
    lone.node.tcp_release(lone.now, conn);
    // While the peer has not acknowledged the node's data, the node keeps its window open.
    let mut ours = 0;
    for _ in 0..4 {
        peer.give(&mut lone, ACK, &[2; 400]);
        for packet in lone.host_packets() {
            let (flags, _, _, window, data) = read_tcp(&packet).unwrap();
            assert_eq!(flags & RST, 0, "our data first");
            assert!(window > 0);
            ours += data.len();
        }
    }
    assert_eq!(ours, 400);
    peer.ack += 401;
    peer.give(&mut lone, ACK, b"");
    peer.give(&mut lone, ACK, b"more");
    let last = lone.host_packets().pop().unwrap();
    assert_eq!(read_tcp(&last).unwrap().0 & RST, RST);
    assert_eq!(open(&lone), 0);
}

/// The slot of an aborted connection becomes free although its reset has no route.
#[test]
fn a_reset_without_a_route_does_not_keep_its_slot() {
    let mut lone = Lone::border(|_| {});
    let (_peer, conn) = accepted(&mut lone);
    lone.node.clear_routes();
    let now = lone.now;
    lone.node.tcp_abort(now, conn);
    lone.node.tcp_release(lone.now, conn);
    lone.run_for(Duration::from_secs(1));
    assert!(lone.host_packets().is_empty());
    assert_eq!(open(&lone), 0);
    assert_eq!(lone.dropped(DropReason::NoRoute), 1);
}

/// A connection without a route behaves as over a dead link: it backs off, continues when the route
/// is back, and otherwise fails.
#[test]
fn a_connection_without_a_route_backs_off_and_fails() {
    for route_returns in [true, false] {
        let mut lone = Lone::border(|config| {
            config.tcp.max_retries = 5;
            config.tcp.min_rto = Duration::from_secs(1);
        });
        let (mut peer, conn) = accepted(&mut lone);
        lone.node.clear_routes();
        let now = lone.now;
        assert_eq!(lone.node.tcp_send(now, conn, &[7; 300]), Ok(300));
        lone.run_for(Duration::from_secs(10));
        assert!(lone.host_packets().is_empty());
        let tries = lone.dropped(DropReason::NoRoute);
        assert!((2..=8).contains(&tries), "{tries}");
        if route_returns {
            let via = Via::Host;
            let prefix = Addr::UNSPECIFIED;
            lone.node
                .add_route(Route {
                    prefix,
                    len: 0,
                    via,
                })
                .unwrap();
            lone.run_for(Duration::from_secs(20));
            peer.acknowledge(&mut lone);
            let connection = lone.node.tcp_connection(conn).unwrap();
            assert_eq!(
                (connection.state(), connection.unacked()),
                (State::Established, 0)
            );
        } else {
            lone.run_for(Duration::from_secs(600));
            let events: Vec<_> = std::iter::from_fn(|| lone.node.poll_event()).collect();
            let failed =
                |e: &NodeEvent| matches!(e, NodeEvent::Tcp(c, Event::Failed(_)) if *c == conn);
            assert!(events.iter().any(failed), "{events:?}");
            lone.node.tcp_release(lone.now, conn);
            lone.run_for(Duration::from_secs(1));
            assert_eq!(open(&lone), 0);
        }
    }
}

/// A connection may fail before the application accepts it.
#[test]
fn a_connection_reset_in_the_backlog_leaves_no_trace() {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    for told in [true, false] {
        let mut peer = Peer::open(&mut lone, 5_000);
        peer.give(&mut lone, ACK, b"data");
        if told {
            assert_eq!(lone.node.poll_event(), Some(NodeEvent::Accepted(listener)));
            assert_eq!(lone.node.poll_event(), None);
        }
        peer.give(&mut lone, RST, b"");
        if told {
            assert_eq!(lone.node.poll_event(), None);
        }
        assert_eq!(lone.node.tcp_accept(listener), None);
        while let Some(event) = lone.node.poll_event() {
            assert_eq!(event, NodeEvent::Accepted(listener));
        }
        assert_eq!(open(&lone), 0);
    }
}

#[test]
fn data_received_before_accept_can_be_read_after_it() {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    let mut peer = Peer::open(&mut lone, 5_000);
    peer.give(&mut lone, FIN | ACK, b"data");
    while lone.node.poll_event().is_some() {}
    let conn = lone.node.tcp_accept(listener).unwrap();
    let (now, mut out) = (lone.now, [0; 9]);
    assert_eq!(
        lone.node.tcp_recv(now, conn, &mut []),
        Err(Error::WouldBlock)
    );
    assert_eq!(lone.node.tcp_peek(conn), (&b"data"[..], &[][..]));
    assert_eq!(lone.node.tcp_consume(now, conn, 1), 1);
    assert_eq!(lone.node.tcp_recv(now, conn, &mut out), Ok(3));
    assert_eq!(lone.node.tcp_recv(now, conn, &mut out), Ok(0));
    peer.give(&mut lone, RST, b"");
    let events: Vec<_> = std::iter::from_fn(|| lone.node.poll_event()).collect();
    assert!(matches!(events[..], [NodeEvent::Tcp(c, Event::Failed(_))] if c == conn));
}

#[test]
fn closing_a_listener_resets_waiting_connections_and_frees_the_port() {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    let mut waiting = Peer::open(&mut lone, 5_000);
    while lone.node.poll_event().is_some() {}
    lone.node.tcp_unlisten(lone.now, listener);
    assert_eq!(lone.node.tcp_accept(listener), None);
    assert_eq!(waiting.acknowledge(&mut lone) & RST, RST);
    assert_eq!(open(&lone), 0);
    assert!(lone.node.tcp_listen(80).is_ok());
}

/// RFC 6056 §3.2: each connection gets a different local port, and never the port of a listener.
#[test]
fn ephemeral_ports_are_apart() {
    let mut lone = Lone::border(|_| {});
    let mut ports = Vec::new();
    for _ in 0..SLOTS_TCP {
        let remote = Endpoint {
            addr: HOST,
            port: 7,
        };
        let conn = lone.node.tcp_connect(lone.now, remote).unwrap();
        ports.push(lone.node.tcp_connection(conn).unwrap().local().port);
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), SLOTS_TCP);
    // RFC 6056 §3.3: one port does not reveal the next.
    assert!(ports.windows(2).all(|pair| pair[1] - pair[0] > 1));
    assert!(ports.iter().all(|port| *port >= 49_152));
    // Nodes with the same seed choose the same port first, unless a listener has that port.
    let first = {
        let mut lone = Lone::border(|_| {});
        let remote = Endpoint {
            addr: HOST,
            port: 7,
        };
        let conn = lone.node.tcp_connect(lone.now, remote).unwrap();
        lone.node.tcp_connection(conn).unwrap().local().port
    };
    let mut lone = Lone::border(|_| {});
    lone.node.tcp_listen(first).unwrap();
    let remote = Endpoint {
        addr: HOST,
        port: 7,
    };
    let conn = lone.node.tcp_connect(lone.now, remote).unwrap();
    let port = lone.node.tcp_connection(conn).unwrap().local().port;
    assert_ne!(port, first);
}

/// The node's connections share the radio in turn, however often the host polls for a packet.
#[test]
fn connections_on_the_link_take_turns_whatever_the_host_side_does() {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    // Two peers on the link get the first connection slots, a peer at the host gets the third.
    for neighbour in [5, 6] {
        let from = address(neighbour);
        let mut segment = Tcp {
            src_port: 5_000,
            dst_port: 80,
            flags: SYN,
            window: 4_000,
            ..Tcp::default()
        };
        lone.link_sends(neighbour, &segment.packet(from, address(1)));
        let (_, answer) = lone.link_packets().remove(0);
        segment.ack = read_tcp(&answer).unwrap().1.wrapping_add(1);
        (segment.seq, segment.flags) = (1, ACK);
        lone.link_sends(neighbour, &segment.packet(from, address(1)));
    }
    let mut peer = Peer::open(&mut lone, 5_000);
    for _ in [5, 6] {
        let conn = lone.node.tcp_accept(listener).unwrap();
        let now = lone.now;
        lone.node.tcp_send(now, conn, &[7; 1_400]).unwrap();
    }
    peer.seq += 1;
    // Before each frame, the host's peer leaves a gap in its data and takes the acknowledgment.
    for _ in 0..30 {
        peer.give(&mut lone, ACK, b"x");
        peer.seq -= 1;
        assert_eq!(lone.host_packets().len(), 1);
        lone.run_frames(1);
    }
    let order: Vec<Address> = lone.link_packets().iter().map(|(to, _)| *to).collect();
    assert!(order.len() >= 4, "{order:?}");
    assert!(order[..4].windows(2).all(|w| w[0] != w[1]), "{order:?}");
}

/// RFC 9293 §3.6.1, MAY-2: TIME-WAIT gives way only to a new connection.
#[test]
fn time_wait_is_replaced_only_where_a_listener_exists() {
    let mut lone = Lone::border(|_| {});
    let now = lone.now;
    let remote = Endpoint {
        addr: HOST,
        port: 5_000,
    };
    let conn = lone.node.tcp_connect(now, remote).unwrap();
    let syn = lone.host_packets().remove(0);
    let (_, seq, ..) = read_tcp(&syn).unwrap();
    let local = u16::from_be_bytes([syn[40], syn[41]]);
    let give = |lone: &mut Lone, flags, seq, ack| {
        let segment = Tcp {
            src_port: 5_000,
            dst_port: local,
            seq,
            ack,
            flags,
            window: 4_000,
            data: b"",
        };
        lone.host_sends(&segment.packet(HOST, address(1))).unwrap();
    };
    give(&mut lone, SYN | ACK, 100, seq + 1);
    lone.host_packets();
    lone.node.tcp_close(now, conn);
    lone.node.tcp_release(lone.now, conn);
    lone.host_packets();
    give(&mut lone, FIN | ACK, 101, seq + 2);
    lone.host_packets();
    let state = |lone: &Lone| lone.node.tcp_connection(conn).map(|c| c.state());
    assert_eq!(state(&lone), Some(State::TimeWait));
    give(&mut lone, SYN, 100_000, 0);
    assert_eq!(state(&lone), Some(State::TimeWait), "nobody listens there");
    lone.host_packets();
    lone.node.tcp_listen(local).unwrap();
    give(&mut lone, SYN, 100_000, 0);
    assert_eq!(state(&lone), None);
    let answer = lone.host_packets().remove(0);
    assert_eq!(read_tcp(&answer).unwrap().0, SYN | ACK);
}

/// RFC 9293 §3.6.1: the node acknowledges a repeated FIN after another connection got the slot in
/// TIME-WAIT, and also while it sends SYN cookies. Other segments without a connection then get no
/// answer.
#[test]
fn a_fin_is_acknowledged_after_time_wait_had_to_make_room() {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    let mut first = Peer::open(&mut lone, 5_000);
    let conn = lone.node.tcp_accept(listener).unwrap();
    let now = lone.now;
    lone.node.tcp_close(now, conn);
    lone.node.tcp_release(now, conn);
    assert_eq!(first.acknowledge(&mut lone) & FIN, FIN);
    first.give(&mut lone, FIN | ACK, b"");
    // The acknowledgment of the peer's FIN leaves, and is lost.
    assert_eq!(lone.host_packets().len(), 1);
    for port in 0..SLOTS_TCP as u16 {
        Peer::open(&mut lone, 6_000 + port);
    }
    assert_eq!(lone.node.counters().time_wait_recycled, 1);
    // With more half-open connections than entries, the node sends SYN cookies.
    for port in 0..64 {
        Peer::half_open(&mut lone, 7_000 + port);
    }
    assert!(lone.node.counters().syn_cookies_sent > 0);

    let again = |lone: &mut Lone, seq, ack| {
        let (seq, ack) = (first.seq.wrapping_add(seq), first.ack.wrapping_add(ack));
        let fin = Tcp {
            seq,
            ack,
            ..first.segment(FIN | ACK, b"")
        };
        let taken = lone.host_sends(&fin.packet(HOST, address(1))).is_ok();
        (taken, lone.host_packets())
    };
    let before = u32::MAX;
    for _ in 0..2 {
        let (taken, answers) = again(&mut lone, before, 0);
        assert!(taken);
        let (flags, seq, ack, ..) = read_tcp(&answers[0]).unwrap();
        assert_eq!((flags, seq, ack), (ACK, first.ack, first.seq));
        assert_eq!(answers.len(), 1);
    }
    // A FIN with other numbers is not of the former connection, and gets no answer.
    for (seq, ack) in [(0, 0), (before, 1), (before, before)] {
        assert_eq!(again(&mut lone, seq, ack).1, Vec::<Vec<u8>>::new());
    }
}

/// RFC 8201 §4: a path MTU below 1280 is discarded.
#[test]
fn packet_too_big_does_not_shrink_segments() {
    let mut lone = Lone::border(|_| {});
    let (mut peer, conn) = accepted(&mut lone);
    let now = lone.now;
    assert_eq!(lone.node.tcp_send(now, conn, &[7; 900]), Ok(900));
    let sent = lone.host_packets();
    let before = lone.node.tcp_connection(conn).unwrap().info().eff_snd_mss;
    for mtu in [0u32, 100, 1_279] {
        let rest = [&mtu.to_be_bytes()[..], &sent[0]].concat();
        lone.host_sends(&icmp(HOST, address(1), 64, 2, 0, &rest))
            .unwrap();
    }
    let connection = lone.node.tcp_connection(conn).unwrap();
    assert_eq!(connection.info().eff_snd_mss, before);
    assert_eq!(lone.dropped(DropReason::IcmpIgnored), 3);
    assert!(lone.host_packets().is_empty(), "nothing is sent again");
    peer.acknowledge(&mut lone);
}

/// RFC 8201 §4: over a host link with a larger MTU, segments follow the reported path MTU if the
/// message quotes a segment in flight (RFC 5927 §4.1).
#[test]
fn packet_too_big_makes_smaller_segments() {
    let mut lone = Lone::border(|config| config.tcp.mss = 1_440);
    let listener = lone.node.tcp_listen(80).unwrap();
    let mut peer = Peer {
        port: 5_000,
        seq: 1_000,
        ack: 0,
    };
    let mss = [2, 4, 5, 160]; // 1,440
    let syn = peer.segment(SYN, b"");
    lone.host_sends(&syn.packet_with(HOST, address(1), &mss))
        .unwrap();
    let answer = lone.host_packets();
    peer.seq += 1;
    peer.ack = read_tcp(&answer[0]).unwrap().1.wrapping_add(1);
    peer.give(&mut lone, ACK, b"");
    let conn = lone.node.tcp_accept(listener).unwrap();
    let now = lone.now;
    assert_eq!(lone.node.tcp_send(now, conn, &[7; 1_440]), Ok(1_440));
    let poll = |lone: &mut Lone| {
        let mut out = [0; 1_500];
        let len = lone.node.poll_packet(lone.now, &mut out)?;
        Some(out[..len].to_vec())
    };
    let large = poll(&mut lone).unwrap();
    assert_eq!(large.len(), 1_500);
    assert_eq!(poll(&mut lone), None);
    let too_big = |lone: &mut Lone, mtu: u32, quoted: &[u8]| {
        let rest = [&mtu.to_be_bytes()[..], &quoted[..1_200]].concat();
        lone.host_sends(&icmp(HOST, address(1), 64, 2, 0, &rest))
            .unwrap();
        poll(lone).map(|packet| packet.len())
    };
    let mut forged = large.clone();
    forged[44] ^= 1;
    assert_eq!(too_big(&mut lone, 1_300, &forged), None, "a number not out");
    forged = large.clone();
    forged[41] ^= 1;
    assert_eq!(too_big(&mut lone, 1_300, &forged), None, "another port");
    for mtu in [0, 1_279, 1_500, 9_000, u32::MAX] {
        assert_eq!(too_big(&mut lone, mtu, &large), None, "{mtu}");
    }
    assert_eq!(too_big(&mut lone, 1_300, &large), Some(1_300));
    assert_eq!(poll(&mut lone).unwrap().len(), 1_500 - 1_300 + 60);
}

/// A registered neighbour is reached by radio, also where the default route leads to the host,
/// until its registration ends.
#[test]
fn a_registered_neighbour_is_on_link_until_its_registration_ends() {
    let advertised =
        Advertised::new(common::prefix(), address(1)).with(|it| it.context_lifetime_min = 600);
    let mut lone = Lone::border(|config| {
        config.nd = NdConfig::default().with(|it| it.advertise = Some(advertised))
    });
    lone.node.clear_routes();
    let (prefix, via) = (Addr::UNSPECIFIED, Via::Host);
    lone.node
        .add_route(Route {
            prefix,
            len: 0,
            via,
        })
        .unwrap();
    let register = |src: Addr, link: u16, hop_limit| {
        let target = addr::link_local_from_short(1);
        let mut rest = vec![0; 4];
        rest.extend(target.0);
        let [a, b] = link.to_be_bytes();
        rest.extend([1, 1, a, b, 0, 0, 0, 0]);
        rest.extend([33, 2, 0, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 0, 0, 9]);
        icmp(src, target, hop_limit, 135, 0, &rest)
    };
    let is_near = |lone: &mut Lone, dst: Addr| {
        let conn = lone
            .node
            .tcp_connect(lone.now, Endpoint { addr: dst, port: 7 });
        let host = lone.host_packets().len();
        let link = lone.link_packets().len();
        lone.node.tcp_abort(lone.now, conn.unwrap());
        lone.node.tcp_release(lone.now, conn.unwrap());
        assert_eq!(host + link, 1, "one SYN one way");
        link == 1
    };
    let nine = address(9);
    assert!(!is_near(&mut lone, nine));
    // Invalid registrations: hop limit 254, address outside the prefix, broadcast link address.
    lone.link_sends(9, &register(nine, 9, 254));
    lone.link_sends(9, &register(HOST, 9, 255));
    lone.link_sends(9, &register(nine, 0xffff, 255));
    lone.link_packets();
    lone.host_packets();
    assert!(!is_near(&mut lone, nine));
    assert!(!is_near(&mut lone, HOST));
    lone.link_sends(9, &register(nine, 9, 255));
    assert_eq!(lone.link_packets().len(), 1, "the answer");
    assert!(is_near(&mut lone, nine));
    lone.run_for(Duration::from_secs(301));
    assert!(!is_near(&mut lone, nine));
    assert_eq!(lone.node.lowpan().free_slots(), SLOTS);
}

/// RFC 4861 §6.3.4: a host stops using a router that advertises a lifetime of zero.
#[test]
fn a_router_with_a_lifetime_of_zero_is_left() {
    let mut node = node_with(2, 600, |config| {
        config.address = Addr::UNSPECIFIED;
        config.nd.solicit = true;
    });
    let mut lone = Lone::border(|_| {});
    let advertise = |lifetime: u16, hop_limit, from: Addr| {
        let [a, b] = lifetime.to_be_bytes();
        let mut rest = vec![64, 0, a, b, 0, 0, 0, 0, 0, 0, 0, 0];
        rest.extend([3, 4, 64, 0x40, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0, 0, 0]);
        rest.extend(common::prefix().0);
        icmp(
            from,
            addr::link_local_from_short(2),
            hop_limit,
            134,
            0,
            &rest,
        )
    };
    let now = lone.now;
    let mut give = |node: &mut common::TestNode, packet: &[u8]| {
        for frame in lone.frames_of(Address::Short(7), Address::Short(2), packet) {
            node.input_frame(now, &frame, Default::default());
        }
        node.udp_bind(9)
            .and_then(|id| {
                let to = Endpoint {
                    addr: HOST,
                    port: 1,
                };
                let sent = node.udp_send(now, id, to, b"x");
                node.udp_close(id);
                sent
            })
            .is_ok()
    };
    let router = addr::link_local_from_short(7);
    assert!(
        !give(&mut node, &advertise(600, 254, router)),
        "not from here"
    );
    assert!(
        !give(&mut node, &advertise(600, 255, address(7))),
        "not link-local"
    );
    assert!(!give(&mut node, &advertise(0, 255, router)), "no router");
    assert!(give(&mut node, &advertise(600, 255, router)));
    assert_eq!(node.address(), address(2));
    assert!(!give(&mut node, &advertise(0, 255, router)), "gone");
}

/// A peer that keeps sending in FIN-WAIT-2, or keeps its window closed, occupies a released slot
/// for a limited time.
#[test]
fn a_peer_that_keeps_answering_holds_a_released_slot_for_a_limited_time() {
    // In the first run the peer acknowledges data and FIN, in the second neither.
    for taken in [8, 0] {
        let limit_s = 180;
        let mut lone = Lone::border(|_| {});
        let (mut peer, conn) = accepted(&mut lone);
        let now = lone.now;
        assert_eq!(lone.node.tcp_send(now, conn, b"goodbye"), Ok(7));
        lone.node.tcp_close(now, conn);
        lone.node.tcp_release(now, conn);
        peer.ack += taken;
        let mut seconds = 0;
        while open(&lone) > 0 && seconds < 600 {
            let shut = peer.segment(ACK, b"");
            let window = if taken == 0 { 0 } else { shut.window };
            let packet = Tcp { window, ..shut }.packet(HOST, address(1));
            lone.host_sends(&packet).unwrap();
            lone.run_for(Duration::from_secs(1));
            lone.host_packets();
            seconds += 1;
        }
        assert!((limit_s..=limit_s + 1).contains(&seconds), "{seconds}");
        assert_eq!(lone.node.counters().orphans_given_up, 1);
    }
}

/// Segments of no connection are answered by resets, with the same rate limit as ICMPv6 errors.
#[test]
fn resets_are_limited_in_rate() {
    let mut lone = Lone::border(|_| {});
    let mut sent = 0;
    for n in 0..1_000u32 {
        let stray = Tcp {
            src_port: 5_000,
            dst_port: 81,
            seq: n,
            flags: SYN,
            ..Tcp::default()
        };
        // `host_sends` returns the drop reason, which the counter shows too.
        let _ = lone.host_sends(&stray.packet(HOST, address(1)));
        sent += lone.host_packets().len();
        lone.run_for(Duration::from_millis(1));
    }
    assert!((10..=21).contains(&sent), "{sent}");
    assert_eq!(lone.dropped(DropReason::NoConnection), 1_000);
}

/// RFC 9293 §3.5.1: a node that has restarted answers segments of former connections by a reset,
/// even if it has no route yet: through the neighbour that delivered the segment. A packet from the
/// host side, or a broadcast, does not show a neighbour that could forward the reset.
#[test]
fn a_reset_goes_back_to_the_router_that_has_brought_the_segment() {
    let mut lone = Lone::border(|_| {});
    lone.node.clear_routes();
    let stray = Tcp {
        src_port: 5_000,
        dst_port: 81,
        seq: 7,
        ack: 99,
        flags: ACK,
        ..Tcp::default()
    };
    let packet = stray.packet(HOST, address(1));
    for router in [2, 3] {
        lone.link_sends(router, &packet);
        lone.run_for(Duration::from_millis(100));
        let sent = lone.link_packets();
        let [(to, reset)] = sent.as_slice() else {
            panic!("{sent:?}");
        };
        assert_eq!(*to, Address::Short(router));
        let (flags, seq, ..) = read_tcp(reset).unwrap();
        assert_eq!((flags, seq), (RST, 99));
        lone.frames.clear();
    }
    assert_eq!(lone.dropped(DropReason::NoRoute), 0);
    // The node uses that neighbour for the reset only: it has no route for its own packets.
    assert_eq!(
        lone.node.tcp_connect(lone.now, Endpoint::new(HOST, 80)),
        Err(Error::NoRoute)
    );
    lone.link_sends_to(2, Address::BROADCAST, &packet);
    let _ = lone.host_sends(&packet);
    lone.run_for(Duration::from_millis(100));
    lone.assert_silent("nobody has brought it");
}
