//! The files that a program can still open, and the system calls that it can still make, after it
//! has opened all files that it needs. Both restrictions are permanent, and the program's threads
//! inherit them.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, Scope,
};

use super::syscalls;

/// The version of Landlock's interface whose rights are requested. A kernel with an older version
/// applies fewer restrictions.
const LANDLOCK: ABI = ABI::V6;

/// Folders in which the C library finds the configuration and the modules of its name resolution.
const RESOLVER: [&str; 5] = ["/etc", "/run", "/usr", "/lib", "/lib64"];

/// The rights that a program still needs. By default it can only use the files that it has open.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    reads: Vec<PathBuf>,
    devices: Vec<PathBuf>,
    removes: Vec<PathBuf>,
    connects: Vec<u16>,
    signals: bool,
    executes: bool,
}

impl Sandbox {
    /// Allows reading files at or below `path`.
    #[must_use]
    pub fn with_reading(mut self, path: impl Into<PathBuf>) -> Self {
        self.reads.push(path.into());
        self
    }

    /// Allows opening the device `path` again, even if it was unplugged meanwhile. The rule is for
    /// its folder, because a rule for a file ends with the file.
    #[must_use]
    pub fn with_device(mut self, path: &Path) -> Self {
        let real = fs::canonicalize(path);
        let real = real.as_deref().unwrap_or(path);
        self.devices.extend(real.parent().map(Path::to_owned));
        self
    }

    #[must_use]
    pub fn with_removal(mut self, path: &Path) -> Self {
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        self.removes
            .push(folder.unwrap_or(Path::new(".")).to_owned());
        self
    }

    /// Allows TCP connections to `place`, an address or a name with a port: Landlock limits only
    /// the port. A name also needs the files that the C library reads to resolve it.
    #[must_use]
    pub fn with_connections_to_place(mut self, place: &str) -> Self {
        let port = place
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse::<u16>().ok());
        self.connects.extend(port);
        if place.parse::<SocketAddr>().is_err() {
            // A long answer of a name server is sent over TCP.
            self.connects.push(53);
            self.reads.extend(RESOLVER.map(PathBuf::from));
        }
        self
    }

    /// Allows signals to processes that were started before [`Sandbox::enter`].
    #[must_use]
    pub fn with_signals(mut self) -> Self {
        self.signals = true;
        self
    }

    /// Allows starting programs. Removes all restrictions of Landlock, because the files that those
    /// programs need are unknown; the limits of system calls remain.
    #[must_use]
    pub fn with_programs(mut self) -> Self {
        self.executes = true;
        self
    }

    /// Restricts this process. Returns a line for each restriction that the kernel, or this
    /// processor, does not have. Fails if the kernel refuses a restriction that it supports. A path
    /// that does not exist is left out.
    pub fn enter(&self) -> io::Result<Vec<String>> {
        let mut missing = Vec::new();
        if !self.executes {
            let status = self.restrict_files().map_err(io::Error::other)?;
            missing.extend(shortfall(&status));
        }
        missing.extend(syscalls::restrict(self.executes)?);
        Ok(missing)
    }

    fn restrict_files(&self) -> Result<RestrictionStatus, RulesetError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(LANDLOCK))?
            .handle_access(AccessNet::from_all(LANDLOCK))?;
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
        if !self.signals {
            ruleset = ruleset.scope(Scope::Signal)?;
        }
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let rules = [
            (&self.reads, read),
            (&self.devices, device),
            (&self.removes, AccessFs::RemoveFile.into()),
        ];
        let mut ruleset = ruleset.create()?;
        for (paths, access) in rules {
            for path in paths {
                if let Ok(fd) = PathFd::new(path) {
                    ruleset = ruleset.add_rule(PathBeneath::new(fd, within(path, access)))?;
                }
            }
        }
        for port in &self.connects {
            ruleset = ruleset.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        ruleset.restrict_self()
    }
}

/// Returns the rights of `access` that apply to the kind of file at `path`.
fn within(path: &Path, access: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(LANDLOCK)
    }
}

fn shortfall(status: &RestrictionStatus) -> Option<String> {
    match status.ruleset {
        RulesetStatus::FullyEnforced => None,
        RulesetStatus::PartiallyEnforced => Some(
            "this kernel has an old version of Landlock: the sandbox limits access to files, but at least one of these stays unlimited: truncation, ioctl(2) on devices, TCP connections, signals, abstract Unix sockets".to_owned(),
        ),
        RulesetStatus::NotEnforced => Some(
            "this kernel has no Landlock, so the sandbox does not limit which files the program can open".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_for_a_device_is_one_for_its_real_folder() {
        let folder = std::env::temp_dir().join(format!("redpoll-link-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let link = folder.join("link");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let sandbox = Sandbox::default().with_device(&link);
        assert_eq!(sandbox.devices, [Path::new("/dev")]);
        let sandbox = Sandbox::default().with_device(Path::new("/dev/not-there"));
        assert_eq!(sandbox.devices, [Path::new("/dev")]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_name_needs_the_resolver_and_an_address_does_not() {
        let address = Sandbox::default().with_connections_to_place("[::1]:7000");
        assert_eq!((address.connects, address.reads.len()), (vec![7_000], 0));
        let name = Sandbox::default().with_connections_to_place("board.example:7000");
        assert_eq!((name.connects, name.reads.len()), (vec![7_000, 53], 5));
    }

    #[test]
    fn a_file_in_this_folder_is_removed_from_it() {
        let sandbox = Sandbox::default().with_removal(Path::new("socket"));
        assert_eq!(sandbox.removes, [Path::new(".")]);
    }
}
