//! Transfer of an image to eight devices at the same time.

use super::read::{FLEET_ABORTS, JAIN, LAST, WHOLE, fleet, jain, last};
use super::scenes::By;
use redpoll_experiments::{At, Figure, Handle};

const LOSSES: [u32; 2] = [0, 10];
/// The loss, in percent of all frames, at which the time is judged.
const JUDGED: u32 = 10;

pub fn figure() -> Figure {
    let title = "Transfer of an image to eight devices at the same time";
    let mut figure = Figure::new("fleet", title)
        .x_label("frames lost in %")
        .about(
            "100,000 bytes from the leader to each of four full Thread devices and four end devices \
             that are awake. The nine nodes form a grid; the leader is in a corner and hears three \
             devices.",
        );
    let mut times: Vec<Handle> = Vec::new();
    let (mut failures, mut indices): (Vec<Handle>, Vec<Handle>) = (Vec::new(), Vec::new());
    for by in By::ALL {
        for lost in LOSSES {
            let case = fleet(by, lost);
            let at = At::new(by.name(), lost);
            let is_redpoll = matches!(by, By::RedpollEqual | By::Redpoll);
            let row = figure
                .seen(at, LAST, &case, |_, found| last(found))
                .handle();
            if lost == JUDGED && matches!(by, By::Tcplp | By::Redpoll) {
                times.push(row);
            }
            let row = figure
                .seen(at, FLEET_ABORTS, &case, |_, found| Ok(found.aborts as f64))
                .handle();
            if is_redpoll {
                failures.push(row);
            }
            let row = figure
                .seen(at, JAIN, &case, |_, found| jain(found))
                .handle();
            if is_redpoll {
                indices.push(row);
            }
            figure.seen(at, WHOLE, &case, |_, found| {
                let whole = found.times_s.iter().flatten().count();
                Ok(whole as f64 / found.times_s.len() as f64)
            });
        }
    }
    figure
        .ratio(
            "time until the last device has the image, ratio Redpoll / TCPlp as shipped, 10 % of \
             frames lost",
            times[1],
            times[0],
        )
        .judged("time");
    figure
        .verdict_of_all(
            "aborts of 8 transfers, largest value of both series of Redpoll at all losses",
            &failures,
            |all| all.iter().copied().fold(0.0, f64::max),
        )
        .judged("aborts");
    figure
        .verdict_of_all(
            "Jain's index, lowest value of both series of Redpoll at all losses",
            &indices,
            |all| all.iter().copied().fold(1.0, f64::min),
        )
        .judged("jain");
    figure
}
