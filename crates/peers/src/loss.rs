//! The bench `loss`: the duration of a bulk transfer with packet loss.

use redpoll_base::Duration;

use crate::link::Link;
use crate::peer::Limits;
use crate::subject::Subject;
use crate::sweep::{self, Bench, Figure, Over, median};
use crate::transfer::{Measured, Transfer};

pub const NAME: &str = "loss";

/// Loss rates of the full bench, in percent.
pub const LOSSES: [u32; 5] = [0, 1, 5, 10, 15];

pub const SEEDS: u64 = 5;

/// The metrics and their units, in the order of the columns.
///
/// - `completion_s`: time from the first byte given to TCP to the last byte read.
/// - `bytes_sent_per_byte`: payload bytes sent for each byte delivered.
/// - `needless_retransmissions`: needless retransmissions as a share of the sender's segments with
///   payload. A retransmission is needless if earlier segments deliver all its bytes.
/// - `timeouts`: retransmissions caused by the retransmission timer.
/// - `acks_per_segment`: segments without payload from the receiver, for each segment with payload
///   that reached the receiver.
/// - `ip_bytes_per_byte`: bytes on the link in both directions, headers included, for each byte
///   delivered.
/// - `retransmissions`: segments whose first byte was sent before.
/// - `needless_share`: share of needless retransmissions among all retransmissions.
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

const BENCH: Bench<{ METRICS.len() }> = Bench {
    name: NAME,
    metrics: METRICS,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The stacks; each must not be [`missing`](Subject::missing).
    pub subjects: Vec<Subject>,
    /// Losses in percent.
    pub losses: Vec<u32>,
    /// Number of seeds; seeds count from 1, and the figures are medians over them.
    pub seeds: u64,
    pub bytes: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            subjects: sweep::present(),
            losses: LOSSES.to_vec(),
            seeds: SEEDS,
            bytes: 1 << 20,
        }
    }
}

/// Returns the transfer at `loss` percent, with the same conditions for all stacks.
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
    pub fn transfers(&self) -> usize {
        self.subjects.len() * self.losses.len() * self.seeds as usize
    }

    /// Runs the bench and returns medians over the seeds. Calls `on_transfer` before each transfer.
    pub fn run(&self, on_transfer: impl FnMut(Subject, u32)) -> Vec<Figure> {
        let over = Over {
            subjects: &self.subjects,
            losses: &self.losses,
            seeds: self.seeds,
        };
        let at = |loss| transfer(loss, self.bytes);
        BENCH.run(&over, at, medians, on_transfer)
    }
}

fn medians(runs: &[Measured]) -> [f64; METRICS.len()] {
    let samples: Vec<_> = runs.iter().map(sample).collect();
    std::array::from_fn(|index| median(samples.iter().map(|sample| sample[index]).collect()))
}

/// Returns the values in the order of [`METRICS`]. An unfinished transfer has infinite values.
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

/// Returns the figures as text: a block per metric, a line per subject, a column per loss.
pub fn table(figures: &[Figure]) -> String {
    BENCH.table(figures, |metric, value| match metric {
        "completion_s" => format!("{value:.1}"),
        "needless_retransmissions" | "needless_share" => format!("{value:.2}"),
        "timeouts" | "retransmissions" => format!("{value:.0}"),
        _ => format!("{value:.3}"),
    })
}

pub fn rules(plan: &Plan) -> String {
    format!(
        "loss: {} B over 75 kb/s, 50 ms one way, queue of 40 packets, segments of 462 B, buffers \
         of 1848 B, loss in both directions; medians of {} seeds\nminimum retransmission timeout: \
         redpoll 0.3 s, redpoll-rto-1s 1 s, tcplp 0.23 s (TCPlp adds 0.2 s to every timeout, \
         and has a minimum of 0.03 s before that)\n",
        plan.bytes, plan.seeds
    )
}
