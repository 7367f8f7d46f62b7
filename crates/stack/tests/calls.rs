//! Calls that change a connection, ask for the state of a node, or announce what an application
//! expects.

use crate::common;

use common::address;
use common::lone::Lone;
use common::packets::{ACK, icmp, read_tcp, udp};
use common::peer::{HOST, accepted};
use redpoll_base::{Addr, Duration};
use redpoll_stack::transport::{Event, State};
use redpoll_stack::{ConnId, NodeEvent, SleepyConfig};
use redpoll_tcp::{Error as Failure, Keepalive};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

/// The parent of the sleepy node.
const PARENT: u16 = 4;

/// Takes the data of each segment that the node has sent.
fn sent(lone: &mut Lone) -> Vec<Vec<u8>> {
    let packets = lone.host_packets();
    let segments = packets.iter().filter_map(|packet| read_tcp(packet));
    segments.map(|(.., data)| data.to_vec()).collect()
}

#[test]
fn without_nagle_a_small_segment_leaves_at_once() {
    let mut lone = Lone::border(|_| {});
    let (mut peer, conn) = accepted(&mut lone);
    let now = lone.now;
    for (nagle, data, leaves) in [
        (true, "one", true),
        // RFC 9293 §3.7.4: the first segment is not acknowledged yet.
        (true, "two", false),
        (false, "", true),
        (false, "three", true),
        (true, "four", false),
    ] {
        assert!(lone.node.tcp_set_nagle(now, conn, nagle));
        lone.node.tcp_send(now, conn, data.as_bytes()).unwrap();
        let expected = match (data, leaves) {
            ("", _) => vec![b"two".to_vec()],
            (_, true) => vec![data.as_bytes().to_vec()],
            (_, false) => vec![],
        };
        assert_eq!(sent(&mut lone), expected, "{data}");
    }
    peer.ack += "onetwothree".len() as u32;
    peer.give(&mut lone, ACK, b"");
    assert_eq!(sent(&mut lone), [b"four"]);
}

/// Runs for this number of seconds. Returns the packets that the node has sent to the host.
fn pass(lone: &mut Lone, seconds: u64) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for _ in 0..seconds {
        lone.run_for(Duration::from_secs(1));
        packets.extend(lone.host_packets());
    }
    packets
}

fn state(lone: &Lone, conn: ConnId) -> State {
    lone.node.tcp_connection(conn).unwrap().state()
}

#[test]
fn the_user_timeout_ends_a_connection_whose_data_is_not_acknowledged() {
    let mut lone = Lone::border(|_| {});
    let (_peer, conn) = accepted(&mut lone);
    let now = lone.now;
    let limit = Some(Duration::from_secs(20));
    assert!(lone.node.tcp_set_user_timeout(now, conn, limit));
    lone.node.tcp_send(now, conn, b"lost").unwrap();
    pass(&mut lone, 19);
    assert_eq!(state(&lone, conn), State::Established);
    pass(&mut lone, 2);
    let events: Vec<_> = std::iter::from_fn(|| lone.node.poll_event()).collect();
    let failed = NodeEvent::Tcp(conn, Event::Failed(Failure::UserTimeout));
    assert_eq!(events.last(), Some(&failed), "{events:?}");
}

#[test]
fn keepalive_probes_an_idle_peer_until_it_is_turned_off() {
    let mut lone = Lone::border(|_| {});
    let (mut peer, conn) = accepted(&mut lone);
    let keepalive = Keepalive {
        idle: Duration::from_secs(60),
        interval: Duration::from_secs(10),
        count: 3,
    };
    let now = lone.now;
    assert!(lone.node.tcp_set_keepalive(now, conn, Some(keepalive)));
    assert!(pass(&mut lone, 59).is_empty());
    let probe = pass(&mut lone, 2);
    // RFC 9293 §3.8.4: the sequence number of the probe is one that the peer has acknowledged.
    let (_, seq, _, _, data) = read_tcp(&probe[0]).unwrap();
    assert_eq!((seq, data, probe.len()), (peer.ack - 1, &b""[..], 1));
    peer.give(&mut lone, ACK, b"");
    assert!(pass(&mut lone, 59).is_empty(), "the peer is there");
    let now = lone.now;
    assert!(lone.node.tcp_set_keepalive(now, conn, None));
    assert!(pass(&mut lone, 300).is_empty());
    assert_eq!(state(&lone, conn), State::Established);
}

#[test]
fn a_released_connection_cannot_be_changed() {
    let mut lone = Lone::border(|_| {});
    let (_peer, conn) = accepted(&mut lone);
    let now = lone.now;
    lone.node.tcp_close(now, conn);
    lone.node.tcp_release(now, conn);
    assert_eq!(state(&lone, conn), State::FinWait1, "it still exists");
    let node = &mut lone.node;
    assert!(!node.tcp_set_nagle(now, conn, false));
    assert!(!node.tcp_set_user_timeout(now, conn, None));
    assert!(!node.tcp_set_keepalive(now, conn, None));
}

#[test]
fn a_node_says_which_sockets_have_something_to_take() {
    let mut lone = Lone::border(|_| {});
    assert_eq!(lone.node.tcp_config().mss, 474);
    let listener = lone.node.tcp_listen(80).unwrap();
    assert!(!lone.node.tcp_may_accept(listener));
    common::peer::Peer::open(&mut lone, 5_000);
    assert!(lone.node.tcp_may_accept(listener));
    assert!(lone.node.tcp_accept(listener).is_some());
    assert!(!lone.node.tcp_may_accept(listener));

    let socket = lone.node.udp_bind(9).unwrap();
    assert!(!lone.node.udp_is_readable(socket));
    let datagram = udp(HOST, address(1), (8, 9), b"hello");
    lone.host_sends(&datagram).unwrap();
    assert!(lone.node.udp_is_readable(socket));
    assert!(lone.node.udp_recv(socket, &mut [0; 9]).is_some());
    assert!(!lone.node.udp_is_readable(socket));
}

#[test]
fn packets_from_the_host_leave_half_of_the_slots_to_the_radio() {
    let mut lone = Lone::border(|_| {});
    let packet = udp(HOST, address(7), (8, 9), b"hello");
    for free in [5, 4, 3] {
        assert!(lone.node.has_room());
        lone.host_sends(&packet).unwrap();
        assert_eq!(lone.node.lowpan().free_slots(), free);
    }
    assert!(!lone.node.has_room());
    assert_eq!(lone.link_packets().len(), 3);
    assert!(lone.node.has_room());
}

#[test]
fn only_destinations_behind_the_radio_have_a_neighbour() {
    let lone = Lone::border(|_| {});
    let towards = |dst: Addr| lone.node.neighbour_towards(lone.now, &dst);
    assert_eq!(towards(address(7)), Some(Address::Short(7)));
    assert_eq!(towards(HOST), None, "behind the host side");
    let mut bare = common::node(1, 600);
    bare.clear_routes();
    assert_eq!(bare.neighbour_towards(lone.now, &address(7)), None);
}

/// Returns the number of data requests in this number of seconds.
fn polls(lone: &mut Lone, seconds: u64) -> usize {
    lone.frames.clear();
    lone.run_for(Duration::from_secs(seconds));
    let requests = lone.frames.iter();
    let requests = requests.filter(|(to, payload)| {
        // IEEE 802.15.4-2015 §7.5.1: command identifier 4.
        *to == Address::Short(PARENT) && payload[..] == [4]
    });
    requests.count()
}

/// Confirms the node's registration, as its parent does.
fn register(lone: &mut Lone) {
    let packets = lone.link_packets();
    let is_registration = |packet: &[u8]| packet[6] == 58 && packet[40] == 135;
    let mut packets = packets.iter().map(|(_, packet)| packet);
    let asked = packets.find(|packet| is_registration(packet)).unwrap();
    let (header, message) = Ipv6Header::parse(asked).unwrap();
    // RFC 8505 §4.1: the answer repeats the registration option, whose status is 0.
    let mut options = &message[24..];
    while options[0] != 33 {
        options = &options[8 * usize::from(options[1])..];
    }
    let answer = [&[0xc0, 0, 0, 0], &message[8..24], &options[..16]].concat();
    let packet = icmp(header.dst, header.src, 255, 136, 0, &answer);
    lone.link_sends(PARENT, &packet);
}

/// Kumar et al. 2020 §4.1: a node that expects a packet polls often.
#[test]
fn a_sleepy_node_polls_often_while_its_application_expects_a_packet() {
    let mut lone = Lone::border(|config| {
        config.sleepy = Some(SleepyConfig::new([Some(PARENT), None, None, None]));
    });
    let (_peer, conn) = accepted(&mut lone);
    register(&mut lone);
    polls(&mut lone, 10);
    assert_eq!(polls(&mut lone, 100), 0);
    // After 20 seconds without a packet, the node would register again.
    lone.node.expect_packets(true);
    let any = polls(&mut lone, 20);
    lone.node.expect_packets(false);
    polls(&mut lone, 10);
    assert_eq!(polls(&mut lone, 100), 0);
    lone.node.tcp_expect(conn, true);
    let data = polls(&mut lone, 20);
    lone.node.tcp_expect(conn, false);
    polls(&mut lone, 10);
    assert_eq!(polls(&mut lone, 100), 0);
    // The pauses grow to five seconds.
    for polls in [any, data] {
        assert!((8..=20).contains(&polls), "{polls}");
    }
}
