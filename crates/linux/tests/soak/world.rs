//! A node on a direct link to the kernel, and the kernel's listeners.

use std::net::{Ipv6Addr, TcpListener};
use std::os::fd::AsFd;
use std::time::Duration as StdDuration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use redpoll_base::{Duration, Instant};
use redpoll_linux::gateway::Clock;
use redpoll_linux::tun::Tun;
use redpoll_stack::{ListenerId, transport};

use crate::common::{config, host_address, node_address};
use crate::node::{HeapNode, make};

pub const KERNEL_PORT: u16 = 7_000;
const KERNEL_PORTS: u16 = 16;
pub const NODE_PORTS: [u16; 2] = [7_000, 7_001];
/// The node's TIME-WAIT, short so that the end of it is seen.
const TIME_WAIT: Duration = Duration::from_secs(1);

pub struct World {
    pub now: Instant,
    pub host: Ipv6Addr,
    pub address: Ipv6Addr,
    pub node: HeapNode,
    pub node_listeners: [ListenerId; 2],
    pub kernel_listeners: Vec<TcpListener>,
    clock: Clock,
    tun: Tun,
    free_slots: usize,
}

impl World {
    pub fn new(prefix: u16, seed: u64) -> Self {
        let (host, address) = (host_address(prefix), node_address(prefix));
        let tun = Tun::create(&config(prefix)).expect("a TUN interface");
        let tcp = transport::Config {
            time_wait: TIME_WAIT,
            ..transport::Config::default()
        };
        let mut node = make(address.into(), seed, tcp);
        let node_listeners = NODE_PORTS.map(|port| node.tcp_listen(port).expect("a listener"));
        let listen = |at| {
            let listener = TcpListener::bind((host, KERNEL_PORT + at)).expect("a kernel listener");
            listener
                .set_nonblocking(true)
                .expect("the socket can be non-blocking");
            listener
        };
        let clock = Clock::start();
        World {
            now: clock.now(),
            host,
            address,
            free_slots: node.lowpan().free_slots(),
            node,
            node_listeners,
            kernel_listeners: (0..KERNEL_PORTS).map(listen).collect(),
            clock,
            tun,
        }
    }

    /// Moves packets between node and kernel until none is left. Returns whether any moved.
    pub fn settle(&mut self) -> bool {
        self.now = self.clock.now();
        let (now, mut moved) = (self.now, false);
        let mut packet = [0; 2048];
        loop {
            let mut quiet = true;
            while let Some(len) = self.tun.recv(&mut packet).expect("the interface stays") {
                quiet = false;
                let taken = self.node.input_packet(now, &packet[..len]);
                assert_eq!(taken, Ok(()), "the node takes what is for it");
            }
            if self.node.poll_at().is_some_and(|wake| wake.at <= now) {
                self.node.on_timeout(now);
            }
            while self.node.poll_radio(now).is_some() {}
            while let Some(len) = self.node.poll_packet(now, &mut packet) {
                quiet = false;
                let taken = self.tun.send(&packet[..len]).expect("the interface stays");
                assert!(taken, "the kernel takes what is for it");
            }
            while self.node.poll_event().is_some() {}
            if quiet {
                return moved;
            }
            moved = true;
        }
    }

    /// Sleeps until the kernel has a packet or the node a timer.
    pub fn wait(&self) {
        let most = StdDuration::from_millis(5);
        let timeout = self.node.poll_at().map_or(most, |wake| {
            StdDuration::from_micros(wake.at.since(self.clock.now()).as_micros()).min(most)
        });
        let mut fds = [PollFd::new(self.tun.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut fds, Some(TimeSpec::from_duration(timeout)), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("poll(2): {error}"),
        }
    }

    /// Checks that no datagram is held, whatever the connections do.
    pub fn assert_no_datagram(&self) {
        assert_eq!(
            self.node.lowpan().free_slots(),
            self.free_slots,
            "datagram slots"
        );
    }

    /// Checks that after TIME-WAIT no connection is left.
    pub fn finish(&mut self) {
        let end = self.clock.now() + TIME_WAIT + Duration::from_secs(10);
        while self.node.tcp_connections().count() > 0 {
            let left: Vec<_> = self
                .node
                .tcp_connections()
                .map(|(_, c)| c.state())
                .collect();
            assert!(self.now < end, "left behind: {left:?}");
            if !self.settle() {
                self.wait();
            }
        }
        self.assert_no_datagram();
        let drops: Vec<_> = self.node.counters().drops().filter(|it| it.1 > 0).collect();
        assert!(drops.is_empty(), "dropped: {drops:?}");
    }
}
