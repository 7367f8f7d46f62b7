//! The progress bar of a study: in virtual time, which says more than runs,
//! some of which are a thousand times longer than others.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use redpoll_studies::Job;

/// See the [module](self).
pub struct Progress {
    bar: ProgressBar,
    jobs: usize,
}

impl Progress {
    /// A bar for these jobs.
    pub fn new(jobs: &[Job]) -> Progress {
        let target = match std::env::var_os("TERM") {
            Some(term) if term == "dumb" => ProgressDrawTarget::hidden(),
            // Hides itself where there is no terminal.
            _ => ProgressDrawTarget::stderr_with_hz(5),
        };
        let total = jobs.iter().map(|job| job.virtual_ms).sum();
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let style = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {msg}  left {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        let jobs = jobs.len();
        Progress { bar, jobs }
    }

    /// So many jobs are done, and so much of all.
    pub fn set(&mut self, done: usize, virtual_ms: u64) {
        self.bar
            .set_message(format!("{done} of {} runs", self.jobs));
        self.bar.set_position(virtual_ms);
    }

    /// Leaves nothing of it on the screen.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
