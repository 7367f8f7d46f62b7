//! Figure 3: activity that nodes overhear.

use super::probes::{Activity, Levels};
use super::scenes::{CCTRL, XMAC, case};
use redpoll_experiments::{At, Figure, Gap, Handle, Metric, Reading};

const LEVEL: Metric = Metric::new("activity level", "frames");

/// Seconds between two points of the figure.
const STEP_S: u32 = 5;
/// Seconds shown, from the start of the run.
const SHOWN_S: u32 = 300;

/// Returns the mean of a node's levels over `seconds` seconds from `from_s` on.
fn mean(levels: &Levels, node: usize, from_s: u32, seconds: u32) -> Reading {
    let of = levels.levels.get(node).ok_or(Gap::Nothing)?;
    let part = of.get(from_s as usize..(from_s + seconds) as usize);
    let part = part.ok_or(Gap::Nothing)?;
    redpoll_experiments::mean(part)
}

pub fn figure_3() -> Figure {
    let mut figure = Figure::new("3", "Activity levels with X-MAC")
        .x_label("time in s")
        .about(
            "Number of frames that each router between sender and receiver overheard within a \
             round-trip time, over six hops with the cache. If the router estimates several \
             round-trip times, the longest counts. A router counts up to 16 frames. The values \
             over time are means over five seconds of one run.",
        );
    let case = case(XMAC, CCTRL, 6).at_most_seeds(1).probe(Activity);
    let routers = [1, 2, 3, 4, 5];
    let means: Vec<Handle> = routers
        .into_iter()
        .map(|node: usize| {
            let series = format!("node {}", node + 1);
            let xs = (0..SHOWN_S / STEP_S).map(|at| at * STEP_S);
            figure.seen_line(&series, LEVEL, &case, xs, move |_, levels, from_s| {
                mean(levels, node, from_s, STEP_S)
            });
            let at = At::new(series, "mean");
            let of_node = move |_: &_, levels: &Levels| mean(levels, node, 0, SHOWN_S);
            figure.seen(at, LEVEL, &case, of_node).handle()
        })
        .collect();
    figure
        .verdict_of_all("mean activity level of all routers", &means, |all| {
            all.iter().sum::<f64>() / all.len() as f64
        })
        .judged("level");
    figure
}
