//! Goodput by segment size, buffer size and hops (the paper's §6.1 to §6.3 and §7.2).

use super::bound;
use super::scenes::{delay, downlink, line, uplink};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{GOODPUT, LOSS, RTT, goodput, rtt, segment_loss};
use redpoll_experiments::{At, Case, Figure, Handle, Line, Metric, X};

const THREE_HOPS: &str = "beyond, 3 hops";

pub fn figure_3a() -> Figure {
    let mut figure = Figure::new("3a", "Goodput against the size of a segment")
        .x_label("MSS in frames")
        .about(
            "One hop to a border router, and a round-trip time of 12 ms from there to a server; \
             d = 40 ms, buffers of 3,200 B. In the paper, goodput is low with segments of one \
             frame, and constant from segments of five frames on; table 1 says that a large MSS \
             multiplies goodput by four to five. The rows with three hops use Redpoll's node with \
             its default settings and no border router.",
        );
    let all = |case: Case| (1..=8_u32).map(move |frames| (frames, sized(&case, frames)));
    let ends = |case: Case| [1, 5_u32].map(|frames| (frames, sized(&case, frames)));
    let paper = |cases: Vec<(u32, Case)>| cases.into_iter().map(|(x, case)| (x, tcplp(case)));

    let up = paper(all(wide(uplink())).collect());
    let up = figure.line("uplink", GOODPUT, up, goodput);
    let down = paper(all(wide(downlink())).collect());
    let down = figure.line("downlink", GOODPUT, down, goodput);
    let own = figure.line("beyond", GOODPUT, all(wide(uplink())), goodput);
    let three_hops = figure.line(THREE_HOPS, GOODPUT, ends(line(3)), goodput);
    let one_hop = figure
        .ratio(
            "Redpoll's node, 1 hop: goodput, ratio 5 frames / 1 frame",
            own.at(5),
            own.at(1),
        )
        .handle();
    let counted = figure
        .known(
            At::new("payload per frame, ratio 5 frames / 1 frame", X::None),
            TIMES,
            counted(5) / counted(1),
        )
        .handle();
    let [of_one, of_eight] = other_packets(&mut figure);
    figure
        .ratio(
            "uplink: goodput, ratio 5 frames / 1 frame",
            up.at(5),
            up.at(1),
        )
        .paper(4.5)
        .judged("uplink-5-over-1")
        .cause(ONE_FRAME, &of_one);
    figure
        .ratio(
            "downlink: goodput, ratio 5 frames / 1 frame",
            down.at(5),
            down.at(1),
        )
        .paper(4.5)
        .judged("downlink-5-over-1")
        .cause(ONE_FRAME, &of_one);
    figure
        .ratio(
            "Redpoll's node, 3 hops: goodput, ratio 5 frames / 1 frame",
            three_hops.at(5),
            three_hops.at(1),
        )
        .judged("beyond-3-hops-5-over-1")
        .cause(OWN_FRAME, &[counted, one_hop]);
    figure
        .ratio(
            "uplink: goodput, ratio 8 frames / 5 frames",
            up.at(8),
            up.at(5),
        )
        .judged("uplink-8-over-5")
        .cause(EIGHT_FRAMES, &of_eight);
    figure
        .ratio(
            "downlink: goodput, ratio 8 frames / 5 frames",
            down.at(8),
            down.at(5),
        )
        .judged("downlink-8-over-5")
        .cause(EIGHT_FRAMES, &of_eight);
    figure
}

/// Sets buffers for four segments of the largest size, so that they do not limit the goodput.
fn wide(case: Case) -> Case {
    case.with(&[
        ("tcp.send_buffer", "3200 B"),
        ("tcp.receive_buffer", "3200 B"),
    ])
}

fn sized(case: &Case, frames: u32) -> Case {
    case.clone().set("tcp.mss", format!("{frames} frames"))
}

/// Varies the cost of a packet in addition to its frames: with table 5's longest header, and
/// without an operating system. Returns for each variant the goodput ratios of five frames to one
/// and of eight to five.
fn other_packets(figure: &mut Figure) -> [[Handle; 2]; 2] {
    let some = || [1, 5, 8_u32].map(|frames| (frames, tcplp(sized(&wide(uplink()), frames))));
    let long = some().map(|(x, case)| (x, case.set("mac.security_bytes", "12")));
    let long = figure.line("uplink, headers of 23 B", GOODPUT, long, goodput);
    let idle = some().map(|(x, case)| (x, case.set("energy.packet_instructions", "0")));
    let idle = figure.line("uplink, no operating system", GOODPUT, idle, goodput);
    let mut over = |what, of: &Line, one: u32, other: u32| {
        figure.ratio(what, of.at(one), of.at(other)).handle()
    };
    [
        [
            over(
                "uplink, headers of 23 B: goodput, ratio 5 frames / 1 frame",
                &long,
                5,
                1,
            ),
            over(
                "uplink, no operating system: goodput, ratio 5 frames / 1 frame",
                &idle,
                5,
                1,
            ),
        ],
        [
            over(
                "uplink, headers of 23 B: goodput, ratio 8 frames / 5 frames",
                &long,
                8,
                5,
            ),
            over(
                "uplink, no operating system: goodput, ratio 8 frames / 5 frames",
                &idle,
                8,
                5,
            ),
        ],
    ]
}

/// Why eight frames still outperform five.
const EIGHT_FRAMES: &str = "the cost of a packet in addition to its frames, mostly the operating \
    system's time, is divided among more frames; without this time the gain is smaller";

/// Reason for which five frames instead of one gain less on Redpoll's own node than in the paper.
const OWN_FRAME: &str = "if the ACK for every second segment counts as a frame, a segment of five \
    frames carries little more than twice as much payload per frame as a segment of one frame, \
    and the goodput ratio over one hop is no larger than this ratio of payloads; over three hops, \
    collisions are too rare to increase the goodput ratio to the required value";

/// Returns payload bytes per frame on Redpoll's node; a segment counts its frames and half an ACK.
fn counted(frames: u32) -> f64 {
    let scenario = sized(&line(3), frames).scenario();
    let payload = scenario.map_or(f64::NAN, |it| f64::from(it.tcp.payload_bytes()));
    payload / (f64::from(frames) + 0.5)
}

pub fn figure_3b() -> Figure {
    let mut figure = Figure::new("3b", "Goodput against the size of a buffer")
        .x_label("buffer in segments of 462 B")
        .about(
            "One hop to a border router, and a round-trip time of 12 ms from there to a server; \
             d = 40 ms. The size is that of the send buffer for uplink and of the receive buffer \
             for downlink; the other buffer has six segments. In the paper goodput is level from \
             three to four segments on; downlink with one segment is unusually good because a \
             full receive buffer turns delayed ACK off.",
        );
    let sizes = || (1..=6_u32).map(|segments| (segments, format!("{} B", segments * 462)));
    let up = |case: Case, bytes: &str| {
        case.set("tcp.send_buffer", bytes)
            .set("tcp.receive_buffer", "2772 B")
    };
    let down = |case: Case, bytes: &str| {
        case.set("tcp.receive_buffer", bytes)
            .set("tcp.send_buffer", "2772 B")
    };
    let ups = || sizes().map(|(x, bytes)| (x, up(tcplp(uplink()), &bytes)));
    let downs = || sizes().map(|(x, bytes)| (x, down(tcplp(downlink()), &bytes)));
    let own = || sizes().map(|(x, bytes)| (x, up(uplink(), &bytes)));
    let up = figure.line("uplink", GOODPUT, ups(), goodput);
    let up_rtt = figure.line("uplink", RTT, ups(), rtt);
    let down = figure.line("downlink", GOODPUT, downs(), goodput);
    let down_rtt = figure.line("downlink", RTT, downs(), rtt);
    figure.line("beyond", GOODPUT, own(), goodput);
    figure.line("beyond", RTT, own(), rtt);
    figure
        .ratio(
            "uplink: goodput with a buffer of 3 segments / goodput with a buffer of 4 segments",
            up.at(3),
            up.at(4),
        )
        .judged("uplink-3-over-4");
    figure
        .ratio(
            "uplink: goodput with a buffer of 6 segments / goodput with a buffer of 4 segments",
            up.at(6),
            up.at(4),
        )
        .judged("uplink-6-over-4");
    figure
        .ratio(
            "uplink: goodput with a buffer of 4 segments / goodput with a buffer of 1 segment",
            up.at(4),
            up.at(1),
        )
        .judged("uplink-4-over-1");
    figure
        .ratio(
            "downlink: goodput with a buffer of 3 segments / goodput with a buffer of 4 segments",
            down.at(3),
            down.at(4),
        )
        .judged("downlink-3-over-4");
    figure
        .ratio(
            "downlink: goodput with a buffer of 6 segments / goodput with a buffer of 4 segments",
            down.at(6),
            down.at(4),
        )
        .judged("downlink-6-over-4");
    figure
        .ratio(
            "goodput with a buffer of 1 segment, ratio downlink / uplink",
            down.at(1),
            up.at(1),
        )
        .judged("1-downlink-over-uplink");
    figure
        .ratio(
            "RTT with a buffer of 1 segment, ratio downlink / uplink",
            down_rtt.at(1),
            up_rtt.at(1),
        )
        .paper(0.54)
        .judged("1-rtt-downlink-over-uplink");
    figure
}

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
        .note("in the paper the goodput is within 25 % of the bound");
    figure
}

/// Reason for which five frames instead of one gain less than in the paper.
const ONE_FRAME: &str = "the ratio depends on the time that a packet costs in addition to its \
    frames, mostly the operating system's time: the ratio is lower with link headers of 23 bytes, \
    and lower still without an operating system";

pub fn section_6_3() -> Figure {
    let mut figure = Figure::new("6.3", "Goodput over one hop")
        .x_label("d in ms")
        .about("No border router, 5-frame segments, window 1848 B. The paper does not state d.");
    let testbed = [0, 40_u32].map(|ms| (ms, delay(tcplp(line(1)), ms)));
    let testbed = figure.line("testbed", GOODPUT, testbed, goodput);
    figure.row(testbed.at(0)).paper(75.0).judged("one-hop");
    figure.row(testbed.at(40)).paper(75.0);
    let own = [0, 40_u32].map(|ms| (ms, delay(line(1), ms)));
    figure.line("beyond", GOODPUT, own, goodput);
    figure
}

pub fn section_7_2() -> Figure {
    const HOPS: [u32; 4] = [1, 2, 3, 4];
    const MEASURED: [f64; 4] = [64.1, 28.3, 19.5, 17.5];
    const BOUNDS: [f64; 4] = [95.0, 47.5, 31.7, 31.7];
    // Section 6.3 calibrates the row of the path with one hop.
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
    figure.line("beyond", GOODPUT, own(), goodput);
    figure.line("beyond", LOSS, own(), segment_loss);
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

/// The paper's goodput of an earlier stack with a window of one segment, over one and several hops
/// in kb/s.
struct Rival {
    name: &'static str,
    mss: &'static str,
    one_hop: f64,
    multihop: f64,
}

/// Payload of a segment in one frame. A frame has room for 72 bytes, but the send buffer, which
/// holds one segment, has at least 64.
const ONE_FRAME_MSS: &str = "64 B";

const RIVALS: [Rival; 4] = [
    Rival {
        name: "1 frame, 1 segment ([144])",
        mss: ONE_FRAME_MSS,
        one_hop: 1.5,
        multihop: 0.55,
    },
    Rival {
        name: "1 frame, 1 segment, ACKs at once ([22], [86])",
        mss: ONE_FRAME_MSS,
        one_hop: 6.4,
        multihop: 1.9,
    },
    Rival {
        name: "4 frames, 1 segment ([67])",
        mss: "4 frames",
        one_hop: 12.0,
        multihop: 12.0,
    },
    Rival {
        name: "1024 B, 1 segment ([69, 70])",
        mss: "1024 B",
        one_hop: 15.0,
        multihop: 9.6,
    },
];

impl Rival {
    /// Returns TCPlp's node with a window of one segment. Only the first stack delays ACKs.
    fn case(&self, hops: u32) -> Case {
        let case = tcplp(line(hops).set("tcp.mss", self.mss));
        let payload = case.scenario().map_or(0, |it| it.tcp.payload_bytes());
        let delay = if self.one_hop < 2.0 { "100 ms" } else { "0 ms" };
        case.set("tcp.send_buffer", format!("{payload} B"))
            .set("tcp.receive_buffer", "1848 B")
            .set("tcp.delayed_ack", delay)
    }
}

pub fn table_6() -> Figure {
    let mut figure = Figure::new("table-6", "Goodput compared with earlier stacks")
        .x_label("hops")
        .about(
            "5-frame segments, window 1848 B, d = 40 ms; TCPlp's measurements are those of section \
             7.2. Each earlier stack is represented by TCPlp's node with a window of one segment \
             of the same number of frames, so that only the window differs, not hardware and link. \
             In addition, uIP, BLIP and a stack of one long segment run on the same node and link \
             (docs/rivals.md). In the paper TCPlp has 5 to 40 times the goodput of earlier stacks.",
        );
    let [one, three] = [(75.0, 0), (20.0, 1)].map(|(paper, index): (f64, usize)| {
        let (name, hops) = HOPS[index];
        figure
            .point(
                At::new("testbed", name),
                GOODPUT,
                &tcplp(line(hops)),
                goodput,
            )
            .paper(paper)
            .handle()
    });
    for rival in RIVALS {
        let [near, far] = [(rival.one_hop, 0), (rival.multihop, 1)].map(|(paper, index)| {
            let (name, hops) = HOPS[index];
            figure
                .point(
                    At::new(rival.name, name),
                    GOODPUT,
                    &rival.case(hops),
                    goodput,
                )
                .paper(paper)
                .handle()
        });
        for (name, own, other, paper) in [
            ("one hop", one, near, 75.0 / rival.one_hop),
            ("three hops", three, far, 20.0 / rival.multihop),
        ] {
            let id = match (rival.one_hop, name) {
                (1.5, "one hop") => Some("one-frame-one-hop"),
                (6.4, "one hop") => Some("one-frame-acked-one-hop"),
                _ => None,
            };
            let entry = figure
                .made(
                    At::new(format!("TCPlp / {}", rival.name), name),
                    TIMES,
                    [own, other],
                    |[own, other]| own / other,
                )
                .paper(paper);
            if let Some(id) = id {
                entry.judged(id);
            }
        }
    }
    for stack in STACKS {
        stack.rows(&mut figure, [one, three]);
    }
    figure
}

/// An earlier stack itself on the paper's node and link: its keys, and the paper's goodput over one
/// hop and several in kb/s, where it is known for this stack.
struct Stack {
    name: &'static str,
    changes: &'static [(&'static str, &'static str)],
    paper: [f64; 2],
}

const STACKS: [Stack; 5] = [
    Stack {
        name: "uIP 3.0, 48 B, to TCPlp",
        changes: &[
            ("tcp.transport", "uip-3.0"),
            ("nodes.node-1.transport", "redpoll"),
        ],
        paper: [1.5, 0.55],
    },
    Stack {
        name: "uIP 3.0, 48 B",
        changes: &[("tcp.transport", "uip-3.0")],
        paper: [6.4, 1.9],
    },
    Stack {
        name: "uIP 3.0, 4 frames",
        changes: &[("tcp.transport", "uip-3.0"), ("rivals.uip_mss", "380 B")],
        paper: [12.0, 12.0],
    },
    Stack {
        name: "BLIP, 150 B, to TCPlp",
        changes: &[
            ("tcp.transport", "blip"),
            ("nodes.node-1.transport", "redpoll"),
        ],
        paper: [4.8, 2.4],
    },
    Stack {
        name: "one segment of 1,024 B",
        changes: &[("tcp.transport", "one-segment")],
        paper: [15.0, 9.6],
    },
];

impl Stack {
    /// Adds the stack's goodput over one and three hops, and the ratio of TCPlp's goodput to it.
    fn rows(&self, figure: &mut Figure, tcplp_rows: [Handle; 2]) {
        for (index, (name, hops)) in HOPS.into_iter().enumerate() {
            let case = tcplp(line(hops)).with(self.changes);
            let own = tcplp_rows[index];
            let goodput = figure
                .point(At::new(self.name, name), GOODPUT, &case, goodput)
                .paper(self.paper[index])
                .handle();
            figure
                .made(
                    At::new(format!("TCPlp / {}", self.name), name),
                    TIMES,
                    [own, goodput],
                    |[own, other]| own / other,
                )
                .paper([75.0, 20.0][index] / self.paper[index]);
        }
    }
}

const HOPS: [(&str, u32); 2] = [("one hop", 1), ("three hops", 3)];

const TIMES: Metric = Metric::new("ratio", "");
