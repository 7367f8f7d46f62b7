//! Transfer of a firmware image to a sleepy end device, by loss and poll period.

use super::awake::{JUDGED, LOSSES};
use super::read::{ABORTS, CHARGE, TIME, WHOLE, aborts, charge, time, watched, whole};
use super::scenes::{By, Leaf, Transfer};
use redpoll_experiments::{At, Figure, Handle};

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

pub fn figures() -> Vec<Figure> {
    let one = |(poll_ms, name, title)| figure(poll_ms, name, title);
    PERIODS.into_iter().map(one).collect()
}

fn figure(poll_ms: u32, name: &'static str, title: &'static str) -> Figure {
    let mut figure = Figure::new(name, title).x_label("frames lost in %").about(
        "An image of 386,000 bytes, over two hops from a router to a sleepy child of the next \
             router.",
    );
    let (mut times, mut charges): (Vec<Handle>, Vec<Handle>) = (Vec::new(), Vec::new());
    let mut failures: Vec<Handle> = Vec::new();
    for by in By::ALL {
        for (index, lost) in LOSSES.into_iter().enumerate() {
            let transfer = Transfer {
                by,
                hops: 2,
                leaf: Leaf::Sed,
                poll_ms,
                lost,
            };
            let case = watched(transfer);
            let at = At::new(by.name(), lost);
            let is_judged = index == JUDGED && matches!(by, By::Tcplp | By::Redpoll);
            let row = figure
                .seen(at, TIME, &case, |_, found| time(found))
                .handle();
            if is_judged {
                times.push(row);
            }
            let row = figure
                .seen(at, CHARGE, &case, |_, found| charge(found))
                .handle();
            if is_judged {
                charges.push(row);
            }
            let row = figure
                .seen(at, ABORTS, &case, |_, found| aborts(found))
                .handle();
            if matches!(by, By::RedpollEqual | By::Redpoll) {
                failures.push(row);
            }
            figure.seen(at, WHOLE, &case, |_, found| whole(found));
        }
    }
    figure
        .ratio(
            "time, ratio Redpoll / TCPlp as shipped, 10 % of frames lost",
            times[1],
            times[0],
        )
        .judged("time");
    figure
        .ratio(
            "charge, ratio Redpoll / TCPlp as shipped, 10 % of frames lost",
            charges[1],
            charges[0],
        )
        .judged("charge");
    figure
        .verdict_of_all(
            "aborts per transfer, largest value of both series of Redpoll at all losses",
            &failures,
            |all| all.iter().copied().fold(0.0, f64::max),
        )
        .judged("aborts");
    figure
}
