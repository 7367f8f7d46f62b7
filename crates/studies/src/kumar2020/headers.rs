//! How long headers are: the paper's table 5.

use super::scenes::{line, paper, uplink};
use crate::Criterion::{AtLeast, Between};
use crate::{Case, Figure, Point, Probe, Run, View, X};

const BYTES: (&str, &str) = ("bytes", "B");

/// A layer: its name in the table and as it is seen, and the paper's least and
/// most in the first frame of a segment and in those that follow.
type Layer = (&'static str, &'static str, [f64; 2], [f64; 2]);

const LAYERS: [Layer; 5] = [
    ("802.15.4", "mac", [11.0, 23.0], [11.0, 23.0]),
    ("6LoWPAN", "lowpan", [5.0, 5.0], [5.0, 12.0]),
    ("IPv6", "ip", [2.0, 28.0], [0.0, 0.0]),
    ("TCP", "tcp", [20.0, 44.0], [0.0, 0.0]),
    ("total", "total", [38.0, 107.0], [16.0, 35.0]),
];

fn seen(case: Case) -> Case {
    case.probe(Probe::Air(View::Headers))
}

/// Table 5.
pub fn table_5() -> Figure {
    // To a neighbour nothing of the addresses is left; to a host beyond the
    // mesh, and back, its whole address is there.
    let (inside, outside) = (seen(paper(line(1))), seen(paper(uplink())));
    let mut points = Vec::new();
    for (name, layer, first, next) in LAYERS {
        for (frame, series, [low, high]) in [
            ("first", "first frame", first),
            ("next", "later frames", next),
        ] {
            // What comes above has its header in the first frame alone.
            if frame == "next" && next == [0.0, 0.0] {
                continue;
            }
            for (end, case, of_paper) in [("least", &inside, low), ("most", &outside, high)] {
                let key = format!("{frame}.{layer}.{end}");
                let read = move |run: &Run| run.seen(&key);
                let series = format!("{series}, {end}");
                points.push(
                    Point::new((series, name), BYTES, case, read)
                        .paper(of_paper)
                        .must(Between(low, high)),
                );
            }
        }
    }
    let single = seen(paper(line(1).set("tcp.mss", "1 frames")));
    let share = ("headers' share of a frame, segments of one frame", "%");
    let room = |end: &'static str| move |run: &Run| run.seen(&format!("room.{end}"));
    points.extend([
        Point::new(
            ("table 4", X::None),
            ("room in a frame", "B"),
            &outside,
            room("most"),
        )
        .paper(116.0)
        .must(Between(104.0, 116.0)),
        Point::new(("one frame", X::None), share, &single, |run| {
            Some(100.0 * run.seen("share")?)
        })
        .paper(50.0)
        .must(AtLeast(50.0))
        .note(
            "the paper: more than half; here 47 bytes of 103, as addresses inside the mesh take \
             no byte, and a segment leaves room for options",
        ),
    ]);
    Figure {
        name: "table-5",
        title: "Header bytes of a segment's frames",
        x_label: "layer",
        about: "Counted in the frames on the air that carry data: the least to a neighbour, the \
                most to a host behind the border router, 5-frame segments. 802.15.4 with its \
                check sequence; the first byte of a compressed header counts as 6LoWPAN's. Each \
                number has to lie within the paper's range.",
        points,
        facts: Vec::new(),
    }
}
