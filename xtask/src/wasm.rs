//! Checks that the simulator builds for browsers. `make wasm-test` runs the simulator in a browser.

use std::path::Path;
use std::process::Command;

use crate::report::Failure;
use crate::workspace::{self, Workspace};

const TARGET: &str = "wasm32-unknown-unknown";

/// Checks `crates/wasm` for its target. Returns the part that is missing.
pub fn check(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let sysroot = workspace::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    if !libraries.join(TARGET).exists() {
        return Ok(Some(format!(
            "{TARGET} is not installed (rustup target add {TARGET})"
        )));
    }
    let mut check = workspace.cargo();
    check.args(["check", "--quiet", "--package", "redpoll-wasm"]);
    workspace::run(check.args(["--target", TARGET]))?;
    Ok(None)
}
