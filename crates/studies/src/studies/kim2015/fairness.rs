//! Figures 7, 8 and 10: throughput of the nodes by hop distance, and its fairness.

use super::read::{
    FLOWS, THROUGHPUT, behind_the_fullest, by_hops, etx_to_the_fullest, loss_at_the_fullest,
    throughput,
};
use super::scenes::{
    Building, FULLER, FULLEST, HEAVY, LIGHT, LOST, STOCK, TCP_DOWN, TCP_UP, Traffic, UDP_DOWN,
    UDP_UP, case, case_in, line, lossy, stock,
};
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{At, Case, Figure, Handle, Metric, Reading, Run, VERDICT, mean, numbers};

const BY_HOPS: Metric = Metric::new("correlation with hop distance", "");
const RTT: Metric = Metric::new("median RTT", "ms");

pub fn figure_7() -> Figure {
    let mut figure = Figure::new("7", "Throughput by hop distance").about(
        "Correlation of the nodes' throughput with their hop distance, at 60 packets a \
         minute; for TCP up also at 90 packets a minute.",
    );
    for (traffic, what, id) in [
        (
            TCP_UP,
            "correlation of throughput with hop distance, TCP up",
            "up-falls",
        ),
        (
            TCP_DOWN,
            "correlation of throughput with hop distance, TCP down",
            "down-falls",
        ),
    ] {
        let case = case(traffic, HEAVY);
        let row = figure.point(At::new(traffic.name, HEAVY), BY_HOPS, &case, |run| {
            by_hops(run, "/readings/delivered")
        });
        let row = row.handle();
        figure.of(what, row).judged(id);
    }
    figure.point(At::new(STOCK, HEAVY), BY_HOPS, &stock(), |run| {
        by_hops(run, "/readings/delivered")
    });
    // Upstream, this load is the first that fills the mesh.
    let (fuller, at) = (case(TCP_UP, FULLER), At::new(TCP_UP.name, FULLER));
    figure.point(at, BY_HOPS, &fuller, |run| {
        by_hops(run, "/readings/delivered")
    });
    figure.point(at, THROUGHPUT, &fuller, throughput);
    figure.point(at, JAIN, &fuller, |run| fairness(run, FLOWS));
    figure
}

pub fn figure_8() -> Figure {
    let mut figure = Figure::new("8", "Round-trip time downstream")
        .x_label("offered load, packets per minute and node")
        .about("Median round-trip time of the server's segments, mean over the nodes.");
    let rtt = line(&mut figure, RTT, TCP_DOWN, |run| {
        mean(&numbers(&run.flows(FLOWS)?, "/rtt_ms/p50")?)
    });
    figure
        .ratio(
            "RTT, ratio heavy load / light load",
            rtt.at(HEAVY),
            rtt.at(LIGHT),
        )
        .judged("by-load");
    let hops = figure
        .point(
            At::new(TCP_DOWN.name, HEAVY),
            BY_HOPS,
            &case(TCP_DOWN, HEAVY),
            |run| by_hops(run, "/rtt_ms/p50"),
        )
        .handle();
    figure
        .of("correlation of RTT with hop distance", hops)
        .judged("by-hops");
    figure
}

const FULLEST_QUEUE: Metric = Metric::new(
    "packets lost at the node that drops most packets, as a share of all packets made",
    "%",
);
const BEHIND: Metric = Metric::new(
    "throughput, ratio descendants of the node that drops most packets / other nodes",
    "",
);
const TO_IT: Metric = Metric::new(
    "link ETX of the children of the node that drops most packets",
    "",
);

/// Why UDP upstream loses fewer packets here than in the paper.
const UPSTREAM: &str = "the paper's result needs a node that carries all traffic, and links that \
    lose one frame in ten even without other senders, so that this node spends all its time on \
    retries, which are 0.1 s apart; in this building several nodes have the border router in \
    range, and links lose only frames that collide";
/// Reason for which UDP downstream does not lose the packets that the paper's nodes lose.
const DOWNSTREAM: &str = "in this building several nodes have the border router in range; in a \
    building where one node forwards all traffic, fewer packets arrive";

/// Returns a case in the building in which one node forwards all traffic, and the name of the case.
fn neck(traffic: Traffic, load: u32) -> (String, Case) {
    let name = format!(
        "{}, one node forwards all traffic, {load} packets a minute",
        traffic.name
    );
    (name, case_in(Building::Neck, traffic, load))
}

fn over_lossy_links((name, case): (String, Case)) -> (String, Case) {
    (
        format!("{name}, links lose {LOST} of the frames"),
        lossy(case),
    )
}

/// Adds the paper's mechanism behind fig. 10: nodes behind a full queue starve, and stay behind it
/// because their link to it is good.
fn mechanism(figure: &mut Figure) {
    for (traffic, word) in [(UDP_UP, "udp-up"), (TCP_UP, "tcp-up")] {
        let seven = case_in(Building::SevenHops, traffic, HEAVY);
        let mut others = [HEAVY, FULLEST].map(|load| neck(traffic, load)).to_vec();
        if traffic == UDP_UP {
            let good = [
                (traffic.name.to_owned(), seven.clone()),
                neck(traffic, HEAVY),
            ];
            others.extend(good.map(over_lossy_links));
        }
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
            let mut at = |name: &str, case: &Case| {
                let row = figure.point(At::new(name, 7_u32), metric, case, read);
                row.handle()
            };
            let judged = at(traffic.name, &seven);
            let beside: Vec<Handle> = others.iter().map(|(name, case)| at(name, case)).collect();
            let entry = figure
                .made(At::new(VERDICT, word), metric, [judged], |[value]| value)
                .judged(format!("{word}-{id}"));
            // The row `link` holds, so the page gives no cause of a deviation for it.
            if traffic == UDP_UP && id != "link" {
                entry.cause(UPSTREAM, &beside);
            }
        }
    }
}

pub fn figure_10() -> Figure {
    let mut figure = Figure::new("10", "Seven hops instead of five")
        .x_label("hops to the farthest node")
        .about(
            "Two buildings with thirty nodes each; each node sends or receives 60 packets a \
             minute.",
        );
    let mut pair = |traffic: Traffic, metric, read: fn(&_) -> _| -> [Handle; 2] {
        let buildings = [(5_u32, Building::FiveHops), (7, Building::SevenHops)];
        let cases = buildings.map(|(x, building)| (x, case_in(building, traffic, HEAVY)));
        let line = figure.line(traffic.name, metric, cases, read);
        [line.at(5_u32), line.at(7_u32)]
    };
    let udp = [UDP_UP, UDP_DOWN].map(|traffic| pair(traffic, THROUGHPUT, throughput));
    let tcp = [TCP_UP, TCP_DOWN].map(|traffic| pair(traffic, JAIN, |run| fairness(run, FLOWS)));
    // Adds rows in which one node forwards all traffic, as in the paper, at the paper's heaviest
    // load and at two heavier ones.
    let mut at_a_neck = |traffic| {
        [HEAVY, FULLER, FULLEST].map(|load| {
            let (name, case) = neck(traffic, load);
            let row = figure.point(At::new(name, 7_u32), THROUGHPUT, &case, throughput);
            row.handle()
        })
    };
    let [up, down] = [UDP_UP, UDP_DOWN].map(|traffic| at_a_neck(traffic)[0]);
    let seven = case_in(Building::SevenHops, UDP_UP, HEAVY);
    let lossy = [(UDP_UP.name.to_owned(), seven), neck(UDP_UP, HEAVY)].map(|good| {
        let (name, case) = over_lossy_links(good);
        let row = figure.point(At::new(name, 7_u32), THROUGHPUT, &case, throughput);
        row.handle()
    });
    let [udp_up, udp_down] = udp;
    for (id, [five, seven], cause, shown_by) in [
        ("udp-up", udp_up, UPSTREAM, &[up, lossy[0], lossy[1]][..]),
        ("udp-down", udp_down, DOWNSTREAM, &[down]),
    ] {
        let what = Metric::new("throughput, ratio 7 hops / 5 hops", "");
        figure
            .made(
                At::new(VERDICT, id),
                what,
                [seven, five],
                |[seven, five]| seven / five,
            )
            .judged(id)
            .cause(cause, shown_by);
    }
    for (id, [five, seven]) in ["tcp-up-unfairer", "tcp-down-unfairer"]
        .into_iter()
        .zip(tcp)
    {
        let what = Metric::new("Jain's index, 5 hops minus 7 hops", "");
        figure
            .made(
                At::new(VERDICT, id),
                what,
                [five, seven],
                |[five, seven]| five - seven,
            )
            .judged(id);
    }
    mechanism(&mut figure);
    figure
}
