//! Duration of one frame (the paper's figure 4a).

use super::bound;
use crate::vocabulary::probes::air::{Course, Exchange};
use redpoll_experiments::{At, Case, Figure, Metric, Probed, Reading, Run, Scene};

const TIME: Metric = Metric::new("time", "ms");
const SERIES: &str = "AT86RF233";

/// A node that sends datagrams of one 127-byte frame back to back.
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

/// Returns the time of a frame on the sender's bus, in milliseconds.
fn bus(run: &Run, _: &Course) -> Reading {
    let s = run.node("node-2", "/energy/spi_s")?;
    Ok(1_000.0 * s / run.node("node-2", "/frames_sent")?)
}

/// Returns the time from frame to frame without bus, air and acknowledgment, in milliseconds.
fn access(run: &Run, seen: &Course) -> Reading {
    Ok(seen.whole()? - bus(run, seen)? - seen.air()? - seen.ack()?)
}

pub fn figure_4a() -> Figure {
    let mut figure = Figure::new("4a", "A frame of 127 bytes and its acknowledgment")
        .x_label("part")
        .about(
            "A node sends full frames to its neighbour as fast as its radio allows; means of the \
             time from the start of one frame on the air to the start of the next. Access is \
             backoff, assessment and turnaround; the acknowledgment includes the turnaround before \
             it. The paper measured 4.1 ms on the air and 7.2 ms in total with an oscilloscope. \
             The time of a byte on the bus was chosen so that the total is 7.2 ms \
             (docs/model/radio.md), so the total only confirms that the model is assembled \
             correctly. The total does not confirm that a real radio needs this time.",
        );
    let case = case();
    figure.seen(At::new(SERIES, "bus"), TIME, &case, bus);
    figure.seen(At::new(SERIES, "access"), TIME, &case, access);
    figure
        .seen(At::new(SERIES, "air"), TIME, &case, |_, seen| seen.air())
        .paper(4.1);
    figure.seen(At::new(SERIES, "acknowledged"), TIME, &case, |_, seen| {
        seen.ack()
    });
    let whole = figure
        .seen(At::new(SERIES, "in all"), TIME, &case, |_, seen| {
            seen.whole()
        })
        .paper(7.2)
        .judged("in-all")
        .handle();
    figure.verdict(
        "total time per frame, ratio simulated / calculated",
        [whole],
        |[whole]| whole / bound::frame_ms(127.0),
    );
    figure
}
