//! The two public suites: where their scripts are, and which of them run.

use std::path::{Path, PathBuf};

use crate::report::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    FreeBsd,
    Linux,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The script is for IPv4, and the suite has the same script for IPv6.
    HasTwin,
    /// The script tests IPv4 itself.
    OnlyIpv4,
    OverUdp,
    /// The script uses the experimental option of Fast Open, and the suite has the same script for
    /// the standard option.
    Experimental,
}

impl Skipped {
    pub const ALL: [Skipped; 4] = [
        Skipped::HasTwin,
        Skipped::OnlyIpv4,
        Skipped::OverUdp,
        Skipped::Experimental,
    ];

    pub fn what(self) -> &'static str {
        match self {
            Skipped::HasTwin => "scripts for IPv4 with an equal script for IPv6",
            Skipped::OnlyIpv4 => "other scripts for IPv4",
            Skipped::OverUdp => "TCP over UDP",
            Skipped::Experimental => {
                "the experimental Fast Open option (kind 254), with an equal script for kind 34 \
                 (RFC 7413 §4.1.1)"
            }
        }
    }
}

impl Suite {
    pub const ALL: [Suite; 2] = [Suite::FreeBsd, Suite::Linux];

    pub fn key(self) -> &'static str {
        match self {
            Suite::FreeBsd => "freebsd",
            Suite::Linux => "linux",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Suite::FreeBsd => "FreeBSD",
            Suite::Linux => "packetdrill",
        }
    }

    /// Returns the flags that give the library the defaults of the suite's operating system.
    pub fn flags(self) -> &'static str {
        match self {
            Suite::FreeBsd => "rcvbuf=65536,sndbuf=32768,ecn=2,iw=10,delack=40",
            Suite::Linux => "rcvbuf=65535,sndbuf=262144,ecn=0,iw=10",
        }
    }

    /// Returns the folder of the scripts below the folder `given`.
    fn folder(self, given: &Path) -> PathBuf {
        match self {
            Suite::FreeBsd => given.to_path_buf(),
            Suite::Linux => [given.join("gtests/net/tcp"), given.to_path_buf()]
                .into_iter()
                .find(|folder| folder.is_dir())
                .unwrap_or_default(),
        }
    }

    /// Returns all scripts: their names without `.pkt`, and their texts.
    pub fn scripts(self, given: &Path) -> Result<Vec<(String, String)>, Failure> {
        let root = self.folder(given);
        let unreadable = |path: &Path, e| {
            Failure::new(format!("packetdrill: cannot read {}: {e}", path.display()))
        };
        let mut folders = vec![root.clone()];
        let mut scripts = Vec::new();
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder).map_err(|e| unreadable(&folder, e))?;
            for entry in entries.flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "pkt") {
                    let text = std::fs::read(&path).map_err(|e| unreadable(&path, e))?;
                    let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("");
                    scripts.push((
                        name.to_string_lossy().into_owned(),
                        String::from_utf8_lossy(&text).into_owned(),
                    ));
                }
            }
        }
        if scripts.is_empty() {
            let what = format!("packetdrill: no scripts in {}", root.display());
            return Err(Failure::new(what));
        }
        scripts.sort();
        Ok(scripts)
    }

    /// Returns the reason why the script of this name does not run, if there is one.
    pub fn skips(self, name: &str, text: &str, names: &[&str]) -> Option<Skipped> {
        match self {
            Suite::FreeBsd => {
                if text.contains("--udp_encapsulation") || name.starts_with("tcp-over-udp/") {
                    return Some(Skipped::OverUdp);
                }
                if !name.contains("ipv4") {
                    return None;
                }
                if names.contains(&name.replace("ipv4", "ipv6").as_str()) {
                    Some(Skipped::HasTwin)
                } else {
                    Some(Skipped::OnlyIpv4)
                }
            }
            Suite::Linux => {
                if name.ends_with("v4") {
                    return Some(Skipped::OnlyIpv4);
                }
                let standard = name.replace("fastopen/server/", "fastopen/server/opt34/");
                (standard != name && names.contains(&standard.as_str()))
                    .then_some(Skipped::Experimental)
            }
        }
    }
}
