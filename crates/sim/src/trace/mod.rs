//! Traces: who gets to see the frames of a run.

mod pcapng;
#[cfg(test)]
mod tests;

pub use pcapng::{Notes, PcapngFile};

use redpoll_base::Instant;

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
pub struct TracedFrame<'a> {
    /// Index of the sending node.
    pub from: usize,
    /// When its first bit left.
    pub start: Instant,
    /// When its last bit left.
    pub end: Instant,
    /// The frame without its frame check sequence.
    pub mpdu: &'a [u8],
    /// How loud it is at its addressee, or at the addressee that hears it
    /// loudest; `None` where nobody it is for can hear it.
    pub rssi_dbm: Option<i8>,
}

/// What a trace could not do.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}")]
pub struct TraceError {
    /// The file.
    pub path: String,
    /// Why.
    pub source: std::io::Error,
}

/// Something that records frames.
pub trait FrameTrace {
    /// A frame begins.
    ///
    /// # Errors
    /// What has been recorded so far stays readable; the trace gets no more.
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError>;

    /// Brings what has been recorded so far where others can see it.
    ///
    /// # Errors
    /// As for [`frame`](Self::frame).
    fn flush(&mut self) -> Result<(), TraceError>;
}

/// The traces of a run. One that fails is dropped, and its error kept.
#[derive(Default)]
pub(crate) struct Traces {
    traces: Vec<Box<dyn FrameTrace>>,
    error: Option<TraceError>,
}

impl Traces {
    /// One more trace.
    pub fn add(&mut self, trace: Box<dyn FrameTrace>) {
        self.traces.push(trace);
    }

    /// Shows a frame to all.
    pub fn frame(&mut self, frame: &TracedFrame<'_>) {
        if !self.traces.is_empty() {
            self.each(|trace| trace.frame(frame));
        }
    }

    /// Flushes all.
    pub fn flush(&mut self) {
        self.each(|trace| trace.flush());
    }

    /// The first error since the last call.
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
