//! The program never writes over a file that it reads, and never writes two outputs to one place.

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
                    "redpoll: {option} would overwrite {place}, the scenario of this run; \
                     allowed: another file"
                )
            );
            assert_eq!(fs::read_to_string(&file).unwrap(), PAIR);
        }
    }
}

#[test]
fn outputs_do_not_overwrite_files_of_the_scenario() {
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

/// If the disk is full for both outputs, the program reports both failures.
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
    assert!(stdout(&output).contains("oracle: each byte"));
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

#[test]
fn no_output_overwrites_a_capture_or_a_result() {
    let folder = Folder::new("inputs-kept");
    let result = folder.file("result");
    let capture = format!("{result}/frames.pcapng");
    let made = redpoll(&["run", "pair", "--duration", "2 s", "--result", &result]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let json = format!("{result}/result.json");
    let [kept, kept_json] = [&capture, &json].map(|file| fs::read(file).unwrap());
    for args in [
        &["why", &capture, "--json", &capture][..],
        &["diff", &capture, &result, "--json", &capture],
        &["diff", &result, &result, "--json", &capture],
        &["compare", &result, &result, "--json", &json],
        &["report", &result, "--out", &json],
    ] {
        let output = redpoll(args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert_eq!(
            complaint(&output),
            format!(
                "redpoll: {} names {}, which the command reads; allowed: another file",
                args[args.len() - 2],
                args[args.len() - 1]
            )
        );
    }
    assert_eq!(fs::read(&capture).unwrap(), kept);
    assert_eq!(fs::read(&json).unwrap(), kept_json);
    // In a result folder, an earlier page or file of another name may be overwritten.
    for _ in 0..2 {
        let output = redpoll(&["report", &result]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let beside = format!("{result}/same.json");
    for _ in 0..2 {
        let output = redpoll(&["diff", &result, &capture, "--json", &beside]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
}

#[test]
fn no_output_overwrites_a_sweep_or_a_goal() {
    let folder = Folder::new("plans-kept");
    let sweep = folder.write("mine.toml", "scenario = \"pair\"\nseeds = 1\n");
    for command in ["sweep", "tune"] {
        let option = match command {
            "sweep" => "--flows",
            _ => "--json",
        };
        let output = redpoll(&[command, &sweep, option, &sweep]);
        assert_eq!(code(&output), 2, "{command}");
    }
    assert!(fs::read_to_string(&sweep).unwrap().starts_with("scenario"));
}
