//! Figure 5a: loss without TCP.

use super::read::{LOSS, loss, losses};
use super::scenes::{FULLER, HEAVY, LIGHT, UDP_DOWN, UDP_UP, case, line};
use redpoll_experiments::{At, Figure, Metric, Reading, Run, quantile};

const SPREAD: Metric = Metric::new("loss, upper minus lower quartile of the nodes", "%");

fn spread_of(run: &Run) -> Reading {
    let losses = losses(run)?;
    Ok(quantile(&losses, 0.75)? - quantile(&losses, 0.25)?)
}

pub fn figure_5a() -> Figure {
    let mut figure = Figure::new("5a", "End-to-end loss of UDP")
        .x_label("offered load, packets per minute and node")
        .about(
            "Packets that did not arrive, as a share of all packets made, mean over the nodes. In \
             the paper, downstream packets are lost at the border router's queue.",
        );
    let up = line(&mut figure, LOSS, UDP_UP, loss);
    let down = line(&mut figure, LOSS, UDP_DOWN, loss);
    figure
        .of("loss upstream at light load", up.at(LIGHT))
        .judged("up-light");
    figure
        .of("loss downstream at light load", down.at(LIGHT))
        .judged("down-light");
    figure
        .of("loss upstream at heavy load", up.at(HEAVY))
        .judged("up-heavy");
    figure
        .difference(
            "loss at heavy load, downstream minus upstream",
            down.at(HEAVY),
            up.at(HEAVY),
        )
        .judged("down-over-up");
    // Rows with a heavier load than the paper's: downstream, the mesh can carry slightly more than
    // the paper's heaviest load.
    for traffic in [UDP_UP, UDP_DOWN] {
        figure.point(
            At::new(traffic.name, FULLER),
            LOSS,
            &case(traffic, FULLER),
            loss,
        );
    }
    let spread = figure
        .point(
            At::new(UDP_DOWN.name, HEAVY),
            SPREAD,
            &case(UDP_DOWN, HEAVY),
            spread_of,
        )
        .handle();
    let random = case(UDP_DOWN, HEAVY)
        .set("mac.link_retry_delay", "100 ms")
        .set("mac.link_retry_pause", "0 ms");
    let at = At::new(
        "UDP down, random delay of up to 100 ms between link attempts",
        HEAVY,
    );
    figure.point(at, LOSS, &random, loss);
    let less = figure.point(at, SPREAD, &random, spread_of).handle();
    figure
        .of(
            "loss downstream at heavy load, upper minus lower quartile of the nodes",
            spread,
        )
        .judged("down-alike")
        .cause(
            "the same frames collide again and again, because link attempts are 100.6 ms apart \
             without a random part, and packets arrive at the same moment of each second",
            &[spread, less],
        );
    figure
}
