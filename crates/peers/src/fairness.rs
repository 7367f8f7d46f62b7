//! The bench `fairness`: two bulk transfers share a bottleneck with a short queue. The queue drops
//! packets and sets no ECN marks.

use std::fmt::Write as _;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_testkit::pattern;

use crate::link::{Link, Pipe};
use crate::loss;
use crate::peer::{Limits, Peer};
use crate::subject::Subject;
use crate::sweep;

pub const NAME: &str = "fairness";

/// Queue lengths of the full bench, in packets.
pub const QUEUES: [usize; 5] = [6, 7, 8, 9, 10];

/// Stacks that share the link with a flow of Redpoll. They have congestion control, and buffers
/// large enough to fill the queue. lwIP is missing, because its buffers are fixed at compile time.
pub const SUBJECTS: [Subject; 3] = [Subject::Redpoll, Subject::Tcplp, Subject::SmoltcpReno];

/// The metrics in the order of the blocks, without units.
///
/// - `jain`: Jain's index of the bytes delivered by both flows; median over the seeds.
/// - `jain_worst`: the lowest index of all seeds.
/// - `share`: the subject's share of the bytes delivered by both flows; median over the seeds.
pub const METRICS: [&str; 3] = ["jain", "jain_worst", "share"];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Stacks of the flows that share the link with Redpoll's flow. Each is in [`SUBJECTS`] and not
    /// [`missing`](Subject::missing).
    pub subjects: Vec<Subject>,
    pub queues: Vec<usize>,
    /// Number of seeds, from 1.
    pub seeds: u64,
    pub time: Duration,
}

/// The value of a metric over all seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Stack of the flow that shares the link with Redpoll's flow.
    pub subject: Subject,
    /// The metric, an element of [`METRICS`].
    pub metric: &'static str,
    /// Capacity of the queue in packets.
    pub queue: usize,
    pub value: f64,
}

impl Default for Plan {
    fn default() -> Self {
        let is_there = |subject: &Subject| subject.missing().is_none();
        Plan {
            subjects: SUBJECTS.into_iter().filter(is_there).collect(),
            queues: QUEUES.to_vec(),
            seeds: loss::SEEDS,
            time: Duration::from_secs(600),
        }
    }
}

/// Returns two flows over a lossless link with the parameters of the bench `loss`. The link queues
/// at most `queue_packets` packets. The buffers of the flows do not limit their windows.
pub fn share(subject: Subject, queue_packets: usize, time: Duration) -> Share {
    let alike = loss::transfer(0, 0);
    Share {
        link: Link {
            queue_packets,
            ..alike.link
        },
        limits: Limits {
            buffer_bytes: 32 * usize::from(alike.limits.payload_bytes),
            ..alike.limits
        },
        flows: [Subject::Redpoll, subject],
        time,
    }
}

impl Plan {
    pub fn runs(&self) -> usize {
        self.subjects.len() * self.queues.len() * self.seeds as usize
    }

    /// Runs the bench. Calls `on_run` before each run.
    pub fn run(&self, mut on_run: impl FnMut(Subject, usize)) -> Vec<Figure> {
        let mut figures = Vec::new();
        for &subject in &self.subjects {
            for &queue in &self.queues {
                let bytes: Vec<[u64; 2]> = (1..=self.seeds)
                    .map(|seed| {
                        on_run(subject, queue);
                        let parts = share(subject, queue, self.time).run(seed);
                        parts.map(|part| part.bytes)
                    })
                    .collect();
                let indices: Vec<f64> = bytes.iter().map(|bytes| jain(*bytes)).collect();
                let shares = bytes.iter().map(|[a, b]| *b as f64 / (a + b).max(1) as f64);
                let values = [
                    sweep::median(indices.clone()),
                    indices.iter().copied().fold(1.0, f64::min),
                    sweep::median(shares.collect()),
                ];
                figures.extend(
                    METRICS
                        .into_iter()
                        .zip(values)
                        .map(|(metric, value)| Figure {
                            subject,
                            metric,
                            queue,
                            value,
                        }),
                );
            }
        }
        figures
    }
}

impl Figure {
    pub fn to_json(&self) -> String {
        let Figure {
            subject,
            metric,
            queue,
            value,
        } = self;
        format!(
            "{{\"bench\":\"{NAME}\",\"subject\":\"{subject}\",\"metric\":\"{metric}\",\
             \"x\":{queue},\"value\":{value},\"unit\":\"\"}}"
        )
    }
}

/// Returns the figures as text: a block per metric, a line per subject, a column per queue.
pub fn table(plan: &Plan, figures: &[Figure]) -> String {
    let mut text = format!(
        "fairness: two flows share a link for {} s, one of Redpoll and one of the row's stack; \
         75 kb/s, 50 ms one way, segments of 462 B, buffers larger than any window; {} seeds\n",
        plan.time.as_millis() / 1_000,
        plan.seeds
    );
    for metric in METRICS {
        let _ = write!(text, "{metric:<30}");
        for queue in &plan.queues {
            let _ = write!(text, "{:>10}", format!("{queue} pkts"));
        }
        text.push('\n');
        for subject in &plan.subjects {
            let _ = write!(text, "  {subject:<28}");
            let row = figures.iter().filter(|it| it.subject == *subject);
            for figure in row.filter(|it| it.metric == metric) {
                let _ = write!(text, "{:>10.3}", figure.value);
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// Two flows over one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Parameters of the link, the same in both directions.
    pub link: Link,
    pub limits: Limits,
    /// The stack of each flow, on both sides; side 0 sends.
    pub flows: [Subject; 2],
    /// Measured time, from the start of the second flow.
    pub time: Duration,
}

/// The outcome of one flow during the time in which both flows were active.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Part {
    pub bytes: u64,
    pub dropped: u64,
    /// Packets that the sender passed to the link, including those that the link dropped.
    pub packets: u64,
    /// The sender's retransmission timeouts, including those before the measured time.
    pub timeouts: u32,
}

/// Returns Jain's index of two values: 1 if equal, 1/2 if one is zero.
pub fn jain(parts: [u64; 2]) -> f64 {
    let [a, b] = parts.map(|part| part as f64);
    let squares = a * a + b * b;
    if squares == 0.0 {
        return 0.0;
    }
    (a + b) * (a + b) / (2.0 * squares)
}

#[derive(Debug)]
struct Owned(usize, Vec<u8>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.1
    }
}

struct Flow {
    peers: [Box<dyn Peer>; 2],
    begins: Instant,
    written: usize,
    read: usize,
    part: Part,
}

struct Run {
    now: Instant,
    flows: Vec<Flow>,
    /// `pipes[i]` transmits from side i.
    pipes: [Pipe<Owned>; 2],
    buffer_bytes: usize,
    is_counting: bool,
}

/// Maximum delay of the second flow's start after the first; the seed determines the delay.
const LATER: Duration = Duration::from_secs(10);

impl Share {
    /// Runs both flows. The same seed gives the same run. Panics if a byte is corrupted, a
    /// connection fails, or a subject is missing.
    pub fn run(&self, seed: u64) -> [Part; 2] {
        let start = Instant::from_millis(1);
        let mut rng = Rng::named(seed, "begin");
        let second = start + Duration::from_micros(rng.below_u64(LATER.as_micros()));
        let flow = |subject: Subject, begins| Flow {
            peers: subject.open(begins, &self.limits),
            begins,
            written: 0,
            read: 0,
            part: Part::default(),
        };
        let mut run = Run {
            now: start,
            flows: vec![flow(self.flows[0], start), flow(self.flows[1], second)],
            pipes: ["there", "back"].map(|name| Pipe::new(self.link, seed, name)),
            buffer_bytes: self.limits.buffer_bytes,
            is_counting: false,
        };
        run.until(second);
        run.is_counting = true;
        run.until(second + self.time);
        [0, 1].map(|flow| Part {
            timeouts: run.flows[flow].peers[0].timeouts(),
            ..run.flows[flow].part
        })
    }
}

impl Run {
    fn until(&mut self, end: Instant) {
        self.attend_all();
        while let Some(next) = self.next_moment().filter(|next| *next <= end) {
            self.now = next;
            for side in 0..2 {
                while let Some(Owned(flow, packet)) = self.pipes[1 - side].receive(next) {
                    self.flows[flow].peers[side].input(next, &packet);
                    self.attend(flow, side);
                }
            }
            self.attend_all();
        }
        self.now = end;
        self.attend_all();
    }

    fn next_moment(&mut self) -> Option<Instant> {
        let now = self.now;
        let arrivals = self.pipes.iter().filter_map(Pipe::next_arrival).min();
        let begun = self.flows.iter_mut().filter(|flow| flow.begins <= now);
        let peers = begun.flat_map(|flow| &mut flow.peers);
        let timers = peers.filter_map(|peer| peer.poll_at(now)).min();
        let next = arrivals.into_iter().chain(timers).min()?;
        Some(next.max(now + Duration::from_micros(1)))
    }

    /// Handles the timers, applications and packets of all flows.
    fn attend_all(&mut self) {
        for flow in 0..self.flows.len() {
            for side in 0..2 {
                let this = &mut self.flows[flow];
                if this.begins > self.now {
                    continue;
                }
                let peer = &mut this.peers[side];
                if peer.poll_at(self.now).is_some_and(|at| at <= self.now) {
                    peer.on_timeout(self.now);
                }
                self.attend(flow, side);
            }
        }
    }

    fn attend(&mut self, flow: usize, side: usize) {
        let this = &mut self.flows[flow];
        assert!(!this.peers[side].has_failed(), "flow {flow} failed");
        if side == 0 {
            this.write(flow, self.now, self.buffer_bytes);
        } else {
            this.read(flow, self.now, self.is_counting);
        }
        while let Some(bytes) = this.peers[side].output(self.now) {
            let arrives = self.pipes[side].send(self.now, Owned(flow, bytes));
            if side == 0 && self.is_counting {
                this.part.packets += 1;
                this.part.dropped += u64::from(!arrives);
            }
        }
    }
}

impl Flow {
    fn write(&mut self, flow: usize, now: Instant, buffer_bytes: usize) {
        while self.peers[0].is_established() {
            let range = self.written..self.written + buffer_bytes;
            let bytes: Vec<u8> = range.map(|at| pattern(flow, at)).collect();
            match self.peers[0].send(now, &bytes) {
                0 => return,
                taken => self.written += taken,
            }
        }
    }

    fn read(&mut self, flow: usize, now: Instant, is_counting: bool) {
        let mut out = [0; 2048];
        loop {
            let count = self.peers[1].recv(now, &mut out);
            if count == 0 {
                return;
            }
            for byte in &out[..count] {
                assert_eq!(*byte, pattern(flow, self.read), "byte {}", self.read);
                self.read += 1;
            }
            if is_counting {
                self.part.bytes += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_between_a_half_and_one() {
        assert_eq!(jain([5, 5]), 1.0);
        assert_eq!(jain([7, 0]), 0.5);
        assert_eq!(jain([3, 1]), 0.8);
        assert_eq!(jain([0, 0]), 0.0);
    }

    #[test]
    fn a_figure_is_one_object() {
        let figure = Figure {
            subject: Subject::Redpoll,
            metric: "jain",
            queue: 6,
            value: 0.5,
        };
        assert_eq!(
            figure.to_json(),
            r#"{"bench":"fairness","subject":"redpoll","metric":"jain","x":6,"value":0.5,"unit":""}"#
        );
    }
}
