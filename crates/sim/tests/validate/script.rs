//! The programs of `scripts/validate`.

use std::process::Command;

pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/validate/");

/// Returns the output of a Python program; `None` if Python is missing, which is recorded.
pub fn run(name: &str, args: &[&str]) -> Option<String> {
    let command = Command::new("python3")
        .arg(format!("{FOLDER}{name}"))
        .args(args)
        .output();
    let Ok(output) = command else {
        skipped(&format!("{name}: python3 is missing"));
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

pub fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect()
}

pub fn skipped(what: &str) {
    redpoll_testkit::skipped(&format!("check {what}"));
}
