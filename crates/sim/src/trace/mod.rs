//! Traces of the frames of a run.

mod pcapng;
#[cfg(test)]
mod tests;

pub use pcapng::{Notes, PcapngFile};

use redpoll_base::Instant;

#[derive(Clone, Copy, Debug)]
pub struct TracedFrame<'a> {
    pub from: usize,
    /// Beginning of the frame's first bit.
    pub start: Instant,
    /// End of the frame's last bit.
    pub end: Instant,
    /// The frame without its frame check sequence.
    pub mpdu: &'a [u8],
    /// Signal strength at the frame's addressee, for a broadcast at the node with the strongest
    /// signal; `None` if no addressee is in range.
    pub rssi_dbm: Option<i8>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}")]
pub struct TraceError {
    pub path: String,
    pub source: std::io::Error,
}

pub trait FrameTrace {
    /// Records a frame when its transmission begins.
    ///
    /// # Errors
    /// The recorded part stays readable; the trace gets no more frames.
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError>;

    /// Makes the recorded part visible to other programs.
    fn flush(&mut self) -> Result<(), TraceError>;
}

/// Traces of a run. A trace that fails is dropped, and its error kept.
#[derive(Default)]
pub(crate) struct Traces {
    traces: Vec<Box<dyn FrameTrace>>,
    error: Option<TraceError>,
}

impl Traces {
    pub fn add(&mut self, trace: Box<dyn FrameTrace>) {
        self.traces.push(trace);
    }

    pub fn frame(&mut self, frame: &TracedFrame<'_>) {
        if !self.traces.is_empty() {
            self.each(|trace| trace.frame(frame));
        }
    }

    pub fn flush(&mut self) {
        self.each(|trace| trace.flush());
    }

    /// Returns the first error since the last call.
    pub fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }

    fn each(&mut self, mut act: impl FnMut(&mut dyn FrameTrace) -> Result<(), TraceError>) {
        let Traces { traces, error } = self;
        traces.retain_mut(|trace| match act(trace.as_mut()) {
            Ok(()) => true,
            Err(failure) => {
                error.get_or_insert(failure);
                false
            }
        });
    }
}
