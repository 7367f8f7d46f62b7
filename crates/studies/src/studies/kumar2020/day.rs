//! A day of sense-and-send with interference (the paper's §8.2.3).

use super::ideal;
use super::scenes::{
    day, day_of_both, hour_of_night, hours_of_work, loss, readings, three_frames, two_segments,
};
use super::sensors::{TWO_SEGMENTS, leaves};
use crate::vocabulary::probes::Hourly;
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{
    ACTIVE, CPU, DUTY, RELIABILITY, active_of, cpu_duty_cycle_of, radio_duty_cycle, reliability,
    reliability_of,
};
use redpoll_experiments::{At, Case, Figure, Handle, Line, Probed, Shade, mean};

/// A row of table 7: its name, the prefix of its rows in the criteria, the prefixes of its nodes'
/// and flows' names, and the paper's reliability, radio and CPU duty cycle in percent.
pub struct Protocol {
    pub name: &'static str,
    pub id: &'static str,
    pub nodes: &'static str,
    flows: &'static str,
    reliability: f64,
    radio: f64,
    pub cpu: f64,
}

pub const PROTOCOLS: [Protocol; 4] = [
    Protocol {
        name: "TCP",
        id: "tcp",
        nodes: "leaf",
        flows: "readings-tcp",
        reliability: 99.3,
        radio: 2.29,
        cpu: 0.973,
    },
    Protocol {
        name: "CoAP",
        id: "coap",
        nodes: "coap",
        flows: "readings-coap",
        reliability: 99.5,
        radio: 1.84,
        cpu: 0.834,
    },
    Protocol {
        name: "unreliable, no batch",
        id: "unreliable-single",
        nodes: "leaf",
        flows: "readings",
        reliability: 93.4,
        radio: 1.13,
        cpu: 0.52,
    },
    Protocol {
        name: "unreliable, batch",
        id: "unreliable-batch",
        nodes: "leaf",
        flows: "readings",
        reliability: 95.3,
        radio: 0.734,
        cpu: 0.30,
    },
];

impl Protocol {
    /// Returns the protocol's day with the paper's node; TCP and CoAP have the same case.
    pub fn day(&self) -> Case {
        match self.id {
            "unreliable-single" => tcplp(day("unreliable", 1)),
            "unreliable-batch" => tcplp(day("unreliable", 64)),
            _ => (*hourly(tcplp(day_of_both()))).clone(),
        }
    }
}

/// Samples the radios of TCP's and CoAP's nodes by the hour.
fn hourly(case: Case) -> Probed<Hourly> {
    case.probe(Hourly {
        nodes: &["leaf", "coap"],
    })
}

/// Reason why radios are on for longer than in the paper.
const IDLE: &str = "a radio counts as on while its oscillator runs. This includes wake-up, loading \
    and backoff, together 4 ms per frame; the rows \"receiver or transmitter on\" exclude this time";

/// Adds the unreliable protocols of table 7 with about the paper's loss; packets are lost behind
/// the mesh instead of by Wi-Fi. Adds the ideal protocol of §8.2.2 "under similarly lossy
/// conditions" (caption of table 7), simulated and by the paper's formula.
fn lost_behind_the_mesh(figure: &mut Figure) -> [Handle; 2] {
    const SERIES: &str = "5 % of packets lost, no Wi-Fi";
    let rows = [
        ("unreliable, no batch", "unreliable", 1, 1.13),
        ("unreliable, batch", "unreliable", 64, 0.734),
        ("ideal", "ideal", 64, 0.665),
    ];
    let [single, batch, _] = rows.map(|(name, transport, batch, radio)| {
        let case = loss(tcplp(three_frames(readings(transport, batch))), 5);
        let case = case.set("duration", "3600 s");
        figure.point(At::new(SERIES, name), RELIABILITY, &case, reliability);
        let row = figure
            .point(At::new(SERIES, name), DUTY, &case, leaves)
            .paper(radio);
        match transport {
            "ideal" => row.judged("ideal-radio").handle(),
            _ => row.handle(),
        }
    });
    figure
        .known(
            At::new("calculated", "ideal"),
            DUTY,
            ideal::duty_cycle(3, 5.0),
        )
        .paper(0.665)
        .note(
            "as in §8.2.2: every frame is full and takes 7.2 ms, and a lost segment is \
             retransmitted until it arrives",
        );
    [single, batch]
}

/// Reason why the losses differ from those in the paper.
const WHERE: &str = "the positions of the interferers and the lengths of their sessions are \
    assumptions. The rows `working hours` show the reliability in three working hours: with \
    these assumptions, with 1.5 times as many sessions, with sessions six times as long, and with \
    the interferers 9 m further east";

/// A name, and keys of interferers whose values differ from those of the calibrated row.
type Others = (&'static str, &'static [(&'static str, &'static str)]);

const OTHERS: [Others; 4] = [
    ("working hours", &[]),
    (
        "working hours, interferer sessions in 22.5 % of the time",
        &[
            ("interferers.west.session_share", "22.5 %"),
            ("interferers.east.session_share", "22.5 %"),
        ],
    ),
    (
        "working hours, interferer sessions of 60 s",
        &[
            ("interferers.west.session", "60 s"),
            ("interferers.east.session", "60 s"),
        ],
    ),
    (
        "working hours, interferers 9 m further east",
        &[
            ("interferers.west.position", r#"["21 m", "10 m"]"#),
            ("interferers.east.position", r#"["43 m", "10 m"]"#),
        ],
    ),
];

/// Adds the reliability of a protocol in working hours with other interferers, with two seeds each.
fn other_interferers(figure: &mut Figure, it: &Protocol) -> Vec<Handle> {
    let flows = it.flows;
    let of = |(series, changes): Others| {
        let case = hours_of_work(it.day()).with(changes).at_most_seeds(2);
        figure
            .point(At::new(series, it.name), RELIABILITY, &case, move |run| {
                reliability_of(run, flows)
            })
            .handle()
    };
    OTHERS.map(of).to_vec()
}

/// Adds TCP's and CoAP's radio duty cycle on Redpoll's own node.
fn own_radio(figure: &mut Figure, series: &'static str, case: &Case) -> [Handle; 2] {
    [&PROTOCOLS[0], &PROTOCOLS[1]].map(|it| {
        figure
            .point(At::new(series, it.name), DUTY, case, |run| {
                radio_duty_cycle(run, it.nodes)
            })
            .handle()
    })
}

/// Adds Redpoll's own node with its defaults, and with a window of two segments.
fn redpoll(figure: &mut Figure) {
    let own = (*hourly(day_of_both())).clone();
    let [tcp, coap] = own_radio(figure, "Redpoll", &own);
    let reliability = [&PROTOCOLS[0], &PROTOCOLS[1]].map(|it| {
        figure
            .point(At::new("Redpoll", it.name), RELIABILITY, &own, |run| {
                reliability_of(run, it.flows)
            })
            .handle()
    });
    let windows = [
        (
            "Redpoll, one hour at night",
            "Redpoll's node, one hour at night: radio duty cycle, ratio TCP / CoAP",
            day_of_both(),
        ),
        (
            "Redpoll, one hour at night, window of two segments",
            "Redpoll's node, one hour at night, window of two segments: radio duty cycle, \
             ratio TCP / CoAP",
            two_segments(day_of_both()),
        ),
    ];
    let shown_by = windows.map(|(series, what, case)| {
        let [tcp, coap] = own_radio(figure, series, &hour_of_night(case));
        figure.ratio(what, tcp, coap).handle()
    });
    figure
        .ratio(
            "Redpoll's node: radio duty cycle, ratio TCP / CoAP",
            tcp,
            coap,
        )
        .judged("redpoll-radio-tcp-over-coap")
        .cause(TWO_SEGMENTS, &shown_by);
    figure
        .of("Redpoll's node: reliability of TCP", reliability[0])
        .judged("redpoll-tcp-reliability");
}

pub fn table_7() -> Figure {
    let mut figure = Figure::new("table-7", "A day with interference")
        .x_label("protocol")
        .about(
            "24 hours, 3-frame segments and messages, Wi-Fi from 9 to 18 o'clock. The activity of \
             Wi-Fi was chosen so that the unreliable protocol with batches loses about as many \
             readings as in the paper; everything else is predicted. TCP and CoAP run at the same \
             time, on adjacent nodes with the same first hops; the unreliable protocols run alone.",
        );
    let [single, batch] = lost_behind_the_mesh(&mut figure);
    let [tcp, coap, _, unreliable] = PROTOCOLS.map(|it| {
        let case = it.day();
        let at = || At::new("testbed", it.name);
        let others = other_interferers(&mut figure, &it);
        figure
            .point(at(), RELIABILITY, &case, move |run| {
                reliability_of(run, it.flows)
            })
            .paper(it.reliability)
            .judged(format!("{}-reliability", it.id))
            .cause(WHERE, &others);
        let active = figure
            .point(at(), ACTIVE, &case, move |run| active_of(run, it.nodes))
            .handle();
        figure
            .point(at(), CPU, &case, move |run| {
                cpu_duty_cycle_of(run, it.nodes)
            })
            .paper(it.cpu);
        let radio = figure
            .point(at(), DUTY, &case, move |run| {
                radio_duty_cycle(run, it.nodes)
            })
            .paper(it.radio)
            .judged(format!("{}-radio", it.id));
        match it.id {
            "unreliable-single" => radio.cause(IDLE, &[active, single]).handle(),
            "unreliable-batch" => radio.cause(IDLE, &[active, batch]).handle(),
            _ => radio.cause(IDLE, &[active]).handle(),
        }
    });
    figure
        .ratio("radio duty cycle, ratio TCP / CoAP", tcp, coap)
        .paper(1.24);
    figure
        .ratio(
            "radio duty cycle, ratio CoAP / unreliable protocol with batches",
            coap,
            unreliable,
        )
        .paper(2.5);
    redpoll(&mut figure);
    figure
}

/// Makes a sender wait until its datagram is four hops ahead before it sends the next one, so that
/// their frames cannot collide.
fn pause(case: Case) -> Case {
    case.set("lowpan.pause", "32 ms")
}

const WORK: Shade = Shade {
    from: 9.0,
    until: 18.0,
    name: "working hours",
};

pub fn figure_11() -> Figure {
    let mut figure = Figure::new("11", "Radio duty cycle by the hour")
        .x_label("hour")
        .shade(WORK)
        .about(
            "The runs of table 7, TCP and CoAP at the same time. In the paper, outside \
             working hours CoAP's duty cycle is lower than TCP's, and within them TCP's is \
             slightly lower than CoAP's.",
        );
    let both = by_the_hour(&mut figure, ["TCP", "CoAP"], &hourly(tcplp(day_of_both())));
    let pauses = by_the_hour(
        &mut figure,
        ["TCP, pauses", "CoAP, pauses"],
        &hourly(pause(tcplp(day_of_both())).at_most_seeds(1)),
    );
    by_the_hour(
        &mut figure,
        ["TCP, Redpoll", "CoAP, Redpoll"],
        &hourly(day_of_both()),
    );
    let night_pauses = quotient(
        &mut figure,
        "radio duty cycle with a pause after each segment, ratio TCP / CoAP, 0 to 9 o'clock",
        &pauses,
        0..9,
    )
    .handle();
    let day_pauses = quotient(
        &mut figure,
        "radio duty cycle with a pause after each segment, ratio TCP / CoAP, 9 to 18 o'clock",
        &pauses,
        9..18,
    )
    .handle();
    quotient(
        &mut figure,
        "radio duty cycle, ratio TCP / CoAP, 0 to 9 o'clock",
        &both,
        0..9,
    )
    .judged("night");
    quotient(
        &mut figure,
        "radio duty cycle, ratio TCP / CoAP, 18 to 24 o'clock",
        &both,
        18..24,
    )
    .judged("evening");
    quotient(
        &mut figure,
        "radio duty cycle, ratio TCP / CoAP, 9 to 18 o'clock",
        &both,
        9..18,
    )
    .judged("work")
    .cause(
        "TCP's segments collide with one another, which the rows with a pause after each \
         segment avoid, and TCP retries sooner than CoAP while interferers are active \
         (docs/studies/kumar2020.md)",
        &[night_pauses, day_pauses],
    );
    figure
}

/// Adds a line over the 24 hours of a case for the nodes with TCP, and one for those with CoAP.
fn by_the_hour(figure: &mut Figure, names: [&str; 2], case: &Probed<Hourly>) -> [Line; 2] {
    [0, 1].map(|group| {
        let hours = 0..24_u32;
        figure.seen_line(names[group], DUTY, case, hours, move |_, hours, hour| {
            Ok(100.0 * hours.share(group, hour)?)
        })
    })
}

/// Returns the ratio of the two lines' means over some hours.
fn quotient<'a>(
    figure: &'a mut Figure,
    what: &'static str,
    [one, other]: &[Line; 2],
    hours: std::ops::Range<u32>,
) -> redpoll_experiments::Entry<'a> {
    let both = [one.some(hours.clone()), other.some(hours)].concat();
    figure.verdict_of_all(what, &both, |shares| {
        let (one, other) = shares.split_at(shares.len() / 2);
        match (mean(one), mean(other)) {
            (Ok(one), Ok(other)) => one / other,
            _ => f64::NAN,
        }
    })
}
