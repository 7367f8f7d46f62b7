//! `-v`: a line for each frame on the air, in the format of `redpoll dissect`.

use redpoll_sim::Scenario;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};

use crate::dissect::{Dissector, Reading};
use crate::output;

pub(super) struct FrameLines {
    dissector: Dissector,
}

impl FrameLines {
    /// Returns a formatter that expands compressed addresses with the scenario's prefix.
    pub(super) fn of(scenario: &Scenario) -> FrameLines {
        FrameLines {
            dissector: Dissector::new(Reading::of(scenario.border.prefix)),
        }
    }
}

impl FrameTrace for FrameLines {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let at_us = frame.start.as_micros();
        let seconds = at_us as f64 / 1_000_000.0;
        let summary = self.dissector.mpdu(frame.mpdu, at_us).summary();
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
