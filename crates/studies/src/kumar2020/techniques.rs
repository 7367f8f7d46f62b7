//! Table 1 as an ablation: each technique off and on, everything else equal; and
//! the paper's own line of table 6.
//!
//! Zero-copy send and in-place reassembly cannot be switched off: the engine has
//! no other way to hold data. What a copy would need besides is the most that is held
//! at once: of what the link reads in the send buffer, and of what came out of order.

use super::read::{DUTY, goodput, radio_duty_cycle, segment_loss};
use super::scenes::{delay, line, paper, readings, uplink};
use super::web::{adaptive, latency, not_adaptive};
use crate::Criterion::{AtLeast, AtMost, Between};
use crate::{Case, Fact, Figure, Point, Probe, Run, Table, X};

const GOODPUT: (&str, &str) = ("goodput", "kb/s");
const OFF: &str = "off";
const ON: &str = "on";

/// Sense-and-send with frames lost on the air.
fn lossy(case: Case) -> Case {
    case.with(&[
        ("duration", "3600 s"),
        ("tcp.mss", "3 frames"),
        ("faults.air.type", "drop-frames"),
        ("faults.air.share", "20 %"),
    ])
}

/// That and half of OpenThread's data request timeout of 100 ms; by how much the
/// paper shortened it is not known.
const SHORT_TIMEOUT: &str = "the same, 50 ms to listen";

/// Indirect frames as OpenThread had them: no repetition before the next poll,
/// and no preemption.
const PLAIN_QUEUE: &[(&str, &str)] = &[
    ("indirect.retries", "0"),
    ("indirect.retry_delay", "40 ms"),
    ("indirect.preempt", "false"),
];

type Read = fn(&Run) -> Option<f64>;

/// A technique: its name, what is measured, the case without and with it, and what
/// the paper has for both.
struct Technique {
    name: &'static str,
    metric: (&'static str, &'static str),
    read: Read,
    off: Case,
    on: Case,
    paper: Option<[f64; 2]>,
}

impl Technique {
    fn paper(mut self, off: f64, on: f64) -> Technique {
        self.paper = Some([off, on]);
        self
    }
}

fn techniques() -> Vec<Technique> {
    let duty: Read = |run| radio_duty_cycle(run, "leaf");
    let of = |name, metric, read, off, on| Technique {
        name,
        metric,
        read,
        off,
        on,
        paper: None,
    };
    let one_frame = |case: Case| case.set("tcp.mss", "1 frames");
    let without = |case: Case, key: &str, value: &str| case.set(key, value);
    let three = || line(3).set("duration", "600 s");
    let send = || lossy(readings("tcp", 64));
    vec![
        of(
            "large MSS",
            GOODPUT,
            goodput as Read,
            paper(one_frame(uplink())),
            paper(uplink()),
        ),
        of(
            "link retry delay",
            ("segment loss", "%"),
            segment_loss,
            delay(paper(three()), 0),
            delay(paper(three()), 40),
        )
        .paper(6.0, 1.0),
        of(
            "adaptive duty cycle",
            ("latency", "ms"),
            latency,
            not_adaptive(),
            adaptive(),
        ),
        of(
            "L2 queue management",
            DUTY,
            duty,
            paper(send()).with(PLAIN_QUEUE),
            paper(send()),
        )
        .paper(3.0, 2.0),
        of(
            SHORT_TIMEOUT,
            DUTY,
            duty,
            paper(send()).with(PLAIN_QUEUE),
            paper(send()).set("poll.window", "50 ms"),
        ),
        of(
            "software CSMA",
            ("goodput ", "kb/s"),
            goodput,
            without(paper(line(1)), "mac.deaf_backoff", "true"),
            paper(line(1)),
        ),
        of(
            "fragments in bursts",
            ("goodput of 3 hops", "kb/s"),
            goodput,
            without(three(), "lowpan.fragment_burst", "false"),
            three(),
        ),
        of(
            "one poll for all that waits",
            ("radio duty cycle, beyond", "%"),
            duty,
            without(send(), "indirect.burst", "false"),
            send(),
        ),
        of(
            "a poll schedule that learns",
            ("radio duty cycle, beyond ", "%"),
            duty,
            without(send(), "poll.policy", "fixed"),
            send(),
        ),
    ]
}

const ZERO_COPY: &str = "zero-copy send";
const IN_PLACE: &str = "in-place reassembly";
const MEMORY: (&str, &str) = ("memory for a buffer", "B");
/// Of either buffer, in bytes.
const BUFFER: f64 = 1_848.0;

/// The buffers with what copies would need besides, and without.
fn buffers() -> Vec<Point> {
    let sender = paper(line(3)).probe(Probe::Pinned { node: 7 });
    let receiver = super::features::lossy();
    let cases: [(&str, Case, &str); 2] = [
        (ZERO_COPY, sender, "pinned"),
        (IN_PLACE, receiver, "most_out_of_order"),
    ];
    let mut points = Vec::new();
    for (name, case, held) in cases {
        let all = move |run: &Run| Some(BUFFER + run.seen(held)?);
        points.push(Point::new((OFF, name), MEMORY, &case, all));
        points.push(Point::new((ON, name), MEMORY, &case, |_| Some(BUFFER)));
    }
    points
}

/// Table 1.
pub fn table_1() -> Figure {
    let mut points = Vec::new();
    for it in techniques() {
        for (end, series, case) in [(0, OFF, &it.off), (1, ON, &it.on)] {
            let point = Point::new((series, it.name), it.metric, case, it.read);
            points.push(match it.paper {
                Some(values) => point.paper(values[end]),
                None => point,
            });
        }
    }
    points.extend(buffers());
    let gain = |name: &'static str, metric: &'static str| {
        move |table: &Table<'_>| table.ratio(metric, (ON, name), (OFF, name))
    };
    Figure {
        name: "table-1",
        title: "What each technique is worth",
        x_label: "technique",
        about: "Each technique off and on, everything else equal. The first four are the \
                paper's; the last three are Redpoll's own, on its own link. Zero-copy send and \
                in-place reassembly cannot be switched off: without them a buffer would need \
                room for the most that the link was found to hold at once, and for the most \
                that came out of order (1 % of frames lost).",
        points,
        facts: vec![
            Fact::shape(
                "zero-copy send, send buffer",
                gain(ZERO_COPY, MEMORY.0),
                Between(0.4, 0.6),
            )
            .paper(0.5)
            .note(
                "a segment is made when the link has room for it, so one is held at a time; \
                 their link queues the window",
            ),
            Fact::shape(
                "in-place reassembly, receive buffer",
                gain(IN_PLACE, MEMORY.0),
                Between(0.52, 0.72),
            )
            .paper(0.62),
            Fact::shape(
                "large MSS, goodput",
                gain("large MSS", "goodput"),
                AtLeast(3.0),
            )
            .note(super::goodput::ONE_FRAME)
            .paper(4.5),
            Fact::shape(
                "link retry delay, segment loss",
                gain("link retry delay", "segment loss"),
                AtMost(0.25),
            )
            .paper(0.17),
            Fact::shape(
                "adaptive duty cycle, HTTP latency",
                gain("adaptive duty cycle", "latency"),
                AtMost(0.6),
            )
            .paper(0.5),
            Fact::shape(
                "L2 queue management, TCP's radio duty cycle",
                gain("L2 queue management", DUTY.0),
                AtMost(0.8),
            )
            .paper(0.67)
            .note("the paper also listens for less long, and does not say for how long: next row"),
            Fact::new(
                ("verdict", X::None),
                ("the same and a data request timeout of 50 ms", ""),
                gain(SHORT_TIMEOUT, DUTY.0),
            )
            .paper(0.67),
            Fact::shape(
                "software CSMA, goodput",
                gain("software CSMA", "goodput "),
                AtLeast(1.0),
            ),
            Fact::shape(
                "fragments in bursts, goodput",
                gain("fragments in bursts", "goodput of 3 hops"),
                AtLeast(1.0),
            ),
            Fact::shape(
                "one poll for all that waits, radio",
                gain("one poll for all that waits", "radio duty cycle, beyond"),
                AtMost(1.0),
            ),
            Fact::shape(
                "a poll schedule that learns, radio",
                gain("a poll schedule that learns", "radio duty cycle, beyond "),
                AtMost(1.0),
            ),
        ],
    }
}

/// Table 6.
pub fn table_6() -> Figure {
    let at = |hops| paper(line(hops));
    Figure {
        name: "table-6",
        title: "Goodput of TCPlp's line in its comparison",
        x_label: "hops",
        about: "The other lines are of other stacks and not run. 5-frame segments, window \
                1848 B, d = 40 ms.",
        points: vec![
            Point::new(("testbed", "one hop"), GOODPUT, &at(1), goodput)
                .paper(75.0)
                .must(Between(75.0, 95.0)),
            Point::new(("testbed", "three hops"), GOODPUT, &at(3), goodput)
                .paper(20.0)
                .must(Between(20.0, 31.7)),
        ],
        facts: Vec::new(),
    }
}
