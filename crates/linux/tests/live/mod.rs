//! A node with async sockets in real time, with a TUN interface or a serial line, and an executor
//! of a few lines: all tasks share a waker.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]

pub mod programs;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::Ipv6Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant as WallClock;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embedded_io_async::{ErrorType, Read, Write};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use redpoll_base::{Addr, Instant, Memory, Rng};
use redpoll_linux::tun::Tun;
use redpoll_socket::nal::{Clock, Net, Watch};
use redpoll_stack::lowpan::{LowpanMemory, Slot};
use redpoll_stack::transport::HalfOpen;
use redpoll_stack::{
    ConnectionSlot, ListenerSlot, Node, NodeConfig, NodeMemory, Route, UdpSlot, Via,
};

pub const CONNECTIONS: usize = 3;
/// Length of the longest packet in bytes.
pub const MTU: usize = 1_280;
/// A test that takes longer than this counts as hanging.
const PATIENCE_S: u64 = 100;

pub enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

pub type LiveNet<'w> = Net<HeapMemory, &'w Time, [Watch; CONNECTIONS + 1]>;

/// Returns a node at this address whose packets all pass its host side.
pub fn net(address: Ipv6Addr, time: &Time) -> LiveNet<'_> {
    let buffer = |len| vec![0; len].into_boxed_slice();
    let memory = NodeMemory {
        connections: (0..CONNECTIONS)
            .map(|_| ConnectionSlot::new(buffer(4_880), buffer(2_440)))
            .collect(),
        listeners: [ListenerSlot::default()].into(),
        half_open: [HalfOpen::default(); 4].into(),
        servers: Box::default(),
        udp: Vec::<UdpSlot<Box<[u8]>>>::new().into(),
        routes: vec![None; 1].into(),
        neighbours: Box::default(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; 4].into(),
            bytes: buffer(4 * MTU),
        },
    };
    let config = NodeConfig::over_ip(Addr(address.octets()), [7; 16]);
    let mut node = Node::new(config, memory, Rng::new(1));
    let all = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Host,
    };
    node.add_route(all).unwrap();
    Net::new(node, time, [const { Watch::FREE }; CONNECTIONS + 1])
}

/// The time since the test began, and the tasks that wait for a time or a descriptor.
pub struct Time {
    begun: WallClock,
    sleepers: RefCell<Vec<(Instant, Waker)>>,
    readers: RefCell<Vec<Waker>>,
}

impl Clock for &Time {
    fn now(&self) -> Instant {
        Instant::from_micros(self.begun.elapsed().as_micros() as u64)
    }
}

impl Time {
    pub fn begin() -> Time {
        Time {
            begun: WallClock::now(),
            sleepers: RefCell::default(),
            readers: RefCell::default(),
        }
    }

    pub async fn sleep(&self, until: Instant) {
        poll_fn(|cx| {
            if (&self).now() >= until {
                return Poll::Ready(());
            }
            let sleeper = (until, cx.waker().clone());
            self.sleepers.borrow_mut().push(sleeper);
            Poll::Pending
        })
        .await;
    }

    /// Waits for a packet, a byte or a timer, and wakes the tasks that waited for it.
    fn wait(&self, sources: &[BorrowedFd<'_>]) {
        let mut fds: Vec<_> = sources
            .iter()
            .map(|fd| PollFd::new(*fd, PollFlags::POLLIN))
            .collect();
        poll(&mut fds, PollTimeout::from(5u8)).unwrap();
        if fds.iter().any(|fd| fd.any() == Some(true)) {
            self.readers.take().into_iter().for_each(Waker::wake);
        }
        let now = (&self).now();
        self.sleepers.borrow_mut().retain(|(at, waker)| {
            if *at <= now {
                waker.wake_by_ref();
            }
            *at > now
        });
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub type Task<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;

/// Runs the tasks, which never end by themselves, until `done`.
pub fn run(
    time: &Time,
    sources: &[BorrowedFd<'_>],
    mut tasks: Vec<Task<'_>>,
    mut done: impl FnMut() -> bool,
) {
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(flag.clone());
    while !done() {
        assert!(time.begun.elapsed().as_secs() < PATIENCE_S, "it hangs");
        if !flag.0.swap(false, Ordering::SeqCst) {
            time.wait(sources);
            continue;
        }
        for task in &mut tasks {
            let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending(), "a task has ended");
        }
    }
}

/// A TUN interface as a device of embassy-net.
pub struct Device<'t> {
    pub tun: &'t Tun,
    pub time: &'t Time,
}

pub struct Packet(Vec<u8>);
pub struct Sender<'t>(&'t Tun);

impl RxToken for Packet {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, f: F) -> R {
        f(&mut self.0)
    }
}

impl TxToken for Sender<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.send(&packet).unwrap();
        result
    }
}

impl Driver for Device<'_> {
    type RxToken<'a>
        = Packet
    where
        Self: 'a;
    type TxToken<'a>
        = Sender<'a>
    where
        Self: 'a;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Packet, Sender<'_>)> {
        let mut packet = vec![0; 2_000];
        match self.tun.recv(&mut packet).unwrap() {
            Some(len) => {
                packet.truncate(len);
                Some((Packet(packet), Sender(self.tun)))
            }
            None => {
                self.time.readers.borrow_mut().push(cx.waker().clone());
                None
            }
        }
    }

    fn transmit(&mut self, _: &mut Context<'_>) -> Option<Sender<'_>> {
        Some(Sender(self.tun))
    }

    fn link_state(&mut self, _: &mut Context<'_>) -> LinkState {
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = MTU;
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ip
    }
}

pub async fn drive(net: &LiveNet<'_>, tun: &Tun, time: &Time) {
    let mut device = Device { tun, time };
    let mut packet = [0; MTU];
    let sleep = |until| time.sleep(until);
    let ended = net.run_over(&mut device, &mut packet, sleep).await;
    panic!("{ended:?}");
}

/// A descriptor that does not block.
pub struct Line<'l> {
    pub fd: &'l OwnedFd,
    pub time: &'l Time,
}

impl Line<'_> {
    /// Tries at once, and again whenever bytes may have arrived.
    async fn until(
        &self,
        mut attempt: impl FnMut(&OwnedFd) -> nix::Result<usize>,
    ) -> io::Result<usize> {
        poll_fn(|cx| match attempt(self.fd) {
            Err(nix::Error::EAGAIN) => {
                self.time.readers.borrow_mut().push(cx.waker().clone());
                Poll::Pending
            }
            answer => Poll::Ready(answer.map_err(io::Error::from)),
        })
        .await
    }
}

impl ErrorType for Line<'_> {
    type Error = io::Error;
}

impl Read for Line<'_> {
    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.until(|fd| nix::unistd::read(fd.as_fd(), buf)).await
    }
}

impl Write for Line<'_> {
    /// Retries the write to a full line when bytes may be read from the line.
    async fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.until(|fd| nix::unistd::write(fd.as_fd(), buf)).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
