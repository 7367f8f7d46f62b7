//! Figure 3: retransmissions per received segment.

use super::scenes::{Load, Mac, OTHER_TIMER, TIMERS, lines, segments, verdict};
use crate::vocabulary::read::{Cause, retransmissions};
use redpoll_experiments::{Figure, Gap, Metric, Reading, Run};

const RATIO: Metric = Metric::new("retransmission ratio", "");

fn ratio(run: &Run) -> Reading {
    let received = segments(run)?;
    if received > 0.0 {
        Ok(retransmissions(run, "readings", &Cause::ALL)? / received)
    } else {
        Err(Gap::Nothing)
    }
}

pub fn figure_3(load: &Load) -> Figure {
    let (name, title) = match load.letter {
        "a" => ("3a", "Retransmission ratio, 5 segments per minute and node"),
        "b" => (
            "3b",
            "Retransmission ratio, 10 segments per minute and node",
        ),
        _ => (
            "3c",
            "Retransmission ratio, 20 segments per minute and node",
        ),
    };
    let mut figure = Figure::new(name, title)
        .x_label("transmission range in m")
        .about(
            "The runs of figure 2: retransmitted segments per segment that the server received.",
        );
    let lines = lines(&mut figure, RATIO, *load, ratio);
    let [uip, lim] = &lines;
    for (tcp, mine, others) in [(TIMERS[0], uip, lim), (TIMERS[1], lim, uip)] {
        let [null, _, fast] = mine;
        let [_, _, other_fast] = others;
        for (mac, line) in Mac::ALL.into_iter().zip(mine) {
            let what = match mac {
                Mac::NullRdc => "NullRDC, retransmission ratio at 50 m minus that at 100 m",
                Mac::ContikiMac(8) => "8 Hz, retransmission ratio at 50 m minus that at 100 m",
                Mac::ContikiMac(_) => "16 Hz, retransmission ratio at 50 m minus that at 100 m",
            };
            verdict(
                &mut figure,
                tcp.name,
                what,
                &[line.at(50), line.at(100)],
                |all| all[0] - all[1],
            )
            .judged(format!("{}-{}-falls", tcp.word, mac.word()));
        }
        let both: Vec<_> = fast.all().into_iter().chain(null.all()).collect();
        verdict(
            &mut figure,
            tcp.name,
            "retransmission ratio, 16 Hz minus NullRDC, mean over all ranges",
            &both,
            |all| {
                let (fast, null) = all.split_at(all.len() / 2);
                (fast.iter().sum::<f64>() - null.iter().sum::<f64>()) / fast.len() as f64
            },
        )
        .judged(format!("{}-16hz-near-nullrdc", tcp.word))
        .cause(
            OTHER_TIMER,
            &[other_fast.at(50), other_fast.at(80), other_fast.at(90)],
        );
    }
    figure
}
