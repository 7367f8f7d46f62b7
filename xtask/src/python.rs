//! Redpoll in Python: builds the extension and runs its tests, in the environment that
//! `scripts/setup.sh test` makes. Without that environment the check is skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::report::Failure;
use crate::workspace::{self, Workspace};

/// Builds the extension, and runs the tests and the check of types.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let environment = workspace.root.join("target/tools/python/bin");
    if !has_packages(&environment.join("python")) {
        return Ok(Some(
            "Python 3.11 with pytest and others is missing (scripts/setup.sh test)".into(),
        ));
    }
    build(workspace)?;
    let packages = lay_out(workspace)?;
    let sources = "crates/python/python/redpoll";
    let mypy = ["--strict", "--cache-dir", "target/python/mypy", sources];
    workspace::run(
        Command::new(environment.join("mypy"))
            .current_dir(&workspace.root)
            .args(mypy),
    )?;
    // Checks that the stubs describe the contents of the module.
    let stubtest = ["-m", "mypy.stubtest", "redpoll._native"];
    workspace::run(
        Command::new(environment.join("python"))
            .current_dir(&packages)
            .env("PYTHONPATH", &packages)
            .env("MYPYPATH", &packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .args(stubtest),
    )?;
    let pytest = ["-q", "-rs", "-p", "no:cacheprovider", "crates/python/tests"];
    workspace::run(
        Command::new(environment.join("pytest"))
            .current_dir(&workspace.root)
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .args(pytest),
    )?;
    Ok(None)
}

/// Builds the extension. With these packages and this example, cargo selects the features of
/// dependencies as for the tests, so that the crates below the extension are not built again.
fn build(workspace: &Workspace) -> Result<(), Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--quiet", "--workspace", "--lib"]);
    workspace::run(cargo.args(["--example", "seeds"]))
}

fn has_packages(python: &Path) -> bool {
    let imports = ["-c", "import pytest, mypy"];
    python.is_file() && workspace::output(Command::new(python).args(imports)).is_ok()
}

/// Combines Python files and native module as in the wheel; returns the folder to import from.
fn lay_out(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.root.join("target/python");
    let package = folder.join("redpoll");
    let sources = workspace.root.join("crates/python/python/redpoll");
    let native = workspace.root.join("target/debug/lib_native.so");
    let copy = || {
        if package.exists() {
            std::fs::remove_dir_all(&package)?;
        }
        std::fs::create_dir_all(&package)?;
        for entry in std::fs::read_dir(&sources)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), package.join(entry.file_name()))?;
            }
        }
        std::fs::copy(&native, package.join("_native.abi3.so")).map(drop)
    };
    copy().map_err(|error: std::io::Error| {
        Failure::new(format!(
            "python: cannot build the package's folder {}: {error}",
            package.display()
        ))
    })?;
    Ok(folder)
}
