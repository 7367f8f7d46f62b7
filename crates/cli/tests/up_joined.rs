//! `redpoll up` with a TUN interface, in a network namespace of the test's own:
//! kernel sockets against nodes, through the mesh, in real time.

#[path = "../../linux/tests/common/mod.rs"]
mod common;
#[path = "up/intruder.rs"]
mod intruder;
#[path = "up/neighbour.rs"]
mod neighbour;
#[path = "up/program.rs"]
mod program;
#[path = "support/rights.rs"]
mod rights;

use std::ffi::CString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Command, ExitCode};
use std::time::Duration;

use common::{Case, host_address};
use intruder::{Intruder, received};
use neighbour::{Neighbour, no_wire};
use nix::sys::signal::Signal;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn6, recv, sendto,
    setsockopt, socket, sockopt::ReceiveTimeout,
};
use nix::sys::time::{TimeVal, TimeValLike};
use program::{Program, expected};
use rights::{NOTHING, USER_OPTION, check, settled};

/// Number of bytes in each direction through the mesh.
const LENGTH: usize = 100 * 1024;
const COAP_CLIENT: &str = "coap-client-notls";
const PATIENCE: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    common::main(vec![
        Case::new(
            "a_node_four_hops_away_serves_100_kib_to_the_kernel",
            serves_100_kib,
        ),
        Case::new("a_mesh_that_routes_by_rpl_serves_the_kernel", routes_by_rpl),
        Case::new("a_node_uploads_100_kib_to_a_kernel_socket", uploads_100_kib),
        Case::new("taim_spaces_what_crosses_a_mesh_in_use", taim_spaces),
        Case::new("readings_arrive_at_a_broker", readings_arrive),
        Case::new(
            "ports_differ_from_one_start_to_the_next",
            ports_differ_from_start_to_start,
        ),
        Case::with("ping", "ping_reaches_a_leaf", ping_reaches_a_leaf),
        Case::with(
            COAP_CLIENT,
            "libcoap_gets_and_puts_in_blocks",
            libcoap_gets_and_puts,
        ),
        Case::new("garbage_from_the_host_does_no_harm", garbage_does_no_harm),
        Case::new(
            "capabilities_are_dropped_once_it_is_up",
            capabilities_are_dropped,
        ),
        Case::unless(
            no_users,
            "another_user_has_an_interface",
            another_user_has_an_interface,
        ),
        Case::with(
            "ip",
            "an_interface_that_is_set_down_ends_it_with_a_line",
            interface_set_down,
        ),
        Case::with("curl", "curl_keeps_a_connection_and_goes_on", curl_goes_on),
        Case::unless(
            no_wire,
            "neighbours_learn_the_way_to_the_mesh",
            neighbours_learn_the_way,
        ),
        Case::new(
            "advertising_on_an_absent_interface_is_refused",
            advertising_on_an_absent_interface_is_refused,
        ),
        Case::new(
            "a_node_on_the_air_reaches_only_what_is_exposed",
            only_exposed_services_are_reachable,
        ),
        Case::new("names_for_the_hosts_file", names_for_the_hosts_file),
        Case::new("a_capture_has_the_time_of_the_day", capture_has_the_time),
        Case::new("strangers_do_not_fill_a_sink", strangers_do_not_fill_a_sink),
        Case::new(
            "requests_of_nobody_take_no_forward_and_no_sink",
            requests_from_unused_addresses_do_not_block_others,
        ),
        Case::new("sigint_leaves_nothing_behind", || ends_by(Signal::SIGINT)),
        Case::new("sigterm_leaves_nothing_behind", || ends_by(Signal::SIGTERM)),
        Case::new("sigkill_leaves_nothing_behind", || ends_by(Signal::SIGKILL)),
        Case::new(
            "a_second_mesh_of_the_same_prefix_is_refused",
            second_mesh_is_refused,
        ),
        Case::new(
            "the_name_of_another_interface_is_refused",
            another_interface_is_refused,
        ),
        Case::new(
            "without_a_request_no_node_sends_to_this_computer",
            no_node_sends_unasked,
        ),
        Case::new(
            "two_meshes_with_a_prefix_each_live_side_by_side",
            two_meshes_side_by_side,
        ),
        Case::new(
            "a_namespace_of_its_own_hides_the_mesh",
            namespace_hides_the_mesh,
        ),
    ])
}

/// Starts `office` with addresses of its own for parallel tests. Its nodes send to this computer.
fn office(n: u16, more: &[&str]) -> Program {
    let sends = ["apps.upload.when=up", "apps.mqtt.when=up"];
    let sends = sends.map(|set| ["--set", set]).concat();
    quiet_office(n, &[&sends[..], more].concat())
}

/// Starts `office` with its default applications.
fn quiet_office(n: u16, more: &[&str]) -> Program {
    let prefix = format!("{}/64", prefix(n));
    let host = format!("border.host={}", host_address(n));
    let mut args = vec!["up", "office", "--prefix", &prefix, "--set", &host];
    args.extend(more);
    Program::start(&args)
}

fn prefix(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd72, 0x6564, 0x706f, n, 0, 0, 0, 0)
}

fn leaf(n: u16, short: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd72, 0x6564, 0x706f, n, 0, 0xff, 0xfe00, short)
}

fn exists(interface: &str) -> bool {
    nix::net::if_::if_nametoindex(CString::new(interface).unwrap().as_c_str()).is_ok()
}

fn get(address: Ipv6Addr, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((address, 80)), PATIENCE)
        .expect("the node accepts");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: leaf\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the node answers");
    program::body(&answer)
}

/// Checks that the mesh finds its routes by itself; before that, no node answers.
fn routes_by_rpl() {
    for mode in ["storing", "non-storing"] {
        let mode = format!("rpl.mode={mode}");
        let more = ["--set", "routing=rpl", "--set", &mode];
        let mut mesh = office(
            66,
            &[&more[..], &["--set", "apps.web.file=20 KiB"]].concat(),
        );
        mesh.wait_until_up();
        let server = SocketAddr::from((leaf(66, 12), 80));
        let began = std::time::Instant::now();
        while TcpStream::connect_timeout(&server, Duration::from_secs(5)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(60), "{mode}");
            std::thread::sleep(Duration::from_millis(200));
        }
        let file = get(leaf(66, 12), "/file");
        assert!(file == expected(20 * 1024), "{mode}: a wrong byte");
        mesh.end(Signal::SIGINT, Some(0));
    }
}

fn serves_100_kib() {
    let mut mesh = office(1, &["--set", "apps.web.file=100 KiB"]);
    mesh.wait_until_up();
    let file = get(leaf(1, 12), "/file");
    assert_eq!(file.len(), LENGTH);
    assert!(file == expected(LENGTH), "a wrong byte");
    // Skip lines about the scenario's sensor and upload, which try to connect without success.
    let mine = loop {
        let line = mesh.line();
        if line.contains(" -> leaf-12:80  ") {
            break line;
        }
    };
    assert!(mine.ends_with("open\n"), "{mine}");
    mesh.end(Signal::SIGINT, Some(0));
}

/// Checks that TAiM spaces 27 segments (12 KiB) by 400 ms, except for the first two packets.
fn taim_spaces() {
    let web = ["--set", "apps.web.file=12 KiB"];
    let delay = ["--taim", "--set", "taim.initial_delay=400 ms"];
    let mut mesh = office(11, &[web, ["--set", "apps.upload.when=never"]].concat());
    mesh.wait_until_up();
    let began = std::time::Instant::now();
    assert!(
        get(leaf(11, 12), "/file") == expected(12 * 1024),
        "a wrong byte"
    );
    let without = began.elapsed();
    mesh.end(Signal::SIGINT, Some(0));
    let mut mesh = office(11, &[&web[..], &delay].concat());
    mesh.wait_until_up();
    let began = std::time::Instant::now();
    assert!(
        get(leaf(11, 12), "/file") == expected(12 * 1024),
        "a wrong byte"
    );
    let with = began.elapsed();
    println!("{without:?} without, {with:?} with");
    assert!(
        with >= Duration::from_secs(10) && with > without,
        "{with:?}"
    );
    mesh.end(Signal::SIGINT, Some(0));
}

fn uploads_100_kib() {
    let mut mesh = office(2, &["--set", "apps.upload.total=100 KiB"]);
    mesh.wait_until_up();
    let listener = TcpListener::bind((host_address(2), 9000)).expect("the host's address is there");
    let (mut stream, from) = listener.accept().expect("the leaf connects");
    assert_eq!(from.ip(), leaf(2, 13));
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut file = Vec::new();
    stream.read_to_end(&mut file).expect("the leaf sends");
    assert_eq!(file.len(), LENGTH);
    assert!(file == expected(LENGTH), "a wrong byte");
    mesh.end(Signal::SIGINT, Some(0));
}

/// Checks that nodes send nothing to this computer unless an option starts their applications.
fn no_node_sends_unasked() {
    let mut mesh = quiet_office(74, &[]);
    mesh.wait_until_up();
    let listeners = [9000, 1883].map(|port| {
        let listener = TcpListener::bind((host_address(74), port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    });
    std::thread::sleep(Duration::from_secs(5));
    for listener in listeners {
        let connected = listener.accept().map(|(_, from)| from);
        assert!(connected.is_err(), "{connected:?}");
    }
    mesh.end(Signal::SIGINT, Some(0));
}

/// The seed of a scenario is public, so secrets must not depend on it.
fn ports_differ_from_start_to_start() {
    let ports = [7, 7].map(|n| {
        let mut mesh = office(n, &["--seed", "1"]);
        mesh.wait_until_up();
        let ports = [9000, 1883].map(|port| {
            let listener = TcpListener::bind((host_address(n), port)).unwrap();
            listener.accept().expect("the leaf connects").1.port()
        });
        mesh.end(Signal::SIGINT, Some(0));
        ports
    });
    assert_ne!(ports[0], ports[1]);
}

/// Checks readings to a broker that behaves as a sensor expects: it accepts, acknowledges, and
/// sends no other packet.
fn readings_arrive() {
    let mut mesh = office(
        3,
        &["--set", "apps.mqtt.batch=2", "--set", "apps.mqtt.qos=0"],
    );
    mesh.wait_until_up();
    let listener = TcpListener::bind((host_address(3), 1883)).expect("the host's address is there");
    let (mut stream, from) = listener.accept().expect("the leaf connects");
    assert_eq!(from.ip(), leaf(3, 15));
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut connect = [0; 2];
    stream.read_exact(&mut connect).unwrap();
    assert_eq!(connect[0], 0x10, "an MQTT CONNECT");
    stream.read_exact(&mut vec![0; connect[1].into()]).unwrap();
    stream.write_all(&[0x20, 2, 0, 0]).unwrap();
    for _ in 0..4 {
        let mut publish = [0; 2];
        stream.read_exact(&mut publish).expect("a reading");
        assert_eq!(publish[0] & 0xf0, 0x30, "an MQTT PUBLISH");
        let mut body = vec![0; publish[1].into()];
        stream.read_exact(&mut body).unwrap();
        let topic = usize::from(u16::from_be_bytes([body[0], body[1]]));
        assert_eq!(&body[2..2 + topic], b"office/leaf-15");
        assert_eq!(body.len() - 2 - topic, 82);
    }
    mesh.end(Signal::SIGINT, Some(0));
}

fn ping_reaches_a_leaf() {
    let mut mesh = office(4, &[]);
    mesh.wait_until_up();
    let output = Command::new("ping")
        .args(["-6", "-n", "-c", "3", "-W", "5", &leaf(4, 12).to_string()])
        .output()
        .expect("there is a ping");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    // Four hops: the border router and three routers each reduced the hop limit by one.
    assert!(text.contains("ttl=60"), "{text}");
    mesh.end(Signal::SIGINT, Some(0));
}

/// Returns the output of libcoap's client for the resource `path` of a leaf.
fn coap(n: u16, path: &str, args: &[&str]) -> Vec<u8> {
    let uri = format!("coap://[{}]/{path}", leaf(n, 12));
    let output = Command::new(COAP_CLIENT)
        .args(["-B", "60", "-v", "6"])
        .args(args)
        .arg(&uri)
        .output()
        .expect("there is a client");
    assert!(output.status.success(), "{uri}: {output:?}");
    output.stdout
}

/// Checks that libcoap's client gets a page and a file in blocks of two sizes, puts a body in
/// blocks and gets it again, and receives the error of a wrong request.
fn libcoap_gets_and_puts() {
    let mut mesh = office(6, &["--set", "apps.coap.file=3 KiB"]);
    mesh.wait_until_up();
    let folder = std::env::temp_dir().join(format!("redpoll-coap-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let got = folder.join("got");
    let out = got.to_str().unwrap();
    coap(6, "", &["-o", out]);
    assert!(std::fs::read_to_string(&got).unwrap().contains("leaf-12"));
    for block in ["64", "1024"] {
        coap(6, "file", &["-b", block, "-o", out]);
        assert!(
            std::fs::read(&got).unwrap() == expected(3 * 1024),
            "{block}"
        );
    }
    let sent = folder.join("sent");
    std::fs::write(&sent, expected(2_000)).unwrap();
    for block in ["128", "1024"] {
        coap(
            6,
            "store",
            &["-m", "put", "-b", block, "-f", sent.to_str().unwrap()],
        );
        coap(6, "store", &["-o", out]);
        assert!(std::fs::read(&got).unwrap() == expected(2_000), "{block}");
    }
    coap(6, "store", &["-m", "put", "-N", "-e", "short"]);
    coap(6, "store", &["-N", "-o", out]);
    assert_eq!(std::fs::read(&got).unwrap(), b"short");
    let answer = Command::new(COAP_CLIENT)
        .args(["-B", "60", &format!("coap://[{}]/nothing", leaf(6, 12))])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&answer.stderr);
    assert!(text.contains("4.04"), "{answer:?}");
    let _ = std::fs::remove_dir_all(&folder);
    mesh.end(Signal::SIGINT, Some(0));
}

fn garbage_does_no_harm() {
    let mut mesh = office(5, &[]);
    mesh.wait_until_up();
    let socket = UdpSocket::bind("[::]:0").unwrap();
    for len in (0..3000).step_by(37) {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 131 % 251) as u8).collect();
        for target in [leaf(5, 1), leaf(5, 12), leaf(5, 0x7777), prefix(5)] {
            let _ = socket.send_to(&bytes, (target, 4242));
        }
    }
    let page = get(leaf(5, 12), "/");
    assert!(String::from_utf8_lossy(&page).contains("leaf-12"));
    mesh.end(Signal::SIGINT, Some(0));
}

fn capabilities_are_dropped() {
    let mut mesh = office(60, &["--web", "127.0.0.1:0"]);
    mesh.wait_until_up();
    let threads = settled(mesh.pid(), 2);
    for thread in &threads {
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert_eq!(thread.line(set), NOTHING, "{set}");
        }
    }
    assert!(!get(leaf(60, 12), "/").is_empty());
    mesh.end(Signal::SIGINT, Some(0));
}

/// Returns the reason for which no other user exists here, if there is one.
fn no_users() -> Option<String> {
    let is_of_a_user = redpoll_linux::namespace::is_of_a_user();
    is_of_a_user.then(|| "it needs root".to_owned())
}

/// Checks `--user` with an interface in this namespace and in the program's own: the program runs
/// as another user without any capability.
fn another_user_has_an_interface() {
    for (n, join) in [(63, "tun"), (64, "namespace")] {
        let mut mesh = office(n, &["--join", join, "--user", USER_OPTION]);
        mesh.wait_until_up();
        check(&settled(mesh.pid(), 1), NOTHING, true);
        if join == "tun" {
            assert!(!get(leaf(n, 12), "/").is_empty());
            check(&settled(mesh.pid(), 1), NOTHING, true);
        }
        mesh.end(Signal::SIGINT, Some(0));
    }
}

fn interface_set_down() {
    let mut mesh = office(61, &["--name", "rpdown"]);
    mesh.wait_until_up();
    let set = |state| {
        let mut ip = Command::new("ip");
        ip.args(["link", "set", "rpdown", state]).output().unwrap()
    };
    let down = set("down");
    assert!(down.status.success(), "{down:?}");
    // The interface does not get its lost settings back. If the program has ended already, the
    // interface no longer exists.
    set("up");
    let (code, error) = mesh.fails();
    assert_eq!(code, 1);
    assert!(
        error.contains("the interface rpdown has lost its route"),
        "{error}"
    );
}

/// Checks that curl gets two pages over one connection, and the second half of a file.
fn curl_goes_on() {
    let mut mesh = office(62, &["--set", "apps.web.file=2 KiB"]);
    mesh.wait_until_up();
    let url = |path: &str| format!("http://[{}]/{path}", leaf(62, 12));
    let curl = |args: &[&str]| {
        let output = Command::new("curl")
            .args(["-gsS", "-m", "60"])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let connects = curl(&[
        "-o",
        "/dev/null",
        "-o",
        "/dev/null",
        "-w",
        "%{num_connects} ",
        &url(""),
        &url("file"),
    ]);
    assert_eq!(String::from_utf8_lossy(&connects), "1 0 ");
    let half = curl(&["-r", "1024-", &url("file")]);
    assert!(half == expected(2_048)[1_024..]);
    mesh.end(Signal::SIGINT, Some(0));
}

fn names_for_the_hosts_file() {
    let file = std::env::temp_dir().join(format!("redpoll-hosts-{}", std::process::id()));
    let mut mesh = office(63, &["--hosts", file.to_str().unwrap()]);
    mesh.wait_until_up();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 15);
    assert!(
        text.contains(&format!("{} leaf-12.redpoll\n", leaf(63, 12))),
        "{text}"
    );
    mesh.end(Signal::SIGINT, Some(0));
    let _ = std::fs::remove_file(&file);
}

fn capture_has_the_time() {
    let file = std::env::temp_dir().join(format!("redpoll-time-{}", std::process::id()));
    let mut mesh = office(64, &["--pcap", file.to_str().unwrap()]);
    mesh.wait_until_up();
    get(leaf(64, 12), "/");
    mesh.end(Signal::SIGINT, Some(0));
    let output = Command::new(env!("CARGO_BIN_EXE_redpoll"))
        .arg("dissect")
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let seconds: u64 = text
        .trim_start()
        .split('.')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    assert!((now - 60..=now).contains(&seconds), "{seconds} at {now}");
    let _ = std::fs::remove_file(&file);
}

/// The border router has a sink and room for a few connections. Silent connections do not
/// exclude others.
fn strangers_do_not_fill_a_sink() {
    let mut mesh = office(65, &["--set", "apps.sink.when=up"]);
    mesh.wait_until_up();
    let border = SocketAddr::from((leaf(65, 1), 5001));
    let connect = || TcpStream::connect_timeout(&border, Duration::from_secs(20));
    let silent: Vec<_> = (0..12)
        .map(|_| connect().expect("the sink accepts"))
        .collect();
    let mut honest = connect().expect("the sink accepts one more");
    honest
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    honest.write_all(&[7; 3_000]).unwrap();
    honest.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(honest.read(&mut [0; 16]).expect("all of it is taken"), 0);
    drop(silent);
    mesh.end(Signal::SIGINT, Some(0));
}

/// Eight connection requests to the border router have unused source addresses, so its answers are
/// lost. Other connections, by a forward or to its sink, must be served.
fn requests_from_unused_addresses_do_not_block_others() {
    let sink = ["--set", "apps.sink.when=up"];
    let forward = ["--join", "tun", "--forward", "0:leaf-12:80"];
    let mut mesh = office(68, &[&sink[..], &forward[..]].concat());
    mesh.wait_until_up();
    let mut line = mesh.line();
    while !line.starts_with("Forwarded: ") {
        line = mesh.line();
    }
    let port: u16 = line.split([':', ' ']).nth(3).unwrap().parse().unwrap();
    let open = |protocol| {
        let kind = (AddressFamily::Inet6, SockType::Raw, SockFlag::empty());
        socket(kind.0, kind.1, kind.2, protocol).expect("a raw socket")
    };
    let raw = open(SockProtocol::Raw);
    let border = leaf(68, 1);
    let target = SockaddrIn6::from(SocketAddrV6::new(border, 0, 0, 0));
    let ask = |from: Ipv6Addr, port: u16| {
        let request = request((from, port), (border, 5001));
        let sent = sendto(raw.as_raw_fd(), &request, &target, MsgFlags::empty());
        assert_eq!(sent, Ok(request.len()));
    };
    for number in 1..=8 {
        let nobody = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number);
        ask(nobody, 4_000 + number);
    }
    // The request from this computer's address is answered, so requests from `raw` arrive.
    let answers = open(SockProtocol::Tcp);
    setsockopt(&answers, ReceiveTimeout, &TimeVal::seconds(20)).unwrap();
    ask(host_address(68), 4_000);
    let ports = [5001u16.to_be_bytes(), 4_000u16.to_be_bytes()].concat();
    let mut answer = [0; 2_000];
    while answer[..4] != ports[..] {
        recv(answers.as_raw_fd(), &mut answer, MsgFlags::empty()).expect("an answer");
    }
    assert_eq!(answer[13], 0x12, "SYN and ACK");
    let mut page = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the port is open");
    page.set_read_timeout(Some(PATIENCE)).unwrap();
    page.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    page.read_to_end(&mut answer).expect("the node answers");
    assert!(String::from_utf8_lossy(&answer).contains("This is leaf-12"));
    let sink = SocketAddr::from((border, 5001));
    TcpStream::connect_timeout(&sink, Duration::from_secs(20)).expect("the sink accepts");
    mesh.end(Signal::SIGINT, Some(0));
}

/// Checks that a node that no scenario contains reaches only exposed services of this computer, and
/// only with its own address. The services listen on [::].
fn only_exposed_services_are_reachable() {
    let bind = || UdpSocket::bind("[::]:0").unwrap();
    let (open, closed) = (bind(), bind());
    let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
    let expose = format!("udp:{}", port(&open));
    let (mut intruder, url) = Intruder::new();
    let args = ["--set", "routing=rpl", "--radio", &url, "--expose", &expose];
    let mut mesh = office(73, &args);
    mesh.wait_until_up();
    let host = host_address(73);
    let special = [
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "fe80::63",
        "2001:db8::1",
        "fc00::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::1",
        "ff02::1",
    ];
    let mut sources: Vec<Ipv6Addr> = special.map(|text| text.parse().unwrap()).into();
    // Addresses of this computer, of the border router and of another mesh are refused, too.
    sources.extend([host, leaf(73, 1), leaf(74, 5)]);
    for source in sources {
        let text = source.to_string();
        intruder.send((source, 7), (host, port(&open)), text.as_bytes());
    }
    let own = leaf(73, 99);
    intruder.send((own, 7), (host, port(&closed)), b"closed");
    intruder.send((own, 7), (host, port(&open)), b"own");
    let arrived = received(&open);
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    assert_eq!((arrived[0].0.ip(), arrived[0].1.as_str()), (&own, "own"));
    assert_eq!(received(&closed), []);
    // An answer to the host's own request passes, even to a closed port.
    let request = (own, 9);
    closed.send_to(b"hello", SocketAddr::from(request)).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    intruder.send(request, (host, port(&closed)), b"answer");
    let arrived = received(&closed);
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    let log = mesh.ends_with(Signal::SIGINT);
    let said = "redpoll: warning: packets from the mesh were dropped: their source is not an \
                address of the mesh count=";
    let rests = log.lines().filter_map(|line| line.strip_prefix(said));
    let counts = rests.map(|rest| rest.split(' ').next().unwrap());
    let dropped: u64 = counts.map(|count| count.parse::<u64>().unwrap()).sum();
    assert!(dropped >= 8, "{log}");
}

/// Returns a packet with a SYN, without options.
fn request(from: (Ipv6Addr, u16), to: (Ipv6Addr, u16)) -> Vec<u8> {
    let addresses = [from.0.octets(), to.0.octets()].concat();
    let mut segment = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    segment.extend([0, 0, 0, 1, 0, 0, 0, 0, 5 << 4, 2, 4, 0, 0, 0, 0, 0]);
    // The pseudo-header: addresses, length, protocol.
    let covered = [&addresses[..], &[0, 0, 0, 20, 0, 0, 0, 6], &segment[..]].concat();
    let words = covered
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = !(sum + (sum >> 16)) as u16;
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    let header = [0x60, 0, 0, 0, 0, 20, 6, 64];
    [&header[..], &addresses[..], &segment[..]].concat()
}

fn ends_by(signal: Signal) {
    let n = 6 + signal as u16;
    let name = format!("rpend{}", signal as i32);
    let mut mesh = office(n, &["--name", &name]);
    mesh.wait_until_up();
    assert!(exists(&name));
    mesh.end(signal, (signal != Signal::SIGKILL).then_some(0));
    assert!(!exists(&name), "the interface is left behind");
    let socket = UdpSocket::bind("[::]:0").unwrap();
    socket
        .send_to(b"x", (leaf(n, 12), 7))
        .expect_err("the route is left behind");
}

fn second_mesh_is_refused() {
    let mut first = office(40, &[]);
    first.wait_until_up();
    let (code, error) = office(40, &[]).fails();
    assert_eq!(code, 1);
    assert!(
        error.starts_with("redpoll: ") && error.contains("--prefix"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    first.end(Signal::SIGINT, Some(0));
}

/// The neighbour learns the route to the mesh, uses it, and removes it when the mesh ends.
fn neighbours_learn_the_way() {
    let neighbour = Neighbour::beside("wire0");
    std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").unwrap();
    let mut mesh = office(17, &["--advertise", "wire0"]);
    mesh.wait_until_up();
    let prefix = format!("{}/64", prefix(17));
    neighbour.wait_for_route(&prefix, true);
    let leaf = leaf(17, 12).to_string();
    let ping = neighbour.run(&["ping", "-6", "-c", "3", "-w", "20", &leaf]);
    assert!(ping.contains("bytes from"), "{ping}");
    // When its link comes up again, the neighbour solicits an advertisement.
    neighbour.run(&["ip", "-6", "route", "flush", &prefix]);
    neighbour.run(&["ip", "link", "set", "wire1", "down"]);
    neighbour.run(&["ip", "link", "set", "wire1", "up"]);
    neighbour.wait_for_route(&prefix, true);
    assert!(!neighbour.run(&["ip", "-6", "route"]).contains("default"));
    mesh.end(Signal::SIGINT, Some(0));
    neighbour.wait_for_route(&prefix, false);
}

fn advertising_on_an_absent_interface_is_refused() {
    let (code, error) = office(18, &["--advertise", "nowhere0"]).fails();
    assert_eq!(code, 2, "{error}");
    assert!(
        error.contains("--advertise: there is no interface nowhere0"),
        "{error}"
    );
}

fn another_interface_is_refused() {
    let (code, error) = office(42, &["--join", "tun", "--name", "lo"]).fails();
    assert_eq!(code, 2, "{error}");
    assert_eq!(
        error,
        "redpoll: interface lo already exists: choose another name with --name\n"
    );
}

fn two_meshes_side_by_side() {
    let mut meshes = [50, 51].map(|n| {
        let prefix = format!("{}/64", prefix(n));
        Program::start(&["up", "office", "--prefix", &prefix])
    });
    for mesh in &mut meshes {
        mesh.wait_until_up();
    }
    for n in [50, 51] {
        let page = get(leaf(n, 12), "/");
        assert!(String::from_utf8_lossy(&page).contains("leaf-12"));
    }
    for mesh in meshes {
        mesh.end(Signal::SIGINT, Some(0));
    }
}

fn namespace_hides_the_mesh() {
    let script = "test \"$REDPOLL_JOINED\" = namespace && grep -c redpoll /proc/net/dev";
    let (code, output) = office(41, &["--join", "namespace", "--", "sh", "-c", script]).finishes();
    assert_eq!(code, 0, "{output}");
    assert!(output.ends_with("1\n"), "{output}");
    // From outside the namespace, nothing of the mesh is visible.
    let mut mesh = office(41, &["--join", "namespace", "--name", "rphidden"]);
    mesh.wait_until_up();
    assert!(!exists("rphidden"));
    mesh.end(Signal::SIGINT, Some(0));
}
