//! Paths of the workspace, and calls of cargo.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::report::Failure;

/// Crates that must run on a microcontroller.
pub const DEVICE_CRATES: [&str; 13] = [
    "base",
    "wire",
    "tcp",
    "mac",
    "lowpan",
    "stack",
    "socket",
    "assist",
    "border",
    "uart",
    "transceiver",
    "leaf",
    "ota",
];

/// The repository.
pub struct Workspace {
    pub root: PathBuf,
}

impl Workspace {
    /// Returns the workspace in which this program was built.
    pub fn here() -> Self {
        let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
        Workspace {
            root: xtask.parent().unwrap_or(xtask).to_path_buf(),
        }
    }

    /// Returns the folders under `crates/` that are packages, sorted.
    pub fn crates(&self) -> Result<Vec<String>, Failure> {
        let folder = self.root.join("crates");
        let unreadable = |e| Failure::new(format!("cannot read {}: {e}", folder.display()));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if entry.path().join("Cargo.toml").is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    pub fn device_crates(&self) -> Result<Vec<&'static str>, Failure> {
        let existing = self.crates()?;
        let is_there = |name: &&str| existing.iter().any(|e| e == name);
        Ok(DEVICE_CRATES.into_iter().filter(is_there).collect())
    }

    /// Returns the cargo that runs this program, in the repository's root.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.root);
        command
    }

    /// Returns the same cargo with a low priority, see [`patient`].
    pub fn patient_cargo(&self) -> Command {
        let mut command = patient(cargo());
        command.current_dir(&self.root);
        command
    }

    /// Returns `path` relative to the root.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Returns a command that runs `program` with a low priority, because tests with limits in real
/// time may run at the same time.
pub fn patient(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "10"]).arg(program);
    command
}

/// Returns the compiler with Clippy's lints, if Clippy is installed next to cargo.
pub fn clippy_driver() -> Option<PathBuf> {
    let driver = PathBuf::from(cargo()).with_file_name("clippy-driver");
    driver.is_file().then_some(driver)
}

pub fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = show(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("`{shown}` failed: {status}"))),
        Err(e) => Err(Failure::new(format!("cannot run `{shown}`: {e}"))),
    }
}

/// Returns the program of this version: `own`, which setup.sh installed, or `name` in PATH.
pub fn tool(own: PathBuf, name: &str, version: &str) -> Option<PathBuf> {
    [own, PathBuf::from(name)].into_iter().find(|program| {
        let said = output(Command::new(program).arg("--version"));
        said.is_ok_and(|said| said.trim() == version)
    })
}

pub fn output(command: &mut Command) -> Result<String, Failure> {
    let shown = show(command);
    let output = command
        .output()
        .map_err(|e| Failure::new(format!("cannot run `{shown}`: {e}")))?;
    if !output.status.success() {
        // Some programs, such as the demonstration, write why they failed to standard output.
        let is_silent = output.stderr.trim_ascii().is_empty();
        let said = if is_silent {
            &output.stdout
        } else {
            &output.stderr
        };
        return Err(Failure::new(format!(
            "`{shown}` failed: {}\n{}",
            output.status,
            String::from_utf8_lossy(said)
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the path of the binary `name` in cargo's messages.
pub fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|message| {
            // The program's unit tests are a program of the same name.
            message["target"]["name"] == name
                && message["profile"]["test"] != true
                && message["executable"].is_string()
        })
        .and_then(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_program_is_found_among_cargos_messages() {
        let artifact = |name: &str, path: Value| {
            json!({
                "reason": "compiler-artifact",
                "target": { "name": name },
                "executable": path,
            })
            .to_string()
        };
        let messages = [
            artifact("tcp", Value::Null),
            "not JSON".to_owned(),
            artifact("tcp", json!("/x/tcp")),
            artifact("pair", json!("/x/pair")),
            json!({
                "target": { "name": "bare" },
                "executable": "/x/bare-tests",
                "profile": { "test": true },
            })
            .to_string(),
        ]
        .join("\n");
        assert_eq!(executable(&messages, "tcp"), Some("/x/tcp".into()));
        assert_eq!(executable(&messages, "pair"), Some("/x/pair".into()));
        assert_eq!(executable(&messages, "bare"), None);
    }
}
