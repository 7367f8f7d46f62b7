//! `-v`: a line for each frame on the air, as `redpoll dissect` has them.

use redpoll_sim::scenario::Scenario;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};

use crate::dissect::{self, Reading};
use crate::output;

/// See the [module](self).
pub(super) struct FrameLines {
    reading: Reading,
}

impl FrameLines {
    /// Lines about the frames of this scenario, whose addresses are compressed.
    pub(super) fn of(scenario: &Scenario) -> FrameLines {
        FrameLines {
            reading: Reading::of(scenario.border.prefix),
        }
    }
}

impl FrameTrace for FrameLines {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let seconds = frame.start.as_micros() as f64 / 1_000_000.0;
        let summary = dissect::mpdu(frame.mpdu, &self.reading);
        let written = output::print(&format!("{seconds:>9.3} s  {summary}\n"));
        written.map_err(|source| TraceError {
            path: "standard output".to_owned(),
            source,
        })
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}
