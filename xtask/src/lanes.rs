//! Runs the tests of the workspace, built once, in three lanes. Tests that wait for real time
//! (network namespaces, a kernel, a mesh in real time) run one after the other, and the longest of
//! them has a lane of its own. These two lanes run in a process of their own (`ci-waiting`), next to
//! the third lane, which has all tests that compute, and next to the steps that use the built
//! program. In one lane, as in `cargo test`, the processors would be idle for minutes.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use crate::report::Failure;
use crate::thread;
use crate::workspace::{self, Workspace};

/// Tests that mostly wait, by the names of their targets.
const WAITING: [&str; 9] = [
    "device",
    "interop",
    "radio",
    "taim",
    "tun",
    "up_forward",
    "up_joined",
    "up_many",
    "zep",
];

/// The longest of the waiting tests, which takes three quarters of their time.
const LONGEST: &str = "taim";

/// Names of test targets that a later step runs, after it has built the images that they need.
const LATER: [&str; 1] = ["firmware"];

#[derive(Debug, PartialEq, Eq)]
struct Test {
    name: String,
    program: PathBuf,
    /// The package's folder, in which cargo runs it.
    folder: PathBuf,
}

impl Test {
    fn waits(&self) -> bool {
        WAITING.contains(&self.name.as_str())
    }

    /// Returns the name in the output: the target and its package.
    fn shown(&self) -> String {
        let package = self.folder.file_name().unwrap_or_default();
        format!("{} of {}", self.name, package.to_string_lossy())
    }

    fn run(&self) -> Result<Output, String> {
        let run = Command::new(&self.program)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO", workspace::cargo())
            .envs(thread::variable())
            .output();
        run.map_err(|error| format!("{} does not start: {error}", self.shown()))
    }
}

pub fn build(workspace: &Workspace) -> Result<(), Failure> {
    workspace::run(workspace.cargo().args(["test", "--workspace", "--no-run"]))
}

/// Runs the tests that compute, those in documentation last.
pub fn computing(workspace: &Workspace) -> Result<(), Failure> {
    let (_, computing) = tests(workspace)?;
    if computing.is_empty() {
        return Err(Failure::new("test: cargo lists no test program"));
    }
    run(&[computing])?;
    workspace::run(workspace.cargo().args(["test", "--workspace", "--doc"]))
}

/// Runs the tests that wait, in two lanes.
pub fn waiting(workspace: &Workspace) -> Result<(), Failure> {
    let (waiting, _) = tests(workspace)?;
    let (longest, others): (Vec<Test>, Vec<Test>) =
        waiting.into_iter().partition(|test| test.name == LONGEST);
    if longest.is_empty() || others.is_empty() {
        return Err(Failure::new(
            "test: cargo lists no program for the tests that mostly wait",
        ));
    }
    run(&[longest, others])
}

/// Returns the programs of all tests: those that wait, and those that compute.
fn tests(workspace: &Workspace) -> Result<(Vec<Test>, Vec<Test>), Failure> {
    build(workspace)?;
    let mut messages = workspace.cargo();
    messages.args(["test", "--workspace", "--no-run", "--quiet"]);
    messages.arg("--message-format=json");
    let tests = programs(&workspace::output(&mut messages)?).into_iter();
    Ok(tests.partition(Test::waits))
}

fn run(lanes: &[Vec<Test>]) -> Result<(), Failure> {
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for lane in lanes {
            let failed = &failed;
            scope.spawn(move || lane.iter().for_each(|test| judge(test, failed)));
        }
    });
    let failed = failed.into_inner().unwrap_or_default();
    Failure::unless_empty("test: these test programs failed:", failed)
}

/// Runs a program, prints its output when it has ended, and stores its name if it failed.
fn judge(test: &Test, failed: &Mutex<Vec<String>>) {
    let start = Instant::now();
    let ended = test.run();
    let seconds = start.elapsed().as_secs_f64();
    // The lock is held while one lane prints, so that the lines of several lanes do not mix.
    let Ok(mut failed) = failed.lock() else {
        return;
    };
    println!("== test {}: {seconds:.1} s", test.shown());
    match ended {
        Ok(output) => {
            print!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                failed.push(format!("{}: {}", test.shown(), output.status));
            }
        }
        Err(error) => failed.push(error),
    }
}

fn programs(messages: &str) -> Vec<Test> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tests = messages.filter(|message| message["profile"]["test"] == true);
    let now = tests.filter(|message| !LATER.iter().any(|it| message["target"]["name"] == *it));
    now.filter_map(|message| {
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        Some(Test {
            name: message["target"]["name"].as_str()?.to_owned(),
            program: PathBuf::from(message["executable"].as_str()?),
            folder: manifest.parent()?.to_path_buf(),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_programs_of_tests_are_taken_that_no_other_step_runs() {
        let artifact = |name: &str, test: bool, executable: Value| {
            json!({
                "reason": "compiler-artifact",
                "manifest_path": "/w/crates/linux/Cargo.toml",
                "target": { "name": name },
                "profile": { "test": test },
                "executable": executable,
            })
            .to_string()
        };
        let messages = [
            artifact("taim", true, json!("/t/taim-1")),
            artifact("redpoll", false, json!("/t/redpoll")),
            artifact("firmware", true, json!("/t/firmware-1")),
            artifact("library", true, Value::Null),
            "not JSON".to_owned(),
        ]
        .join("\n");
        let test = Test {
            name: "taim".to_owned(),
            program: PathBuf::from("/t/taim-1"),
            folder: PathBuf::from("/w/crates/linux"),
        };
        assert!(test.waits());
        assert_eq!(test.shown(), "taim of linux");
        assert_eq!(programs(&messages), [test]);
    }

    /// A lane must not lose a test because the test was renamed.
    #[test]
    fn each_waiting_test_is_there() -> Result<(), Failure> {
        let crates = Workspace::here().root.join("crates");
        for name in WAITING {
            let places = ["cli", "linux"].map(|package| crates.join(package).join("tests"));
            let there = places.iter().any(|tests| {
                tests.join(format!("{name}.rs")).is_file() || tests.join(name).is_dir()
            });
            assert!(there, "no test {name}");
        }
        Ok(())
    }
}
