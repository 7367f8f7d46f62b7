//! Effect of each value of TinyOS in `SOURCES`.

use std::slice;

use super::read::{
    FLOWS, LINK_ETX, LOSS, QUEUE_LOSS, THROUGHPUT, link_etx, loss, queue_loss, throughput,
};
use super::scenes::{SLOW_SERIAL, SOURCES, Traffic, case_by};
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{At, Case, Figure};

/// Number of seeds. Few are sufficient here, because the other figures have all values of TinyOS.
const SEEDS: u64 = 3;

/// Shows the paper's heaviest load with no value of TinyOS, with each value alone, and with all.
pub fn sources() -> Figure {
    let mut figure = Figure::new("sources", "TinyOS's own values")
        .x_label("traffic")
        .about(
            "60 packets per minute and node, in the building with five hops. Several \
             parameters of the original scene differ from TinyOS 2.1.2. Each row sets the \
             parameters that its name states to TinyOS's values; `all values of TinyOS` sets all \
             of them. In one more row, the mote on the serial line takes 5 ms per packet; this \
             value is an assumption.",
        )
        .aside();
    for traffic in Traffic::ALL {
        let singles = SOURCES.iter().chain([&SLOW_SERIAL]);
        let single = singles.map(|it| (it.name, slice::from_ref(it)));
        let first = [("original", &SOURCES[..0])];
        let all = [("all values of TinyOS", &SOURCES[..])];
        for (name, sources) in first.into_iter().chain(single).chain(all) {
            let case = case_by(sources, traffic).at_most_seeds(SEEDS);
            rows(&mut figure, At::new(name, traffic.name), &case);
        }
    }
    figure
}

fn rows(figure: &mut Figure, at: At<&'static str, &'static str>, case: &Case) {
    figure.point(at, THROUGHPUT, case, throughput);
    figure.point(at, JAIN, case, |run| fairness(run, FLOWS));
    figure.point(at, LINK_ETX, case, link_etx);
    figure.point(at, QUEUE_LOSS, case, queue_loss);
    figure.point(at, LOSS, case, loss);
}
