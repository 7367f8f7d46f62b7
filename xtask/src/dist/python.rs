//! The Python package: a source distribution, and a wheel for each architecture that people run
//! Python on. maturin builds both; zig links the wheels with an old C library.

use super::{Release, bill};
use crate::report::Outcome;
use crate::workspace;

/// Oldest systems that the wheels support: those with glibc 2.28.
const COMPATIBILITY: &str = "manylinux_2_28";

pub fn build(release: &Release<'_>) -> Outcome {
    let mut sdist = release.command("maturin");
    workspace::run(sdist.args(["sdist", "--out"]).arg(&release.out))?;
    // Each wheel contains a list of its components (PEP 770). The list that maturin makes would
    // contain paths of this computer.
    let components = bill::make(release, &bill::PYTHON)?;
    for arch in release.options.archs().filter(|arch| arch.has_wheel) {
        let mut wheel = release.command("maturin");
        wheel.args([
            "build",
            "--quiet",
            "--profile",
            "wheel",
            "--locked",
            "--zig",
        ]);
        wheel.args(["--target", arch.target, "--compatibility", COMPATIBILITY]);
        wheel.arg("--sbom-include").arg(&components);
        workspace::run(wheel.arg("--out").arg(&release.out))?;
    }
    Ok(())
}
