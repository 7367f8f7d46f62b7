//! Runs libFuzzer on every parser and engine, guided by coverage.

use std::path::PathBuf;
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Default number of seconds for each target.
const SECONDS: u32 = 60;

/// Factors of the time for targets that need more time than a codec.
const LONGER: [(&str, u32); 1] = [("tcp", 10)];
/// The folder of the binary that runs one target by libFuzzer.
const FOLDER: &str = "fuzz";

pub fn run(workspace: &Workspace, seconds: Option<u32>) -> Outcome {
    let seconds = seconds.unwrap_or(SECONDS);
    let mut list = workspace.cargo();
    list.args([
        "run",
        "--quiet",
        "--package",
        "redpoll-fuzz",
        "--",
        "--list",
    ]);
    let targets = workspace::output(&mut list)?;
    let (mut executions, mut failed) = (0, Vec::new());
    for line in targets.lines() {
        let mut words = line.split(' ');
        let target = words.next().unwrap_or_default();
        let longer = LONGER.iter().find(|(name, _)| *name == target);
        let seconds = seconds.saturating_mul(longer.map_or(1, |(_, times)| *times));
        println!("== {target}: {seconds} s");
        let seeds = words.filter(|word| !word.is_empty());
        let seeds: Vec<_> = seeds.map(|folder| workspace.root.join(folder)).collect();
        match one(workspace, target, seconds, &seeds)? {
            Some(count) => executions += count,
            None => failed.push(target.to_owned()),
        }
    }
    println!(
        "fuzz: {executions} executions of {} targets",
        targets.lines().count()
    );
    Failure::unless_empty("fuzz: these targets found a failing input:", failed)
}

/// Runs a target. Returns the number of executions; `None` if libFuzzer found a fault.
fn one(
    workspace: &Workspace,
    target: &str,
    seconds: u32,
    seeds: &[PathBuf],
) -> Result<Option<u64>, Failure> {
    let folder = workspace.root.join(FOLDER);
    let found = folder.join("corpus").join(target);
    std::fs::create_dir_all(&found)
        .map_err(|e| Failure::new(format!("{}: {e}", found.display())))?;
    let mut run = Command::new("cargo");
    run.args(["+nightly", "fuzz", "run", "one"])
        .current_dir(&folder);
    run.env("FUZZ_TARGET", target);
    // libFuzzer writes inputs that add coverage to the first folder, and only reads the other
    // folders.
    run.arg(&found).args(seeds);
    run.args(["--", "-print_final_stats=1"]);
    run.arg(format!("-max_total_time={seconds}"));
    run.arg(format!(
        "-artifact_prefix={}/{target}-",
        artifacts(&folder)?.display()
    ));
    let output = run.output().map_err(|_| {
        Failure::new(
            "fuzz: needs a nightly toolchain and cargo-fuzz:\n  \
             rustup toolchain install nightly && cargo install cargo-fuzz",
        )
    })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text.lines().find_map(|line| {
        let count = line.strip_prefix("stat::number_of_executed_units:")?;
        count.trim().parse().ok()
    });
    let coverage = text.lines().rfind(|line| line.contains(" cov: "));
    println!("{}", coverage.unwrap_or_default().trim());
    if output.status.success() {
        return Ok(Some(count.unwrap_or(0)));
    }
    println!("{text}");
    Ok(None)
}

fn artifacts(folder: &std::path::Path) -> Result<PathBuf, Failure> {
    let path = folder.join("artifacts");
    std::fs::create_dir_all(&path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    Ok(path)
}
