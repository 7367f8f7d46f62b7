//! Common metrics, and their readings from a run.

use redpoll_experiments::Metric;
use redpoll_experiments::{Gap, Reading, Run};

pub const GOODPUT: Metric = Metric::new("goodput", "kb/s");
/// Share of the segments that were lost despite link retries.
pub const LOSS: Metric = Metric::new("segment loss", "%");
/// Median round-trip time of segments.
pub const RTT: Metric = Metric::new("RTT", "ms");
/// Median time from a request to its answer.
pub const LATENCY: Metric = Metric::new("latency", "ms");
/// Share of time with the radio on, as in reports.
pub const DUTY: Metric = Metric::new("radio duty cycle", "%");
/// Share of time with receiver or transmitter on, without the time in which only the oscillator
/// runs, for example between two attempts of a frame.
pub const ACTIVE: Metric = Metric::new("receiver or transmitter on", "%");
/// Share of time with the processor active.
pub const CPU: Metric = Metric::new("CPU duty cycle", "%");
/// Delivered readings as a share of delivered and lost readings.
pub const RELIABILITY: Metric = Metric::new("reliability", "%");
/// Jain's index of the flows' goodput: 1 if all are equal.
pub const JAIN: Metric = Metric::new("Jain's index", "");
pub const RATIO: Metric = Metric::new("ratio", "");

pub fn goodput(run: &Run) -> Reading {
    run.flow("bulk", "/goodput_kbps")
}

pub fn segment_loss(run: &Run) -> Reading {
    Ok(100.0 * run.flow("bulk", "/segment_loss")?)
}

pub fn rtt(run: &Run) -> Reading {
    run.flow("bulk", "/rtt_ms/p50")
}

pub fn latency(run: &Run) -> Reading {
    run.flow("get", "/requests/latency_ms/p50")
}

/// Counts the frames that all nodes sent, except link acknowledgments.
pub fn frames(run: &Run) -> Reading {
    run.node_sum("", "/frames_sent")
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    Timeout,
    /// Duplicate acknowledgments or RACK.
    Fast,
    Tail,
    LinkLost,
}

impl Cause {
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

/// Counts the retransmissions with one of `causes` in the flows whose names begin with `flow`.
pub fn retransmissions(run: &Run, flow: &str, causes: &[Cause]) -> Reading {
    let of = |cause: &Cause| run.flow_sum(flow, cause.pointer());
    causes.iter().map(of).sum()
}

pub fn radio_duty_cycle(run: &Run, nodes: &str) -> Reading {
    Ok(100.0 * run.node(nodes, "/radio_duty_cycle")?)
}

pub fn on_time(run: &Run, nodes: &str) -> Reading {
    Ok(run.node(nodes, "/radio_duty_cycle")? * run.number("/simulated_s")?)
}

pub fn active(run: &Run) -> Reading {
    active_of(run, "leaf")
}

pub fn active_of(run: &Run, nodes: &str) -> Reading {
    let s = |state: &str| run.node(nodes, &format!("/energy/{state}"));
    let on = s("listen_s")? + s("receive_s")? + s("transmit_s")?;
    Ok(100.0 * on / run.number("/simulated_s")?)
}

pub fn cpu_duty_cycle(run: &Run) -> Reading {
    cpu_duty_cycle_of(run, "leaf")
}

pub fn cpu_duty_cycle_of(run: &Run, nodes: &str) -> Reading {
    Ok(100.0 * run.node(nodes, "/energy/cpu_duty_cycle")?)
}

pub fn reliability(run: &Run) -> Reading {
    reliability_of(run, "readings")
}

pub fn reliability_of(run: &Run, flow: &str) -> Reading {
    let sum = |what: &str| run.flow_sum(flow, &format!("/readings/{what}"));
    let (delivered, lost) = (sum("delivered")?, sum("lost")?);
    if delivered + lost > 0.0 {
        Ok(100.0 * delivered / (delivered + lost))
    } else {
        Err(Gap::Nothing)
    }
}

/// Reads [`JAIN`] of the flows whose names begin with `flow`.
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
