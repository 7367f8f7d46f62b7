//! Figure 4: how alike the nodes fare.

use super::scenes::{Load, OTHER_TIMER, TIMERS, lines, verdict};
use crate::engine::figure::Figure;
use crate::vocabulary::read::{JAIN, fairness};

/// One part of fig. 4.
pub fn figure_4(load: &Load) -> Figure {
    let (name, title) = match load.letter {
        "a" => ("4a", "Fairness, 5 segments a minute and node"),
        "b" => ("4b", "Fairness, 10 segments a minute and node"),
        _ => ("4c", "Fairness, 20 segments a minute and node"),
    };
    let mut figure = Figure::new(name, title)
        .x_label("transmission range in m")
        .about("The runs of figure 2: Jain's index of what the server received of each node.");
    let lines = lines(&mut figure, JAIN, *load, |run| fairness(run, "readings"));
    let [uip, lim] = &lines;
    for (tcp, [null, slow, fast], others) in [(TIMERS[0], uip, lim), (TIMERS[1], lim, uip)] {
        let [other_null, other_slow, _] = others;
        let word = tcp.word;
        verdict(
            &mut figure,
            tcp.name,
            "NullRDC, the least",
            &null.all(),
            |all| all.iter().copied().fold(f64::INFINITY, f64::min),
        )
        .judged(format!("{word}-nullrdc-fair"))
        .cause(OTHER_TIMER, &other_null.all());
        verdict(
            &mut figure,
            tcp.name,
            "8 Hz, at 100 m less at 50 m",
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
                "16 Hz less 8 Hz, over all ranges",
                &both,
                mean_difference,
            )
            .judged(format!("{word}-16hz-over-8hz"));
        } else {
            let both: Vec<_> = null.all().into_iter().chain(fast.all()).collect();
            verdict(
                &mut figure,
                tcp.name,
                "NullRDC less 16 Hz, over all ranges",
                &both,
                mean_difference,
            )
            .judged(format!("{word}-16hz-near-nullrdc"));
        }
    }
    figure
}
