//! `dissect-check`: `redpoll dissect` and tshark, two independent programs, must find the same
//! value in each field of the same frames. Every remaining difference is a row of the table in
//! docs/dissect-check.md, with its reason.
//!
//! - [`frames`] and [`packets`]: frames of all header forms;
//! - [`compare`]: the values that the two programs find, and their differences;
//! - [`table`]: the differences that have a reason.

mod compare;
mod frames;
mod packets;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lanes;
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};
use compare::Difference;
use table::Table;

const DOCUMENT: &str = "docs/dissect-check.md";
/// Link type with check sequence; `WITHOUT_FCS`: link type without.
const WITH_FCS: u32 = 195;
const WITHOUT_FCS: u32 = 230;
const PER_FILE: usize = 4_000;
/// Maximum number of differences shown for each field.
const SHOWN: usize = 3;

/// Amount of data that is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Some thousand frames.
    Short,
    /// 50,000 frames at least.
    Long,
}

impl Extent {
    fn generated(self) -> usize {
        match self {
            Extent::Short => 6_000,
            Extent::Long => 40_000,
        }
    }

    /// Returns scenarios, their durations, and settings.
    fn runs(self) -> Vec<(&'static str, &'static str, &'static [&'static str])> {
        const STORING: &[&str] = &["routing=rpl"];
        const NON_STORING: &[&str] = &["routing=rpl", "rpl.mode=non-storing"];
        match self {
            Extent::Short => vec![("office", "20 s", STORING), ("office", "20 s", NON_STORING)],
            Extent::Long => vec![
                ("office", "60 s", STORING),
                ("office", "60 s", NON_STORING),
                ("line-4", "30 s", &[]),
                ("line-3", "20 s", &["lowpan.fragment_recovery=true"]),
                ("readings", "120 s", &[]),
                ("sleepy-web", "60 s", &[]),
                ("sleepy-rpl", "60 s", &[]),
                ("testbed-3", "20 s", &[]),
            ],
        }
    }
}

/// Runs the check; `Ok(Some(reason))` if it was skipped.
pub fn run(workspace: &Workspace, extent: Extent) -> Result<Option<String>, Failure> {
    if workspace::output(Command::new("tshark").arg("--version")).is_err() {
        let reason = "tshark is missing (apt-get install tshark)".to_owned();
        note_skipped(&reason);
        return Ok(Some(reason));
    }
    match extent {
        // Uses the build of the tests, because a build of this package alone would select other
        // features of its dependencies and compile all of them again.
        Extent::Short => lanes::build(workspace)?,
        Extent::Long => {
            let mut cargo = workspace.cargo();
            cargo.args(["build", "--quiet", "--package", "redpoll"]);
            workspace::run(&mut cargo)?;
        }
    }
    let program = workspace.root.join("target/debug/redpoll");
    let folder = workspace.root.join("target/dissect-check");
    std::fs::create_dir_all(&folder).map_err(|e| unwritable(&folder, &e))?;
    let table = Table::read(&workspace.root.join(DOCUMENT))?;
    let mut tally = Tally::default();
    for file in files(&program, &folder, extent)? {
        let found = compare::file(&program, &file)?;
        tally.take(&file, found, &table);
    }
    tally.ended(&table, extent)?;
    Ok(None)
}

/// Appends a line to the file in which the Makefile collects the skipped steps.
fn note_skipped(reason: &str) {
    use std::io::Write as _;
    let Some(path) = std::env::var_os("REDPOLL_SKIPPED") else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    if let Ok(mut file) = file {
        let _ = writeln!(file, "dissect-check: {reason}");
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

fn files(program: &Path, folder: &Path, extent: Extent) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let all = frames::make(1, extent.generated());
    for (at, part) in all.chunks(PER_FILE).enumerate() {
        let path = folder.join(format!("generated-{at}.pcap"));
        let link = if at % 2 == 0 { WITHOUT_FCS } else { WITH_FCS };
        std::fs::write(&path, pcap(link, part)).map_err(|e| unwritable(&path, &e))?;
        files.push(path);
    }
    for (at, (scenario, duration, settings)) in extent.runs().into_iter().enumerate() {
        let path = folder.join(format!("{scenario}-{at}.pcapng"));
        let mut command = Command::new(program);
        command
            .args(["run", scenario, "--duration", duration, "--pcap"])
            .arg(&path);
        for setting in settings {
            command.args(["--set", setting]);
        }
        workspace::output(&mut command)?;
        files.push(path);
    }
    Ok(files)
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

#[derive(Default)]
struct Tally {
    frames: usize,
    values: usize,
    justified: usize,
    /// Number of differences that each row of the table explains.
    used: BTreeMap<usize, usize>,
    /// Differences without a row, by field.
    open: BTreeMap<String, (usize, Vec<String>)>,
}

impl Tally {
    fn take(&mut self, file: &Path, found: compare::Found, table: &Table) {
        self.frames += found.frames;
        self.values += found.values;
        for difference in found.differences {
            match table.row_of(&difference) {
                Some(row) => {
                    self.justified += 1;
                    *self.used.entry(row).or_default() += 1;
                }
                None => self.open(file, &difference),
            }
        }
    }

    fn open(&mut self, file: &Path, difference: &Difference) {
        let (count, shown) = self.open.entry(difference.field.clone()).or_default();
        *count += 1;
        if shown.len() < SHOWN {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let (ours, theirs) = (difference.ours.join("|"), difference.theirs.join("|"));
            shown.push(format!(
                "{name} frame {}: redpoll `{ours}`, tshark `{theirs}`",
                difference.frame
            ));
        }
    }

    fn ended(self, table: &Table, extent: Extent) -> Outcome {
        println!(
            "dissect-check: {} frames, {} values, {} differences that are justified",
            self.frames, self.values, self.justified
        );
        let mut findings = Vec::new();
        for (field, (count, shown)) in self.open {
            findings.push(format!("{field}: {count} differences, such as"));
            findings.extend(shown.into_iter().map(|line| format!("  {line}")));
        }
        if extent == Extent::Long {
            let unused = (0..table.len()).filter(|row| !self.used.contains_key(row));
            findings.extend(unused.map(|row| {
                format!(
                    "{DOCUMENT}: no frame needs the row `{}`; remove it",
                    table.name(row)
                )
            }));
        }
        Failure::unless_empty(
            format!(
                "dissect-check: these differences are not in the table of {DOCUMENT}; correct the \
                 decoder, or add a row with a reason:"
            ),
            findings,
        )
    }
}
