//! `redpoll tune`: its results in cases with a known answer, and the arguments that it refuses.

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::{Folder, PROGRAM, code, complaint, stderr, stdout};

/// A leaf that polls its parent at a fixed interval. A request that arrives at a random time is
/// answered at the end of the interval: of a hundred requests, the 95th waits for about 0.95
/// intervals. The radio is on once an interval.
const MESH: &str = r#"
duration = "20 min"

[topology]
kind = "line"
nodes = 2
spacing = "40 m"

[nodes.node-1]
role = "border"

[nodes.node-2]
role = "leaf"
sleepy = true

[poll]
policy = "base"
base_interval = "1 s"

[apps.state]
type = "coap-server"
on = "node-2"
file = "40 B"

[apps.asks]
type = "coap-client"
on = "host"
to = "node-2:5683"
interval = "7.3 s"
"#;

const GOAL: &str = r#"
scenario = "mesh.toml"
minimize = "current"
[limits]
latency.p95 = "2 s"
reliability = "99 %"
[free]
poll.base_interval = { from = "0.1 s", to = "30 s", scale = "log", steps = 9 }
tcp.mss = ["3 frames", "5 frames"]
[search]
points = 24
seeds = 4
held_out = 6
rounds = 5
"#;

fn tune(folder: &Folder, args: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("tune").args(args).current_dir(&folder.0);
    command.output().unwrap()
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("mesh.toml", MESH);
    folder.write("goal.toml", GOAL);
    folder
}

fn count(path: &Path) -> Option<i64> {
    let file = rusqlite::Connection::open(path).ok()?;
    let sql = "SELECT count(*) FROM runs";
    file.query_row(sql, [], |row| row.get(0)).ok()
}

fn found(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

fn seconds(value: &Value) -> f64 {
    let (number, unit) = value.as_str().unwrap().split_once(' ').unwrap();
    let number: f64 = number.parse().unwrap();
    match unit {
        "ms" => number / 1e3,
        "s" => number,
        _ => panic!("{unit}"),
    }
}

#[test]
fn a_poll_interval_is_as_long_as_the_latency_allows() {
    let folder = folder("tune-bound");
    let output = tune(&folder, &["goal.toml", "--json", "-"]);
    assert_eq!(code(&output), 0, "{output:?}");
    let json = found(&output);
    // The limit allows at most 2 s / 0.95. The lower bound allows for the error of few seeds.
    let interval = seconds(&json["found"]["values"]["poll.base_interval"]);
    assert!((1.6..=2.11).contains(&interval), "{interval}");
    let figures = json["found"]["figures"].as_array().unwrap();
    assert_eq!(figures[1]["what"], "latency.p95");
    let p95 = figures[1]["mean"]["value"].as_f64().unwrap();
    assert!(
        (0.8 * interval..=1.05 * interval).contains(&p95),
        "{p95} {interval}"
    );
    // The limit bounds the result: a longer interval takes less current, but exceeds the limit.
    let bounds = json["bounds"].as_array().unwrap();
    let is_bound = |it: &Value| it["kind"] == "limit" && it["limits"][0] == "latency.p95";
    assert!(bounds.iter().any(is_bound), "{bounds:?}");
    // The unchanged scenario polls once a second, and takes more current.
    let current = |of: &str| json[of]["figures"][0]["mean"]["value"].as_f64().unwrap();
    assert!(current("found") < current("as_it_stands"));
    // The held-out seeds, which judge the values, were not used to choose the values.
    let held_out = json["held_out_seeds"].as_array().unwrap();
    let chose = json["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["seeds"].as_u64().unwrap());
    assert!(held_out[0].as_u64().unwrap() > chose.max().unwrap());

    let interval_us = (interval * 1e6).round() as u64;
    let header = std::fs::read_to_string(folder.file("goal.h")).unwrap();
    let line = format!("#define RP_POLL_BASE_INTERVAL_US {interval_us}ull");
    assert!(header.contains(&line), "{header}");
    let module = std::fs::read_to_string(folder.file("goal.rs")).unwrap();
    assert!(
        module.contains("pub const POLL_BASE_INTERVAL: Duration = "),
        "{module}"
    );
    assert!(module.contains("pub const TCP_MSS: u16 = "), "{module}");
    compiles(&folder);

    // No run is left, and the found values are the same.
    let again = tune(&folder, &["goal.toml", "--json", "-"]);
    assert_eq!(found(&again), json);
    assert!(
        stderr(&again)
            .lines()
            .all(|line| line.ends_with("; 0 runs left")),
        "{again:?}"
    );
}

/// Checks that the output is valid C and Rust.
fn compiles(folder: &Folder) {
    folder.write(
        "a.c",
        "#include \"goal.h\"\nunsigned long long a = RP_POLL_BASE_INTERVAL_US + RP_TCP_MSS;\n",
    );
    let c = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Werror", "-c", "a.c", "-o", "a.o"])
        .current_dir(&folder.0)
        .status();
    assert!(c.expect("Rust links with cc").success());
    let module = std::fs::read_to_string(folder.file("goal.rs")).unwrap();
    // `core::time` has a `Duration` type with constructors of the same names.
    folder.write("b.rs", &module.replace("redpoll_base", "core::time"));
    let rust = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args([
            "--crate-type",
            "lib",
            "--edition",
            "2024",
            "--emit",
            "metadata",
            "b.rs",
        ])
        .current_dir(&folder.0)
        .status();
    assert!(rust.expect("there is a compiler").success());
}

#[test]
fn a_goal_that_cannot_be_met_is_reported_and_writes_no_constants() {
    let folder = folder("tune-missed");
    let goal = GOAL.replace("\"2 s\"", "\"5 ms\"");
    folder.write("goal.toml", &goal);
    let output = tune(&folder, &["goal.toml"]);
    assert_eq!(code(&output), 1, "{output:?}");
    assert!(stdout(&output).contains("missed"), "{output:?}");
    assert!(
        stderr(&output).contains("no values keep the limits"),
        "{output:?}"
    );
    assert!(!folder.0.join("goal.h").exists());
    assert!(!folder.0.join("goal.rs").exists());
}

#[test]
fn a_killed_search_continues_to_the_same_result() {
    let folder = folder("tune-killed");
    let mut child = Command::new(PROGRAM)
        .args(["tune", "goal.toml", "--jobs", "1"])
        .current_dir(&folder.0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let path = folder.0.join("goal.sqlite");
    let patience = Instant::now() + Duration::from_secs(120);
    while count(&path).unwrap_or(0) < 3 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(count(&path).unwrap() >= 3);
    let rest = tune(&folder, &["goal.toml", "--json", "-"]);
    assert_eq!(code(&rest), 0, "{rest:?}");
    let whole = tune(
        &folder,
        &["goal.toml", "--json", "-", "--results", "other.sqlite"],
    );
    assert_eq!(found(&rest), found(&whole));
}

#[test]
fn control_c_keeps_the_finished_runs() {
    let folder = folder("tune-stopped");
    folder.write(
        "goal.toml",
        &GOAL.replace("[free]", "[set]\nduration = \"4 h\"\n[free]"),
    );
    let child = Command::new(PROGRAM)
        .args(["tune", "goal.toml", "--jobs", "1"])
        .current_dir(&folder.0)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let path = folder.0.join("goal.sqlite");
    let patience = Instant::now() + Duration::from_secs(60);
    while count(&path).unwrap_or(0) < 1 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(2));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130, "{output:?}");
    assert!(
        stderr(&output).contains("run the same command again to continue"),
        "{output:?}"
    );
    assert!(count(&path).unwrap() >= 1);
    assert!(!folder.0.join("goal.h").exists());
}

#[test]
fn mistakes_are_named_before_the_first_run() {
    let folder = folder("tune-mistakes");
    let wrong = [
        (
            "poll.base_interval =",
            "poll.bass_interval =",
            "poll.bass_interval: got the unknown key",
        ),
        ("\"30 s\"", "\"90000 s\"", "poll.base_interval: got"),
        (
            "\"30 s\"",
            "\"30 kB\"",
            "free.poll.base_interval: `from` is in",
        ),
        (
            "[\"3 frames\", \"5 frames\"]",
            "[\"3 frames\"]",
            "free.tcp.mss: got a list with one value; allowed: a list of at least two values",
        ),
        (
            "latency.p95 = \"2 s\"",
            "latency.p95 = \"2 mA\"",
            "limits.latency.p95: got \"2 mA\"; allowed: a number above 0 with one of the units s, ms",
        ),
        (
            "latency.p95 =",
            "latency.p97 =",
            "there is no figure \"latency.p97\"; allowed: current",
        ),
        (
            "\"current\"",
            "\"current of node-9\"",
            "no node has the name \"node-9\"; allowed",
        ),
        (
            "latency.p95 =",
            "\"latency.p95 of ask\" =",
            "no flow with this figure has the name \"ask\"",
        ),
        (
            "minimize = \"current\"",
            "minimize = \"goodput\"",
            "minimize: got goodput, but a higher goodput is better; allowed: maximize",
        ),
        (
            "held_out = 6",
            "held_out = 1",
            "search.held_out: got 1; allowed: 2 to 1000",
        ),
        ("tcp.mss =", "seed =", "the seed cannot be a free key"),
        (
            "mesh.toml",
            "mash.toml",
            "allowed: a TOML file, or a name from",
        ),
    ];
    for (right, instead, expected) in wrong {
        folder.write("goal.toml", &GOAL.replace(right, instead));
        let output = tune(&folder, &["goal.toml"]);
        let complaint = complaint(&output);
        assert!(complaint.contains(expected), "{instead}: {complaint}");
        assert_eq!(code(&output), 2, "{complaint}");
        assert!(!folder.0.join("goal.sqlite").exists(), "{instead}");
    }
    // A node without data needs the least current, so `minimize = "current"` needs a limit.
    let bare = GOAL.replace("latency.p95 = \"2 s\"\nreliability = \"99 %\"\n", "");
    folder.write("goal.toml", &bare);
    let told = complaint(&tune(&folder, &["goal.toml", "--list"]));
    assert!(
        told.contains("limits: got none; allowed: one or more"),
        "{told}"
    );
    let best = "minimize = \"current\"";
    assert!(bare.contains(best));
    for (best_now, is_allowed) in [
        ("maximize = \"goodput\"", true),
        ("maximize = \"lifetime\"", false),
    ] {
        folder.write("goal.toml", &bare.replace(best, best_now));
        let output = tune(&folder, &["goal.toml", "--list"]);
        assert_eq!(code(&output) == 0, is_allowed, "{best_now}: {output:?}");
    }
    // A file of another program is not overwritten.
    folder.write("goal.toml", GOAL);
    folder.write("goal.h", "int mine;\n");
    let output = tune(&folder, &["goal.toml"]);
    assert!(
        complaint(&output).contains("allowed: another name"),
        "{output:?}"
    );
    assert!(!folder.0.join("goal.sqlite").exists());
}

#[test]
fn list_prints_the_plan_without_a_run() {
    let folder = folder("tune-list");
    let output = tune(&folder, &["goal.toml", "--list"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("least current with latency.p95 at most 2.000 s"),
        "{text}"
    );
    assert!(text.contains("all 18 combinations"), "{text}");
    assert!(!folder.0.join("goal.sqlite").exists());
}
