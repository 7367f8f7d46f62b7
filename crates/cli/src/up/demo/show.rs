//! The output of the demonstration: a heading for each step, progress, result and time.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

pub(crate) struct Step {
    started: Instant,
}

impl Step {
    pub(crate) fn begin(number: usize, count: usize, title: &str) -> Self {
        println!("\n[{number}/{count}] {title}");
        Step {
            started: Instant::now(),
        }
    }

    pub(crate) fn note(&self, text: &str) {
        println!("      {text}");
    }

    /// Returns a bar for `total` bytes, which is shown only on a terminal.
    pub(crate) fn bar(&self, total: u64) -> ProgressBar {
        let style = ProgressStyle::with_template(
            "      {bar:30} {binary_bytes:>9} of {binary_total_bytes}  {elapsed}",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(total).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(250));
        bar
    }

    /// Prints that the step succeeded, and its duration.
    pub(crate) fn done(&self, text: &str) {
        println!(
            "      ok: {text} ({:.1} s)",
            self.started.elapsed().as_secs_f64()
        );
    }

    /// Prints that the step cannot run here.
    pub(crate) fn left_out(&self, why: &str) {
        println!("      skipped: {why}");
    }

    pub(crate) fn failed(&self, why: &str) {
        println!(
            "      FAILED after {:.1} s: {why}",
            self.started.elapsed().as_secs_f64()
        );
    }
}

/// Formats the rate of `bytes` in `time` in kb/s (1000 bit/s).
pub(crate) fn kbps(bytes: u64, time: Duration) -> String {
    format!(
        "{:.1} kb/s",
        bytes as f64 * 8.0 / 1000.0 / time.as_secs_f64().max(1e-6)
    )
}
