//! Checks that no flow breaks when the program ends or stops under load.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::daemon::{Daemon, figure};
use crate::net::{Network, Pour};
use crate::rules;
use crate::tell::{Must, tell};

pub fn killed_under_load() {
    let network = Network::new(2, [2, 10]);
    rules("12");
    let args = ["--queue", "12", "--delay", "0.5", "--min-delay", "0.1"];
    let mut daemon = Some(Daemon::start(&args));
    // Forty flows of 256 KiB; each is checked byte by byte, and ends regularly.
    let flows = network.transfers(20, 256 << 10);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(700));
        if let Some(daemon) = daemon.take() {
            let (code, _) = daemon.end(Signal::SIGKILL);
            assert_eq!(code, None, "it is gone by the signal");
        }
        // For a moment no program reads the queue.
        std::thread::sleep(Duration::from_millis(300));
        daemon = Some(Daemon::start(&args));
    }
    let whole = flows.join().expect("no flow breaks");
    let name = "flows that SIGKILL under load breaks, of 40";
    tell(&[(name, Must::AtMost(0.0), 40.0 - whole as f64, "")]);
    if let Some(daemon) = daemon {
        daemon.end(Signal::SIGKILL);
    }
    // The rule exists, and the queue has no program.
    let begun = Instant::now();
    let flows = network.transfers(2, 5_000);
    assert_eq!(flows.join().expect("no flow breaks"), 4);
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn is_taken(queue: &str) -> bool {
    let queues = std::fs::read_to_string("/proc/self/net/netfilter/nfnetlink_queue");
    let queues = queues.unwrap_or_default();
    queues
        .lines()
        .any(|line| line.split_whitespace().next() == Some(queue))
}

/// Starts a daemon that delays all packets but the first, and flows whose packets wait in it.
fn with_waiting(queue: &str, network: &Network) -> (Daemon, std::thread::JoinHandle<usize>) {
    rules(queue);
    let args = [
        "--delay",
        "60000",
        "--max-wait",
        "0",
        "--metrics",
        "127.0.0.1:0",
    ];
    let daemon = Daemon::start(&[&["--queue", queue], &args[..]].concat());
    let flows = network.transfers(2, 5_000);
    let waits = || figure(&daemon.metrics(), "redpoll_taim_waiting_packets ") >= 3.0;
    until("nothing waits", waits);
    (daemon, flows)
}

fn end_soon(what: &str, flows: std::thread::JoinHandle<usize>, count: usize, patience: Duration) {
    let since = Instant::now();
    assert_eq!(flows.join().expect("no flow breaks"), count);
    let took = since.elapsed().as_secs_f64();
    let name = format!("{count} flows end after {what}");
    tell(&[(&name, Must::AtMost(patience.as_secs_f64()), took, "s")]);
}

pub fn ctrl_c_sets_free() {
    let network = Network::new(3, [1, 1]);
    let (daemon, flows) = with_waiting("13", &network);
    let (code, _) = daemon.end(Signal::SIGINT);
    assert_eq!(code, Some(0));
    end_soon("Ctrl-C", flows, 4, Duration::from_secs(2));
    assert!(!is_taken("13"), "the kernel has a queue yet");
}

pub fn ctrl_z_sets_free() {
    let network = Network::new(7, [1, 1]);
    let (daemon, flows) = with_waiting("17", &network);
    daemon.signal(Signal::SIGTSTP);
    end_soon("Ctrl-Z", flows, 4, Duration::from_secs(2));
    until("it is not stopped", || {
        daemon.status("State:").starts_with('T')
    });
    assert!(!is_taken("17"), "the kernel has a queue yet");
    end_soon(
        "Ctrl-Z, later ones",
        network.transfers(2, 5_000),
        4,
        Duration::from_secs(5),
    );
    daemon.signal(Signal::SIGCONT);
    until("it does not go on", || is_taken("17"));
    let (code, _) = daemon.end(Signal::SIGTERM);
    assert_eq!(code, Some(0));
}

/// A process cannot react to SIGSTOP. As with a program in an endless loop, the packets that the
/// kernel holds for the process do not move, and all others pass.
pub fn stopped() {
    let network = Network::new(8, [1, 1]);
    rules("18");
    let daemon = Daemon::start(&["--queue", "18", "--margin", "16"]);
    daemon.signal(Signal::SIGSTOP);
    until("it is not stopped", || {
        daemon.status("State:").starts_with('T')
    });
    // Sixteen connection requests wait, and are retransmitted.
    end_soon(
        "SIGSTOP, later ones",
        network.transfers(20, 5_000),
        40,
        Duration::from_secs(20),
    );
    daemon.signal(Signal::SIGCONT);
    let (code, _) = daemon.end(Signal::SIGTERM);
    assert_eq!(code, Some(0));
}

pub fn supervised() {
    let path = std::env::temp_dir().join(format!("redpoll-taim-{}", std::process::id()));
    let socket = UnixDatagram::bind(&path).expect("a socket");
    let address = path.to_str().expect("the path is UTF-8").to_owned();
    is_told(&socket, &address, &[("WATCHDOG_USEC", "400000")], true);
    let _ = std::fs::remove_file(path);
    // An abstract address, outside any file system.
    let name = format!("redpoll-taim-{}", std::process::id());
    let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&abstract_address).expect("a socket");
    let address = format!("@{name}");
    is_told(&socket, &address, &[("WATCHDOG_USEC", "400000")], true);
    // A watchdog of another process, and one that is switched off.
    let other = [("WATCHDOG_USEC", "400000"), ("WATCHDOG_PID", "1")];
    is_told(&socket, &address, &other, false);
    is_told(&socket, &address, &[("WATCHDOG_USEC", "0")], false);
}

/// Checks that the program reports its start to `address`, and with a watchdog that it is alive.
fn is_told(socket: &UnixDatagram, address: &str, environment: &[(&str, &str)], has_watchdog: bool) {
    let mut command = Daemon::command(&["--queue", "19"]);
    command.env("NOTIFY_SOCKET", address);
    command.envs(environment.iter().copied());
    let daemon = Daemon::spawn(command);
    let mut text = [0; 64];
    let mut hear = |seconds| {
        let wait = Duration::from_secs(seconds);
        socket.set_read_timeout(Some(wait)).unwrap();
        let len = socket.recv(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text[..len]).into_owned())
    };
    assert_eq!(hear(20).as_deref(), Some("READY=1"), "{environment:?}");
    if has_watchdog {
        for _ in 0..2 {
            assert_eq!(hear(20).as_deref(), Some("WATCHDOG=1"), "{environment:?}");
        }
    } else {
        assert_eq!(hear(1), None, "{environment:?}");
    }
    let (code, _) = daemon.end(Signal::SIGTERM);
    assert_eq!(code, Some(0));
    // Skips the reports that the program has sent meanwhile.
    while hear(1).is_some() {}
}

pub fn killed_with_thousands() {
    let network = Network::new(11, [2, 10]);
    let pour = Pour::new(12);
    rules("21");
    let args = ["--queue", "21", "--delay", "0.05", "--min-delay", "0.05"];
    let mut daemon = Some(Daemon::start(&args));
    let poured = std::thread::spawn(move || pour.flows(3_000, 60_000));
    std::thread::sleep(Duration::from_secs(1));
    let flows = network.transfers(20, 256 << 10);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(700));
        let (code, _) = daemon.take().expect("the daemon runs").end(Signal::SIGKILL);
        assert_eq!(code, None, "it is gone by the signal");
        std::thread::sleep(Duration::from_millis(100));
        daemon = Some(Daemon::start(&args));
    }
    let whole = flows
        .join()
        .expect("the thread of the flows has not panicked");
    let arrived = poured
        .join()
        .expect("the thread of the packets has not panicked");
    println!("{arrived} of 60000 packets of 3000 flows beside them arrived");
    let name = "flows that SIGKILL beside 3,000 breaks, of 40";
    tell(&[(name, Must::AtMost(0.0), 40.0 - whole as f64, "")]);
    // SIGKILL loses the packets that TAiM holds, and `Pour` does not retransmit them.
    assert!(arrived > 30_000, "{arrived}");
}
