//! Two flows through one bottleneck: from kernel to kernel, Redpoll to kernel, Redpoll to Redpoll.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, SocketAddrV6, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration as StdDuration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn6, bind, connect, listen, setsockopt,
    socket, sockopt,
};
use nix::sys::time::TimeSpec;
use redpoll_base::{Duration, Instant, Rng};
use redpoll_linux::gateway::Clock;
use redpoll_linux::tun::Tun;
use redpoll_stack::transport::{self, Endpoint};
use redpoll_stack::{ConnId, ListenerId};

use crate::common::{config, host_address, node_address};
use crate::link::Shaper;
use crate::node::{HeapNode, make};

/// Maximum segment size in bytes; with timestamps, 462 bytes of it are payload.
const MSS: u16 = 474;
const PORT: u16 = 7000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pair {
    /// A flow from Redpoll to Redpoll, next to one from kernel to kernel.
    Redpoll,
    /// A flow from Redpoll to the kernel, next to one from kernel to kernel, with the same
    /// receiver.
    RedpollToLinux,
    /// Two flows from kernel to kernel, for comparison.
    Linux,
}

impl Pair {
    pub const ALL: [Pair; 3] = [Pair::Redpoll, Pair::RedpollToLinux, Pair::Linux];

    pub fn name(self) -> &'static str {
        match self {
            Pair::Redpoll => "redpoll_beside_linux_reno",
            Pair::RedpollToLinux => "redpoll_to_linux_beside_linux_reno",
            Pair::Linux => "linux_reno_beside_linux_reno",
        }
    }
}

/// A flow: a sender that always has data, and a receiver that counts.
trait Flow {
    fn step(&mut self, world: &mut World);
    fn delivered(&self) -> u64;
}

struct World {
    now: Instant,
    tun: Tun,
    there: Shaper,
    back: Shaper,
    sender: HeapNode,
    receiver: HeapNode,
    dropped: u64,
}

/// Runs a pair for `time` and prints the result. If `is_judged`, checks Jain's index.
pub fn run(prefix: u16, pair: Pair, queue: usize, time: StdDuration, is_judged: bool) {
    let tcp = transport::Config {
        mss: MSS,
        ..transport::Config::default()
    };
    let [ours, theirs] = [0xa, 0xb].map(|last| ending(prefix, last));
    let clock = Clock::start();
    let mut world = World {
        now: clock.now(),
        tun: Tun::create(&config(prefix)).expect("a TUN interface"),
        there: Shaper::new(queue),
        back: Shaper::new(queue),
        sender: make(ours.into(), 1, tcp.clone()),
        receiver: make(theirs.into(), 2, tcp),
        dropped: 0,
    };
    let first: Box<dyn Flow> = match pair {
        Pair::Redpoll => Box::new(Ours::to_ours(&mut world, theirs)),
        Pair::RedpollToLinux => Box::new(Ours::to_the_kernel(&mut world, host_address(prefix))),
        Pair::Linux => Box::new(Kernel::new(prefix, PORT)),
    };
    let mut flows = vec![first];
    // The two flows start at different times. The difference is random, with the queue's length as
    // seed.
    let mut rng = Rng::named(queue as u64, pair.name());
    let second = world.now + Duration::from_micros(rng.below_u64(1_500_000));
    world.run_until(second, &clock, &mut flows);
    flows.push(Box::new(Kernel::new(prefix, PORT + 1)));
    let before = flows[0].delivered();
    let micros = u64::try_from(time.as_micros()).expect("a time of this world");
    world.run_until(second + Duration::from_micros(micros), &clock, &mut flows);
    let bytes = [flows[0].delivered() - before, flows[1].delivered()];
    let jain = jain(bytes);
    println!(
        "{{\"bench\":\"fairness\",\"subject\":\"{}\",\"metric\":\"jain\",\"x\":{queue},\
         \"value\":{jain:.4},\"unit\":\"\",\"bytes\":{bytes:?},\"dropped\":{},\"seconds\":{}}}",
        pair.name().replace('_', "-"),
        world.dropped,
        time.as_secs(),
    );
    assert!(bytes.iter().all(|&bytes| bytes > 0), "{bytes:?}: both flow");
    if is_judged && pair != Pair::Linux {
        assert!(jain >= 0.85, "{bytes:?}: {jain}");
    }
}

/// Returns Jain's index of two numbers: 1 if they are equal, 1/2 if one is zero.
fn jain([a, b]: [u64; 2]) -> f64 {
    let (a, b) = (a as f64, b as f64);
    (a + b) * (a + b) / (2.0 * (a * a + b * b)).max(1.0)
}

fn ending(prefix: u16, last: u16) -> Ipv6Addr {
    let mut segments = node_address(prefix).segments();
    segments[7] = last;
    segments.into()
}

impl World {
    fn run_until(&mut self, end: Instant, clock: &Clock, flows: &mut [Box<dyn Flow>]) {
        while self.now < end {
            self.now = clock.now();
            self.settle();
            for flow in &mut *flows {
                flow.step(self);
            }
            self.settle();
            self.wait(clock);
        }
    }

    /// Moves packets until no packet can move at this time.
    fn settle(&mut self) {
        let mut packet = vec![0; 2048];
        while let Some(len) = self.tun.recv(&mut packet).expect("the interface stays") {
            self.enter(packet[..len].to_vec());
        }
        let now = self.now;
        for node in [&mut self.sender, &mut self.receiver] {
            if node.poll_at().is_some_and(|wake| wake.at <= now) {
                node.on_timeout(now);
            }
        }
        while let Some(packet) = self.there.receive(now).or_else(|| self.back.receive(now)) {
            self.arrive(packet);
        }
        for sends in [true, false] {
            let mut out = [0; 2048];
            loop {
                let node = if sends {
                    &mut self.sender
                } else {
                    &mut self.receiver
                };
                while node.poll_radio(now).is_some() {}
                let Some(len) = node.poll_packet(now, &mut out) else {
                    break;
                };
                self.enter(out[..len].to_vec());
            }
        }
    }

    /// Queues a packet of a flow at the bottleneck. The receiver has the lower port: it listens.
    fn enter(&mut self, packet: Vec<u8>) {
        const TCP: u8 = 6;
        if packet.len() < 60 || packet[6] != TCP {
            return;
        }
        let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let way = if port(40) > port(42) {
            &mut self.there
        } else {
            &mut self.back
        };
        self.dropped += u64::from(!way.send(self.now, packet));
    }

    fn arrive(&mut self, mut packet: Vec<u8>) {
        let to = <[u8; 16]>::try_from(&packet[24..40]).expect("an address has 16 bytes");
        for node in [&mut self.sender, &mut self.receiver] {
            if node.address().0 == to {
                // Ignores the error, because the node counts the packets that it refuses.
                let _ = node.input_packet(self.now, &packet);
                return;
            }
        }
        let from = <[u8; 16]>::try_from(&packet[8..24]).expect("an address has 16 bytes");
        if from != self.sender.address().0 {
            // The packet goes back to the kernel with source and destination exchanged, which does
            // not change TCP's checksum.
            packet.copy_within(24..40, 8);
            packet[24..40].copy_from_slice(&from);
        }
        self.tun.send(&packet).expect("the interface stays");
    }

    fn wait(&self, clock: &Clock) {
        let timers = [&self.sender, &self.receiver].map(|node| node.poll_at().map(|wake| wake.at));
        let next = [self.there.next_at(), self.back.next_at()]
            .into_iter()
            .chain(timers)
            .flatten()
            .min();
        let most = StdDuration::from_millis(20);
        let timeout = next.map_or(most, |at| {
            StdDuration::from_micros(at.since(clock.now()).as_micros()).min(most)
        });
        let mut fds = [PollFd::new(self.tun.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut fds, Some(TimeSpec::from_duration(timeout)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("poll(2): {error}"),
        }
    }
}

/// A flow of the kernel's Reno from the kernel to itself, through [`World::arrive`].
struct Kernel {
    listener: TcpListener,
    sender: TcpStream,
    receiver: Option<TcpStream>,
    delivered: u64,
}

impl Kernel {
    fn new(prefix: u16, port: u16) -> Self {
        let listener = kernel_listener(host_address(prefix), port);
        let fd = kernel_socket();
        let reno = std::ffi::OsString::from("reno");
        setsockopt(&fd, sockopt::TcpCongestion, &reno).expect("the kernel has Reno");
        setsockopt(&fd, sockopt::SndBuf, &(64 * 1024)).expect("a send buffer");
        let mirror = SockaddrIn6::from(SocketAddrV6::new(node_address(prefix), port, 0, 0));
        assert_eq!(connect(fd.as_raw_fd(), &mirror), Err(Errno::EINPROGRESS));
        Kernel {
            listener,
            sender: fd.into(),
            receiver: None,
            delivered: 0,
        }
    }
}

impl Flow for Kernel {
    fn step(&mut self, _world: &mut World) {
        let block = [0x55; 4096];
        loop {
            match self.sender.write(&block) {
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    break;
                }
                Err(e) => panic!("the kernel sends: {e}"),
            }
        }
        self.delivered += drain(&self.listener, &mut self.receiver);
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }
}

fn kernel_socket() -> OwnedFd {
    let fd = socket(
        AddressFamily::Inet6,
        SockType::Stream,
        SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC,
        None,
    )
    .expect("a socket");
    setsockopt(&fd, sockopt::TcpMaxSeg, &u32::from(MSS)).expect("an MSS");
    fd
}

fn kernel_listener(address: Ipv6Addr, port: u16) -> TcpListener {
    let fd = kernel_socket();
    let local = SockaddrIn6::from(SocketAddrV6::new(address, port, 0, 0));
    bind(fd.as_raw_fd(), &local).expect("the address is there");
    listen(&fd, Backlog::new(4).expect("a backlog")).expect("the socket listens");
    fd.into()
}

fn drain(listener: &TcpListener, receiver: &mut Option<TcpStream>) -> u64 {
    if receiver.is_none() {
        *receiver = listener.accept().ok().map(|(socket, _)| {
            socket
                .set_nonblocking(true)
                .expect("the socket can be non-blocking");
            socket
        });
    }
    let mut bytes = 0;
    let mut block = [0; 4096];
    while let Some(socket) = receiver {
        match socket.read(&mut block) {
            Ok(0) => panic!("nobody closes"),
            Ok(len) => bytes += len as u64,
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(e) => panic!("the kernel receives: {e}"),
        }
    }
    bytes
}

/// Redpoll's end of a flow, whose peer is a node or the kernel.
struct Ours {
    sender: ConnId,
    to: To,
    delivered: u64,
}

enum To {
    Ours(ListenerId, Option<ConnId>),
    Kernel(TcpListener, Option<TcpStream>),
}

impl Ours {
    fn connect(world: &mut World, addr: Ipv6Addr, to: To) -> Self {
        let remote = Endpoint {
            addr: addr.into(),
            port: PORT,
        };
        let sender = world.sender.tcp_connect(world.now, remote);
        Ours {
            sender: sender.expect("a connection"),
            to,
            delivered: 0,
        }
    }

    fn to_ours(world: &mut World, addr: Ipv6Addr) -> Self {
        let listener = world.receiver.tcp_listen(PORT).expect("a listener");
        Self::connect(world, addr, To::Ours(listener, None))
    }

    fn to_the_kernel(world: &mut World, addr: Ipv6Addr) -> Self {
        let listener = kernel_listener(addr, PORT);
        Self::connect(world, addr, To::Kernel(listener, None))
    }
}

impl Flow for Ours {
    fn step(&mut self, world: &mut World) {
        let (now, block) = (world.now, [0x55; 4096]);
        while matches!(world.sender.tcp_send(now, self.sender, &block), Ok(1..)) {}
        let state = world.sender.tcp_connection(self.sender);
        assert!(state.is_some_and(|conn| !conn.is_closed()), "it lives on");
        match &mut self.to {
            To::Ours(listener, accepted) => {
                if accepted.is_none() {
                    *accepted = world.receiver.tcp_accept(*listener);
                }
                let Some(conn) = *accepted else { return };
                let mut out = [0; 4096];
                while let Ok(len @ 1..) = world.receiver.tcp_recv(now, conn, &mut out) {
                    self.delivered += len as u64;
                }
            }
            To::Kernel(listener, accepted) => self.delivered += drain(listener, accepted),
        }
        while world.sender.poll_event().is_some() {}
        while world.receiver.poll_event().is_some() {}
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }
}
