//! Sources of the frames of a run: a capture, or the output of a program that is running the
//! scenario.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use redpoll_results::folder;

use super::{AHEAD, DiffArgs};
use crate::dissect::capture::{Capture, Ended, NotOpen, Record};
use crate::progress::Progress;

pub(super) struct Source {
    name: String,
    capture: Capture,
    program: Option<Program>,
}

/// A running program, which is killed when this value is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // Ignore an error, because the program may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn both(args: &DiffArgs, progress: &Progress) -> Result<(Source, Source), String> {
    match (&args.program, &args.b) {
        (Some(old), _) => {
            let own = std::env::current_exe();
            let own =
                own.map_err(|error| format!("cannot find the path of this program: {error}"))?;
            Ok((Source::run(old, args)?, Source::run(&own, args)?))
        }
        (None, Some(b)) => Ok((
            Source::file(Path::new(&args.a), progress)?,
            Source::file(b, progress)?,
        )),
        (None, None) => {
            Err("the second capture is missing; name two captures, or use --program".to_owned())
        }
    }
}

impl Source {
    fn file(path: &Path, progress: &Progress) -> Result<Source, String> {
        let path = folder::file(path, folder::FRAMES);
        let name = path.display().to_string();
        let file = File::open(&path).map_err(|error| format!("cannot read {name}: {error}"))?;
        Source::of(name, progress.of_file(file), None)
    }

    fn run(program: &Path, args: &DiffArgs) -> Result<Source, String> {
        let mut command = Command::new(program);
        command.args(["run", &args.a, "--pcap", "-"]);
        for (key, value) in &args.set {
            command.args(["--set", &format!("{key}={value}")]);
        }
        if let Some(seed) = args.seed {
            command.args(["--seed", &seed.to_string()]);
        }
        if let Some(duration) = &args.duration {
            command.args(["--duration", duration]);
        }
        // The programs show no progress bars, which would overwrite one another.
        command
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let name = program.display().to_string();
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot run {name}: {error}"))?;
        let out = child.stdout.take();
        let out = out.ok_or_else(|| format!("cannot read the output of {name}"))?;
        Source::of(name, Box::new(out), Some(Program(child)))
    }

    fn of(name: String, input: Box<dyn Read>, program: Option<Program>) -> Result<Source, String> {
        match Capture::open(input) {
            Ok(capture) => Ok(Source {
                name,
                capture,
                program,
            }),
            Err(NotOpen::Unreadable(error)) => Err(format!("cannot read {name}: {error}")),
            Err(NotOpen::NoCapture) if program.is_some() => Err(format!(
                "{name} has written no capture; allowed: a version of redpoll that can run the \
                 scenario"
            )),
            Err(NotOpen::NoCapture) => {
                Err(format!("{name}: not a capture; allowed: pcapng or pcap"))
            }
        }
    }

    pub(super) fn frames(&self) -> u64 {
        self.capture.frames()
    }

    pub(super) fn next(&mut self) -> Result<Option<Record>, String> {
        let name = self.name.clone();
        match self.capture.next_record() {
            Ok(Some(record)) => match record.foreign_link() {
                None => Ok(Some(record)),
                Some(link) => Err(format!(
                    "{name}: frames of link type {link}; allowed: IEEE 802.15.4"
                )),
            },
            Ok(None) => self.ended().map(|()| None),
            Err(ended) => {
                self.ended()?;
                let what = match ended {
                    Ended::CutOff => "the capture ends within a record".to_owned(),
                    Ended::Broken(what) => what,
                };
                Err(format!(
                    "{name}: after frame {}: {what}",
                    self.capture.frames()
                ))
            }
        }
    }

    /// Returns an error if the program failed, so that its missing frames are not reported as a
    /// difference between the runs.
    fn ended(&mut self) -> Result<(), String> {
        let Some(Program(child)) = &mut self.program else {
            return Ok(());
        };
        let name = &self.name;
        let status = child.wait();
        let status = status.map_err(|error| format!("cannot wait for {name}: {error}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("{name} failed ({status})"))
        }
    }

    pub(super) fn ahead(&mut self, first: Option<Record>) -> Result<VecDeque<Record>, String> {
        let mut frames = VecDeque::new();
        let mut next = first;
        while let Some(record) = next {
            frames.push_back(record);
            if frames.len() == AHEAD {
                break;
            }
            next = self.next()?;
        }
        Ok(frames)
    }
}
