//! Goodput by the number of hops.

use super::read::{ABORTS, GOODPUT, WHOLE, aborts, goodput, short, whole};
use super::scenes::{By, Leaf, Transfer};
use redpoll_experiments::{At, Figure};

/// Bytes of a transfer: fewer than the image, because the goodput is constant over time.
const BYTES: u64 = 100_000;

pub fn figure(lost: u32) -> Figure {
    let (name, title) = match lost {
        0 => ("hops", "Goodput between routers, losses by collisions only"),
        _ => (
            "hops-loss",
            "Goodput between routers, a tenth of all frames lost",
        ),
    };
    let mut figure = Figure::new(name, title).x_label("hops").about(
        "100,000 bytes from the first node of a line to the last. All nodes are full Thread devices.",
    );
    for by in By::ALL {
        for hops in 1..=4 {
            let transfer = Transfer {
                by,
                hops,
                leaf: Leaf::Ftd,
                poll_ms: 0,
                lost,
            };
            let case = short(transfer, BYTES);
            let at = At::new(by.name(), hops);
            figure.seen(at, GOODPUT, &case, |_, found| goodput(found, BYTES));
            figure.seen(at, ABORTS, &case, |_, found| aborts(found));
            figure.seen(at, WHOLE, &case, |_, found| whole(found));
        }
    }
    figure
}
