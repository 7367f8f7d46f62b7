//! What is read from a run, and what it is called.

use redpoll_experiments::Metric;
use redpoll_experiments::{Gap, Reading, Run};

/// Payload that arrived in a second.
pub const GOODPUT: Metric = Metric::new("goodput", "kb/s");
/// Segments lost after link retries.
pub const LOSS: Metric = Metric::new("segment loss", "%");
/// Median round-trip time of segments.
pub const RTT: Metric = Metric::new("RTT", "ms");
/// Median time from a request to its answer.
pub const LATENCY: Metric = Metric::new("latency", "ms");
/// The radio's share of time on, as reports have it.
pub const DUTY: Metric = Metric::new("radio duty cycle", "%");
/// The share of time in which receiver or transmitter is on: without that in
/// which only the oscillator runs, as between two attempts of a frame.
pub const ACTIVE: Metric = Metric::new("receiver or transmitter on", "%");
/// The processor's share of time.
pub const CPU: Metric = Metric::new("CPU duty cycle", "%");
/// Readings delivered of those delivered and lost.
pub const RELIABILITY: Metric = Metric::new("reliability", "%");
/// Jain's index of the flows' goodput: 1 if all have the same.
pub const JAIN: Metric = Metric::new("Jain's index", "");

/// [`GOODPUT`] of the bulk flow.
pub fn goodput(run: &Run) -> Reading {
    run.flow("bulk", "/goodput_kbps")
}

/// [`LOSS`] of the bulk flow.
pub fn segment_loss(run: &Run) -> Reading {
    Ok(100.0 * run.flow("bulk", "/segment_loss")?)
}

/// [`RTT`] of the bulk flow.
pub fn rtt(run: &Run) -> Reading {
    run.flow("bulk", "/rtt_ms/p50")
}

/// [`LATENCY`] of the requests of `get`.
pub fn latency(run: &Run) -> Reading {
    run.flow("get", "/requests/latency_ms/p50")
}

/// Frames that all nodes sent, link acknowledgements not counted.
pub fn frames(run: &Run) -> Reading {
    run.node_sum("", "/frames_sent")
}

/// Why a segment is sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A timeout.
    Timeout,
    /// Duplicates or RACK.
    Fast,
    /// A tail loss probe.
    Tail,
    /// The link has told of its loss.
    LinkLost,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 4] = [Cause::Timeout, Cause::Fast, Cause::Tail, Cause::LinkLost];

    const fn pointer(self) -> &'static str {
        match self {
            Cause::Timeout => "/retransmissions/rto",
            Cause::Fast => "/retransmissions/fast",
            Cause::Tail => "/retransmissions/tail",
            Cause::LinkLost => "/retransmissions/link_lost",
        }
    }
}

/// Retransmissions of the flows whose names begin with `flow`, for one of `causes`.
pub fn retransmissions(run: &Run, flow: &str, causes: &[Cause]) -> Reading {
    let of = |cause: &Cause| run.flow_sum(flow, cause.pointer());
    causes.iter().map(of).sum()
}

/// [`DUTY`] of the nodes with this prefix.
pub fn radio_duty_cycle(run: &Run, nodes: &str) -> Reading {
    Ok(100.0 * run.node(nodes, "/radio_duty_cycle")?)
}

/// Seconds that the radio of the nodes with this prefix was on.
pub fn on_time(run: &Run, nodes: &str) -> Reading {
    Ok(run.node(nodes, "/radio_duty_cycle")? * run.number("/simulated_s")?)
}

/// [`ACTIVE`] of the leaves.
pub fn active(run: &Run) -> Reading {
    active_of(run, "leaf")
}

/// [`ACTIVE`] of the nodes with this prefix.
pub fn active_of(run: &Run, nodes: &str) -> Reading {
    let s = |state: &str| run.node(nodes, &format!("/energy/{state}"));
    let on = s("listen_s")? + s("receive_s")? + s("transmit_s")?;
    Ok(100.0 * on / run.number("/simulated_s")?)
}

/// [`CPU`] of the leaves.
pub fn cpu_duty_cycle(run: &Run) -> Reading {
    cpu_duty_cycle_of(run, "leaf")
}

/// [`CPU`] of the nodes with this prefix.
pub fn cpu_duty_cycle_of(run: &Run, nodes: &str) -> Reading {
    Ok(100.0 * run.node(nodes, "/energy/cpu_duty_cycle")?)
}

/// [`RELIABILITY`] of all sensors together.
pub fn reliability(run: &Run) -> Reading {
    reliability_of(run, "readings")
}

/// [`RELIABILITY`] of the sensors whose flows' names begin with `flow`.
pub fn reliability_of(run: &Run, flow: &str) -> Reading {
    let sum = |what: &str| run.flow_sum(flow, &format!("/readings/{what}"));
    let (delivered, lost) = (sum("delivered")?, sum("lost")?);
    if delivered + lost > 0.0 {
        Ok(100.0 * delivered / (delivered + lost))
    } else {
        Err(Gap::Nothing)
    }
}

/// [`JAIN`] of flows whose names begin with `flow`.
pub fn fairness(run: &Run, flow: &str) -> Reading {
    let shares = redpoll_experiments::numbers(&run.flows(flow)?, "/delivered_bytes")?;
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| {
        (sum + share, squares + share * share)
    });
    if squares > 0.0 {
        Ok(sum * sum / (shares.len() as f64 * squares))
    } else {
        Err(Gap::Nothing)
    }
}
