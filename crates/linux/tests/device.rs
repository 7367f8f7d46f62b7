//! Async sockets of a node over IP devices, with the kernel's TCP and third-party programs at the
//! other end. The applications are those of `samples`, which know only the traits of edge-nal: over
//! a TUN interface and over a serial line, curl fetches from the web server and mosquitto receives
//! readings; OpenSSL receives some over TLS.

mod common;
mod live;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitCode};
use std::thread::{JoinHandle, spawn};

use common::{Case, config, host_address, node_address};
use embedded_io_async::{ErrorType, Read, Write};
use embedded_tls::{TlsClock, TlsError};
use live::programs::{Broker, Certificates, OpenSsl, Proof, no_curl_or_mosquitto};
use live::{LiveNet, Task, Time, drive, net, run};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::openpty;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use rand_core::OsRng;
use redpoll_base::{Duration, Instant};
use redpoll_linux::tun::Tun;
use redpoll_samples::http::{self, content};
use redpoll_samples::{mqtt, peers, tls};
use redpoll_socket::nal::{Clock, LineMemory};
use redpoll_wire::slip;

const FILE: usize = 200_000;

fn curl(url: &str, times: usize) -> Vec<JoinHandle<Vec<u8>>> {
    let fetch = |url: String| {
        let options = ["--silent", "--show-error", "--globoff", "--max-time", "60"];
        let output = Command::new("curl").args(options).arg(url).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let fetches = (0..times).map(|_| {
        let url = url.to_owned();
        spawn(move || fetch(url))
    });
    fetches.collect()
}

fn all_are_right(fetches: Vec<JoinHandle<Vec<u8>>>) {
    let file: Vec<u8> = (0..FILE).map(content).collect();
    for fetch in fetches {
        assert!(fetch.join().unwrap() == file, "another file came");
    }
}

async fn serve(net: &LiveNet<'_>, time: &Time) -> impl std::fmt::Debug {
    let pause = |ms: u32| time.sleep(time.now() + Duration::from_millis(ms.into()));
    http::serve(net, 80, FILE, pause).await
}

/// Publishes the readings of [`peers::publish`], and signals the end.
async fn publish(net: &LiveNet<'_>, broker: SocketAddr, done: &Cell<bool>) {
    let mut readings = (0..peers::READINGS).map(peers::reading);
    let (topic, next) = (("sample", "samples/reading"), async || readings.next());
    let published = mqtt::publish(net, broker, topic, &mut [0; 64], next).await;
    assert_eq!(published.unwrap(), peers::READINGS);
    done.set(true);
    std::future::pending().await
}

fn curl_and_mosquitto_over_a_tun_interface() {
    let (address, host) = (node_address(1), host_address(1));
    let tun = Tun::create(&config(1)).unwrap();
    let broker = Broker::start(host);
    let time = Time::begin();
    let net = net(address, &time);
    let published = Cell::new(false);
    let fetches = curl(&format!("http://[{address}]/file"), 4);
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&net, &tun, &time)),
        Box::pin(async { panic!("{:?}", serve(&net, &time).await) }),
        Box::pin(publish(&net, broker.address(), &published)),
    ];
    run(&time, &[tun.as_fd()], tasks, || {
        published.get() && fetches.iter().all(JoinHandle::is_finished)
    });
    all_are_right(fetches);
    broker.heard(peers::READINGS);
}

/// Returns both ends of a pseudo-terminal that passes every byte, and does not block.
fn serial_line() -> [OwnedFd; 2] {
    let pty = openpty(None, None).unwrap();
    let mut raw = tcgetattr(&pty.slave).unwrap();
    cfmakeraw(&mut raw);
    tcsetattr(&pty.slave, SetArg::TCSANOW, &raw).unwrap();
    let ends = [pty.master, pty.slave];
    for end in &ends {
        fcntl(end.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    }
    ends
}

/// Forwards packets of a serial line through a TUN interface, as a computer does.
async fn into_the_kernel(mut line: live::Line<'_>, tun: &Tun) {
    let (mut room, mut chunk) = ([0; live::MTU], [0; 256]);
    let mut decoder = slip::Decoder::new(&mut room);
    while let Ok(len @ 1..) = line.read(&mut chunk).await {
        for byte in &chunk[..len] {
            if let Some(packet) = decoder.push(*byte) {
                tun.send(packet).unwrap();
            }
        }
    }
    panic!("the line has ended");
}

async fn out_of_the_kernel(mut line: live::Line<'_>, tun: &Tun, time: &Time) {
    let mut packet = [0; 2_000];
    loop {
        match tun.recv(&mut packet).unwrap() {
            Some(len) => {
                let bytes: Vec<u8> = slip::encode(&packet[..len]).collect();
                line.write_all(&bytes).await.unwrap();
            }
            None => time.sleep((&time).now() + Duration::from_millis(1)).await,
        }
    }
}

fn curl_and_mosquitto_over_a_serial_line() {
    let (address, host) = (node_address(2), host_address(2));
    let tun = Tun::create(&config(2)).unwrap();
    let broker = Broker::start(host);
    let time = Time::begin();
    let net = net(address, &time);
    let [ours, theirs] = serial_line();
    let line = |fd| live::Line { fd, time: &time };
    let mut rooms = [[0; live::MTU]; 2];
    let [input, output] = &mut rooms;
    let memory = LineMemory { input, output };
    let published = Cell::new(false);
    let fetches = curl(&format!("http://[{address}]/file"), 2);
    let sleep = |until: Instant| time.sleep(until);
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(async {
            let ended = net.run_over_slip(line(&ours), line(&ours), memory, sleep);
            panic!("{:?}", ended.await);
        }),
        Box::pin(into_the_kernel(line(&theirs), &tun)),
        Box::pin(out_of_the_kernel(line(&theirs), &tun, &time)),
        Box::pin(async { panic!("{:?}", serve(&net, &time).await) }),
        Box::pin(publish(&net, broker.address(), &published)),
    ];
    let sources = [ours.as_fd(), theirs.as_fd(), tun.as_fd()];
    run(&time, &sources, tasks, || {
        published.get() && fetches.iter().all(JoinHandle::is_finished)
    });
    all_are_right(fetches);
    broker.heard(peers::READINGS);
}

/// A stream that records its flights: bytes in one direction until bytes pass in the other.
struct Counted<'c, S> {
    stream: S,
    flights: &'c RefCell<Vec<(Way, usize)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Out,
    In,
}

impl<S> Counted<'_, S> {
    fn note(&self, way: Way, bytes: usize) {
        let mut flights = self.flights.borrow_mut();
        match flights.last_mut() {
            Some((last, sum)) if *last == way => *sum += bytes,
            _ => flights.push((way, bytes)),
        }
    }
}

impl<S: ErrorType> ErrorType for Counted<'_, S> {
    type Error = S::Error;
}

impl<S: Read> Read for Counted<'_, S> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, S::Error> {
        let len = self.stream.read(buf).await?;
        self.note(Way::In, len);
        Ok(len)
    }
}

impl<S: Write> Write for Counted<'_, S> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, S::Error> {
        let len = self.stream.write(buf).await?;
        self.note(Way::Out, len);
        Ok(len)
    }

    async fn flush(&mut self) -> Result<(), S::Error> {
        self.stream.flush().await
    }
}

const READING: &[u8] = b"a reading of 24 bytes ok\n";
const ANSWER: &[u8] = b"ko setyb 42 fo gnidaer a\n";

fn over_tls(
    n: u16,
    proof: &Proof<'_>,
    send: impl AsyncFnOnce(&LiveNet<'_>, SocketAddr, &mut [u8]) -> Result<(), TlsError>,
) -> Result<(), TlsError> {
    let (address, server) = (
        node_address(n),
        SocketAddr::new(host_address(n).into(), 4_433),
    );
    let tun = Tun::create(&config(n)).unwrap();
    let _openssl = OpenSsl::start(server, proof);
    let time = Time::begin();
    let net = net(address, &time);
    let sent = Cell::new(None);
    let tasks: Vec<Task<'_>> = vec![
        Box::pin(drive(&net, &tun, &time)),
        Box::pin(async {
            let mut answer = [0; ANSWER.len()];
            let result = send(&net, server, &mut answer).await;
            if result.is_ok() {
                assert_eq!(answer, ANSWER);
            }
            sent.set(Some(result));
            std::future::pending().await
        }),
    ];
    let done = Cell::new(false);
    run(&time, &[tun.as_fd()], tasks, || {
        let result = sent.take();
        done.set(result.is_some());
        sent.set(result);
        done.get()
    });
    sent.take().unwrap()
}

fn with_psk(n: u16, known: &[u8], flights: &RefCell<Vec<(Way, usize)>>) -> Result<(), TlsError> {
    let proof = Proof::Psk {
        key: known,
        identity: "sensor",
    };
    over_tls(n, &proof, async |net, server, answer| {
        let (mut input, mut output) = ([0; 1_024], [0; 512]);
        let records = tls::Records {
            input: &mut input,
            output: &mut output,
        };
        let psk = tls::Psk {
            key: &[0x5a; 32],
            identity: b"sensor",
        };
        let stream = edge_nal::TcpConnect::connect(net, server).await.unwrap();
        let stream = Counted { stream, flights };
        tls::send_with_psk(stream, records, psk, OsRng, (READING, answer))
            .await
            .map(|_| ())
    })
}

fn openssl_takes_a_reading_by_a_key() {
    let flights = RefCell::default();
    with_psk(3, &[0x5a; 32], &flights).unwrap();
    // The sizes of `redpoll bench readings` and docs/everywhere.md: the client's first flight; the
    // server's; the client's second with the reading's record; the answer's record; the end.
    let record = |bytes| bytes + 22;
    let flights = flights.into_inner();
    // OpenSSL 3.5 sends four bytes less than 3.0.
    let is_short = flights.contains(&(Way::In, 253));
    let server = if is_short { 253 } else { 257 };
    assert_eq!(
        flights,
        [
            (Way::Out, 218),
            (Way::In, server),
            (Way::Out, 58 + record(READING.len())),
            (Way::In, record(ANSWER.len())),
            (Way::Out, 24),
        ]
    );
}

fn openssl_refuses_another_key() {
    let refused = with_psk(4, &[0x5b; 32], &RefCell::default());
    assert!(
        matches!(refused, Err(TlsError::HandshakeAborted(..))),
        "{refused:?}"
    );
}

struct Wall;

impl TlsClock for Wall {
    fn now() -> Option<u64> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Some(since.unwrap().as_secs())
    }
}

fn with_certificate(
    n: u16,
    (trusted, name): (&str, &str),
    flights: &RefCell<Vec<(Way, usize)>>,
) -> Result<(), TlsError> {
    let files = Certificates::make(n);
    let authority = files.der(trusted);
    let proof = Proof::Certificate(&files);
    over_tls(n, &proof, async |net, server, answer| {
        let (mut input, mut output) = ([0; 2_048], [0; 512]);
        let records = tls::Records {
            input: &mut input,
            output: &mut output,
        };
        let stream = edge_nal::TcpConnect::connect(net, server).await.unwrap();
        let stream = Counted { stream, flights };
        let says = (READING, answer);
        let named = (name, &authority[..]);
        tls::send_with_certificate::<_, Wall>(stream, records, named, OsRng, says)
            .await
            .map(|_| ())
    })
}

fn openssl_takes_a_reading_by_its_certificate() {
    let flights = RefCell::default();
    with_certificate(5, ("ca", "localhost"), &flights).unwrap();
    let flights = flights.into_inner();
    assert_eq!(flights[0], (Way::Out, 183));
    // The flight has two signatures of up to 72 bytes, each often one or more bytes shorter.
    assert!((795..=815).contains(&flights[1].1), "{flights:?}");
}

fn certificates_of_others_are_refused() {
    for (n, trusted, name) in [(6, "other", "localhost"), (7, "ca", "example.org")] {
        let refused = with_certificate(n, (trusted, name), &RefCell::default());
        let is_about_it = matches!(
            refused,
            Err(TlsError::InvalidSignature | TlsError::InvalidCertificate)
        );
        assert!(is_about_it, "{refused:?}");
    }
}

fn main() -> ExitCode {
    let of_mqtt = |name, run| Case::unless(no_curl_or_mosquitto, name, run);
    let of_tls = |name, run| Case::with("openssl", name, run);
    common::main(vec![
        of_mqtt(
            "curl_and_mosquitto_over_a_tun_interface",
            curl_and_mosquitto_over_a_tun_interface,
        ),
        Case::unless(
            || no_curl_or_mosquitto().or_else(redpoll_testkit::no_terminal),
            "curl_and_mosquitto_over_a_serial_line",
            curl_and_mosquitto_over_a_serial_line,
        ),
        of_tls(
            "openssl_takes_a_reading_by_a_key",
            openssl_takes_a_reading_by_a_key as fn(),
        ),
        of_tls("openssl_refuses_another_key", openssl_refuses_another_key),
        of_tls(
            "openssl_takes_a_reading_by_its_certificate",
            openssl_takes_a_reading_by_its_certificate,
        ),
        of_tls(
            "certificates_of_others_are_refused",
            certificates_of_others_are_refused,
        ),
    ])
}
