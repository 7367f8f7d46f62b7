//! `redpoll up` without privilege: forwarded ports, the program next to the mesh, and refusals.

#[path = "up/program.rs"]
mod program;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::signal::Signal;
use program::{Program, body};

const FORWARD: [&str; 4] = ["--join", "forward", "--forward", "0:leaf-12:80"];

fn office(more: &[&str]) -> Program {
    let mut args = vec!["up", "office"];
    args.extend(more);
    Program::start(&args)
}

/// Returns the port in `Forwarded: 127.0.0.1:PORT -> leaf-12:80`.
fn forwarded_port(line: &str) -> u16 {
    let rest = line
        .strip_prefix("Forwarded: 127.0.0.1:")
        .unwrap_or_else(|| panic!("{line}"));
    let (port, target) = rest.split_once(" -> ").unwrap();
    assert_eq!(target.trim(), "leaf-12:80");
    port.parse().unwrap()
}

fn get(port: u16) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the port is open");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: leaf\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the node answers");
    String::from_utf8(body(&answer)).unwrap()
}

#[test]
fn a_page_comes_through_a_forwarded_port() {
    let mut mesh = office(&FORWARD);
    mesh.wait_until_up();
    let port = forwarded_port(&mesh.line());
    // One connection after another: the forwarder must free each connection at its end.
    for _ in 0..3 {
        assert!(get(port).contains("This is leaf-12"));
    }
    mesh.end(Signal::SIGINT, Some(0));
}

#[test]
fn the_live_view_listens_only_at_the_printed_address() {
    let mut mesh = office(&[&FORWARD[..], &["--web", "127.0.0.1:0"]].concat());
    mesh.wait_until_up();
    forwarded_port(&mesh.line());
    let line = mesh.line();
    let rest = line
        .strip_prefix("Open this page: http://127.0.0.1:")
        .unwrap();
    let (port, token) = rest.trim().split_once("/#").unwrap();
    assert_eq!(token.len(), 32);
    let port: u16 = port.parse().unwrap();
    let ask = |host: &str| {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("leaf-12.example").starts_with("HTTP/1.1 403"));
    let answer = ask(&format!("127.0.0.1:{port}"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("live.js"));
    assert!(!answer.contains(token));
    mesh.end(Signal::SIGINT, Some(0));
}

/// Checks an echo, and the lines about the connection.
#[test]
fn the_echo_of_a_leaf_returns() {
    let mut mesh = office(&["--join", "forward", "--forward", "0:leaf-14:7"]);
    mesh.wait_until_up();
    let line = mesh.line();
    let port = line.split([':', ' ']).nth(3).unwrap().parse().unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    let sent: Vec<u8> = (0..3_000u32).map(|i| ((i * 31) >> 3) as u8).collect();
    stream.write_all(&sent).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    assert_eq!(back, sent);
    assert!(mesh.line().contains("-> leaf-14:7  forwarded"));
    let end = mesh.line();
    let what = "3000 bytes into the mesh, 3000 bytes out of it\n";
    assert!(end.contains("closed after") && end.ends_with(what), "{end}");
    mesh.end(Signal::SIGINT, Some(0));
}

/// With `-v`, lines of frames appear between the lines of connections.
#[test]
fn frames_are_logged_with_v() {
    let sends = ["--set", "apps.upload.when=up"];
    let rest = ["--join", "forward", "--forward", "0:leaf-14:7", "-v"];
    let mut mesh = office(&[&sends[..], &rest].concat());
    mesh.wait_until_up();
    mesh.line();
    // The first line is about a connection to the host, whose port is closed.
    let line = mesh.line();
    assert!(line.contains(" s  0x") && line.contains(" TCP "), "{line}");
    mesh.end(Signal::SIGINT, Some(0));
    let rest = ["--join", "forward", "-v", "--json", "-"];
    refused(&[&["up", "office"][..], &rest].concat(), 2, &["--verbose"]);
}

/// A browser opens six connections at the same time, to a node with room for four.
#[test]
fn six_connections_at_once_are_all_served() {
    let mut mesh = office(&FORWARD);
    mesh.wait_until_up();
    let port = forwarded_port(&mesh.line());
    let mut streams: Vec<TcpStream> = (0..6)
        .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the port is open"))
        .collect();
    for stream in &mut streams {
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    }
    for (number, mut stream) in streams.into_iter().enumerate() {
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        read.unwrap_or_else(|error| panic!("connection {}: {error}", number + 1));
        let page = String::from_utf8(body(&answer)).unwrap();
        assert!(page.contains("This is leaf-12"), "{page}");
    }
    mesh.end(Signal::SIGINT, Some(0));
}

/// Handshakes with a node that is off stay open for minutes. They must leave room for forwards to
/// other nodes, even if all begin at the same moment.
#[test]
fn eight_unanswered_handshakes_leave_room_for_a_ninth() {
    let off = ["faults.off.type=node-off", "faults.off.node=leaf-12"];
    let forwards = ["0:leaf-12:80", "0:leaf-14:7"];
    let mut args = vec!["--join", "forward"];
    args.extend(off.iter().flat_map(|set| ["--set", set]));
    args.extend(forwards.iter().flat_map(|spec| ["--forward", spec]));
    let mut mesh = office(&args);
    mesh.wait_until_up();
    let mut connector = || {
        let line = mesh.line();
        let port: u16 = line.split([':', ' ']).nth(3).unwrap().parse().unwrap();
        move || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the port is open")
    };
    let (nobody, echo) = (connector(), connector());
    let idle: Vec<TcpStream> = (0..8).map(|_| nobody()).collect();
    // The program accepts the connections in order: the ninth is accepted once eight are open.
    let mut ninth = echo();
    let patience = Some(Duration::from_secs(60));
    ninth.set_read_timeout(patience).unwrap();
    ninth.write_all(b"anybody there?").unwrap();
    ninth.shutdown(std::net::Shutdown::Write).unwrap();
    let mut back = Vec::new();
    ninth.read_to_end(&mut back).expect("leaf-14 answers");
    assert_eq!(back, b"anybody there?");
    for mut stream in idle {
        stream.set_nonblocking(true).unwrap();
        let error = stream.read(&mut [0; 1]).expect_err("it stands");
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
    mesh.end(Signal::SIGINT, Some(0));
}

#[test]
fn a_node_that_does_not_listen_resets_the_connection() {
    let mut mesh = office(&["--join", "forward", "--forward", "0:leaf-12:81"]);
    mesh.wait_until_up();
    let line = mesh.line();
    let port = line
        .split(':')
        .nth(2)
        .and_then(|rest| rest.split(' ').next())
        .unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port.parse().unwrap())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let error = stream.read(&mut [0; 16]).expect_err("nothing to read");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    mesh.end(Signal::SIGTERM, Some(0));
}

#[test]
fn the_exit_code_of_the_program_beside_the_mesh_is_ours() {
    let mut args = FORWARD.to_vec();
    args.extend([
        "--",
        "sh",
        "-c",
        "echo \"$REDPOLL_JOINED $REDPOLL_FORWARDS\"; exit 7",
    ]);
    let (code, text) = office(&args).finishes();
    assert_eq!(code, 7, "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("forward ") && last.ends_with(":leaf-12:80"),
        "{last}"
    );
}

#[test]
fn the_program_beside_the_mesh_ends_with_it() {
    let mut args = FORWARD.to_vec();
    args.extend(["--", "sh", "-c", "echo $$; sleep 1000"]);
    let mut mesh = office(&args);
    mesh.wait_until_up();
    mesh.line();
    let pid: i32 = mesh.line().trim().parse().expect("the shell's number");
    mesh.end(Signal::SIGTERM, Some(128 + Signal::SIGTERM as i32));
    let left = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None);
    assert_eq!(
        left,
        Err(nix::errno::Errno::ESRCH),
        "the shell is left behind"
    );
}

#[test]
fn a_mesh_in_real_time_leaves_a_result() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("up-result");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (kept, csv) = (file("kept"), file("up.csv"));
    let files = [
        "--result",
        &kept,
        "--series",
        &csv,
        "--series-interval",
        "200 ms",
    ];
    let mut mesh = office(
        &[
            &["--join", "forward", "--forward", "0:leaf-14:7"][..],
            &files,
        ]
        .concat(),
    );
    mesh.wait_until_up();
    let line = mesh.line();
    let port = line.split([':', ' ']).nth(3).unwrap().parse().unwrap();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.write_all(&[7; 2_000]).unwrap();
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).unwrap();
    stream.read_exact(&mut [0; 2_000]).unwrap();
    mesh.end(Signal::SIGINT, Some(0));

    let text = std::fs::read_to_string(&csv).unwrap();
    let of_leaf = text.lines().filter(|line| line.contains(",leaf-14,"));
    assert!(of_leaf.count() > 5, "{text}");
    for command in ["why", "report", "dissect"] {
        let (code, text) = Program::start(&[command, &kept]).finishes();
        assert_eq!(code, 0, "{command}: {text}");
        assert!(
            command != "why" || text.contains("]:7: 2000 B in"),
            "{text}"
        );
    }
    let both = [
        "up", "office", "--join", "forward", "--record", &csv, "--web",
    ];
    let (code, error) = Program::start(&both).fails();
    assert_eq!(code, 2, "{error}");
}

/// If other users can reach the page, a line of the output says so.
#[test]
fn a_live_view_that_others_reach_says_so() {
    let mut mesh = office(&[&FORWARD[..], &["--web", "0.0.0.0:0"]].concat());
    mesh.wait_until_up();
    forwarded_port(&mesh.line());
    let line = mesh.line();
    let address = line.strip_prefix("Open this page: http://").unwrap();
    let (_, port) = address.split_once(':').unwrap();
    let port = port.split('/').next().unwrap();
    let exposed = mesh.line();
    assert_eq!(
        exposed.trim(),
        format!(
            "Every user who can reach 0.0.0.0:{port} can see the page. Changing the mesh requires \
             the token after the # above."
        )
    );
    mesh.end(Signal::SIGINT, Some(0));
}

/// With a live view the mesh continues after the demonstration, whose steps find no programs here.
#[test]
fn with_a_live_view_the_mesh_stays_after_the_demonstration() {
    let args = ["up", "office", "--join", "forward", "--demo"];
    let looked_at = [&args[..], &["--web", "127.0.0.1:0"]].concat();
    let nothing = [("PATH", "/no-such-folder")];
    let mut mesh = Program::start_with(&looked_at, &nothing);
    mesh.wait_until_up();
    let mut text = String::new();
    while !text.contains("Press Ctrl-C to stop the mesh") {
        let line = mesh.line();
        assert!(!line.is_empty(), "it ended: {text}");
        text.push_str(&line);
    }
    assert!(text.contains("demo: ok"), "{text}");
    let address = text.split("http://").nth(1).unwrap();
    let address = address.split('/').next().unwrap();
    TcpStream::connect(address).expect("the page is still there");
    mesh.end(Signal::SIGINT, Some(0));

    let (code, text) = Program::start_with(&args, &nothing).finishes();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("keeps running"), "{text}");
}

#[test]
fn a_demonstration_that_fails_ends_with_its_code() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("fails");
    std::fs::create_dir_all(&folder).unwrap();
    let _ = std::os::unix::fs::symlink("/bin/false", folder.join("curl"));
    let args = [
        "up",
        "office",
        "--join",
        "forward",
        "--demo",
        "--web",
        "127.0.0.1:0",
    ];
    let path = [("PATH", folder.to_str().unwrap())];
    let (code, text) = Program::start_with(&args, &path).finishes();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("demo: failed at step 2"), "{text}");
}

fn refused(args: &[&str], code: i32, words: &[&str]) {
    let (got, error) = Program::start(args).fails();
    assert_eq!(got, code, "{args:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("redpoll: "), "{error}");
    for word in words {
        assert!(error.contains(word), "{args:?}: {error}");
    }
}

#[test]
fn an_unusable_argument_is_reported_in_one_line() {
    let forward = |spec| ["up", "office", "--join", "forward", "--forward", spec];
    refused(&forward("80:leaf-99:80"), 2, &["leaf-99", "leaf-12"]);
    refused(&forward("leaf-12:80"), 2, &["leaf-12:80", "PORT:NODE:PORT"]);
    refused(&["up", "office", "--join", "forward"], 2, &["--forward"]);
    refused(&["up", "line-1"], 2, &["border", "redpoll run"]);
    refused(
        &["up", "no-such-scenario"],
        2,
        &["no-such-scenario", "office"],
    );
    refused(
        &["up", "office", "--set", "mac.max_be=77"],
        2,
        &["mac.max_be"],
    );
    refused(
        &["up", "office", "--prefix", "nonsense"],
        2,
        &["border.prefix"],
    );
}

#[test]
fn used_ports_and_failing_files_are_reported_in_one_line() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let spec = format!("{port}:leaf-12:80");
    let forward = ["up", "office", "--join", "forward", "--forward", &spec];
    refused(&forward, 1, &[&port.to_string(), "in use"]);

    let capture = ["--pcap", "/no-such-folder/capture.pcapng"];
    refused(
        &[&["up", "office"][..], &FORWARD, &capture].concat(),
        1,
        &["/no-such-folder"],
    );
    let command = ["--", "/no-such-program"];
    refused(
        &[&["up", "office"][..], &FORWARD, &command].concat(),
        1,
        &["/no-such-program"],
    );
    let full = ["--pcap", "/dev/full"];
    refused(
        &[&["up", "office"][..], &FORWARD, &full].concat(),
        1,
        &["/dev/full", "space"],
    );
}
