//! A day of sense-and-send with interference: the paper's section 8.2.3.

use super::scenes::{day, loss, readings, three_frames};
use super::sensors::{leaves, metrics};
use crate::engine::case::{Case, Probed};
use crate::engine::figure::{Figure, Line, Shade};
use crate::engine::run::mean;
use crate::vocabulary::probes::Hourly;
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{
    ACTIVE, CPU, DUTY, RELIABILITY, active, cpu_duty_cycle, reliability,
};

/// A row of table 7: name, transport, batch, the beginning of its rows' names in the
/// criteria, and reliability, radio and CPU of the paper.
struct Protocol {
    name: &'static str,
    transport: &'static str,
    batch: u32,
    id: &'static str,
    reliability: f64,
    radio: f64,
    cpu: f64,
}

const PROTOCOLS: [Protocol; 4] = [
    Protocol {
        name: "TCP",
        transport: "tcp",
        batch: 64,
        id: "tcp",
        reliability: 99.3,
        radio: 2.29,
        cpu: 0.973,
    },
    Protocol {
        name: "CoAP",
        transport: "coap",
        batch: 64,
        id: "coap",
        reliability: 99.5,
        radio: 1.84,
        cpu: 0.834,
    },
    Protocol {
        name: "unreliable, no batch",
        transport: "unreliable",
        batch: 1,
        id: "unreliable-single",
        reliability: 93.4,
        radio: 1.13,
        cpu: 0.52,
    },
    Protocol {
        name: "unreliable, batch",
        transport: "unreliable",
        batch: 64,
        id: "unreliable-batch",
        reliability: 95.3,
        radio: 0.734,
        cpu: 0.30,
    },
];

fn hourly(case: Case) -> Probed<Hourly> {
    case.probe(Hourly { nodes: "leaf" })
}

/// A day with the paper's node.
pub fn paper_day(transport: &'static str, batch: u32) -> Probed<Hourly> {
    hourly(tcplp(day(transport, batch)))
}

/// Why rows with Wi-Fi are on for longer than the paper's.
const REPEATED: &str = "the repetition of frames under Wi-Fi: see the series without";

/// The protocols of table 7 where about as many packets are lost behind the mesh
/// as the paper's day lost, and none to Wi-Fi: so the ideal protocol of §8.2.2, of
/// which the table's caption says what it would take "under similarly lossy
/// conditions".
fn lost_behind_the_mesh(figure: &mut Figure) {
    let rows = PROTOCOLS.map(|it| (it.name, it.transport, it.batch, it.radio));
    for (name, transport, batch, radio) in rows.into_iter().chain([("ideal", "ideal", 64, 0.665)]) {
        let case = loss(tcplp(three_frames(readings(transport, batch))), 5);
        let case = case.set("duration", "3600 s");
        let at = || ("5 % lost, no Wi-Fi", name);
        figure.point(at(), RELIABILITY, &case, reliability);
        let row = figure.point(at(), DUTY, &case, leaves).paper(radio);
        if transport == "ideal" {
            row.judged("ideal-radio");
        }
    }
}

/// Table 7.
pub fn table_7() -> Figure {
    let mut figure = Figure::new("table-7", "A day with interference")
        .x_label("protocol")
        .about(
            "24 hours, 3-frame segments and messages, Wi-Fi from 9 to 18 o'clock so that the \
             unreliable protocol with batches loses about as many readings as the paper's. \
             The paper's CPU duty cycle includes its operating system; ours is the engine's \
             instructions and the moves of frames.",
        );
    let [tcp, coap, _, batch] = PROTOCOLS.map(|it| {
        let case = paper_day(it.transport, it.batch);
        let at = || ("testbed", it.name);
        figure
            .point(at(), RELIABILITY, &case, reliability)
            .paper(it.reliability)
            .judged(format!("{}-reliability", it.id));
        let radio = figure
            .point(at(), DUTY, &case, leaves)
            .paper(it.radio)
            .judged(format!("{}-radio", it.id));
        let radio = match it.transport {
            "unreliable" => radio.cause(REPEATED, &[]).handle(),
            _ => radio.handle(),
        };
        figure.point(at(), ACTIVE, &case, active).paper(it.radio);
        figure.point(at(), CPU, &case, cpu_duty_cycle).paper(it.cpu);
        radio
    });
    figure
        .point(("testbed", "ideal"), DUTY, &paper_day("ideal", 64), leaves)
        .paper(0.665)
        .note(REPEATED);
    lost_behind_the_mesh(&mut figure);
    let own = [("TCP", "tcp"), ("CoAP", "coap")];
    let own = own.map(|(name, transport)| (name, (*hourly(day(transport, 64))).clone()));
    let own = metrics(&mut figure, "beyond", &own);
    figure.ratio("radio, TCP / CoAP", tcp, coap).paper(1.24);
    figure
        .ratio("radio, CoAP / unreliable with batch", coap, batch)
        .paper(2.5);
    figure
        .ratio(
            "beyond: radio, TCP / CoAP",
            own.radio.at("TCP"),
            own.radio.at("CoAP"),
        )
        .judged("beyond-radio-tcp-over-coap");
    figure
        .of("beyond: TCP, reliability", own.reliability.at("TCP"))
        .judged("beyond-tcp-reliability");
    figure
}

/// Who has sent a datagram waits until it is four hops ahead before the next: its
/// frames do not meet those of the one before.
fn pause(case: Case) -> Case {
    case.set("lowpan.pause", "32 ms")
}

/// Working hours.
const WORK: Shade = Shade {
    from: 9.0,
    until: 18.0,
    name: "working hours",
};

/// Fig. 11.
pub fn figure_11() -> Figure {
    let mut figure = Figure::new("11", "Radio duty cycle by the hour")
        .x_label("hour")
        .shade(WORK)
        .about(
            "The runs of table 7. The paper: CoAP lower outside working hours, TCP slightly \
             lower within them.",
        );
    let [tcp, coap, _, tcp_pauses, coap_pauses] = [
        ("TCP", paper_day("tcp", 64)),
        ("CoAP", paper_day("coap", 64)),
        ("TCP, beyond", hourly(day("tcp", 64))),
        ("TCP, pauses", hourly(pause(tcplp(day("tcp", 64))))),
        ("CoAP, pauses", hourly(pause(tcplp(day("coap", 64))))),
    ]
    .map(|(name, case)| by_the_hour(&mut figure, name, &case));
    let night_pauses = quotient(
        &mut figure,
        "with pauses: TCP / CoAP, 0 to 9 o'clock",
        [&tcp_pauses, &coap_pauses],
        0..9,
    )
    .handle();
    let day_pauses = quotient(
        &mut figure,
        "with pauses: TCP / CoAP, 9 to 18 o'clock",
        [&tcp_pauses, &coap_pauses],
        9..18,
    )
    .handle();
    quotient(
        &mut figure,
        "TCP / CoAP, 0 to 9 o'clock",
        [&tcp, &coap],
        0..9,
    )
    .judged("night");
    quotient(
        &mut figure,
        "TCP / CoAP, 9 to 18 o'clock",
        [&tcp, &coap],
        9..18,
    )
    .judged("work")
    .cause(
        "nearer than at night, but not below: TCP's segments meet those before them, see the \
         rows with a pause behind each, and it tries again sooner than CoAP while interferers \
         are there (docs/studies.md)",
        &[night_pauses, day_pauses],
    );
    figure
}

/// The 24 hours of a case.
fn by_the_hour(figure: &mut Figure, name: &str, case: &Probed<Hourly>) -> Line {
    let hours = 0..24_u32;
    figure.seen_line(name, DUTY, case, hours, |_, hours, hour| {
        Ok(100.0 * hours.share(hour)?)
    })
}

/// The mean of some hours over another's.
fn quotient<'a>(
    figure: &'a mut Figure,
    what: &'static str,
    [one, other]: [&Line; 2],
    hours: std::ops::Range<u32>,
) -> crate::engine::figure::Entry<'a> {
    let both = [one.some(hours.clone()), other.some(hours)].concat();
    figure.verdict_of_all(what, &both, |shares| {
        let (one, other) = shares.split_at(shares.len() / 2);
        match (mean(one), mean(other)) {
            (Ok(one), Ok(other)) => one / other,
            _ => f64::NAN,
        }
    })
}
