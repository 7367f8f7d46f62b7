//! One frame: the paper's figure 4a.

use super::bound;
use crate::engine::case::{Case, Probed, Scene};
use crate::engine::figure::{Figure, Metric};
use crate::engine::run::{Reading, Run};
use crate::vocabulary::probes::air::{Course, Exchange};

const TIME: Metric = Metric::new("time", "ms");
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

fn case() -> Probed<Exchange> {
    let scene = Scene {
        name: "full-frames".into(),
        text: FULL_FRAMES.to_owned(),
    };
    Case::new(scene).probe(Exchange { from: 1 })
}

/// Milliseconds for which a frame moves over the sender's bus.
fn bus(run: &Run, _: &Course) -> Reading {
    let s = run.node("node-2", "/energy/spi_s")?;
    Ok(1_000.0 * s / run.node("node-2", "/frames_sent")?)
}

/// What is neither bus nor air nor acknowledgment.
fn access(run: &Run, seen: &Course) -> Reading {
    Ok(seen.whole()? - bus(run, seen)? - seen.air()? - seen.ack()?)
}

/// Fig. 4a.
pub fn figure_4a() -> Figure {
    let mut figure = Figure::new("4a", "A frame of 127 bytes and its acknowledgment")
        .x_label("part")
        .about(
            "A node sends full frames to its neighbour as fast as its radio takes them; means, \
             from one frame's beginning on the air to the next one's. Access is backoff, \
             assessment and turnaround; the acknowledgment includes the turnaround before \
             it. The paper has 4.1 ms on the air and 7.2 ms in all from an oscilloscope. The \
             time of a byte on the bus was chosen after that figure (docs/model/radio.md), so the \
             whole shows that the model is put together rightly, not what a radio takes.",
        );
    let case = case();
    figure.seen((SERIES, "bus"), TIME, &case, bus);
    figure.seen((SERIES, "access"), TIME, &case, access);
    figure
        .seen((SERIES, "air"), TIME, &case, |_, seen| seen.air())
        .paper(4.1);
    figure.seen((SERIES, "acknowledged"), TIME, &case, |_, seen| seen.ack());
    let whole = figure
        .seen((SERIES, "in all"), TIME, &case, |_, seen| seen.whole())
        .paper(7.2)
        .judged("in-all")
        .handle();
    figure.verdict("in all, measured / worked out", [whole], |[whole]| {
        whole / bound::frame_ms(127.0)
    });
    figure
}
