//! `redpoll dissect` over captures of other stacks, live streams and compressed files.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Folder, PROGRAM, code, redpoll, stderr, stdout};

fn input(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../dissect/tests/inputs/");
    format!("{folder}{name}")
}

#[test]
fn a_live_stream_is_printed_frame_by_frame() {
    let bytes = std::fs::read(input("opb.pcapng")).unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["dissect", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Section, interface and first frame: the frame's line is printed although the stream is open.
    let (head, rest) = bytes.split_at(28 + 20 + 72);
    for part in [head, &rest[..72], &rest[72..]] {
        stdin.write_all(part).unwrap();
        stdin.flush().unwrap();
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(" TCP 49152 > 80 [S] "), "{line}");
    }
    drop(stdin);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn odd_fields_skipped_frames_and_unknown_contexts_are_on_standard_error() {
    for (name, words) in [
        (
            "snap0.pcap",
            "snapshot length of the file, 0 B (3 times, first at frame 1)",
        ),
        (
            "orig_less.pcap",
            "original length below the captured length (3 times",
        ),
        (
            "multi.pcapng",
            "1 frame of link type ETHERNET (1) skipped (first: frame 1)",
        ),
        (
            "ctx1.pcap",
            "1 frame contains addresses of the unknown 6LoWPAN context 1; set its prefix with --context 1=",
        ),
    ] {
        let output = redpoll(&["dissect", &input(name)]);
        assert_eq!(code(&output), 0, "{name}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
        assert!(stdout(&output).contains(" TCP 49152 > 80 [S] "), "{name}");
    }
    let output = redpoll(&["dissect", &input("srh3.pcapng")]);
    assert_eq!(stderr(&output), "");
}

#[test]
fn options_set_contexts_and_the_meaning_of_the_last_bytes() {
    let file = input("ctx1.pcap");
    let output = redpoll(&["dissect", &file, "--context", "1=fd00:1::/64"]);
    assert!(stdout(&output).contains(" fd00:1::ff:fe00:2 > fd00:1::ff:fe00:1 "));
    assert_eq!(stderr(&output), "");
    let output = redpoll(&["dissect", &file, "--context", "16=fd00:1::/64"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("N from 0 to 15"),
        "{}",
        stderr(&output)
    );
    let file = input("cc24xx.pcap");
    let output = redpoll(&["dissect", &file, "--fcs", "crc"]);
    assert_eq!(stdout(&output).matches("(wrong FCS)").count(), 3);
    let output = redpoll(&["dissect", &file, "--fcs", "ti"]);
    assert_eq!(
        stdout(&output)
            .matches("(RSSI -48 correlation 106)")
            .count(),
        3
    );
}

#[test]
fn json_has_an_object_for_each_frame() {
    let output = redpoll(&["dissect", "--json", &input("tsoffset.pcapng")]);
    let frames: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[0]["time"], "1500.000000");
    assert_eq!(frames[2]["number"], 3);
    let layers = frames[0]["layers"].as_array().unwrap();
    let tcp = layers
        .iter()
        .find(|layer| layer["protocol"] == "tcp")
        .unwrap();
    assert_eq!(tcp["tcp.dstport"], 80);
    assert_eq!(tcp["tcp.checksum.status"], 1);
}

/// Checks that the fragments of a run are reassembled to packets with correct checksums.
#[test]
fn fragments_of_a_run_are_put_together() {
    let folder = Folder::new("fragments");
    for settings in [&[][..], &["--set", "lowpan.fragment_recovery=true"]] {
        let file = folder.file("run.pcapng");
        let run = ["run", "line-2", "--duration", "5 s", "--pcap", &file];
        let run = redpoll(&[&run[..], settings].concat());
        assert_eq!(code(&run), 0, "{}", stderr(&run));
        let output = redpoll(&["dissect", &file]);
        let text = stdout(&output);
        let complete: Vec<&str> = text
            .lines()
            .filter(|it| it.contains(" reassembled "))
            .collect();
        assert!(complete.len() > 10, "{}", complete.len());
        assert!(
            complete.iter().all(|line| line.contains(" TCP ")),
            "{complete:?}"
        );
        assert!(
            !text.contains("wrong checksum") && !text.contains("malformed"),
            "{text}"
        );
    }
}

#[test]
fn compressed_captures_are_read() {
    let folder = Folder::new("compressed");
    let gzip = Command::new("gzip")
        .args(["-c", &input("opb.pcapng")])
        .output();
    let Ok(gzip) = gzip else {
        eprintln!("skipped: there is no gzip");
        return;
    };
    let file = folder.file("opb.pcapng.gz");
    std::fs::write(&file, gzip.stdout).unwrap();
    for command in ["dissect", "why"] {
        let output = redpoll(&[command, &file]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains("49152"), "{}", stdout(&output));
    }
}
