//! Features of TCP (the paper's table 9), each shown by its effect on the air.

use crate::vocabulary::probes::air::{Seen, Segments};
use redpoll_experiments::{At, Case, Scene};
use redpoll_experiments::{Figure, Metric, Reading, Run, X};

/// Returns a scene with one hop, over which node 2 sends to node 1.
fn line() -> Case {
    Case::new(Scene {
        name: "line-1".into(),
        text: include_str!("../../../../../scenarios/line-1.toml").to_owned(),
    })
}

pub const SEGMENTS: Segments = Segments { from: 1, to: 0 };

fn buffers(send: &str, receive: &str) -> Case {
    line()
        .set("tcp.send_buffer", send)
        .set("tcp.receive_buffer", receive)
}

fn quotient(one: u32, other: u32) -> Reading {
    Ok(f64::from(one) / f64::from(other))
}

fn again(run: &Run, seen: &Seen) -> Reading {
    let lost = run.flow("bulk", "/segment_loss")? * run.flow("bulk", "/segments_sent")?;
    Ok(f64::from(seen.again) / lost)
}

/// A feature: its name in the table and in the criteria, the metric and case that show it, and the
/// paper's stacks that have it.
struct Feature {
    name: &'static str,
    id: Option<&'static str>,
    shown: Metric,
    case: Case,
    read: fn(&Run, &Seen) -> Reading,
    others: &'static str,
}

/// Returns a line that loses one frame in a hundred after the receiving radio acknowledged it.
pub fn lossy() -> Case {
    line()
        .set("faults.air.type", "lose-frames")
        .set("faults.air.share", "1 %")
}

fn features() -> [Feature; 8] {
    [
        Feature {
            name: "flow control",
            id: Some("flow-control"),
            shown: Metric::new("bytes sent beyond a window of 924 B", "B"),
            case: buffers("2772 B", "924 B"),
            read: |_, seen| Ok(seen.beyond_window.into()),
            others: "uIP, BLIP, GNRC, TCPlp",
        },
        Feature {
            name: "congestion control",
            id: Some("congestion-control"),
            shown: Metric::new(
                "bytes in the first flight / bytes in the largest flight, buffers of ten segments",
                "",
            ),
            case: buffers("4620 B", "4620 B"),
            read: |_, seen| quotient(seen.first_flight, seen.most_in_flight),
            others: "GNRC, TCPlp",
        },
        Feature {
            name: "RTT estimation",
            id: Some("rtt-estimation"),
            shown: Metric::new("RTT that the sender measures / RTT on the air, medians", ""),
            case: line(),
            read: |run, seen| {
                let on_air = seen.rtt_ms.ok_or(redpoll_experiments::Gap::Nothing)?;
                Ok(run.flow("bulk", "/rtt_ms/p50")? / on_air)
            },
            others: "uIP, GNRC, TCPlp",
        },
        Feature {
            name: "MSS option",
            id: None,
            shown: Metric::new("share of SYNs with the MSS option", ""),
            case: line(),
            read: |_, seen| quotient(seen.syns_with_mss, seen.syns),
            others: "uIP, GNRC, TCPlp",
        },
        Feature {
            name: "out-of-order reassembly",
            id: Some("out-of-order"),
            shown: Metric::new(
                "retransmitted segments / lost segments, 1 % of frames lost",
                "",
            ),
            case: lossy(),
            read: again,
            others: "GNRC, TCPlp",
        },
        Feature {
            name: "timestamps",
            id: None,
            shown: Metric::new("share of segments with timestamps, SYNs not counted", ""),
            case: line(),
            read: |_, seen| quotient(seen.others_with_timestamps, seen.others),
            others: "TCPlp",
        },
        Feature {
            name: "selective ACKs",
            id: None,
            shown: Metric::new("number of ACKs with SACK blocks, 1 % of frames lost", ""),
            case: lossy(),
            read: |_, seen| Ok(seen.acks_with_blocks.into()),
            others: "TCPlp",
        },
        Feature {
            name: "delayed ACKs",
            id: Some("delayed-acks"),
            shown: Metric::new("ACKs per segment with data", ""),
            case: line(),
            read: |_, seen| quotient(seen.acks, seen.data),
            others: "TCPlp",
        },
    ]
}

pub fn table_9() -> Figure {
    let mut figure = Figure::new("table-9", "Features of TCP").about(
        "The paper lists the features of uIP, BLIP, GNRC and TCPlp; this table shows those of \
         Redpoll, measured from its segments on the air: one hop, 5-frame segments, d = 40 ms, \
         without link retries. The other stacks are not run.",
    );
    for it in features() {
        let row = figure
            .seen(
                At::new(it.name, X::None),
                it.shown,
                &it.case.probe(SEGMENTS),
                it.read,
            )
            .note(format!("the paper lists this feature for {}", it.others));
        if let Some(id) = it.id {
            row.judged(id);
        }
    }
    figure
}
