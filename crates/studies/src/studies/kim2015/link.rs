//! Figures 4 and 9: links, queues and routes.

use super::read::{LINK_ETX, QUEUE_LOSS, link_etx, queue_loss};
use super::scenes::{HEAVY, LIGHT, TCP_DOWN, TCP_UP, Traffic, UDP_DOWN, UDP_UP, case, line};
use crate::engine::figure::{Figure, Metric, VERDICT};
use crate::engine::run::{Reading, Run};

const LOAD: &str = "packets a minute and node";
const CHANGES: Metric = Metric::new("changes of parent", "per node and hour");

/// Hours of a run.
const HOURS: f64 = 40.0 / 60.0;

fn greatest(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Fig. 4a.
pub fn figure_4a() -> Figure {
    let mut figure = Figure::new("4a", "Link ETX").x_label(LOAD).about(
        "Thirty nodes, five hops: transmissions of all frames for each frame sent anew. The \
         paper shows each node's; here all together.",
    );
    let lines = Traffic::ALL.map(|traffic| line(&mut figure, LINK_ETX, traffic, link_etx));
    for (traffic, line) in Traffic::ALL.into_iter().zip(&lines) {
        let at = (VERDICT, traffic.name);
        figure
            .made_of_all(at, Metric::new("the greatest", ""), &line.all(), greatest)
            .judged(format!("{}-low", traffic.word));
    }
    let [udp_up, udp_down, tcp_up, tcp_down] = &lines;
    figure
        .verdict(
            "UDP down less the greatest of the others",
            [udp_down, udp_up, tcp_up, tcp_down].map(|line| line.at(HEAVY)),
            |[worst, others @ ..]| worst - greatest(&others),
        )
        .judged("udp-down-worst");
    // Where walls make links that are neither good nor none.
    for traffic in Traffic::ALL {
        let walls = case(traffic, HEAVY).set("medium.shadowing_sigma", "4 dB");
        let at = (format!("{}, shadowing of 4 dB", traffic.name), HEAVY);
        figure.point(at, LINK_ETX, &walls, link_etx);
    }
    figure
}

/// Fig. 4b.
pub fn figure_4b() -> Figure {
    let mut figure = Figure::new("4b", "Packets lost at queues")
        .x_label(LOAD)
        .about(
            "The runs of figure 4a: packets that nodes, the border router left out, dropped \
             because their ten places were taken, of those that applications made.",
        );
    let lines = Traffic::ALL.map(|traffic| line(&mut figure, QUEUE_LOSS, traffic, queue_loss));
    for (traffic, line) in Traffic::ALL.into_iter().zip(&lines) {
        let at = (VERDICT, traffic.name);
        figure
            .made_of_all(at, Metric::new("the greatest", ""), &line.all(), greatest)
            .judged(format!("{}-negligible", traffic.word));
    }
    let [_, _, up, down] = &lines;
    figure
        .difference("TCP, up less down", up.at(HEAVY), down.at(HEAVY))
        .judged("tcp-up-over-down");
    figure
}

fn changes(run: &Run) -> Reading {
    let nodes = run.nodes("node")?.len() as f64;
    Ok(run.node_sum("node", "/parent_changes")? / nodes / HOURS)
}

/// Fig. 9b.
pub fn figure_9() -> Figure {
    let mut figure = Figure::new("9", "Changes of parent").x_label(LOAD).about(
        "The runs of figure 4a: how often a node changes its preferred parent, the forming of \
         the mesh included.",
    );
    let lines = Traffic::ALL.map(|traffic| line(&mut figure, CHANGES, traffic, changes));
    let of = |wanted: [Traffic; 2]| {
        let pairs = Traffic::ALL.into_iter().zip(&lines);
        let lines = pairs.filter(move |(traffic, _)| wanted.contains(traffic));
        lines.flat_map(|(_, line)| line.some([LIGHT, HEAVY]))
    };
    let all: Vec<_> = of([TCP_UP, TCP_DOWN])
        .chain(of([UDP_UP, UDP_DOWN]))
        .collect();
    figure
        .verdict_of_all("TCP less UDP, either way", &all, |all| {
            let (tcp, udp) = all.split_at(all.len() / 2);
            (tcp.iter().sum::<f64>() - udp.iter().sum::<f64>()).abs() / tcp.len() as f64
        })
        .judged("parent-changes");
    figure
}
