//! Requirements of `docs/rfc` on a node's TCP sockets that the other files do not test.

use crate::common;

use common::address;
use common::lone::Lone;
use common::packets::{SYN, icmp, packet, read_tcp};
use redpoll_base::Addr;
use redpoll_stack::transport::{Error as TcpError, State};
use redpoll_stack::{ConnId, Error};
use redpoll_tcp::Endpoint;

const HOST: Addr = Addr([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);

/// Starts a connection to the host; returns the connection, its port, and its SYN.
fn connecting(lone: &mut Lone) -> (ConnId, u16, Vec<u8>) {
    let remote = Endpoint {
        addr: HOST,
        port: 80,
    };
    let now = lone.now;
    let conn = lone.node.tcp_connect(now, remote).unwrap();
    let port = lone.node.tcp_connection(conn).unwrap().local().port;
    let syn = lone.host_packets().remove(0);
    // Ignores the flags of ECN.
    assert_eq!(read_tcp(&syn).unwrap().0 & 0x3f, SYN);
    (conn, port, syn)
}

fn state(lone: &Lone, conn: ConnId) -> Option<State> {
    lone.node.tcp_connection(conn).map(|c| c.state())
}

/// RFC 9293 §3.9.1.1, MUST-41 and MUST-42.
#[test]
fn listeners_and_connections_do_not_affect_each_other() {
    let mut lone = Lone::border(|_| {});
    let (conn, port, _) = connecting(&mut lone);
    assert!(lone.node.tcp_listen(port).is_ok());
    assert_eq!(state(&lone, conn), Some(State::SynSent));
    assert_eq!(lone.node.tcp_listen(port), Err(Error::PortInUse));
    // The first listener still works.
    let probe = common::packets::Tcp {
        src_port: 5_000,
        dst_port: port,
        flags: SYN,
        window: 4_000,
        ..Default::default()
    };
    lone.host_sends(&probe.packet(HOST, address(1))).unwrap();
    let answer = lone.host_packets().remove(0);
    assert_eq!(read_tcp(&answer).unwrap().0, SYN | common::packets::ACK);
}

/// RFC 9293 §3.9.2, MUST-49.
#[test]
fn segments_leave_with_the_configured_hop_limit() {
    for hop_limit in [64, 7] {
        let mut lone = Lone::border(|config| config.hop_limit = hop_limit);
        let (_, _, syn) = connecting(&mut lone);
        assert_eq!(syn[7], hop_limit);
    }
}

/// RFC 9293 §3.9.2.2, MUST-54: an ICMP error affects only the connection that it quotes.
#[test]
fn an_icmp_error_reaches_the_connection_that_it_quotes() {
    let mut lone = Lone::border(|_| {});
    let (first, _, _) = connecting(&mut lone);
    let (second, _, syn) = connecting(&mut lone);
    // The error quotes a segment of a port without a connection: ignored.
    let quoted = [&[0; 4], &syn[..]].concat();
    let error = icmp(HOST, address(1), 64, 1, 4, &quoted);
    lone.host_sends(&error).unwrap();
    assert_eq!(state(&lone, first), Some(State::SynSent));
    let refused = lone.node.tcp_connection(second).unwrap();
    assert_eq!(refused.error(), Some(TcpError::Refused));
}

/// RFC 9293 §3.9.2, MUST-50: the node skips unknown IP options and accepts the segment after them.
#[test]
fn a_segment_behind_unknown_options_counts() {
    let mut lone = Lone::border(|_| {});
    lone.node.tcp_listen(80).unwrap();
    let syn = common::packets::Tcp {
        src_port: 5_000,
        dst_port: 80,
        flags: SYN,
        window: 4_000,
        ..Default::default()
    };
    let plain = syn.packet(HOST, address(1));
    // Destination options: type 0x1e, which a node skips if it does not know it, and padding.
    let options = [6, 0, 0x1e, 2, 0, 0, 1, 0];
    let upper = [&options, &plain[40..]].concat();
    lone.host_sends(&packet(HOST, address(1), 60, 64, &upper))
        .unwrap();
    assert_eq!(lone.host_packets().len(), 1);
}
