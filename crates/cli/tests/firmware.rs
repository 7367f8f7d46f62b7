//! The leaf on emulated microcontrollers, together with simulated nodes.
//!
//! `REDPOLL_FIRMWARE` names the folder with the images, and `cargo xtask firmware` builds them and
//! sets it. Without images or without QEMU, a test is skipped and its name printed.
//! `REDPOLL_FIRMWARE_LONG` selects the long form of the endurance test.

#[path = "../../sim/tests/support/same.rs"]
mod same;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration as WallDuration;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_linux::line::{Arrived, LineAddress, LineWatch, SocketLine};
use redpoll_sim::external::{Arrival, Line};
use redpoll_sim::{NodeSpec, Scenario, World};
use redpoll_stack::Error;
use redpoll_stack::transport::Endpoint;

use same::{assert_same, play, with_a_simulated_leaf, with_an_external_leaf};

/// A board of QEMU, its image, and the name by which the image calls the board.
struct Board {
    machine: &'static str,
    image: &'static str,
    name: &'static str,
}

const MICROBIT: Board = Board {
    machine: "microbit",
    image: "leaf-microbit",
    name: "nRF51822 (Cortex-M0)",
};
const MPS2: Board = Board {
    machine: "mps2-an385",
    image: "leaf-mps2",
    name: "MPS2 AN385 (Cortex-M3)",
};
const EMULATOR: &str = "qemu-system-arm";

/// A folder for a socket; it is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let name = format!("redpoll-firmware-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("leaf.sock")
    }

    fn line(&self) -> String {
        format!("unix-listen:{}", self.socket().display())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `board` with its serial line at `socket`, to which QEMU connects as soon as there is a
/// listener. Without images or QEMU, prints that the test is skipped and returns `None`.
fn emulate(test: &str, board: &Board, socket: &Path) -> Option<Emulator> {
    let Some(folder) = std::env::var_os("REDPOLL_FIRMWARE") else {
        skip(test, "no images (cargo xtask firmware)");
        return None;
    };
    let mut command = Command::new(EMULATOR);
    command.args([
        "-machine",
        board.machine,
        "-display",
        "none",
        "-monitor",
        "none",
    ]);
    let place = format!("socket,id=radio,path={},reconnect=1", socket.display());
    command.args(["-chardev", &place, "-serial", "chardev:radio"]);
    command
        .arg("-kernel")
        .arg(Path::new(&folder).join(board.image));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => Some(Emulator(child)),
        Err(_) => {
            skip(test, "no qemu-system-arm (scripts/setup.sh size)");
            None
        }
    }
}

fn skip(test: &str, why: &str) {
    redpoll_testkit::skipped(&format!("firmware: {test}: {why}"));
}

struct Sockets;
struct Socket(SocketLine);

impl Sockets {
    fn open(_: &NodeSpec, line: &str) -> Result<Box<dyn Line>, String> {
        let address = LineAddress::parse(line, Path::new(""))?;
        let watch = LineWatch::new().map_err(|error| error.to_string())?;
        let socket = SocketLine::open(address, &watch);
        Ok(Box::new(Socket(socket.map_err(|error| error.to_string())?)))
    }
}

impl Line for Socket {
    fn send(&mut self, bytes: &[u8]) {
        self.0.send(bytes);
    }

    fn receive(&mut self, wait: WallDuration, bytes: &mut Vec<u8>) -> Arrival {
        match self.0.receive(wait, bytes) {
            Arrived::Nothing => Arrival::Nothing,
            Arrived::Peer => Arrival::Peer,
            Arrived::Bytes => Arrival::Bytes,
            Arrived::Gone => Arrival::Gone,
        }
    }
}

/// Checks that an emulated leaf in virtual time sends a simulated leaf's bytes at equal times.
fn sends_what_a_simulated_leaf_sends(test: &str, board: &Board) {
    let scratch = Scratch::new(test);
    let Some(_emulator) = emulate(test, board, &scratch.socket()) else {
        return;
    };
    let more = [("external.patience", "60 s")];
    let there = play(
        &with_an_external_leaf(&scratch.line(), &more),
        Some(&Sockets::open),
    );
    let here = play(&with_a_simulated_leaf(), None);
    assert_same(&here, &there);
    assert_eq!(there.world.external_figures(3).unwrap().begun, 1);
}

#[test]
fn a_cortex_m3_sends_the_frames_of_a_simulated_leaf() {
    sends_what_a_simulated_leaf_sends("same_frames_m3", &MPS2);
}

#[test]
fn a_cortex_m0_sends_the_frames_of_a_simulated_leaf() {
    sends_what_a_simulated_leaf_sends("same_frames_m0", &MICROBIT);
}

/// Checks in real time that curl fetches a page from a microcontroller over three simulated hops.
#[test]
fn curl_fetches_from_a_microcontroller_over_three_hops() {
    let test = "curl";
    if Command::new("curl").arg("--version").output().is_err() {
        return skip(test, "no curl (scripts/setup.sh test)");
    }
    let scratch = Scratch::new(test);
    let Some(_emulator) = emulate(test, &MICROBIT, &scratch.socket()) else {
        return;
    };
    let file = scratch.0.join("mesh.toml");
    let text = format!(
        "[topology]\nkind = \"line\"\nnodes = 4\nspacing = \"40 m\"\n\
         [medium]\ntransmission_range = \"50 m\"\n[nodes.node-1]\nrole = \"border\"\n\
         [nodes.node-4]\nrole = \"leaf\"\nkind = \"external\"\nline = \"{}\"\n",
        "unix-listen:leaf.sock"
    );
    std::fs::write(&file, text).unwrap();
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    command.arg("up").arg(&file).args(["--join", "forward"]);
    command.args(["--forward", &format!("{port}:node-4:80"), "--", "sh", "-c"]);
    let url = format!("http://127.0.0.1:{port}");
    // The emulator needs a moment to find the socket.
    let fetch = "curl -s --fail --retry 8 --retry-delay 2 --retry-all-errors -m 60";
    command.arg(format!("{fetch} {url}/ && {fetch} {url}/file | sha256sum"));
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{output:?}");
    assert!(printed.contains(MICROBIT.name), "{printed}");
    let file: String = (0..2_500).map(|line| format!("{line:07}\n")).collect();
    let sum = Command::new("sh")
        .args(["-c", &format!("printf %s '{file}' | sha256sum")])
        .output()
        .unwrap();
    let sum = String::from_utf8_lossy(&sum.stdout).into_owned();
    assert!(printed.contains(sum.trim()), "{printed}\n{sum}");
}

/// Checks that requests, losses and damaged frames cause no reset. `REDPOLL_FIRMWARE_LONG` selects
/// the long form.
#[test]
fn a_cortex_m0_endures_loss_and_garbage() {
    let test = "endurance";
    let scratch = Scratch::new(test);
    let Some(_emulator) = emulate(test, &MICROBIT, &scratch.socket()) else {
        return;
    };
    let long = std::env::var_os("REDPOLL_FIRMWARE_LONG").is_some();
    let (requests, hours) = if long { (10_000, 24) } else { (40, 1) };
    let text = format!(
        "duration = \"1000 h\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"10 m\"\n\
         [external]\npatience = \"60 s\"\n[faults.loss]\ntype = \"drop-frames\"\nshare = \"10 %\"\n\
         [nodes.node-1]\nrole = \"border\"\n[nodes.node-2]\nrole = \"leaf\"\nkind = \"external\"\n\
         line = \"{}\"\n",
        scratch.line()
    );
    let scenario = Scenario::parse("endurance", &text, &[]).unwrap();
    let mut world = same::world(&scenario, Some(&Sockets::open)).unwrap();
    let mut rng = Rng::new(1);
    world.put_attacker(2);
    let leaf = Endpoint::new(scenario.address(1).unwrap(), 80);
    let mut answered = 0;
    let mut last = String::new();
    let pause = Duration::from_secs(hours * 3_600).divided_by(requests);
    for _ in 0..requests {
        let from = world.now();
        // Injects foreign frames. Some begin like frames of Redpoll.
        for _ in 0..3 {
            world.inject(2, &garbage(&mut rng));
        }
        if let Some(page) = fetch(&mut world, leaf) {
            answered += 1;
            last = page;
        }
        world.run_until(from + pause);
    }
    let figures = world.external_figures(1).unwrap();
    println!("{answered} of {requests} requests answered in {hours} h\n{last}{figures:?}");
    assert_eq!((figures.begun, figures.gone), (1, 0));
    assert_eq!(answered, requests, "{last}");
    assert!(last.contains(&format!("requests: {requests}\n")), "{last}");
    let stack = last
        .lines()
        .find_map(|line| line.strip_prefix("stack, bytes: "));
    let (used, there_are) = stack.and_then(|it| it.split_once(" of ")).unwrap();
    let [used, there_are] = [used, there_are].map(|it| it.parse::<u32>().unwrap());
    assert!(
        0 < used && used < there_are,
        "the stack may have overflown: {last}"
    );
}

/// Returns arbitrary bytes. Three of four have the header of a frame to the leaf or to all nodes.
fn garbage(rng: &mut Rng) -> Vec<u8> {
    let len = 9 + rng.below(110) as usize;
    let mut frame: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
    if rng.below(4) > 0 {
        let to = if rng.below(2) == 0 {
            [0xff, 0xff]
        } else {
            [2, 0]
        };
        let header = [0x41, 0x88, frame[2], 0x70, 0x72, to[0], to[1], 3, 0];
        frame[..9].copy_from_slice(&header);
    }
    frame
}

/// Fetches the page; `None` if that fails, or takes longer than two minutes.
fn fetch(world: &mut World, from: Endpoint) -> Option<String> {
    let conn = world.with_node("node-1", |now, node| node.tcp_connect(now, from));
    let conn = conn.unwrap().ok()?;
    let mut to_send = &b"GET / HTTP/1.1\r\nHost: leaf\r\n\r\n"[..];
    let mut got = Vec::new();
    let until = world.now() + Duration::from_secs(120);
    let mut is_over = false;
    while world.now() < until && !is_over {
        let next = world.now() + Duration::from_millis(20);
        world.run_until(next.min(until).max(Instant::ZERO));
        world.with_node("node-1", |now, node| {
            match node.tcp_send(now, conn, to_send) {
                Ok(len) => to_send = &to_send[len..],
                Err(Error::WouldBlock) => {}
                Err(_) => is_over = true,
            }
            let mut bytes = [0; 512];
            loop {
                match node.tcp_recv(now, conn, &mut bytes) {
                    Ok(0) => break is_over = true,
                    Ok(len) => got.extend_from_slice(&bytes[..len]),
                    Err(Error::WouldBlock) => break,
                    Err(_) => break is_over = true,
                }
            }
            if is_over {
                node.tcp_close(now, conn);
                node.tcp_release(now, conn);
            }
        });
    }
    let page = String::from_utf8(got).ok()?;
    let (head, body) = page.split_once("\r\n\r\n")?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))?;
    (head.starts_with("HTTP/1.1 200") && length.parse() == Ok(body.len())).then(|| body.to_owned())
}
