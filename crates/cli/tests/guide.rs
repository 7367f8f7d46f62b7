//! The program's lists, help and pages, its messages about failed runs, and its captures.

mod support;

use std::process::Command;

use support::{Folder, PROGRAM, code, complaint, redpoll, stderr, stdout};

#[test]
fn every_scenario_is_listed_and_can_be_shown() {
    let list = redpoll(&["list"]);
    assert_eq!(code(&list), 0);
    let text = stdout(&list);
    for line in text.lines() {
        let (name, about) = line.split_once("  ").expect("a name and what it is");
        assert!(about.trim().len() > 10, "{line}");
        let shown = redpoll(&["show", name]);
        assert_eq!(code(&shown), 0);
        assert!(stdout(&shown).contains("[topology]"), "{name}");
    }
    assert!(text.lines().count() > 10 && text.contains("office"));
    let unknown = redpoll(&["show", "offce"]);
    assert_eq!(code(&unknown), 2);
    assert!(complaint(&unknown).contains("office"));
}

#[test]
fn a_shown_scenario_runs_as_the_built_in_one() {
    let folder = Folder::new("shown");
    let file = folder.write("pair.toml", &stdout(&redpoll(&["show", "pair"])));
    let run = |scenario: &str| {
        let output = redpoll(&["run", scenario, "--duration", "2 s", "--json", "-"]);
        let mut json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for key in ["wall_s", "peak_memory_bytes"] {
            json.as_object_mut().unwrap().remove(key);
        }
        json
    };
    assert_eq!(run(&file), run("pair"));
}

#[test]
fn completions_and_pages_know_commands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&redpoll(&["completions", shell]));
        for word in ["dissect", "forward", "pcap"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    let bash = stdout(&redpoll(&["completions", "bash"]));
    let parsed = Command::new("bash").args(["-n", "-c", &bash]).status();
    assert!(parsed.is_ok_and(|status| status.success()), "bash reads it");
    let page = stdout(&redpoll(&["man"]));
    assert!(page.contains(".TH") && page.contains("dissect"), "{page}");
    let page = stdout(&redpoll(&["man", "up"]));
    assert!(
        page.contains("redpoll\\-up") && page.contains("forward"),
        "{page}"
    );
    assert_eq!(code(&redpoll(&["man", "nothing"])), 2);
}

/// A flow whose only relay dies half-way delivers half of the bytes, and the output says so.
#[test]
fn the_table_names_a_dead_node_and_the_time_of_the_last_delivery() {
    let whole = redpoll(&["run", "line-2", "--duration", "20 s"]);
    let run = [
        "run",
        "line-2",
        "--duration",
        "20 s",
        "--set",
        "faults.dead.type=node-off",
        "--set",
        "faults.dead.node=node-2",
        "--set",
        "faults.dead.from=10 s",
    ];
    let broken = redpoll(&run);
    assert_eq!(code(&broken), 0, "{}", stderr(&broken));
    let text = stdout(&broken);
    assert!(
        text.contains("node-2 was off from 10 s to the end\n"),
        "{text}"
    );
    assert!(
        text.contains("bulk: nothing was delivered after "),
        "{text}"
    );
    let delivered = |text: &str| -> f64 {
        let end = text.find(" B ").expect("delivered bytes");
        let start = text[..end].rfind(' ').unwrap() + 1;
        text[start..end].parse().unwrap()
    };
    let (whole, half) = (delivered(&stdout(&whole)), delivered(&text));
    assert!((0.35..0.65).contains(&(half / whole)), "{half} of {whole}");
}

#[test]
fn a_capture_of_something_else_is_refused_once() {
    let folder = Folder::new("ethernet");
    let file = folder.file("ethernet.pcap");
    // A pcap header (pcap-savefile(5)) of link type 1, and two records of 20 bytes.
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for _ in 0..2 {
        for word in [0_u32, 0, 20, 20] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0; 20]);
    }
    std::fs::write(&file, bytes).unwrap();
    let output = redpoll(&["dissect", &file]);
    assert_eq!(code(&output), 2);
    assert_eq!(stdout(&output), "");
    let line = complaint(&output);
    assert!(line.contains("(1); allowed: IEEE 802.15.4"), "{line}");
}

/// Checks that stock tshark with the printed option shows the mesh's addresses and finds no wrong
/// checksum, and that it finds wrong checksums without the option.
#[test]
fn tshark_reads_a_capture_with_the_line_that_is_printed() {
    if Command::new("tshark").arg("-v").output().is_err() {
        eprintln!("skipped: there is no tshark");
        return;
    }
    let folder = Folder::new("tshark");
    let file = folder.file("run.pcapng");
    let output = redpoll(&["run", "readings", "--duration", "60 s", "--pcap", &file]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("to show the capture: wireshark "));
    let line = line.expect("a line for captures");
    let options: Vec<&str> = line
        .strip_suffix(&file)
        .unwrap()
        .split_whitespace()
        .collect();
    let tshark = |options: &[&str], filter: &str| {
        let checks = [
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
        ];
        let output = Command::new("tshark")
            .args(options)
            .args(checks)
            .args(["-r", &file, "-Y", filter, "-T", "fields", "-e", "ipv6.src"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        stdout(&output)
    };
    let wrong = "tcp.checksum.status == \"Bad\" || udp.checksum.status == \"Bad\" || icmpv6.checksum.status == \"Bad\"";
    let addresses = tshark(&options, "tcp");
    assert!(addresses.lines().count() > 10, "{addresses}");
    assert!(
        addresses.lines().all(|line| line.starts_with("fd72:")),
        "{addresses}"
    );
    assert_eq!(tshark(&options, wrong), "");
    assert_ne!(tshark(&[], wrong), "");
    // The capture itself contains the option as a comment.
    let bytes = std::fs::read(&file).unwrap();
    let comment = options.join(" ");
    let found = bytes
        .windows(comment.len())
        .any(|window| window == comment.as_bytes());
    assert!(found, "{comment}");
}

#[test]
fn a_capture_in_virtual_time_begins_at_zero() {
    let folder = Folder::new("zero");
    let file = folder.file("run.pcapng");
    redpoll(&["run", "pair", "--duration", "1 s", "--pcap", &file]);
    let output = Command::new(PROGRAM)
        .args(["dissect", &file])
        .output()
        .unwrap();
    assert!(stdout(&output).starts_with("    0."), "{}", stdout(&output));
}
