//! Figures 7, 8 and 10: who gets how much, by hop distance.

use super::read::{
    FLOWS, THROUGHPUT, behind_the_fullest, by_hops, etx_to_the_fullest, loss_at_the_fullest,
    throughput,
};
use super::scenes::{
    Building, FULLER, FULLEST, HEAVY, LIGHT, STOCK, TCP_DOWN, TCP_UP, Traffic, UDP_DOWN, UDP_UP,
    case, case_in, line, stock,
};
use crate::engine::figure::{Figure, Handle, Metric, VERDICT};
use crate::engine::run::{Reading, Run, mean, numbers};
use crate::vocabulary::read::{JAIN, fairness};

const BY_HOPS: Metric = Metric::new("correlation with hop distance", "");
const RTT: Metric = Metric::new("median RTT", "ms");

/// Fig. 7.
pub fn figure_7() -> Figure {
    let mut figure = Figure::new("7", "Throughput by hop distance").about(
        "60 packets a minute, and 90 upstream: how the throughput of a node goes with its hop \
             distance.",
    );
    for (traffic, id) in [(TCP_UP, "up-falls"), (TCP_DOWN, "down-falls")] {
        let case = case(traffic, HEAVY);
        let row = figure.point((traffic.name, HEAVY), BY_HOPS, &case, |run| {
            by_hops(run, "/readings/delivered")
        });
        let row = row.handle();
        figure.of(traffic.name, row).judged(id);
    }
    figure.point((STOCK, HEAVY), BY_HOPS, &stock(), |run| {
        by_hops(run, "/readings/delivered")
    });
    // Upstream the mesh is hardly full yet.
    let (fuller, at) = (case(TCP_UP, FULLER), (TCP_UP.name, FULLER));
    figure.point(at, BY_HOPS, &fuller, |run| {
        by_hops(run, "/readings/delivered")
    });
    figure.point(at, THROUGHPUT, &fuller, throughput);
    figure.point(at, JAIN, &fuller, |run| fairness(run, FLOWS));
    figure
}

/// Fig. 8.
pub fn figure_8() -> Figure {
    let mut figure = Figure::new("8", "Round-trip time downstream")
        .x_label("packets a minute and node")
        .about("Median round-trip time of the server's segments, on average over the nodes.");
    let rtt = line(&mut figure, RTT, TCP_DOWN, |run| {
        mean(&numbers(&run.flows(FLOWS)?, "/rtt_ms/p50")?)
    });
    figure
        .ratio("heavy / light", rtt.at(HEAVY), rtt.at(LIGHT))
        .judged("by-load");
    let hops = figure
        .point(
            (TCP_DOWN.name, HEAVY),
            BY_HOPS,
            &case(TCP_DOWN, HEAVY),
            |run| by_hops(run, "/rtt_ms/p50"),
        )
        .handle();
    figure
        .of("correlation with hop distance", hops)
        .judged("by-hops");
    figure
}

const FULLEST_QUEUE: Metric = Metric::new("lost at the fullest queue", "%");
const BEHIND: Metric = Metric::new("throughput, behind the fullest queue / others", "");
const TO_IT: Metric = Metric::new("link ETX of its children", "");

/// What the paper finds behind fig. 10: who is behind a full queue starves, and stays there
/// because the link to it is good.
fn mechanism(figure: &mut Figure) {
    for (traffic, word) in [(UDP_UP, "udp-up"), (TCP_UP, "tcp-up")] {
        let seven = case_in(Building::SevenHops, traffic, HEAVY);
        let neck = |load| case_in(Building::Neck, traffic, load);
        let necks = [HEAVY, FULLEST].map(|load| {
            let name = format!("{}, one node before all, {load} offered", traffic.name);
            (name, neck(load), None)
        });
        let judged = (traffic.name.to_owned(), seven, Some(word));
        for (name, case, judged) in [judged].into_iter().chain(necks) {
            let rows = [
                (
                    FULLEST_QUEUE,
                    loss_at_the_fullest as fn(&Run) -> Reading,
                    "queue",
                ),
                (BEHIND, behind_the_fullest, "starved"),
                (TO_IT, etx_to_the_fullest, "link"),
            ];
            for (metric, read, id) in rows {
                let row = figure.point((name.as_str(), 7_u32), metric, &case, read);
                let row = row.handle();
                if let Some(word) = judged {
                    figure
                        .made((VERDICT, word), metric, [row], |[value]| value)
                        .judged(format!("{word}-{id}"));
                }
            }
        }
    }
}

/// Fig. 10.
pub fn figure_10() -> Figure {
    let mut figure = Figure::new("10", "Seven hops instead of five")
        .x_label("hops to the farthest node")
        .about("60 packets a minute in two buildings of thirty nodes.");
    let mut pair = |traffic: Traffic, metric, read: fn(&_) -> _| -> [Handle; 2] {
        let buildings = [(5_u32, Building::FiveHops), (7, Building::SevenHops)];
        let cases = buildings.map(|(x, building)| (x, case_in(building, traffic, HEAVY)));
        let line = figure.line(traffic.name, metric, cases, read);
        [line.at(5_u32), line.at(7_u32)]
    };
    let udp = [UDP_UP, UDP_DOWN].map(|traffic| pair(traffic, THROUGHPUT, throughput));
    let tcp = [TCP_UP, TCP_DOWN].map(|traffic| pair(traffic, JAIN, |run| fairness(run, FLOWS)));
    // Where one node carries everything, as where the paper's starve, and with more to carry.
    for traffic in [UDP_UP, UDP_DOWN] {
        for load in [HEAVY, FULLER, FULLEST] {
            let neck = case_in(Building::Neck, traffic, load);
            let name = format!("{}, one node before all, {load} offered", traffic.name);
            figure.point((name, 7_u32), THROUGHPUT, &neck, throughput);
        }
    }
    for (id, [five, seven]) in ["udp-up", "udp-down"].into_iter().zip(udp) {
        let what = Metric::new("throughput, 7 hops / 5 hops", "");
        figure
            .made((VERDICT, id), what, [seven, five], |[seven, five]| {
                seven / five
            })
            .judged(id);
    }
    for (id, [five, seven]) in ["tcp-up-unfairer", "tcp-down-unfairer"]
        .into_iter()
        .zip(tcp)
    {
        let what = Metric::new("Jain's index, 5 hops less 7 hops", "");
        figure
            .made((VERDICT, id), what, [five, seven], |[five, seven]| {
                five - seven
            })
            .judged(id);
    }
    mechanism(&mut figure);
    figure
}
