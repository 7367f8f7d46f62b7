//! Checks files of earlier versions. This program reads every result, recording and results file in
//! `written`, which has a folder for each version, and refuses files of later versions with advice.
//!
//! `REDPOLL_BLESS=0.2.0 cargo test -p redpoll --test upgrades` writes the folder of version 0.2.0.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use redpoll_web::story::{Reader, StoryError};
use serde_json::Value;
use support::{Folder, PROGRAM, code, complaint, redpoll, stderr, stdout};

const WRITTEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/written");
const SCENARIO: &str = include_str!("written/0.1.0/scenario.toml");
const SWEEP: &str = include_str!("written/0.1.0/sweep.toml");

/// Writes the folder of version `REDPOLL_BLESS`, if set; returns the folders of all versions.
fn versions() -> Vec<PathBuf> {
    if let Some(version) = std::env::var_os("REDPOLL_BLESS") {
        let folder = Path::new(WRITTEN).join(version);
        if !folder.exists() {
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
            fs::write(folder.join("sweep.toml"), SWEEP).unwrap();
            for args in [
                &["run", "scenario.toml", "--result", "result"][..],
                &["sweep", "sweep.toml"],
            ] {
                let run = Command::new(PROGRAM)
                    .args(args)
                    .current_dir(&folder)
                    .output();
                assert!(run.unwrap().status.success());
            }
        }
    }
    let entries = fs::read_dir(WRITTEN).unwrap();
    let folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(!folders.is_empty());
    folders
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn has_worked(run: &Output) {
    assert_eq!(code(run), 0, "{}", stderr(run));
    assert_eq!(stderr(run), "");
}

#[test]
fn results_of_every_version_are_read() {
    let own = Folder::new("upgrades-results");
    for version in versions() {
        let result = text(&version.join("result"));
        let page = own.file("page.html");
        has_worked(&redpoll(&["report", &result, "--out", &page]));
        let page = fs::read_to_string(&page).unwrap();
        assert!(page.contains("node-2"), "{version:?}");
        has_worked(&redpoll(&["plot", &result, "--out", &own.file("plots")]));
        let plots = fs::read_dir(own.file("plots")).unwrap();
        assert!(plots.count() > 5, "{version:?}");
        let frames = text(&version.join("result/frames.pcapng"));
        for command in ["dissect", "why"] {
            let run = redpoll(&[command, &frames]);
            has_worked(&run);
            assert!(stdout(&run).contains("5001"), "{version:?}: {command}");
        }
        // The scenario still has the same meaning: the same bytes arrive.
        let now = own.file(&version.file_name().unwrap().to_string_lossy());
        let scenario = text(&version.join("scenario.toml"));
        has_worked(&redpoll(&["run", &scenario, "--result", &now]));
        let compared = redpoll(&["compare", &result, &now]);
        has_worked(&compared);
        for folder in [&result, &now] {
            let report = fs::read(Path::new(folder).join("result.json")).unwrap();
            let report: Value = serde_json::from_slice(&report).unwrap();
            assert_eq!(report["flows"][0]["delivered_bytes"], 2000, "{folder}");
        }
    }
}

#[test]
fn recordings_of_every_version_are_read() {
    for version in versions() {
        let file = fs::File::open(version.join("result/recording.jsonl")).unwrap();
        let mut reader = Reader::open(file).unwrap();
        assert!(!reader.is_cut());
        let mut delivered = 0;
        while let Some((_, line)) = reader.read().unwrap() {
            delivered += line.matches("\"TCP\"").count();
        }
        assert!(delivered > 4, "{version:?}: {delivered} frames with TCP");
        reader.seek(reader.end() / 2).unwrap();
    }
}

#[test]
fn results_files_of_every_version_are_continued_or_refused_with_advice() {
    for version in versions() {
        let own = Folder::new("upgrades-sweep");
        for name in ["scenario.toml", "sweep.toml", "sweep.sqlite"] {
            fs::copy(version.join(name), own.file(name)).unwrap();
        }
        let before = fs::read(own.file("sweep.sqlite")).unwrap();
        let mut sweep = Command::new(PROGRAM);
        let run = sweep.args(["sweep", "sweep.toml"]).current_dir(&own.0);
        let run = run.output().unwrap();
        let compared = redpoll(&[
            "compare",
            &own.file("sweep.sqlite"),
            &own.file("sweep.sqlite"),
        ]);
        if code(&run) == 0 {
            assert!(stdout(&run).contains("mac.link_retry_delay=40 ms"));
            has_worked(&compared);
        } else {
            assert_eq!([code(&run), code(&compared)], [2, 2]);
            assert!(complaint(&run).contains("name another file"), "{run:?}");
            assert_eq!(fs::read(own.file("sweep.sqlite")).unwrap(), before);
        }
    }
}

#[test]
fn files_of_later_versions_are_refused_with_advice() {
    let own = Folder::new("upgrades-later");
    let version = versions().remove(0);
    let changed = |name: &str, from: &str, to: &str| {
        let read = fs::read_to_string(version.join("result").join(name)).unwrap();
        let changed = read.replacen(from, to, 1);
        assert_ne!(changed, read);
        own.write(name, &changed)
    };
    let result = changed("result.json", "\"version\": 1", "\"version\": 2");
    let page = own.file("page.html");
    for args in [
        &["report", &result, "--out", &page][..],
        &["plot", &result, "--out", &page],
        &["compare", &result, &result],
    ] {
        let run = redpoll(args);
        assert_eq!(code(&run), 2, "{run:?}");
        let line = complaint(&run);
        assert!(line.contains("a newer Redpoll wrote this result"), "{line}");
        assert!(line.contains("repeat the run"), "{line}");
        assert!(!Path::new(&page).exists());
    }
    let recording = changed("recording.jsonl", "\"version\":1", "\"version\":2");
    let opened = Reader::open(fs::File::open(&recording).unwrap());
    assert!(matches!(opened, Err(StoryError::Version(2))));
    let run = redpoll(&["view", &recording]);
    assert_eq!(code(&run), 2, "{run:?}");
    assert!(complaint(&run).contains("record the run again"), "{run:?}");

    let results = own.file("sweep.sqlite");
    fs::copy(version.join("sweep.sqlite"), &results).unwrap();
    let connection = rusqlite::Connection::open(&results).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let run = redpoll(&["compare", &results, &results]);
    assert_eq!(code(&run), 2, "{run:?}");
    assert!(complaint(&run).contains("version 99"), "{run:?}");
}
