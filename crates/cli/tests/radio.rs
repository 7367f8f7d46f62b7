//! Border routers on radios over UDP and on co-processors, and messages about unusable radios.

#[path = "radio/config.rs"]
mod config;
mod support;

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration as StdDuration;

use redpoll_base::{Addr, Instant};
use redpoll_border::Gate;
use redpoll_linux::gateway::{Clock, Mesh};
use redpoll_linux::radio::Radio;
use redpoll_linux::radio::counter::CounterFile;
use redpoll_linux::radio::mesh::RadioMesh;
use redpoll_linux::radio::rcp::{Event, Identity};
use redpoll_linux::radio::spec::RadioSpec;
use redpoll_sim::{Scenario, Secrets, SimProfile, node_on_radio};
use redpoll_stack::mac::CsmaCa;
use redpoll_testkit::skipped;

type OnRadio = RadioMesh<SimProfile<CsmaCa>>;

fn ports() -> [u16; 2] {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

/// Returns the URLs of two radios that exchange their frames as UDP datagrams.
fn datagrams() -> [String; 2] {
    let [a, b] = ports();
    [[a, b], [b, a]].map(|[here, there]| format!("zep://127.0.0.1:{there}?listen=127.0.0.1:{here}"))
}

fn node_on(scenario: &Scenario, index: usize, url: &str, clock: Clock) -> OnRadio {
    let spec: RadioSpec = url.parse().unwrap();
    let spec_of_node = &scenario.nodes[index];
    let identity = Identity {
        channel: 26,
        pan_id: scenario.mac.pan_id,
        short: spec_of_node.short,
        extended: spec_of_node.eui64,
        max_csma_backoffs: 4,
        max_frame_retries: 3,
    };
    let mut radio = Radio::open(&spec, identity, clock.now()).unwrap();
    let caps = loop {
        radio.turn(clock.now());
        match radio.poll_event() {
            Some(Event::Ready { version, caps }) => {
                println!("{url} is {version}: {caps:?}");
                break caps;
            }
            Some(other) => println!("{url}: {other:?}"),
            None => std::thread::sleep(StdDuration::from_millis(1)),
        }
        assert!(clock.now() < Instant::from_millis(10_000), "{url}");
    };
    let node = node_on_radio(scenario, index, caps, 0, &mut Secrets::default()).unwrap();
    let gate = Gate::new(scenario.border.prefix, 64);
    RadioMesh::new(node, gate, (radio, caps), Box::new(|_| Ok(())))
}

/// Returns an echo request from the host to a node of the mesh (RFC 4443 §4.1).
fn echo_request(src: Addr, dst: Addr) -> Vec<u8> {
    let mut message = vec![128, 0, 0, 0, 0, 1, 0, 2];
    message.extend(b"are you there?");
    let mut sum =
        redpoll_base::checksum::Checksum::pseudo_header(&src, &dst, 58, message.len() as u32);
    sum.add(&message);
    let check = sum.finish().to_be_bytes();
    message[2..4].copy_from_slice(&check);
    let len = (message.len() as u16).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, len[0], len[1], 58, 64];
    packet.extend(src.0);
    packet.extend(dst.0);
    packet.extend(message);
    packet
}

/// Pings a node from a host over a border router; `radios` are the URLs of their two radios.
fn ping(security: &[(&str, &str)], radios: &[String; 2]) -> (OnRadio, OnRadio, bool) {
    let set: Vec<(String, String)> = ([("routing", "rpl")].iter().chain(security))
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load("office", &set).unwrap();
    let clock = Clock::start();
    let border = scenario.border_router().unwrap();
    let other = (0..scenario.nodes.len())
        .find(|index| *index != border)
        .unwrap();
    let mut near = node_on(&scenario, border, &radios[0], clock);
    let mut far = node_on(&scenario, other, &radios[1], clock);
    let request = echo_request(scenario.border.host, scenario.address(other).unwrap());
    let mut asked_at = Instant::ZERO;
    let mut out = vec![0; 1_500];
    while clock.now() < Instant::from_millis(20_000) {
        let now = clock.now();
        near.advance(now);
        far.advance(now);
        if now.since(asked_at) > redpoll_base::Duration::from_millis(500) {
            asked_at = now;
            near.input_packet(&request);
        }
        while let Some(len) = near.poll_packet(&mut out) {
            if out[..len].ends_with(b"are you there?") && out[40] == 129 {
                return (near, far, true);
            }
        }
        if !security.is_empty() && clock.now() > Instant::from_millis(6_000) {
            let refused = near.node().mac().counters().rx_refused;
            if refused > 0 {
                return (near, far, false);
            }
        }
        std::thread::sleep(StdDuration::from_millis(1));
    }
    (near, far, false)
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

#[test]
fn a_host_pings_a_node_over_radios_of_datagrams() {
    let (_, _, answered) = ping(&[], &datagrams());
    assert!(answered);
}

#[test]
fn a_host_pings_a_node_whose_frames_are_protected() {
    let security = [("security.level", "enc-mic-32"), ("security.key", KEY)];
    let (near, far, answered) = ping(&security, &datagrams());
    assert!(answered);
    for mesh in [near, far] {
        let counters = *mesh.node().security().unwrap().counters();
        assert!(
            counters.opened > 2 && counters.unsealed == 0,
            "{counters:?}"
        );
    }
}

/// Pings over two processes of OpenThread's radio co-processor, which simulate the radios.
/// `REDPOLL_RCP` names the program.
#[test]
fn a_host_pings_a_node_over_openthreads_own_co_processor() {
    let Ok(program) = std::env::var("REDPOLL_RCP") else {
        skipped("check of OpenThread's co-processor: REDPOLL_RCP names no program (make rcp-test)");
        return;
    };
    let radio = |number| format!("spinel+hdlc+forkpty://{program}?forkpty-arg={number}");
    let radios = [radio(1), radio(2)];
    let security = [("security.level", "enc-mic-32"), ("security.key", KEY)];
    for security in [&[][..], &security] {
        let (near, far, answered) = ping(security, &radios);
        println!("{}\n{}", near.radio().summary(), far.radio().summary());
        assert!(answered, "{security:?}");
    }
}

#[test]
fn a_border_router_lets_no_node_in_that_has_no_key() {
    let security = [
        ("security.level", "enc-mic-32"),
        ("security.key", KEY),
        ("nodes.node-2.key", "none"),
    ];
    let (near, _, answered) = ping(&security, &datagrams());
    assert!(!answered);
    let unsecured = redpoll_stack::mac::security::Refusal::Unsecured;
    let counters = near.node().security().unwrap().counters();
    assert!(
        counters
            .refusals()
            .any(|(why, count)| why == unsecured && count > 0)
    );
    assert_eq!(near.node().rpl_targets(Instant::from_millis(20_000)), 0);
}

fn up(args: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_redpoll"))
        .args(["up", "office"])
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn missing_radios_keys_and_programs_are_named() {
    let stick = "spinel+hdlc+uart:///dev/no-such-stick";
    let rpl = ["--set", "routing=rpl"];
    let secured = ["--set", "security.level=enc-mic-32", "--set"];
    let key = format!("security.key={KEY}");
    for (args, code, expected) in [
        (vec!["--radio", "a-stick"], 2, "allowed: spinel+hdlc+uart"),
        (vec!["--radio", stick], 2, "--set routing=rpl"),
        ([&["--radio", stick][..], &rpl].concat(), 1, "no-such-stick"),
        (
            [&["--radio", stick][..], &rpl, &secured, &[&key]].concat(),
            2,
            "--state FILE",
        ),
    ] {
        let (got, text) = up(&args);
        assert!(text.contains(expected), "{args:?}: {text}");
        assert_eq!(got, code, "{text}");
        assert!(!text.contains(KEY), "{text}");
    }
}

#[test]
fn a_frame_counter_has_one_user() {
    let folder = std::env::temp_dir().join(format!("redpoll-state-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("counter");
    let (file, stored) = CounterFile::open(&path).unwrap();
    assert_eq!(stored, 0);
    let key = format!("security.key={KEY}");
    let state = path.display().to_string();
    let args = [
        ["--radio", "zep://127.0.0.1:1"],
        ["--set", "routing=rpl"],
        ["--set", "security.level=enc-mic-32"],
        ["--set", &key],
        ["--state", &state],
    ];
    let (code, text) = up(&args.concat());
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("another process uses it"), "{text}");
    drop(file);
    std::fs::write(&path, "a counter").unwrap();
    let (code, text) = up(&args.concat());
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("contains no frame counter"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}
