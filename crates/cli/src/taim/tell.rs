//! Reports of all flows, as a line on a terminal, as JSON, and for Prometheus.

use std::fmt::Write as _;
use std::net::{Ipv6Addr, SocketAddrV6};

use indicatif::ProgressBar;
use redpoll_assist::taim::{Counters, End, FlowView, Taim};
use redpoll_base::{Duration, Instant};
use serde_json::json;

use super::Heap;
use crate::progress::bar;

/// Counts of the delays with which packets left, by powers of two of a microsecond.
#[derive(Clone, Copy, Default, Debug)]
pub struct Lateness {
    counts: [u64; 24],
    sum_us: u64,
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

/// Writes the metrics of a name: kind, description, and lines.
type Family<'f> = dyn FnMut(&str, &str, &str, &dyn Fn(&mut String, &str)) + 'f;

pub(super) struct Snapshot {
    now: Instant,
    delay_ns: u64,
    waiting_packets: u32,
    waiting_flows: u32,
    on_probation: u32,
    counters: Counters,
    late: Lateness,
    flows: Vec<FlowView>,
}

fn address(end: End) -> String {
    SocketAddrV6::new(Ipv6Addr::from(end.addr), end.port, 0, 0).to_string()
}

fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_micros() as f64 / 1e6)
}

impl Snapshot {
    pub(super) fn of(now: Instant, taim: &Taim<Heap, u32>, late: Lateness) -> Snapshot {
        Snapshot {
            now,
            delay_ns: taim.delay_ns(),
            waiting_packets: taim.waiting_packets(),
            waiting_flows: taim.waiting_flows(),
            on_probation: taim.flow_counts().0,
            counters: *taim.counters(),
            late,
            flows: taim.flows().filter(|flow| flow.is_confirmed).collect(),
        }
    }

    fn totals(&self) -> [(&'static str, u64); 10] {
        let counters = &self.counters;
        [
            ("released", counters.released),
            ("overdue", counters.overdue),
            ("pushed_out", counters.pushed_out),
            ("foreign", counters.foreign),
            ("malformed", counters.malformed),
            ("on_probation", counters.on_probation),
            ("untracked", counters.untracked),
            ("nonsense", counters.nonsense),
            ("confirmed", counters.confirmed),
            ("evicted", counters.evicted),
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
            "waiting_packets": self.waiting_packets,
            "waiting_flows": self.waiting_flows,
            "flows_on_probation": self.on_probation,
            "late_p99_us": self.late.percentile(0.99).as_micros(),
            "totals": totals,
            "flows": flows.collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Returns the metrics in the text format of Prometheus, 0.0.4.
    pub(super) fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, lines: &dyn Fn(&mut String, &str)| {
            let name = format!("redpoll_taim_{name}");
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            lines(&mut text, &name);
        };
        let gauges = [
            (
                "delay_seconds",
                "Time between two forwarded packets.",
                self.delay_ns as f64 / 1e9,
            ),
            (
                "waiting_packets",
                "Packets held.",
                self.waiting_packets.into(),
            ),
            (
                "waiting_flows",
                "Flows with packets held.",
                self.waiting_flows.into(),
            ),
            (
                "flows",
                "Flows with packets seen in both directions.",
                self.flows.len() as f64,
            ),
        ];
        for (name, help, value) in gauges {
            family(name, "gauge", help, &|text, name| {
                let _ = writeln!(text, "{name} {value}");
            });
        }
        for (name, value) in self.totals() {
            let full = format!("{name}_total");
            family(&full, "counter", "See docs/taim.md.", &|text, name| {
                let _ = writeln!(text, "{name} {value}");
            });
        }
        family(
            "late_seconds",
            "histogram",
            "Delay between the time a packet was due and the time it was forwarded.",
            &|text, name| {
                let mut sum = 0;
                for (power, count) in self.late.counts.iter().enumerate() {
                    sum += count;
                    let limit = (1u64 << power) as f64 / 1e6;
                    let _ = writeln!(text, "{name}_bucket{{le=\"{limit}\"}} {sum}");
                }
                let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {sum}");
                let _ = writeln!(
                    text,
                    "{name}_sum {}\n{name}_count {sum}",
                    self.late.sum_us as f64 / 1e6
                );
            },
        );
        self.tell_flows(&mut family);
        text
    }

    fn tell_flows(&self, family: &mut Family<'_>) {
        type Read = fn(&FlowView) -> Option<f64>;
        let of_flows: [(&str, &str, &str, Read); 6] = [
            (
                "flow_throughput_bytes_per_second",
                "gauge",
                "Smoothed throughput at the end of the last period.",
                |flow| Some(flow.throughput as f64),
            ),
            (
                "flow_rtt_seconds",
                "gauge",
                "Round-trip time between both end points.",
                |flow| seconds(flow.rtt),
            ),
            (
                "flow_queue_packets",
                "gauge",
                "Packets of this flow that are held.",
                |flow| Some(flow.waiting.into()),
            ),
            (
                "flow_packets_total",
                "counter",
                "Packets of this flow that were seen.",
                |flow| Some(flow.counters.packets as f64),
            ),
            (
                "flow_released_total",
                "counter",
                "Packets of this flow that were held and then forwarded.",
                |flow| Some(flow.counters.released as f64),
            ),
            (
                "flow_wait_seconds_total",
                "counter",
                "Total time for which packets of this flow were held.",
                |flow| Some(flow.counters.waited_us as f64 / 1e6),
            ),
        ];
        for (name, kind, help, read) in of_flows {
            family(name, kind, help, &|text, name| {
                for flow in &self.flows {
                    let Some(value) = read(flow) else { continue };
                    let (a, b) = (address(flow.ends.lower), address(flow.ends.upper));
                    let _ = writeln!(text, "{name}{{a=\"{a}\",b=\"{b}\"}} {value}");
                }
            });
        }
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
            "{} flows  {} packets held  {:.3} ms between packets{shares}  Ctrl-C ends it",
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
