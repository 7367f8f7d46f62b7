//! `redpoll why`: names the faults that were introduced, and no others.

#[path = "why/hops.rs"]
mod hops;
#[path = "why/inputs.rs"]
mod inputs;
#[path = "why/large.rs"]
mod large;
#[path = "why/modes.rs"]
mod modes;
#[path = "why/other.rs"]
mod other;
mod support;

use std::process::Command;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use redpoll_base::Rng;
use serde_json::Value;
use support::{Folder, PROGRAM, code, complaint, redpoll, stdout};

/// A transfer to a leaf that sleeps, three hops away.
const DOWN: &str = r#"
[topology]
kind = "line"
nodes = 4
spacing = "40 m"
[medium]
model = "unit-disk"
transmission_range = "50 m"
interference_range = "50 m"
carrier_sense_range = "50 m"
[nodes.node-1]
role = "border"
[nodes.node-4]
role = "leaf"
sleepy = true
[poll]
policy = "fixed"
base_interval = "100 ms"
interval = "100 ms"
[apps.sink]
type = "bulk-sink"
on = "node-4"
port = 5001
[apps.bulk]
type = "bulk-sender"
on = "node-1"
to = "node-4:5001"
"#;

/// Returns the findings in a capture of a minute of a scenario, as JSON.
fn found(folder: &Folder, scenario: &str, settings: &[&str], options: &[&str]) -> Value {
    let capture = folder.file("capture.pcapng");
    let mut args = vec!["run", scenario, "--duration", "60 s", "--pcap", &capture];
    for setting in settings {
        args.extend(["--set", setting]);
    }
    let run = redpoll(&args);
    assert_eq!(code(&run), 0, "{}", stdout(&run));
    let mut args = vec!["why", &capture, "--json", "-"];
    args.extend(options);
    let why = redpoll(&args);
    assert_eq!(code(&why), 0);
    serde_json::from_str(&stdout(&why)).unwrap()
}

fn causes(found: &Value) -> Vec<&str> {
    let flows = found["flows"].as_array().unwrap();
    assert!(!flows.is_empty());
    let all = flows.iter().flat_map(|it| it["causes"].as_array().unwrap());
    all.map(|it| it["cause"].as_str().unwrap()).collect()
}

#[test]
fn a_page_shows_the_links_the_causes_and_the_simulated_remedy() {
    let folder = Folder::new("why-page");
    // The name of this file is hostile. The page must show it as text.
    let capture = folder.file("<img src=x onerror=alert(1)>'\"&.pcapng");
    let mut run = vec!["run", "line-3", "--duration", "30 s", "--pcap", &capture];
    run.extend(["--set", "tcp.transport=uip-3.0"]);
    assert_eq!(code(&redpoll(&run)), 0);
    let out = folder.file("why.html");
    let why = redpoll(&["why", &capture, "--html", &out]);
    assert_eq!(code(&why), 0, "{why:?}");
    // The program also prints the findings as text.
    assert!(stdout(&why).contains("a window of one segment"));
    let page = std::fs::read_to_string(&out).unwrap();
    let order = [
        "Content-Security-Policy\" content=\"default-src 'none';",
        "Why TCP is slow: ",
        "The main cause is a window of one segment",
        "aria-label=\"links\"",
        ">0x0004</text>",
        "Remedy: use a TCP with several segments in flight",
        "kb/s</strong> with the remedy",
        "captured: sequence number (bytes)",
        "simulated with the remedy: sequence number (bytes)",
        "(bytes)</text>",
        "</html>",
    ];
    let mut from = 0;
    for text in order {
        let at = page[from..].find(text);
        from += at.unwrap_or_else(|| panic!("{text}, after {from}: {page}"));
    }
    // The plot of the capture has shades, and both plots have segments.
    assert!(page.matches("class=\"shade\"").count() > 10);
    assert!(page.matches("class=\"segments\"").count() >= 3);
    for active in [
        "<img",
        "<script",
        "http://",
        "https://",
        "src=",
        "onerror=alert(1)>\"",
    ] {
        let outside = page.replace("&lt;img src=x onerror=alert(1)&gt;", "");
        assert!(!outside.contains(active), "{active}");
    }
    let page = redpoll(&["why", &capture, "--html", "-"]);
    assert!(stdout(&page).starts_with("<!DOCTYPE html>") && stdout(&page).ends_with("</html>\n"));
    let lost = redpoll(&[
        "why",
        &capture,
        "--html",
        &folder.file("no/such/folder.html"),
    ]);
    assert_eq!(code(&lost), 1);
    assert!(
        complaint(&lost).starts_with("redpoll: cannot write "),
        "{lost:?}"
    );
}

#[test]
fn clean_captures_have_no_cause() {
    let folder = Folder::new("why-clean");
    let down = folder.write("down.toml", DOWN);
    for (scenario, settings) in [
        ("line-1", &[][..]),
        ("line-2", &[]),
        ("line-3", &[]),
        ("line-4", &[]),
        ("line-3", &["routing=rpl", "nodes.node-1.role=border"]),
        (
            "line-3",
            &[
                "lowpan.fragment_forwarding=true",
                "lowpan.fragment_recovery=true",
            ],
        ),
        ("office", &[]),
        ("sleepy-3", &[]),
        ("sleepy-web", &[]),
        (&down, &[]),
    ] {
        let found = found(&folder, scenario, settings, &[]);
        assert_eq!(causes(&found), [""; 0], "{scenario} {settings:?}");
        assert_eq!(found["malformed"], 0, "{scenario}");
    }
}

#[test]
fn planted_faults_are_named_with_their_frames_and_the_remedy_helps() {
    let folder = Folder::new("why-planted");
    let down = folder.write("down.toml", DOWN);
    for (cause, scenario, settings) in [
        ("poll-per-fragment", &*down, &["indirect.burst=false"][..]),
        (
            "hidden-terminals",
            "line-3",
            &["mac.link_retry_delay=0 ms", "mac.max_frame_retries=3"],
        ),
        (
            "lost-fragments",
            "line-2",
            &["medium.success_ratio_rx=80 %", "mac.max_frame_retries=1"],
        ),
        (
            "rto-floor",
            "line-1",
            &[
                "medium.success_ratio_rx=80 %",
                "mac.max_frame_retries=1",
                "tcp.recovery=duplicates",
                "tcp.send_buffer=974 B",
            ],
        ),
        (
            "delayed-ack",
            "line-1",
            &[
                "nodes.node-2.transport=one-segment",
                "rivals.segment_mss=400 B",
            ],
        ),
        ("window-of-one", "line-3", &["tcp.transport=uip-3.0"]),
        (
            "window-of-one",
            "line-3",
            &[
                "nodes.node-4.transport=one-segment",
                "rivals.segment_mss=462 B",
                "tcp.delayed_ack=0 ms",
            ],
        ),
    ] {
        let found = found(&folder, scenario, settings, &["--simulate"]);
        let named = causes(&found);
        assert!(named.contains(&cause), "{cause}: {named:?}");
        // Only `rto-floor` may come with another cause: lost frames, which also cause timeouts.
        let others = named.iter().filter(|it| **it != cause);
        assert!(
            others.clone().count() == 0
                || cause == "rto-floor" && others.clone().all(|it| *it == "lost-fragments"),
            "{cause}: {named:?}"
        );
        let flow = &found["flows"][0];
        let all = flow["causes"].as_array().unwrap();
        let told = all.iter().find(|it| it["cause"] == cause).unwrap();
        let share = told["share"].as_f64().unwrap();
        assert!((0.05..=1.0).contains(&share), "{told}");
        let frames = found["frames"].as_u64().unwrap();
        for event in told["evidence"].as_array().unwrap() {
            for frame in event["frames"].as_array().unwrap() {
                assert!((1..=frames).contains(&frame.as_u64().unwrap()), "{event}");
            }
        }
        let goodput = |which: &str| {
            let run = &told["simulated"][which];
            assert!(
                run["command"]
                    .as_str()
                    .unwrap()
                    .starts_with("redpoll run line-")
            );
            run["goodput_kbps"].as_f64().unwrap()
        };
        let (before, after) = (goodput("captured"), goodput("remedied"));
        assert!(after > 1.1 * before, "{cause}: {before} to {after} kb/s");
    }
}

/// Success ratios at the edge of the range, in percent, and retries of a frame.
const LOSSY: [(u32, u32); 5] = [(60, 2), (60, 3), (70, 3), (75, 0), (80, 1)];

/// Returns the report of `run` on five lossy minutes over one hop, and the findings in their
/// capture.
fn lossy(
    folder: &Folder,
    (percent, retries): (u32, u32),
    floor: &str,
    options: &[&str],
) -> [Value; 2] {
    let capture = folder.file("lossy.pcapng");
    let percent = format!("medium.success_ratio_rx={percent} %");
    let retries = format!("mac.max_frame_retries={retries}");
    let run = ["run", "line-1", "--duration", "300 s", "--json", "-"];
    let floor = format!("tcp.min_rto={floor}");
    let settings = ["--set", &percent, "--set", &retries, "--set", &floor];
    let run = redpoll(&[&run[..], &settings, &["--pcap", &capture]].concat());
    assert_eq!(code(&run), 0, "{}", stdout(&run));
    let why = redpoll(&[&["why", &capture, "--json", "-"][..], options].concat());
    assert_eq!(code(&why), 0);
    [run, why].map(|output| serde_json::from_str(&stdout(&output)).unwrap())
}

/// `why` counts segments as their sender does, even if the sender misses the acknowledgement of a
/// frame and drops the datagram.
#[test]
fn counted_segments_equal_those_of_their_sender() {
    let folder = Folder::new("why-counts");
    for (faults, floor) in LOSSY
        .into_iter()
        .flat_map(|it| [(it, "1 s"), (it, "100 ms")])
    {
        let [run, why] = lossy(&folder, faults, floor, &[]);
        let sent = &run["flows"][0];
        let again = sent["retransmissions"].as_object().unwrap().values();
        let again: u64 = again.map(|it| it.as_u64().unwrap()).sum();
        let seen = &why["flows"][0]["directions"][0];
        assert_eq!(seen["segments"], sent["segments_sent"], "{faults:?}");
        let syns = seen["control_segments"].as_u64().unwrap();
        assert!((1..=2).contains(&syns), "{faults:?}: {sent} {seen}");
        assert_eq!(seen["sent_again"], again, "{faults:?}: {sent} {seen}");
        let named = causes(&why);
        assert!(named.contains(&"lost-fragments"), "{faults:?}: {named:?}");
        assert!(floor == "1 s" || named.len() == 1, "{faults:?}: {named:?}");
    }
}

/// A timeout counts from the last transmission of its segment, not from the first.
#[test]
fn evidence_of_a_late_timeout_is_a_segment_and_the_next_time_it_was_sent() {
    let folder = Folder::new("why-late");
    let [_, why] = lossy(&folder, (60, 2), "1 s", &[]);
    let lines = stdout(&redpoll(&["dissect", &folder.file("lossy.pcapng")]));
    let lines: Vec<&str> = lines.lines().collect();
    // Returns the TCP and frame sequence numbers, if a segment's first fragment is in the line.
    let begun = |at: usize| {
        let (head, tcp) = lines[at].split_once(" TCP ")?;
        let seq = tcp.split_once(" seq ")?.1.split(' ').next()?;
        let dsn = head.split_once(" data seq ")?.1.split(' ').next()?;
        head.contains("FRAG1").then_some((seq, dsn))
    };
    let all = why["flows"][0]["causes"].as_array().unwrap();
    let late = all.iter().find(|it| it["cause"] == "rto-floor").unwrap();
    for event in late["evidence"].as_array().unwrap() {
        let [first, next] = [0, 1].map(|it| event["frames"][it].as_u64().unwrap() as usize - 1);
        let (seq, dsn) = begun(first).unwrap();
        let (again, _) = begun(next).unwrap();
        assert_eq!(seq, again, "{event}");
        let between = (first + 1..next).filter_map(begun);
        let mut others = between.filter(|it| it.0 == seq && it.1 != dsn);
        assert_eq!(others.next(), None, "{event}");
    }
}

#[test]
fn the_floor_of_the_timeout_is_named_from_where_it_delays() {
    let folder = Folder::new("why-floor");
    let share = |floor: &str| {
        let settings = [
            "medium.success_ratio_rx=80 %",
            "mac.max_frame_retries=1",
            "tcp.recovery=duplicates",
            "tcp.send_buffer=974 B",
            &format!("tcp.min_rto={floor}"),
        ];
        let found = found(&folder, "line-1", &settings, &[]);
        let all = found["flows"][0]["causes"].as_array().unwrap();
        let late = all.iter().find(|it| it["cause"] == "rto-floor");
        late.map_or(0.0, |it| it["share"].as_f64().unwrap())
    };
    let shares = ["100 ms", "500 ms", "1 s", "2 s"].map(share);
    assert_eq!(shares[0], 0.0);
    assert!(shares.is_sorted_by(|a, b| 1.3 * a < *b), "{shares:?}");
}

#[test]
fn the_simulation_loses_as_much_as_the_capture() {
    let folder = Folder::new("why-ratio");
    for (percent, retries) in LOSSY {
        let [_, why] = lossy(&folder, (percent, retries), "1 s", &["--simulate"]);
        let run = &why["flows"][0]["causes"][0]["simulated"]["captured"];
        let command = run["command"].as_str().unwrap();
        let value = |key: &str| {
            let (_, rest) = command.split_once(&format!("--set {key}='")).unwrap();
            let digits = rest.split([' ', '\'']).next().unwrap();
            digits.parse::<u32>().unwrap()
        };
        let ratio = value("medium.success_ratio_rx");
        assert!(ratio.abs_diff(percent) <= 2, "{percent} %: {command}");
        assert_eq!(value("mac.max_frame_retries"), retries, "{command}");
    }
}

#[test]
fn evidence_of_polls_is_a_request_and_the_fragment_behind_it() {
    let folder = Folder::new("why-evidence");
    let down = folder.write("down.toml", DOWN);
    let found = found(&folder, &down, &["indirect.burst=false"], &[]);
    let lines = stdout(&redpoll(&["dissect", &folder.file("capture.pcapng")]));
    let line = |number: &Value| {
        let at = number.as_u64().unwrap() as usize;
        lines.lines().nth(at - 1).unwrap().to_owned()
    };
    for event in found["flows"][0]["causes"][0]["evidence"]
        .as_array()
        .unwrap()
    {
        let request = line(&event["frames"][0]);
        let fragment = line(&event["frames"][1]);
        assert!(request.contains("data request"), "{request}");
        assert!(fragment.contains("FRAGN"), "{fragment}");
    }
}

#[test]
fn connections_between_the_same_ends_are_one_flow() {
    let folder = Folder::new("why-many");
    let settings = ["apps.http.interval=2 s", "poll.base_interval=100 ms"];
    let found = found(&folder, "sleepy-web", &settings, &[]);
    let flows = found["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 1);
    assert!(
        flows[0]["connections"].as_u64().unwrap() > 20,
        "{}",
        flows[0]["connections"]
    );
    let text = stdout(&redpoll(&["why", &folder.file("capture.pcapng")]));
    assert!(
        text.contains(" connections between ") && text.lines().count() < 8,
        "{text}"
    );
}

#[test]
fn a_file_that_is_cut_off_or_not_a_capture_is_reported() {
    let folder = Folder::new("why-bad");
    let text = folder.write("text.pcap", "this is no capture at all");
    let output = redpoll(&["why", &text]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).ends_with("not a capture; allowed: pcapng or pcap"));
    assert_eq!(code(&redpoll(&["why", &folder.file("missing")])), 1);

    let ethernet = folder.file("ethernet.pcap");
    write(&ethernet, DataLink::ETHERNET, [vec![0; 60]]);
    let output = redpoll(&["why", &ethernet]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("allowed: IEEE 802.15.4"));

    let empty = folder.file("empty.pcap");
    write(&empty, DataLink::IEEE802_15_4_NOFCS, []);
    let output = redpoll(&["why", &empty]);
    assert_eq!(code(&output), 0);
    assert_eq!(stdout(&output), "No TCP connection was found.\n");

    let capture = folder.file("whole.pcapng");
    let run = redpoll(&["run", "line-1", "--duration", "5 s", "--pcap", &capture]);
    assert_eq!(code(&run), 0);
    let mut bytes = std::fs::read(&capture).unwrap();
    bytes.truncate(bytes.len() - 7);
    std::fs::write(&capture, bytes).unwrap();
    let output = redpoll(&["why", &capture]);
    assert_eq!(code(&output), 1);
    assert!(complaint(&output).contains("ends within the record after frame"));
    assert!(
        stdout(&output).contains("over 1 hop"),
        "{}",
        stdout(&output)
    );
}

fn short_run(folder: &Folder, scenario: &str) -> String {
    let capture = folder.file("short.pcapng");
    let run = ["run", scenario, "--duration", "5 s", "--pcap", &capture];
    assert_eq!(code(&redpoll(&run)), 0);
    capture
}

fn frames_of(capture: &str) -> Vec<Vec<u8>> {
    let file = std::fs::File::open(capture).unwrap();
    let mut reader = pcap_file::pcapng::PcapNgReader::new(file).unwrap();
    let mut frames = Vec::new();
    while let Some(Ok(block)) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block {
            // The frame follows the TAP header, which contains its own length.
            let at = usize::from(u16::from_le_bytes([packet.data[2], packet.data[3]]));
            frames.push(packet.data[at..packet.data.len() - 2].to_vec());
        }
    }
    frames
}

/// Frames with arbitrary content, many with a valid beginning, do not end the program.
#[test]
fn any_bytes_are_read() {
    let folder = Folder::new("why-any");
    let real = frames_of(&short_run(&folder, "line-2"));
    let mut rng = Rng::new(7);
    let mut frames = Vec::new();
    for _ in 0..20_000 {
        let mut frame = real[rng.below(real.len() as u32) as usize].clone();
        for _ in 0..rng.below(4) {
            let at = rng.below(frame.len().max(1) as u32) as usize;
            if let Some(byte) = frame.get_mut(at) {
                *byte = rng.below(256) as u8;
            }
        }
        if rng.below(8) == 0 {
            frame.truncate(rng.below(frame.len() as u32 + 1) as usize);
        }
        frames.push(frame);
    }
    let file = folder.file("any.pcap");
    write(&file, DataLink::IEEE802_15_4_NOFCS, frames);
    let output = redpoll(&["why", &file, "--json", "-"]);
    assert_eq!(code(&output), 0);
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["frames"], 20_000);
}

#[test]
fn a_pipe_closed_by_the_reader_of_why_is_no_error() {
    let folder = Folder::new("why-pipe");
    let capture = folder.file("line.pcapng");
    redpoll(&["run", "line-1", "--duration", "5 s", "--pcap", &capture]);
    let mut child = Command::new(PROGRAM)
        .args(["why", &capture])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{output:?}");
}

fn write(path: &str, link: DataLink, frames: impl IntoIterator<Item = Vec<u8>>) {
    let timed = (0..).map(|number| 2_000 * number).zip(frames);
    write_at(path, link, timed);
}

/// Writes a capture of frames and their times in microseconds.
fn write_at(path: &str, link: DataLink, frames: impl IntoIterator<Item = (u64, Vec<u8>)>) {
    let header = PcapHeader {
        datalink: link,
        ..PcapHeader::default()
    };
    let file = std::fs::File::create(path).unwrap();
    let mut writer = PcapWriter::with_header(file, header).unwrap();
    for (at_us, frame) in frames {
        let time = std::time::Duration::from_micros(at_us);
        let len = frame.len() as u32;
        writer
            .write_packet(&PcapPacket::new(time, len, &frame))
            .unwrap();
    }
}

/// With the network's key, a capture of secured frames has the same findings as unsecured frames.
#[test]
fn why_reads_protected_frames_with_the_key() {
    const KEY: &str = "000102030405060708090a0b0c0d0e0f";
    let folder = Folder::new("keys");
    let file = folder.file("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    let file = format!("@{file}");
    let set_key = format!("security.key={KEY}");
    let secured = ["security.level=enc-mic-32", &set_key];
    let seen = |options: &[&str]| found(&folder, "line-2", &secured, options);
    let [without, wrong, with] = [
        seen(&[]),
        seen(&["--key", "ff0102030405060708090a0b0c0d0e0f"]),
        seen(&["--key", &file]),
    ];
    for shut in [&without, &wrong] {
        assert_eq!(shut["flows"].as_array().unwrap().len(), 0);
        assert!(shut["secured"].as_u64().unwrap() > 100);
    }
    assert_eq!(with["flows"].as_array().unwrap().len(), 1);
    assert_eq!(with["secured"], 0);
    assert_eq!(
        (&without["opened"], &wrong["opened"]),
        (&0.into(), &0.into())
    );
    assert_eq!(with["opened"], wrong["secured"]);

    let capture = folder.file("capture.pcapng");
    let told = |options: &[&str]| stdout(&redpoll(&[&["why", &capture][..], options].concat()));
    assert!(told(&[]).contains("secured and were not decrypted: use --key"));
    let wrong = told(&["--key", "ff0102030405060708090a0b0c0d0e0f"]);
    assert!(
        wrong.contains("the given key decrypts none of them"),
        "{wrong}"
    );
    assert!(!told(&["--key", &file]).contains("secured"));
    // With a wrong EUI-64 of one node, the program decrypts the other nodes' frames.
    let other = told(&["--key", &file, "--eui64", "0x0002=0000000000000001"]);
    assert!(
        other.contains("could not be decrypted with the given key"),
        "{other}"
    );
    let lines = stdout(&redpoll(&["dissect", &capture, "--key", &file]));
    assert!(lines.contains(" secured FRAG1 "), "opened");
    assert!(!lines.contains("malformed"), "each of them whole");
    assert!(!lines.contains("wrong checksum"), "each of them right");
    // Frames of the node with the wrong EUI-64 are not decrypted, as without a key.
    let other = ["--eui64", "0x0002=0000000000000001"];
    let other = redpoll(&[&["dissect", &capture, "--key", &file][..], &other].concat());
    assert!(
        stdout(&other)
            .lines()
            .any(|line| line.contains(" secured ENC-MIC-32 counter ")
                && line.contains(" payload encrypted ("))
    );

    let refused = redpoll(&["dissect", &capture, "--key", &KEY[1..]]);
    assert_eq!(code(&refused), 2);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("32 hexadecimal digits"), "{said}");
    assert!(
        !said.contains("0102030405"),
        "the key is not repeated: {said}"
    );
}
