//! Goodput against segment size, buffers and hops: the paper's sections 6.1 to
//! 6.3 and 7.2.

use super::bound;
use super::read::{goodput, rtt, segment_loss};
use super::scenes::{downlink, line, paper, uplink};
use crate::Criterion::{AtLeast, AtMost, Between};
use crate::{Case, Fact, Figure, Point, Table, X};

const GOODPUT: (&str, &str) = ("goodput", "kb/s");

const SYSTEM_UP: &str = "uplink, 8.4 ms a packet";
const SYSTEM_DOWN: &str = "downlink, 8.4 ms a packet";
const SYSTEM_6_3: &str = "6.3, 8.4 ms a packet";
const THREE_HOPS: &str = "beyond, 3 hops";

/// Instructions of an operating system for each packet, such that the goodput of
/// section 6.3 is the paper's: no source says how many there are. 8.4 ms at 1.5
/// cycles and 48 MHz.
fn system(case: Case) -> Case {
    case.set("energy.packet_instructions", "270000")
}

/// Fig. 3a.
pub fn figure_3a() -> Figure {
    // Buffers that do not limit: four segments of the largest size.
    let wide = [
        ("tcp.send_buffer", "3200 B"),
        ("tcp.receive_buffer", "3200 B"),
    ];
    let mut points = Vec::new();
    for frames in 1..=8_u32 {
        let sized = |case: Case| case.with(&wide).set("tcp.mss", format!("{frames} frames"));
        for (series, case) in [
            ("uplink", paper(sized(uplink()))),
            ("downlink", paper(sized(downlink()))),
            ("beyond", sized(uplink())),
        ] {
            points.push(Point::new((series, frames), GOODPUT, &case, goodput));
        }
    }
    for frames in [1, 5_u32] {
        let sized = |case: Case| case.set("tcp.mss", format!("{frames} frames"));
        for (series, case) in [
            (SYSTEM_UP, system(paper(sized(uplink()).with(&wide)))),
            (SYSTEM_DOWN, system(paper(sized(downlink()).with(&wide)))),
            (THREE_HOPS, sized(line(3))),
        ] {
            points.push(Point::new((series, frames), GOODPUT, &case, goodput));
        }
    }
    let as_measured = system(super::scenes::delay(paper(line(1)), 0));
    points.push(
        Point::new((SYSTEM_6_3, 5_u32), GOODPUT, &as_measured, goodput)
            .paper(75.0)
            .must(Between(71.0, 79.0)),
    );
    let gain = |series: &'static str, many: u32, few: u32| {
        move |table: &crate::Table<'_>| table.ratio("goodput", (series, many), (series, few))
    };
    Figure {
        name: "3a",
        title: "Goodput against the size of a segment",
        x_label: "MSS in frames",
        about: "One hop to a border router and a server 12 ms behind it, d = 40 ms, buffers of \
                3,200 B. The paper: poor with one frame, flat from five on; table 1 says that \
                large segments bring four to five times the goodput. Three hops: no border \
                router, the defaults. With 8.4 ms a packet, on both nodes, the goodput of 6.3 is \
                the paper's.",
        points,
        facts: vec![
            Fact::shape(
                "uplink, 5 frames / 1 frame",
                gain("uplink", 5, 1),
                AtLeast(3.0),
            )
            .note(ONE_FRAME)
            .paper(4.5),
            Fact::new(
                ("verdict", X::None),
                ("uplink, 5 frames without a collision / 1 frame", ""),
                |table| Some(bound::five_frames_kbps() / table.get("uplink", 1, "goodput")?),
            ),
            Fact::shape(
                "downlink, 5 frames / 1 frame",
                gain("downlink", 5, 1),
                AtLeast(3.0),
            )
            .note(ONE_FRAME)
            .paper(4.5),
            Fact::shape(
                "beyond, 3 hops, 5 frames / 1 frame",
                gain(THREE_HOPS, 5, 1),
                AtLeast(3.0),
            )
            .note("what Redpoll promises"),
            Fact::shape(
                "uplink, 8.4 ms a packet, 5 frames / 1 frame",
                gain(SYSTEM_UP, 5, 1),
                AtLeast(3.0),
            )
            .paper(4.5),
            Fact::shape(
                "downlink, 8.4 ms a packet, 5 frames / 1 frame",
                gain(SYSTEM_DOWN, 5, 1),
                AtLeast(3.0),
            )
            .paper(4.5),
            Fact::shape(
                "uplink, 8 frames / 5 frames",
                gain("uplink", 8, 5),
                AtMost(1.15),
            ),
            Fact::shape(
                "downlink, 8 frames / 5 frames",
                gain("downlink", 8, 5),
                AtMost(1.15),
            ),
        ],
    }
}

/// Fig. 3b.
pub fn figure_3b() -> Figure {
    let mut points = Vec::new();
    for segments in 1..=6_u32 {
        let bytes = format!("{} B", segments * 462);
        let up = |case: Case| case.set("tcp.send_buffer", &bytes);
        let down = |case: Case| case.set("tcp.receive_buffer", &bytes);
        for (series, case) in [
            ("uplink", up(paper(uplink()))),
            ("downlink", down(paper(downlink()))),
            ("beyond", up(uplink())),
        ] {
            let wide = match series {
                "downlink" => ("tcp.send_buffer", "2772 B"),
                _ => ("tcp.receive_buffer", "2772 B"),
            };
            let case = case.with(&[wide]);
            points.push(Point::new((series, segments), GOODPUT, &case, goodput));
            points.push(Point::new((series, segments), ("RTT", "ms"), &case, rtt));
        }
    }
    let gain = |series: &'static str, many: u32, few: u32| {
        move |table: &crate::Table<'_>| table.ratio("goodput", (series, many), (series, few))
    };
    Figure {
        name: "3b",
        title: "Goodput against the size of a buffer",
        x_label: "buffer in segments of 462 B",
        about: "One hop to a border router and a server 12 ms behind it, d = 40 ms; uplink with \
                that send buffer, downlink with that receive buffer, the other of six segments. \
                The paper: level from three to four segments on; downlink with one segment is \
                unusually good because a full receive buffer turns delayed ACK off.",
        points,
        facts: vec![
            Fact::shape(
                "uplink, 3 / 4 segments",
                gain("uplink", 3, 4),
                AtLeast(0.85),
            ),
            Fact::shape("uplink, 6 / 4 segments", gain("uplink", 6, 4), AtMost(1.1)),
            Fact::shape("uplink, 4 / 1 segments", gain("uplink", 4, 1), AtLeast(1.5)),
            Fact::shape(
                "downlink, 3 / 4 segments",
                gain("downlink", 3, 4),
                AtLeast(0.85),
            ),
            Fact::shape(
                "downlink, 6 / 4 segments",
                gain("downlink", 6, 4),
                AtMost(1.1),
            ),
            Fact::shape(
                "1 segment, downlink / uplink",
                |table| table.ratio("goodput", ("downlink", 1), ("uplink", 1)),
                AtLeast(1.2),
            ),
            Fact::new(
                ("verdict", X::None),
                ("1 segment, RTT downlink / uplink", ""),
                |table| table.ratio("RTT", ("downlink", 1), ("uplink", 1)),
            )
            .paper(0.54),
        ],
    }
}

/// Fig. 4b.
pub fn figure_4b() -> Figure {
    let fact =
        |name: &'static str, value: f64| Fact::new(("kb/s", name), GOODPUT, move |_| Some(value));
    Figure {
        name: "4b",
        title: "From the radio's rate to goodput",
        x_label: "what is left after",
        about: "The bounds are worked out with the simulated radio's times: one frame buffer, \
                7.56 us of SPI a byte, CSMA, link acknowledgement. Measured: one hop, no border \
                router, 5-frame segments, window 1848 B, d = 0.",
        points: vec![measured_6_3(0)],
        facts: vec![
            fact("link", 250.0).paper(250.0),
            fact("radio", bound::radio_kbps())
                .paper(125.0)
                .must(Between(112.5, 150.0))
                .note("the paper: almost halved"),
            fact("unused space", bound::unused_kbps())
                .paper(100.0)
                .must(Between(90.0, 110.0))
                .note(
                    "headers are short here, so a segment's frames have 577 bytes and the last \
                     is not full; of five full ones, see the next row",
                ),
            Fact::new(("five full frames", "unused space"), GOODPUT, |_| {
                Some(bound::unused_of_full_kbps())
            })
            .paper(100.0),
            fact("TCP headers", bound::tcp_kbps())
                .paper(95.0)
                .must(Between(85.5, 104.5)),
            Fact::new(("kb/s", "measured"), GOODPUT, measured_4b).paper(75.0),
            Fact::shape(
                "measured / bound",
                |table| Some(measured_4b(table)? / bound::tcp_kbps()),
                Between(0.75, 1.0),
            )
            .paper(0.79)
            .note("the paper: within 25 % of the bound"),
        ],
    }
}

fn measured_6_3(ms: u32) -> Point {
    let case = super::scenes::delay(paper(line(1)), ms);
    Point::new(("testbed", X::None), GOODPUT, &case, goodput).paper(75.0)
}

/// The same, behind the bounds.
fn measured_4b(table: &Table<'_>) -> Option<f64> {
    table.get("testbed", X::None, GOODPUT.0)
}

/// Why one frame is not so much worse than five.
pub const ONE_FRAME: &str =
    "headers leave 56 bytes in one frame, and packets take no system's time: docs/studies.md";

/// §6.3.
pub fn section_6_3() -> Figure {
    let mut points = Vec::new();
    for ms in [0, 40_u32] {
        for (series, case) in [("testbed", paper(line(1))), ("beyond", line(1))] {
            let case = super::scenes::delay(case, ms);
            let point = Point::new((series, ms), GOODPUT, &case, goodput);
            points.push(match series {
                "testbed" => point
                    .paper(75.0)
                    .must(Between(75.0, 95.0))
                    .note("the bound is 103.5 here, see 4b"),
                _ => point,
            });
        }
    }
    Figure {
        name: "6.3",
        title: "Goodput over one hop",
        x_label: "d in ms",
        about: "No border router, 5-frame segments, window 1848 B. The paper does not say which \
                d. No less than what it measured, no more than its bound of 95 kb/s.",
        points,
        facts: Vec::new(),
    }
}

/// §7.2.
pub fn section_7_2() -> Figure {
    const MEASURED: [f64; 4] = [64.1, 28.3, 19.5, 17.5];
    const BOUNDS: [f64; 4] = [95.0, 47.5, 31.7, 31.7];
    let mut points = Vec::new();
    let mut facts = Vec::new();
    for (hops, (measured, bound)) in (1_u32..).zip(MEASURED.into_iter().zip(BOUNDS)) {
        let within = Between(measured, bound);
        for (series, case) in [("testbed", paper(line(hops))), ("beyond", line(hops))] {
            let point = Point::new((series, hops), GOODPUT, &case, goodput);
            let loss = ("segment loss", "%");
            points.push(match series {
                "testbed" => point.paper(measured).must(within),
                _ => point,
            });
            points.push(Point::new((series, hops), loss, &case, segment_loss));
        }
        facts.push(Fact::new(("bound", hops), GOODPUT, move |_| Some(bound)).paper(bound));
    }
    let share = |hops: u32| {
        move |table: &crate::Table<'_>| table.ratio("goodput", ("testbed", hops), ("testbed", 1))
    };
    for (what, hops, paper, criterion) in [
        ("2 hops / 1 hop", 2, 0.44, Between(0.35, 0.55)),
        ("3 hops / 1 hop", 3, 0.30, Between(0.25, 0.38)),
        ("4 hops / 1 hop", 4, 0.27, Between(0.20, 0.38)),
    ] {
        facts.push(Fact::shape(what, share(hops), criterion).paper(paper));
    }
    Figure {
        name: "7.2",
        title: "Goodput over several hops",
        x_label: "hops",
        about: "d = 40 ms, 5-frame segments, window 1848 B. No less than what the paper \
                measured, no more than its bounds B, B/2, B/3, B/3 with B = 95 kb/s.",
        points,
        facts,
    }
}
