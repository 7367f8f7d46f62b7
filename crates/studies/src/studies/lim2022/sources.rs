//! Effect of each value of Contiki in `SOURCES`.

use std::slice;

use super::scenes::{ADDRESSES, LOADS, Mac, SOURCES, UIP, case_by, segments};
use redpoll_experiments::{Figure, Metric};

const GOODPUT: Metric = Metric::new("total goodput", "segments");
/// Number of seeds. Few are sufficient here, because the other figures imitate all properties of
/// Contiki in `SOURCES`.
const SEEDS: u64 = 3;

/// Shows the heaviest load with no value of Contiki, with each value alone, and with all.
pub fn sources() -> Figure {
    let mut figure = Figure::new("sources", "Contiki's own values")
        .x_label("transmission range in m")
        .about(
            "20 segments a minute and node. Several parameters of the original scene differ from \
             Contiki 3.0. Each row sets the parameter that its name states to Contiki's value; \
             `all values of Contiki` sets all of them except the addresses of 8 bytes, because \
             these addresses would make frames longer here than in Contiki.",
        )
        .aside();
    for mac in [Mac::NullRdc, Mac::ContikiMac(8)] {
        let singles = SOURCES.iter().chain([&ADDRESSES]);
        let single = singles.map(|it| (it.name, slice::from_ref(it)));
        let first = [("original", &SOURCES[..0])];
        let all = [("all values of Contiki", &SOURCES[..])];
        for (name, sources) in first.into_iter().chain(single).chain(all) {
            let cases = [50, 100].map(|range_m| {
                let case = case_by(sources, UIP, mac, LOADS[2], range_m);
                (range_m, case.at_most_seeds(SEEDS))
            });
            let series = format!("{}, {name}", mac.name());
            figure.line(&series, GOODPUT, cases, segments);
        }
    }
    figure
}
