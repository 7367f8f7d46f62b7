//! A border router made of this kernel: two nodes and a host, each in the network namespace of a
//! separate thread, joined to the namespace of the test by TUN interfaces between which packets are
//! carried with a delay.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddrV6, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{setsockopt, sockopt};
use redpoll_linux::tun::{Tun, TunConfig};

/// Command that sets the rules. More kernels support NFQUEUE in the legacy interface.
pub const IP6TABLES: &str = "ip6tables-legacy";
const PORT: u16 = 5_001;
const PATIENCE: Duration = Duration::from_secs(90);

type Job = Box<dyn FnOnce() + Send>;

/// A host in a separate network namespace, in which jobs run.
struct Place {
    jobs: Sender<Job>,
}

impl Place {
    /// Makes a namespace with a link to this one. Also returns the name of this end's interface.
    fn new(n: u16, k: u16, way: Way) -> (Place, String) {
        let (far, near) = (address(n, k, 2), address(n, k, 1));
        let own = Tun::create(&TunConfig {
            name: format!("rpt{n}x{k}"),
            address: near,
            route: (address(n, k, 0), 64),
            mtu: 1_280,
        })
        .expect("a TUN interface here");
        let name = own.name().to_owned();
        let (jobs, todo) = channel::<Job>();
        let (made, is_made) = channel();
        std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).expect("a namespace for a thread");
            let tun = Tun::create(&TunConfig {
                name: "rpt".to_owned(),
                address: far,
                route: (Ipv6Addr::new(0xfd72, 0x7461, 0, 0, 0, 0, 0, 0), 32),
                mtu: 1_280,
            })
            .expect("a TUN interface there");
            made.send(tun).unwrap();
            for job in todo {
                // A thread that is started here is in this namespace.
                std::thread::spawn(job);
            }
        });
        let there = is_made.recv().expect("the namespace is there");
        std::thread::spawn(move || carry(&own, &there, &way));
        (Place { jobs }, name)
    }

    fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs
            .send(Box::new(job))
            .expect("the thread of the namespace runs");
    }
}

fn address(n: u16, k: u16, last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd72, 0x7461, n, k, 0, 0, 0, last)
}

/// Delay and medium of the link to a place.
#[derive(Clone)]
struct Way {
    delay: Duration,
    /// The medium that the link shares with other links; `None` if the packet rate is unlimited.
    medium: Option<Arc<Medium>>,
}

/// A medium that carries one packet at a time.
struct Medium {
    packet_time: Duration,
    is_busy_until: Mutex<Instant>,
}

impl Way {
    /// Returns the arrival time of a packet sent now, and reserves the medium for the packet.
    fn arrival(&self, now: Instant) -> Instant {
        let sent = self.medium.as_ref().map_or(now, |medium| {
            let mut until = medium.is_busy_until.lock().unwrap();
            *until = (*until).max(now) + medium.packet_time;
            *until
        });
        sent + self.delay
    }
}

/// Carries packets between both interfaces in each direction.
fn carry(a: &Tun, b: &Tun, link: &Way) {
    let mut ways: [VecDeque<(Instant, Vec<u8>)>; 2] = Default::default();
    let mut packet = vec![0; 65_536];
    loop {
        let now = Instant::now();
        for (way, (from, to)) in ways.iter_mut().zip([(a, b), (b, a)]) {
            while let Ok(Some(len)) = from.recv(&mut packet) {
                way.push_back((link.arrival(now), packet[..len].to_vec()));
            }
            while way.front().is_some_and(|(at, _)| *at <= now) {
                let (_, bytes) = way.pop_front().unwrap();
                let _ = to.send(&bytes);
            }
        }
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// Two nodes, a host, and this namespace between them.
pub struct Network {
    nodes: [Place; 2],
    host: Place,
    server: SocketAddrV6,
    /// Whether the far node sends with a smaller window.
    has_small_window: bool,
}

impl Network {
    /// Makes network `n` with two nodes, whose links to this namespace have these one-way delays in
    /// milliseconds.
    pub fn new(n: u16, delays_ms: [u64; 2]) -> Network {
        Self::over(n, delays_ms, None)
    }

    /// Makes network `n` with nodes that share a medium, which carries a packet in `packet_time`.
    /// The far node sends with a smaller window.
    pub fn with_medium(n: u16, delays_ms: [u64; 2], packet_time: Duration) -> Network {
        let medium = Medium {
            packet_time,
            is_busy_until: Mutex::new(Instant::now()),
        };
        Self::over(n, delays_ms, Some(Arc::new(medium)))
    }

    fn over(n: u16, delays_ms: [u64; 2], medium: Option<Arc<Medium>>) -> Network {
        flush();
        let forwarding = "/proc/sys/net/ipv6/conf/all/forwarding";
        std::fs::write(forwarding, "1").expect("this namespace may forward");
        let [a, b] = delays_ms.map(|ms| Way {
            delay: Duration::from_millis(ms),
            medium: medium.clone(),
        });
        let (near, _) = Place::new(n, 0x10, a);
        let (far, _) = Place::new(n, 0x11, b);
        let way = Way {
            delay: Duration::from_micros(300),
            medium: None,
        };
        let (host, _) = Place::new(n, 0x20, way);
        Network {
            nodes: [near, far],
            host,
            server: SocketAddrV6::new(address(n, 0x20, 2), PORT, 0, 0),
            has_small_window: medium.is_some(),
        }
    }

    pub fn connects(&self, port: u16, patience: Duration) -> bool {
        let server = SocketAddrV6::new(*self.server.ip(), port, 0, 0);
        let (ready, is_ready) = channel();
        let (done, is_done) = channel();
        self.host.run(move || {
            let listener = TcpListener::bind(server).expect("the host listens");
            ready.send(()).unwrap();
            listener.set_nonblocking(true).unwrap();
            // The kernel completes the handshake without an accept.
            std::thread::sleep(patience + Duration::from_millis(200));
        });
        is_ready.recv_timeout(PATIENCE).expect("the host listens");
        self.nodes[0].run(move || {
            let result = TcpStream::connect_timeout(&server.into(), patience);
            done.send(result.is_ok()).unwrap();
        });
        let connected = is_done.recv_timeout(PATIENCE).expect("an outcome");
        // Waits until the listener has ended and the port is free.
        std::thread::sleep(Duration::from_millis(300));
        connected
    }

    /// Makes both nodes send to the host as fast as possible with a small window, for `time`.
    /// Returns the number of bytes of each node that arrived.
    pub fn upload(&self, time: Duration, flows: usize) -> [u64; 2] {
        let server = self.server;
        let counts: Arc<[AtomicU64; 2]> = Arc::default();
        let (ready, is_ready) = channel();
        let counted = Arc::clone(&counts);
        let until = Instant::now() + time;
        self.host.run(move || {
            let listener = TcpListener::bind(server).expect("the host listens");
            small_buffers(&listener);
            ready.send(()).unwrap();
            for _ in 0..2 * flows {
                let (mut stream, from) = listener.accept().expect("a node connects");
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || {
                    let which = usize::from(SocketAddrV6::ip(&v6(from)).segments()[3] - 0x10);
                    let mut part = [0; 4_096];
                    while let Ok(len) = stream.read(&mut part) {
                        if len == 0 || Instant::now() > until {
                            return;
                        }
                        counted[which].fetch_add(len as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        is_ready.recv_timeout(PATIENCE).expect("the host listens");
        for (at, node) in self.nodes.iter().cycle().take(2 * flows).enumerate() {
            let is_small = self.has_small_window && at % 2 == 1;
            node.run(move || {
                let mut stream = stream(server).expect("the host answers");
                if is_small {
                    setsockopt(&stream, sockopt::SndBuf, &2_048).expect("a small window");
                }
                let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
                while Instant::now() < until {
                    let _ = stream.write(&[7; 1_024]);
                }
            });
        }
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        let counts = [0, 1].map(|which| counts[which].load(Ordering::Relaxed));
        // Waits until the last connection has ended and the port is free.
        std::thread::sleep(Duration::from_millis(1_500));
        counts
    }

    /// Makes the near node send `len` bytes to the host; returns the time until the host confirms.
    pub fn transfer(&self, len: usize) -> Duration {
        let server = self.server;
        let (ready, is_ready) = channel();
        let (done, is_done) = channel();
        self.host.run(move || {
            let listener = TcpListener::bind(server).expect("the host listens");
            ready.send(()).unwrap();
            let (mut stream, _) = listener.accept().expect("a node connects");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).expect("all arrives");
            assert_eq!(bytes.len(), len);
            stream.write_all(&[1]).expect("the node listens");
        });
        is_ready.recv_timeout(PATIENCE).expect("the host listens");
        self.nodes[0].run(move || {
            let begun = Instant::now();
            let mut stream = stream(server).expect("the host answers");
            stream.write_all(&content(len)).expect("the host reads");
            stream.shutdown(Shutdown::Write).unwrap();
            stream.read_exact(&mut [0]).expect("the host confirms");
            done.send(begun.elapsed()).unwrap();
        });
        let took = is_done
            .recv_timeout(PATIENCE)
            .expect("the job ends in time");
        // Gives the kernel 100 ms to free the port.
        std::thread::sleep(Duration::from_millis(100));
        took
    }

    /// Makes each node send `len` bytes to the host over each of `flows` connections. The handle
    /// returns the number of complete transfers.
    pub fn transfers(&self, flows: usize, len: usize) -> JoinHandle<usize> {
        let server = self.server;
        let (ready, is_ready) = channel();
        let (done, is_done) = channel();
        let broken = Arc::new(AtomicBool::new(false));
        self.host.run(move || {
            let listener = TcpListener::bind(server).expect("the host listens");
            ready.send(()).unwrap();
            for _ in 0..2 * flows {
                let (mut stream, _) = listener.accept().expect("a node connects");
                let done = done.clone();
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    let mut bytes = Vec::new();
                    let read = stream.read_to_end(&mut bytes);
                    let is_whole = read.is_ok() && bytes == content(len);
                    let _ = stream.write_all(&[1]);
                    let _ = done.send(is_whole);
                });
            }
        });
        is_ready.recv_timeout(PATIENCE).expect("the host listens");
        for node in self.nodes.iter().cycle().take(2 * flows) {
            let broken = Arc::clone(&broken);
            node.run(move || {
                let sends = || -> std::io::Result<()> {
                    let mut stream = stream(server)?;
                    stream.write_all(&content(len))?;
                    stream.shutdown(Shutdown::Write)?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.read_exact(&mut [0])
                };
                if sends().is_err() {
                    broken.store(true, Ordering::Relaxed);
                }
            });
        }
        std::thread::spawn(move || {
            let whole = (0..2 * flows)
                .filter(|_| {
                    is_done
                        .recv_timeout(PATIENCE)
                        .is_ok_and(|is_whole| is_whole)
                })
                .count();
            if broken.load(Ordering::Relaxed) {
                0
            } else {
                whole
            }
        })
    }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 % 251) as u8).collect()
}

fn v6(from: std::net::SocketAddr) -> SocketAddrV6 {
    match from {
        std::net::SocketAddr::V6(from) => from,
        std::net::SocketAddr::V4(_) => panic!("all is IPv6"),
    }
}

fn small_buffers(listener: &TcpListener) {
    setsockopt(listener, sockopt::RcvBuf, &8_192).expect("a small window");
}

fn stream(to: SocketAddrV6) -> std::io::Result<TcpStream> {
    TcpStream::connect_timeout(&to.into(), Duration::from_secs(30))
}

/// Two interfaces of this namespace. The kernel forwards packets that the test writes to one
/// interface, and the test reads them from the other.
pub struct Pour {
    mesh: Tun,
    host: Tun,
    n: u16,
}

impl Pour {
    /// Makes both interfaces. The name of the mesh's interface matches [`MESH`].
    pub fn new(n: u16) -> Pour {
        std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
            .expect("the namespace may forward");
        let tun = |k: u16, name: &str| {
            Tun::create(&TunConfig {
                name: format!("{name}{n}"),
                address: address(n, k, 1),
                route: (address(n, k, 0), 64),
                mtu: 1_280,
            })
            .expect("a TUN interface")
        };
        let (mesh, host) = (tun(0x30, "rpt"), tun(0x40, "rph"));
        Pour { mesh, host, n }
    }

    /// Sends `packets` packets of `flows` endless flows; returns the number that arrived.
    pub fn flows(&self, flows: u32, packets: u32) -> u32 {
        let mut arrived = 0;
        let server = self.server();
        for packet in 0..packets {
            // Both ends send the first three packets of each flow; the node sends all others.
            let (flow, round) = if packet < 3 * flows {
                (packet / 3, packet % 3)
            } else {
                (packet % flows, packet / flows)
            };
            let node = address(self.n, 0x30, 100 + flow as u16);
            let (from, to, is_up) = match round {
                1 => (server, node, false),
                _ => (node, server, true),
            };
            let seq = match (is_up, round) {
                (false, _) => 9,
                (true, 0) => 1_000,
                (true, round) => 1_000 + 10 * (round - 1),
            };
            let ack = if is_up {
                9 + 10 * u32::from(round > 1)
            } else {
                1_010
            };
            let into = if is_up { &self.mesh } else { &self.host };
            write(into, &segment(from, to, is_up, seq, ack));
            arrived += drain(&self.host, server);
            if !is_up {
                drain(&self.mesh, node);
                arrived += 1;
            }
            if packet % 20 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let patience = Instant::now() + Duration::from_secs(10);
        while arrived < packets && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
            arrived += drain(&self.host, server);
        }
        arrived
    }

    /// Sends a packet of a flow that does not exist; returns how many packets of nonexistent flows
    /// have arrived since the last call.
    fn forge(&self, flow: u32) -> u32 {
        let server = self.server();
        let [a, b] = [(flow >> 16) as u16, flow as u16];
        let node = Ipv6Addr::new(0xfd72, 0x7461, self.n, 0x30, 7, 0, a, b);
        let (seq, ack) = (flow.wrapping_mul(77_777), flow);
        write(&self.mesh, &segment(node, server, true, seq, ack));
        drain(&self.host, server)
    }

    fn server(&self) -> Ipv6Addr {
        address(self.n, 0x40, 2)
    }
}

/// A thread that sends packets of flows that do not exist, one packet for each flow.
pub struct Flood {
    sent: Arc<AtomicU32>,
    is_to_end: Arc<AtomicBool>,
    thread: JoinHandle<u32>,
}

impl Flood {
    /// Starts a flood of `flows` flows, at most 20,000 per second.
    pub fn start(pour: Pour, flows: u32) -> Flood {
        let (sent, is_to_end) = (Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
        let (counted, ends) = (Arc::clone(&sent), Arc::clone(&is_to_end));
        let thread = std::thread::spawn(move || {
            let mut arrived = 0;
            for flow in 0..flows {
                arrived += pour.forge(flow);
                counted.store(flow + 1, Ordering::Relaxed);
                if flow % 20 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            std::thread::sleep(Duration::from_millis(500));
            arrived + drain(&pour.host, pour.server())
        });
        Flood {
            sent,
            is_to_end,
            thread,
        }
    }

    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    pub fn sent(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Ends the flood if it has not ended. Returns how many segments were sent and arrived.
    pub fn end(self) -> [u32; 2] {
        self.is_to_end.store(true, Ordering::Relaxed);
        let arrived = self.thread.join().expect("the flood ends");
        [self.sent.load(Ordering::Relaxed), arrived]
    }
}

fn write(into: &Tun, bytes: &[u8]) {
    while !into.send(bytes).expect("the interface is up") {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Returns the number of segments to `wanted` that have left an interface.
fn drain(from: &Tun, wanted: Ipv6Addr) -> u32 {
    let mut out = [0; 2_048];
    let mut count = 0;
    while let Ok(Some(len)) = from.recv(&mut out) {
        // The kernel sends other packets to both interfaces, too.
        count += u32::from(len > 60 && out[6] == 6 && out[24..40] == wanted.octets());
    }
    count
}

/// The interfaces of the nodes, in the notation of ip6tables.
pub const MESH: &str = "rpt+";

pub fn ip6tables(args: &[&str]) {
    let done = Command::new(IP6TABLES).args(args).status();
    assert!(done.is_ok_and(|status| status.success()), "{args:?}");
}

pub fn rule(program: &str, args: &[&str]) {
    let done = Command::new(program).args(args).status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "{program} {args:?}"
    );
}

pub fn flush() {
    flush_with(IP6TABLES);
}

pub fn flush_with(program: &str) {
    for table in ["filter", "mangle"] {
        let _ = Command::new(program)
            .args(["-t", table, "-F", "FORWARD"])
            .status();
    }
}

/// Returns TCP over IPv6 with ten bytes of payload; no receiver verifies its checksum.
fn segment(from: Ipv6Addr, to: Ipv6Addr, is_up: bool, seq: u32, ack: u32) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0, 0, 30, 6, 64];
    bytes.extend(from.octets());
    bytes.extend(to.octets());
    let ports = if is_up { [7_000u16, 80] } else { [80, 7_000] };
    bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend([0; 10]);
    bytes
}
