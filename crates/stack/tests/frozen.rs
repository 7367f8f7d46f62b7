//! Connections that a node writes to memory before a deep sleep, and restores afterwards.

use crate::common;

use common::address;
use common::lone::Lone;
use common::packets::{ACK, FIN, RST, read_tcp};
use common::peer::{HOST, Peer};
use redpoll_base::Duration;
use redpoll_stack::transport::{FreezeError, State, ThawError};
use redpoll_stack::{ConnId, Error};
use redpoll_tcp::Endpoint;

fn accepted(lone: &mut Lone, port: u16) -> (Peer, ConnId) {
    let mut listeners = lone.node.tcp_listeners();
    let listener = listeners.next();
    drop(listeners);
    let listener = listener.unwrap_or_else(|| lone.node.tcp_listen(80).unwrap());
    let peer = Peer::open(lone, port);
    (peer, lone.node.tcp_accept(listener).unwrap())
}

fn frozen(lone: &mut Lone, conn: ConnId) -> Vec<u8> {
    let len = lone.node.tcp_connection(conn).unwrap().frozen_len();
    let mut bytes = vec![0; len];
    assert_eq!(lone.node.tcp_freeze(lone.now, conn, &mut bytes), Ok(len));
    bytes
}

const SLEPT: Duration = Duration::from_secs(30);

#[test]
fn a_thawed_connection_continues_with_its_data() {
    let mut lone = Lone::border(|_| {});
    let (mut peer, conn) = accepted(&mut lone, 5_000);
    peer.give(&mut lone, ACK, b"unread");
    let mut bytes = frozen(&mut lone, conn);
    assert_eq!(lone.node.tcp_connections().count(), 0);
    assert!(lone.node.tcp_connection(conn).is_none());
    // A node that stays awake drops a late packet without a reset.
    lone.host_packets();
    peer.give(&mut lone, ACK, b"late");
    assert!(lone.host_packets().is_empty());
    peer.seq -= 4;

    let back = lone.node.tcp_thaw(lone.now, SLEPT, &mut bytes).unwrap();
    let connection = lone.node.tcp_connection(back).unwrap();
    assert_eq!(connection.state(), State::Established);
    let (addr, port) = (HOST, 5_000);
    assert_eq!(connection.remote(), Endpoint { addr, port });
    let (addr, port) = (address(1), 80);
    assert_eq!(connection.local(), Endpoint { addr, port });
    let mut read = [0; 20];
    assert_eq!(lone.node.tcp_recv(lone.now, back, &mut read), Ok(6));
    assert_eq!(read[..6], *b"unread");
    lone.host_packets();
    assert_eq!(lone.node.tcp_send(lone.now, back, b"answer"), Ok(6));
    let sent = lone.host_packets();
    let (flags, seq, _, _, data) = read_tcp(&sent[0]).unwrap();
    assert_eq!((flags & RST, seq, data), (0, peer.ack, &b"answer"[..]));
    peer.ack += 6;
    peer.give(&mut lone, FIN | ACK, b"more");
    assert_eq!(lone.node.tcp_recv(lone.now, back, &mut read), Ok(4));
    assert_eq!(lone.node.tcp_recv(lone.now, back, &mut read), Ok(0));
    // The bytes can be used only once.
    assert_eq!(
        lone.node.tcp_thaw(lone.now, SLEPT, &mut bytes),
        Err(Error::Thaw(ThawError::Spent))
    );
}

#[test]
fn only_open_connections_that_the_application_holds_are_frozen() {
    let mut lone = Lone::border(|_| {});
    let (_, conn) = accepted(&mut lone, 5_000);
    let len = lone.node.tcp_connection(conn).unwrap().frozen_len();
    let mut bytes = vec![0; len];
    let mut freeze = |lone: &mut Lone, id, len: usize| {
        let room = &mut bytes[..len];
        lone.node.tcp_freeze(lone.now, id, room)
    };
    // The connection continues if the memory is too short.
    let result = freeze(&mut lone, conn, len - 1);
    assert_eq!(result, Err(FreezeError::NoRoom));
    assert_eq!(lone.node.tcp_send(lone.now, conn, b"x"), Ok(1));
    let (index, generation) = conn.parts();
    for unknown in [
        ConnId::new(index, generation.wrapping_add(1)),
        ConnId::new(index + 1, 0),
        ConnId::new(200, 0),
    ] {
        let result = freeze(&mut lone, unknown, len);
        assert_eq!(result, Err(FreezeError::State), "{unknown:?}");
    }
    // A connection that waits to be accepted, and a released one, cannot be frozen.
    let waits = Peer::open(&mut lone, 5_001);
    let mut all = lone.node.tcp_connections();
    let waiting = all.find(|(_, it)| it.remote().port == waits.port);
    let waiting = waiting.unwrap().0;
    drop(all);
    let result = freeze(&mut lone, waiting, len);
    assert_eq!(result, Err(FreezeError::State));
    lone.node.tcp_close(lone.now, conn);
    lone.node.tcp_release(lone.now, conn);
    let result = freeze(&mut lone, conn, len);
    assert_eq!(result, Err(FreezeError::State));
}

#[test]
fn bytes_are_thawed_only_where_the_connection_can_exist() {
    let mut lone = Lone::border(|_| {});
    let (_, conn) = accepted(&mut lone, 5_000);
    let bytes = frozen(&mut lone, conn);
    let thaw = |lone: &mut Lone, bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        lone.node.tcp_thaw(lone.now, SLEPT, &mut bytes)
    };
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    let result = thaw(&mut lone, &damaged);
    assert_eq!(result, Err(Error::Thaw(ThawError::Damaged)));
    // Another node has another address.
    let mut other = Lone::border(|config| config.address = address(9));
    assert_eq!(thaw(&mut other, &bytes), Err(Error::NoRoute));
    // First, other connections use all slots. Later, this connection has a slot, so its port is in
    // use.
    let peers: Vec<_> = (6_000..6_004)
        .map(|port| accepted(&mut lone, port))
        .collect();
    assert_eq!(thaw(&mut lone, &bytes), Err(Error::NoSlot));
    lone.node.tcp_abort(lone.now, peers[0].1);
    lone.node.tcp_release(lone.now, peers[0].1);
    lone.host_packets();
    assert!(thaw(&mut lone, &bytes).is_ok());
    assert_eq!(thaw(&mut lone, &bytes), Err(Error::PortInUse));
}
