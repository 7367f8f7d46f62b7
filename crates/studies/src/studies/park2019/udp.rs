//! Figure 6: capacity of the mesh without TCP.

use super::read::{delivery, offered, worst_has};
use super::scenes::{READINGS, Testbed};
use redpoll_experiments::{At, Figure, Handle, Metric, Reading, Run, mean, quantile};

const GOODPUT: Metric = Metric::new("goodput", "packets/s");
pub(super) const ARRIVED: Metric = Metric::new("arrived", "%");
const SHARE: Metric = Metric::new("share of the worst node's packets that arrived", "");
const CHILDREN: Metric = Metric::new(
    "number of nodes below the node with the most losses / mean number of nodes below a node",
    "",
);

const RATES: [f64; 8] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0];

/// Why no node loses as much as the paper's worst node.
const MORE_THAN_THEIRS: &str = "at the load of this row, the simulated mesh carries more than the \
    paper's; see also the rows with a queue of two packets per node";

/// Returns the share of all datagrams that arrived, in percent.
pub(super) fn arrived(run: &Run) -> Reading {
    Ok(100.0 * mean(&delivery(run, READINGS)?)?)
}

pub fn figure_6() -> Figure {
    let mut figure = Figure::new("6", "Goodput of UDP on testbed-1")
        .x_label("packets per second and node")
        .about(
            "Packets of a node per second that arrived at the border router: the median and the \
             quartiles over the nodes, and the worst node. The nodes send for ten minutes at each \
             load.",
        );
    let cases = || RATES.map(|rate| (rate, Testbed::One.udp(rate)));
    let [low, median, high, worst] = [
        ("UDP, lower quartile", 0.25),
        ("UDP", 0.5),
        ("UDP, upper quartile", 0.75),
        ("UDP, worst node", 0.0),
    ]
    .map(|(series, q)| {
        figure.line(series, GOODPUT, cases(), move |run| {
            Ok(offered(run)? * quantile(&delivery(run, READINGS)?, q)?)
        })
    });
    figure.error_bars(&median, [&low, &high]);
    let all = figure.line("UDP, all nodes", ARRIVED, cases(), arrived);
    figure
        .of(
            "share of all packets that arrive, 0.4 packets per second and node",
            all.at(0.4),
        )
        .judged("no-losses-yet");
    let two = two_packets(&mut figure);
    let shown = [two[0], all.at(0.5), all.at(1.0)];
    figure
        .verdict(
            "share of the worst node's packets that arrive, 0.5 packets per second and node",
            [worst.at(0.5)],
            |[it]| it / 0.5,
        )
        .judged("some-lose")
        .cause(MORE_THAN_THEIRS, &shown);
    figure
        .verdict(
            "share of the worst node's packets that arrive, 1 packet per second and node",
            [worst.at(1.0)],
            |[it]| it,
        )
        .judged("one-collapses")
        .cause(MORE_THAN_THEIRS, &shown);
    figure
        .verdict(
            "loss at 1 packet per second and node / loss at 0.5 packets per second and node",
            [all.at(1.0), all.at(0.5)],
            |[one, half]| (100.0 - one) / (100.0 - half),
        )
        .judged("more-and-more");
    let children = figure
        .point(
            At::new("UDP", 0.5),
            CHILDREN,
            &Testbed::One.udp(0.5),
            worst_has,
        )
        .handle();
    figure
        .of(
            "number of nodes below the node with the most losses / mean number of nodes below a \
             node, except the border router",
            children,
        )
        .judged("worst-has-children")
        .cause(
            "at 0.5 packets per second and node, few packets are lost to congestion: the worst \
             node has a poor link",
            &[two[1], two[2], all.at(0.5)],
        );
    figure
}

/// Adds three rows of nodes with a queue of two packets: the share of the worst node's packets that
/// arrive at 1 packet a second, and the row of [`worst_has`] at 0.5 and at 1 packet a second.
fn two_packets(figure: &mut Figure) -> [Handle; 3] {
    let series = "UDP, queue of two packets per node";
    let case = |rate| Testbed::One.udp(rate).set("lowpan.slots", 2);
    let worst = figure.point(At::new(series, 1.0), SHARE, &case(1.0), |run| {
        quantile(&delivery(run, READINGS)?, 0.0)
    });
    let worst = worst.aside().handle();
    let [half, one] = [0.5, 1.0].map(|rate| {
        let row = figure.point(At::new(series, rate), CHILDREN, &case(rate), worst_has);
        row.aside().handle()
    });
    [worst, half, one]
}
