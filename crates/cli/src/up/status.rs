//! The status line on standard error, which must be a terminal with cursor movement.

use indicatif::ProgressBar;
use redpoll_base::{Duration, Instant};

use crate::output::bar;

pub(super) struct Facts {
    pub(super) now: Instant,
    pub(super) connections: usize,
    /// Number of packets into the mesh, and number of packets out of it.
    pub(super) packets: [u64; 2],
    pub(super) lateness: Duration,
}

pub(super) struct StatusLine {
    bar: ProgressBar,
    /// The time of the next update.
    due: Instant,
}

impl StatusLine {
    const INTERVAL: Duration = Duration::from_millis(500);

    /// Returns a line that is shown only if `is_wanted`.
    pub(super) fn new(is_wanted: bool) -> StatusLine {
        let bar = if is_wanted {
            bar(None, "{msg}", 2)
        } else {
            ProgressBar::hidden()
        };
        let due = Instant::ZERO;
        StatusLine { bar, due }
    }

    /// Returns whether the line is shown, and its last update is an interval or more ago.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.bar.is_hidden() && now >= self.due
    }

    pub(super) fn show(&mut self, facts: &Facts) {
        self.due = facts.now + Self::INTERVAL;
        self.bar.set_message(text(facts));
    }

    /// Hides the line while `print` runs.
    pub(super) fn around<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the line from the screen.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn text(facts: &Facts) -> String {
    let s = facts.now.as_millis() / 1_000;
    let (h, m, s) = (s / 3_600, s / 60 % 60, s % 60);
    let [into, out] = facts.packets;
    let mut text = format!(
        "up {h}:{m:02}:{s:02}  {} connections now  {into} packets into the mesh, {out} out of it",
        facts.connections
    );
    if facts.lateness >= Duration::from_millis(10) {
        text += &format!("  {} ms behind real time", facts.lateness.as_millis());
    }
    text + "  Ctrl-C ends the program"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_line_shows_time_connections_and_packets() {
        let mut facts = Facts {
            now: Instant::from_millis(3_723_456),
            connections: 2,
            packets: [10, 12],
            lateness: Duration::ZERO,
        };
        let expected = "up 1:02:03  2 connections now  10 packets into the mesh, 12 out of it  \
                        Ctrl-C ends the program";
        assert_eq!(text(&facts), expected);
        facts.lateness = Duration::from_millis(30);
        assert!(text(&facts).contains("  30 ms behind real time  "));
    }
}
