//! Checks the licences and the sources of dependencies, by cargo-deny and `deny.toml`, for the
//! workspace and the other tested workspaces. Without cargo-deny, the check is skipped.

use std::path::PathBuf;
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Version of cargo-deny that `scripts/setup.sh test` installs.
const VERSION: &str = "0.20.2";
/// The workspace and the images.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "firmware/Cargo.toml"];

/// Checks all manifests and returns the skipped ones. Only `make publish-check` checks for known
/// vulnerabilities, because it needs a database that no registry has.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let Some(program) = program(workspace) else {
        return Ok(Some(format!(
            "cargo-deny {VERSION} is missing (scripts/setup.sh test)"
        )));
    };
    for manifest in MANIFESTS {
        println!("deny: {manifest}");
        let mut deny = Command::new(&program);
        deny.current_dir(&workspace.root);
        deny.args(["--log-level", "error", "--manifest-path", manifest]);
        deny.args(["--config", "deny.toml"]);
        // deny.toml may allow a licence that occurs only in another workspace.
        deny.args(["check", "--allow", "license-not-encountered"]);
        deny.args(["licenses", "bans", "sources"]);
        workspace::run(&mut deny)?;
    }
    Ok(None)
}

/// Checks licences and sources for a person: a missing tool is a failure.
pub fn check(workspace: &Workspace) -> Outcome {
    match run(workspace)? {
        None => Ok(()),
        Some(reason) => Err(Failure::new(format!("deny: {reason}"))),
    }
}

/// Returns cargo-deny of version [`VERSION`]: the one that setup.sh installed, or the one in PATH.
fn program(workspace: &Workspace) -> Option<PathBuf> {
    let own = workspace.root.join("target/tools/deny/bin/cargo-deny");
    workspace::tool(own, "cargo-deny", &format!("cargo-deny {VERSION}"))
}
