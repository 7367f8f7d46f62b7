//! Checks of the live view's page: `crates/web/assets` is the build of `web/`, and the page works in
//! a browser. If Node, an npm package or Chromium is missing, a check returns what is missing.

use std::path::Path;
use std::process::Command;

use crate::report::Failure;
use crate::workspace::{self, Workspace};

/// The output of `npm run build`, which `crates/web` contains.
const FILES: [&str; 3] = ["index.html", "live.css", "live.js"];
/// The oldest Node that builds the page.
const NODE: &str = "20.19 or later";
/// Tests of the page, and what a failure of each means.
const PAGE_TESTS: [(&str, &str); 2] = [
    ("test/run.mjs", "the live view does not work in a browser"),
    (
        "test/access.mjs",
        "a page violates a rule of accessibility, or a name can become markup",
    ),
];
/// Exit code of a test whose requirements are missing.
const SKIPPED: i32 = 77;

/// Builds the page again, and compares it with `crates/web/assets`.
pub fn assets(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let folder = workspace.root.join("web");
    if let Some(missing) = prepare(&folder) {
        return Ok(Some(missing));
    }
    let fresh = workspace.root.join("target/web");
    let mut vite = Command::new("npx");
    vite.current_dir(&folder);
    vite.args(["vite", "build", "--logLevel", "warn", "--emptyOutDir"]);
    vite.arg("--outDir").arg(&fresh);
    workspace::run(&mut vite)?;
    let kept = workspace.root.join("crates/web/assets");
    let differs = |name: &&str| {
        let read = |folder: &Path| std::fs::read(folder.join(name)).ok();
        read(&fresh) != read(&kept)
    };
    let other = FILES.into_iter().filter(differs).map(str::to_owned);
    Failure::unless_empty(
        "web: crates/web/assets differs from the build of web/; run `make web` and commit these \
         files:",
        other.collect(),
    )?;
    let mut types = Command::new("npx");
    workspace::run(types.current_dir(&folder).args(["tsc", "--noEmit"]))?;
    Ok(None)
}

/// Tests the page in a browser, served by the program of the tests' build.
pub fn page(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let folder = workspace.root.join("web");
    let program = workspace.root.join("target/debug/redpoll");
    if let Some(missing) = prepare(&folder) {
        return Ok(Some(missing));
    }
    for (test, what) in PAGE_TESTS {
        let mut node = Command::new("node");
        node.current_dir(&folder).arg(test).arg(&program);
        node.args(["--short", "--book"])
            .arg(workspace.root.join("target/book"));
        match node.status().map(|status| status.code()) {
            Ok(Some(0)) => {}
            Ok(Some(SKIPPED)) => {
                return Ok(Some(
                    "Chromium is missing (apt-get install chromium)".into(),
                ));
            }
            _ => return Err(Failure::new(format!("page: {what}"))),
        }
    }
    Ok(None)
}

fn node_is_recent() -> bool {
    let version = workspace::output(Command::new("node").arg("--version"));
    let version = version.unwrap_or_default();
    let mut numbers = version.trim().trim_start_matches('v').split('.');
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    (next(), next()) >= (Some(20), Some(19))
}

/// Returns whether npm installed the packages after the last change of their list.
fn are_current(folder: &Path) -> bool {
    let changed = |name: &str| folder.join(name).metadata()?.modified();
    match (
        changed("package-lock.json"),
        changed("node_modules/.package-lock.json"),
    ) {
        (Ok(listed), Ok(installed)) => installed >= listed,
        _ => false,
    }
}

/// Installs the packages if they are missing or of an older list; returns the part that is missing.
fn prepare(folder: &Path) -> Option<String> {
    let npm = |args: &[&str]| {
        let mut npm = Command::new("npm");
        npm.current_dir(folder).args(args);
        workspace::output(&mut npm).is_ok()
    };
    if !npm(&["--version"]) {
        return Some("Node and npm are missing (apt-get install nodejs npm)".into());
    }
    if !node_is_recent() {
        return Some(format!(
            "the installed Node is too old: Vite needs {NODE}; install a newer Node"
        ));
    }
    if are_current(folder) || npm(&["ci", "--no-fund", "--no-audit"]) {
        return None;
    }
    Some("npm cannot get the packages of web/package-lock.json".into())
}
