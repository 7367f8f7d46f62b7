//! `redpoll dissect`: a line for every frame of a capture.

mod capture;
mod frame;
mod packet;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use redpoll_wire::sixlowpan::Contexts;

use crate::args::DissectArgs;
use crate::output::{fail, is_closed_pipe, is_standard};
use crate::{FAILED, USAGE};

use capture::{Capture, Ended, Record};

/// Runs the command.
pub fn run(args: &DissectArgs) -> ExitCode {
    let input: Box<dyn Read> = if is_standard(&args.file) {
        Box::new(io::stdin())
    } else {
        match File::open(&args.file) {
            Ok(file) => Box::new(file),
            Err(error) => {
                return fail(
                    FAILED,
                    format!("cannot read {}: {error}", args.file.display()),
                );
            }
        }
    };
    let name = args.file.display();
    let mut capture = match Capture::open(input) {
        Ok(capture) => capture,
        Err(problem) => return fail(USAGE, format!("{name}: {problem}")),
    };
    let contexts = Contexts::with_prefix(args.prefix);
    let mut out = BufWriter::new(io::stdout().lock());
    loop {
        let record = match capture.next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(ended) => {
                let _ = out.flush();
                return end(&name, ended, capture.frames());
            }
        };
        if let Err(error) = writeln!(out, "{}", line(&record, &contexts)) {
            return unwritable(&error);
        }
    }
    match out.flush() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => unwritable(&error),
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
        // What there is has been shown; a capture that is still being written
        // ends like this all the time.
        Ended::CutOff => {
            let _ = writeln!(
                io::stderr(),
                "redpoll: {name}: the capture breaks off within the record after frame {frames}"
            );
            ExitCode::SUCCESS
        }
        Ended::Broken(problem) => fail(FAILED, format!("{name}: after frame {frames}: {problem}")),
    }
}

/// The line about a record.
fn line(record: &Record, contexts: &Contexts) -> String {
    let time = match record.at_us {
        Some(us) => format!("{:>5}.{:06}", us / 1_000_000, us % 1_000_000),
        None => format!("{:>12}", "-"),
    };
    let summary = match record.frame() {
        Ok(frame) => frame::summary(&frame, contexts),
        Err(problem) => format!("malformed: {problem}"),
    };
    format!("{time} {summary}")
}

#[cfg(test)]
mod tests;
