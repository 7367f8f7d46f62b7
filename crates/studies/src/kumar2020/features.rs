//! What TCP has: the paper's table 9, each feature by what shows it on the air.

use crate::Criterion::{AtLeast, AtMost, Between};
use crate::{Case, Criterion, Figure, Point, Probe, Run, Scene, View, X};

/// One hop; node 2 sends to node 1.
fn line() -> Case {
    let scene = Scene {
        name: "line-1",
        text: include_str!("../../../../scenarios/line-1.toml").to_owned(),
    };
    Case::new(scene).probe(Probe::Air(View::Segments { from: 1, to: 0 }))
}

fn buffers(send: &str, receive: &str) -> Case {
    line()
        .set("tcp.send_buffer", send)
        .set("tcp.receive_buffer", receive)
}

fn quotient(run: &Run, one: &str, other: &str) -> Option<f64> {
    Some(run.seen(one)? / run.seen(other)?)
}

/// Segments sent again for each that was lost.
fn again(run: &Run) -> Option<f64> {
    let lost = run.flow("bulk", "/segment_loss")? * run.flow("bulk", "/segments_sent")?;
    Some(run.seen("again")? / lost)
}

/// A feature: its name, what shows it, where, by which criterion, and which of
/// the paper's stacks have it.
struct Feature {
    name: &'static str,
    shown: (&'static str, &'static str),
    case: Case,
    read: fn(&Run) -> Option<f64>,
    criterion: Criterion,
    others: &'static str,
}

/// One frame in a hundred is lost behind the radio that has acknowledged it.
pub fn lossy() -> Case {
    line()
        .set("faults.air.type", "lose-frames")
        .set("faults.air.share", "1 %")
}

fn features() -> [Feature; 8] {
    [
        Feature {
            name: "flow control",
            shown: ("bytes sent beyond a window of 924 B", "B"),
            case: buffers("2772 B", "924 B"),
            read: |run| run.seen("beyond_window"),
            criterion: AtMost(0.0),
            others: "uIP, BLIP, GNRC, TCPlp",
        },
        Feature {
            name: "congestion control",
            shown: ("first flight / largest, buffers of ten segments", ""),
            case: buffers("4620 B", "4620 B"),
            read: |run| quotient(run, "first_flight", "most_in_flight"),
            criterion: AtMost(0.5),
            others: "GNRC, TCPlp",
        },
        Feature {
            name: "RTT estimation",
            shown: ("the sender's RTT / that on the air, medians", ""),
            case: line(),
            read: |run| Some(run.flow("bulk", "/rtt_ms/p50")? / run.seen("rtt")?),
            criterion: Between(0.8, 1.25),
            others: "uIP, GNRC, TCPlp",
        },
        Feature {
            name: "MSS option",
            shown: ("SYNs that have it", ""),
            case: line(),
            read: |run| quotient(run, "syns_with_mss", "syns"),
            criterion: AtLeast(1.0),
            others: "uIP, GNRC, TCPlp",
        },
        Feature {
            name: "out-of-order reassembly",
            shown: ("segments sent again / lost, 1 % of frames lost", ""),
            case: lossy(),
            read: again,
            criterion: AtMost(1.3),
            others: "GNRC, TCPlp",
        },
        Feature {
            name: "timestamps",
            shown: ("segments that have them, of those behind the SYN", ""),
            case: line(),
            read: |run| quotient(run, "others_with_timestamps", "others"),
            criterion: AtLeast(1.0),
            others: "TCPlp",
        },
        Feature {
            name: "selective ACKs",
            shown: ("ACKs with blocks, 1 % of frames lost", ""),
            case: lossy(),
            read: |run| run.seen("acks_with_blocks"),
            criterion: AtLeast(1.0),
            others: "TCPlp",
        },
        Feature {
            name: "delayed ACKs",
            shown: ("ACKs for each segment with data", ""),
            case: line(),
            read: |run| quotient(run, "acks", "data"),
            criterion: AtMost(0.6),
            others: "TCPlp",
        },
    ]
}

/// Table 9.
pub fn table_9() -> Figure {
    let points = features().into_iter().map(|it| {
        Point::new((it.name, X::None), it.shown, &it.case, it.read)
            .must(it.criterion)
            .note(format!("in the paper: {}", it.others))
    });
    Figure {
        name: "table-9",
        title: "Features of TCP",
        x_label: "",
        about: "The paper lists which of uIP, BLIP, GNRC and TCPlp have what; here is what \
                Redpoll's segments show on the air, one hop, 5-frame segments, d = 40 ms, link \
                repetitions not counted. Other stacks are not run.",
        points: points.collect(),
        facts: Vec::new(),
    }
}
