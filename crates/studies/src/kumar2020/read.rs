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

/// The radio's share of time on, as reports have it.
pub const DUTY: (&str, &str) = ("radio duty cycle", "%");
/// The share of time in which receiver or transmitter is on: without that in
/// which only the oscillator runs, as between two attempts of a frame.
pub const ACTIVE: (&str, &str) = ("receiver or transmitter on", "%");
/// The processor's share of time.
pub const CPU: (&str, &str) = ("CPU duty cycle", "%");
/// Readings delivered of those delivered and lost.
pub const RELIABILITY: (&str, &str) = ("reliability", "%");

/// [`DUTY`] of the nodes with this prefix.
pub fn radio_duty_cycle(run: &Run, nodes: &str) -> Option<f64> {
    Some(100.0 * run.node(nodes, "/radio_duty_cycle")?)
}

/// Seconds that the radio of the nodes with this prefix was on.
pub fn on_time(run: &Run, nodes: &str) -> Option<f64> {
    Some(run.node(nodes, "/radio_duty_cycle")? * run.number("/simulated_s")?)
}

/// [`ACTIVE`] of the leaves.
pub fn active(run: &Run) -> Option<f64> {
    let s = |state: &str| run.node("leaf", &format!("/energy/{state}"));
    let on = s("listen_s")? + s("receive_s")? + s("transmit_s")?;
    Some(100.0 * on / run.number("/simulated_s")?)
}

/// [`CPU`] of the leaves.
pub fn cpu_duty_cycle(run: &Run) -> Option<f64> {
    Some(100.0 * run.node("leaf", "/energy/cpu_duty_cycle")?)
}

/// [`RELIABILITY`] of all sensors together.
pub fn reliability(run: &Run) -> Option<f64> {
    let sum = |what: &str| run.flow_sum("readings", &format!("/readings/{what}"));
    let (delivered, lost) = (sum("delivered"), sum("lost"));
    (delivered + lost > 0.0).then(|| 100.0 * delivered / (delivered + lost))
}
