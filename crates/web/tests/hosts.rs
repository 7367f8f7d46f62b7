//! Requests without exactly one Host, or with a space before a colon.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use redpoll_page::{PageKind, PageServer};

fn answer(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let patience = Some(Duration::from_secs(10));
    stream.set_read_timeout(patience).unwrap();
    stream.write_all(request).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n") && stream.read(&mut byte).unwrap() > 0 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Checks RFC 9112 §3.2 and §5.1. The page has another path, so a valid request gets 404.
#[test]
fn requests_need_one_host_and_names_without_spaces() {
    let kind = PageKind {
        path: "/metrics",
        media_type: "text/plain",
    };
    let server = PageServer::listen("[::1]:0".parse().unwrap(), kind).unwrap();
    let address = server.address();
    let _page = server.start().unwrap();
    for (request, is_wrong) in redpoll_testkit::requests() {
        let head = answer(address, &request);
        let expected = if is_wrong { " 400 " } else { " 404 " };
        let text = String::from_utf8_lossy(&request);
        assert!(head.contains(expected), "{head} to {text}");
    }
}
