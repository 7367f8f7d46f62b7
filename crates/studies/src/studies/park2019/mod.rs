//! Park, Paek: TAiM: TCP Assistant-in-the-Middle for Multihop Low-power and Lossy Networks in IoT
//! (Journal of Communications and Networks 21(2), 2019).
//!
//! `scenes` lists each parameter that the paper does not state, with the reason for its value.

mod border;
mod probes;
mod read;
mod redpoll;
mod scenes;
mod spare;
mod testbeds;
mod udp;

use redpoll_experiments::Figure;
use redpoll_experiments::{Hue, Study};

pub const STUDY: Study = Study {
    name: "park2019",
    citation: "Park, Paek: TAiM: TCP Assistant-in-the-Middle for Multihop Low-power and Lossy \
               Networks in IoT, Journal of Communications and Networks 21(2), April 2019",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: None,
};

const TERMS: &[(&str, &str)] = &[
    (
        "testbed-1, testbed-2",
        "Thirty nodes in a room and an adjacent corridor, at -15 dBm; thirty in a lattice in one \
         room, at -25 dBm. Each sends 19,000 bytes, 38 bytes at a time, to a server behind the \
         border router; all start at the same time.",
    ),
    (
        "without, TAiM",
        "A border router that forwards each packet immediately, and a border router with TAiM.",
    ),
    (
        "throughput",
        "Throughput of a node: 19,000 bytes, divided by the time until the last of them had \
         arrived.",
    ),
    (
        "max-min ratio",
        "The greatest throughput divided by the least. The paper defines it as their difference \
         divided by the least, but its numbers match this definition.",
    ),
    (
        "Jain's index",
        "Jain's index of the nodes' throughputs: 1 if all are the same.",
    ),
    (
        "lead",
        "A border router with `taim.policy = \"lead\"`, which delays only packets of flows that \
         have transferred more bytes than the mean flow. Not from the paper; its rows are of the \
         kind `promises`.",
    ),
    (
        "spared",
        "A border router with `border.spare_one_segment`, which compensates for the small windows \
         of nodes that accept one segment at a time, as Kim et al. 2015 proposed. Its rows are of \
         the kind `promises`.",
    ),
    (
        "Redpoll",
        "Redpoll's TCP at nodes and server. The paper has no numbers for this TCP, so \
         these rows are of the kind `promises` and do not count as reproductions.",
    ),
];

const PALETTE: &[(&str, Hue)] = &[
    ("without", Hue::Blue),
    ("TAiM", Hue::Vermilion),
    ("UDP", Hue::Green),
    ("Redpoll", Hue::Purple),
    ("lead", Hue::Vermilion),
    ("spared", Hue::Vermilion),
    ("DRR", Hue::Sky),
    ("FQ-CoDel", Hue::Green),
];

fn figures() -> Vec<Figure> {
    vec![
        testbeds::figure_4(),
        udp::figure_6(),
        testbeds::figure_10(),
        testbeds::figure_11(),
        testbeds::figure_14(),
        testbeds::figure_15(),
        redpoll::figure(),
        border::border(),
        spare::spare(),
    ]
}
