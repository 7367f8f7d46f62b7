//! Applications of Redpoll's nodes in a mixed mesh: an echo service, and clients that use it.

use redpoll_base::{Addr, Instant};
use redpoll_sim::World;
use redpoll_stack::transport::Endpoint;
use redpoll_stack::{ConnId, UdpId};

/// The port of the echo service (RFC 862).
pub const PORT: u16 = 7;
/// Length of a datagram in bytes, which needs at least four fragments.
const DATAGRAM: usize = 300;
/// Bytes that the client sends over a connection, and that the server echoes.
const STREAM: usize = 2_000;
const DATAGRAM_EVERY_S: u64 = 10;
const STREAM_EVERY_S: u64 = 60;

fn pattern(at: usize, factor: usize) -> u8 {
    (at * factor) as u8
}

/// Echoes datagrams, and regularly requests echoes of datagrams and streams from another node.
pub struct Client {
    node: String,
    to: Endpoint,
    socket: UdpId,
    datagram_at: Instant,
    stream_at: Instant,
    stream: Option<Stream>,
    pub datagrams: (usize, usize),
    pub streams: (usize, usize),
    pub wrong: usize,
    pub echoed: usize,
}

struct Stream {
    conn: ConnId,
    put: usize,
    got: usize,
}

impl Client {
    /// Returns a client that starts after `begins_s` seconds, and echoes for others if `serves`.
    pub fn new(world: &mut World, node: &str, to: Addr, serves: bool, begins_s: u64) -> Client {
        let port = if serves { PORT } else { 8_765 };
        let socket = world.with_node(node, |_, node| node.udp_bind(port));
        let begins = Instant::from_millis(begins_s * 1_000);
        Client {
            node: node.to_owned(),
            to: Endpoint::new(to, PORT),
            socket: socket.expect("a node").expect("a free socket"),
            datagram_at: begins,
            stream_at: begins,
            stream: None,
            datagrams: (0, 0),
            streams: (0, 0),
            wrong: 0,
            echoed: 0,
        }
    }

    pub fn turn(&mut self, world: &mut World) {
        let now = world.now();
        let node = self.node.clone();
        world.with_node(&node, |local, node| {
            let mut buffer = [0; 1_280];
            while let Some((len, from)) = node.udp_recv(self.socket, &mut buffer) {
                if from.port != PORT {
                    self.echoed += 1;
                    // If the queue is full, the datagram is lost.
                    let _ = node.udp_send(local, self.socket, from, &buffer[..len]);
                    continue;
                }
                let is_right = len == DATAGRAM
                    && buffer[..len]
                        .iter()
                        .enumerate()
                        .all(|(at, byte)| *byte == pattern(at, 7));
                self.datagrams.1 += usize::from(is_right);
                self.wrong += usize::from(!is_right);
            }
            if now >= self.datagram_at {
                self.datagram_at += redpoll_base::Duration::from_secs(DATAGRAM_EVERY_S);
                let bytes: Vec<u8> = (0..DATAGRAM).map(|at| pattern(at, 7)).collect();
                self.datagrams.0 += 1;
                let _ = node.udp_send(local, self.socket, self.to, &bytes);
            }
            if now >= self.stream_at {
                self.stream_at += redpoll_base::Duration::from_secs(STREAM_EVERY_S);
                if let Some(old) = self.stream.take() {
                    node.tcp_abort(local, old.conn);
                    node.tcp_release(local, old.conn);
                }
                self.streams.0 += 1;
                let conn = node.tcp_connect(local, self.to);
                self.stream = conn.ok().map(|conn| Stream {
                    conn,
                    put: 0,
                    got: 0,
                });
            }
            let Some(stream) = &mut self.stream else {
                return;
            };
            // At most 200 bytes are in transit, because the echoing node may have small buffers.
            while stream.put < STREAM && stream.put - stream.got < 200 {
                let bytes: Vec<u8> = (stream.put..STREAM.min(stream.put + 40))
                    .map(|at| pattern(at, 13))
                    .collect();
                match node.tcp_send(local, stream.conn, &bytes) {
                    Ok(sent) if sent > 0 => stream.put += sent,
                    _ => break,
                }
            }
            while let Ok(len) = node.tcp_recv(local, stream.conn, &mut buffer) {
                if len == 0 {
                    break;
                }
                for byte in &buffer[..len] {
                    self.wrong += usize::from(*byte != pattern(stream.got, 13));
                    stream.got += 1;
                }
            }
            if stream.got >= STREAM {
                self.streams.1 += 1;
                let conn = stream.conn;
                self.stream = None;
                node.tcp_close(local, conn);
                node.tcp_release(local, conn);
            }
        });
    }
}

impl Client {
    pub fn told(&self) -> String {
        let (sent, back) = self.datagrams;
        let (opened, echoed) = self.streams;
        let wrong = self.wrong;
        format!(
            "{} to {}: datagrams {back} of {sent}, streams {echoed} of {opened}, wrong {wrong}",
            self.node, self.to.addr
        )
    }

    pub fn problem(&self) -> Option<String> {
        let (sent, back) = self.datagrams;
        let (opened, echoed) = self.streams;
        let is_well = sent >= 40 && 10 * back >= 9 * sent && echoed + 1 >= opened;
        (!is_well || opened < 6 || self.wrong > 0).then(|| self.told())
    }
}
