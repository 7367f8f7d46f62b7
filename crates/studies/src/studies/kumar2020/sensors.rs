//! Sense-and-send at night and under loss (the paper's §8.2.1 and §8.2.2).

use super::ideal;
use super::scenes::{loss, readings, two_segments};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{
    ACTIVE, CPU, Cause, DUTY, RELIABILITY, active, cpu_duty_cycle, radio_duty_cycle, reliability,
    retransmissions,
};
use redpoll_experiments::{At, Case, Entry, Figure, Gap, Handle, Line, Metric, Reading, Run, X};

pub struct Metrics {
    pub reliability: Line,
    pub radio: Line,
    pub cpu: Line,
}

pub fn leaves(run: &Run) -> Reading {
    radio_duty_cycle(run, "leaf")
}

pub fn metrics<T: Into<X> + Clone>(
    figure: &mut Figure,
    series: &str,
    cases: &[(T, Case)],
) -> Metrics {
    let cases = || cases.iter().cloned();
    figure.line(series, ACTIVE, cases(), active);
    Metrics {
        reliability: figure.line(series, RELIABILITY, cases(), reliability),
        radio: figure.line(series, DUTY, cases(), leaves),
        cpu: figure.line(series, CPU, cases(), cpu_duty_cycle),
    }
}

const TCP: (&str, &str) = ("TCP", "tcp");
const COAP: (&str, &str) = ("CoAP", "coap");
const COCOA: (&str, &str) = ("CoCoA", "cocoa");

const SINGLE: &str = "no batching";
const BATCH: &str = "batches of 64";

/// Shortens a case to an hour with at most five seeds, because there are many cases with loss.
fn lossy_hour(case: Case) -> Case {
    hour(case).at_most_seeds(5)
}

fn hour(case: Case) -> Case {
    case.set("duration", "3600 s")
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub fn figure_9() -> Figure {
    let mut figure = Figure::new("9", "Sense-and-send without interference")
        .x_label("readings of 82 bytes, one per second")
        .about(
            "Four leaves, three to five hops; base sleep interval 4 min, 100 ms while an answer is \
             expected; 5-frame segments; one hour. In the paper all protocols are reliable, with \
             similar radio and CPU duty cycles, which are much lower with batches.",
        );
    let batches = [(SINGLE, 1), (BATCH, 64)];
    let [tcp, coap, cocoa] = [TCP, COAP, COCOA].map(|(name, transport)| {
        let cases = batches.map(|(what, batch)| (what, hour(tcplp(readings(transport, batch)))));
        metrics(&mut figure, name, &cases)
    });
    for (name, transport) in [TCP, COAP] {
        let cases = batches.map(|(what, batch)| (what, hour(readings(transport, batch))));
        metrics(&mut figure, &format!("{name}, Redpoll"), &cases);
    }
    let all =
        |what: &'static str| [&tcp, &coap, &cocoa].map(|protocol| protocol.reliability.at(what));
    figure
        .verdict_of_all(
            "least reliability of the protocols, no batching",
            &all(SINGLE),
            least,
        )
        .paper(100.0);
    figure
        .verdict_of_all(
            "least reliability of the protocols, batches",
            &all(BATCH),
            least,
        )
        .paper(100.0);
    figure
        .ratio(
            "radio duty cycle, ratio TCP / CoAP, no batching",
            tcp.radio.at(SINGLE),
            coap.radio.at(SINGLE),
        )
        .judged("radio-single");
    figure
        .ratio(
            "radio duty cycle, ratio TCP / CoAP, batches",
            tcp.radio.at(BATCH),
            coap.radio.at(BATCH),
        )
        .judged("radio-batch");
    figure
        .ratio(
            "radio duty cycle, ratio CoCoA / CoAP, batches",
            cocoa.radio.at(BATCH),
            coap.radio.at(BATCH),
        )
        .note("without losses CoCoA and CoAP behave alike");
    figure
        .ratio(
            "CPU duty cycle, ratio TCP / CoAP, batches",
            tcp.cpu.at(BATCH),
            coap.cpu.at(BATCH),
        )
        .judged("cpu-batch");
    figure
        .ratio(
            "CPU duty cycle, TCP, ratio batches / no batching",
            tcp.cpu.at(BATCH),
            tcp.cpu.at(SINGLE),
        )
        .judged("cpu-tcp-batch-over-single");
    figure
        .ratio(
            "radio duty cycle, TCP, ratio batches / no batching",
            tcp.radio.at(BATCH),
            tcp.radio.at(SINGLE),
        )
        .judged("tcp-batch-over-single");
    figure
        .ratio(
            "radio duty cycle, CoAP, ratio batches / no batching",
            coap.radio.at(BATCH),
            coap.radio.at(SINGLE),
        )
        .judged("coap-batch-over-single");
    figure
}

const LOSSES: [u32; 8] = [0, 3, 6, 9, 12, 15, 18, 21];
/// Losses up to 15 %, the range in which the paper's conclusions hold; in percent.
const UP_TO_15: [u32; 6] = [0, 3, 6, 9, 12, 15];
const FROM_6_TO_15: [u32; 4] = [6, 9, 12, 15];

const AGAIN: Metric = Metric::new("retransmissions in 10 min", "");
const NOT_BY_TIMEOUT: Metric = Metric::new("retransmissions not caused by a timeout", "%");

/// Why TCP has the radio on for longer than CoAP on Redpoll's own node.
pub const TWO_SEGMENTS: &str = "with the paper's window of four segments, the segments of a leaf \
    collide with one another in the mesh; with a window of two, as in readings.toml, the ratio \
    TCP / CoAP of the radio duty cycles is lower (see the row with a window of two segments)";

/// Returns the share of retransmissions that no timeout caused, in percent.
fn not_by_timeout(run: &Run) -> Reading {
    let of = |causes: &[Cause]| retransmissions(run, "readings", causes);
    let others = of(&[Cause::Fast, Cause::Tail, Cause::LinkLost])?;
    let all = others + of(&[Cause::Timeout])?;
    if all > 0.0 {
        Ok(100.0 * others / all)
    } else {
        Err(Gap::Nothing)
    }
}

/// Returns the retransmissions of all flows together per ten minutes.
fn again(run: &Run) -> Reading {
    let all = retransmissions(run, "readings", &Cause::ALL)?;
    Ok(all * 600.0 / run.number("/simulated_s")?)
}

struct Lossy {
    tcp: Metrics,
    coap: Metrics,
    cocoa: Metrics,
    /// The ideal protocol's radio duty cycle by the paper's formula.
    ideal: Vec<Handle>,
    again: [Line; 2],
    not_by_timeout: Line,
    own_tcp: Metrics,
    own_coap: Metrics,
    own_ideal: Metrics,
    /// TCP's radio duty cycle with a window of two segments.
    own_two: Line,
    /// Rows that explain why TCP and CoAP lose readings if 21 % of the packets are dropped.
    losses: Vec<Handle>,
}

/// Readings dropped by full queues of sensors, and messages that CoAP gave up, over all leaves.
const NO_PLACE: (Metric, &str) = (
    Metric::new("readings dropped because the queue was full", ""),
    "app.readings_queue_full",
);
const GIVEN_UP: (Metric, &str) = (
    Metric::new("messages given up", ""),
    "app.coap_request_given_up",
);

/// Returns the readings or messages that the leaves lost for a reason. A report omits reasons with
/// a count of zero.
fn lost_for(run: &Run, reason: &str) -> Reading {
    let leaves = run.nodes("leaf")?;
    let counts = leaves.iter().map(|leaf| leaf["drops"][reason].as_f64());
    Ok(counts.map(Option::unwrap_or_default).sum())
}

/// Shows where TCP's and CoAP's readings are lost if 21 % of the packets are dropped, also with
/// queues of other lengths.
fn losses_at_21(figure: &mut Figure) -> Vec<Handle> {
    let case = |transport| lossy_hour(loss(tcplp(readings(transport, 64)), 21));
    let cases = [
        ("TCP", case("tcp")),
        ("CoAP", case("coap")),
        (
            "TCP, queue of 104 readings",
            case("tcp").set("apps.readings.queue", "104"),
        ),
        (
            "CoAP, queue of 64 readings",
            case("coap").set("apps.readings.queue", "64"),
        ),
        ("TCP, window of two segments", two_segments(case("tcp"))),
    ];
    let mut rows = Vec::new();
    for (index, (series, case)) in cases.into_iter().enumerate() {
        for (metric, reason) in [NO_PLACE, GIVEN_UP] {
            let row = figure.point(At::new(series, 21_u32), metric, &case, move |run| {
                lost_for(run, reason)
            });
            rows.push(row.handle());
        }
        // The figure's lines already have the reliability of the first two cases at 21 % loss.
        if index > 1 {
            let row = figure.point(At::new(series, 21_u32), RELIABILITY, &case, reliability);
            rows.push(row.handle());
        }
    }
    rows
}

fn figure_10_lines(figure: &mut Figure) -> Lossy {
    let cases =
        |transport| LOSSES.map(|it| (it, lossy_hour(loss(tcplp(readings(transport, 64)), it))));
    let own = |transport| LOSSES.map(|it| (it, lossy_hour(loss(readings(transport, 64), it))));
    let [tcp, coap, cocoa] = [TCP, COAP, COCOA].map(|(name, transport)| {
        let again = figure.line(name, AGAIN, cases(transport), again);
        (metrics(figure, name, &cases(transport)), again)
    });
    metrics(figure, "ideal, simulated", &cases("ideal"));
    let ideal = LOSSES.map(|it| {
        let duty = ideal::duty_cycle(5, it.into());
        figure.known(At::new("ideal", it), DUTY, duty).handle()
    });
    Lossy {
        again: [tcp.1, coap.1],
        tcp: tcp.0,
        coap: coap.0,
        cocoa: cocoa.0,
        ideal: ideal[..UP_TO_15.len()].to_vec(),
        not_by_timeout: figure.line("TCP", NOT_BY_TIMEOUT, cases("tcp"), not_by_timeout),
        own_tcp: metrics(figure, "TCP, Redpoll", &own("tcp")),
        own_coap: metrics(figure, "CoAP, Redpoll", &own("coap")),
        own_ideal: metrics(figure, "ideal, Redpoll", &own("ideal")),
        own_two: {
            let two = FROM_6_TO_15.map(|it| {
                let case = two_segments(readings("tcp", 64));
                (it, lossy_hour(loss(case, it)))
            });
            figure.line("TCP, Redpoll, window of two segments", DUTY, two, leaves)
        },
        losses: losses_at_21(figure),
    }
}

/// Adds the least reliability of a series up to 15 % loss.
fn least_reliability<'a>(figure: &'a mut Figure, what: &'static str, of: &Metrics) -> Entry<'a> {
    figure.verdict_of_all(what, &of.reliability.some(UP_TO_15), least)
}

/// Adds the greatest ratio of two series' radio duty cycles up to 15 % loss.
fn worst_duty<'a>(
    figure: &'a mut Figure,
    what: &'static str,
    (one, other): (&Metrics, &Metrics),
) -> Entry<'a> {
    worst(
        figure,
        what,
        [one.radio.some(UP_TO_15), other.radio.some(UP_TO_15)],
    )
}

/// Adds the greatest ratio of two series up to 15 % loss.
fn worst<'a>(figure: &'a mut Figure, what: &'static str, both: [Vec<Handle>; 2]) -> Entry<'a> {
    figure.verdict_of_all(what, &both.concat(), |values| {
        let (ones, others) = values.split_at(values.len() / 2);
        let ratios = ones.iter().zip(others).map(|(one, other)| one / other);
        ratios.fold(0.0, f64::max)
    })
}

fn reliability_at_21(figure: &mut Figure, of: &Lossy) {
    figure
        .difference(
            "reliability at 21 % loss, CoAP minus TCP",
            of.coap.reliability.at(21),
            of.tcp.reliability.at(21),
        )
        .judged("coap-less-tcp-21")
        .cause(
            "as in the paper, TCP retransmits less than CoAP, but more readings find CoAP's queue \
             full than TCP's, and CoAP also gives up messages; queues of other lengths change \
             the losses, but CoAP still loses more",
            &[
                &[
                    of.tcp.reliability.at(21),
                    of.coap.reliability.at(21),
                    of.again[0].at(21),
                    of.again[1].at(21),
                ],
                &of.losses[..],
            ]
            .concat(),
        );
}

fn figure_10_verdicts(figure: &mut Figure, of: &Lossy) {
    least_reliability(figure, "TCP, least reliability up to 15 % loss", &of.tcp)
        .paper(100.0)
        .judged("tcp-reliability");
    least_reliability(figure, "CoAP, least reliability up to 15 % loss", &of.coap)
        .paper(100.0)
        .judged("coap-reliability");
    figure
        .difference(
            "reliability at 15 % loss, CoCoA minus CoAP",
            of.cocoa.reliability.at(15),
            of.coap.reliability.at(15),
        )
        .judged("cocoa-less-coap-15")
        .cause(
            "CoCoA loses readings as in the paper, but only from 18 % loss on",
            &[of.cocoa.reliability.at(18), of.cocoa.reliability.at(21)],
        );
    reliability_at_21(figure, of);
    worst_duty(
        figure,
        "radio duty cycle, TCP / CoAP, greatest ratio up to 15 % loss",
        (&of.tcp, &of.coap),
    )
    .judged("radio-tcp-over-coap");
    worst(
        figure,
        "CPU duty cycle, TCP / CoAP, greatest ratio up to 15 % loss",
        [of.tcp.cpu.some(UP_TO_15), of.coap.cpu.some(UP_TO_15)],
    )
    .judged("cpu-tcp-over-coap");
    figure
        .ratio(
            "radio duty cycle, ratio TCP / CoAP, at 0 % loss",
            of.tcp.radio.at(0),
            of.coap.radio.at(0),
        )
        .judged("radio-tcp-over-coap-0");
    figure
        .ratio(
            "radio duty cycle, ratio TCP / CoAP, at 9 % loss",
            of.tcp.radio.at(9),
            of.coap.radio.at(9),
        )
        .judged("radio-tcp-over-coap-9");
    worst(
        figure,
        "radio duty cycle, ideal / CoAP, greatest ratio up to 15 % loss",
        [of.ideal.clone(), of.coap.radio.some(UP_TO_15)],
    )
    .judged("radio-ideal-over-coap");
    figure
        .ratio(
            "retransmissions, ratio TCP / CoAP, at 21 % loss",
            of.again[0].at(21),
            of.again[1].at(21),
        )
        .judged("again-tcp-over-coap-21");
    figure
        .of(
            "TCP, retransmissions not caused by a timeout, at 9 % loss",
            of.not_by_timeout.at(9),
        )
        .judged("not-by-timeout-9");
}

/// Adds the verdicts of Redpoll's own targets.
fn figure_10_promises(figure: &mut Figure, of: &Lossy) {
    figure
        .ratio(
            "Redpoll's node: radio duty cycle, ratio TCP / CoAP, at 0 % loss",
            of.own_tcp.radio.at(0),
            of.own_coap.radio.at(0),
        )
        .judged("redpoll-radio-tcp-over-coap-0");
    let of_two = worst(
        figure,
        "Redpoll's node: radio duty cycle, TCP with a window of two segments / CoAP, greatest \
         ratio from 6 to 15 % loss",
        [of.own_two.all(), of.own_coap.radio.some(FROM_6_TO_15)],
    )
    .handle();
    worst(
        figure,
        "Redpoll's node: radio duty cycle, TCP / CoAP, greatest ratio from 6 to 15 % loss",
        [&of.own_tcp, &of.own_coap].map(|it| it.radio.some(FROM_6_TO_15)),
    )
    .judged("redpoll-radio-tcp-over-coap-6-to-15")
    .cause(TWO_SEGMENTS, &[of_two]);
    worst_duty(
        figure,
        "Redpoll's node: radio duty cycle, TCP / ideal, greatest ratio up to 15 % loss",
        (&of.own_tcp, &of.own_ideal),
    )
    .judged("redpoll-radio-tcp-over-ideal");
    least_reliability(
        figure,
        "Redpoll's node: TCP, least reliability up to 15 % loss",
        &of.own_tcp,
    )
    .judged("redpoll-tcp-reliability");
    least_reliability(
        figure,
        "Redpoll's node: CoAP, least reliability up to 15 % loss",
        &of.own_coap,
    )
    .judged("redpoll-coap-reliability");
}

pub fn figure_10() -> Figure {
    let mut figure = Figure::new(
        "10",
        "Sense-and-send with packets lost at the border router",
    )
    .x_label("packets lost in %")
    .about(
        "Batches of 64 readings, runs of one hour. The paper states: TCP and CoAP are nearly \
         100 % reliable up to 15 % loss, CoCoA loses many readings above 9 % loss, and above 15 % \
         loss CoAP is more reliable than TCP; timeouts cause most of TCP's retransmissions, but \
         not all; the duty cycles of TCP and CoAP are alike; TCP's is slightly higher than CoAP's \
         at 0 % loss and slightly lower at moderate loss; that of an ideal protocol is far lower. \
         The study calculates the ideal protocol as the paper does, and also simulates it.",
    );
    let lines = figure_10_lines(&mut figure);
    figure_10_verdicts(&mut figure, &lines);
    figure_10_promises(&mut figure, &lines);
    figure
}
