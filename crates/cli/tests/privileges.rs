//! What `redpoll up` may do once it is up, as /proc says it, and that its files need nothing
//! more.

#[allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]
#[path = "up/program.rs"]
mod program;
#[path = "support/mod.rs"]
mod support;

use nix::sys::signal::Signal;
use program::Program;
use redpoll_testkit::skipped;
use support::Folder;

/// A user without rights, and its group.
const NOBODY: u32 = 65_534;

/// Starts `up` without an interface.
fn up(more: &[&str]) -> Program {
    let mut args = vec![
        "up",
        "office",
        "--join",
        "forward",
        "--forward",
        "0:leaf-12:80",
    ];
    args.extend(more);
    let mut mesh = Program::start(&args);
    mesh.wait_until_up();
    mesh.line();
    mesh
}

/// Gives a folder to another user; `false`, and the test is skipped, if that is not allowed.
fn given_away(folder: &Folder, test: &str) -> bool {
    match std::os::unix::fs::chown(&folder.0, Some(NOBODY), Some(NOBODY)) {
        Ok(()) => true,
        Err(error) => {
            skipped(&format!(
                "test {test}: it needs root: chown of a folder: {error}"
            ));
            false
        }
    }
}

#[test]
fn files_are_complete_in_a_folder_of_another_user() {
    let folder = Folder::new("up-series");
    if !given_away(&folder, "files_are_complete_in_a_folder_of_another_user") {
        return;
    }
    for name in ["series.csv", "series.parquet"] {
        let (series, json) = (folder.file(name), folder.file("report.json"));
        let mesh = up(&["--series", &series, "--json", &json]);
        mesh.end(Signal::SIGINT, Some(0));
        let bytes = std::fs::read(&series).unwrap();
        let whole = match name {
            "series.csv" => bytes.starts_with(b"t"),
            _ => bytes.ends_with(b"PAR1"),
        };
        assert!(whole, "{series}");
        assert!(std::fs::read(&json).unwrap().ends_with(b"}\n"));
    }
    let left: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn no_capability_can_come_back() {
    let mesh = up(&[]);
    // The greeting is there before the capabilities are dropped.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let status = std::fs::read_to_string(format!("/proc/{}/status", mesh.pid())).unwrap();
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} {status}"))
            .trim()
            .to_owned()
    };
    for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
        assert_eq!(line(set), "0000000000000000", "{set}");
    }
    assert_eq!(line("NoNewPrivs:"), "1");
    match line("Uid:").starts_with('0') {
        true => assert_eq!(line("CapBnd:"), "0000000000000000"),
        false => skipped("check of the bounding set: it needs root"),
    }
    mesh.end(Signal::SIGINT, Some(0));
}
