//! One frame: the paper's figure 4a.

use super::bound;
use crate::Criterion::Between;
use crate::{Case, Fact, Figure, Point, Probe, Run, Scene, View};

const TIME: (&str, &str) = ("time", "ms");
const SERIES: &str = "AT86RF233";

/// A node sends datagrams of one frame of 127 bytes, one after another.
const FULL_FRAMES: &str = r#"
duration = "60 s"

[topology]
kind = "line"
nodes = 2
spacing = "10 m"

[radio]
model = "at86rf233"

[apps.frames]
type = "sensor"
on = "node-2"
to = "node-1:5683"
transport = "udp"
reading = "107 B"
interval = "2 ms"
"#;

fn case() -> Case {
    let scene = Scene {
        name: "full-frames",
        text: FULL_FRAMES.to_owned(),
    };
    Case::new(scene).probe(Probe::Air(View::Exchange { from: 1 }))
}

/// Milliseconds for which a frame moves over the sender's bus.
fn bus(run: &Run) -> Option<f64> {
    let s = run.node("node-2", "/energy/spi_s")?;
    Some(1_000.0 * s / run.node("node-2", "/frames_sent")?)
}

/// What is neither bus nor air nor acknowledgment.
fn access(run: &Run) -> Option<f64> {
    Some(run.seen("whole")? - bus(run)? - run.seen("air")? - run.seen("ack")?)
}

/// Fig. 4a.
pub fn figure_4a() -> Figure {
    let case = case();
    let point = |name, read: fn(&Run) -> Option<f64>| Point::new((SERIES, name), TIME, &case, read);
    Figure {
        name: "4a",
        title: "A frame of 127 bytes and its acknowledgment",
        x_label: "part",
        about: "A node sends full frames to its neighbour as fast as its radio takes them; means, \
                from one frame's beginning on the air to the next one's. Access is backoff, \
                assessment and turnaround; the acknowledgment includes the turnaround before \
                it. The paper has 4.1 ms on \
                the air and 7.2 ms in all from an oscilloscope. The time of a byte on the bus was \
                chosen after that figure (docs/model.md), so the whole shows that the model is \
                put together rightly, not what a radio takes.",
        points: vec![
            point("bus", bus),
            point("access", access),
            point("air", |run| run.seen("air"))
                .paper(4.1)
                .must(Between(4.0, 4.3)),
            point("acknowledged", |run| run.seen("ack")),
            point("in all", |run| run.seen("whole"))
                .paper(7.2)
                .must(Between(7.1, 7.3)),
        ],
        facts: vec![Fact::shape(
            "in all, measured / worked out",
            |table| Some(table.get(SERIES, "in all", TIME.0)? / bound::frame_ms(127.0)),
            Between(0.98, 1.02),
        )],
    }
}
