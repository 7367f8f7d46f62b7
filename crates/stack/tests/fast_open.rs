//! TCP Fast Open (RFC 7413) between nodes, and at a listener under attack.

use crate::common;

use common::lone::Lone;
use common::packets::{ACK, RST, SYN, Tcp, read_tcp};
use common::peer::HOST;
use common::{Line, address, endpoint};
use redpoll_base::Duration;
use redpoll_stack::transport::State;
use redpoll_stack::{ConnId, DropReason, Listen, ListenerId, NodeEvent, Route, Via};
use redpoll_wire::ieee802154::Address;

const FAST: Listen = Listen {
    backlog: 8,
    fast_open: 2,
};

fn read(node: &mut common::TestNode, now: redpoll_base::Instant, conn: ConnId) -> Vec<u8> {
    let mut out = [0; 99];
    let len = node.tcp_recv(now, conn, &mut out).unwrap_or(0);
    out[..len].to_vec()
}

/// Opens a connection from the first node to the second with data, which must arrive and be
/// answered, and closes it.
fn open(line: &mut Line, listener: ListenerId) {
    let now = line.now;
    let opened = line.nodes[0].tcp_connect_with_data(now, 0, endpoint(2, 80), b"reading");
    let (client, taken) = opened.unwrap();
    assert_eq!(taken, 7);
    let server = loop {
        line.run_for(Duration::from_millis(1));
        if let Some(server) = line.nodes[1].tcp_accept(listener) {
            break server;
        }
        assert!(line.now < now + Duration::from_secs(20), "no connection");
    };
    line.run_for(Duration::from_secs(1));
    let now = line.now;
    assert_eq!(read(&mut line.nodes[1], now, server), b"reading");
    line.nodes[1].tcp_send(now, server, b"thanks").unwrap();
    line.run_for(Duration::from_secs(1));
    let now = line.now;
    assert_eq!(read(&mut line.nodes[0], now, client), b"thanks");
    for (node, conn) in [(0, client), (1, server)] {
        line.nodes[node].tcp_close(now, conn);
        line.nodes[node].tcp_release(now, conn);
    }
    line.run_for(Duration::from_secs(1));
    line.take_events(0);
    line.take_events(1);
}

/// RFC 7413 §3: the first connection fetches the cookie, later ones begin with data.
#[test]
fn the_second_connection_begins_with_data() {
    let mut line = Line::new(2, 1_848);
    let listener = line.nodes[1].tcp_listen_with(80, FAST).unwrap();
    for opened in [0, 1, 2] {
        let knows = line.nodes[0].tcp_may_open_fast(line.now, &endpoint(2, 80));
        assert_eq!(knows, opened > 0);
        open(&mut line, listener);
        assert_eq!(line.nodes[1].counters().fast_opens, opened);
    }
}

/// RFC 7413 §4.2: Fast Open is off unless the application enables it.
#[test]
fn by_default_a_listener_takes_no_data_of_a_syn() {
    let mut line = Line::new(2, 1_848);
    let listener = line.nodes[1].tcp_listen(80).unwrap();
    for _ in 0..3 {
        open(&mut line, listener);
    }
    assert_eq!(line.nodes[1].counters().fast_opens, 0);
}

/// RFC 7413 §4.1.3.1: after a refusal, the client connects without data.
#[test]
fn after_a_refusal_the_client_sends_no_data_with_its_syn() {
    let mut line = Line::new(2, 1_848);
    let fast = line.nodes[1].tcp_listen_with(80, FAST).unwrap();
    open(&mut line, fast);
    let now = line.now;
    line.nodes[1].tcp_unlisten(now, fast);
    let slow = line.nodes[1].tcp_listen(80).unwrap();
    open(&mut line, slow);
    line.nodes[1].tcp_unlisten(now, slow);
    let fast = line.nodes[1].tcp_listen_with(80, FAST).unwrap();
    open(&mut line, fast);
    open(&mut line, fast);
    assert_eq!(line.nodes[1].counters().fast_opens, 0, "not yet again");
    line.run_for(Duration::from_secs(3_700));
    open(&mut line, fast);
    open(&mut line, fast);
    assert_eq!(line.nodes[1].counters().fast_opens, 1);
}

/// RFC 7413 §4.1.2: a restarted server has another key; the client's cookie is invalid, and the
/// client gets a new one.
#[test]
fn an_invalid_cookie_is_replaced() {
    let mut line = Line::new(2, 1_848);
    let listener = line.nodes[1].tcp_listen_with(80, FAST).unwrap();
    open(&mut line, listener);
    line.nodes[1] = common::node_with(2, 1_848, |config| config.isn_secret = [9; 16]);
    let back = Route {
        prefix: address(1),
        len: 128,
        via: Via::Neighbour(Address::Short(1)),
    };
    line.nodes[1].add_route(back).unwrap();
    let listener = line.nodes[1].tcp_listen_with(80, FAST).unwrap();
    for opened in [0, 1] {
        open(&mut line, listener);
        assert_eq!(line.nodes[1].counters().fast_opens, opened);
    }
}

struct Attack {
    lone: Lone,
    listener: ListenerId,
    cookie: Vec<u8>,
}

impl Attack {
    /// Returns a node with a listener, and a valid cookie that the node gave to the attacker.
    fn new(how: Listen) -> Attack {
        let mut lone = Lone::border(|_| {});
        let listener = lone.node.tcp_listen_with(80, how).unwrap();
        let mut attack = Attack {
            lone,
            listener,
            cookie: Vec::new(),
        };
        let answer = attack.syn(4_000, &[34, 2, 1, 1], b"").1;
        let options = &answer[60..];
        let at = options.windows(2).position(|kind| kind == [34, 10]);
        let at = at.expect("a cookie");
        attack.cookie = [&options[at..at + 10], &[1, 1][..]].concat();
        attack
    }

    /// Returns the number of bytes of a SYN that are acknowledged, and the SYN-ACK.
    fn syn(&mut self, port: u16, options: &[u8], data: &[u8]) -> (u32, Vec<u8>) {
        let syn = Tcp {
            src_port: port,
            dst_port: 80,
            seq: 1_000,
            flags: SYN,
            window: 4_000,
            data,
            ..Tcp::default()
        };
        let packet = syn.packet_with(HOST, address(1), options);
        self.lone.host_sends(&packet).unwrap();
        let packets = self.lone.host_packets();
        assert_eq!(packets.len(), 1);
        let (flags, _, ack, ..) = read_tcp(&packets[0]).unwrap();
        assert_eq!(flags, SYN | ACK);
        (ack - 1_001, packets[0].clone())
    }

    /// Returns whether the listener accepts a SYN with data and the cookie.
    fn opens(&mut self, port: u16) -> bool {
        let cookie = self.cookie.clone();
        match self.syn(port, &cookie, b"data").0 {
            0 => false,
            4 => true,
            other => panic!("{other}"),
        }
    }

    fn reset(&mut self, port: u16) {
        let reset = Tcp {
            src_port: port,
            dst_port: 80,
            seq: 1_005,
            flags: RST,
            ..Tcp::default()
        };
        self.lone
            .host_sends(&reset.packet(HOST, address(1)))
            .unwrap();
    }

    fn open(&self) -> usize {
        self.lone.node.tcp_connections().count()
    }
}

/// RFC 7413 §4.2.2, and §5.1: PendingFastOpenRequests has a limit, beyond which the data of a SYN
/// are ignored.
#[test]
fn no_more_are_pending_than_the_listener_allows() {
    let mut attack = Attack::new(FAST);
    assert_eq!(
        [1, 2, 3, 4].map(|port| attack.opens(port)),
        [true, true, false, false]
    );
    assert_eq!(attack.open(), 2);
    // The application can read the data before the handshake is complete.
    let event = attack.lone.node.poll_event();
    assert_eq!(event, Some(NodeEvent::Accepted(attack.listener)));
    let conn = attack.lone.node.tcp_accept(attack.listener).unwrap();
    let now = attack.lone.now;
    assert_eq!(read(&mut attack.lone.node, now, conn), b"data");
    // SYNs without data or cookie are still served.
    assert_eq!(attack.syn(5, &[], b"").0, 0);
    // No handshake completes. After their timeouts, the listener accepts SYNs with data again.
    for _ in 0..600 {
        attack.lone.run_for(Duration::from_secs(1));
        attack.lone.host_packets();
    }
    attack.lone.node.tcp_release(now, conn);
    while attack.lone.node.poll_event().is_some() {}
    assert_eq!(attack.open(), 0);
    assert!(attack.opens(6));
}

/// RFC 7413 §5.1: a request that its client resets still counts for a while against the limit.
#[test]
fn resets_make_no_room_for_more() {
    let mut attack = Attack::new(FAST);
    for port in [1, 2] {
        assert!(attack.opens(port));
        attack.reset(port);
        while attack.lone.node.poll_event().is_some() {}
    }
    assert_eq!(attack.open(), 0);
    assert!(!attack.opens(3));
    attack.lone.run_for(Duration::from_secs(59));
    attack.lone.host_packets();
    assert!(!attack.opens(4));
    attack.lone.run_for(Duration::from_secs(1));
    attack.lone.host_packets();
    assert!(attack.opens(5));
}

#[test]
fn a_completed_handshake_makes_room() {
    let mut attack = Attack::new(Listen {
        fast_open: 1,
        ..FAST
    });
    for port in 1..4 {
        let cookie = attack.cookie.clone();
        let (taken, packet) = attack.syn(port, &cookie, b"data");
        assert_eq!(taken, 4);
        let (_, seq, ..) = read_tcp(&packet).unwrap();
        let ack = Tcp {
            src_port: port,
            dst_port: 80,
            seq: 1_005,
            ack: seq.wrapping_add(1),
            flags: ACK,
            window: 4_000,
            ..Tcp::default()
        };
        let packet = ack.packet(HOST, address(1));
        attack.lone.host_sends(&packet).unwrap();
        let mut open = attack.lone.node.tcp_connections();
        assert!(open.all(|(_, c)| c.state() == State::Established));
    }
}

/// Without a free slot or place in the backlog, the data of a SYN are ignored.
#[test]
fn without_room_a_fast_open_is_a_request_like_others() {
    for (how, slots) in [
        (
            Listen {
                backlog: 1,
                fast_open: 9,
            },
            1,
        ),
        (
            Listen {
                backlog: 9,
                fast_open: 9,
            },
            4,
        ),
    ] {
        let mut attack = Attack::new(how);
        for port in 1..=slots {
            assert!(attack.opens(port));
        }
        assert!(!attack.opens(9));
        assert_eq!(attack.lone.dropped(DropReason::BacklogFull), 0);
    }
}

#[test]
fn a_listener_that_ends_resets_pending_connections() {
    let mut attack = Attack::new(FAST);
    assert!(attack.opens(1));
    let now = attack.lone.now;
    attack.lone.node.tcp_unlisten(now, attack.listener);
    let packets = attack.lone.host_packets();
    assert_eq!(read_tcp(&packets[0]).unwrap().0 & RST, RST);
    assert_eq!(attack.open(), 0);
}
