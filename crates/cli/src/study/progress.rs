//! The progress bar of a study. It shows virtual time instead of runs, because some runs are a
//! thousand times longer than others.

use indicatif::ProgressBar;
use redpoll_experiments::Job;

use crate::output::bar;

pub struct Progress {
    bar: ProgressBar,
    jobs: usize,
}

impl Progress {
    pub fn new(jobs: &[Job]) -> Progress {
        let total = jobs.iter().map(|job| job.virtual_ms).sum();
        let template = "{wide_bar} {percent:>3} %  {msg}  {eta} left";
        let bar = bar(Some(total), template, 5);
        let jobs = jobs.len();
        Progress { bar, jobs }
    }

    /// Sets the number of completed jobs and the simulated milliseconds.
    pub fn set(&mut self, done: usize, virtual_ms: u64) {
        self.bar
            .set_message(format!("{done} of {} runs", self.jobs));
        self.bar.set_position(virtual_ms);
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
