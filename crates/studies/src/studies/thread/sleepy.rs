//! Transfer of a firmware image to a sleepy end device, by loss and poll period.

use super::awake::LOSSES;
use super::by_loss::{self, Quantity};
use super::read::{CHARGE, charge, watched};
use super::scenes::{Leaf, Transfer};
use redpoll_experiments::Figure;

const PERIODS: [(u32, &str, &str); 3] = [
    (
        250,
        "sed-250ms",
        "Transfer of a firmware image to a sleepy device that polls every 250 ms",
    ),
    (
        1_000,
        "sed-1s",
        "Transfer of a firmware image to a sleepy device that polls every second",
    ),
    (
        5_000,
        "sed-5s",
        "Transfer of a firmware image to a sleepy device that polls every 5 s",
    ),
];

const CHARGE_OF_LEAF: Quantity = Quantity {
    metric: CHARGE,
    read: charge,
    ratio: "charge of the leaf's radio, ratio Redpoll / TCPlp as shipped, 10 % of frames lost",
    criterion: "charge",
};

pub fn figures() -> Vec<Figure> {
    let one = |(poll_ms, name, title)| figure(poll_ms, name, title);
    PERIODS.into_iter().map(one).collect()
}

fn figure(poll_ms: u32, name: &'static str, title: &'static str) -> Figure {
    let mut figure = Figure::new(name, title).x_label("frames lost in %").about(
        "An image of 386,000 bytes, over two hops from a router to a sleepy child of the next \
             router.",
    );
    by_loss::add(
        &mut figure,
        &LOSSES,
        &[by_loss::TIME, CHARGE_OF_LEAF],
        |by, lost| {
            watched(Transfer {
                by,
                hops: 2,
                leaf: Leaf::Sed,
                poll_ms,
                lost,
            })
        },
    );
    figure
}
