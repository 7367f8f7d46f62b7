//! Goodput over one hop and its upper bound, and goodput over several hops (the paper's §6.3 and
//! §7.2).

use super::bound;
use super::scenes::{delay, line};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{GOODPUT, LOSS, goodput, segment_loss};
use redpoll_experiments::{At, Figure};

pub fn figure_4b() -> Figure {
    let mut figure = Figure::new("4b", "From the radio's rate to goodput")
        .x_label("step; each includes the costs of all previous steps")
        .about(
            "The bounds are calculated from the simulated radio's times: one frame buffer, 7.14 \
             us of SPI per byte, CSMA, link acknowledgment. Measured: one hop, no border router, \
             5-frame segments, window 1848 B, d = 0.",
        );
    const SERIES: &str = "kb/s";
    figure
        .known(At::new(SERIES, "link"), GOODPUT, 250.0)
        .paper(250.0);
    figure
        .known(At::new(SERIES, "radio"), GOODPUT, bound::radio_kbps())
        .paper(125.0)
        .note("in the paper, the costs of the radio halve the rate, from 250 to 125 kb/s");
    figure
        .known(
            At::new(SERIES, "unused space"),
            GOODPUT,
            bound::unused_kbps(),
        )
        .paper(100.0)
        .note(
            "the frames of a segment have 597 bytes in total, and the last frame is not full; \
             for five full frames, see the next row",
        );
    figure
        .known(
            At::new("five full frames", "unused space"),
            GOODPUT,
            bound::unused_of_full_kbps(),
        )
        .paper(100.0);
    figure
        .known(At::new(SERIES, "TCP headers"), GOODPUT, bound::tcp_kbps())
        .paper(95.0);
    let case = delay(tcplp(line(1)), 0);
    let measured = figure
        .point(At::new(SERIES, "measured"), GOODPUT, &case, goodput)
        .paper(75.0)
        .handle();
    figure
        .verdict("measured / bound", [measured], |[measured]| {
            measured / bound::tcp_kbps()
        })
        .paper(0.79)
        .note("in the paper the measured goodput is within 25 % of the bound with TCP headers");
    figure
}

pub fn section_6_3() -> Figure {
    let mut figure = Figure::new("6.3", "Goodput over one hop")
        .x_label("d in ms")
        .about("No border router, 5-frame segments, window 1848 B. The paper does not state d.");
    let testbed = [0, 40_u32].map(|ms| (ms, delay(tcplp(line(1)), ms)));
    let testbed = figure.line("testbed", GOODPUT, testbed, goodput);
    figure.row(testbed.at(0)).paper(75.0).judged("one-hop");
    figure.row(testbed.at(40)).paper(75.0);
    let own = [0, 40_u32].map(|ms| (ms, delay(line(1), ms)));
    figure.line("Redpoll", GOODPUT, own, goodput);
    figure
}

pub fn section_7_2() -> Figure {
    const HOPS: [u32; 4] = [1, 2, 3, 4];
    const MEASURED: [f64; 4] = [64.1, 28.3, 19.5, 17.5];
    const BOUNDS: [f64; 4] = [95.0, 47.5, 31.7, 31.7];
    // The row of one hop has no criterion, because the profile is calibrated by the goodput over
    // one hop (section 6.3).
    const IDS: [Option<&str>; 4] = [None, Some("2-hops"), Some("3-hops"), Some("4-hops")];
    let mut figure = Figure::new("7.2", "Goodput over several hops")
        .x_label("hops")
        .about(
            "d = 40 ms, 5-frame segments, window 1848 B. The bounds are the paper's: B, B/2, B/3 \
             and B/3 for 1, 2, 3 and 4 hops, with B = 95 kb/s.",
        );
    let cases = || HOPS.map(|hops| (hops, tcplp(line(hops))));
    let testbed = figure.line("testbed", GOODPUT, cases(), goodput);
    figure.line("testbed", LOSS, cases(), segment_loss);
    let own = || HOPS.map(|hops| (hops, line(hops)));
    figure.line("Redpoll", GOODPUT, own(), goodput);
    figure.line("Redpoll", LOSS, own(), segment_loss);
    for (index, hops) in HOPS.into_iter().enumerate() {
        let row = figure.row(testbed.at(hops)).paper(MEASURED[index]);
        if let Some(id) = IDS[index] {
            row.judged(id);
        }
        figure
            .known(At::new("bound", hops), GOODPUT, BOUNDS[index])
            .paper(BOUNDS[index]);
    }
    for (what, hops, paper) in [
        ("goodput, ratio 2 hops / 1 hop", 2, 0.44),
        ("goodput, ratio 3 hops / 1 hop", 3, 0.30),
        ("goodput, ratio 4 hops / 1 hop", 4, 0.27),
    ] {
        figure
            .ratio(what, testbed.at(hops), testbed.at(1))
            .paper(paper);
    }
    figure
}
