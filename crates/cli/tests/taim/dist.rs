//! The files under `dist`: the dashboard finds its metrics, systemd accepts the units, and the
//! program accepts the settings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::daemon::Daemon;
use crate::net::Network;
use crate::rules;
use crate::support::{Folder, PROGRAM, code, redpoll};

fn dist(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../dist")
        .join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(dist(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(query: &str) -> BTreeSet<String> {
    let parts = query.split("redpoll_taim_").skip(1);
    parts
        .map(|rest| {
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            format!("redpoll_taim_{}", &rest[..end])
        })
        .collect()
}

fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if ["expr", "query", "definition"].contains(&&**key) => {
                        found.push(text.clone());
                    }
                    value => queries(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|it| queries(it, found)),
        _ => {}
    }
}

pub fn dashboard() {
    let network = Network::new(61, [1, 5]);
    rules("61");
    let args = ["--queue", "61", "--metrics", "127.0.0.1:0"];
    let daemon = Daemon::start(&args);
    let bytes: u64 = network.upload(Duration::from_secs(2), 1).iter().sum();
    assert!(bytes > 0);
    let metrics = daemon.metrics();
    daemon.end(Signal::SIGINT);
    let served: BTreeSet<String> = metrics
        .lines()
        .flat_map(|line| {
            let is_sample = line.starts_with("redpoll_taim_");
            names(if is_sample { line } else { "" })
        })
        .collect();

    let dashboard: Value = serde_json::from_str(&read("grafana/redpoll-taim.json")).unwrap();
    let mut all = Vec::new();
    queries(&dashboard, &mut all);
    let wanted: BTreeSet<String> = all.iter().flat_map(|query| names(query)).collect();
    assert!(wanted.len() > 15, "{wanted:?}");
    let missing: Vec<_> = wanted.difference(&served).collect();
    assert!(missing.is_empty(), "{missing:?} of {served:?}");

    // Conventions of Prometheus: counters end in `_total`, and a help text contains no link.
    let mut kinds = 0;
    for line in metrics.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            kinds += 1;
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (_, help) = rest.split_once(' ').unwrap();
            assert!(help.len() > 20 && help.ends_with('.'), "{line}");
            assert!(!help.contains(".md"), "{line}");
        }
    }
    assert!(kinds > 20, "{kinds}");
}

/// Returns the reason for which the units cannot be checked here, if there is one.
pub fn no_systemd() -> Option<String> {
    let missing = Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err();
    missing.then(|| "there is no systemd-analyze".to_owned())
}

pub fn units() {
    let folder = Folder::new("units");
    for (name, max_exposure) in [
        ("redpoll-taim.service", 34),
        ("redpoll-border@.service", 37),
    ] {
        let text = read(&format!("systemd/{name}"));
        // systemd-analyze requires existing programs, and only packages contain `redpoll-taim`.
        let text = text.replace("redpoll-taim install", &format!("{PROGRAM} taim install"));
        let text = text.replace(
            "ExecStart=redpoll-taim\n",
            &format!("ExecStart={PROGRAM} taim\n"),
        );
        let text = text.replace("=redpoll up", &format!("={PROGRAM} up"));
        assert!(text.contains(PROGRAM), "{name}");
        let path = folder.write(name, &text);
        let output = Command::new("systemd-analyze")
            .args(["verify", &path])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {told}");
        assert!(
            !told.contains(name.split('.').next().unwrap()),
            "{name}: {told}"
        );
        exposed(&path, max_exposure);
    }
}

/// Fails if systemd's exposure level of the service exceeds `max`, in tenths; 100 is unprotected.
fn exposed(path: &str, max: u32) {
    let threshold = format!("--threshold={max}");
    let args = ["security", "--no-pager", "--offline=true", &threshold, path];
    let output = Command::new("systemd-analyze").args(args).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    // systemd before 250 judges loaded units only.
    if told.contains("unrecognized option") {
        return;
    }
    let table = String::from_utf8_lossy(&output.stdout);
    let verdict = table.lines().last().unwrap_or_default();
    assert!(output.status.success(), "{path}: {verdict}: {told}");
}

pub fn example() {
    let path = dist("taim.toml").display().to_string();
    let output = redpoll(&["taim", "--check-config", "--config", &path]);
    assert_eq!(code(&output), 0, "{output:?}");
    // The example has each option, and each documented default is that of the program.
    let help = redpoll(&["taim", "--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    let text = read("taim.toml");
    let mut keys = 0;
    for line in text.lines() {
        let Some((key, value)) = line.trim_start_matches("# ").split_once(" = ") else {
            continue;
        };
        keys += 1;
        let option = format!("\n      --{} ", key.replace('_', "-"));
        let option = option.replace("--always ", "--always[");
        let Some(at) = help.find(&option) else {
            panic!("{option} is not in the help");
        };
        if ["metrics", "json"].contains(&key) {
            continue;
        }
        let entry = &help[at..];
        let entry = &entry[..entry.find("\n\n      --").unwrap_or(entry.len())];
        let number = value.trim_matches('"');
        let number = match key {
            "max_wait" => "1000",
            _ => number.split(' ').next().unwrap(),
        };
        assert!(
            entry.contains(&format!("[default: {number}]")),
            "{key}: {entry}"
        );
    }
    assert_eq!(keys, 15);
}
