//! The progress bar of a run, in virtual time.

use indicatif::ProgressBar;
use redpoll_base::{Duration, Instant};

use crate::output::bar;

pub struct Progress {
    bar: ProgressBar,
    started: std::time::Instant,
}

impl Progress {
    pub fn new(duration: Duration) -> Progress {
        let template = "{wide_bar} {percent:>3} %  {msg}  {eta} left";
        let bar = bar(Some(duration.as_millis()), template, 10);
        Progress {
            bar,
            started: std::time::Instant::now(),
        }
    }

    pub fn set(&mut self, now: Instant) {
        let simulated_s = now.as_millis() as f64 / 1_000.0;
        let speed = simulated_s / self.started.elapsed().as_secs_f64().max(1e-6);
        self.bar.set_message(format!(
            "{simulated_s:.0} s simulated, {speed:.0} x real time"
        ));
        self.bar.set_position(now.as_millis());
    }

    pub fn around(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
