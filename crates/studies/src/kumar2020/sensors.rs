//! Sense-and-send: the paper's section 8.2.

use super::read::{
    ACTIVE, CPU, DUTY, RELIABILITY, active, cpu_duty_cycle, radio_duty_cycle, reliability,
};
use super::scenes::{day, loss, paper, readings, three_frames};
use crate::Criterion::{AtLeast, AtMost, Between};
use crate::{Case, Criterion, Fact, Figure, Point, Probe, Run, Table, X};

/// The metrics of a sense-and-send run.
fn metrics(series: &str, x: impl Into<X>, case: &Case) -> Vec<Point> {
    let x: X = x.into();
    let at = || (series.to_owned(), x.clone());
    vec![
        Point::new(at(), RELIABILITY, case, reliability),
        Point::new(at(), DUTY, case, |run| radio_duty_cycle(run, "leaf")),
        Point::new(at(), ACTIVE, case, active),
        Point::new(at(), CPU, case, cpu_duty_cycle),
    ]
}

const NAMES: [(&str, &str); 3] = [("TCP", "tcp"), ("CoAP", "coap"), ("CoCoA", "cocoa")];
const SINGLE: &str = "no batching";
const BATCH: &str = "batches of 64";

/// Fig. 9.
pub fn figure_9() -> Figure {
    let night = |case: Case| case.set("duration", "3600 s");
    let mut points = Vec::new();
    for (what, batch) in [(SINGLE, 1), (BATCH, 64)] {
        for (name, transport) in NAMES {
            let case = night(paper(readings(transport, batch)));
            points.extend(metrics(name, what, &case));
        }
        for (name, transport) in &NAMES[..2] {
            let case = night(readings(transport, batch));
            points.extend(metrics(&format!("{name}, beyond"), what, &case));
        }
    }
    let quotient = |metric: &'static str, name: &'static str, what: &'static str| {
        move |table: &Table<'_>| table.ratio(metric, (name, what), ("CoAP", what))
    };
    let batching = |name: &'static str| {
        move |table: &Table<'_>| table.ratio(DUTY.0, (name, BATCH), (name, SINGLE))
    };
    let least = |what: &'static str| {
        move |table: &Table<'_>| {
            let all = NAMES
                .iter()
                .map(|(name, _)| table.get(name, what, RELIABILITY.0));
            all.collect::<Option<Vec<f64>>>()?
                .into_iter()
                .reduce(f64::min)
        }
    };
    Figure {
        name: "9",
        title: "Sense-and-send without interference",
        x_label: "readings of 82 bytes, one a second",
        about: "Four leaves, three to five hops; base sleep interval 4 min, 100 ms while an \
                answer is expected; 5-frame segments; one hour. The paper: all reliable, \
                radio and CPU duty cycles of the three alike, much lower in batches.",
        points,
        facts: vec![
            Fact::shape(
                "least reliability, no batching",
                least(SINGLE),
                AtLeast(99.5),
            )
            .paper(100.0),
            Fact::shape("least reliability, batches", least(BATCH), AtLeast(99.5)).paper(100.0),
            Fact::shape(
                "radio, TCP / CoAP, no batching",
                quotient(DUTY.0, "TCP", SINGLE),
                Between(0.7, 1.4),
            ),
            Fact::shape(
                "radio, TCP / CoAP, batches",
                quotient(DUTY.0, "TCP", BATCH),
                Between(0.7, 1.4),
            ),
            Fact::shape(
                "radio, CoCoA / CoAP, batches",
                quotient(DUTY.0, "CoCoA", BATCH),
                Between(0.7, 1.4),
            ),
            Fact::shape(
                "CPU, TCP / CoAP, batches",
                quotient(CPU.0, "TCP", BATCH),
                Between(0.7, 1.4),
            ),
            Fact::shape("radio, TCP, batches / not", batching("TCP"), AtMost(0.6)),
            Fact::shape("radio, CoAP, batches / not", batching("CoAP"), AtMost(0.6)),
        ],
    }
}

const LOSSES: [u32; 8] = [0, 3, 6, 9, 12, 15, 18, 21];

/// Share of retransmissions that no timeout caused.
fn not_timeouts(run: &Run) -> Option<f64> {
    let of = |reason: &str| run.flow_sum("readings", &format!("/retransmissions/{reason}"));
    let others = of("fast") + of("tail") + of("link_lost");
    let all = others + of("rto");
    (all > 0.0).then(|| 100.0 * others / all)
}

fn retransmissions(run: &Run, reasons: &[&str]) -> Option<f64> {
    let of = |reason: &&str| run.flow_sum("readings", &format!("/retransmissions/{reason}"));
    // Per ten minutes, as all flows together have them.
    Some(reasons.iter().map(of).sum::<f64>() * 600.0 / run.number("/simulated_s")?)
}

/// The losses up to which the paper's conclusions hold.
fn up_to_15() -> impl Iterator<Item = u32> {
    LOSSES.into_iter().filter(|percent| *percent <= 15)
}

fn figure_10_points() -> Vec<Point> {
    let hour = |case: Case| case.set("duration", "3600 s");
    let mut points = Vec::new();
    for percent in LOSSES {
        for (name, transport) in NAMES {
            let case = hour(loss(paper(readings(transport, 64)), percent));
            points.extend(metrics(name, percent, &case));
            let metric = ("retransmissions in 10 min", "");
            points.push(Point::new((name, percent), metric, &case, |run| {
                retransmissions(run, &["rto", "fast", "tail", "link_lost"])
            }));
            if name == "TCP" {
                let metric = ("not by timeout", "%");
                points.push(Point::new((name, percent), metric, &case, not_timeouts));
            }
        }
        let ideal = hour(loss(paper(readings("ideal", 64)), percent));
        points.extend(metrics("ideal", percent, &ideal));
        for (name, transport) in [NAMES[0], NAMES[1], ("ideal", "ideal")] {
            let case = hour(loss(readings(transport, 64), percent));
            points.extend(metrics(&format!("{name}, beyond"), percent, &case));
        }
    }
    points
}

/// The least reliability of a series up to 15 %.
fn least_reliability(what: &'static str, series: &'static str, least: f64) -> Fact {
    let read = move |table: &Table<'_>| {
        let all = up_to_15().map(|percent| table.get(series, percent, RELIABILITY.0));
        all.collect::<Option<Vec<f64>>>()?
            .into_iter()
            .reduce(f64::min)
    };
    Fact::shape(what, read, AtLeast(least))
}

/// The greatest ratio of two series' duty cycles up to 15 %.
fn worst_duty(what: &'static str, (one, other): (&'static str, &'static str), most: f64) -> Fact {
    let read = move |table: &Table<'_>| {
        let all = up_to_15().map(|percent| table.ratio(DUTY.0, (one, percent), (other, percent)));
        all.collect::<Option<Vec<f64>>>()?
            .into_iter()
            .reduce(f64::max)
    };
    Fact::shape(what, read, AtMost(most))
}

/// How much more reliable one series is than another.
fn more_reliable(
    what: &'static str,
    (one, other): (&'static str, &'static str),
    percent: u32,
    criterion: Criterion,
) -> Fact {
    let read = move |table: &Table<'_>| {
        let of = |series| table.get(series, percent, RELIABILITY.0);
        Some(of(one)? - of(other)?)
    };
    Fact::shape(what, read, criterion)
}

fn figure_10_facts() -> Vec<Fact> {
    let own = |fact: Fact| fact.note("what Redpoll promises");
    vec![
        least_reliability("TCP, least reliability to 15 %", "TCP", 99.0).paper(100.0),
        least_reliability("CoAP, least reliability to 15 %", "CoAP", 99.0).paper(100.0),
        more_reliable(
            "CoCoA less CoAP, reliability at 15 %",
            ("CoCoA", "CoAP"),
            15,
            AtMost(-2.0),
        ),
        more_reliable(
            "CoAP less TCP, reliability at 21 %",
            ("CoAP", "TCP"),
            21,
            AtLeast(0.0),
        )
        .note("here TCP repeats by RACK and tail loss probes where theirs waits for timeouts"),
        worst_duty("radio, TCP / CoAP, worst to 15 %", ("TCP", "CoAP"), 1.4),
        worst_duty("radio, ideal / CoAP, worst to 15 %", ("ideal", "CoAP"), 0.6)
            .note("at 0 %: a data request with its answer takes 7 ms here"),
        Fact::shape(
            "TCP, not by timeout at 9 %, in %",
            |table| table.get("TCP", 9, "not by timeout"),
            Between(10.0, 50.0),
        )
        .note("RACK and tail loss probes (RFC 8985) come before most timeouts"),
        own(worst_duty(
            "beyond: radio, TCP / CoAP, worst to 15 %",
            ("TCP, beyond", "CoAP, beyond"),
            1.0,
        )),
        own(worst_duty(
            "beyond: radio, TCP / ideal, worst to 15 %",
            ("TCP, beyond", "ideal, beyond"),
            2.0,
        )),
        own(least_reliability(
            "beyond: TCP, least reliability to 15 %",
            "TCP, beyond",
            99.5,
        )),
        own(least_reliability(
            "beyond: CoAP, least reliability to 15 %",
            "CoAP, beyond",
            99.5,
        )),
    ]
}

/// Fig. 10.
pub fn figure_10() -> Figure {
    Figure {
        name: "10",
        title: "Sense-and-send with packets lost at the border router",
        x_label: "packets lost in %",
        about: "Batches of 64, one hour. The paper: TCP and CoAP nearly 100 % reliable up to \
                15 %, CoCoA poor above 9 %; above 15 % CoAP better than TCP; most of TCP's \
                retransmissions by timeouts, a significant part not; duty cycles alike, an ideal \
                protocol's far lower.",
        points: figure_10_points(),
        facts: figure_10_facts(),
    }
}

/// Table 7: name, transport, batch, and reliability, radio and CPU of the paper.
const DAY: [(&str, &str, u32, f64, f64, f64); 4] = [
    ("TCP", "tcp", 64, 99.3, 2.29, 0.973),
    ("CoAP", "coap", 64, 99.5, 1.84, 0.834),
    ("unreliable, no batch", "unreliable", 1, 93.4, 1.13, 0.52),
    ("unreliable, batch", "unreliable", 64, 95.3, 0.734, 0.30),
];

fn hourly(case: Case) -> Case {
    case.probe(Probe::Hourly { nodes: "leaf" })
}

/// Why rows with Wi-Fi are on for longer than the paper's.
const REPEATED: &str = "the repetition of frames under Wi-Fi: see the series without";

/// The protocols of table 7 where about as many packets are lost behind the mesh
/// as the paper's day lost, and none to Wi-Fi: so the ideal protocol of §8.2.2, of
/// which the table's caption says what it would take "under similarly lossy
/// conditions".
fn lost_behind_the_mesh() -> Vec<Point> {
    let mut points = Vec::new();
    let all = DAY.map(|(name, transport, batch, _, radio, _)| (name, transport, batch, radio));
    for (name, transport, batch, radio) in all.into_iter().chain([("ideal", "ideal", 64, 0.665)]) {
        let case = loss(paper(three_frames(readings(transport, batch))), 5);
        let case = case.set("duration", "3600 s");
        let at = || ("5 % lost, no Wi-Fi", name);
        points.push(Point::new(at(), RELIABILITY, &case, reliability));
        let duty = |run: &Run| radio_duty_cycle(run, "leaf");
        let duty = Point::new(at(), DUTY, &case, duty).paper(radio);
        points.push(match transport {
            "ideal" => duty.must(Between(0.44, 0.91)),
            _ => duty,
        });
    }
    points
}

/// Table 7.
pub fn table_7() -> Figure {
    let mut points = Vec::new();
    for (name, transport, batch, reliable, radio, cpu) in DAY {
        let case = hourly(paper(day(transport, batch)));
        let near = |value: f64| Between(0.7 * value, 1.3 * value);
        let at = || ("testbed", name);
        points.push(
            Point::new(at(), RELIABILITY, &case, reliability)
                .paper(reliable)
                .must(Between(reliable - 2.0, 100.0)),
        );
        let duty = |run: &Run| radio_duty_cycle(run, "leaf");
        points.push(
            Point::new(at(), DUTY, &case, duty)
                .paper(radio)
                .must(near(radio))
                .note(if transport == "unreliable" {
                    REPEATED
                } else {
                    ""
                }),
        );
        points.push(Point::new(at(), ACTIVE, &case, active).paper(radio));
        points.push(Point::new(at(), CPU, &case, cpu_duty_cycle).paper(cpu));
    }
    let ideal = hourly(paper(day("ideal", 64)));
    let duty = |run: &Run| radio_duty_cycle(run, "leaf");
    points.push(
        Point::new(("testbed", "ideal"), DUTY, &ideal, duty)
            .paper(0.665)
            .must(Between(0.44, 0.91))
            .note(REPEATED),
    );
    points.extend(lost_behind_the_mesh());
    for (name, transport) in &NAMES[..2] {
        points.extend(metrics("beyond", *name, &hourly(day(transport, 64))));
    }
    let quotient = |series: &'static str, one: &'static str, other: &'static str| {
        move |table: &Table<'_>| table.ratio(DUTY.0, (series, one), (series, other))
    };
    Figure {
        name: "table-7",
        title: "A day with interference",
        x_label: "protocol",
        about: "24 hours, 3-frame segments and messages, Wi-Fi from 9 to 18 o'clock so that the \
                unreliable protocol with batches loses about as many readings as the paper's. \
                The paper's CPU duty cycle includes its operating system; ours is the engine's \
                instructions and the moves of frames.",
        points,
        facts: vec![
            Fact::shape(
                "radio, TCP / CoAP",
                quotient("testbed", "TCP", "CoAP"),
                Between(1.0, 1.5),
            )
            .paper(1.24),
            Fact::shape(
                "radio, CoAP / unreliable with batch",
                quotient("testbed", "CoAP", "unreliable, batch"),
                Between(1.75, 3.25),
            )
            .paper(2.5)
            .note(REPEATED),
            Fact::shape(
                "beyond: radio, TCP / CoAP",
                quotient("beyond", "TCP", "CoAP"),
                AtMost(1.0),
            )
            .note("what Redpoll promises"),
            Fact::shape(
                "beyond: TCP, reliability",
                |table| table.get("beyond", "TCP", RELIABILITY.0),
                AtLeast(99.5),
            )
            .note("what Redpoll promises"),
        ],
    }
}

/// Who has sent a datagram waits until it is four hops ahead before the next: its
/// frames do not meet those of the one before.
fn pause(case: Case) -> Case {
    case.set("lowpan.pause", "32 ms")
}

const PAUSE: [&str; 2] = ["TCP, pauses", "CoAP, pauses"];

/// Fig. 11.
pub fn figure_11() -> Figure {
    let mut points = Vec::new();
    let cases = [
        ("TCP", hourly(paper(day("tcp", 64)))),
        ("CoAP", hourly(paper(day("coap", 64)))),
        ("TCP, beyond", hourly(day("tcp", 64))),
        (PAUSE[0], hourly(pause(paper(day("tcp", 64))))),
        (PAUSE[1], hourly(pause(paper(day("coap", 64))))),
    ];
    for (name, case) in &cases {
        for hour in 1..=24_u32 {
            let read = move |run: &Run| {
                let samples = run.samples().iter();
                let mut of_hour = samples.filter(|(at, _)| *at == f64::from(hour));
                of_hour.next().map(|(_, share)| 100.0 * share)
            };
            points.push(Point::new((*name, hour - 1), DUTY, case, read));
        }
    }
    let mean_over = |name: &'static str, hours: [u32; 2], table: &Table<'_>| {
        let all = (hours[0]..hours[1]).map(|hour| table.get(name, hour, DUTY.0));
        crate::run::mean(&all.collect::<Option<Vec<f64>>>()?)
    };
    let quotient = move |[one, other]: [&'static str; 2], hours: [u32; 2]| {
        move |table: &Table<'_>| {
            Some(mean_over(one, hours, table)? / mean_over(other, hours, table)?)
        }
    };
    const PLAIN: [&str; 2] = ["TCP", "CoAP"];
    Figure {
        name: "11",
        title: "Radio duty cycle by the hour",
        x_label: "hour",
        about: "The runs of table 7. The paper: CoAP lower outside working hours, TCP slightly \
                lower within them.",
        points,
        facts: vec![
            Fact::shape(
                "TCP / CoAP, 0 to 9 o'clock",
                quotient(PLAIN, [0, 9]),
                AtLeast(1.0),
            ),
            Fact::shape(
                "TCP / CoAP, 9 to 18 o'clock",
                quotient(PLAIN, [9, 18]),
                AtMost(1.0),
            )
            .note(
                "nearer than at night, but not below: TCP's segments meet those before them, \
                 see below with a pause behind each, and it tries again sooner than CoAP while \
                 interferers are there (docs/studies.md)",
            ),
            Fact::new(
                ("verdict", X::None),
                ("with pauses: TCP / CoAP, 0 to 9 o'clock", ""),
                quotient(PAUSE, [0, 9]),
            ),
            Fact::new(
                ("verdict", X::None),
                ("with pauses: TCP / CoAP, 9 to 18 o'clock", ""),
                quotient(PAUSE, [9, 18]),
            ),
        ],
    }
}
