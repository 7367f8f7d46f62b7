//! The paper's model of goodput (its equation 1, with w and l of appendix C) and the classic one
//! (equation 2), compared with measurements.

use super::retry_delay::{DELAYS, testbed};
use crate::vocabulary::read::{goodput, rtt, segment_loss};
use redpoll_experiments::{Figure, Gap, Handle, Line, Metric, Reading, Run};

/// Payload of a segment in bits.
const SEGMENT_BITS: f64 = 462.0 * 8.0;
const WINDOW: f64 = 4.0;
/// Round trips that a loss costs.
const LOST_ROUND_TRIPS: f64 = 2.0;

/// Returns MSS / RTT · 1 / (1 / w + 2p) in kb/s, with the run's own RTT and loss.
pub fn equation_1(run: &Run) -> Reading {
    let p = segment_loss(run)? / 100.0;
    Ok(SEGMENT_BITS / rtt(run)? / (1.0 / WINDOW + LOST_ROUND_TRIPS * p))
}

/// Returns MSS / RTT · sqrt(3 / 2p) in kb/s, with the run's RTT and loss; nothing without losses.
pub fn equation_2(run: &Run) -> Reading {
    let p = segment_loss(run)? / 100.0;
    if p > 0.0 {
        Ok(SEGMENT_BITS / rtt(run)? * (1.5 / p).sqrt())
    } else {
        Err(Gap::Nothing)
    }
}

const FIRST: Metric = Metric::new("goodput, ratio predicted by equation 1 / measured", "");
const SECOND: Metric = Metric::new("goodput, ratio predicted by equation 2 / measured", "");

pub fn equations() -> Figure {
    let mut figure = Figure::new("eq", "Equations 1 and 2 against measured goodput")
        .x_label("d in ms")
        .about(
            "Both equations use the measured RTT and loss of each run, w = 4 and two lost round \
             trips per loss. In the paper equation 1 matches closely, and equation 2, which \
             ignores the window, does not. The error is the mean over all d of \
             |predicted / measured - 1|. Equation 2 does not apply to a run without losses.",
        );
    let cases = |hops: u32| DELAYS.map(|ms| (ms, testbed(hops, ms)));
    let first = |run: &Run| Ok(equation_1(run)? / goodput(run)?);
    let second = |run: &Run| Ok(equation_2(run)? / goodput(run)?);
    let one = figure.line("1 hop", FIRST, cases(1), first);
    figure.line("1 hop", SECOND, cases(1), second);
    let three = figure.line("3 hops", FIRST, cases(3), first);
    figure.line("3 hops", SECOND, cases(3), second);

    let of_one = error(&mut figure, "error of equation 1, 1 hop", &one);
    let of_three = error(&mut figure, "error of equation 1, 3 hops", &three);
    figure.row(of_one).judged("first-1-hop");
    figure.row(of_three).judged("first-3-hops");
    figure
}

/// Adds a row with the mean of |quotient - 1| over all link retry delays d.
fn error(figure: &mut Figure, what: &'static str, quotients: &Line) -> Handle {
    let error = |quotients: &[f64]| {
        let all = quotients.iter().map(|quotient| (quotient - 1.0).abs());
        all.sum::<f64>() / quotients.len() as f64
    };
    figure
        .verdict_of_all(what, &quotients.all(), error)
        .handle()
}
