//! A connection from its opening to its end.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV6, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn6, connect, socket};
use redpoll_base::{Duration, Rng};
use redpoll_stack::transport::Endpoint;
use redpoll_stack::{ConnId, Error};

use crate::world::{KERNEL_PORT, NODE_PORTS, World};

/// Longest allowed time of a cycle, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of bytes in each direction.
const MOST: u32 = 700;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    Kernel,
    Node,
    Both,
}

#[derive(Debug)]
struct Plan {
    opener: Who,
    /// The side that ends its stream before it receives the end of the other side's stream.
    closer: Who,
    to_node: usize,
    to_kernel: usize,
    port: usize,
    salt: u8,
}

#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    pub cycles: u64,
    opened_by_kernel: u64,
    bytes: u64,
    longest_us: u64,
    most_connections: usize,
}

impl Tally {
    pub fn add(self, other: Tally) -> Tally {
        Tally {
            cycles: self.cycles + other.cycles,
            opened_by_kernel: self.opened_by_kernel + other.opened_by_kernel,
            bytes: self.bytes + other.bytes,
            longest_us: self.longest_us.max(other.longest_us),
            most_connections: self.most_connections.max(other.most_connections),
        }
    }
}

struct Cycle {
    plan: Plan,
    kernel: Option<TcpStream>,
    conn: Option<ConnId>,
    /// Bytes sent by the kernel, and by the node.
    sent: [usize; 2],
    received: [usize; 2],
    shut: [bool; 2],
    ended: [bool; 2],
}

const KERNEL: usize = 0;
const NODE: usize = 1;

pub fn run(world: &mut World, seed: u64, number: u64, tally: &mut Tally) {
    let mut rng = Rng::named(seed, &format!("{} {number}", world.address));
    let plan = Plan {
        opener: [Who::Kernel, Who::Node][rng.below(2) as usize],
        closer: [Who::Kernel, Who::Node, Who::Both][rng.below(3) as usize],
        to_node: 1 + rng.below(MOST) as usize,
        to_kernel: 1 + rng.below(MOST) as usize,
        port: rng.below(world.kernel_listeners.len() as u32) as usize,
        salt: rng.next_u32() as u8,
    };
    world.settle();
    let begun = world.now;
    let mut cycle = Cycle::open(plan, world);
    loop {
        let moved = world.settle() | cycle.step(world);
        if cycle.is_over(world) {
            break;
        }
        assert!(
            world.now < begun + PATIENCE,
            "stuck: seed {seed}, cycle {number} of {}: {:?}, sent {:?}, received {:?}, {:?}",
            world.address,
            cycle.plan,
            cycle.sent,
            cycle.received,
            cycle.conn.map(|conn| world.node.tcp_connection(conn)),
        );
        if !moved {
            world.wait();
        }
    }
    drop(cycle.kernel);
    let conn = cycle.conn.expect("the connection was open");
    world.node.tcp_release(world.now, conn);
    world.settle();
    world.assert_no_datagram();
    tally.cycles += 1;
    tally.opened_by_kernel += u64::from(cycle.plan.opener == Who::Kernel);
    tally.bytes += (cycle.plan.to_node + cycle.plan.to_kernel) as u64;
    tally.longest_us = tally.longest_us.max(world.now.since(begun).as_micros());
    let connections = world.node.tcp_connections().count();
    tally.most_connections = tally.most_connections.max(connections);
}

impl Cycle {
    fn open(plan: Plan, world: &mut World) -> Self {
        let (mut kernel, mut conn) = (None, None);
        if plan.opener == Who::Kernel {
            kernel = Some(kernel_connect(world, plan.port));
        } else {
            let remote = Endpoint {
                addr: world.host.into(),
                port: KERNEL_PORT + plan.port as u16,
            };
            let opened = world.node.tcp_connect(world.now, remote);
            conn = Some(opened.expect("a slot is free, or in TIME-WAIT"));
        }
        Cycle {
            plan,
            kernel,
            conn,
            sent: [0; 2],
            received: [0; 2],
            shut: [false; 2],
            ended: [false; 2],
        }
    }

    /// Lets both applications work; returns whether one of them did anything.
    fn step(&mut self, world: &mut World) -> bool {
        let before = (self.sent, self.received, self.shut, self.ended);
        let was_open = (self.kernel.is_some(), self.conn.is_some());
        if self.kernel.is_none() {
            self.kernel = accept(world, self.plan.port);
        }
        if self.conn.is_none() {
            let listener = world.node_listeners[self.plan.port % NODE_PORTS.len()];
            self.conn = world.node.tcp_accept(listener);
        }
        self.kernel_step();
        self.node_step(world);
        before != (self.sent, self.received, self.shut, self.ended)
            || was_open != (self.kernel.is_some(), self.conn.is_some())
    }

    fn byte(&self, from: usize, at: usize) -> u8 {
        (at as u8)
            .wrapping_mul(31)
            .wrapping_add(self.plan.salt)
            .wrapping_add(from as u8 * 101)
    }

    fn bytes(&self, from: usize, len: usize) -> Vec<u8> {
        (self.sent[from]..len)
            .map(|at| self.byte(from, at))
            .collect()
    }

    fn check(&mut self, from: usize, bytes: &[u8]) {
        let to = 1 - from;
        for &byte in bytes {
            assert_eq!(byte, self.byte(from, self.received[to]), "a wrong byte");
            self.received[to] += 1;
        }
    }

    fn kernel_step(&mut self) {
        let Some(mut socket) = self.kernel.take() else {
            return;
        };
        let len = self.plan.to_node;
        if self.sent[KERNEL] < len {
            let bytes = self.bytes(KERNEL, len);
            match socket.write(&bytes) {
                Ok(count) => self.sent[KERNEL] += count,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {}
                Err(e) => panic!("the kernel sends: {e}, {:?}", self.plan),
            }
        }
        let mut block = [0; 1024];
        while self.sent[KERNEL] > 0 && !self.ended[KERNEL] {
            match socket.read(&mut block) {
                Ok(0) => {
                    assert_eq!(self.received[KERNEL], self.plan.to_kernel, "the end");
                    self.ended[KERNEL] = true;
                }
                Ok(count) => self.check(NODE, &block[..count]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => panic!("the kernel receives: {e}, {:?}", self.plan),
            }
        }
        if self.may_shut(KERNEL, len) {
            socket.shutdown(Shutdown::Write).expect("a half-close");
            self.shut[KERNEL] = true;
        }
        self.kernel = Some(socket);
    }

    fn node_step(&mut self, world: &mut World) {
        let Some(conn) = self.conn else { return };
        let (now, len) = (world.now, self.plan.to_kernel);
        if self.sent[NODE] < len {
            let bytes = self.bytes(NODE, len);
            match world.node.tcp_send(now, conn, &bytes) {
                Ok(count) => self.sent[NODE] += count,
                Err(Error::WouldBlock) => {}
                Err(e) => panic!("the node sends: {e}, {:?}", self.plan),
            }
        }
        let mut block = [0; 1024];
        while !self.ended[NODE] {
            match world.node.tcp_recv(now, conn, &mut block) {
                Ok(0) => {
                    assert_eq!(self.received[NODE], self.plan.to_node, "the end");
                    self.ended[NODE] = true;
                }
                Ok(count) => self.check(KERNEL, &block[..count]),
                Err(Error::WouldBlock) => break,
                Err(e) => panic!("the node receives: {e}, {:?}", self.plan),
            }
        }
        if self.may_shut(NODE, len) {
            world.node.tcp_close(now, conn);
            self.shut[NODE] = true;
        }
    }

    /// Returns whether `who`, after all its data, may end its stream. If only one side is the
    /// closer, it must have received all data, and the other side the end of the closer's stream.
    fn may_shut(&self, who: usize, len: usize) -> bool {
        let wanted = [self.plan.to_kernel, self.plan.to_node][who];
        let is_first = self.plan.closer == [Who::Kernel, Who::Node][who];
        let may = match self.plan.closer {
            Who::Both => true,
            _ if is_first => self.received[who] == wanted,
            _ => self.ended[who],
        };
        !self.shut[who] && self.sent[who] == len && may
    }

    /// Returns whether both streams have ended, and the node's buffer is empty: unacknowledged or
    /// pinned data would still occupy it.
    fn is_over(&self, world: &World) -> bool {
        let Some(conn) = self.conn else { return false };
        let room = world.node.tcp_connection(conn).map(|conn| conn.unacked());
        self.ended == [true; 2] && self.shut == [true; 2] && room.is_none_or(|bytes| bytes == 0)
    }
}

fn kernel_connect(world: &World, port: usize) -> TcpStream {
    let fd = socket(
        AddressFamily::Inet6,
        SockType::Stream,
        SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC,
        None,
    )
    .expect("a socket");
    let port = NODE_PORTS[port % NODE_PORTS.len()];
    let remote = SockaddrIn6::from(SocketAddrV6::new(world.address, port, 0, 0));
    assert_eq!(connect(fd.as_raw_fd(), &remote), Err(Errno::EINPROGRESS));
    fd.into()
}

fn accept(world: &World, port: usize) -> Option<TcpStream> {
    match world.kernel_listeners[port].accept() {
        Ok((socket, _)) => {
            socket
                .set_nonblocking(true)
                .expect("the socket can be non-blocking");
            Some(socket)
        }
        Err(e) if e.kind() == ErrorKind::WouldBlock => None,
        Err(e) => panic!("the kernel accepts: {e}"),
    }
}
