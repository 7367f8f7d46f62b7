//! Transfer of a firmware image to a device that is awake, by loss.

use super::read::{ABORTS, TIME, WHOLE, aborts, time, watched, whole};
use super::scenes::{By, Leaf, Transfer};
use redpoll_experiments::{At, Figure, Handle};

pub const LOSSES: [u32; 4] = [0, 5, 10, 20];
/// Index in `LOSSES` of the judged rows.
pub const JUDGED: usize = 2;

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
    let (mut times, mut failures): (Vec<Handle>, Vec<Handle>) = (Vec::new(), Vec::new());
    for by in By::ALL {
        for (index, lost) in LOSSES.into_iter().enumerate() {
            let transfer = Transfer {
                by,
                hops: 3,
                leaf,
                poll_ms: 0,
                lost,
            };
            let case = watched(transfer);
            let at = At::new(by.name(), lost);
            let row = figure
                .seen(at, TIME, &case, |_, found| time(found))
                .handle();
            if index == JUDGED && matches!(by, By::Tcplp | By::Redpoll) {
                times.push(row);
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
        .verdict_of_all(
            "aborts per transfer, largest value of both series of Redpoll at all losses",
            &failures,
            |all| all.iter().copied().fold(0.0, f64::max),
        )
        .judged("aborts");
    figure
}
