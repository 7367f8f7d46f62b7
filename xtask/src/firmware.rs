//! The images of a leaf, and the tests that run them on emulated microcontrollers together with the
//! simulator: `cargo xtask firmware`.

use crate::purity::Toolchain;
use crate::report::Failure;
use crate::size::{self, firmware};
use crate::workspace::{self, Workspace};

/// Runs the tests; with `lasts`, the endurance test has its long form. Returns a note if the tests
/// were skipped.
pub fn run(workspace: &Workspace, lasts: bool) -> Result<Option<String>, Failure> {
    let Ok(toolchain) = Toolchain::find(None) else {
        return Ok(Some(
            "no toolchain has the target thumbv6m-none-eabi (scripts/setup.sh size)".to_owned(),
        ));
    };
    if let Err(failure) = size::possible(&toolchain) {
        return Ok(Some(failure.to_string()));
    }
    if let Some(reason) = size::uncounted() {
        return Ok(Some(reason));
    }
    let folder = firmware::leaves(workspace, &toolchain)?;
    let mut cargo = workspace.cargo();
    // Builds the package with the features of all tests, because a build of this package alone
    // would select other features of its dependencies.
    cargo.args(["test", "--workspace", "--test", "firmware"]);
    cargo.env("REDPOLL_FIRMWARE", folder);
    if lasts {
        cargo.args(["--", "--nocapture"]);
        cargo.env("REDPOLL_FIRMWARE_LONG", "1");
    }
    workspace::run(&mut cargo)?;
    Ok(None)
}
