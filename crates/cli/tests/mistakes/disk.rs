//! Full and read-only file systems, for each option that names a file or a folder.

use std::process::Command;

use super::{PROGRAM, Row, check, is_possible, row};

/// Makes a full file system at `$D/full`, a read-only one at `$D/read`, and files to read.
const BEFORE: &str = "mkdir $D/full $D/read; mount -t tmpfs -o size=16k none $D/full; head -c 20k /dev/zero >$D/full/filler 2>$D/out; \
    mount -t tmpfs -o ro none $D/read; cd $D; \
    printf '%s\\n' 'scenario = \"line-2\"' 'seeds = 2' '[set]' 'duration = \"2 s\"' \
    '[grid]' '\"tcp.mss\" = [\"1 frames\", \"3 frames\"]' >a.toml; \
    printf '%s\\n' 'scenario = \"line-2\"' 'maximize = \"goodput\"' '[free]' \
    'tcp.mss = [\"3 frames\", \"5 frames\"]' '[search]' 'points = 2' 'seeds = 1' 'held_out = 2' >goal.toml; \
    $R run line-2 --duration '2 s' --result r --pcap a.pcapng >out 2>&1";
const REMEDY: &str = "on another file system";
const FULL: [&str; 2] = ["No space left", REMEDY];

const fn full(name: &'static str, args: &'static str) -> Row {
    row(name, BEFORE, args, 1, FULL)
}

const fn chatty(row: Row) -> Row {
    Row {
        is_chatty: true,
        ..row
    }
}

const ROWS: [Row; 24] = [
    full("run json", "run line-2 --duration 2s --json /dev/full"),
    full("run pcap", "run line-2 --duration 2s --pcap /dev/full"),
    full("run record", "run line-2 --duration 2s --record /dev/full"),
    full(
        "run csv",
        "run line-2 --duration 2s --series full/a.csv --series-interval 1ms",
    ),
    full(
        "run parquet",
        "run line-2 --duration 2s --series full/a.parquet --series-interval 1ms",
    ),
    // The result folder has several files, and the program prints a line for each.
    chatty(full(
        "run result",
        "run line-2 --duration 2s --result full/r",
    )),
    row(
        "sweep",
        BEFORE,
        "sweep a.toml --results full/a.sqlite",
        1,
        ["disk is full", REMEDY],
    ),
    full("sweep flows", "sweep a.toml --flows full/a.csv"),
    full("sweep nodes", "sweep a.toml --nodes full/a.parquet"),
    full("compare", "compare r r --json /dev/full"),
    full("plot", "plot r --out full"),
    full("report", "report r --out /dev/full"),
    // As in diff(1), exit code 1 means that the captures differ, so a fault has the code 2.
    row(
        "diff",
        BEFORE,
        "diff a.pcapng a.pcapng --json /dev/full",
        2,
        FULL,
    ),
    full("why", "why a.pcapng --json /dev/full"),
    row(
        "tune",
        BEFORE,
        "tune goal.toml --results full/a.sqlite",
        1,
        ["disk is full", REMEDY],
    ),
    chatty(full("tune rust", "tune goal.toml --rust /dev/full")),
    chatty(full("tune c", "tune goal.toml --c /dev/full")),
    chatty(full("tune json", "tune goal.toml --json /dev/full")),
    full(
        "drill",
        "drill --attack syn-flood --seeds 1 --seconds 1 --json /dev/full",
    ),
    full("man", "man --folder full"),
    row(
        "read-only json",
        BEFORE,
        "run line-2 --duration 2s --json read/a.json",
        1,
        ["Read-only file system", REMEDY],
    ),
    row(
        "read-only result",
        BEFORE,
        "run line-2 --duration 2s --result read/r",
        1,
        ["Read-only file system", REMEDY],
    ),
    row(
        "read-only results",
        BEFORE,
        "sweep a.toml --results read/a.sqlite",
        1,
        ["unable to open database file", "in which you may write"],
    ),
    row(
        "read-only sweep",
        BEFORE,
        "sweep a.toml --flows read/a.csv",
        1,
        ["Read-only file system", REMEDY],
    ),
];

#[test]
fn a_full_or_read_only_file_system_is_one_line_with_a_remedy() {
    if !is_possible() {
        redpoll_testkit::skipped("full disks: they need root and namespaces");
        return;
    }
    for row in &ROWS {
        check(row);
    }
}

#[test]
fn standard_output_on_a_full_disk_is_a_fault_with_a_remedy() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = Command::new(PROGRAM)
        .arg("list")
        .stdout(full)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(FULL.iter().all(|words| errors.contains(words)), "{errors}");
}
