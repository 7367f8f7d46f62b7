//! The page and the file by HTTP.

use redpoll_leaf::{Status, WEB_PORT};

use crate::bench::{Bench, split};

fn head(status: &str, len: usize) -> String {
    format!(
        "HTTP/1.1 {status}\r\nServer: redpoll\r\nContent-Type: text/plain\r\n\
         Content-Length: {len}\r\nConnection: close\r\n\r\n"
    )
}

fn file() -> Vec<u8> {
    let rows = (0..2_500).flat_map(|row| format!("{row:07}\n").into_bytes());
    rows.collect()
}

#[test]
fn the_page_has_the_status_of_the_node() {
    let mut bench = Bench::new();
    bench.status = Status {
        board: "a bench",
        damaged: 3,
        stack: Some(|| [1_234, 2_048]),
        ..Status::default()
    };
    let page = |seconds, requests| {
        format!(
            "A leaf of an IEEE 802.15.4 mesh with Redpoll's TCP, on a bench\nup, s: {seconds}\n\
             requests: {requests}\ndamaged messages: 3\nstack, bytes: 1234 of 2048\n"
        )
    };
    let (top, body) = bench.fetch("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let expected = page(1, 1);
    assert_eq!(top, head("200 OK", expected.len()));
    assert_eq!(String::from_utf8(body).unwrap(), expected);
    bench.run_for(20_000);
    let (top, body) = bench.fetch("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let expected = page(bench.now().as_millis() / 1_000, 2);
    assert_eq!(top, head("200 OK", expected.len()));
    assert_eq!(String::from_utf8(body).unwrap(), expected);
    // HEAD has the same head without the page.
    let answer = bench.fetch("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer, (head("200 OK", page(21, 3).len()), Vec::new()));
    assert_eq!(bench.services.status().requests, 3);
    assert_eq!(bench.services.status().board, "a bench");
}

#[test]
fn without_a_measurement_the_page_has_no_bytes_of_stack() {
    let (_, body) = Bench::new().fetch("GET / HTTP/1.0\r\n\r\n");
    let page = String::from_utf8(body).unwrap();
    assert!(page.ends_with("\nstack, bytes: 0 of 0\n"), "{page}");
}

#[test]
fn the_file_arrives_whole() {
    let mut bench = Bench::new();
    let (top, body) = bench.fetch("GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(top, head("200 OK", 20_000));
    assert!(body == file(), "{} bytes", body.len());
    let answer = bench.fetch("HEAD /file HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer, (head("200 OK", 20_000), Vec::new()));
}

#[test]
fn other_requests_are_refused() {
    let mut bench = Bench::new();
    for (request, status) in [
        ("GET /files HTTP/1.1\r\nHost: a\r\n\r\n", "404 Not Found"),
        ("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", "404 Not Found"),
        ("GET\r\nHost: a\r\n\r\n", "404 Not Found"),
        ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented"),
        ("get / HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented"),
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
            "400 Bad Request",
        ),
    ] {
        let answer = bench.fetch(request);
        assert_eq!(answer, (head(status, 0), Vec::new()), "{request}");
    }
    assert_eq!(bench.services.status().requests, 7);
}

/// The server finds the field Host wherever it is in the pieces of a request.
#[test]
fn a_request_may_arrive_in_pieces_and_be_long() {
    let mut bench = Bench::new();
    for before in (0..2_000).step_by(100) {
        let (x, y) = ("x".repeat(before), "y".repeat(2_000 - before));
        let request = format!("HEAD /file HTTP/1.1\r\nX: {x}\r\nHost: a\r\nY: {y}\r\n\r\n");
        let conn = bench.open(WEB_PORT);
        for piece in request.as_bytes().chunks(700) {
            assert_eq!(bench.receive(conn), (Vec::new(), false));
            bench.send(conn, piece);
            bench.run_for(500);
        }
        let answer = bench.receive_all(conn, 1_000);
        assert_eq!(split(&answer).0, head("200 OK", 20_000));
        bench.close(conn);
        bench.run_for(100);
    }
}

/// A leaf answers one request for each connection. It acknowledges and discards further data.
#[test]
fn data_after_the_request_are_discarded() {
    let mut bench = Bench::new();
    let conn = bench.open(WEB_PORT);
    bench.send(conn, b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    bench.receive_all(conn, 1_000);
    bench.send(conn, &[b'x'; 5_000]);
    bench.run_for(2_000);
    let connection = bench.parent.tcp_connection(conn).unwrap();
    assert_eq!((connection.unacked(), connection.error()), (0, None));
    assert_eq!(bench.services.status().requests, 1);
    // The end of the client's stream frees the connection.
    bench.close(conn);
    bench.run_for(1_000);
    assert_eq!(bench.services.wakes_at(), None);
}

#[test]
fn a_client_that_ends_its_request_early_gets_no_answer() {
    let mut bench = Bench::new();
    let conn = bench.open(WEB_PORT);
    bench.send(conn, b"GET / HTTP/1.1\r\n");
    let now = bench.now();
    bench.parent.tcp_close(now, conn);
    assert_eq!(bench.receive_all(conn, 1_000), b"");
    bench.run_for(500);
    assert_eq!(bench.services.status().requests, 0);
    assert_eq!(bench.services.wakes_at(), None);
}
