//! Shared code of the program's tests: temporary folders, and the program's output.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use nix::pty::{OpenptyResult, Winsize, openpty};

/// A test's folder, removed at the end of the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("redpoll-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.file(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_redpoll");

pub fn redpoll(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).output().unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the only line on standard error.
pub fn complaint(output: &Output) -> String {
    let text = stderr(output);
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim_end().to_owned()
}

/// Runs the program with a terminal as standard error only. Returns its exit code, and the text
/// that the terminal received.
pub fn on_terminal(args: &[&str]) -> (i32, String) {
    let size = Winsize {
        ws_row: 40,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let OpenptyResult { master, slave } = openpty(&size, None).unwrap();
    let mut child = Command::new(PROGRAM)
        .args(args)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(slave))
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    // Reading fails when no process has the terminal open any more.
    let mut master = File::from(master);
    let mut buffer = [0; 4096];
    while let Ok(len @ 1..) = master.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..len]);
    }
    let status = child.wait().unwrap();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    (status.code().expect("an exit code"), shown)
}
