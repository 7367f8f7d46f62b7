//! The link retry delay d (the paper's figures 5 and 6).

use super::model::{equation_1, equation_2};
use super::scenes::{delay, line};
use crate::vocabulary::probes::{Course, Cwnd};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{
    Cause, GOODPUT, LOSS, RTT, frames, goodput, retransmissions, rtt, segment_loss,
};
use redpoll_experiments::{At, Case, Figure, Gap, Handle, Line, Metric, Reading, Run, X};

/// Delays of the sweep, in ms.
pub const DELAYS: [u32; 9] = [0, 5, 10, 20, 30, 40, 60, 80, 100];

/// Equation 2 has its own metric: if losses are rare, its values exceed the other lines by far.
const CLASSIC: Metric = Metric::new("goodput by equation 2", "kb/s");
const FRAMES: Metric = Metric::new("frames", "");
const FRAMES_PER_KIB: Metric = Metric::new("frames per KiB", "1/KiB");

/// Returns a bulk flow over `hops` hops with the paper's link.
pub fn testbed(hops: u32, ms: u32) -> Case {
    delay(tcplp(line(hops)), ms).set("duration", "600 s")
}

fn redpoll(hops: u32, ms: u32) -> Case {
    delay(line(hops), ms).set("duration", "600 s")
}

struct Sweep {
    goodput: Line,
    loss: Line,
}

fn sweep(figure: &mut Figure, hops: u32) -> Sweep {
    let cases = || DELAYS.map(|ms| (ms, testbed(hops, ms)));
    let own = || DELAYS.map(|ms| (ms, redpoll(hops, ms)));
    let goodput_line = figure.line("testbed", GOODPUT, cases(), goodput);
    figure.line("equation 1", GOODPUT, cases(), equation_1);
    if hops > 1 {
        figure.line("equation 2", CLASSIC, cases(), equation_2);
    }
    let loss = figure.line("testbed", LOSS, cases(), segment_loss);
    figure.line("Redpoll", GOODPUT, own(), goodput);
    figure.line("Redpoll", LOSS, own(), segment_loss);
    Sweep {
        goodput: goodput_line,
        loss,
    }
}

pub fn figure_5a() -> Figure {
    let mut figure = Figure::new(
        "5a",
        "One hop: goodput and loss against the link retry delay",
    )
    .x_label("d in ms")
    .about(
        "In the paper goodput falls as d grows, because there are no hidden terminals to separate.",
    );
    let Sweep { goodput, loss } = sweep(&mut figure, 1);
    figure.row(goodput.at(40)).paper(64.1);
    figure
        .ratio(
            "goodput, ratio d = 100 ms / d = 0",
            goodput.at(100),
            goodput.at(0),
        )
        .judged("goodput-falls");
    figure.of("segment loss at d = 0", loss.at(0));
    figure
}

pub fn figure_5b() -> Figure {
    let mut figure = Figure::new(
        "5b",
        "Three hops: goodput and loss against the link retry delay",
    )
    .x_label("d in ms")
    .about(
        "In the paper 6 % of the segments are lost at d = 0, less than 1 % from d = 30 ms \
         on; goodput hardly changes from 0 to 30 ms.",
    );
    let Sweep { goodput, loss } = sweep(&mut figure, 3);
    figure.row(goodput.at(40)).paper(19.5);
    figure.row(loss.at(0)).paper(6.0).judged("loss-0");
    let short = delay(tcplp(line(3)).set("mac.security_bytes", "0"), 0).set("duration", "600 s");
    let long = delay(tcplp(line(3)).set("mac.security_bytes", "12"), 0)
        .with(&[("duration", "600 s"), ("tcp.mss", "427 B")])
        .with(&[
            ("tcp.send_buffer", "1708 B"),
            ("tcp.receive_buffer", "1708 B"),
        ]);
    for (series, case) in [("headers of 11 B", short), ("headers of 23 B", long)] {
        figure
            .point(At::new(series, 0_u32), LOSS, &case, segment_loss)
            .note("the rows of 11 B and of 23 B have the shortest and the longest headers of table 5, both with segments of five frames")
            .aside();
    }
    figure.row(loss.at(30)).paper(1.0).judged("loss-30");
    figure.row(loss.at(40)).paper(1.0).judged("loss-40");
    figure
        .ratio(
            "goodput, ratio d = 30 ms / d = 0",
            goodput.at(30),
            goodput.at(0),
        )
        .paper(1.0)
        .judged("goodput-30-over-0");
    figure
        .ratio(
            "goodput, ratio d = 40 ms / d = 5 ms",
            goodput.at(40),
            goodput.at(5),
        )
        .paper(1.0)
        .judged("goodput-40-over-5");
    figure
}

pub fn figure_5c() -> Figure {
    let mut figure = Figure::new("5c", "Round-trip time against the link retry delay")
        .x_label("d in ms")
        .about(
            "Medians. In the paper a large d raises the RTT; over three hops the RTT is about \
             three times that over one hop.",
        );
    let cases = |hops| DELAYS.map(|ms| (ms, testbed(hops, ms)));
    let one = figure.line("1 hop", RTT, cases(1), rtt);
    let three = figure.line("3 hops", RTT, cases(3), rtt);
    let own = DELAYS.map(|ms| (ms, redpoll(3, ms)));
    figure.line("3 hops, Redpoll", RTT, own, rtt);
    figure
        .ratio(
            "RTT over 3 hops, ratio d = 100 ms / d = 0",
            three.at(100),
            three.at(0),
        )
        .judged("rises");
    figure
        .ratio(
            "RTT at d = 40 ms, ratio 3 hops / 1 hop",
            three.at(40),
            one.at(40),
        )
        .paper(3.0)
        .judged("3-hops-over-1");
    figure
}

pub fn figure_5d() -> Figure {
    let mut figure = Figure::new("5d", "Three hops: frames sent in ten minutes")
        .x_label("d in ms")
        .about(
            "All frames of all nodes except link acknowledgments. In the paper a larger d needs \
             fewer frames in total, so a moderate d is better even where goodput is the same.",
        );
    let per_kib = |run: &Run| Ok(frames(run)? / (run.flow("bulk", "/delivered_bytes")? / 1_024.0));
    let [(all, of_kib), _] = [
        ("testbed", testbed as fn(u32, u32) -> Case),
        ("Redpoll", redpoll),
    ]
    .map(|(series, case)| {
        let cases = || DELAYS.map(|ms| (ms, case(3, ms)));
        (
            figure.line(series, FRAMES, cases(), frames),
            figure.line(series, FRAMES_PER_KIB, cases(), per_kib),
        )
    });
    figure
        .ratio("frames, ratio d = 40 ms / d = 0", all.at(40), all.at(0))
        .judged("40-over-0");
    figure
        .ratio(
            "frames, ratio d = 100 ms / d = 40 ms",
            all.at(100),
            all.at(40),
        )
        .judged("100-over-40");
    figure.ratio(
        "frames per KiB, ratio d = 40 ms / d = 0",
        of_kib.at(40),
        of_kib.at(0),
    );
    figure
}

/// Bytes of the send buffer, above which cwnd has no effect.
const BUFFER: f64 = 1_848.0;
/// Start of the paper's window of 100 s, in seconds.
const FROM_S: f64 = 100.0;

const MAXIMUM: Metric = Metric::new("share of time in which cwnd fills the send buffer", "");
const HALF: Metric = Metric::new(
    "share of time in which cwnd is at least half the send buffer",
    "",
);
const REPAIRED: Metric = Metric::new("losses repaired per second", "1/s");
const CWND: Metric = Metric::new("cwnd", "B");

const SENDER: Cwnd = Cwnd { node: 7 };

pub fn figure_6a() -> Figure {
    let mut figure = Figure::new("6a", "Congestion window at d = 0, three hops")
        .x_label("time in s")
        .about(
            "cwnd, capped at the send buffer as in the paper, over 100 s: mean, least and \
             greatest value of all seeds. In the paper cwnd is nearly always at its maximum \
             although 6 % of the segments are lost, and has no sawtooth.",
        );
    let case = testbed(3, 0).probe(SENDER);
    for x in (0..100_u32).step_by(2) {
        figure.seen(At::new("cwnd", x), CWND, &case, move |_, course| {
            cwnd_at(course, FROM_S + f64::from(x))
        });
    }
    let at_maximum = |_: &Run, course: &Course| share_of_time(course, |cwnd| cwnd >= BUFFER);
    let maximum = figure
        .seen(At::new("testbed", X::None), MAXIMUM, &case, at_maximum)
        .judged("at-maximum")
        .handle();
    figure.seen(At::new("testbed", X::None), HALF, &case, |_, course| {
        share_of_time(course, |cwnd| cwnd >= BUFFER / 2.0)
    });
    figure
        .point(At::new("testbed", X::None), LOSS, &case, segment_loss)
        .paper(6.0);
    figure.point(At::new("testbed", X::None), REPAIRED, &case, repaired);
    let mut shown_by: Vec<Handle> = Vec::new();
    for (series, ms) in [("d = 5 ms", 5), ("d = 10 ms", 10), ("d = 20 ms", 20)] {
        let case = testbed(3, ms).probe(SENDER);
        let at = || At::new(series, X::None);
        shown_by.push(figure.seen(at(), MAXIMUM, &case, at_maximum).handle());
        shown_by.push(figure.point(at(), LOSS, &case, segment_loss).handle());
        figure.point(at(), REPAIRED, &case, repaired);
    }
    figure.row(maximum).cause(
        "each loss reduces cwnd below its maximum until the loss is repaired; the rows with d = 5 \
         to 20 ms have fewer losses",
        &shown_by,
    );
    let own = redpoll(3, 0).probe(SENDER);
    figure.seen(At::new("Redpoll", X::None), MAXIMUM, &own, at_maximum);
    figure
}

fn repaired(run: &Run) -> Reading {
    Ok(retransmissions(run, "bulk", &Cause::ALL)? / run.number("/simulated_s")?)
}

fn cwnd_at(course: &Course, s: f64) -> Reading {
    let sample = course.samples.iter().find(|(at, _)| *at >= s);
    sample.map(|(_, cwnd)| cwnd.min(BUFFER)).ok_or(Gap::Nothing)
}

fn share_of_time(course: &Course, is: impl Fn(f64) -> bool) -> Reading {
    let samples = &course.samples;
    let count = samples.iter().filter(|(_, cwnd)| is(*cwnd)).count();
    if samples.is_empty() {
        Err(Gap::Nothing)
    } else {
        Ok(count as f64 / samples.len() as f64)
    }
}

const METRIC: Metric = Metric::new("retransmissions", "");

/// Adds rows with the number of timeouts at link retry delays of 0 and 40 ms and the difference of
/// the two numbers, with other causes of lost frames, or with another loss detection.
fn other_losses(figure: &mut Figure) -> Vec<Handle> {
    // Frames lost after the radio acknowledged them, which link retries cannot repair.
    const RANDOM: &[(&str, &str)] = &[
        ("faults.air.type", "lose-frames"),
        ("faults.air.share", "0.5 %"),
    ];
    // Wi-Fi near the relays, in sessions.
    const INTERFERER: &[(&str, &str)] = &[
        ("interferers.west.position", r#"["20 m", "10 m"]"#),
        ("interferers.west.busy", "35 %"),
        ("interferers.west.session", "10 s"),
        ("interferers.west.session_share", "15 %"),
    ];
    const WITH_RACK: &[(&str, &str)] = &[("tcp.rack", "true")];
    let variants = [
        (
            "timeouts, 0.5 % of frames lost",
            "0.5 % of frames lost: number of timeouts at d = 40 ms minus that at d = 0",
            RANDOM,
        ),
        (
            "timeouts, an interferer",
            "with an interferer: number of timeouts at d = 40 ms minus that at d = 0",
            INTERFERER,
        ),
        (
            "timeouts, with RACK",
            "with RACK (RFC 8985): number of timeouts at d = 40 ms minus that at d = 0",
            WITH_RACK,
        ),
    ];
    let of = |(series, what, changes): (&str, &'static str, &[(&str, &str)])| {
        let cases = [0, 40_u32].map(|ms| (ms, testbed(3, ms).with(changes)));
        let line = figure.line(series, METRIC, cases, |run| {
            retransmissions(run, "bulk", &[Cause::Timeout])
        });
        let less = figure.difference(what, line.at(40), line.at(0)).handle();
        [line.at(0), line.at(40), less]
    };
    variants.map(of).concat()
}

pub fn figure_6b() -> Figure {
    let mut figure = Figure::new(
        "6b",
        "TCP's retransmissions against the link retry delay: 3 hops, ten minutes",
    )
    .x_label("d in ms")
    .about(
        "In the paper fast retransmissions, for isolated losses, become rarer as d grows; \
         timeouts do not.",
    );
    let cases = || DELAYS.map(|ms| (ms, testbed(3, ms)));
    let [fast, timeouts] =
        [("fast", Cause::Fast), ("timeouts", Cause::Timeout)].map(|(series, cause)| {
            figure.line(series, METRIC, cases(), move |run| {
                retransmissions(run, "bulk", &[cause])
            })
        });
    let others = other_losses(&mut figure);
    figure
        .ratio(
            "fast retransmissions, ratio d = 40 ms / d = 0",
            fast.at(40),
            fast.at(0),
        )
        .judged("isolated-40-over-0");
    figure
        .difference(
            "number of timeouts at d = 40 ms minus that at d = 0",
            timeouts.at(40),
            timeouts.at(0),
        )
        .judged("timeouts-40-less-0")
        .cause(
            "all losses here are caused by hidden terminals, so d = 40 ms prevents all of them; \
             the paper's timeouts have another cause, which the paper does not name. Neither \
             random losses nor an interferer explain the paper's timeouts: with either, timeouts \
             remain at d = 40 ms, but there are more at d = 0. \
             With RACK (RFC 8985), there are few timeouts at either d",
            &others,
        );
    figure
        .verdict(
            "fast retransmissions / all retransmissions, d = 0",
            [fast.at(0), timeouts.at(0)],
            |[fast, timeouts]| fast / (fast + timeouts),
        )
        .judged("isolated-share-0")
        .note("in the paper, all retransmissions in 100 s except one are fast ones");
    figure
}
