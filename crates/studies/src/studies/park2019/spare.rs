//! A border router that compensates for nodes with one segment in flight, as Kim et al. 2015
//! proposed, compared with a border router that does not.

use super::read::{READINGS_LOST, readings_lost};
use super::scenes::{Testbed, line_of_both};
use redpoll_experiments::{
    At, Case, Figure, Gap, Handle, Metric, Reading, Run, VERDICT, X, mean, numbers,
};

type Read = fn(&Run) -> Reading;

const WITHOUT: &str = "without";
const SPARED: &str = "spared";
const ARRIVED: Metric = Metric::new("arrived downstream", "packets/min/node");
const SEGMENTS: Metric = Metric::new("segments sent into the mesh per packet delivered", "");
const FRAMES: Metric = Metric::new("frames per packet delivered", "");
const RTT: Metric = Metric::new("median RTT", "ms");
const OF_ONE: Metric = Metric::new("throughput of nodes with one segment in flight", "B/s");
const OF_OTHERS: Metric = Metric::new("throughput of nodes with Redpoll's TCP", "B/s");
const FRAMES_A_KB: Metric = Metric::new("frames per kilobyte", "");

const MINUTES: f64 = 10.0;
const DOWN: &str = "down";
/// Prefix of the line's flows whose senders have one segment in flight.
const ONE: &str = "one";
/// Prefix of the line's flows whose senders have Redpoll's default TCP.
const OTHERS: &str = "others";

fn spared(case: &Case) -> Case {
    case.clone().set("border.spare_one_segment", "true")
}

/// Shows downstream traffic on testbed-1 and upstream traffic on the line.
pub fn spare() -> Figure {
    let mut figure = Figure::new(
        "spare",
        "A border router with spare_one_segment, for nodes with one segment in flight",
    )
    .about(
        "Downstream: a server, whose TCP follows Linux's (`linux`), sends a packet of 39 bytes \
             every second to each of fifteen nodes of testbed-1. These nodes run BLIP with a \
             window of 40 bytes; the fifteen other nodes send datagrams. Upstream: four nodes on a \
             line of four hops send to a server, which runs `linux`, or Redpoll's TCP with delayed \
             acknowledgments. Two of these nodes keep one segment in flight, and two use Redpoll's \
             TCP. Each case runs with and without `border.spare_one_segment`.",
    )
    .aside();
    downstream(&mut figure);
    upstream(&mut figure, "redpoll", "up");
    upstream(&mut figure, "linux", "linux");
    figure
}

fn downstream(figure: &mut Figure) {
    let case = Testbed::One.down();
    let rows = [(WITHOUT, case.clone()), (SPARED, spared(&case))]
        .map(|(series, case)| of_down(figure, series, &case));
    for room in ["160 B", "320 B", "1280 B"] {
        let case = spared(&case).set("spare.room", room);
        of_down(
            figure,
            &format!("{SPARED}, room for {room} of data for each node"),
            &case,
        );
    }
    let [without, with] = rows;
    figure
        .of(
            "segments sent into the mesh per packet delivered, with spare_one_segment",
            with[1],
        )
        .judged("down-segments");
    figure
        .ratio(
            "packets that arrived, ratio with / without spare_one_segment",
            with[0],
            without[0],
        )
        .judged("down-packets");
    figure
        .ratio(
            "frames per packet delivered, ratio with / without spare_one_segment",
            with[2],
            without[2],
        )
        .judged("down-frames");
    figure
        .difference(
            "share of lost datagrams, nodes without TCP, with minus without spare_one_segment",
            with[3],
            without[3],
        )
        .judged("down-others");
}

/// Adds delivered packets, segments and frames per packet, and the loss of the nodes with UDP.
fn of_down(figure: &mut Figure, series: &str, case: &Case) -> [Handle; 4] {
    let metrics: [(Metric, Read); 4] = [
        (ARRIVED, arrived),
        (SEGMENTS, segments),
        (FRAMES, |run| {
            over(run.node_sum("node", "/frames_sent")?, run)
        }),
        (READINGS_LOST, readings_lost),
    ];
    let rows = metrics.map(|(metric, read)| {
        figure
            .point(At::new(series, X::None), metric, case, read)
            .handle()
    });
    figure.point(At::new(series, X::None), RTT, case, |run| rtt(run, DOWN));
    rows
}

fn upstream(figure: &mut Figure, host: &'static str, word: &str) {
    let case = line_of_both().set("border.host_transport", host);
    let rows = [(WITHOUT, case.clone()), (SPARED, spared(&case))].map(|(series, case)| {
        let metrics: [(Metric, Read); 4] = [
            (RTT, |run| rtt(run, ONE)),
            (OF_ONE, |run| rate(run, ONE)),
            (OF_OTHERS, |run| rate(run, OTHERS)),
            (FRAMES_A_KB, frames_a_kilobyte),
        ];
        metrics.map(|(metric, read)| {
            let series = format!("{series}, {host}");
            figure
                .point(At::new(series, X::None), metric, &case, read)
                .handle()
        })
    });
    let [without, with] = rows;
    let mut judge = |what: &'static str, at: usize, id: &str| {
        let place = At::new(VERDICT, host);
        figure
            .made(
                place,
                Metric::new(what, ""),
                [with[at], without[at]],
                |it| it[0] / it[1],
            )
            .judged(format!("{word}-{id}"));
    };
    if word == "up" {
        judge("RTT, ratio with / without spare_one_segment", 0, "rtt");
    }
    judge(
        "throughput of nodes with one segment in flight, ratio with / without spare_one_segment",
        1,
        "throughput",
    );
    judge(
        "throughput of nodes with Redpoll's TCP, ratio with / without spare_one_segment",
        2,
        "others",
    );
    judge(
        "frames per kilobyte, ratio with / without spare_one_segment",
        3,
        "frames",
    );
}

fn packets(run: &Run) -> Reading {
    run.flow_sum(DOWN, "/readings/delivered")
}

fn arrived(run: &Run) -> Reading {
    Ok(packets(run)? / MINUTES / run.flows(DOWN)?.len() as f64)
}

fn over(what: f64, run: &Run) -> Reading {
    match packets(run)? {
        0.0 => Err(Gap::Nothing),
        packets => Ok(what / packets),
    }
}

/// Returns the number of segments that enter the mesh per delivered packet. The border router
/// forwards the server's segments unchanged, or divides them into pieces.
fn segments(run: &Run) -> Reading {
    let pieces = run.number("/spare/pieces");
    let all = pieces.or_else(|_| run.flow_sum(DOWN, "/segments_sent"))?;
    over(all, run)
}

fn rtt(run: &Run, flows: &str) -> Reading {
    mean(&numbers(&run.flows(flows)?, "/rtt_ms/p50")?)
}

fn rate(run: &Run, flows: &str) -> Reading {
    let bytes = run.flow_sum(flows, "/delivered_bytes")?;
    Ok(bytes / (run.number("/simulated_s")? - f64::from(super::scenes::LINE_BEGIN_S)))
}

fn frames_a_kilobyte(run: &Run) -> Reading {
    let bytes =
        run.flow_sum(ONE, "/delivered_bytes")? + run.flow_sum(OTHERS, "/delivered_bytes")?;
    Ok(run.node_sum("node", "/frames_sent")? / (bytes / 1_000.0))
}
