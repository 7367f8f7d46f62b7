//! Running one script with the tool.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::report::Failure;

/// Longest real time of a script. Time is virtual, so most scripts take 0.2 s.
const LIMIT: Duration = Duration::from_secs(60);

/// The tool, its library, and the folder of its files.
pub struct Tool {
    pub program: PathBuf,
    pub library: PathBuf,
    pub folder: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Passed,
    Failed {
        /// The script's line that the tool names, from 0.
        line: Option<usize>,
        /// The output of the tool, without the path of the script.
        message: String,
    },
}

impl Tool {
    /// Runs the script of this name. Its text and the tool's message stay in the folder.
    pub fn run(&self, name: &str, text: &str, flags: &str) -> Result<Ended, Failure> {
        let script = self.folder.join(name).with_extension("pkt");
        let log = script.with_extension("log");
        let failed = |e| Failure::new(format!("packetdrill: {}: {e}", script.display()));
        std::fs::create_dir_all(script.parent().unwrap_or(&self.folder)).map_err(failed)?;
        std::fs::write(&script, text).map_err(failed)?;
        let output = std::fs::File::create(&log).map_err(failed)?;
        let mut child = Command::new(&self.program)
            .args(ADDRESSES)
            .arg(format!("--so_flags={OWN},mtu=1500,{flags}"))
            .arg(format!("--so_filename={}", self.library.display()))
            .arg(&script)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output)
            .spawn()
            .map_err(|e| {
                Failure::new(format!(
                    "packetdrill: cannot run {}: {e}",
                    self.program.display()
                ))
            })?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break Some(status);
            }
            if began.elapsed() > LIMIT {
                child.kill().map_err(failed)?;
                child.wait().map_err(failed)?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let written = std::fs::read(&log).map_err(failed)?;
        let written = String::from_utf8_lossy(&written).into_owned();
        Ok(match status {
            Some(status) if status.success() => Ended::Passed,
            Some(_) => understood(&script, &written),
            None => Ended::Failed {
                line: None,
                message: format!("the script has not ended after {} s", LIMIT.as_secs()),
            },
        })
    }
}

/// The addresses of the packets. The packets stay within the process.
const ADDRESSES: [&str; 4] = [
    "--ip_version=ipv6",
    "--local_ip=fd3d:fa7b:d17d::1",
    "--remote_ip=2001:db8::1",
    "--gateway_ip=fd3d:fa7b:d17d:8888::1",
];
const OWN: &str = "local=fd3d:fa7b:d17d::1";

/// Extracts the first line of the tool's output that names the script.
fn understood(script: &Path, written: &str) -> Ended {
    let place = format!("{}:", script.display());
    let found = written.lines().find_map(|line| line.split_once(&place));
    let Some((_, said)) = found else {
        return Ended::Failed {
            line: None,
            message: written.lines().next().unwrap_or("no message").to_owned(),
        };
    };
    let (number, message) = said.split_once(':').unwrap_or(("", said));
    Ended::Failed {
        line: number.parse::<usize>().ok().and_then(|n| n.checked_sub(1)),
        message: message.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_message_has_a_line() {
        let ended = understood(
            Path::new("/a/b.pkt"),
            "x\n/a/b.pkt:12: error handling packet: y\n",
        );
        let message = "error handling packet: y".to_owned();
        assert_eq!(
            ended,
            Ended::Failed {
                line: Some(11),
                message
            }
        );
    }
}
