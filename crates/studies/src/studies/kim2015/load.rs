//! Selection of parents by their load, which the paper proposes in its conclusion.

use super::read::{FLOWS, THROUGHPUT, throughput};
use super::scenes::{Building, FULLER, FULLEST, HEAVY, TCP_UP, UDP_UP, case_in, ours};
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{At, Figure, Metric, VERDICT};

/// Compares seven hops upstream with and without avoidance of overloaded parents.
pub fn by_load() -> Figure {
    let mut figure = Figure::new("load", "Parents chosen by load")
        .x_label("offered load, packets per minute and node")
        .about(
            "Seven hops, upstream; the TCP is Redpoll's. A router that has dropped a packet for \
             lack of room announces for a minute that it is overloaded (RFC 6551 §3.1), and other \
             nodes add two transmissions to the cost of a path through this router.",
        )
        .aside();
    for (traffic, word) in [(UDP_UP, "udp"), (TCP_UP, "tcp")] {
        for load in [HEAVY, FULLER, FULLEST] {
            let alike = case_in(Building::SevenHops, traffic, load);
            let alike = match word {
                "tcp" => ours(&alike),
                _ => alike,
            };
            let aware = alike.clone().set("rpl.load_aware", "true");
            let [(before, jain_before), (after, jain_after)] =
                [("regardless of load", alike), ("by load", aware)].map(|(name, case)| {
                    let at = format!("{}, {name}", traffic.name);
                    let much = figure
                        .point(At::new(at.as_str(), load), THROUGHPUT, &case, throughput)
                        .handle();
                    let jain = figure
                        .point(At::new(at, load), JAIN, &case, |run| fairness(run, FLOWS))
                        .handle();
                    (much, jain)
                });
            if load != FULLEST {
                continue;
            }
            figure
                .made(
                    At::new(VERDICT, word),
                    Metric::new(
                        "throughput, ratio parents chosen by load / regardless of load",
                        "",
                    ),
                    [after, before],
                    |[after, before]| after / before,
                )
                .judged(format!("{word}-throughput"));
            figure
                .made(
                    At::new(VERDICT, word),
                    Metric::new(
                        "Jain's index, parents chosen by load minus regardless of load",
                        "",
                    ),
                    [jain_after, jain_before],
                    |[after, before]| after - before,
                )
                .judged(format!("{word}-fair"));
        }
    }
    figure
}
