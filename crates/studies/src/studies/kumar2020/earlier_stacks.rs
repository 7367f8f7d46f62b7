//! Goodput compared with earlier stacks (the paper's table 6).

use super::scenes::line;
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{GOODPUT, RATIO, goodput};
use redpoll_experiments::{At, Case, Figure, Handle};

/// The paper's goodput of an earlier stack with a window of one segment, over one and several hops
/// in kb/s.
struct Rival {
    name: &'static str,
    mss: &'static str,
    one_hop: f64,
    multihop: f64,
}

/// Payload of a segment that fits into one frame, which has room for 72 bytes. The send buffer
/// holds one segment and has at least 64 bytes, so the payload cannot be shorter.
const ONE_FRAME_MSS: &str = "64 B";

const RIVALS: [Rival; 4] = [
    Rival {
        name: "segments of 1 frame, window of 1 segment ([144])",
        mss: ONE_FRAME_MSS,
        one_hop: 1.5,
        multihop: 0.55,
    },
    Rival {
        name: "segments of 1 frame, window of 1 segment, ACKs at once ([22], [86])",
        mss: ONE_FRAME_MSS,
        one_hop: 6.4,
        multihop: 1.9,
    },
    Rival {
        name: "segments of 4 frames, window of 1 segment ([67])",
        mss: "4 frames",
        one_hop: 12.0,
        multihop: 12.0,
    },
    Rival {
        name: "segments of 1024 B, window of 1 segment ([69, 70])",
        mss: "1024 B",
        one_hop: 15.0,
        multihop: 9.6,
    },
];

impl Rival {
    /// Returns TCPlp's node with a window of one segment. Only the first of
    /// [`RIVALS`] delays ACKs.
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
            "5-frame segments, window 1848 B, d = 40 ms; the rows of TCPlp's node (`testbed`) are runs of \
             figure 7.2. Each earlier stack is represented by TCPlp's node with segments of that stack's \
             size and one segment in flight. Hardware and link are those of TCPlp's node. \
             In addition, uIP, BLIP and a stack with one long segment in flight run on the same \
             node and link (docs/rivals.md). In the paper TCPlp has 5 to 40 times the goodput of \
             earlier stacks.",
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
                    RATIO,
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
        name: "stack with one segment of 1,024 B in flight",
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
                    RATIO,
                    [own, goodput],
                    |[own, other]| own / other,
                )
                .paper([75.0, 20.0][index] / self.paper[index]);
        }
    }
}

const HOPS: [(&str, u32); 2] = [("one hop", 1), ("three hops", 3)];
