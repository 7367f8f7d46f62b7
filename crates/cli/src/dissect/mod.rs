//! `redpoll dissect`: a line for every frame of a capture.

mod args;
mod keys;
mod notes;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use redpoll_results::folder;

use crate::output::{fail, is_closed_pipe, is_standard};
use crate::progress::Progress;
use crate::{FAILED, USAGE};

pub use args::{DissectArgs, NetworkArgs};
pub use keys::KeyArgs;
pub use notes::Notes;
pub use redpoll_dissect::{Dissector, Reading, capture};

use redpoll_dissect::Frame;
use redpoll_dissect::capture::{Capture, Ended, NotOpen, Record};

pub fn run(args: &DissectArgs) -> ExitCode {
    let name = args.file.display().to_string();
    let progress = Progress::beside_output();
    let Opened {
        mut capture,
        is_live,
    } = match opened(&args.file, &args.network, &progress) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let mut dissector = Dissector::new(args.network.reading());
    let mut notes = Notes::of(args.network.mesh.prefix);
    let mut out = BufWriter::new(io::stdout().lock());
    let ended = loop {
        let record = match capture.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break None,
            Err(ended) => break Some(ended),
        };
        if !notes.is_ours(&record) {
            continue;
        }
        let frame = dissector.record(&record);
        notes.look_at(&frame);
        let written = write(&mut out, args, &record, &frame);
        let flushed = if is_live {
            written.and_then(|()| out.flush())
        } else {
            written
        };
        if let Err(error) = flushed {
            progress.finish();
            return unwritable(&error);
        }
    };
    progress.finish();
    if let Err(error) = out.flush() {
        return unwritable(&error);
    }
    match (notes.refusal(&name), ended) {
        (Some(problem), _) => fail(USAGE, problem),
        (None, ended) => {
            notes.tell(&name, &capture);
            ended.map_or(ExitCode::SUCCESS, |ended| {
                end(&name, ended, capture.frames())
            })
        }
    }
}

fn write(
    out: &mut impl Write,
    args: &DissectArgs,
    record: &Record,
    frame: &Frame,
) -> io::Result<()> {
    if args.json {
        writeln!(out, "{}", frame.json(record.number, record.at_us))
    } else {
        writeln!(out, "{} {}", time(record), frame.summary())
    }
}

pub struct Opened {
    pub capture: Capture,
    pub is_live: bool,
}

/// Opens the capture at `path` (`-`: standard input); `progress` counts its bytes. On failure,
/// reports the problem and returns the program's exit code.
pub fn opened(path: &Path, network: &NetworkArgs, progress: &Progress) -> Result<Opened, ExitCode> {
    let path = folder::file(path, folder::FRAMES);
    let name = path.display();
    let (input, is_live): (Box<dyn Read>, bool) = if is_standard(&path) {
        (progress.of_stream(io::stdin()), true)
    } else {
        match File::open(&path) {
            Ok(file) => {
                let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
                (progress.of_file(file), !is_file)
            }
            Err(error) => return Err(unreadable(&name, &error)),
        }
    };
    match Capture::open(input) {
        Ok(mut capture) => {
            capture.set_fcs(network.fcs());
            if !is_live {
                capture.look_ahead();
            }
            Ok(Opened { capture, is_live })
        }
        Err(NotOpen::Unreadable(error)) => Err(unreadable(&name, &error)),
        Err(NotOpen::NoCapture) => {
            let problem = "not a capture; allowed: pcapng or pcap";
            Err(fail(USAGE, format!("{name}: {problem}")))
        }
    }
}

fn unreadable(name: &impl std::fmt::Display, error: &io::Error) -> ExitCode {
    fail(FAILED, format!("cannot read {name}: {error}"))
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
        Ended::CutOff => fail(
            FAILED,
            format!("{name}: the capture ends within the record after frame {frames}"),
        ),
        Ended::Broken(problem) => fail(FAILED, format!("{name}: after frame {frames}: {problem}")),
    }
}

fn time(record: &Record) -> String {
    match record.at_us {
        Some(us) => format!("{:>5}.{:06}", us / 1_000_000, us % 1_000_000),
        None => format!("{:>12}", "-"),
    }
}

pub fn line(record: &Record, reading: &Reading) -> String {
    let mut dissector = Dissector::new(reading.clone());
    format!("{} {}", time(record), dissector.record(record).summary())
}
