//! `redpoll study` as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, process};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = env::temp_dir().join(format!("redpoll-study-{}-{name}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn study(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redpoll"))
        .arg("study")
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_figure_gives_a_table_rows_and_a_page_and_its_runs_are_kept() {
    let folder = Folder::new("figure");
    let args = [
        "kumar2020",
        "--figure",
        "6.3",
        "--seeds",
        "1",
        "--json",
        "rows.json",
    ];
    let first = study(&folder.0, &[&args[..], &["--html", "page"]].concat());
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let table = String::from_utf8(first.stdout).unwrap();
    assert!(table.contains("6.3  Goodput over one hop"), "{table}");
    assert!(table.contains("\ncalibrates: "), "{table}");

    let text = fs::read_to_string(folder.0.join("rows.json")).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut keys: Vec<&str> = rows[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    let documented = [
        "figure",
        "high",
        "id",
        "kind",
        "least",
        "low",
        "metric",
        "most",
        "n",
        "note",
        "ok",
        "paper",
        "series",
        "study",
        "unit",
        "value",
        "violation",
        "x",
    ];
    assert_eq!(keys, documented);
    assert_eq!(rows.as_array().unwrap().len(), 4);

    let page = fs::read_to_string(folder.0.join("page/index.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("</html>"), "{page}");

    // The command that the page shows for a point reproduces the point's value.
    let command = page.split("<code>redpoll ").nth(1).unwrap();
    let command = command
        .split("</code>")
        .next()
        .unwrap()
        .replace("&#39;", "");
    let (run, changes) = command.split_once(" --set ").unwrap();
    let mut words: Vec<&str> = run.split(' ').collect();
    words.extend(changes.split(" --set ").flat_map(|it| ["--set", it]));
    let output = Command::new(env!("CARGO_BIN_EXE_redpoll"))
        .args(words)
        .args(["--json", "-"])
        .current_dir(folder.0.join("page"))
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["flows"][0]["goodput_kbps"], rows[0]["value"]);

    let rows = study(&folder.0, &[&args[..], &["--rows", "--times"]].concat());
    let rows = String::from_utf8(rows.stdout).unwrap();
    assert!(rows.contains("6.3: Goodput over one hop"), "{rows}");
    assert!(rows.contains("core seconds"), "{rows}");
    assert!(rows.contains(&table), "{rows}");

    // All runs are stored: the second call simulates nothing and gives the same results.
    let kept = fs::read(folder.0.join("kumar2020.sqlite")).unwrap();
    let second = study(&folder.0, &args);
    assert_eq!(String::from_utf8(second.stdout).unwrap(), table);
    assert_eq!(fs::read(folder.0.join("kumar2020.sqlite")).unwrap(), kept);
}

#[test]
fn unknown_names_end_with_2_and_the_allowed_names() {
    let folder = Folder::new("unknown");
    let line = complaint(&study(&folder.0, &["kumar2021"]));
    assert_eq!(
        line,
        "redpoll: unknown study \"kumar2021\"; allowed: kumar2020, kim2015, lim2022, hurni2012, park2019, ota, thread\n"
    );
    let line = complaint(&study(&folder.0, &["kumar2020", "--figure", "99"]));
    assert!(
        line.starts_with("redpoll: unknown figure \"99\"; allowed: table-1, table-3, "),
        "{line}"
    );
    assert!(!folder.0.join("kumar2020.sqlite").exists());
}

#[test]
fn studies_and_figures_are_listed() {
    let folder = Folder::new("list");
    let output = study(&folder.0, &["--list"]);
    let studies = String::from_utf8(output.stdout).unwrap();
    assert!(studies.contains("kumar2020  Kumar, Andersen"), "{studies}");
    let output = study(&folder.0, &["kumar2020", "--list"]);
    let figures = String::from_utf8(output.stdout).unwrap();
    assert!(figures.contains("5b  Three hops: "), "{figures}");
    assert!(figures.contains("table-7  A day"), "{figures}");
    let output = study(&folder.0, &["kumar2020", "--list", "--figure", "Fig5B"]);
    let figures = String::from_utf8(output.stdout).unwrap();
    assert_eq!(figures.lines().count(), 1, "{figures}");
    assert!(!folder.0.join("kumar2020.sqlite").exists());
}

/// Checks that a modified row of a result file gives an error with its remedy, and exit code 2.
#[test]
fn a_damaged_row_ends_with_2_and_advice() {
    let folder = Folder::new("damaged");
    let args = ["kumar2020", "--figure", "4a", "--seeds", "1"];
    assert_eq!(study(&folder.0, &args).status.code(), Some(0));
    let file = folder.0.join("kumar2020.sqlite");
    let mut bytes = fs::read(&file).unwrap();
    let field = b"\"frames_sent\":";
    let at = bytes.windows(field.len()).position(|it| it == field);
    bytes[at.unwrap() + field.len()] ^= 1;
    fs::write(&file, bytes).unwrap();
    let line = complaint(&study(&folder.0, &args));
    assert!(
        line.ends_with(
            "the checksum of the run with seed 1 is wrong); name another file or delete this file\n"
        ),
        "{line}"
    );
}

#[test]
fn a_file_that_is_no_results_file_is_refused_and_left_alone() {
    let folder = Folder::new("refused");
    let file = folder.0.join("letter");
    fs::write(
        &file,
        "Dear reader, this is no database, and it is to stay as it is.",
    )
    .unwrap();
    let line = complaint(&study(&folder.0, &["kumar2020", "--results", "letter"]));
    assert!(line.contains("letter is not a results file"), "{line}");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with("Dear reader")
    );
}

#[test]
fn the_scenarios_under_a_figure_are_written_and_nothing_is_run() {
    let folder = Folder::new("scenes");
    let links = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/k7-corridor.k7");
    let links = links.to_str().unwrap();
    let figure = ["kim2015", "--figure", "measured", "--scenes", "here"];
    let written = study(&folder.0, &[&figure[..], &["--links", links]].concat());
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let scene = fs::read_to_string(folder.0.join("here/measured-tcp-down.toml")).unwrap();
    assert!(scene.contains("kind = \"k7\""), "{scene}");
    assert!(!folder.0.join("kim2015.sqlite").exists(), "nothing was run");

    let missing = complaint(&study(&folder.0, &figure));
    assert!(missing.contains("unknown figure \"measured\""), "{missing}");
    let refused = complaint(&study(&folder.0, &["lim2022", "--list", "--links", links]));
    assert!(
        refused.contains("no figure whose runs use measured links"),
        "{refused}"
    );
    let nowhere = complaint(&study(
        &folder.0,
        &[&figure[..], &["--links", "no.k7"]].concat(),
    ));
    assert!(nowhere.contains("no.k7"), "{nowhere}");
}
