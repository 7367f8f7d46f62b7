//! Rows of a figure by kind of transfer and loss, and its judged ratios of Redpoll to TCPlp.

use super::probes::{Found, Watch};
use super::read::{self, ABORTS, WHOLE, aborts, whole};
use super::scenes::By;
use redpoll_experiments::{At, Figure, Handle, Metric, Probed, Reading};

/// The loss, in percent of all frames, at which rows are judged.
const JUDGED: u32 = 10;

/// A quantity with a row of each transfer, whose ratio of Redpoll to TCPlp is judged.
pub struct Quantity {
    pub metric: Metric,
    pub read: fn(&Found) -> Reading,
    /// Label of the ratio.
    pub ratio: &'static str,
    /// Name of the criterion that judges the ratio.
    pub criterion: &'static str,
}

pub const TIME: Quantity = Quantity {
    metric: read::TIME,
    read: read::time,
    ratio: "transfer time, ratio Redpoll / TCPlp as shipped, 10 % of frames lost",
    criterion: "time",
};

/// Adds the rows of all kinds of transfer at all `losses`, then the verdicts.
pub fn add(
    figure: &mut Figure,
    losses: &[u32],
    quantities: &[Quantity],
    case: impl Fn(By, u32) -> Probed<Watch>,
) {
    let mut judged: Vec<Vec<Handle>> = quantities.iter().map(|_| Vec::new()).collect();
    let mut failures: Vec<Handle> = Vec::new();
    for by in By::ALL {
        for &lost in losses {
            let case = case(by, lost);
            let at = At::new(by.name(), lost);
            for (quantity, judged) in quantities.iter().zip(&mut judged) {
                let read = quantity.read;
                let row = figure
                    .seen(at, quantity.metric, &case, move |_, found| read(found))
                    .handle();
                if lost == JUDGED && matches!(by, By::Tcplp | By::Redpoll) {
                    judged.push(row);
                }
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
    for (quantity, judged) in quantities.iter().zip(judged) {
        // The first row is that of TCPlp, because `By::ALL` begins with TCPlp.
        figure
            .ratio(quantity.ratio, judged[1], judged[0])
            .judged(quantity.criterion);
    }
    figure
        .verdict_of_all(
            "aborts per transfer, largest value of both series of Redpoll at all losses",
            &failures,
            |all| all.iter().copied().fold(0.0, f64::max),
        )
        .judged("aborts");
}
