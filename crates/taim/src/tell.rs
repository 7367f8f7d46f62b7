//! Reports of all flows, as a line on a terminal and as JSON.

use std::net::{Ipv6Addr, SocketAddrV6};

use indicatif::ProgressBar;
use redpoll_assist::taim::{Counters, End, FlowView, Taim};
use redpoll_base::{Duration, Instant};
use serde_json::json;

use super::Heap;
use redpoll_program::output::bar;

/// Counts of the delays with which packets left, by powers of two of a microsecond.
#[derive(Clone, Copy, Default, Debug)]
pub struct Lateness {
    pub(super) counts: [u64; 24],
    pub(super) sum_us: u64,
}

impl Lateness {
    pub fn add(&mut self, late: Duration) {
        let us = late.as_micros();
        let bucket = (64 - us.leading_zeros() as usize).min(self.counts.len() - 1);
        self.counts[bucket] += 1;
        self.sum_us = self.sum_us.saturating_add(us);
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the delay that this share of the packets did not exceed, rounded up to a power of
    /// two microseconds.
    pub fn percentile(&self, share: f64) -> Duration {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut sum = 0;
        let reaches = |count: &u64| {
            sum += count;
            sum >= wanted
        };
        let bucket = self.counts.iter().position(reaches).unwrap_or(0);
        Duration::from_micros(1 << bucket)
    }
}

/// Times of the packets that were held.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Times {
    /// Delay after the time at which a packet was due.
    pub(super) late: Lateness,
    /// Time for which a packet was held.
    pub(super) waited: Lateness,
}

pub(super) struct Snapshot {
    pub(super) now: Instant,
    pub(super) delay_ns: u64,
    pub(super) waiting_packets: u32,
    pub(super) waiting_flows: u32,
    pub(super) on_probation: u32,
    pub(super) counters: Counters,
    pub(super) times: Times,
    pub(super) overflows: u64,
    pub(super) is_shaping: bool,
    pub(super) flows: Vec<FlowView>,
}

pub(super) fn address(end: End) -> String {
    SocketAddrV6::new(Ipv6Addr::from(end.addr), end.port, 0, 0).to_string()
}

pub(super) fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_micros() as f64 / 1e6)
}

impl Snapshot {
    pub(super) fn of(
        now: Instant,
        taim: &Taim<Heap, u32>,
        times: Times,
        overflows: u64,
    ) -> Snapshot {
        Snapshot {
            now,
            delay_ns: taim.delay_ns(),
            waiting_packets: taim.waiting_packets(),
            waiting_flows: taim.waiting_flows(),
            on_probation: taim.flow_counts().0,
            counters: *taim.counters(),
            times,
            overflows,
            is_shaping: taim.is_shaping(),
            flows: taim.flows().filter(|flow| flow.is_confirmed).collect(),
        }
    }

    pub(super) fn totals(&self) -> [(&'static str, u64); 12] {
        let counters = &self.counters;
        [
            ("released", counters.released),
            ("overdue", counters.overdue),
            ("pushed_out", counters.pushed_out),
            ("foreign", counters.foreign),
            ("malformed", counters.malformed),
            ("on_probation", counters.on_probation),
            ("untracked", counters.untracked),
            ("uncontended", counters.uncontended),
            ("nonsense", counters.nonsense),
            ("confirmed", counters.confirmed),
            ("evicted", counters.evicted),
            ("queue_overflows", self.overflows),
        ]
    }

    pub(super) fn json(&self) -> String {
        let flows = self.flows.iter().map(|flow| {
            let counters = &flow.counters;
            json!({
                "ends": [address(flow.ends.lower), address(flow.ends.upper)],
                "throughput_bps": flow.throughput * 8,
                "rtt_s": seconds(flow.rtt),
                "rto_s": seconds(flow.rto),
                "waiting": flow.waiting,
                "packets": counters.packets,
                "bytes": counters.bytes,
                "wait_ms": counters.waited_us as f64 / 1e3 / f64::max(counters.released as f64, 1.0),
                "longest_wait_ms": counters.longest_wait_us as f64 / 1e3,
                "is_over": flow.is_over,
            })
        });
        let totals = self.totals().into_iter();
        let totals: serde_json::Map<_, _> = totals
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        json!({
            "version": 1,
            "uptime_s": self.now.as_micros() as f64 / 1e6,
            "delay_ms": self.delay_ns as f64 / 1e6,
            "is_shaping": self.is_shaping,
            "waiting_packets": self.waiting_packets,
            "waiting_flows": self.waiting_flows,
            "flows_on_probation": self.on_probation,
            "late_p99_us": self.times.late.percentile(0.99).as_micros(),
            "totals": totals,
            "flows": flows.collect::<Vec<_>>(),
        })
        .to_string()
    }
}

/// The status line: on standard error, if that is a terminal.
pub(super) struct Status {
    bar: ProgressBar,
    due: Instant,
}

impl Status {
    const INTERVAL: Duration = Duration::from_secs(1);

    pub(super) fn new() -> Status {
        Status {
            bar: bar(None, "{msg}", 2),
            due: Instant::ZERO,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.bar.is_hidden() && now >= self.due
    }

    pub(super) fn show(&mut self, now: Instant, taim: &Taim<Heap, u32>) {
        self.due = now + Self::INTERVAL;
        let active = taim
            .flows()
            .filter(|flow| flow.is_confirmed && flow.throughput > 0);
        let extremes = active.fold(None, |all: Option<(u64, u64)>, flow| {
            let (least, most) = all.unwrap_or((u64::MAX, 0));
            Some((least.min(flow.throughput), most.max(flow.throughput)))
        });
        let shares = extremes.map_or(String::new(), |(least, most)| {
            format!("  {least} to {most} B/s per flow")
        });
        self.bar.set_message(format!(
            "{} flows  {} packets held  {:.3} ms between packets{shares}  Ctrl-C ends the program",
            taim.flow_counts().1,
            taim.waiting_packets(),
            taim.delay_ns() as f64 / 1e6,
        ));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_rounded_up_to_powers_of_two() {
        let mut late = Lateness::default();
        for us in 0..1_000 {
            late.add(Duration::from_micros(us));
        }
        assert_eq!(late.count(), 1_000);
        assert_eq!(late.percentile(0.5).as_micros(), 512);
        assert_eq!(late.percentile(0.99).as_micros(), 1_024);
        late.add(Duration::MAX);
        assert_eq!(late.percentile(1.0).as_micros(), 1 << 23);
    }
}
