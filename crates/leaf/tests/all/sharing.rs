//! The one connection of a leaf, which clients share (`docs/adr/0071`).

use redpoll_leaf::{ECHO_PORT, WEB_PORT};
use redpoll_stack::ConnId;
use redpoll_stack::transport::{Error, State};

use crate::bench::{Bench, split};

const PAGE: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const FILE: &[u8] = b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n";

fn is_reset(bench: &Bench, conn: ConnId) -> bool {
    bench.parent.tcp_connection(conn).unwrap().error() == Some(Error::Reset)
}

/// Opens a connection and requests the file without reading it.
#[track_caller]
fn slow_reader(bench: &mut Bench) -> ConnId {
    let conn = bench.open(WEB_PORT);
    bench.send(conn, FILE);
    bench.run_for(1);
    conn
}

/// A client opens the connection, but sends nothing.
#[test]
fn a_silent_client_is_reset_after_a_minute() {
    for port in [WEB_PORT, ECHO_PORT] {
        let mut bench = Bench::new();
        let conn = bench.open(port);
        bench.run_for(100);
        let end = bench
            .services
            .wakes_at()
            .expect("the connection has a deadline");
        let left = end.since(bench.now()).as_millis();
        assert!((59_800..60_000).contains(&left), "{left} ms");
        bench.run_for(left - 1);
        assert_eq!(bench.state(conn), State::Established);
        bench.run_for(100);
        assert!(is_reset(&bench, conn));
        assert_eq!(bench.services.wakes_at(), None);
        assert_eq!(bench.leaf.tcp_connections().count(), 0);
    }
}

#[test]
fn data_in_either_direction_postpone_the_end() {
    let mut bench = Bench::new();
    let conn = bench.open(ECHO_PORT);
    for _ in 0..4 {
        bench.run_for(50_000);
        bench.send(conn, b"x");
        bench.run_for(1_000);
        assert_eq!(bench.receive(conn), (b"x".to_vec(), false));
    }
    assert_eq!(bench.state(conn), State::Established);
}

#[test]
fn a_slow_reader_gives_way_to_a_waiting_client_after_two_seconds() {
    let mut bench = Bench::new();
    let slow = slow_reader(&mut bench);
    // Without another client the slow one keeps its place.
    bench.run_for(10_000);
    assert!(!is_reset(&bench, slow));
    let waiting = bench.open(WEB_PORT);
    bench.send(waiting, PAGE);
    let took = bench.run_until(10_000, |it| is_reset(it, slow));
    assert!(took < 200, "the first two seconds are over: {took} ms");
    let answer = bench.receive_all(waiting, 10_000);
    assert!(split(&answer).0.starts_with("HTTP/1.1 200 OK\r\n"));
}

/// Opens a connection with the beginning of a request, and another one that waits; returns the time
/// until the first one is reset.
#[track_caller]
fn patience(bench: &mut Bench) -> u64 {
    let slow = bench.open(WEB_PORT);
    bench.send(slow, b"GET /");
    let waiting = bench.open(WEB_PORT);
    bench.send(waiting, PAGE);
    let took = bench.run_until(10_000, |it| is_reset(it, slow));
    bench.parent.tcp_release(bench.now(), slow);
    let answer = bench.receive_all(waiting, 10_000);
    assert!(split(&answer).0.starts_with("HTTP/1.1 200 OK\r\n"));
    bench.close(waiting);
    bench.run_for(1_000);
    took
}

#[test]
fn a_slow_client_keeps_its_place_for_two_seconds_and_the_next_ones_for_less() {
    let mut bench = Bench::new();
    let took = patience(&mut bench);
    assert!((1_500..2_000).contains(&took), "{took} ms");
    // For a minute after that, the leaf is strict.
    for _ in 0..2 {
        let took = patience(&mut bench);
        assert!((100..300).contains(&took), "{took} ms");
    }
    bench.run_for(61_000);
    let took = patience(&mut bench);
    assert!((1_500..2_000).contains(&took), "{took} ms");
}

/// A peer that accepts more than 300 bytes in a second keeps the connection beside waiting ones.
#[test]
fn a_fast_reader_gets_the_whole_file_beside_waiting_clients() {
    let mut bench = Bench::new();
    let fast = slow_reader(&mut bench);
    // It reads about 600 bytes in a second. Another client waits for 5 s at a time.
    let (mut all, mut has_ended) = (Vec::new(), false);
    let mut waiting = None;
    for turn in 0.. {
        if turn % 50 == 0 {
            waiting.into_iter().for_each(|conn| bench.close(conn));
            let conn = bench.open(WEB_PORT);
            bench.send(conn, PAGE);
            waiting = Some(conn);
        }
        bench.run_for(100);
        let (now, mut bytes) = (bench.now(), [0; 60]);
        match bench.parent.tcp_recv(now, fast, &mut bytes) {
            Ok(0) => has_ended = true,
            Ok(len) => all.extend_from_slice(&bytes[..len]),
            Err(error) => assert_eq!(error, redpoll_stack::Error::WouldBlock),
        }
        if has_ended {
            break;
        }
    }
    assert_eq!(split(&all).1.len(), 20_000);
    assert_eq!(bench.services.status().requests, 1);
    bench.close(fast);
    bench.run_for(1_000);
    let (head, _) = bench.fetch(std::str::from_utf8(PAGE).unwrap());
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
}

/// The peer has the whole answer, but keeps its direction open.
#[test]
fn a_peer_that_does_not_close_gives_way_too() {
    let mut bench = Bench::new();
    let open = bench.open(WEB_PORT);
    bench.send(open, PAGE);
    bench.receive_all(open, 1_000);
    bench.run_for(5_000);
    assert_eq!(bench.state(open), State::CloseWait);
    assert!(bench.services.wakes_at().is_some(), "the leaf keeps it");
    let waiting = bench.open(WEB_PORT);
    bench.send(waiting, PAGE);
    bench.receive_all(waiting, 10_000);
    assert!(is_reset(&bench, open));
    assert_eq!(bench.services.status().requests, 2);
}
