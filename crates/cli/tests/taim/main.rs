//! `redpoll taim` on packets that this kernel forwards, between real TCP sockets of
//! namespaces of their own: unequal flows, a sudden end under load, and who may not.

#[path = "../../../linux/tests/common/mod.rs"]
mod common;
mod net;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use common::Case;
use net::{IP6TABLES, Network};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn main() -> ExitCode {
    common::main_with(
        vec![
            Case::with(IP6TABLES, "unequal_flows_become_more_equal", more_equal),
            Case::with(
                IP6TABLES,
                "killed_under_load_no_flow_breaks",
                killed_under_load,
            ),
            Case::with(IP6TABLES, "a_flow_in_the_lead_waits", lead_is_limited),
            Case::with(IP6TABLES, "ctrl_c_sets_free_what_is_held", ctrl_c_sets_free),
            Case::with(
                IP6TABLES,
                "five_thousand_flows_take_less_than_a_core",
                many_flows,
            ),
            Case::with(IP6TABLES, "who_may_not_is_told_what_to_do", refusals),
        ],
        1,
    )
}

/// A running `redpoll taim`, which has its queue.
struct Daemon {
    child: Child,
    said: String,
}

impl Daemon {
    fn command(args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command.arg("taim").args(args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn start(args: &[&str]) -> Daemon {
        let mut child = Self::command(args).spawn().expect("the program starts");
        let mut said = String::new();
        let errors = child.stderr.as_mut().expect("its errors are ours");
        BufReader::new(errors).read_line(&mut said).unwrap();
        assert!(said.contains(" is ours"), "{said}");
        Daemon { child, said }
    }

    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it still runs");
        let status = self.child.wait().unwrap();
        let mut text = String::new();
        let out = self.child.stdout.as_mut().expect("its output is ours");
        out.read_to_string(&mut text).unwrap();
        (status.code(), text)
    }

    /// What Prometheus gets.
    fn metrics(&self) -> String {
        let at = self.said.split("http://").nth(1).expect("it serves");
        let at = at.split('/').next().unwrap();
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Refuses to let the forwarded TCP packets by without the queue, but for a bypass.
fn rules(network: &Network, queue: &str) {
    for way in ["-i", "-o"] {
        network.ip6tables(&[
            "-A",
            "FORWARD",
            way,
            network.mesh(),
            "-p",
            "tcp",
            "-j",
            "NFQUEUE",
            "--queue-num",
            queue,
            "--queue-bypass",
        ]);
    }
}

/// What the faster flow had, divided by what the slower one had, in so many seconds.
fn ratio(network: &Network, seconds: u64) -> f64 {
    let bytes = network.upload(Duration::from_secs(seconds), 1);
    println!("near {} far {}", bytes[0], bytes[1]);
    bytes[0] as f64 / bytes[1] as f64
}

fn more_equal() {
    // A window of some packets over 10 and 80 ms there and back, and one packet in a
    // hundred lost.
    let network = Network::new(1, [5, 40]);
    network.ip6tables(&[
        "-I",
        "FORWARD",
        "-m",
        "statistic",
        "--mode",
        "random",
        "--probability",
        "0.01",
        "-j",
        "DROP",
    ]);
    rules(&network, "11");
    let without = ratio(&network, 6);
    let args = [
        "--queue",
        "11",
        "--delay",
        "8",
        "--period",
        "1",
        "--metrics",
        "127.0.0.1:0",
        "--json",
        "-",
        "--every",
        "2",
    ];
    let daemon = Daemon::start(&args);
    let with = ratio(&network, 10);
    let metrics = daemon.metrics();
    for name in [
        "redpoll_taim_delay_seconds 0.",
        "redpoll_taim_flow_throughput_bytes_per_second{a=\"[fd72:",
        "redpoll_taim_flow_rtt_seconds{",
        "redpoll_taim_flow_queue_packets{",
        "redpoll_taim_flow_wait_seconds_total{",
    ] {
        assert!(metrics.contains(name), "no {name} in {metrics}");
    }
    let (code, json) = daemon.end(Signal::SIGINT);
    assert_eq!(code, Some(0));
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    println!("{without:.2} -> {with:.2}; {}", last["totals"]);
    assert_eq!(last["flows"].as_array().map(Vec::len), Some(2));
    assert!(
        last["flows"][0]["rtt_s"]
            .as_f64()
            .is_some_and(|rtt| rtt > 0.005),
        "{last}"
    );
    assert!(without > 2.5, "there is nothing to mend: {without}");
    assert!(with < 0.7 * without, "{without} -> {with}");
}

fn lead_is_limited() {
    let network = Network::new(6, [5, 40]);
    rules(&network, "16");
    let without = ratio(&network, 4);
    let daemon = Daemon::start(&["--queue", "16", "--policy", "lead", "--json", "-"]);
    let with = ratio(&network, 8);
    let (code, json) = daemon.end(Signal::SIGINT);
    assert_eq!(code, Some(0));
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    println!("{without:.2} -> {with:.2}; {}", last["totals"]);
    assert!(without > 2.5, "there is nothing to mend: {without}");
    assert!(with < 0.5 * without, "{without} -> {with}");
}

fn killed_under_load() {
    let network = Network::new(2, [2, 10]);
    rules(&network, "12");
    let args = ["--queue", "12", "--delay", "0.5", "--min-delay", "0.1"];
    let mut daemon = Some(Daemon::start(&args));
    // Forty flows of 256 KiB; each is checked byte by byte, and ends in order.
    let flows = network.transfers(20, 256 << 10);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(700));
        if let Some(daemon) = daemon.take() {
            let (code, _) = daemon.end(Signal::SIGKILL);
            assert_eq!(code, None, "it is gone by the signal");
        }
        // For a moment nobody has the queue.
        std::thread::sleep(Duration::from_millis(300));
        daemon = Some(Daemon::start(&args));
    }
    let whole = flows.join().expect("no flow breaks");
    println!("{whole} flows arrived whole");
    assert_eq!(whole, 40);
    if let Some(daemon) = daemon {
        daemon.end(Signal::SIGKILL);
    }
    // The rule stands, and nobody has the queue.
    let begun = Instant::now();
    let flows = network.transfers(2, 5_000);
    assert_eq!(flows.join().expect("no flow breaks"), 4);
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

fn ctrl_c_sets_free() {
    let network = Network::new(3, [1, 1]);
    rules(&network, "13");
    // So long that nothing leaves by its turn but the first packet.
    let args = [
        "--queue",
        "13",
        "--delay",
        "60000",
        "--max-wait",
        "0",
        "--metrics",
        "127.0.0.1:0",
    ];
    let daemon = Daemon::start(&args);
    let flows = network.transfers(2, 5_000);
    let deadline = Instant::now() + Duration::from_secs(10);
    let waits = |text: &str| {
        let name = "redpoll_taim_waiting_packets ";
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.and_then(|count| count.parse::<u32>().ok())
            .unwrap_or(0)
    };
    while waits(&daemon.metrics()) < 3 {
        assert!(
            Instant::now() < deadline,
            "nothing waits: {}",
            daemon.metrics()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, _) = daemon.end(Signal::SIGINT);
    assert_eq!(code, Some(0));
    let freed = Instant::now();
    assert_eq!(flows.join().expect("no flow breaks"), 4);
    assert!(
        freed.elapsed() < Duration::from_secs(2),
        "{:?}",
        freed.elapsed()
    );
    // The kernel has no queue any more.
    let queues = std::fs::read_to_string("/proc/self/net/netfilter/nfnetlink_queue");
    let queues = queues.unwrap_or_default();
    assert!(
        !queues.lines().any(|line| line.trim().starts_with("13 ")),
        "{queues}"
    );
}

/// Seconds of processor time that a process has had, in itself and in the kernel.
fn processor_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    // proc(5): utime and stime, the 14th and 15th, in hundredths.
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

fn many_flows() {
    // All wait from their third packet on; 20,000 of 5,000 flows leave every second.
    let args = [
        "--queue",
        "16",
        "--delay",
        "0.05",
        "--min-delay",
        "0.05",
        "--metrics",
        "127.0.0.1:0",
    ];
    let daemon = Daemon::start(&args);
    let before = processor_seconds(daemon.child.id());
    let (flows, packets) = (5_000, 60_000);
    let begun = Instant::now();
    let arrived = net::pour(4, flows, packets);
    let spent = processor_seconds(daemon.child.id()) - before;
    let each = spent * 1e6 / f64::from(packets);
    let metrics = daemon.metrics();
    let line = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0.0, |value| value.trim().parse::<f64>().unwrap())
    };
    let (held, released) = (
        line("redpoll_taim_flows "),
        line("redpoll_taim_released_total "),
    );
    println!(
        "{packets} packets in {:.1} s, {arrived} arrived, {released} had waited; {held} flows; {each:.1} us of processor time each",
        begun.elapsed().as_secs_f64(),
    );
    assert_eq!(arrived, packets);
    assert_eq!(held as u32, flows);
    assert!(
        released > 0.9 * f64::from(packets - 2 * flows),
        "{released}"
    );
    assert!(each < 50.0, "one core does not carry 20,000 a second");
}

fn refusals() {
    let daemon = Daemon::start(&["--queue", "14"]);
    let second = Daemon::command(&["--queue", "14"]).output().unwrap();
    let line = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{line}");
    assert!(
        line.contains("queue 14 is taken by another program: end that"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1, "{line}");
    drop(daemon);

    // Nobody, who has no capability. That needs more than one user in this namespace.
    let nobody = Daemon::command(&["--queue", "15"]).uid(65_534).output();
    if let Ok(nobody) = nobody {
        let line = String::from_utf8_lossy(&nobody.stderr).into_owned();
        assert_eq!(nobody.status.code(), Some(1), "{line}");
        assert!(
            line.contains("no permission to use NFQUEUE (needs root, or CAP_NET_ADMIN"),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1, "{line}");
    }

    let wrong = Daemon::command(&["--queue", "15", "--delay", "1", "--min-delay", "2"]).output();
    let wrong = wrong.unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
