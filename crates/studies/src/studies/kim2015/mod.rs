//! Kim, Im, Lee, Paek, Bahk: A Measurement Study of TCP over RPL in Low-Power and Lossy Networks
//! (Journal of Communications and Networks 17(6), 2015).
//!
//! The paper's figures are scatter plots, so the criteria judge the statements of its text.
//! `scenes` lists each parameter that the paper does not state, with the reason for its value.

mod fairness;
mod link;
mod load;
mod measured;
mod read;
mod redpoll;
mod scenes;
mod sources;
mod sweep;
mod throughput;
mod udp;

use redpoll_experiments::Figure;
use redpoll_experiments::{Hue, Study};

pub const STUDY: Study = Study {
    name: "kim2015",
    citation: "Kim, Im, Lee, Paek, Bahk: A Measurement Study of TCP over RPL in Low-Power and \
               Lossy Networks, Journal of Communications and Networks 17(6), December 2015",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: Some(measured::figure),
};

const TERMS: &[(&str, &str)] = &[
    (
        "up, down",
        "From all thirty nodes to the server behind the border router, or from the server to each \
         of them.",
    ),
    (
        "TCP",
        "BLIP's TCP at the nodes, with the authors' two corrections, and a TCP with Linux's rules \
         at the server.",
    ),
    (
        "packets a minute",
        "Packets per minute that the application of each node makes; each application starts at a \
         random time.",
    ),
    (
        "TCP ETX",
        "Mean number of times that the sender sent each byte that arrived.",
    ),
    (
        "Redpoll",
        "The same mesh with Redpoll's own TCP at the nodes; the server's is unchanged. The paper \
         has no numbers for this TCP, so these rows are of the kind `promises` and do not count as \
         reproductions.",
    ),
];

const PALETTE: &[(&str, Hue)] = &[
    ("UDP up", Hue::Sky),
    ("UDP down", Hue::Green),
    ("TCP up", Hue::Blue),
    ("TCP down", Hue::Purple),
    ("Redpoll", Hue::Vermilion),
];

fn figures() -> Vec<Figure> {
    vec![
        link::figure_4a(),
        link::figure_4b(),
        udp::figure_5a(),
        throughput::figure_5b(),
        throughput::figure_6a(),
        throughput::figure_6b(),
        fairness::figure_7(),
        fairness::figure_8(),
        link::figure_9(),
        fairness::figure_10(),
        sweep::figure_11(),
        redpoll::figure(),
        load::by_load(),
        sources::sources(),
    ]
}
