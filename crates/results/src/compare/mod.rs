//! Comparison of two results: differences beyond the spread of the seeds.

mod bootstrap;
mod load;
pub(crate) mod swept;

pub use bootstrap::{Difference, Interval, difference, mean_of};
pub use load::{Side, is_of_several, load};

use std::collections::BTreeMap;

use crate::report::Report;

const FLOWS: usize = 8;

#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Name of the figure, such as `goodput (kb/s)`.
    pub what: String,
    /// Values of the first side, one per seed.
    pub a: Vec<f64>,
    /// Values of the second side, one per seed.
    pub b: Vec<f64>,
    /// Difference of the two sides; `None` with fewer than two seeds on a side.
    pub difference: Option<Difference>,
}

/// A scenario that both sides ran.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    pub case: String,
    /// Seeds of both sides.
    pub seeds: [Vec<u64>; 2],
    pub lines: Vec<Line>,
}

/// Compares the scenarios of `a` and `b`: the only one of each side, or those with equal names. For
/// two sweeps over the same keys whose other settings differ, it compares points with equal values
/// of these keys. Also returns the cases that only one side has. `step` receives the numbers of
/// completed and of all comparisons.
pub fn compare(
    a: &Side,
    b: &Side,
    step: &dyn Fn(usize, usize),
) -> (Vec<Comparison>, [Vec<String>; 2]) {
    let pairs = pairs(a, b);
    let both = pairs
        .iter()
        .enumerate()
        .map(|(done, (case, [at_a, at_b]))| {
            step(done, pairs.len());
            let reports = [&a.cases[*at_a].1, &b.cases[*at_b].1];
            Comparison {
                case: case.clone(),
                seeds: reports.map(|it| it.iter().map(Report::seed).collect()),
                lines: lines(reports[0], reports[1]),
            }
        });
    let both = both.collect();
    let alone = [a, b].into_iter().enumerate().map(|(side, of)| {
        let names = of.cases.iter().enumerate().filter(|(at, _)| {
            let mut of_both = pairs.iter().map(|(_, places)| places[side]);
            of_both.all(|place| place != *at)
        });
        names.map(|(_, (name, _))| name.clone()).collect()
    });
    let alone: Vec<Vec<String>> = alone.collect();
    (both, alone.try_into().unwrap_or_default())
}

/// Returns the name of each pair of cases, and its index on each side.
fn pairs(a: &Side, b: &Side) -> Vec<(String, [usize; 2])> {
    if let ([(name, _)], [(other, _)]) = (a.cases.as_slice(), b.cases.as_slice()) {
        let case = if name == other {
            name.clone()
        } else {
            format!("{name} and {other}")
        };
        return vec![(case, [0, 0])];
    }
    let names = |side: &Side| -> Vec<String> {
        let names = side.cases.iter().map(|(name, _)| name.clone());
        names.collect()
    };
    let (of_a, of_b) = (names(a), names(b));
    let found = of_a.iter().enumerate().filter_map(|(at, name)| {
        let place = of_b.iter().position(|other| other == name)?;
        Some((name.clone(), [at, place]))
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        swept::pairs(&of_a, &of_b)
    } else {
        found
    }
}

fn lines(a: &[Report], b: &[Report]) -> Vec<Line> {
    let (a, b): (Vec<_>, Vec<_>) = (
        a.iter().map(figures).collect(),
        b.iter().map(figures).collect(),
    );
    let Some(first) = a.first() else {
        return Vec::new();
    };
    let values = |side: &[Figures], what: &(usize, String)| {
        let values = side.iter().map(|figures| figures.get(what).copied());
        values.collect::<Option<Vec<f64>>>()
    };
    let lines = first.keys().filter_map(|what| {
        let (a, b) = (values(&a, what)?, values(&b, what)?);
        Some(Line {
            what: what.1.clone(),
            difference: difference(&a, &b),
            a,
            b,
        })
    });
    lines.collect()
}

/// Values of a run's figures. Each key is the position of a figure in a comparison, and its name.
pub(crate) type Figures = BTreeMap<(usize, String), f64>;

/// Returns the figures of a run that comparisons and pictures of sweeps use.
pub(crate) fn figures(report: &Report) -> Figures {
    let mut figures = Figures::new();
    let mut add = |what: String, value: f64| {
        let place = figures.len();
        figures.insert((place, what), value);
    };
    let sum = |values: &[(String, f64)]| values.iter().map(|(_, value)| value).sum::<f64>();
    let flows = |pointer: &str, scale| report.of_flows(pointer, scale);
    let nodes = |pointer: &str, scale| report.of_nodes(pointer, scale);
    let causes = ["rto", "fast", "link_lost", "path_mtu", "tail", "probe"];
    let again = |cause: &&str| sum(&flows(&format!("/retransmissions/{cause}"), 1.0));
    let mean = |values: &[(String, f64)]| match values.len() {
        0 => f64::NAN,
        count => sum(values) / count as f64,
    };
    add(
        "goodput of all flows (kb/s)".into(),
        sum(&flows("/goodput_kbps", 1.0)),
    );
    add(
        "delivered (bytes)".into(),
        sum(&flows("/delivered_bytes", 1.0)),
    );
    add("segments sent".into(), sum(&flows("/segments_sent", 1.0)));
    add(
        "segments retransmitted".into(),
        causes.iter().map(again).sum(),
    );
    add("retransmissions after a timeout".into(), again(&"rto"));
    add(
        "segment loss, mean of flows (%)".into(),
        mean(&flows("/segment_loss", 100.0)),
    );
    add(
        "RTT p50, mean of flows (ms)".into(),
        mean(&flows("/rtt_ms/p50", 1.0)),
    );
    add(
        "RTT p95, mean of flows (ms)".into(),
        mean(&flows("/rtt_ms/p95", 1.0)),
    );
    add("frames sent".into(), sum(&nodes("/frames_sent", 1.0)));
    add(
        "frames retransmitted".into(),
        sum(&nodes("/frame_retries", 1.0)),
    );
    add(
        "radio on, mean of nodes (%)".into(),
        mean(&nodes("/radio_duty_cycle", 100.0)),
    );
    add(
        "charge of all nodes (mC)".into(),
        sum(&nodes("/energy/charge_mc", 1.0)),
    );
    let goodput = flows("/goodput_kbps", 1.0);
    if (2..=FLOWS).contains(&goodput.len()) {
        for (name, value) in goodput {
            add(format!("goodput of {name} (kb/s)"), value);
        }
    }
    figures.retain(|_, value| value.is_finite());
    figures
}
