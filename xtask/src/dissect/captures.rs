//! The captures that `redpoll dissect` and tshark decode: generated frames, and runs of the
//! built-in scenarios.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Extent, frames};
use crate::report::Failure;
use crate::workspace;

/// Link type of captures whose frames contain the FCS; `WITHOUT_FCS`: of captures without it.
const WITH_FCS: u32 = 195;
const WITHOUT_FCS: u32 = 230;
const PER_FILE: usize = 4_000;

/// The routing of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The routes that the simulator computes at the start. RPL is off, so there is no mode of RPL.
    Fixed,
    Storing,
    NonStoring,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Fixed, Mode::Storing, Mode::NonStoring];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Fixed => "fixed",
            Mode::Storing => "storing",
            Mode::NonStoring => "non-storing",
        }
    }

    fn settings(self) -> &'static [&'static str] {
        match self {
            Mode::Fixed => &[],
            Mode::Storing => &["routing=rpl", "rpl.mode=storing"],
            Mode::NonStoring => &["routing=rpl", "rpl.mode=non-storing"],
        }
    }
}

/// A run of a built-in scenario.
#[derive(Clone)]
pub struct Run {
    pub scenario: String,
    pub mode: Mode,
    pub duration: &'static str,
    /// A setting in addition to those of the mode.
    pub setting: Option<&'static str>,
    /// Key of the secured frames, as hexadecimal digits.
    pub key: Option<String>,
}

/// A capture to make and to compare.
pub enum Capture {
    Generated { at: usize, frames: Vec<Vec<u8>> },
    Run(Run),
}

/// Returns all captures of an extent. `program` lists the built-in scenarios.
pub fn all(program: &Path, extent: Extent) -> Result<Vec<Capture>, Failure> {
    let frames = frames::make(1, extent.generated());
    let generated = frames.chunks(PER_FILE).enumerate();
    let generated = generated.map(|(at, part)| Capture::Generated {
        at,
        frames: part.to_vec(),
    });
    let runs = runs(program, extent)?.into_iter().map(Capture::Run);
    Ok(generated.chain(runs).collect())
}

/// Returns the runs. The long form has each built-in scenario in both modes of RPL, the scenarios
/// without RPL also with their fixed routes, and `line-3` with the fragments of RFC 8931. The short
/// form has each scenario in one mode of RPL, and the two modes alternate.
fn runs(program: &Path, extent: Extent) -> Result<Vec<Run>, Failure> {
    const FRAGMENTS: &str = "lowpan.fragment_recovery=true";
    let mut runs = Vec::new();
    for (at, scenario) in scenarios(program)?.into_iter().enumerate() {
        let text = workspace::output(Command::new(program).args(["show", &scenario]))?;
        let uses_rpl = value(&text, "routing") == Some("rpl");
        let modes = match extent {
            Extent::Short => &Mode::ALL[1 + at % 2..][..1],
            Extent::Long if uses_rpl => &Mode::ALL[1..],
            Extent::Long => &Mode::ALL[..],
        };
        for &mode in modes {
            runs.push(Run {
                duration: duration(&scenario, extent),
                scenario: scenario.clone(),
                mode,
                setting: None,
                key: value(&text, "key").map(str::to_owned),
            });
        }
    }
    if extent == Extent::Long {
        runs.extend(Mode::ALL.map(|mode| Run {
            scenario: "line-3".to_owned(),
            mode,
            duration: "15 s",
            setting: Some(FRAGMENTS),
            key: None,
        }));
    }
    Ok(runs)
}

/// Returns the value of the first key with this name in a scenario, whatever its table.
fn value<'a>(scenario: &'a str, key: &str) -> Option<&'a str> {
    let mut values = scenario.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim().trim_matches('"'))
    });
    values.next()
}

/// Returns the names of the built-in scenarios. Each line of the list begins with a name.
fn scenarios(program: &Path) -> Result<Vec<String>, Failure> {
    let list = workspace::output(Command::new(program).arg("list"))?;
    let names = list.lines().filter_map(|line| line.split(' ').next());
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.is_empty() {
        return Err(Failure::new("`redpoll list` names no scenario"));
    }
    Ok(names)
}

/// Returns the virtual time of a run, which bounds the number of frames. In the long form the time
/// includes the first transfers of the scenario.
fn duration(scenario: &str, extent: Extent) -> &'static str {
    let (short, long) = match scenario {
        // A run of 1,000 nodes has many frames.
        "grid-1000" => ("1 s", "3 s"),
        "pair" | "line-1" | "bystander" | "grid-30" => ("8 s", "12 s"),
        // The first transfer begins after 30 s.
        "intruder" | "sleepy-rpl" => ("10 s", "40 s"),
        // These scenarios have sleepy nodes, or readings at long intervals.
        "sleepy-web" | "sleepy-3" | "sleepy-parents" | "thread-like" => ("10 s", "100 s"),
        "readings" | "readings-day" => ("8 s", "100 s"),
        "k7-corridor" | "duty-cycled" => ("8 s", "40 s"),
        _ => ("8 s", "15 s"),
    };
    match extent {
        Extent::Short => short,
        Extent::Long => long,
    }
}

impl Capture {
    /// Returns the key of the secured frames, if the capture has one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Capture::Generated { .. } => None,
            Capture::Run(run) => run.key.as_deref(),
        }
    }

    /// Writes the capture into `folder`, and returns its path.
    pub fn write(&self, program: &Path, folder: &Path) -> Result<PathBuf, Failure> {
        match self {
            Capture::Generated { at, frames } => {
                let path = folder.join(format!("generated-{at}.pcap"));
                let link = if at % 2 == 0 { WITHOUT_FCS } else { WITH_FCS };
                let written = std::fs::write(&path, pcap(link, frames));
                written.map_err(|e| super::unwritable(&path, &e))?;
                Ok(path)
            }
            Capture::Run(run) => run.write(program, folder),
        }
    }
}

impl Run {
    fn write(&self, program: &Path, folder: &Path) -> Result<PathBuf, Failure> {
        let more = if self.setting.is_some() { "-set" } else { "" };
        let name = format!("{}-{}{more}.pcapng", self.scenario, self.mode.name());
        let path = folder.join(name);
        let mut command = Command::new(program);
        command
            .args(["run", &self.scenario, "--duration", self.duration, "--pcap"])
            .arg(&path);
        for setting in self.mode.settings().iter().copied().chain(self.setting) {
            command.args(["--set", setting]);
        }
        workspace::output(&mut command)?;
        Ok(path)
    }
}

/// Returns a capture of frames, one each millisecond.
fn pcap(link: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link] {
        file.extend(word.to_le_bytes());
    }
    for (at, frame) in (0_u32..).zip(frames) {
        let mut frame = frame.clone();
        if link == WITH_FCS {
            let fcs = fcs(&frame);
            frame.extend(fcs.to_le_bytes());
        }
        let len = frame.len() as u32;
        for word in [at / 1_000, at % 1_000 * 1_000, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// Returns the check sequence (IEEE 802.15.4-2015 §7.2.10).
fn fcs(frame: &[u8]) -> u16 {
    frame.iter().fold(0, |crc: u16, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| match crc & 1 {
            0 => crc >> 1,
            _ => crc >> 1 ^ 0x8408,
        })
    })
}
