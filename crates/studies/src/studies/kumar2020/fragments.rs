//! Fragments that relays forward at once (RFC 8930), and fragments that are recovered one by one
//! (RFC 8931), on a line of one to five hops under losses that link retries cannot repair. The
//! paper has neither.

use crate::vocabulary::read::{goodput, segment_loss};
use redpoll_experiments::{Case, Scene};
use redpoll_experiments::{Figure, Metric};

/// Names and keys of the three ways to handle fragments.
const REASSEMBLING: (&str, &[(&str, &str)]) = ("reassembling", &[]);
const FORWARDING: (&str, &[(&str, &str)]) =
    ("forwarding", &[("lowpan.fragment_forwarding", "true")]);
const RECOVERY: (&str, &[(&str, &str)]) = ("recovery", &[("lowpan.fragment_recovery", "true")]);

/// A loss rate in percent (data frames lost after the radio acknowledged them), its metrics, and
/// the names of the rows of forwarding and recovery.
struct Loss {
    percent: u32,
    goodput: Metric,
    loss: Metric,
    forwarding: &'static str,
    recovery: &'static str,
    /// The name of recovery's row in the criteria.
    id: Option<&'static str>,
}

const LOSSES: [Loss; 3] = [
    Loss {
        percent: 0,
        goodput: Metric::new("goodput, no frames lost", "kb/s"),
        loss: Metric::new("segment loss, no frames lost", "%"),
        forwarding: "Redpoll's node: goodput, ratio forwarding / reassembling, no frames lost",
        recovery: "Redpoll's node: goodput, ratio recovery / reassembling, no frames lost",
        id: None,
    },
    Loss {
        percent: 5,
        goodput: Metric::new("goodput, 5 % of frames lost", "kb/s"),
        loss: Metric::new("segment loss, 5 % of frames lost", "%"),
        forwarding: "Redpoll's node: goodput, ratio forwarding / reassembling, 5 % of frames lost",
        recovery: "Redpoll's node: goodput, ratio recovery / reassembling, 5 % of frames lost",
        id: Some("recovery-5"),
    },
    Loss {
        percent: 10,
        goodput: Metric::new("goodput, 10 % of frames lost", "kb/s"),
        loss: Metric::new("segment loss, 10 % of frames lost", "%"),
        forwarding: "Redpoll's node: goodput, ratio forwarding / reassembling, 10 % of frames lost",
        recovery: "Redpoll's node: goodput, ratio recovery / reassembling, 10 % of frames lost",
        id: Some("recovery-10"),
    },
];
const HOPS: [u32; 5] = [1, 2, 3, 4, 5];

/// Returns a bulk flow over `hops` hops of 40 m on Redpoll's own link.
fn line(hops: u32, loss: u32) -> Case {
    let scene = Scene {
        name: "line".into(),
        text: include_str!("../../../../../scenarios/line-4.toml").to_owned(),
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

/// Compares forwarding and recovery of fragments with reassembly.
pub fn fragments() -> Figure {
    let mut figure = Figure::new(
        "fragments",
        "Fragments forwarded as they arrive, and recovered one by one",
    )
    .aside()
    .x_label("hops")
    .about(
        "Not in the paper. A line of nodes 40 m apart, d = 40 ms, 5-frame segments, window 1848 \
         B, 120 s; a share of the data frames is lost after the radio has acknowledged them. \
         Relays reassemble datagrams, forward fragments (RFC 8930), or forward fragments that are \
         recovered one by one (RFC 8931). The verdict compares the sum of the goodputs over \
         one to five hops with the sum for reassembling relays. The rows without losses are not \
         judged; they show how much goodput forwarding and recovery cost.",
    );
    for loss in &LOSSES {
        let [reassembling, forwarding, recovery] =
            [REASSEMBLING, FORWARDING, RECOVERY].map(|(way, switch)| {
                let cases = || HOPS.map(|hops| (hops, line(hops, loss.percent).with(switch)));
                figure.line(way, loss.loss, cases(), segment_loss);
                figure.line(way, loss.goodput, cases(), goodput).all()
            });
        // Sum of the goodputs over one to five hops, relative to that of reassembling relays.
        let gain = |values: &[f64]| {
            let (way, reassembling) = values.split_at(HOPS.len());
            way.iter().sum::<f64>() / reassembling.iter().sum::<f64>()
        };
        let both = [forwarding, reassembling.clone()].concat();
        figure.verdict_of_all(loss.forwarding, &both, gain);
        let both = [recovery, reassembling].concat();
        let row = figure.verdict_of_all(loss.recovery, &both, gain);
        if let Some(id) = loss.id {
            row.judged(id);
        }
    }
    figure
}
