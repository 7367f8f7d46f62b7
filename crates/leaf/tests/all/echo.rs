//! The echo service, by TCP and UDP.

use redpoll_leaf::ECHO_PORT;
use redpoll_stack::base::Addr;
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{Route, Via};
use redpoll_uart::Begin;

use crate::bench::{Bench, PARENT};

#[test]
fn all_bytes_of_a_stream_come_back_before_its_end() {
    let mut bench = Bench::new();
    let conn = bench.open(ECHO_PORT);
    let data: Vec<u8> = (0..12_000u32).map(|at| (at * 7 + at / 251) as u8).collect();
    // The client does not read, so the leaf's buffers fill up as well.
    let (mut sent, mut received) = (0, Vec::new());
    for _ in 0..500 {
        let now = bench.now();
        sent += bench.parent.tcp_send(now, conn, &data[sent..]).unwrap_or(0);
        bench.run_for(10);
    }
    assert!(
        (6_000..8_500).contains(&sent),
        "{sent} bytes fit into the buffers"
    );
    bench.run_until(60_000, |it| {
        let now = it.now();
        sent += it.parent.tcp_send(now, conn, &data[sent..]).unwrap_or(0);
        received.extend(it.receive(conn).0);
        received.len() == data.len()
    });
    assert!(received == data);
    let now = bench.now();
    bench.parent.tcp_close(now, conn);
    assert_eq!(bench.receive_all(conn, 1_000), b"");
    bench.run_for(1_000);
    assert_eq!(bench.services.wakes_at(), None);
}

#[test]
fn a_reset_frees_the_connection() {
    let mut bench = Bench::new();
    for data in [0, 400, 10_000] {
        let conn = bench.open(ECHO_PORT);
        // The leaf has sent nothing, something, or as much as its peer accepts.
        for _ in 0..100 {
            let now = bench.now();
            let _ = bench.parent.tcp_send(now, conn, &[1; 10_000][..data]);
            bench.run_for(10);
        }
        let wakes_at = bench.services.wakes_at();
        assert!(wakes_at > Some(bench.now()), "{wakes_at:?}");
        let now = bench.now();
        bench.parent.tcp_abort(now, conn);
        bench.parent.tcp_release(now, conn);
        bench.run_for(500);
        assert_eq!(bench.services.wakes_at(), None, "{data} bytes");
        assert_eq!(bench.leaf.tcp_connections().count(), 0);
    }
}

#[test]
fn datagrams_come_back_up_to_128_bytes() {
    let mut bench = Bench::new();
    let socket = bench.bind();
    for len in [0, 1, 127, 128, 160] {
        let data: Vec<u8> = (0..len).collect();
        let echoed = bench.echoed(socket, &data);
        let expected = data[..data.len().min(128)].to_vec();
        assert_eq!(echoed, Some(expected));
    }
}

#[test]
fn a_leaf_without_a_parent_has_no_route() {
    let mut bench = Bench::with_parent(Begin::NO_PARENT);
    let socket = bench.bind();
    assert_eq!(bench.echoed(socket, b"datagram"), None);
    // Only the route is missing.
    let to_parent = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(Address::Short(PARENT)),
    };
    bench.leaf.add_route(to_parent).unwrap();
    assert_eq!(bench.echoed(socket, b"again"), Some(b"again".to_vec()));
}
