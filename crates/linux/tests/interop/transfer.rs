//! Transfers between a kernel socket and the node; every byte is checked.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread::{JoinHandle, spawn};
use std::time::Duration as StdDuration;

use redpoll_base::{Duration, Instant};
use redpoll_stack::transport::Endpoint;
use redpoll_stack::{ConnId, Error, ListenerId};
use redpoll_testkit::Badness;

use crate::bench::Bench;
use crate::common::{host_address, node_address};
use crate::node::HeapNode;

/// Number of bytes in each direction.
const LENGTH: usize = 1 << 20;
const PORT: u16 = 7000;
const PATIENCE: Duration = Duration::from_secs(300);
const GOOD: Badness = Badness {
    loss: 0,
    duplication: 0,
    reordering: 0,
};

/// The side that opens the connection, and the order of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The kernel connects, sends all and half-closes; then the node answers.
    InTurn,
    /// The node connects, and both ends send at the same time.
    AtOnce,
}

impl Direction {
    pub const ALL: [Direction; 2] = [Direction::InTurn, Direction::AtOnce];

    pub fn name(self) -> &'static str {
        match self {
            Direction::InTurn => "one_mebibyte_each_way_in_turn",
            Direction::AtOnce => "one_mebibyte_each_way_at_once",
        }
    }
}

/// Returns the byte at `offset` of the stream from `end`. The stream has no short period, so that a
/// segment in a wrong place is detected.
fn byte_at(end: u8, offset: usize) -> u8 {
    let x = (offset as u32 ^ (u32::from(end) << 24)).wrapping_mul(0x9e37_79b1);
    (x >> 24) as u8 ^ (x >> 11) as u8
}

fn stream(end: u8) -> Vec<u8> {
    (0..LENGTH).map(|offset| byte_at(end, offset)).collect()
}

const KERNEL: u8 = 1;
const NODE: u8 = 2;

/// The node's side of a transfer, driven by the loop.
struct Peer {
    conn: ConnId,
    sent: usize,
    received: usize,
    ended: bool,
    closed: bool,
    waits_for_the_end: bool,
}

impl Peer {
    fn new(conn: ConnId, direction: Direction) -> Self {
        Peer {
            conn,
            sent: 0,
            received: 0,
            ended: false,
            closed: false,
            waits_for_the_end: direction == Direction::InTurn,
        }
    }

    fn step(&mut self, now: Instant, node: &mut HeapNode) -> Option<()> {
        self.receive(now, node);
        if self.ended || !self.waits_for_the_end {
            self.send(now, node);
        }
        (self.ended && self.closed).then_some(())
    }

    fn receive(&mut self, now: Instant, node: &mut HeapNode) {
        let mut block = [0; 4096];
        while !self.ended {
            match node.tcp_recv(now, self.conn, &mut block) {
                Ok(0) => {
                    assert_eq!(self.received, LENGTH, "the end came early");
                    self.ended = true;
                }
                Ok(len) => {
                    for (i, &byte) in block[..len].iter().enumerate() {
                        let offset = self.received + i;
                        assert_eq!(
                            byte,
                            byte_at(KERNEL, offset),
                            "byte {offset} from the kernel"
                        );
                    }
                    self.received += len;
                }
                Err(Error::WouldBlock) => return,
                Err(e) => panic!("receiving after {} bytes: {e}", self.received),
            }
        }
    }

    fn send(&mut self, now: Instant, node: &mut HeapNode) {
        while self.sent < LENGTH {
            let end = LENGTH.min(self.sent + 1024);
            let block: Vec<u8> = (self.sent..end)
                .map(|offset| byte_at(NODE, offset))
                .collect();
            match node.tcp_send(now, self.conn, &block) {
                Ok(0) | Err(Error::WouldBlock) => return,
                Ok(len) => self.sent += len,
                Err(e) => panic!("sending after {} bytes: {e}", self.sent),
            }
        }
        if !self.closed {
            node.tcp_close(now, self.conn);
            self.closed = true;
        }
    }
}

fn accept(listener: ListenerId) -> impl FnMut(Instant, &mut HeapNode) -> Option<ConnId> {
    move |_, node| {
        while node.poll_event().is_some() {}
        node.tcp_accept(listener)
    }
}

pub fn run(prefix: u16, direction: Direction, loss: u32, seed: u64) {
    let badness = Badness {
        loss,
        duplication: 2,
        reordering: 5,
    };
    let mut bench = Bench::new(prefix, badness, seed);
    let (kernel, conn) = match direction {
        Direction::InTurn => {
            let listener = bench.mesh.node.tcp_listen(PORT).expect("a listener");
            let kernel = spawn(move || {
                let stream =
                    TcpStream::connect((node_address(prefix), PORT)).expect("the node accepts");
                kernel_in_turn(stream);
            });
            (kernel, bench.run(PATIENCE, accept(listener)))
        }
        Direction::AtOnce => {
            let listener =
                TcpListener::bind((host_address(prefix), PORT)).expect("a kernel listener");
            let kernel =
                spawn(move || kernel_at_once(listener.accept().expect("the node connects").0));
            let remote = Endpoint {
                addr: host_address(prefix).into(),
                port: PORT,
            };
            let conn = bench.run(PATIENCE, |now, node| node.tcp_connect(now, remote).ok());
            (kernel, conn)
        }
    };
    let mut peer = Peer::new(conn, direction);
    bench.run(PATIENCE, |now, node| peer.step(now, node));
    // Waits for the last acknowledgments and the end of the streams.
    bench.run(PATIENCE, |_, _| kernel.is_finished().then_some(()));
    join(kernel);
    let link = [bench.mesh.to_node.counters, bench.mesh.to_host.counters];
    assert!(
        loss == 0 || link.iter().all(|c| c.lost > 0),
        "the link was not bad at all: {link:?}"
    );
}

fn kernel_in_turn(mut socket: TcpStream) {
    patient(&socket);
    socket.write_all(&stream(KERNEL)).expect("the kernel sends");
    socket
        .shutdown(Shutdown::Write)
        .expect("the kernel half-closes");
    read_all(&mut socket);
}

fn kernel_at_once(mut socket: TcpStream) {
    patient(&socket);
    let mut writer = socket.try_clone().expect("a socket can be used twice");
    let sender = spawn(move || {
        writer.write_all(&stream(KERNEL)).expect("the kernel sends");
        writer
            .shutdown(Shutdown::Write)
            .expect("the kernel half-closes");
    });
    read_all(&mut socket);
    join(sender);
}

fn read_all(socket: &mut TcpStream) {
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).expect("the kernel receives");
    let wrong = bytes
        .iter()
        .enumerate()
        .find(|&(offset, &byte)| byte != byte_at(NODE, offset));
    assert_eq!(wrong, None, "a wrong byte from the node");
    assert_eq!(bytes.len(), LENGTH);
}

fn patient(socket: &TcpStream) {
    let patience = Some(StdDuration::from_micros(PATIENCE.as_micros()));
    socket.set_read_timeout(patience).unwrap();
    socket.set_write_timeout(patience).unwrap();
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

pub fn ping(prefix: u16) {
    let mut bench = Bench::new(prefix, GOOD, 1);
    let ping = spawn(move || {
        Command::new("ping")
            .args(["-6", "-n", "-c", "3", "-i", "0.2", "-W", "5", "-s", "1000"])
            .arg(node_address(prefix).to_string())
            .output()
            .expect("there is a ping")
    });
    bench.run(PATIENCE, |_, _| ping.is_finished().then_some(()));
    let output = join(ping);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("3 received"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

pub fn refused(prefix: u16) {
    let mut bench = Bench::new(prefix, GOOD, 1);
    let address = SocketAddr::from((node_address(prefix), 9));
    let connect = spawn(move || TcpStream::connect_timeout(&address, StdDuration::from_secs(20)));
    bench.run(PATIENCE, |_, _| connect.is_finished().then_some(()));
    let error = join(connect).expect_err("nobody listens there");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

pub fn refused_by_the_kernel(prefix: u16) {
    let mut bench = Bench::new(prefix, GOOD, 1);
    let remote = Endpoint {
        addr: host_address(prefix).into(),
        port: 9,
    };
    let conn = bench.run(PATIENCE, |now, node| node.tcp_connect(now, remote).ok());
    let error = bench.run(PATIENCE, |now, node| {
        match node.tcp_recv(now, conn, &mut [0; 16]) {
            Err(Error::WouldBlock) => None,
            other => Some(other),
        }
    });
    assert!(matches!(error, Err(Error::Failed(_))), "{error:?}");
}
