//! Passes random bytes to every parser and engine.

use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Default number of seconds for each target.
const SECONDS: u32 = 60;

/// Factors of the time for targets with more to find than a codec has.
const LONGER: [(&str, u32); 1] = [("tcp", 10)];

pub fn run(workspace: &Workspace, seconds: Option<u32>) -> Outcome {
    let seconds = seconds.unwrap_or(SECONDS);
    let folder = workspace.root.join("fuzz");
    let fuzz = || {
        let mut cargo = Command::new("cargo");
        cargo.args(["+nightly", "fuzz"]).current_dir(&folder);
        cargo
    };
    let targets = workspace::output(fuzz().arg("list")).map_err(|_| {
        Failure::new(
            "fuzz: needs a nightly toolchain and cargo-fuzz:\n  \
             rustup toolchain install nightly && cargo install cargo-fuzz",
        )
    })?;
    let mut failed = Vec::new();
    for target in targets.lines() {
        let longer = LONGER.iter().find(|(name, _)| *name == target);
        let seconds = seconds.saturating_mul(longer.map_or(1, |(_, times)| *times));
        println!("== {target}: {seconds} s");
        let mut run = fuzz();
        run.args(["run", target]);
        // Findings go to the first folder; the second is only read.
        let seeds = folder.join("seeds").join(target);
        if seeds.is_dir() {
            let found = folder.join("corpus").join(target);
            std::fs::create_dir_all(&found)
                .map_err(|e| Failure::new(format!("{}: {e}", found.display())))?;
            run.args([found, seeds]);
        }
        run.args(["--", &format!("-max_total_time={seconds}")]);
        if workspace::run(&mut run).is_err() {
            failed.push(target.to_owned());
        }
    }
    Failure::unless_empty("fuzz: these targets found a failing input:", failed)
}
