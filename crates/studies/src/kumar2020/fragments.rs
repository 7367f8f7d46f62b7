//! What the paper does not have: fragments that relays pass on as they come
//! (RFC 8930), and fragments recovered one by one (RFC 8931), on a line of one to
//! five hops and under loss that the link's retries cannot mend.

use super::read::{goodput, segment_loss};
use crate::Criterion::AtLeast;
use crate::{Case, Fact, Figure, Point, Scene, Table, X};

const REASSEMBLING: &str = "reassembling";
const FORWARDING: &str = "forwarding";
const RECOVERY: &str = "recovery";

/// Who holds what: the switch of each.
const WAYS: [(&str, &[(&str, &str)]); 3] = [
    (REASSEMBLING, &[]),
    (FORWARDING, &[("lowpan.fragment_forwarding", "true")]),
    (RECOVERY, &[("lowpan.fragment_recovery", "true")]),
];

/// Percent of data frames lost behind the radio that has acknowledged them, and
/// what is measured of it.
const LOSSES: [(u32, &str, &str); 3] = [
    (0, "goodput, nothing lost", "segment loss, nothing lost"),
    (5, "goodput, 5 % lost", "segment loss, 5 % lost"),
    (10, "goodput, 10 % lost", "segment loss, 10 % lost"),
];
const HOPS: std::ops::RangeInclusive<u32> = 1..=5;

/// A bulk flow over so many hops of 40 m, on Redpoll's own link.
fn line(hops: u32, loss: u32) -> Case {
    let scene = Scene {
        name: "line",
        text: include_str!("../../../../scenarios/line-4.toml").to_owned(),
    };
    let case = Case::new(scene)
        .set("topology.nodes", hops + 1)
        .set("apps.bulk.on", format!("node-{}", hops + 1));
    match loss {
        0 => case,
        _ => case
            .set("faults.air.type", "lose-frames")
            .set("faults.air.share", format!("{loss} %")),
    }
}

/// Goodput of all hops together, beside that of reassembling relays.
fn gain(way: &'static str, loss: u32) -> impl Fn(&Table<'_>) -> Option<f64> {
    move |table| {
        let (_, goodput, _) = LOSSES.into_iter().find(|(percent, ..)| *percent == loss)?;
        let all = |series: &str| -> Option<f64> {
            HOPS.map(|hops| table.get(series, hops, goodput)).sum()
        };
        Some(all(way)? / all(REASSEMBLING)?)
    }
}

/// Forwarding and recovery of fragments.
pub fn fragments() -> Figure {
    let mut points = Vec::new();
    for (loss, of_goodput, of_loss) in LOSSES {
        for (way, switch) in WAYS {
            for hops in HOPS {
                let (case, at) = (line(hops, loss).with(switch), (way, hops));
                points.push(Point::new(at, (of_goodput, "kb/s"), &case, goodput));
                points.push(Point::new(at, (of_loss, "%"), &case, segment_loss));
            }
        }
    }
    let shown = |what, way, loss| Fact::new(("verdict", X::None), (what, ""), gain(way, loss));
    Figure {
        name: "fragments",
        title: "Fragments passed on as they come, and recovered one by one",
        x_label: "hops",
        about: "Not in the paper. A line of nodes 40 m apart, d = 40 ms, 5-frame segments, window \
                1848 B, 120 s; a share of the data frames is lost behind the radio that has \
                acknowledged them. Relays reassemble, pass fragments on (RFC 8930), or pass on \
                such as are recovered one by one (RFC 8931). The verdict is on the goodput of one \
                to five hops together, beside that of reassembling relays; where nothing is lost \
                there is no criterion, only what it costs.",
        points,
        facts: vec![
            shown("beyond: forwarding, nothing lost", FORWARDING, 0),
            shown("beyond: forwarding, 5 % lost", FORWARDING, 5),
            shown("beyond: recovery, nothing lost", RECOVERY, 0),
            shown("beyond: recovery, 5 % lost", RECOVERY, 5).must(AtLeast(1.0)),
            shown("beyond: recovery, 10 % lost", RECOVERY, 10).must(AtLeast(1.0)),
        ],
    }
}
