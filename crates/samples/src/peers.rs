//! Replacements of curl and mosquitto inside a test. Any deviation is a panic.

use core::cell::RefCell;
use core::net::{Ipv6Addr, SocketAddr};
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use edge_nal::{TcpAccept, TcpBind, TcpConnect};
use embedded_io_async::{Read, Write};

use crate::http::{PAGE, content};
use crate::mqtt;

/// Readings that [`publish`] publishes.
pub const READINGS: usize = 20;

/// Requests everything that the server of [`http`](crate::http) has, and sends it wrong requests.
pub async fn browse<N: TcpConnect>(net: &N, server: SocketAddr, file: usize) {
    let (head, body) = fetch(net, server, &get("/")).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(body, PAGE.as_bytes());
    let (head, _) = fetch(net, server, &get("/nowhere")).await;
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let post = "POST / HTTP/1.1\r\nHost: node\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let (head, _) = fetch(net, server, post).await;
    assert!(head.starts_with("HTTP/1.1 405"), "{head}");
    for wrong in ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n"] {
        let request = format!("GET / HTTP/1.1\r\n{wrong}Connection: close\r\n\r\n");
        let (head, _) = fetch(net, server, &request).await;
        assert!(head.starts_with("HTTP/1.1 400"), "{wrong}: {head}");
    }
    let (_, body) = fetch(net, server, &get("/file")).await;
    assert!(body.into_iter().eq((0..file).map(content)), "another file");
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")
}

/// Returns the answer to a request, head and body separately.
async fn fetch<N: TcpConnect>(net: &N, server: SocketAddr, request: &str) -> (String, Vec<u8>) {
    let mut stream = net
        .connect(server)
        .await
        .expect("the server accepts the connection");
    let sent = stream.write_all(request.as_bytes()).await;
    sent.expect("the connection stays open");
    let (mut answer, mut bytes) = (Vec::new(), [0; 300]);
    while let Ok(len @ 1..) = stream.read(&mut bytes).await {
        answer.extend_from_slice(&bytes[..len]);
    }
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let body =
        answer.split_off(end.expect("the header of the response ends with an empty line") + 4);
    (
        String::from_utf8(answer).expect("the header of the response is UTF-8"),
        body,
    )
}

pub async fn publish<N: TcpConnect>(net: &N, broker: SocketAddr) {
    let topic = ("sample", "samples/reading");
    let mut readings = (0..READINGS).map(reading);
    let next = async || readings.next();
    let published = mqtt::publish(net, broker, topic, &mut [0; 64], next).await;
    assert_eq!(
        published.expect("the broker accepts all readings"),
        READINGS
    );
}

/// Returns the reading with index `number` of [`publish`].
pub fn reading(number: usize) -> String {
    format!("reading {number}")
}

/// Receives the readings of one client with the necessary part of MQTT 5, and stores their texts.
pub async fn broker<N: TcpBind>(net: &N, port: u16, heard: &RefCell<Vec<String>>) {
    let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
    let listener = net.bind(local).await.expect("the port is free");
    let (_, mut stream) = listener.accept().await.expect("a client connects");
    let mut head = [0; 2];
    while stream.read_exact(&mut head).await.is_ok() {
        let mut body = vec![0; head[1].into()];
        let read = stream.read_exact(&mut body).await;
        read.expect("a whole packet arrives");
        let answer = match head[0] >> 4 {
            // CONNECT; CONNACK without properties.
            1 => vec![0x20, 3, 0, 0, 0],
            // PUBLISH: topic, identifier, no properties, payload.
            3 => {
                let topic = usize::from(body[1]);
                assert_eq!(body[4 + topic], 0);
                let text = String::from_utf8(body[5 + topic..].to_vec());
                heard.borrow_mut().push(text.expect("the reading is UTF-8"));
                vec![0x40, 2, body[2 + topic], body[3 + topic]]
            }
            14 => return,
            other => panic!("unexpected MQTT packet of type {other}"),
        };
        let sent = stream.write_all(&answer).await;
        sent.expect("the connection stays open");
    }
}

/// Panics unless [`broker`] has received all readings of [`publish`].
pub fn all_heard(heard: &RefCell<Vec<String>>) {
    let expected: Vec<String> = (0..READINGS).map(reading).collect();
    assert_eq!(*heard.borrow(), expected);
}
