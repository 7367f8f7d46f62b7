//! `redpoll up` with many nodes and many simultaneous transfers of Linux's TCP: each byte is
//! correct, the program takes at most one core, and the live view's page stays usable. The
//! variables `MANY_NODES`, `MANY_TRANSFERS` and `MANY_BYTES` determine the size (`make many`).

#[path = "../../linux/tests/common/mod.rs"]
mod common;
#[path = "up/program.rs"]
mod program;
#[path = "support/mod.rs"]
mod support;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv6Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Case, host_address};
use program::expected;
use program::processor::processor_seconds;
use support::Folder;

/// Address of the live view.
const PAGE: &str = "127.0.0.1:8080";
/// Number of this test's prefix and host address, as in `up_joined`.
const NUMBER: u16 = 70;
/// Number of transfers of one curl process, which carries out at most 300.
const PARALLEL: usize = 250;
/// Time after which a mesh that has not found its routes, or a transfer, counts as failed.
const PATIENCE: Duration = Duration::from_secs(1_500);
/// Longest allowed time from a request to the page's arrival, and between two live messages.
const USABLE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    common::main(vec![Case::with(
        "curl",
        "curl_fetches_from_many_nodes_at_once",
        curl_fetches_from_many_nodes_at_once,
    )])
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| {
        usize::from_str(&text).unwrap_or_else(|_| panic!("{variable}: {text:?} is not a number"))
    })
}

/// A grid of nodes with the border router in its middle. Each other node serves a file.
struct Grid {
    columns: usize,
    rows: usize,
}

impl Grid {
    /// Returns the grid of this number of nodes that is nearest to a square.
    fn of(nodes: usize) -> Grid {
        let rows = (1..=nodes).filter(|rows| nodes.is_multiple_of(*rows) && rows * rows <= nodes);
        let rows = rows.max().expect("a node");
        let columns = nodes / rows;
        Grid { columns, rows }
    }

    fn border(&self) -> usize {
        self.rows / 2 * self.columns + self.columns / 2 + 1
    }

    fn scenario(&self, bytes: usize) -> String {
        let Grid { columns, rows } = self;
        let border = self.border();
        format!(
            "duration = \"60 s\"\nrouting = \"rpl\"\n\
             [topology]\nkind = \"grid\"\ncolumns = {columns}\nrows = {rows}\nspacing = \"20 m\"\n\
             [medium]\nmodel = \"unit-disk\"\ntransmission_range = \"50 m\"\n\
             interference_range = \"50 m\"\ncarrier_sense_range = \"50 m\"\n\
             [radio]\nmodel = \"ideal\"\n[mac]\nmax_frame_retries = 15\nmin_be = 2\n\
             [lowpan]\nslots = 16\n[nodes.node-{border}]\nrole = \"border\"\n\
             [apps.page]\ntype = \"http-server\"\non = \"every router\"\nfile = \"{bytes} B\"\n"
        )
    }

    /// Returns `count` nodes without the border router, spread evenly over the grid.
    fn servers(&self, count: usize) -> Vec<usize> {
        let border = self.border();
        let nodes = self.columns * self.rows;
        let all: Vec<_> = (1..=nodes).filter(|it| *it != border).collect();
        assert!(count <= all.len(), "{count} transfers from {nodes} nodes");
        (0..count).map(|at| all[at * all.len() / count]).collect()
    }
}

fn address(node: usize) -> Ipv6Addr {
    let short = u16::try_from(node).expect("a short address");
    Ipv6Addr::new(0xfd72, 0x6564, 0x706f, NUMBER, 0, 0xff, 0xfe00, short)
}

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Folder, grid: &Grid, bytes: usize) -> Running {
    let scenario = folder.write("many.toml", &grid.scenario(bytes));
    let log = |name| File::create(folder.file(name)).unwrap();
    let prefix = format!("fd72:6564:706f:{NUMBER:x}::/64");
    let host = format!("border.host={}", host_address(NUMBER));
    let args = [
        "up", &scenario, "--prefix", &prefix, "--set", &host, "--web", PAGE,
    ];
    let child = Command::new(support::PROGRAM)
        .args(args)
        .stdin(Stdio::null())
        .stdout(log("output"))
        .stderr(log("errors"))
        .spawn();
    Running(child.unwrap())
}

/// Waits until each of these nodes accepts a connection, and so has a route.
fn wait_until_formed(servers: &[usize], mesh: &mut Running, folder: &Folder) {
    let began = Instant::now();
    for node in servers {
        let to = SocketAddr::from((address(*node), 80));
        while TcpStream::connect_timeout(&to, Duration::from_secs(10)).is_err() {
            let errors = fs::read_to_string(folder.file("errors")).unwrap();
            let ended = mesh.0.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {errors}");
            assert!(began.elapsed() < PATIENCE, "node-{node}: {errors}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Measurements of a viewer of the live view, until the end of the transfers.
#[derive(Default)]
struct Seen {
    requests: usize,
    slowest_page: Duration,
    messages: usize,
    longest_silence: Duration,
}

/// Requests the page every half second.
fn ask_for_page(ends: &AtomicBool, seen: &mut Seen) {
    while !ends.load(Ordering::Relaxed) {
        let began = Instant::now();
        let mut stream = TcpStream::connect(PAGE).unwrap();
        let head = format!("GET / HTTP/1.1\r\nHost: {PAGE}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        assert!(text.starts_with(b"HTTP/1.1 200 "));
        seen.requests += 1;
        seen.slowest_page = seen.slowest_page.max(began.elapsed());
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Reads the messages of the live view as a browser does.
fn watch(ends: &AtomicBool, seen: &mut Seen) {
    let stream = TcpStream::connect(SocketAddr::from_str(PAGE).unwrap()).unwrap();
    stream.set_read_timeout(Some(4 * USABLE)).unwrap();
    let (mut socket, _) = tungstenite::client(format!("ws://{PAGE}/live"), stream).unwrap();
    // The first messages describe the whole mesh.
    socket.read().unwrap();
    let mut last = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        let message = socket.read().unwrap();
        if message.is_text() || message.is_binary() {
            seen.messages += 1;
            seen.longest_silence = seen.longest_silence.max(last.elapsed());
            last = Instant::now();
        }
    }
}

/// Starts all transfers at the same time. Returns a line for each that failed.
fn transfer(servers: &[usize], bytes: usize, folder: &Folder) -> Vec<String> {
    let mut curls = Vec::new();
    for (number, part) in servers.chunks(PARALLEL).enumerate() {
        let mut list = String::new();
        for node in part {
            let file = folder.file(&format!("node-{node}"));
            let url = format!("http://[{}]/file", address(*node));
            let _ = writeln!(list, "url = \"{url}\"\noutput = \"{file}\"");
        }
        let list = folder.write(&format!("list-{number}"), &list);
        let mut curl = Command::new("curl");
        curl.args([
            "-gsS",
            "--parallel",
            "--parallel-immediate",
            "--parallel-max",
        ]);
        curl.args([&PARALLEL.to_string(), "-m", &PATIENCE.as_secs().to_string()]);
        let curl = curl
            .args(["-K", &list])
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        curls.push(curl.spawn().unwrap());
    }
    let mut failed = Vec::new();
    for curl in curls {
        let output = curl.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        // Skips the progress lines of curl.
        let complaints = errors
            .split(['\r', '\n'])
            .filter_map(|it| it.find("curl: (").map(|at| &it[at..]));
        failed.extend(complaints.map(str::to_owned));
    }
    let right = expected(bytes);
    for node in servers {
        let arrived = fs::read(folder.file(&format!("node-{node}"))).unwrap_or_default();
        if arrived != right {
            failed.push(format!(
                "node-{node}: {} bytes, not the expected ones",
                arrived.len()
            ));
        }
    }
    failed
}

fn curl_fetches_from_many_nodes_at_once() {
    let nodes = number("MANY_NODES", 50);
    let transfers = number("MANY_TRANSFERS", 20);
    let bytes = number("MANY_BYTES", 256);
    let grid = Grid::of(nodes);
    let folder = Folder::new("up-many");
    let began = Instant::now();
    let mut mesh = start(&folder, &grid, bytes);
    let servers = grid.servers(transfers);
    wait_until_formed(&servers, &mut mesh, &folder);
    let formed = began.elapsed();
    let pid = mesh.0.id();
    let before = (Instant::now(), processor_seconds(pid));
    println!(
        "{nodes} nodes: {transfers} of them have answered after {:.1} s; {:.2} cores",
        formed.as_secs_f64(),
        before.1 / formed.as_secs_f64()
    );
    let ends = AtomicBool::new(false);
    let (mut asked, mut watched) = (Seen::default(), Seen::default());
    let failed = std::thread::scope(|scope| {
        scope.spawn(|| ask_for_page(&ends, &mut asked));
        scope.spawn(|| watch(&ends, &mut watched));
        let failed = transfer(&servers, bytes, &folder);
        ends.store(true, Ordering::Relaxed);
        failed
    });
    let seconds = before.0.elapsed().as_secs_f64();
    let cores = (processor_seconds(pid) - before.1) / seconds;
    let errors = fs::read_to_string(folder.file("errors")).unwrap();
    let late = errors.lines().filter(|it| it.contains("too slow")).count();
    println!(
        "{} of {transfers} transfers of {bytes} bytes in {seconds:.1} s, {} failures; {cores:.2} cores; \
         {} page requests, the slowest {:.3} s; {} messages of the live view, the longest silence \
         {:.3} s; {late} warnings that the mesh is late",
        transfers - failed.len().min(transfers),
        failed.len(),
        asked.requests,
        asked.slowest_page.as_secs_f64(),
        watched.messages,
        watched.longest_silence.as_secs_f64(),
    );
    assert!(failed.is_empty(), "{failed:#?}\n{errors}");
    assert!(cores <= 1.0, "{cores:.2} cores");
    assert!(asked.requests > 0 && asked.slowest_page <= USABLE, "page");
    assert!(
        watched.messages > 0 && watched.longest_silence <= USABLE,
        "live view"
    );
}
