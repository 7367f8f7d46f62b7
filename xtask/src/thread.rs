//! Builds OpenThread as a module of the simulator, for the tests with its nodes.
//!
//! `scripts/setup.sh` fetches the sources. The build folder below `target/` is kept, so only the
//! first build takes long.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clib::install::target_dir;
use crate::report::Failure;
use crate::workspace::{self, Workspace};

const SOURCES: &str = "target/peers/openthread";
const BUILD: &str = "target/peers/thread";
/// Library that the build makes last, in its folder.
const LAST: &str = "src/cli/libopenthread-cli-ftd.a";
const MODULE: &str = "target/thread/openthread.so";

/// Variable with the file of the module, which `crates/modules/tests/thread.rs` reads.
const VARIABLE: &str = "REDPOLL_THREAD";

/// Builds OpenThread's libraries. The step is skipped without CMake, a C++ compiler, Python or the
/// sources.
pub fn build(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let module = workspace.root.join(MODULE);
    // A module of an earlier build must not be tested instead of this one.
    if module.exists() {
        std::fs::remove_file(&module)
            .map_err(|e| Failure::new(format!("cannot remove {MODULE}: {e}")))?;
    }
    for tool in ["cmake", "c++", "python3"] {
        if workspace::output(Command::new(tool).arg("--version")).is_err() {
            return Ok(Some(format!("{tool} is missing (scripts/setup.sh thread)")));
        }
    }
    if !workspace.root.join(SOURCES).is_dir() {
        return Ok(Some(
            "OpenThread's sources are missing (scripts/setup.sh thread)".into(),
        ));
    }
    workspace::run(script(workspace).args([SOURCES, BUILD]))?;
    Ok(None)
}

/// Links the libraries and Redpoll for C into the module, if the libraries were built.
pub fn link(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let is_built = workspace.root.join(BUILD).join(LAST).is_file();
    if !is_built {
        return Ok(Some("OpenThread was not built (make thread)".into()));
    }
    // Builds the static library of Redpoll for C, which other tests use, too.
    let mut cargo = workspace.patient_cargo();
    cargo.args(["rustc", "--quiet", "-p", "redpoll-capi", "--lib"]);
    workspace::run(cargo.args(["--crate-type", "staticlib"]))?;
    let library = target_dir(workspace).join("debug/libredpoll_capi.a");
    let mut script = script(workspace);
    script.args([SOURCES, BUILD]).arg(library).arg(MODULE);
    workspace::run(&mut script)?;
    Ok(None)
}

fn script(workspace: &Workspace) -> Command {
    let mut script = Command::new("integrations/openthread/build.sh");
    script.current_dir(&workspace.root);
    script
}

/// Returns the variable for the tests if the module was built.
pub fn variable() -> Option<(&'static str, PathBuf)> {
    let module = Path::new(&Workspace::here().root).join(MODULE);
    module.is_file().then_some((VARIABLE, module))
}
