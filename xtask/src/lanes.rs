//! Runs the tests of the workspace, built once, in lanes. Tests that wait for real time (network
//! namespaces, a kernel, a mesh in real time) run one after the other in one lane. The longest of
//! them has lanes of its own, in which each case is a separate process with its own network
//! namespace. These lanes run in a process of their own (`ci-waiting`), next to the lanes of all
//! tests that compute, and next to the steps that use the built program. In one lane, as in `cargo
//! test`, the processors would be idle for minutes.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// The longest of the waiting tests, whose cases together take minutes.
const LONGEST: &str = "taim";
/// Number of cases of the longest test that run in parallel. They mostly wait.
const LONGEST_LANES: usize = 2;
/// Number of programs that compute in parallel. Many of them have only one busy thread for a while.
const COMPUTING_LANES: usize = 2;

/// Names of test targets that a later step runs, after it has built the images that they need.
const LATER: [&str; 1] = ["firmware"];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    name: String,
    program: PathBuf,
    /// The package's folder, in which cargo runs it.
    folder: PathBuf,
    /// The only case to run; `None` means all cases.
    case: Option<String>,
}

impl Test {
    fn waits(&self) -> bool {
        WAITING.contains(&self.name.as_str())
    }

    /// Returns the name in the output: the target and its package.
    fn shown(&self) -> String {
        let package = self.folder.file_name().unwrap_or_default();
        let shown = format!("{} of {}", self.name, package.to_string_lossy());
        match &self.case {
            Some(case) => format!("{shown}, {case}"),
            None => shown,
        }
    }

    fn run(&self) -> Result<Output, String> {
        match &self.case {
            Some(case) => self.run_with(&["--exact", case]),
            None => self.run_with(&[]),
        }
    }

    fn run_with(&self, args: &[&str]) -> Result<Output, String> {
        // Tests that wait have limits in real time, so they do not run with a low priority.
        let mut run = if self.waits() {
            Command::new(&self.program)
        } else {
            workspace::patient(&self.program)
        };
        run.args(args);
        run.current_dir(&self.folder);
        run.env("CARGO_MANIFEST_DIR", &self.folder);
        run.env("CARGO", workspace::cargo());
        run.envs(thread::variable());
        run.output()
            .map_err(|error| format!("{} does not start: {error}", self.shown()))
    }

    /// Returns a test for each case of the program.
    fn cases(&self) -> Result<Vec<Test>, Failure> {
        let listed = self.run_with(&["--list"]).map_err(Failure::new)?;
        let names = cases(&String::from_utf8_lossy(&listed.stdout));
        if !listed.status.success() || names.is_empty() {
            return Err(Failure::new(format!(
                "test: {} lists no case",
                self.shown()
            )));
        }
        let tests = names.into_iter().map(|name| Test {
            name: self.name.clone(),
            program: self.program.clone(),
            folder: self.folder.clone(),
            case: Some(name),
        });
        Ok(tests.collect())
    }
}

/// Returns the names in the list that a test program prints.
fn cases(list: &str) -> Vec<String> {
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
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
    run(&[(computing, COMPUTING_LANES)])?;
    let mut documented = workspace.patient_cargo();
    workspace::run(documented.args(["test", "--workspace", "--doc"]))
}

/// Runs the tests that wait, in three lanes.
pub fn waiting(workspace: &Workspace) -> Result<(), Failure> {
    let (waiting, _) = tests(workspace)?;
    let (longest, others): (Vec<Test>, Vec<Test>) =
        waiting.into_iter().partition(|test| test.name == LONGEST);
    if longest.is_empty() || others.is_empty() {
        return Err(Failure::new(
            "test: cargo lists no program for the tests that mostly wait",
        ));
    }
    let longest = longest.iter().map(Test::cases);
    let longest: Vec<Vec<Test>> = longest.collect::<Result<_, _>>()?;
    run(&[(longest.concat(), LONGEST_LANES), (others, 1)])
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

/// Runs each list of tests in its number of lanes. A lane that is free takes the list's next test.
fn run(lists: &[(Vec<Test>, usize)]) -> Result<(), Failure> {
    let failed = Mutex::new(Vec::new());
    let next: Vec<AtomicUsize> = lists.iter().map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for ((tests, lanes), next) in lists.iter().zip(&next) {
            for _ in 0..*lanes {
                let failed = &failed;
                scope.spawn(move || {
                    while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                        judge(test, failed);
                    }
                });
            }
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
                failed.extend(failed_cases(&String::from_utf8_lossy(&output.stdout)));
            }
        }
        Err(error) => failed.push(error),
    }
}

/// Returns the names of a test program's failed cases, each with the start of its message. A long log
/// ends with them.
fn failed_cases(printed: &str) -> Vec<String> {
    /// Lines of a message that are repeated, and the characters of each line.
    const SHOWN: (usize, usize) = (4, 160);
    let Some((_, failures)) = printed.split_once("\nfailures:\n") else {
        return Vec::new();
    };
    let failures = failures.split("\nfailures:\n").next().unwrap_or_default();
    let sections = failures.split("\n---- ").skip(1);
    sections
        .map(|section| {
            let (name, message) = section
                .split_once(" stdout ----\n")
                .unwrap_or((section, ""));
            let lines = message.lines().filter(|line| !line.trim().is_empty());
            let lines = lines.filter(|line| !line.starts_with("note: run with"));
            let lines = lines.take(SHOWN.0).map(|line| {
                let start: String = line.chars().take(SHOWN.1).collect();
                format!("\n    {start}")
            });
            format!("  {name}:{}", lines.collect::<String>())
        })
        .collect()
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
            case: None,
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
            case: None,
        };
        assert!(test.waits());
        assert_eq!(test.shown(), "taim of linux");
        assert_eq!(programs(&messages), [test]);
    }

    #[test]
    fn each_case_of_a_list_is_a_test() {
        let list = "a_case: test\nmodule::b: test\n\n2 tests, 0 benchmarks\n";
        assert_eq!(cases(list), ["a_case", "module::b"]);
    }

    #[test]
    fn failed_cases_are_listed_with_the_start_of_their_messages() {
        let printed = "\nrunning 3 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n\
            ---- b stdout ----\n\nthread 'b' (7) panicked at x.rs:1:2:\nleft\nright\n\
            note: run with `RUST_BACKTRACE=1`\n\n---- m::c stdout ----\nError: no room\n\n\n\
            failures:\n    b\n    m::c\n\ntest result: FAILED.\n";
        assert_eq!(
            failed_cases(printed),
            [
                "  b:\n    thread 'b' (7) panicked at x.rs:1:2:\n    left\n    right",
                "  m::c:\n    Error: no room"
            ]
        );
        assert!(failed_cases("killed\n").is_empty());
    }

    #[test]
    fn every_test_of_a_list_runs_and_a_failure_is_named() {
        let test = |program: &str, case: &str| Test {
            name: "taim".to_owned(),
            program: PathBuf::from(program),
            folder: Workspace::here().root,
            case: Some(case.to_owned()),
        };
        let good = |count: usize| vec![test("true", "good"); count];
        assert_eq!(run(&[(good(5), 2), (good(1), 1)]), Ok(()));
        let with_bad = [good(3), vec![test("false", "bad")], good(1)].concat();
        let failure = run(&[(with_bad, 2), (good(1), 1)]).unwrap_err();
        assert!(failure.to_string().contains("taim of"), "{failure}");
        assert!(
            failure.to_string().contains(", bad: exit status: 1"),
            "{failure}"
        );
        assert!(!failure.to_string().contains("good"), "{failure}");
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
