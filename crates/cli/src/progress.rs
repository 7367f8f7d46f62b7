//! Progress bars: on standard error, and only if that is a terminal that can move its cursor.

use std::fs::File;
use std::io::{IsTerminal as _, Read};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::bar;

const HZ: u8 = 10;
const BYTES: &str = "{wide_bar} {percent:>3} %  {bytes} of {total_bytes}  {eta} left";
const STEPS: &str = "{wide_bar} {percent:>3} %  {pos} of {len} {msg}  {eta} left";
const ENDLESS: &str = "{spinner} {bytes} read";

/// The bar of a command that reads files or proceeds in steps. It disappears when it is dropped.
#[derive(Clone)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Returns an empty bar, to which [`of_file`](Self::of_file) adds files.
    pub fn of_bytes() -> Progress {
        let progress = Progress(bar(None, BYTES, HZ));
        progress.0.set_length(0);
        progress
    }

    pub fn of_steps(count: u64, what: &'static str) -> Progress {
        let progress = Progress(bar(None, STEPS, HZ));
        progress.0.set_length(count);
        progress.0.set_message(what);
        progress
    }

    /// Returns a bar of `seconds` seconds of simulated time.
    pub fn of_simulated(seconds: u64) -> Progress {
        Progress::of_steps(seconds, "s simulated")
    }

    /// Returns a bar that is not shown.
    pub fn hidden() -> Progress {
        Progress(ProgressBar::hidden())
    }

    /// Returns a bar for bytes; hidden if standard output is a terminal, which shows the result.
    pub fn beside_output() -> Progress {
        if std::io::stdout().is_terminal() {
            Progress::hidden()
        } else {
            Progress::of_bytes()
        }
    }

    pub fn of_file(&self, file: File) -> Box<dyn Read> {
        let len = file.metadata().map_or(0, |meta| meta.len());
        if file.metadata().is_ok_and(|meta| meta.is_file()) {
            self.0.inc_length(len)
        } else {
            self.is_endless()
        }
        Box::new(self.0.wrap_read(file))
    }

    /// Wraps an input of unknown length, whose bytes the bar counts.
    pub fn of_stream(&self, input: impl Read + 'static) -> Box<dyn Read> {
        self.is_endless();
        Box::new(self.0.wrap_read(input))
    }

    fn is_endless(&self) {
        if let Ok(style) = ProgressStyle::with_template(ENDLESS) {
            self.0.set_style(style);
        }
    }

    pub fn step(&self, done: u64, of: u64, what: &'static str) {
        self.0.set_length(of);
        self.0.set_message(what);
        self.0.set_position(done);
    }

    pub fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
