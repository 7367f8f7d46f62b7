//! Transfer of a firmware image while the router on the shortest path is switched off.

use super::by_loss::{self, Quantity};
use super::read::{PAUSE, pause, ring};
use redpoll_experiments::Figure;

const LOSSES: [u32; 2] = [0, 10];

const LONGEST_PAUSE: Quantity = Quantity {
    metric: PAUSE,
    read: pause,
    ratio: "longest pause, ratio Redpoll / TCPlp as shipped, 10 % of frames lost",
    criterion: "pause",
};

pub fn figure() -> Figure {
    let title = "Transfer of a firmware image while a router fails";
    let mut figure = Figure::new("router-lost", title)
        .x_label("frames lost in %")
        .about(
            "An image of 386,000 bytes in a ring of five full Thread devices. The router on the \
             path of two hops is switched off 40 s after the beginning, and the path of three hops \
             remains.",
        );
    by_loss::add(&mut figure, &LOSSES, &[by_loss::TIME, LONGEST_PAUSE], ring);
    figure
}
