//! Redpoll for C as packages.
//!
//! - [`install`]: `cargo xtask c-install` puts header, libraries, `redpoll.pc` and the package of
//!   CMake below a prefix;
//! - [`archives`]: `cargo xtask c-libs` writes static libraries for microcontrollers, and measures
//!   what they take in a linked image;
//! - [`mod@check`]: `cargo xtask c-check` installs into an empty folder and builds the first program of
//!   `docs/c.md` with pkg-config and with CMake.

mod archives;
mod check;
mod footprint;
pub mod install;

use std::path::PathBuf;

use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;

pub use archives::release as archives_of_release;
pub use check::run as check;
pub use check::run_in as check_in;
pub use install::Options as Install;
pub use install::release as install_release;

/// The commands of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Install(Install),
    /// Writes the archives into this folder.
    Archives(PathBuf),
    Footprint(footprint::Action),
}

impl Command {
    /// Parses a command line; `None` if the command does not belong to this module. An error is a
    /// sentence about a wrong argument.
    pub fn parse(args: &[&str]) -> Option<Result<Command, String>> {
        Some(match args {
            ["c-install", options @ ..] => Install::parse(options).map(Command::Install),
            ["c-libs", folder] if !folder.starts_with('-') => {
                Ok(Command::Archives(PathBuf::from(folder)))
            }
            ["c-libs", "--size"] => Ok(Command::Footprint(footprint::Action::Print)),
            ["c-libs", "--size", "--write"] => Ok(Command::Footprint(footprint::Action::Write)),
            ["c-libs", "--size", "--check"] => Ok(Command::Footprint(footprint::Action::Check)),
            ["c-libs", ..] => Err("`c-libs` takes a folder, or `--size`".to_owned()),
            _ => return None,
        })
    }

    pub fn run(&self, workspace: &Workspace) -> Outcome {
        match self {
            Command::Install(options) => install::run(workspace, options),
            Command::Archives(folder) => archives::run(workspace, folder),
            Command::Footprint(action) => footprint::run(workspace, *action),
        }
    }
}

/// Version of the library, and the part that the packages compare.
struct Version {
    full: String,
    /// The part that changes with the interface: the major version, and the minor version if the
    /// major version is 0.
    compatible: String,
}

impl Version {
    fn of(workspace: &Workspace) -> Result<Version, Failure> {
        let manifest = crate::source::read(&workspace.root.join("Cargo.toml"))?;
        let manifest: toml::Table = manifest
            .parse()
            .map_err(|e| Failure::new(format!("Cargo.toml: {e}")))?;
        let full = manifest["workspace"]["package"]["version"].as_str();
        Ok(Version::new(full.unwrap_or_default()))
    }

    fn new(full: &str) -> Version {
        let mut parts = full.splitn(3, '.');
        let (major, minor) = (parts.next().unwrap_or("0"), parts.next().unwrap_or("0"));
        let compatible = match major {
            "0" => format!("0.{minor}"),
            major => major.to_owned(),
        };
        let full = full.to_owned();
        Version { full, compatible }
    }

    fn soname(&self) -> String {
        format!("libredpoll.so.{}", self.compatible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soname_changes_with_the_interface() {
        assert_eq!(Version::new("0.1.7").soname(), "libredpoll.so.0.1");
        assert_eq!(Version::new("2.3.1").soname(), "libredpoll.so.2");
    }

    #[test]
    fn command_lines_are_read() {
        let archives = Command::parse(&["c-libs", "out"]);
        assert_eq!(archives, Some(Ok(Command::Archives("out".into()))));
        assert!(matches!(Command::parse(&["c-libs"]), Some(Err(_))));
        assert!(matches!(Command::parse(&["c-libs", "--out"]), Some(Err(_))));
        assert_eq!(Command::parse(&["size"]), None);
    }
}
