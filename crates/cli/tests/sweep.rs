//! `redpoll sweep`: every combination is run once, whatever interrupts the sweep.

mod support;

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use support::{Folder, PROGRAM, code, complaint, redpoll, stdout};

fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines();
    let at = lines.next().unwrap().split(',').position(|it| it == name);
    let at = at.unwrap_or_else(|| panic!("no column {name}"));
    lines
        .map(|line| line.split(',').nth(at).unwrap().to_owned())
        .collect()
}

fn sweep(folder: &Folder, args: &[&str]) -> std::process::Output {
    let mut command = Command::new(PROGRAM);
    command.arg("sweep").args(args).current_dir(&folder.0);
    command.output().unwrap()
}

const GRID: &str = r#"
scenario = "line-2"
seeds = [3, 5]
[set]
duration = "2 s"
[grid]
mac.link_retry_delay = ["0 ms", "40 ms"]
"tcp.mss" = ["1 frames", "3 frames", "5 frames"]
"#;

#[test]
fn every_combination_is_run_with_every_seed_and_none_twice() {
    let folder = Folder::new("sweep-grid");
    folder.write("a.toml", GRID);
    let listed = sweep(&folder, &["a.toml", "--list"]);
    assert!(stdout(&listed).starts_with("6 points, 2 seeds each: 12 runs\n"));
    assert!(!folder.0.join("a.sqlite").exists());

    let first = sweep(&folder, &["a.toml", "--flows", "-", "--nodes", "nodes.csv"]);
    assert_eq!(code(&first), 0, "{first:?}");
    let flows = stdout(&first);
    let rows: BTreeSet<_> = column(&flows, "mac.link_retry_delay")
        .into_iter()
        .zip(column(&flows, "tcp.mss"))
        .zip(column(&flows, "seed"))
        .collect();
    assert_eq!(rows.len(), 12);
    assert_eq!(flows.lines().count(), 13);
    let goodput = column(&flows, "goodput_kbps");
    assert!(goodput.iter().all(|it| it.parse::<f64>().unwrap() > 1.0));
    let nodes = std::fs::read_to_string(folder.0.join("nodes.csv")).unwrap();
    assert_eq!(nodes.lines().count(), 1 + 12 * 3);

    // The values equal those of a single run.
    let run = redpoll(&[
        "run",
        "line-2",
        "--duration",
        "2 s",
        "--seed",
        "3",
        "--set",
        "mac.link_retry_delay=0 ms",
        "--set",
        "tcp.mss=1 frames",
        "--json",
        "-",
    ]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&run)).unwrap();
    let alone = report["flows"][0]["goodput_kbps"].as_f64().unwrap();
    assert_eq!(goodput[0].parse::<f64>().unwrap(), alone);

    // All runs are stored: the second call repeats none, so the processor times are unchanged.
    let again = stdout(&sweep(&folder, &["a.toml", "--flows", "-"]));
    assert_eq!(again, flows);
    // If one more value is given, only its runs are new.
    folder.write(
        "a.toml",
        &GRID.replace("\"0 ms\", ", "\"0 ms\", \"20 ms\", "),
    );
    let more = stdout(&sweep(&folder, &["a.toml", "--flows", "-"]));
    assert_eq!(more.lines().count(), 19);
    let known: BTreeSet<_> = column(&flows, "cpu_s").into_iter().collect();
    let kept = column(&more, "cpu_s");
    assert_eq!(kept.iter().filter(|it| known.contains(*it)).count(), 12);
}

#[test]
fn a_sweep_that_was_killed_goes_on_where_it_was() {
    let folder = Folder::new("sweep-killed");
    let long = GRID.replace("2 s", "60 s").replace("[3, 5]", "8");
    folder.write("a.toml", &long);
    let mut child = Command::new(PROGRAM)
        .args(["sweep", "a.toml", "--jobs", "1"])
        .current_dir(&folder.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Kills the program as soon as its file, which the test polls, contains three runs.
    let path = folder.0.join("a.sqlite");
    let count = || {
        let file = rusqlite::Connection::open(&path).ok()?;
        let sql = "SELECT count(*) FROM runs";
        file.query_row(sql, [], |row| row.get::<_, i64>(0)).ok()
    };
    let patience = Instant::now() + Duration::from_secs(60);
    while count().unwrap_or(0) < 3 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = count().unwrap();
    assert!(kept >= 3);
    let rest = sweep(&folder, &["a.toml", "--flows", "-"]);
    assert_eq!(code(&rest), 0, "{rest:?}");
    assert_eq!(stdout(&rest).lines().count(), 49);
    assert_eq!(count(), Some(48));
}

#[test]
fn points_are_drawn_within_their_ranges_the_same_each_time() {
    let folder = Folder::new("sweep-random");
    folder.write(
        "a.toml",
        r#"
        scenario = "line-1"
        set.duration = "1 s"
        [random]
        points = 30
        seed = 4
        [random.keys]
        "mac.link_retry_delay" = { from = "1 ms", to = "100 ms", scale = "log" }
        mac.max_frame_retries = { from = 2, to = 6 }
        "#,
    );
    let flows = stdout(&sweep(&folder, &["a.toml", "--flows", "-"]));
    let delays: Vec<f64> = column(&flows, "mac.link_retry_delay")
        .iter()
        .map(|it| it.strip_suffix(" ms").unwrap().parse().unwrap())
        .collect();
    assert_eq!(delays.len(), 30);
    assert!(delays.iter().all(|it| (1.0..=100.0).contains(it)));
    let small = delays.iter().filter(|it| **it < 10.0).count();
    assert!((8..=22).contains(&small), "{small} of 30 below 10 ms");
    let retries = column(&flows, "mac.max_frame_retries");
    assert!(
        retries
            .iter()
            .all(|it| (2..=6).contains(&it.parse::<u8>().unwrap()))
    );
    std::fs::remove_file(folder.0.join("a.sqlite")).unwrap();
    let again = stdout(&sweep(&folder, &["a.toml", "--flows", "-"]));
    assert_eq!(
        column(&again, "goodput_kbps"),
        column(&flows, "goodput_kbps")
    );
}

#[test]
fn parquet_and_csv_have_the_same_rows() {
    let folder = Folder::new("sweep-parquet");
    folder.write("a.toml", &GRID.replace("[3, 5]", "1"));
    let csv = stdout(&sweep(&folder, &["a.toml", "--flows", "-"]));
    assert_eq!(
        code(&sweep(&folder, &["a.toml", "--flows", "a.parquet"])),
        0
    );
    let file = File::open(folder.0.join("a.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), 6);
    for (at, row) in rows.iter().enumerate() {
        for (name, field) in row.get_column_iter() {
            let expected = &column(&csv, name)[at];
            let found = match field {
                Field::Null => String::new(),
                Field::Long(it) => it.to_string(),
                Field::Double(it) => it.to_string(),
                Field::Bool(it) => it.to_string(),
                Field::Str(it) => it.clone(),
                other => panic!("{name}: {other:?}"),
            };
            assert_eq!(&found, expected, "{name}");
        }
    }
}

#[test]
fn mistakes_in_a_sweep_are_reported_before_the_first_run() {
    let folder = Folder::new("sweep-wrong");
    for (text, problem) in [
        ("scenario = \"nothing\"", "a name from `redpoll list`"),
        ("scenario = \"line-1\"\ngrid.mac.retries = [1]", "retries"),
        (
            "scenario = \"line-1\"\ngrid.mac.max_frame_retries = [1, 1000]",
            "0 to 100",
        ),
        (
            "scenario = \"line-1\"\ngrid.mac.max_frame_retries = 3",
            "grid.mac.max_frame_retries: got 3; allowed: a list of values",
        ),
        ("scenario = \"line-1\"\nseeds = 0", "seeds"),
        ("scenario = \"line-1\"\nseeds = [1, 1]", "seeds"),
        ("scenario = \"line-1\"\nset.duraton = \"1 s\"", "duraton"),
        ("scenario = \"line-1\"\ngird = 3", "gird"),
        (
            "scenario = \"line-1\"\n[random]\npoints = 3\n[random.keys]\nmac.link_retry_delay = { from = \"1 ms\", to = \"1 s\" }",
            "one unit for both",
        ),
        (
            "scenario = \"line-1\"\nseeds = 1000000\ngrid.mac.min_be = [1, 2]",
            "more runs than allowed; allowed: at most 1000000",
        ),
        ("scenario = \"line-1\"\ngrid.seed = [1, 2]", "`seeds`"),
        ("scenario = \"line-1\"\nseeds = [-1]", "a list of seeds"),
        (
            "scenario = \"line-1\"\nset.mac.min_be = 3\ngrid.mac.min_be = [1, 2]",
            "set.mac.min_be: got a key that grid or random also varies",
        ),
        ("scenario = \"line-1", "toml"),
    ] {
        folder.write("a.toml", text);
        let output = sweep(&folder, &["a.toml"]);
        assert_eq!(code(&output), 2, "{text}");
        let told = support::stderr(&output);
        assert!(
            told.contains("a.toml") && told.to_lowercase().contains(problem),
            "{text}: {told}"
        );
        assert!(!folder.0.join("a.sqlite").exists(), "{text}");
    }
    folder.write("a.toml", GRID);
    let output = sweep(&folder, &["a.toml", "--flows", "a.xlsx"]);
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains(".csv or .parquet"));
    folder.write(
        "other.sqlite",
        "some text that is no database at all, and long enough",
    );
    let output = sweep(&folder, &["a.toml", "--results", "other.sqlite"]);
    assert_eq!(code(&output), 2);
}
