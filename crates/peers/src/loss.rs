//! The bench `loss`: how long a bulk transfer takes when packets get lost.

use std::fmt::Write as _;

use redpoll_base::Duration;

use crate::link::Link;
use crate::peer::{Limits, Subject};
use crate::transfer::{Measured, Transfer};

/// The name of the bench.
pub const NAME: &str = "loss";

/// The losses of the full bench, in percent.
pub const LOSSES: [u32; 5] = [0, 1, 5, 10, 15];

/// The seeds of the full bench.
pub const SEEDS: u64 = 5;

/// The metrics and their units, in the order of the columns.
///
/// - `completion_s`: from the first byte given to TCP to the last one read.
/// - `bytes_sent_per_byte`: payload bytes sent for each byte delivered.
/// - `needless_retransmissions`: of all segments with payload that the sender
///   made, how many it made again although all their bytes had arrived.
/// - `timeouts`: how often the retransmission timer made the sender send again.
/// - `acks_per_segment`: segments without payload from the receiver, for each
///   segment with payload that reached it.
/// - `ip_bytes_per_byte`: all that went over the link in both directions,
///   headers included, for each byte delivered.
/// - `retransmissions`: segments that begin with a byte sent before.
/// - `needless_share`: how many of those were needless.
pub const METRICS: [(&str, &str); 8] = [
    ("completion_s", "s"),
    ("bytes_sent_per_byte", "B/B"),
    ("needless_retransmissions", "%"),
    ("timeouts", "count"),
    ("acks_per_segment", "1/segment"),
    ("ip_bytes_per_byte", "B/B"),
    ("retransmissions", "count"),
    ("needless_share", "%"),
];

/// What to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Which stacks; none of them [`missing`](Subject::missing).
    pub subjects: Vec<Subject>,
    /// Losses in percent.
    pub losses: Vec<u32>,
    /// Seeds 1 to this; the median counts.
    pub seeds: u64,
    /// Bytes a transfer.
    pub bytes: usize,
}

/// One figure: the median over the seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Which stack.
    pub subject: Subject,
    /// Which of [`METRICS`].
    pub metric: &'static str,
    /// Loss in percent.
    pub loss: u32,
    /// `None` if half of the transfers or more did not end.
    pub value: Option<f64>,
    /// The unit.
    pub unit: &'static str,
}

impl Default for Plan {
    fn default() -> Self {
        let is_there = |subject: &Subject| subject.missing().is_none();
        Plan {
            subjects: Subject::ALL.into_iter().filter(is_there).collect(),
            losses: LOSSES.to_vec(),
            seeds: SEEDS,
            bytes: 1 << 20,
        }
    }
}

/// The transfer at this loss: what is alike for all.
pub fn transfer(loss: u32, bytes: usize) -> Transfer {
    Transfer {
        link: Link {
            rate_bps: 75_000,
            delay: Duration::from_millis(50),
            queue_packets: 40,
            loss_ppm: loss * 10_000,
        },
        limits: Limits {
            payload_bytes: 462,
            buffer_bytes: 1_848,
        },
        bytes,
        limit: Duration::from_secs(20_000),
        block: None,
    }
}

impl Plan {
    /// How many transfers it takes.
    pub fn transfers(&self) -> usize {
        self.subjects.len() * self.losses.len() * self.seeds as usize
    }

    /// Measures. `on_transfer` hears of each transfer before it begins.
    pub fn run(&self, mut on_transfer: impl FnMut(Subject, u32)) -> Vec<Figure> {
        let mut figures = Vec::new();
        for &subject in &self.subjects {
            for &loss in &self.losses {
                let transfer = transfer(loss, self.bytes);
                let samples: Vec<[f64; METRICS.len()]> = (1..=self.seeds)
                    .map(|seed| {
                        on_transfer(subject, loss);
                        sample(&transfer.run(subject, seed))
                    })
                    .collect();
                for (index, (metric, unit)) in METRICS.into_iter().enumerate() {
                    let median = median(samples.iter().map(|sample| sample[index]).collect());
                    figures.push(Figure {
                        subject,
                        metric,
                        loss,
                        value: median.is_finite().then_some(median),
                        unit,
                    });
                }
            }
        }
        figures
    }
}

impl Figure {
    /// The figure as a JSON object on one line.
    pub fn to_json(&self) -> String {
        json(
            NAME,
            self.subject,
            self.metric,
            self.loss,
            self.value,
            self.unit,
        )
    }
}

/// A figure as a JSON object on one line.
pub(crate) fn json(
    bench: &str,
    subject: Subject,
    metric: &str,
    loss: u32,
    value: Option<f64>,
    unit: &str,
) -> String {
    let value = value.map_or("null".to_owned(), |v| v.to_string());
    format!(
        "{{\"bench\":\"{bench}\",\"subject\":\"{subject}\",\"metric\":\"{metric}\",\
         \"x\":{loss},\"value\":{value},\"unit\":\"{unit}\"}}"
    )
}

/// In the order of [`METRICS`]. Of a transfer that did not end nothing is
/// comparable: it counts as worse than any.
fn sample(measured: &Measured) -> [f64; METRICS.len()] {
    let Some(completion) = measured.completion else {
        return [f64::INFINITY; METRICS.len()];
    };
    let meter = &measured.meter;
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let received = measured.received as u64;
    [
        completion.as_micros() as f64 / 1e6,
        share(meter.data_bytes, received),
        100.0 * share(meter.needless, meter.data_segments),
        f64::from(measured.timeouts),
        share(meter.acks, meter.data_arrived),
        share(meter.ip_bytes, received),
        meter.retransmissions as f64,
        100.0 * share(meter.needless, meter.retransmissions),
    ]
}

/// The middle one; infinite if half of them are.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The figures as text: a block a metric, a line a subject, a column a loss.
pub fn table(figures: &[Figure]) -> String {
    let mut text = String::new();
    let mut losses: Vec<u32> = figures.iter().map(|figure| figure.loss).collect();
    losses.sort_unstable();
    losses.dedup();
    for (metric, unit) in METRICS {
        let _ = write!(text, "{:<30}", format!("{metric} [{unit}]"));
        for loss in &losses {
            let _ = write!(text, "{:>10}", format!("{loss} %"));
        }
        text.push('\n');
        for subject in Subject::ALL {
            let row: Vec<&Figure> = figures
                .iter()
                .filter(|figure| figure.subject == subject && figure.metric == metric)
                .collect();
            if row.is_empty() {
                continue;
            }
            let _ = write!(text, "  {subject:<28}");
            for loss in &losses {
                let value = row.iter().find(|figure| figure.loss == *loss);
                let cell = value.map(|figure| cell(metric, figure.value));
                let _ = write!(text, "{:>10}", cell.unwrap_or_default());
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

fn cell(metric: &str, value: Option<f64>) -> String {
    match (metric, value) {
        (_, None) => "failed".to_owned(),
        ("completion_s", Some(value)) => format!("{value:.1}"),
        ("needless_retransmissions" | "needless_share", Some(value)) => format!("{value:.2}"),
        ("timeouts" | "retransmissions", Some(value)) => format!("{value:.0}"),
        (_, Some(value)) => format!("{value:.3}"),
    }
}

/// What stands above the table: the rules.
pub fn rules(plan: &Plan) -> String {
    format!(
        "loss: {} B over 75 kb/s, 50 ms one way, queue of 40 packets, 462 B a segment, \
         buffers of 1848 B, loss both ways; medians of {} seeds\n\
         least retransmission timeout: redpoll 0.3 s, redpoll-rto-1s 1 s, tcplp 0.23 s \
         (0.03 s, and 0.2 s that it adds to each)\n",
        plan.bytes, plan.seeds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![3.0, 1.0, f64::INFINITY]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![1.0, f64::INFINITY, f64::INFINITY]).is_infinite());
    }

    #[test]
    fn a_figure_is_one_object() {
        let figure = Figure {
            subject: Subject::Redpoll,
            metric: "completion_s",
            loss: 5,
            value: Some(170.25),
            unit: "s",
        };
        assert_eq!(
            figure.to_json(),
            r#"{"bench":"loss","subject":"redpoll","metric":"completion_s","x":5,"value":170.25,"unit":"s"}"#
        );
    }
}
