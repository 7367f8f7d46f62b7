//! Transfer of a firmware image to a device that is awake, by loss.

use super::by_loss;
use super::read::watched;
use super::scenes::{Leaf, Transfer};
use redpoll_experiments::Figure;

pub const LOSSES: [u32; 4] = [0, 5, 10, 20];

pub fn ftd() -> Figure {
    let title = "Transfer of a firmware image to a full Thread device";
    figure("ftd", title, Leaf::Ftd)
}

pub fn med() -> Figure {
    let title = "Transfer of a firmware image to an end device that is awake";
    figure("med", title, Leaf::Med)
}

fn figure(name: &'static str, title: &'static str, leaf: Leaf) -> Figure {
    let mut figure = Figure::new(name, title).x_label("frames lost in %").about(
        "An image of 386,000 bytes, over three hops from a router to the last node of a line.",
    );
    by_loss::add(&mut figure, &LOSSES, &[by_loss::TIME], |by, lost| {
        watched(Transfer {
            by,
            hops: 3,
            leaf,
            poll_ms: 0,
            lost,
        })
    });
    figure
}
