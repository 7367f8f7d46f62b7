//! `redpoll dissect`: a line for every frame of a capture.

mod args;
mod frame;
mod keys;
mod packet;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use redpoll_base::Addr;
use redpoll_results::folder;
use redpoll_wire::sixlowpan::Contexts;

use crate::output::{fail, is_closed_pipe, is_standard};
use crate::progress::Progress;
use crate::{FAILED, USAGE};

pub use args::DissectArgs;
pub use keys::Keys;
pub use redpoll_dissect::capture;
use redpoll_dissect::capture::{Capture, Ended, NotOpen, Record};

/// What frames are read with.
pub struct Reading {
    /// What compressed addresses leave out.
    pub contexts: Contexts,
    /// What opens frames that are protected.
    pub keys: Keys,
}

impl Reading {
    /// In a mesh with this prefix, of which no key is known.
    pub fn of(prefix: Addr) -> Reading {
        Reading {
            contexts: Contexts::with_prefix(prefix),
            keys: Keys::default(),
        }
    }
}

/// Runs the command.
pub fn run(args: &DissectArgs) -> ExitCode {
    let name = args.file.display();
    let progress = Progress::beside_output();
    let mut capture = match opened(&args.file, &progress) {
        Ok(capture) => capture,
        Err(code) => return code,
    };
    let reading = Reading {
        keys: args.keys.clone(),
        ..Reading::of(args.mesh.prefix)
    };
    let mut fit = Fit::of(args.mesh.prefix);
    let mut out = BufWriter::new(io::stdout().lock());
    loop {
        let record = match capture.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(ended) => {
                progress.finish();
                let _ = out.flush();
                fit.hint();
                return end(&name, ended, capture.frames());
            }
        };
        if let Some(link) = record.foreign_link() {
            progress.finish();
            let _ = out.flush();
            let problem = format!(
                "{name}: frames of link type {link}; allowed: IEEE 802.15.4 with or without \
                 check sequence, or with TAP header"
            );
            return fail(USAGE, problem);
        }
        let line = line(&record, &reading);
        fit.look_at(&line);
        if let Err(error) = writeln!(out, "{line}") {
            progress.finish();
            return unwritable(&error);
        }
    }
    progress.finish();
    match out.flush() {
        Ok(()) => {
            fit.hint();
            ExitCode::SUCCESS
        }
        Err(error) => unwritable(&error),
    }
}

/// The capture at `path`, whose bytes `progress` counts; - is standard input.
///
/// # Errors
///
/// The program's end, once the user has been told.
pub fn opened(path: &Path, progress: &Progress) -> Result<Capture, ExitCode> {
    let path = folder::file(path, folder::FRAMES);
    let name = path.display();
    let input: Box<dyn Read> = if is_standard(&path) {
        progress.of_stream(io::stdin())
    } else {
        match File::open(&path) {
            Ok(file) => progress.of_file(file),
            Err(error) => return Err(unreadable(&name, &error)),
        }
    };
    match Capture::open(input) {
        Ok(capture) => Ok(capture),
        Err(NotOpen::Unreadable(error)) => Err(unreadable(&name, &error)),
        Err(NotOpen::NoCapture) => {
            let problem = "is no capture; allowed: pcapng or pcap";
            Err(fail(USAGE, format!("{name}: {problem}")))
        }
    }
}

/// A frame without its check sequence, in one line.
pub fn mpdu(mpdu: &[u8], reading: &Reading) -> String {
    frame::summary(&capture::Captured::of(mpdu), reading)
}

fn unreadable(name: &impl std::fmt::Display, error: &io::Error) -> ExitCode {
    fail(FAILED, format!("cannot read {name}: {error}"))
}

/// Whether the prefix is the one that the compressed addresses were made with:
/// the checksums cover the addresses.
struct Fit {
    /// How the addresses of the prefix begin.
    address: String,
    right: u64,
    wrong: u64,
}

impl Fit {
    fn of(prefix: Addr) -> Fit {
        let prefix = prefix.to_string();
        Fit {
            address: format!(" {}:", prefix.trim_end_matches(':')),
            right: 0,
            wrong: 0,
        }
    }

    /// Counts the packet of this line, if it has addresses of the prefix and a
    /// checksum that can be checked.
    fn look_at(&mut self, line: &str) {
        let is_whole = [" TCP ", " UDP ", " ICMPv6 "]
            .iter()
            .any(|upper| line.contains(upper))
            && !line.contains(" FRAG1 ")
            && !line.contains(" RFRAG ")
            && !line.contains(" malformed")
            && !line.contains("not captured)")
            && !line.contains("(wrong FCS)");
        if is_whole && line.contains(&self.address) {
            let count = match line.contains("(wrong checksum)") {
                true => &mut self.wrong,
                false => &mut self.right,
            };
            *count += 1;
        }
    }

    fn hint(&self) {
        if self.wrong > 0 && self.right == 0 {
            let _ = writeln!(
                io::stderr(),
                "redpoll: no checksum is right: the capture seems to be of a mesh with another prefix; give it with --prefix PREFIX/64"
            );
        }
    }
}

fn unwritable(error: &io::Error) -> ExitCode {
    if is_closed_pipe(error) {
        ExitCode::SUCCESS
    } else {
        fail(FAILED, format!("cannot write to standard output: {error}"))
    }
}

fn end(name: &impl std::fmt::Display, ended: Ended, frames: u64) -> ExitCode {
    match ended {
        // What there is has been shown.
        Ended::CutOff => fail(
            FAILED,
            format!("{name}: the capture breaks off within the record after frame {frames}"),
        ),
        Ended::Broken(problem) => fail(FAILED, format!("{name}: after frame {frames}: {problem}")),
    }
}

/// The line about a record.
pub fn line(record: &Record, reading: &Reading) -> String {
    let time = match record.at_us {
        Some(us) => format!("{:>5}.{:06}", us / 1_000_000, us % 1_000_000),
        None => format!("{:>12}", "-"),
    };
    let summary = match record.frame() {
        Ok(frame) => frame::summary(&frame, reading),
        Err(problem) => format!("malformed: {problem}"),
    };
    format!("{time} {summary}")
}

#[cfg(test)]
mod tests;
