//! Transfer of a firmware image while the router on the shortest path is switched off.

use super::read::{ABORTS, PAUSE, TIME, WHOLE, aborts, pause, ring, time, whole};
use super::scenes::By;
use redpoll_experiments::{At, Figure, Handle};

const LOSSES: [u32; 2] = [0, 10];
/// Loss in percent of the judged rows.
const JUDGED: u32 = 10;

pub fn figure() -> Figure {
    let title = "Transfer of a firmware image while a router fails";
    let mut figure = Figure::new("router-lost", title)
        .x_label("frames lost in %")
        .about(
            "An image of 386,000 bytes in a ring of five full Thread devices. The router on the \
             path of two hops is switched off 40 s after the beginning, and the path of three hops \
             remains.",
        );
    let (mut times, mut pauses): (Vec<Handle>, Vec<Handle>) = (Vec::new(), Vec::new());
    let mut failures: Vec<Handle> = Vec::new();
    for by in By::ALL {
        for lost in LOSSES {
            let case = ring(by, lost);
            let at = At::new(by.name(), lost);
            let is_judged = lost == JUDGED && matches!(by, By::Tcplp | By::Redpoll);
            let row = figure
                .seen(at, TIME, &case, |_, found| time(found))
                .handle();
            if is_judged {
                times.push(row);
            }
            let row = figure
                .seen(at, PAUSE, &case, |_, found| pause(found))
                .handle();
            if is_judged {
                pauses.push(row);
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
            "longest pause, ratio Redpoll / TCPlp as shipped, 10 % of frames lost",
            pauses[1],
            pauses[0],
        )
        .judged("pause");
    figure
        .verdict_of_all(
            "aborts per transfer, largest value of both series of Redpoll at all losses",
            &failures,
            |all| all.iter().copied().fold(0.0, f64::max),
        )
        .judged("aborts");
    figure
}
