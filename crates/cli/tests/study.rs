//! `redpoll study` as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, process};

/// A folder that is gone when the test ends.
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
    assert!(table.contains("6.3: Goodput over one hop"), "{table}");
    assert!(table.contains("of 2 criteria hold"), "{table}");

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
        "figure", "high", "low", "metric", "note", "ok", "paper", "series", "study", "unit",
        "value", "x",
    ];
    assert_eq!(keys, documented);
    assert_eq!(rows.as_array().unwrap().len(), 4);

    let page = fs::read_to_string(folder.0.join("page/index.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("</html>"), "{page}");

    // Nothing is left to be simulated, and a second time gives the same.
    let kept = fs::read(folder.0.join("kumar2020.sqlite")).unwrap();
    let second = study(&folder.0, &args);
    assert_eq!(String::from_utf8(second.stdout).unwrap(), table);
    assert_eq!(fs::read(folder.0.join("kumar2020.sqlite")).unwrap(), kept);
}

#[test]
fn what_is_unknown_ends_with_2_and_what_there_is() {
    let folder = Folder::new("unknown");
    let line = complaint(&study(&folder.0, &["kumar2021"]));
    assert_eq!(
        line,
        "redpoll: unknown study \"kumar2021\"; allowed: kumar2020\n"
    );
    let line = complaint(&study(&folder.0, &["kumar2020", "--figure", "99"]));
    assert!(
        line.starts_with("redpoll: unknown figure \"99\"; allowed: table-1, table-3, "),
        "{line}"
    );
    assert!(!folder.0.join("kumar2020.sqlite").exists());
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
    assert!(line.contains("letter is no results file"), "{line}");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with("Dear reader")
    );
}
