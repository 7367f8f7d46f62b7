//! Measures how long a new user of the Python package waits: for the installation of the wheel in
//! an empty environment, and for the first result.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use super::{list, shown};
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Longest installation, in seconds. No package is downloaded: the wheel needs none.
const MAX_INSTALL_S: f64 = 10.0;
/// Longest time from the start of Python to the first result, in seconds.
const MAX_RUN_S: f64 = 2.0;

/// Prints the times with the wheel of `target/dist` for this computer, and fails if they are too long.
pub fn run(workspace: &Workspace) -> Outcome {
    println!("wheel: {}", measure(workspace)?);
    Ok(())
}

/// Installs the wheel in an empty environment, runs a scenario, and returns a line with the times.
pub fn measure(workspace: &Workspace) -> Result<String, Failure> {
    let files = list(&workspace.root.join("target/dist"))?;
    let fits = |path: &&PathBuf| shown(path).ends_with(&format!("{}.whl", std::env::consts::ARCH));
    let Some(wheel) = files.iter().find(fits) else {
        return Err(Failure::new(
            "dist-test: there is no wheel for this computer: make wheel-test, or make dist",
        ));
    };
    let environment = workspace.root.join("target/dist-venv");
    workspace::output(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&environment),
    )?;
    let start = Instant::now();
    let mut pip = Command::new(environment.join("bin/pip"));
    workspace::output(pip.args(["install", "--no-index", "--quiet"]).arg(wheel))?;
    let installed = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let program = "import redpoll; redpoll.run('line-3')";
    workspace::output(Command::new(environment.join("bin/python")).args(["-c", program]))?;
    let ran = start.elapsed().as_secs_f64();
    let line = format!(
        "installed in {installed:.1} s (at most {MAX_INSTALL_S}), first result in {ran:.1} s (at most {MAX_RUN_S})"
    );
    if installed > MAX_INSTALL_S || ran > MAX_RUN_S {
        return Err(Failure::new(format!("the wheel is too slow: {line}")));
    }
    Ok(line)
}
