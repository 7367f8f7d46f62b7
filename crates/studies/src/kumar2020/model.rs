//! The paper's model of goodput (its equation 1, with w and l of appendix C) and
//! the classic one (equation 2), held against what is measured.

use super::read::{goodput, rtt, segment_loss};
use super::retry_delay::{DELAYS, testbed, two_segments};
use crate::Criterion::{AtLeast, AtMost};
use crate::run::mean;
use crate::{Fact, Figure, Point, Run, Table, X};

/// Payload of a segment in bits.
const SEGMENT_BITS: f64 = 462.0 * 8.0;
/// The window in segments.
const WINDOW: f64 = 4.0;
/// Round trips that a loss costs.
const LOST_ROUND_TRIPS: f64 = 2.0;

/// MSS / RTT · 1 / (1 / w + 2p) in kb/s, with the run's own RTT and loss.
pub fn equation_1(run: &Run) -> Option<f64> {
    equation_1_of(run, WINDOW)
}

fn equation_1_of(run: &Run, window: f64) -> Option<f64> {
    let p = segment_loss(run)? / 100.0;
    Some(SEGMENT_BITS / rtt(run)? / (1.0 / window + LOST_ROUND_TRIPS * p))
}

/// MSS / RTT · sqrt(3 / 2p) in kb/s, with the run's own RTT and loss; nothing
/// where nothing was lost.
pub fn equation_2(run: &Run) -> Option<f64> {
    let p = segment_loss(run)? / 100.0;
    (p > 0.0).then_some(())?;
    Some(SEGMENT_BITS / rtt(run)? * (1.5 / p).sqrt())
}

type Model = fn(&Run) -> Option<f64>;

const FIRST: &str = "equation 1, predicted / measured";
const SECOND: &str = "equation 2, predicted / measured";

/// Equations 1 and 2.
pub fn equations() -> Figure {
    let mut points = Vec::new();
    for hops in [1, 3] {
        for ms in DELAYS {
            let read = |run: &Run| Some(equation_1_of(run, 2.0)? / goodput(run)?);
            let at = (two_segments_of(hops), ms);
            points.push(Point::new(
                at,
                (FIRST, ""),
                &two_segments(testbed(hops, ms)),
                read,
            ));
        }
        let series = match hops {
            1 => "1 hop".to_owned(),
            _ => format!("{hops} hops"),
        };
        for ms in DELAYS {
            let case = testbed(hops, ms);
            let quotient = |model: Model| move |run: &Run| Some(model(run)? / goodput(run)?);
            for (metric, model) in [(FIRST, equation_1 as Model), (SECOND, equation_2)] {
                let at = (series.clone(), ms);
                points.push(Point::new(at, (metric, ""), &case, quotient(model)));
            }
        }
    }
    Figure {
        name: "eq",
        title: "Equations 1 and 2 against measured goodput",
        x_label: "d in ms",
        about: "Both with the measured RTT and loss of each run, w = 4 and two lost round trips a \
                loss. The paper: equation 1 closely matches, and equation 2, which knows no \
                window, does not. The error is the mean over all d of |predicted / measured - 1|. With two \
                segments w = 2.",
        points,
        facts: vec![
            Fact::shape(
                "error of equation 1, 1 hop",
                error("1 hop", FIRST),
                AtMost(0.25),
            )
            .note(
                "of four segments 2.2 are under way: the others wait in the send buffer, and that \
                 is not part of the RTT, as a segment is made when the link has room for it",
            ),
            Fact::new(
                ("verdict", X::None),
                ("error of equation 1, 1 hop, two segments", ""),
                error(two_segments_of(1), FIRST),
            )
            .note("the same with a window that is all under way"),
            Fact::new(
                ("verdict", X::None),
                ("error of equation 1, 3 hops, two segments", ""),
                error(two_segments_of(3), FIRST),
            ),
            Fact::shape(
                "error of equation 1, 3 hops",
                error("3 hops", FIRST),
                AtMost(0.25),
            ),
            Fact::shape(
                "error of equation 2 / of equation 1, 3 hops",
                |table| {
                    let second = error("3 hops", SECOND)(table)?;
                    Some(second / error("3 hops", FIRST)(table)?)
                },
                AtLeast(1.5),
            ),
        ],
    }
}

/// The series of that window.
pub fn two_segments_of(hops: u32) -> &'static str {
    match hops {
        1 => "1 hop, two segments",
        _ => "3 hops, two segments",
    }
}

fn error(series: &'static str, metric: &'static str) -> impl Fn(&Table<'_>) -> Option<f64> {
    move |table| {
        let quotients = DELAYS.iter().filter_map(|ms| {
            let quotient = table.get(series, *ms, metric)?;
            Some((quotient - 1.0).abs())
        });
        mean(&quotients.collect::<Vec<_>>())
    }
}
