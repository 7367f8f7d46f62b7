//! The progress bar: on standard error, and only if that is a terminal that can
//! move its cursor.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use redpoll_base::{Duration, Instant};

/// See the [module](self).
pub struct Progress {
    bar: ProgressBar,
    started: std::time::Instant,
}

impl Progress {
    /// A bar for a run of `duration`.
    pub fn new(duration: Duration) -> Progress {
        let target = if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            ProgressDrawTarget::hidden()
        } else {
            // Hides itself where there is no terminal.
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(Some(duration.as_millis()), target);
        let style = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {msg}  left {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Progress {
            bar,
            started: std::time::Instant::now(),
        }
    }

    /// The run has come to `now`.
    pub fn set(&mut self, now: Instant) {
        let simulated_s = now.as_millis() as f64 / 1_000.0;
        let speed = simulated_s / self.started.elapsed().as_secs_f64().max(1e-6);
        self.bar.set_message(format!(
            "{simulated_s:.0} s simulated, {speed:.0} x real time"
        ));
        self.bar.set_position(now.as_millis());
    }

    /// Prints with the bar out of the way.
    pub fn around(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Leaves nothing of it on the screen.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
