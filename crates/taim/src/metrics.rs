//! Metrics in Prometheus's text format 0.0.4. Names have base units, and counters end in `_total`.

use std::fmt::Write as _;

use redpoll_assist::taim::{Counters, FlowView};

use super::tell::{Lateness, Snapshot, address, seconds};

/// Buckets of the histograms: every second power of two, from 16 us to 4.2 s.
const BUCKETS: [usize; 10] = [4, 6, 8, 10, 12, 14, 16, 18, 20, 22];

type ReadCounter = fn(&Counters) -> u64;
type ReadFlow = fn(&FlowView) -> Option<f64>;

const COUNTERS: [(&str, &str, ReadCounter); 11] = [
    (
        "released_total",
        "Packets that were held and then forwarded.",
        |it| it.released,
    ),
    (
        "overdue_total",
        "Packets that were forwarded because they had been held for the longest allowed time. They are part of redpoll_taim_released_total.",
        |it| it.overdue,
    ),
    (
        "pushed_out_total",
        "Packets that were forwarded before their turn because no further packet could be held. They are part of redpoll_taim_released_total.",
        |it| it.pushed_out,
    ),
    (
        "uncontended_total",
        "Packets that were forwarded immediately because their flow did not compete for the mesh, or the mesh was not the bottleneck.",
        |it| it.uncontended,
    ),
    (
        "foreign_total",
        "Packets that were forwarded immediately because they are not TCP over IPv6, or are fragments.",
        |it| it.foreign,
    ),
    (
        "malformed_total",
        "Packets that were forwarded immediately because they are truncated or have invalid headers.",
        |it| it.malformed,
    ),
    (
        "on_probation_total",
        "Packets that were forwarded immediately because their flow was not yet confirmed: each end must first acknowledge data of the other end.",
        |it| it.on_probation,
    ),
    (
        "untracked_total",
        "Packets that were forwarded immediately because the table of flows had no place for their flow.",
        |it| it.untracked,
    ),
    (
        "nonsense_total",
        "TCP segments with sequence numbers that are impossible for their flow.",
        |it| it.nonsense,
    ),
    (
        "confirmed_total",
        "Flows that were confirmed: each end has acknowledged data of the other end.",
        |it| it.confirmed,
    ),
    (
        "evicted_total",
        "Confirmed flows that lost their place to a new flow.",
        |it| it.evicted,
    ),
];

const OF_FLOWS: [(&str, &str, &str, ReadFlow); 6] = [
    (
        "flow_throughput_bytes_per_second",
        "gauge",
        "Smoothed throughput of a TCP flow, the sum of both directions, at the end of the last measuring period.",
        |flow| Some(flow.throughput as f64),
    ),
    (
        "flow_rtt_seconds",
        "gauge",
        "Smoothed round-trip time between both ends of a TCP flow, including the time for which its packets were held.",
        |flow| seconds(flow.rtt),
    ),
    (
        "flow_queue_packets",
        "gauge",
        "Packets of a TCP flow that are held now.",
        |flow| Some(flow.waiting.into()),
    ),
    (
        "flow_packets_total",
        "counter",
        "Packets of a TCP flow that were seen.",
        |flow| Some(flow.counters.packets as f64),
    ),
    (
        "flow_released_total",
        "counter",
        "Packets of a TCP flow that were held and then forwarded.",
        |flow| Some(flow.counters.released as f64),
    ),
    (
        "flow_wait_seconds_total",
        "counter",
        "Total time for which packets of a TCP flow were held.",
        |flow| Some(flow.counters.waited_us as f64 / 1e6),
    ),
];

/// The text under construction.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) -> String {
        let name = format!("redpoll_taim_{name}");
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        name
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        let name = self.family(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn histogram(&mut self, name: &str, help: &str, times: &Lateness) {
        let name = self.family(name, "histogram", help);
        for power in BUCKETS {
            // `counts[..=power]` counts the times below 2^power us.
            let sum: u64 = times.counts.iter().take(power + 1).sum();
            let limit = (1u64 << power) as f64 / 1e6;
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{limit}\"}} {sum}");
        }
        let count = times.count();
        let _ = writeln!(self.0, "{name}_bucket{{le=\"+Inf\"}} {count}");
        let total = times.sum_us as f64 / 1e6;
        let _ = writeln!(self.0, "{name}_sum {total}\n{name}_count {count}");
    }
}

impl Snapshot {
    pub(super) fn prometheus(&self) -> String {
        let mut page = Page(String::new());
        let name = page.family(
            "build_info",
            "gauge",
            "Version of redpoll; the value is always 1.",
        );
        let version = env!("CARGO_PKG_VERSION");
        let _ = writeln!(page.0, "{name}{{version=\"{version}\"}} 1");
        let gauges = [
            (
                "delay_seconds",
                "Shortest time between two forwarded packets while packets are held. The TAiM paper calls it delaytime; it is adapted after each measuring period.",
                self.delay_ns as f64 / 1e9,
            ),
            (
                "shaping",
                "1 while packets are held because flows compete for the mesh, 0 while packets are forwarded immediately.",
                f64::from(u8::from(self.is_shaping)),
            ),
            (
                "waiting_packets",
                "Packets that are held now.",
                self.waiting_packets.into(),
            ),
            (
                "waiting_flows",
                "TCP flows of which packets are held now.",
                self.waiting_flows.into(),
            ),
            (
                "flows",
                "Confirmed TCP flows (each end has acknowledged data of the other end) that have a place in the table of flows.",
                self.flows.len() as f64,
            ),
        ];
        for (name, help, value) in gauges {
            page.single(name, "gauge", help, value);
        }
        for (name, help, read) in COUNTERS {
            page.single(name, "counter", help, read(&self.counters) as f64);
        }
        page.single(
            "queue_overflows_total",
            "counter",
            "Reports of the kernel that packets were forwarded immediately because the program read its queue too slowly.",
            self.overflows as f64,
        );
        page.histogram(
            "wait_seconds",
            "Time for which a packet was held before it was forwarded.",
            &self.times.waited,
        );
        page.histogram(
            "late_seconds",
            "Delay between the time at which a held packet was due and the time at which it was forwarded.",
            &self.times.late,
        );
        for (name, kind, help, read) in OF_FLOWS {
            let name = page.family(name, kind, help);
            for flow in &self.flows {
                let Some(value) = read(flow) else { continue };
                let (a, b) = (address(flow.ends.lower), address(flow.ends.upper));
                let _ = writeln!(page.0, "{name}{{a=\"{a}\",b=\"{b}\"}} {value}");
            }
        }
        page.0
    }
}

#[cfg(test)]
mod tests {
    use redpoll_base::Duration;

    use super::*;

    #[test]
    fn buckets_contain_times_up_to_their_limit() {
        let mut times = Lateness::default();
        for us in [0, 15, 63, 1_000, 2_000_000, 100_000_000] {
            times.add(Duration::from_micros(us));
        }
        let mut page = Page(String::new());
        page.histogram("x_seconds", "Help.", &times);
        for line in [
            "# TYPE redpoll_taim_x_seconds histogram",
            "redpoll_taim_x_seconds_bucket{le=\"0.000016\"} 2",
            "redpoll_taim_x_seconds_bucket{le=\"0.000064\"} 3",
            "redpoll_taim_x_seconds_bucket{le=\"0.001024\"} 4",
            "redpoll_taim_x_seconds_bucket{le=\"1.048576\"} 4",
            "redpoll_taim_x_seconds_bucket{le=\"4.194304\"} 5",
            "redpoll_taim_x_seconds_bucket{le=\"+Inf\"} 6",
            "redpoll_taim_x_seconds_count 6",
        ] {
            assert!(page.0.lines().any(|it| it == line), "{line}\n{}", page.0);
        }
    }
}
