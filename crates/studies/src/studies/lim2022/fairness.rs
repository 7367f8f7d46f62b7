//! Figure 4: fairness between the nodes.

use super::scenes::{Load, Mac, OTHER_TIMER, TIMERS, Tcp, lines, verdict, with_full_sense};
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{At, Figure, Handle, Line, Run};

pub fn figure_4(load: &Load) -> Figure {
    let (name, title) = match load.letter {
        "a" => ("4a", "Fairness, 5 segments per minute and node"),
        "b" => ("4b", "Fairness, 10 segments per minute and node"),
        _ => ("4c", "Fairness, 20 segments per minute and node"),
    };
    let mut figure = Figure::new(name, title)
        .x_label("transmission range in m")
        .about(
            "The runs of figure 2: Jain's index of the bytes that the server received from \
            each node.",
        );
    let lines = lines(&mut figure, JAIN, *load, |run| fairness(run, "readings"));
    let [uip, lim] = &lines;
    for (tcp, [null, slow, fast], others) in [(TIMERS[0], uip, lim), (TIMERS[1], lim, uip)] {
        let [other_null, other_slow, _] = others;
        let word = tcp.word;
        verdict(
            &mut figure,
            tcp.name,
            "NullRDC, least Jain's index of all ranges",
            &null.all(),
            |all| all.iter().copied().fold(f64::INFINITY, f64::min),
        )
        .judged(format!("{word}-nullrdc-fair"))
        .cause(OTHER_TIMER, &other_null.all());
        verdict(
            &mut figure,
            tcp.name,
            "8 Hz, Jain's index at 100 m minus that at 50 m",
            &[slow.at(100), slow.at(50)],
            |all| all[0] - all[1],
        )
        .judged(format!("{word}-8hz-falls"))
        .cause(OTHER_TIMER, &[other_slow.at(50), other_slow.at(100)]);
        let mean_difference = |all: &[f64]| {
            let (more, less) = all.split_at(all.len() / 2);
            (more.iter().sum::<f64>() - less.iter().sum::<f64>()) / more.len() as f64
        };
        if load.letter == "c" {
            let both: Vec<_> = fast.all().into_iter().chain(slow.all()).collect();
            verdict(
                &mut figure,
                tcp.name,
                "Jain's index, 16 Hz minus 8 Hz, mean over all ranges",
                &both,
                mean_difference,
            )
            .judged(format!("{word}-16hz-over-8hz"));
        } else {
            let both: Vec<_> = null.all().into_iter().chain(fast.all()).collect();
            let causes = match load.letter {
                "b" => unsensed(&mut figure, tcp, *load, fast),
                _ => Vec::new(),
            };
            let verdict = verdict(
                &mut figure,
                tcp.name,
                "Jain's index, NullRDC minus 16 Hz, mean over all ranges",
                &both,
                mean_difference,
            )
            .judged(format!("{word}-16hz-near-nullrdc"));
            if !causes.is_empty() {
                verdict.cause(UNSENSED, &causes);
            }
        }
    }
    figure
}

/// Why ContikiMAC at 16 Hz is less fair where a neighbour is just within range.
const UNSENSED: &str = "with ranges of 80 and 90 m, nodes 80 and 89.4 m apart receive one another \
    but do not sense one another's carriers, which are sensed up to 95.3 % of the range: if \
    carriers are sensed as far as frames reach, 16 Hz is as fair as NullRDC";

/// Ranges in metres at which some neighbours do not sense each other.
const UNSENSED_M: [u32; 2] = [80, 90];

/// Adds ContikiMAC at 16 Hz at the ranges [`UNSENSED_M`], unchanged, and with a carrier sense range
/// as long as the transmission range.
fn unsensed(figure: &mut Figure, tcp: Tcp, load: Load, fast: &Line) -> Vec<Handle> {
    let series = format!("{}, 16 Hz, carrier sense as far as frames reach", tcp.name);
    let mut causes = Vec::new();
    for range_m in UNSENSED_M {
        let case = with_full_sense(tcp, Mac::ContikiMac(16), load, range_m);
        let read = |run: &Run| fairness(run, "readings");
        let at = At::new(series.as_str(), range_m);
        causes.push(fast.at(range_m));
        causes.push(figure.point(at, JAIN, &case, read).aside().handle());
    }
    causes
}
