//! Figure 1: nodes that are hidden from node 5.

use super::scenes::RANGES;
use redpoll_experiments::{At, Figure, Metric};

const HIDDEN: Metric = Metric::new("nodes hidden from node 5", "");

/// Spacing of the grid and range of interference, in metres.
const SPACING_M: f64 = 40.0;
const INTERFERENCE_M: f64 = 100.0;

/// Counts the nodes within the interference range of `node` but beyond `range_m`. Nodes are
/// numbered from 0 along rows of four.
fn hidden(node: u32, range_m: f64) -> usize {
    let place = |node: u32| (f64::from(node % 4), f64::from(node / 4));
    let (x, y) = place(node);
    let distances = (0..16).filter(|other| *other != node).map(|other| {
        let (to_x, to_y) = place(other);
        SPACING_M * (to_x - x).hypot(to_y - y)
    });
    distances
        .filter(|distance| *distance > range_m && *distance <= INTERFERENCE_M)
        .count()
}

pub fn figure_1() -> Figure {
    let mut figure = Figure::new("1", "Nodes hidden from node 5")
        .x_label("transmission range in m")
        .about(
            "Number of nodes that node 5 does not hear and whose frames destroy its receptions, \
             calculated from the geometry alone: four by four nodes, 40 m apart, interference up \
             to 100 m.",
        );
    // Node 0 is in a corner of the grid, and node 5 is diagonally next to it.
    for range_m in RANGES {
        let count = hidden(5, f64::from(range_m)) as f64;
        let entry = figure.known(At::new("geometry", range_m), HIDDEN, count);
        match range_m {
            50 => entry.paper(9.0).judged("hidden-50"),
            80 => entry.paper(4.0).judged("hidden-80"),
            _ => entry,
        };
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::hidden;

    /// At 80 m the paper lists the nodes 7, 10, 14 and 15; it does not say whether it counts from 0
    /// or 1. By geometry, the same number of nodes is hidden from each of the four inner nodes.
    #[test]
    fn each_inner_node_has_equally_many_hidden_nodes() {
        for node in [5, 6, 9, 10] {
            assert_eq!(hidden(node, 50.0), hidden(5, 50.0));
            assert_eq!(hidden(node, 80.0), hidden(5, 80.0));
        }
        assert_eq!(hidden(0, 500.0), 0);
    }
}
