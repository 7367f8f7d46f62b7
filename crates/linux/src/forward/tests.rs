//! A forwarder between real loopback sockets and a fake mesh of two queues per connection.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV6, TcpStream};
use std::time::{Duration, Instant};

use super::*;

/// A connection's far end in the mesh, which the test controls.
#[derive(Default)]
struct FarEnd {
    /// Bytes given to the border router's TCP.
    inward: VecDeque<u8>,
    inward_ended: bool,
    /// Bytes that the node sends.
    outward: VecDeque<u8>,
    outward_ended: bool,
    open: bool,
    broken: bool,
    released: bool,
}

struct FakeMesh {
    ends: Vec<FarEnd>,
    /// Bytes that a connection holds before it accepts no more.
    window: usize,
    room: usize,
    answers: bool,
}

impl FakeMesh {
    fn new() -> Self {
        FakeMesh {
            ends: Vec::new(),
            window: 1848,
            room: 4,
            answers: true,
        }
    }
}

impl MeshTcp for FakeMesh {
    type Conn = usize;

    fn connect(&mut self, _: SocketAddrV6) -> Option<usize> {
        if self.ends.len() == self.room {
            return None;
        }
        self.ends.push(FarEnd {
            open: self.answers,
            ..FarEnd::default()
        });
        Some(self.ends.len() - 1)
    }

    fn is_opening(&self, &conn: &usize) -> bool {
        !self.ends[conn].open
    }

    fn send(&mut self, &mut conn: &mut usize, bytes: &[u8]) -> Result<usize, Broken> {
        let end = &mut self.ends[conn];
        if end.broken {
            return Err(Broken);
        }
        let len = bytes.len().min(self.window - end.inward.len());
        end.inward.extend(&bytes[..len]);
        Ok(len)
    }

    fn recv(&mut self, &mut conn: &mut usize, out: &mut [u8]) -> Result<Received, Broken> {
        let end = &mut self.ends[conn];
        if end.broken {
            return Err(Broken);
        }
        match end.outward.read(out) {
            Ok(0) | Err(_) if end.outward_ended => Ok(Received::End),
            Ok(0) | Err(_) => Ok(Received::Nothing),
            Ok(len) => Ok(Received::Data(len)),
        }
    }

    fn close(&mut self, &mut conn: &mut usize) {
        self.ends[conn].inward_ended = true;
    }

    fn release(&mut self, conn: usize) {
        assert!(!self.ends[conn].released, "released twice");
        self.ends[conn].released = true;
    }
}

fn anywhere() -> SocketAddrV6 {
    SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, 0, 0)
}

fn start() -> (Forwarder<usize>, TcpStream) {
    let mut forwarder = Forwarder::new();
    let port = forwarder.listen(0, anywhere()).expect("a free port");
    let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the forward listens");
    client
        .set_nonblocking(true)
        .expect("a socket can be non-blocking");
    (forwarder, client)
}

/// Pumps until `done`, or fails after some seconds.
fn until(
    forwarder: &mut Forwarder<usize>,
    mesh: &mut FakeMesh,
    mut done: impl FnMut(&mut FakeMesh) -> bool,
) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !done(mesh) {
        forwarder.pump(mesh);
        assert!(
            Instant::now() < deadline,
            "stuck: {:?}",
            forwarder.counters()
        );
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn bytes_and_half_close_pass_both_ways() {
    let (mut forwarder, mut client) = start();
    let mut mesh = FakeMesh::new();
    client.write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    until(&mut forwarder, &mut mesh, |m| {
        m.ends.first().is_some_and(|e| e.inward_ended)
    });
    assert_eq!(
        mesh.ends[0].inward.drain(..).collect::<Vec<_>>(),
        b"question"
    );

    // The host's stream has ended; the node's has not.
    mesh.ends[0].outward.extend(b"answer");
    let mut answer: Vec<u8> = Vec::new();
    until(&mut forwarder, &mut mesh, |_| {
        let mut byte = [0; 16];
        answer.extend(client.read(&mut byte).map_or(&[][..], |len| &byte[..len]));
        answer == b"answer"
    });
    assert!(!mesh.ends[0].released);
    mesh.ends[0].outward_ended = true;
    until(&mut forwarder, &mut mesh, |_| {
        matches!(client.read(&mut [0; 16]), Ok(0))
    });
    until(&mut forwarder, &mut mesh, |m| m.ends[0].released);
    assert_eq!(forwarder.connections(), 0);
    assert_eq!(
        (
            forwarder.counters().bytes_in,
            forwarder.counters().bytes_out
        ),
        (8, 6)
    );
}

#[test]
fn a_full_mesh_pushes_back_on_the_host() {
    let (mut forwarder, mut client) = start();
    let mut mesh = FakeMesh::new();
    let block = [7; 64 * 1024];
    let mut written = 0_u64;
    // The mesh accepts no more bytes after its window, so the kernel must finally refuse further
    // bytes of the program.
    let mut refusals = 0;
    until(&mut forwarder, &mut mesh, |_| {
        match client.write(&block) {
            Ok(len) => (written, refusals) = (written + len as u64, 0),
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::WouldBlock);
                refusals += 1;
            }
        }
        refusals > 20
    });
    assert_eq!(mesh.ends[0].inward.len(), mesh.window);
    assert_eq!(forwarder.counters().bytes_in, mesh.window as u64);
    // Once the mesh accepts bytes again, all bytes arrive.
    client.shutdown(Shutdown::Write).unwrap();
    let mut drained = 0;
    until(&mut forwarder, &mut mesh, |m| {
        drained += m.ends[0].inward.drain(..).count() as u64;
        m.ends[0].inward_ended
    });
    assert_eq!(drained, written);
}

#[test]
fn a_slow_host_pushes_back_on_the_mesh() {
    let (mut forwarder, mut client) = start();
    let mut mesh = FakeMesh::new();
    until(&mut forwarder, &mut mesh, |m| !m.ends.is_empty());
    let total = 16 << 20;
    mesh.ends[0].outward.extend(std::iter::repeat_n(9, total));
    mesh.ends[0].outward_ended = true;
    while forwarder.pump(&mut mesh) {}
    assert!(
        !mesh.ends[0].outward.is_empty(),
        "the socket cannot hold all of it"
    );
    let mut received = 0;
    let mut block = vec![0; 1 << 16];
    until(&mut forwarder, &mut mesh, |_| {
        match client.read(&mut block) {
            Ok(0) => true,
            Ok(len) => {
                received += len;
                false
            }
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::WouldBlock);
                false
            }
        }
    });
    assert_eq!(received, total);
}

#[test]
fn a_broken_mesh_connection_resets_the_host() {
    let (mut forwarder, mut client) = start();
    let mut mesh = FakeMesh::new();
    until(&mut forwarder, &mut mesh, |m| !m.ends.is_empty());
    mesh.ends[0].broken = true;
    let mut error = None;
    until(&mut forwarder, &mut mesh, |_| {
        error = client.read(&mut [0; 16]).err().map(|e| e.kind());
        error != Some(ErrorKind::WouldBlock)
    });
    assert_eq!(error, Some(ErrorKind::ConnectionReset));
    assert!(mesh.ends[0].released);
    assert_eq!(forwarder.counters().broken_by_mesh, 1);
}

#[test]
fn a_host_that_resets_gives_the_mesh_connection_back() {
    let (mut forwarder, client) = start();
    let mut mesh = FakeMesh::new();
    until(&mut forwarder, &mut mesh, |m| !m.ends.is_empty());
    pair::reset(&client);
    drop(client);
    until(&mut forwarder, &mut mesh, |m| m.ends[0].released);
    assert_eq!(forwarder.counters().broken_by_host, 1);
    assert!(
        !mesh.ends[0].inward_ended,
        "a reset must not look like an end of stream"
    );
}

/// A browser opens six connections at the same time; the border router has room for four.
#[test]
fn without_room_in_the_border_router_the_host_waits() {
    let (mut forwarder, mut first) = start();
    let port = first.peer_addr().unwrap().port();
    let mut others: Vec<TcpStream> = (0..5)
        .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap())
        .collect();
    let mut mesh = FakeMesh::new();
    until(&mut forwarder, &mut mesh, |m| m.ends.len() == 4);
    for _ in 0..20 {
        forwarder.pump(&mut mesh);
        assert_eq!(
            first.read(&mut [0; 16]).err().map(|e| e.kind()),
            Some(ErrorKind::WouldBlock)
        );
    }
    assert_eq!(
        (forwarder.connections(), forwarder.counters().waited),
        (4, 1)
    );
    // The forwarder asks the kernel for no events that it cannot handle now.
    let mut interests = Vec::new();
    forwarder.interests(&mut interests);
    assert_eq!(interests.len(), 4, "the pairs', not the listeners'");
    drop(interests);
    mesh.room = 6;
    until(&mut forwarder, &mut mesh, |m| m.ends.len() == 6);
    for end in &mut mesh.ends {
        end.outward.extend(b"page");
        end.outward_ended = true;
    }
    while forwarder.pump(&mut mesh) {}
    first.set_nonblocking(false).unwrap();
    for client in others.iter_mut().chain([&mut first]) {
        let mut page = String::new();
        client.read_to_string(&mut page).unwrap();
        assert_eq!(page, "page");
    }
}

/// Five connections to a node that does not answer, and one to another node that answers.
#[test]
fn handshakes_with_a_silent_node_delay_no_other_node() {
    let (mut forwarder, first) = start();
    let port = first.peer_addr().unwrap().port();
    let silent: Vec<TcpStream> = (0..4)
        .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap())
        .chain([first])
        .collect();
    let other = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 80, 0, 0);
    let port = forwarder.listen(0, other).expect("a free port");
    let mut mesh = FakeMesh::new();
    (mesh.room, mesh.answers) = (16, false);
    until(&mut forwarder, &mut mesh, |m| m.ends.len() == 2);
    let mut sixth = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    until(&mut forwarder, &mut mesh, |m| m.ends.len() == 3);
    mesh.ends[2].open = true;
    mesh.ends[2].outward.extend(b"here");
    mesh.ends[2].outward_ended = true;
    while forwarder.pump(&mut mesh) {}
    let mut answer = String::new();
    sixth.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "here");
    assert_eq!(forwarder.counters().waited, 3);
    // When a handshake completes, another begins. When one fails, waiting connections are reset.
    mesh.ends[0].open = true;
    until(&mut forwarder, &mut mesh, |m| m.ends.len() == 4);
    mesh.ends[1].broken = true;
    until(&mut forwarder, &mut mesh, |m| m.ends[1].released);
    assert_eq!(mesh.ends.len(), 4, "nobody begins where one has failed");
    let mut reset = 0;
    for mut stream in silent {
        stream.set_nonblocking(true).unwrap();
        match stream.read(&mut [0; 1]).expect_err("nothing comes").kind() {
            ErrorKind::ConnectionReset => reset += 1,
            kind => assert_eq!(kind, ErrorKind::WouldBlock),
        }
    }
    assert_eq!((reset, forwarder.counters().broken_by_mesh), (3, 3));
}

#[test]
fn a_port_in_use_is_one_clear_line() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = Forwarder::<usize>::new()
        .listen(port, anywhere())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot listen on port {port} of this host: the port is in use; choose \
             another local port in --forward"
        )
    );
}

#[test]
fn forwards_are_reached_over_both_loopback_addresses() {
    let mut forwarder = Forwarder::<usize>::new();
    let port = forwarder.listen(0, anywhere()).unwrap();
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("127.0.0.1");
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        TcpStream::connect((Ipv6Addr::LOCALHOST, port)).expect("::1");
    }
}

#[test]
fn the_text_of_a_forward() {
    let spec: ForwardSpec = "8080:leaf-12:80".parse().unwrap();
    assert_eq!(
        spec,
        ForwardSpec {
            host_port: 8080,
            node: "leaf-12".into(),
            node_port: 80
        }
    );
    assert_eq!(spec.to_string(), "8080:leaf-12:80");
    assert_eq!("0:a:1".parse::<ForwardSpec>().unwrap().host_port, 0);
    for wrong in [
        "",
        ":",
        "8080",
        "8080:leaf-12",
        "8080::80",
        "x:leaf:80",
        "8080:leaf:0",
        "8080:leaf:65536",
        "70000:leaf:80",
    ] {
        let error = wrong.parse::<ForwardSpec>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with(&format!("`{wrong}` is not a port to forward")),
            "{error}"
        );
    }
}
