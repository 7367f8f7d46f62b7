//! Captures of whole runs, read with tshark.

use std::path::{Path, PathBuf};
use std::process::Command;

use redpoll_base::Instant;
use redpoll_sim::trace::{Notes, PcapngFile};
use redpoll_sim::{Scenario, World};

/// Runs a scenario for `ms` milliseconds with a capture. Parallel tests must use different
/// scenarios or durations.
fn capture(scenario: &str, ms: u64) -> PathBuf {
    capture_with(scenario, &[], ms)
}

fn capture_with(scenario: &str, overrides: &[(String, String)], ms: u64) -> PathBuf {
    let name = format!("{scenario}-{}-{ms}.pcapng", overrides.len());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let scenario = Scenario::load(scenario, overrides).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.add_trace(Box::new(
        PcapngFile::create(&path, &Notes::default()).unwrap(),
    ));
    world.run_until(Instant::from_millis(ms));
    world.flush_traces().unwrap();
    path
}

/// Returns tshark's output for a capture, a line for each frame; `None` without tshark. Without
/// further `args`, tshark knows neither the prefix of context 0 nor any key.
fn tshark(path: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("tshark")
        .args(["-r", path.to_str().unwrap(), "-n"])
        .args(args)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: tshark is not installed");
        return None;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The prefix of context 0, which tshark cannot know, and which TCP's checksums need.
const CONTEXT: [&str; 2] = ["-o", "6lowpan.context0:fd72:6564:706f:6c6c::/64"];

/// Payload of a full segment inside the mesh: five frames with compressed headers.
const FULL_SEGMENT: &str = "487";

#[test]
fn tshark_finds_no_malformed_frames() {
    for scenario in [
        "line-1",
        "line-2",
        "line-3",
        "line-4",
        "office",
        "testbed-3",
        "grid-30",
        "sleepy-parents",
    ] {
        let path = capture(scenario, 20_000);
        let bad = "_ws.malformed || wpan.fcs_ok == 0 || _ws.expert.severity == error";
        let Some(found) = tshark(&path, &["-Y", bad]) else {
            return;
        };
        assert_eq!(found, "", "{scenario}");

        let check = ["-o", "tcp.check_checksum:TRUE"];
        let fields = ["-T", "fields", "-e", "tcp.checksum.status"];
        let statuses = tshark(&path, &[&CONTEXT[..], &check, &fields].concat()).unwrap();
        let count = |wanted| statuses.lines().filter(|status| *status == wanted).count();
        let (bad, good) = (count("0"), count("1"));
        assert!(
            bad == 0 && good > 50,
            "{scenario}: checksums, {bad} of {good}"
        );
    }
}

/// Checks that tshark reads time, power and channel of each frame from the TAP header.
#[test]
fn tshark_reads_the_tap_header() {
    let path = capture("line-1", 2_000);
    let fields = [
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "wpan-tap.fcs_type",
        "-e",
        "wpan-tap.rss",
        "-e",
        "wpan-tap.ch_num",
        "-e",
        "wpan-tap.sof_ts",
        "-e",
        "wpan-tap.eof_ts",
        "-e",
        "wpan.frame_length",
    ];
    let Some(lines) = tshark(&path, &fields) else {
        return;
    };
    let mut last = 0.0;
    for line in lines.lines() {
        let values: Vec<_> = line.split('\t').collect();
        let time: f64 = values[0].parse().unwrap();
        assert!(time >= last, "{line}");
        last = time;
        assert_eq!(values[1], "1", "{line}");
        // At 40 m of a range of 50 m: -10 dBm - 85 dB * 0.8.
        assert!(values[2].starts_with("-78"), "{line}");
        assert_eq!(values[3], "26", "{line}");
        let start: u64 = values[4].parse().unwrap();
        let end: u64 = values[5].parse().unwrap();
        let microseconds = (time * 1e6).round() as u64;
        assert_eq!(start, microseconds * 1_000, "{line}");
        // Preamble, start of frame and length; the frame; its FCS, which tshark's length omits.
        let len: u64 = values[6].parse().unwrap();
        assert_eq!(end - start, (6 + len + 2) * 32_000, "{line}");
    }
}

/// Checks that tshark reassembles the TCP segments of a bulk transfer.
#[test]
fn tshark_follows_the_transfer() {
    let path = capture("line-2", 5_000);
    let args = ["-Y", "tcp.len > 400", "-T", "fields", "-e", "tcp.len"];
    let Some(lines) = tshark(&path, &args) else {
        return;
    };
    let full = lines.lines().filter(|line| *line == FULL_SEGMENT).count();
    assert!(full > 50, "{full} full segments");
}

/// Checks that tshark reassembles forwarded fragments on every link, with correct TCP checksums.
#[test]
fn tshark_reads_forwarded_fragments() {
    let forwarding = ("lowpan.fragment_forwarding".to_owned(), "true".to_owned());
    let path = capture_with("line-3", &[forwarding], 20_000);
    segments_on_every_hop(&path);
}

/// Checks recoverable fragments (RFC 8931) and their acknowledgments.
#[test]
fn tshark_reads_recoverable_fragments() {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let recovery = [
        set("lowpan.fragment_recovery", "true"),
        set("faults.air.type", "lose-frames"),
        set("faults.air.share", "2 %"),
    ];
    let path = capture_with("line-3", &recovery, 30_000);
    segments_on_every_hop(&path);
    let full = ["-Y", "6lowpan.rfrag.ack_bitmask == 0xffffffff"];
    let tags = ["-T", "fields", "-e", "6lowpan.rfrag.tag"];
    let Some(acks) = tshark(
        &path,
        &[full, [tags[0], tags[1]], [tags[2], tags[3]]].concat(),
    ) else {
        return;
    };
    assert!(acks.lines().count() > 300);
    let fields = [
        "-Y",
        "6lowpan.rfrag.sequence == 0",
        "-T",
        "fields",
        "-e",
        "6lowpan.rfrag.size",
        "-e",
        "6lowpan.rfrag.datagram_size",
        "-e",
        "6lowpan.rfrag.ack_requested",
        "-e",
        "6lowpan.rfrag.congestion",
    ];
    let firsts = tshark(&path, &fields).unwrap();
    assert!(firsts.lines().count() > 300);
    // The last fragment requests the acknowledgment. Since version 4.2, tshark writes words.
    assert!(
        firsts
            .lines()
            .all(|line| matches!(line.split('\t').nth(2), Some("0" | "False")))
    );
}

/// Checks that no frame is malformed and that full segments are reassembled on all three links.
fn segments_on_every_hop(path: &Path) {
    // tshark 4.0 expects more bytes after an acknowledgment of fragments or an abort, and reports a
    // frame without these bytes as malformed.
    let bad = "(_ws.malformed || wpan.fcs_ok == 0 || _ws.expert.severity == error) \
               && !6lowpan.rfrag.ack_bitmask && !(6lowpan.rfrag.datagram_size == 0)";
    let Some(found) = tshark(path, &["-Y", bad]) else {
        return;
    };
    assert_eq!(found, "");
    let check = ["-o", "tcp.check_checksum:TRUE"];
    let full = format!("tcp.len == {FULL_SEGMENT} && tcp.checksum.status == 1");
    let full = ["-Y", &full];
    let fields = ["-T", "fields", "-e", "ipv6.hlim"];
    let hops = tshark(path, &[&CONTEXT[..], &check, &full, &fields].concat()).unwrap();
    for hop_limit in ["64", "63", "62"] {
        let segments = hops.lines().filter(|line| *line == hop_limit).count();
        assert!(segments > 100, "{hop_limit}: {segments}");
    }
}
