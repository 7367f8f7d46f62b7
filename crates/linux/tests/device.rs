//! Async sockets of a node over an IP device, which is a TUN interface here, with the
//! kernel's TCP at the other end: curl fetches from a web server of a dozen lines.

mod common;

use std::cell::RefCell;
use std::future::Future;
use std::net::Ipv6Addr;
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{JoinHandle, spawn};
use std::time::Instant as Clock;

use common::{Case, config, node_address};
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embedded_io_async::{Read, Write};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use redpoll_base::{Addr, Instant, Memory, Rng};
use redpoll_linux::tun::Tun;
use redpoll_socket::nal::{Net, TcpListener, Watch};
use redpoll_stack::lowpan::{LowpanMemory, Slot};
use redpoll_stack::{
    ConnectionSlot, HalfOpen, ListenerSlot, Node, NodeConfig, NodeMemory, Route, UdpSlot, Via,
};

/// Bytes of the page that is fetched.
const PAGE: usize = 200_000;
const CONNECTIONS: usize = 3;

enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
}

fn node(address: Ipv6Addr) -> Node<HeapMemory> {
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
            bytes: buffer(4 * 1_280),
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
    node
}

/// The interface as embassy-net has devices.
struct Device<'t> {
    tun: &'t Tun,
    /// Who waits for a packet.
    waits: &'t RefCell<Option<Waker>>,
}

struct Packet(Vec<u8>);
struct Sender<'t>(&'t Tun);

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
                self.waits.replace(Some(cx.waker().clone()));
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
        capabilities.max_transmission_unit = 1_280;
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ip
    }
}

/// Answers one request after the other, as one of several tasks.
async fn serve<C: redpoll_socket::nal::Clock, T: AsMut<[Watch]>>(
    listener: &TcpListener<'_, HeapMemory, C, T>,
) {
    loop {
        let mut stream = listener.accept().await.unwrap();
        let (mut request, mut bytes) = (Vec::new(), [0; 256]);
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut bytes).await {
                Ok(len @ 1..) => request.extend_from_slice(&bytes[..len]),
                _ => break,
            }
        }
        let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {PAGE}\r\n\r\n");
        // Who goes away in the middle is none of the others' business.
        if stream.write_all(head.as_bytes()).await.is_ok() {
            let page: Vec<u8> = (0..PAGE).map(content).collect();
            let _ = stream.write_all(&page).await;
            let _ = stream.flush().await;
        }
    }
}

fn content(at: usize) -> u8 {
    (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0]
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Fetches the page so many times at once.
fn curl(url: String, times: usize) -> Vec<JoinHandle<Vec<u8>>> {
    let fetch = |url: String| {
        let output = Command::new("curl")
            .args([
                "--silent",
                "--show-error",
                "--globoff",
                "--max-time",
                "60",
                &url,
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    (0..times)
        .map(|_| {
            let url = url.clone();
            spawn(move || fetch(url))
        })
        .collect()
}

fn curl_fetches_from_a_server_of_futures() {
    let address = node_address(1);
    let tun = Tun::create(&config(1)).unwrap();
    let begun = Clock::now();
    let clock = || Instant::from_micros(begun.elapsed().as_micros() as u64);
    let net = Net::new(
        node(address),
        clock,
        [const { Watch::FREE }; CONNECTIONS + 1],
    );
    let waits = RefCell::new(None);
    let sleeper: RefCell<Option<(Instant, Waker)>> = RefCell::new(None);
    let sleep = |until: Instant| {
        let sleeper = &sleeper;
        std::future::poll_fn(move |cx| {
            if clock() >= until {
                return Poll::Ready(());
            }
            sleeper.replace(Some((until, cx.waker().clone())));
            Poll::Pending
        })
    };
    let mut device = Device {
        tun: &tun,
        waits: &waits,
    };
    let mut packet = [0; 1_280];
    let drive = async {
        let ended = net.run_over(&mut device, &mut packet, sleep).await;
        panic!("{ended:?}");
    };
    let listener = net.tcp_listen(80).unwrap();
    let mut fetches = curl(format!("http://[{address}]/"), 2 * CONNECTIONS);
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = vec![Box::pin(drive)];
    for _ in 0..CONNECTIONS {
        tasks.push(Box::pin(serve(&listener)));
    }
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(flag.clone());
    while !fetches.iter().all(JoinHandle::is_finished) {
        assert!(begun.elapsed().as_secs() < 100, "it hangs");
        if flag.0.swap(false, Ordering::SeqCst) {
            for task in &mut tasks {
                let polled = pin!(task).poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
            }
            continue;
        }
        // A packet, or time.
        let mut fds = [PollFd::new(tun.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(5u8)).unwrap();
        let has_packet = fds[0].any() == Some(true);
        let woken = has_packet.then(|| waits.take()).flatten();
        let due = sleeper
            .borrow()
            .as_ref()
            .is_some_and(|(at, _)| *at <= clock());
        let due = due
            .then(|| sleeper.take())
            .flatten()
            .map(|(_, waker)| waker);
        woken.into_iter().chain(due).for_each(Waker::wake);
    }
    let page: Vec<u8> = (0..PAGE).map(content).collect();
    for fetch in fetches.drain(..) {
        assert!(fetch.join().unwrap() == page, "another page came");
    }
}

fn main() -> ExitCode {
    common::main(vec![Case::with(
        "curl",
        "curl_fetches_from_a_server_of_futures",
        curl_fetches_from_a_server_of_futures,
    )])
}
