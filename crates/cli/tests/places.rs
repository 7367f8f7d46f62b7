//! Where the program writes: never over what it reads, never twice into one place.

mod support;

use std::fs;

use support::{Folder, code, complaint, redpoll, stderr, stdout};

const PAIR: &str = r#"duration = "1 s"
[topology]
kind = "positions"
[nodes]
a = { role = "border", position = ["0 m", "0 m"] }
b = { role = "leaf", position = ["10 m", "0 m"] }
"#;

#[test]
fn no_output_overwrites_the_scenario() {
    let folder = Folder::new("scenario-kept");
    let file = folder.write("mine.toml", PAIR);
    let link = folder.file("link.toml");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let around = folder.0.join("./mine.toml").display().to_string();
    for (option, place) in [
        ("--json", &file),
        ("--pcap", &file),
        ("--json", &around),
        ("--json", &link),
    ] {
        for command in ["run", "up"] {
            let output = redpoll(&[command, &file, option, place]);
            assert_eq!(code(&output), 2, "{command} {option} {place}");
            assert_eq!(
                complaint(&output),
                format!(
                    "redpoll: {option} got {place}, which the scenario is read from; \
                     allowed: another file"
                )
            );
            assert_eq!(fs::read_to_string(&file).unwrap(), PAIR);
        }
    }
}

#[test]
fn no_output_overwrites_what_the_scenario_names() {
    let folder = Folder::new("trace-kept");
    let trace = folder.write("links.k7", "not looked at before it would be too late\n");
    let set = format!("topology.file={trace}");
    let output = redpoll(&["run", "k7-corridor", "--set", &set, "--json", &trace]);
    assert_eq!(code(&output), 2);
    assert!(
        fs::read_to_string(&trace)
            .unwrap()
            .starts_with("not looked at")
    );
    let whole = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = fs::read(whole.join("../../scenarios/k7-corridor.k7")).unwrap();
    fs::write(&trace, &whole).unwrap();
    let output = redpoll(&["run", "k7-corridor", "--set", &set, "--json", &trace]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains(&trace), "{}", stderr(&output));
    assert!(fs::read(&trace).unwrap() == whole);
}

#[test]
fn two_names_of_one_file_are_one_place() {
    let folder = Folder::new("one-place");
    let file = folder.file("out");
    let around = folder.0.join("./out").display().to_string();
    for exists in [false, true] {
        if exists {
            fs::write(&file, "").unwrap();
        }
        let output = redpoll(&["run", "pair", "--pcap", &file, "--json", &around]);
        assert_eq!(code(&output), 2);
        let line = complaint(&output);
        assert!(line.contains("--pcap") && line.contains("--json"), "{line}");
    }
}

#[test]
fn a_study_keeps_its_results_apart_from_its_rows() {
    let folder = Folder::new("study-places");
    let file = folder.file("kept.sqlite");
    let output = redpoll(&[
        "study",
        "kumar2020",
        "--figure",
        "5b",
        "--results",
        &file,
        "--json",
        &file,
    ]);
    assert_eq!(code(&output), 2);
    assert!(
        complaint(&output).contains("--results"),
        "{}",
        stderr(&output)
    );
}

/// A full disk for both outputs: each is told.
#[test]
fn every_output_that_fails_is_named() {
    let folder = Folder::new("both-full");
    let (pcap, json) = (folder.file("pcap"), folder.file("json"));
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" run grid-30 --duration '3 s' --pcap \"$1\" --json \"$2\"";
    let output = std::process::Command::new("sh")
        .args(["-c", script, support::PROGRAM, &pcap, &json])
        .output()
        .unwrap();
    assert_eq!(code(&output), 1);
    let text = stderr(&output);
    for file in [&pcap, &json] {
        assert!(text.contains(&format!("cannot write {file}: ")), "{text}");
    }
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(stdout(&output).contains("oracle: every byte"));
}

#[test]
fn every_output_that_cannot_begin_is_named() {
    let (pcap, json) = ("/no/folder/a", "/no/folder/b");
    let output = redpoll(&["run", "pair", "--pcap", pcap, "--json", json]);
    assert_eq!(code(&output), 1);
    let text = stderr(&output);
    for file in [pcap, json] {
        assert!(text.contains(&format!("cannot write {file}: ")), "{text}");
    }
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(stdout(&output).is_empty());
}
