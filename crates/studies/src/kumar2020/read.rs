//! What is read from a run.

use crate::Run;

/// Goodput of the bulk flow, kb/s.
pub fn goodput(run: &Run) -> Option<f64> {
    run.flow("bulk", "/goodput_kbps")
}

/// Segments lost after link retries, in percent.
pub fn segment_loss(run: &Run) -> Option<f64> {
    Some(100.0 * run.flow("bulk", "/segment_loss")?)
}

/// Median round-trip time, ms.
pub fn rtt(run: &Run) -> Option<f64> {
    run.flow("bulk", "/rtt_ms/p50")
}

/// Frames that all nodes sent, link acknowledgements not counted.
pub fn frames(run: &Run) -> Option<f64> {
    Some(run.node_sum("", "/frames_sent"))
}

/// Retransmissions for one of the report's reasons.
pub fn retransmissions(run: &Run, reason: &str) -> f64 {
    run.flow_sum("bulk", &format!("/retransmissions/{reason}"))
}
