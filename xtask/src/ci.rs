//! Runs all checks that a change must pass.

use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Instant;

use crate::beside::{Beside, Ended, Priority};
use crate::purity::{Toolchain, Way};
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};
use crate::{
    api, arrows, boards, book, clib, deny, dissect, dist, docs, features, firmware, hosts, lanes,
    left_out, lines, names, prose, publish, purity, python, reference, release, rfc, size, thread,
    tutorials, wasm, web, workflows,
};

/// A step: its name and its function. `Ok(Some(reason))` means that the step was skipped.
type Step = (
    &'static str,
    fn(&Workspace) -> Result<Option<String>, Failure>,
);

/// Steps that take seconds and fail most often.
const FIRST: [Step; 13] = [
    ("fmt", fmt),
    ("arrows", |w| arrows::run(w).map(|()| None)),
    ("lines", |w| lines::run(w).map(|()| None)),
    ("names", |w| names::run(w).map(|()| None)),
    ("prose", |w| prose::run(w).map(|()| None)),
    ("tests named", |w| left_out::run(w).map(|()| None)),
    ("workflows", workflows::run),
    ("version", release::check),
    ("rfc", |w| rfc::run(w, false).map(|()| None)),
    ("reference", |w| reference::check(w).map(|()| None)),
    ("book", book::run),
    ("web", web::assets),
    ("deny", deny::run),
];

/// Builds for microcontrollers and of OpenThread, in separate folders. They run in parallel with
/// [`BUILDS`], whose last crates use only one processor, as does the linking of an image.
const BESIDE: [Step; 3] = [
    ("boards", boards::short),
    ("OpenThread built", thread::build),
    ("purity and size", purity_and_size),
];

/// Builds for this machine.
const BUILDS: [Step; 8] = [
    ("clippy", clippy),
    ("features", features::short),
    ("wasm", wasm::check),
    ("api", api::run),
    ("hosts", hosts::short),
    ("publish", publish::run),
    ("doc", doc),
    ("tests built", |w| lanes::build(w).map(|()| None)),
];

/// Tests that mostly wait ([`lanes`]), tutorials with a mesh in real time, and the tests of the web
/// page, which have limits in milliseconds. They have a higher priority than the steps that run at
/// the same time.
const WAITING: [Step; 3] = [
    ("tests that wait", |w| lanes::waiting(w).map(|()| None)),
    ("tutorials", |w| {
        tutorials::run(w, &tutorials::Options::default())
    }),
    ("page", web::page),
];

/// The link of OpenThread's module, and the tests that compute.
const NEXT: [Step; 2] = [("OpenThread linked", thread::link), ("test", test)];

/// Steps that use the program from the build of the tests. None of them builds this program or the
/// tests again.
const USING: [Step; 6] = [
    ("package for C", clib::check),
    ("firmware", |w| firmware::run(w, false)),
    ("package", dist::short),
    ("dissect-check", |w| {
        dissect::run(w, &dissect::Options::short())
    }),
    ("docs", |w| {
        docs::run(w, &docs::Options::short_check()).map(|()| None)
    }),
    ("python", python::run),
];

/// The step that runs alone: its build with modules replaces the program of the tests.
const LAST: [Step; 1] = [("modules", modules)];

pub fn run(workspace: &Workspace, keep_going: bool) -> Outcome {
    let commit = release::passed::clean_commit(&workspace.root);
    let mut ran = Ran::new(keep_going);
    ran.steps(workspace, &FIRST);
    if ran.goes_on() {
        let beside = Beside::start(workspace, &["ci-beside"], Priority::Usual)?;
        ran.steps(workspace, &BUILDS);
        // Waits for the process even after a failure of other steps, so that no process remains.
        ran.beside(&beside.wait()?);
    }
    if ran.goes_on() {
        let waiting = Beside::start(workspace, &["ci-waiting"], Priority::Usual)?;
        let using = Beside::start(workspace, &["ci-using"], Priority::Low)?;
        ran.steps(workspace, &NEXT);
        ran.beside(&using.wait()?);
        ran.beside(&waiting.wait()?);
        ran.steps(workspace, &LAST);
    }
    let skipped = ran.skipped.clone();
    ran.ended()?;
    release::passed::note(&workspace.root, commit.as_deref(), &skipped);
    println!("ci: ok");
    Ok(())
}

/// Runs the builds of [`BESIDE`] in a separate process.
pub fn run_beside(workspace: &Workspace) -> Outcome {
    run_parallel(workspace, &BESIDE)
}

/// Runs the tests of [`WAITING`] in a separate process.
pub fn run_waiting(workspace: &Workspace) -> Outcome {
    run_parallel(workspace, &WAITING)
}

/// Runs the steps of [`USING`] in a separate process.
pub fn run_using(workspace: &Workspace) -> Outcome {
    run_parallel(workspace, &USING)
}

fn run_parallel(workspace: &Workspace, steps: &[Step]) -> Outcome {
    let mut ran = Ran::new(true);
    ran.steps(workspace, steps);
    ran.ended()
}

/// The line above the list of failed steps, with which a run ends.
const FAILED: &str = "ci: these steps failed:";

/// The steps so far and their outcomes.
struct Ran {
    keep_going: bool,
    failed: Vec<String>,
    skipped: Vec<String>,
}

impl Ran {
    fn new(keep_going: bool) -> Ran {
        let (failed, skipped) = (Vec::new(), Vec::new());
        Ran {
            keep_going,
            failed,
            skipped,
        }
    }

    fn goes_on(&self) -> bool {
        self.keep_going || self.failed.is_empty()
    }

    fn steps(&mut self, workspace: &Workspace, steps: &[Step]) {
        for (name, step) in steps {
            if !self.goes_on() {
                return;
            }
            println!("== {name}");
            let (start, computed) = (Instant::now(), computed());
            match step(workspace) {
                Ok(None) => println!("== {name}: ok, {}", spent(start, computed)),
                Ok(Some(reason)) => {
                    println!("== {name}: skipped, {reason}");
                    self.skipped.push(format!("{name}: {reason}"));
                }
                Err(failure) => {
                    eprintln!("{failure}\n== {name}: failed");
                    self.failed.push(format!("{name}: {failure}"));
                }
            }
        }
    }

    /// Prints the output of the parallel process, and adds the steps that it has skipped and those
    /// that failed.
    fn beside(&mut self, ended: &Ended) {
        ended.show();
        self.skipped.extend(skipped_beside(&ended.printed));
        if !ended.status.success() {
            let failed = failed_beside(&ended.errors);
            self.failed
                .push(failed.unwrap_or_else(|| {
                    format!("the steps that ran in parallel: {}", ended.status)
                }));
        }
    }

    fn ended(self) -> Outcome {
        for skip in &self.skipped {
            println!("skipped {skip}");
        }
        Failure::unless_empty(FAILED, self.failed)
    }
}

/// Formats the duration of a step, and its processor time if the system reports it.
fn spent(start: Instant, before: Option<f64>) -> String {
    let seconds = start.elapsed().as_secs_f64();
    match before.zip(computed()) {
        Some((before, now)) => format!("{seconds:.1} s ({:.0} s of processor time)", now - before),
        None => format!("{seconds:.1} s"),
    }
}

/// Returns the processor time in seconds of all finished child processes, if the system reports it.
fn computed() -> Option<f64> {
    /// Linux counts in hundredths of a second, whatever the frequency of its timer is.
    const TICKS_PER_S: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process is in brackets and may contain blanks, so the fields are read after
    // its closing bracket. The first of these fields is the state of the process.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(13).take(2);
    ticks
        .map(|it| it.parse::<f64>().ok())
        .sum::<Option<f64>>()
        .map(|it| it / TICKS_PER_S)
}

/// Separate workspaces, which `cargo fmt --all` omits.
const OWN_WORKSPACES: [&str; 4] = [
    "examples/nrf52840/Cargo.toml",
    "examples/template/Cargo.toml",
    "firmware/Cargo.toml",
    "fuzz/Cargo.toml",
];

fn fmt(workspace: &Workspace) -> Result<Option<String>, Failure> {
    if !has(workspace, "fmt") {
        return Ok(Some(
            "rustfmt is missing (rustup component add rustfmt)".into(),
        ));
    }
    let mut here = workspace.cargo();
    here.args(["fmt", "--all", "--check"]);
    workspace::run(&mut here).map_err(|_| Failure::new("fmt: run `cargo fmt --all`"))?;
    for manifest in OWN_WORKSPACES {
        let mut there = workspace.cargo();
        there.args(["fmt", "--manifest-path", manifest, "--check"]);
        workspace::run(&mut there).map_err(|_| {
            Failure::new(format!("fmt: run `cargo fmt --manifest-path {manifest}`"))
        })?;
    }
    Ok(None)
}

fn clippy(workspace: &Workspace) -> Result<Option<String>, Failure> {
    if !has(workspace, "clippy") {
        return Ok(Some(
            "clippy is missing (rustup component add clippy)".into(),
        ));
    }
    let unjudged = unjudged(workspace);
    let mut cargo = workspace.cargo();
    cargo.args(["clippy", "--workspace", "--all-targets"]);
    if unjudged.is_none() {
        cargo.args(["--", "-D", "warnings"]);
    }
    workspace::run(&mut cargo)?;
    Ok(unjudged)
}

/// The Rust release whose warnings are errors, and whose counts of instructions are compared. Each
/// release has new warnings and compiles to other code, which must not fail a check on a new
/// machine.
pub const JUDGED_WITH: &str = "1.95";

/// Returns the release in the output of `--version`, if it is not [`JUDGED_WITH`].
pub fn unjudged_release(version: &str) -> Option<&str> {
    let release = version.split(' ').nth(1).unwrap_or("?").trim();
    (!release.starts_with(&format!("{JUDGED_WITH}."))).then_some(release)
}

/// Returns a note if the installed release of Rust is not [`JUDGED_WITH`]. The warnings of such a
/// release are only shown.
pub fn unjudged(workspace: &Workspace) -> Option<String> {
    let version = workspace::output(workspace.cargo().arg("--version")).unwrap_or_default();
    unjudged_release(&version).map(|version| {
        format!("warnings of Rust {version} are shown; those of {JUDGED_WITH} must be fixed")
    })
}

/// Builds the microcontroller code with one compiler, and measures sizes. Prefers rustup's
/// installed target, which is faster. `make purity` builds and measures with each compiler.
fn purity_and_size(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let installed = Toolchain::find(Some(Way::Installed)).is_ok();
    let way = if installed || Toolchain::find(Some(Way::BuildStd)).is_err() {
        Way::Installed
    } else {
        Way::BuildStd
    };
    Ok(both(purity(workspace, way)?, size(workspace, way)?))
}

/// Returns the skipped steps of the process of [`run_beside`], from its last lines.
fn skipped_beside(told: &str) -> Vec<String> {
    let lines = told.lines().rev();
    let mut skipped: Vec<String> = lines
        .map_while(|line| line.strip_prefix("skipped "))
        .map(str::to_owned)
        .collect();
    skipped.reverse();
    skipped
}

/// Returns the list of failed steps at the end of the errors of a parallel process, without its
/// indentation.
fn failed_beside(errors: &str) -> Option<String> {
    let (_, list) = errors.rsplit_once(&format!("{FAILED}\n"))?;
    let lines = list.trim_end().lines();
    let lines: Vec<&str> = lines
        .map(|it| it.strip_prefix("  ").unwrap_or(it))
        .collect();
    Some(lines.join("\n"))
}

/// Returns the skipped parts of two steps together.
fn both(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

/// Checks the device crates ([`mod@purity`]) by `way`, or returns the reason for which this way is
/// skipped. Fails if no way is possible and the user is root, because root can install packages.
fn purity(workspace: &Workspace, way: Way) -> Result<Option<String>, Failure> {
    match Toolchain::find(Some(way)) {
        Ok(_) => purity::run(workspace, Some(way)).map(|()| None),
        Err(_) if is_root() => {
            Toolchain::find(None)?;
            Ok(Some(way.advice().to_owned()))
        }
        Err(_) => purity::sources(workspace).map(|()| Some(way.advice().to_owned())),
    }
}

fn size(workspace: &Workspace, way: Way) -> Result<Option<String>, Failure> {
    let Ok(toolchain) = Toolchain::find(Some(way)) else {
        return Ok(Some(way.advice().to_owned()));
    };
    if let Err(failure) = size::possible(&toolchain) {
        return Ok(Some(failure.to_string()));
    }
    size::run(workspace, &size::Options::check(way))?;
    Ok(size::uncounted().or_else(|| toolchain.unjudged()))
}

/// Builds the documentation with the arguments and features of [`clippy`], and with its driver.
/// Cargo keeps the results of each compiler apart, so it would otherwise compile 58 crates again.
fn doc(workspace: &Workspace) -> Result<Option<String>, Failure> {
    /// Libraries, and programs without a library of the same name. Because `seeds` is an example,
    /// cargo selects the same features of dependencies as for tests.
    const DOCUMENTED: [&str; 7] = [
        "--lib",
        "--bin",
        "redpoll",
        "--bin",
        "xtask",
        "--example",
        "seeds",
    ];
    let mut cargo = workspace.cargo();
    cargo.args(["doc", "--workspace", "--no-deps", "--quiet"]);
    cargo.args(DOCUMENTED);
    let unjudged = unjudged(workspace);
    if unjudged.is_none() {
        cargo.env("RUSTDOCFLAGS", "-D warnings");
    }
    if let Some(driver) = workspace::clippy_driver() {
        let judged = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
        cargo.env("RUSTC_WORKSPACE_WRAPPER", driver);
        cargo.env("CLIPPY_ARGS", if unjudged.is_none() { judged } else { "" });
    }
    workspace::run(&mut cargo)?;
    Ok(unjudged)
}

/// Sets of features of `redpoll-tcp` that are tested in addition to the defaults: no features, and
/// those of the nodes of simulations and images, with a small scoreboard.
const TCP_FEATURES: [&str; 2] = ["", "stats,more-options,rack-tlp,gentle-recovery"];

fn test(workspace: &Workspace) -> Result<Option<String>, Failure> {
    lanes::computing(workspace)?;
    for features in TCP_FEATURES {
        let mut cargo = workspace.patient_cargo();
        cargo.args(["test", "-p", "redpoll-tcp", "--no-default-features"]);
        cargo.args(["--features", features]);
        workspace::run(&mut cargo)?;
    }
    Ok(None)
}

/// Builds and tests the program with nodes of another stack, a feature that its default build
/// lacks. The command names all packages, because a command for the program alone would select
/// other features of the packages below the program and build them again.
fn modules(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let with = ["--workspace", "--features", "redpoll/modules"];
    if has(workspace, "clippy") {
        let mut cargo = workspace.cargo();
        // Only the binary `redpoll` and the test `modules` have code of the feature `modules`. An
        // earlier step checked the other targets.
        cargo.arg("clippy").args(with);
        cargo.args(["--bin", "redpoll", "--test", "modules"]);
        if unjudged(workspace).is_none() {
            cargo.args(["--", "-D", "warnings"]);
        }
        workspace::run(&mut cargo)?;
    }
    let mut cargo = workspace.cargo();
    cargo.arg("test").args(with).args(["--test", "modules"]);
    workspace::run(&mut cargo)?;
    Ok(None)
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Returns whether cargo has the subcommand; a distribution may package it separately.
fn has(workspace: &Workspace, subcommand: &str) -> bool {
    let mut cargo: Command = workspace.cargo();
    cargo.args([subcommand, "--version"]);
    workspace::output(&mut cargo).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setup_installs_the_release_with_which_everything_is_judged() {
        let settings = include_str!("../../scripts/env.sh");
        let installed = settings
            .lines()
            .find_map(|line| line.strip_prefix("RUST_TESTED="));
        assert_eq!(
            unjudged_release(&format!("rustc {}", installed.unwrap())),
            None
        );
    }

    #[test]
    fn skips_of_a_parallel_process_are_found_in_its_last_lines() {
        let told = "skipped early: x\n== boards\nskipped boards: no C\nskipped size: no QEMU\n";
        assert_eq!(skipped_beside(told), ["boards: no C", "size: no QEMU"]);
        assert!(skipped_beside("== boards: ok\n").is_empty());
    }

    #[test]
    fn failed_steps_of_a_parallel_process_are_listed_again() {
        let inner = Failure::unless_empty(FAILED, vec!["page: no Chromium\nfound".to_owned()]);
        let errors = format!("a warning\nxtask: {}\n", inner.unwrap_err());
        assert_eq!(
            failed_beside(&errors).as_deref(),
            Some("page: no Chromium\nfound")
        );
        assert_eq!(failed_beside("killed\n"), None);
    }
}
