//! Redpoll's TCP at the nodes of testbed-1.

use super::read::{DURATION, MAX_MIN, TOGETHER, duration, jain, max_min, slowest, together};
use super::scenes::{Testbed, taim};
use crate::vocabulary::read::JAIN;
use redpoll_experiments::{At, Case, Figure, Metric, Reading, Run, X};

type Read = fn(&Run) -> Reading;

const SLOWEST: Metric = Metric::new("throughput of the slowest node", "B/s");

/// Returns testbed-1 with Redpoll's TCP at both ends.
pub(super) fn ours() -> Case {
    Testbed::One
        .tcp()
        .set("tcp.transport", "redpoll")
        .set("border.host_transport", "redpoll")
}

/// Returns [`ours`] with Redpoll's default number of datagrams in a node, and random early
/// detection there, which marks with ECN.
fn red() -> Case {
    ours().set("lowpan.slots", "6").set("lowpan.red", "true")
}

const PERIODS: Metric = Metric::new("decisions of TAiM", "");

/// Multiplies the bytes of a case by twenty, so that it lasts for minutes like a run of BLIP.
fn longer(case: Case) -> Case {
    case.set("apps.upload.total", "380 kB")
        .set("duration", "6 h")
}

/// Compares runs with and without RED, and with and without TAiM.
pub fn figure() -> Figure {
    let mut figure = Figure::new("redpoll", "Redpoll's TCP on testbed-1")
        .about(
            "The nodes of figure 4 with Redpoll's TCP (series `Redpoll`), without and with random \
             early detection and ECN in relays, each without and with TAiM.",
        )
        .aside();
    let metrics: [(Metric, Read); 5] = [
        (DURATION, duration),
        (SLOWEST, slowest),
        (JAIN, jain),
        (MAX_MIN, max_min),
        (TOGETHER, together),
    ];
    let series = [
        ("without", Testbed::One.tcp()),
        ("TAiM", Testbed::One.taim()),
        ("Redpoll", ours()),
        ("Redpoll, TAiM", taim(ours())),
        ("Redpoll, RED", red()),
        ("Redpoll, RED and TAiM", taim(red())),
    ];
    let rows = series.map(|(series, case)| {
        metrics.map(|(metric, read)| {
            let row = figure.point(At::new(series, X::None), metric, &case, read);
            row.handle()
        })
    });
    let [blip, _, _, _, red_rows, both] = rows;
    let periods = figure.point(
        At::new("Redpoll, RED and TAiM", X::None),
        PERIODS,
        &taim(red()),
        |run| run.number("/taim/periods"),
    );
    let mut shown = vec![periods.handle()];
    for (series, case) in [
        ("Redpoll, 380 kB per node", ours()),
        ("Redpoll, RED, 380 kB per node", red()),
        ("Redpoll, RED and TAiM, 380 kB per node", taim(red())),
    ] {
        let case = longer(case);
        let at = At::new(series, X::None);
        let index = figure.point(at.clone(), JAIN, &case, jain).aside().handle();
        let lasts = figure.point(at, DURATION, &case, duration).aside().handle();
        shown.extend([index, lasts]);
    }
    let red = red_rows;
    figure
        .ratio(
            "time until the last node has finished, ratio Redpoll with RED / BLIP",
            red[0],
            blip[0],
        )
        .judged("faster");
    figure
        .ratio(
            "throughput of the slowest node, ratio Redpoll with RED / BLIP",
            red[1],
            blip[1],
        )
        .judged("slowest-gains");
    figure
        .of("Jain's index, RED and TAiM", both[2])
        .judged("fair")
        .cause(
            "near nodes finish before TAiM's first decision; in the rows with 380 kB per node, the \
             transfers take longer",
            &shown,
        );
    figure
}
