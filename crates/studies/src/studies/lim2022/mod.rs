//! Lim: A simulation study on TCP performance for constrained IoT networks (2022).
//!
//! The paper's curves have no numbers, so the criteria judge the statements of its text. `scenes`
//! lists each parameter that the paper does not state, with the reason for the chosen value.

mod fairness;
mod goodput;
mod hidden;
mod redpoll;
mod retransmissions;
mod scenes;
mod sources;

use redpoll_experiments::Figure;
use redpoll_experiments::{Hue, Study};

pub const STUDY: Study = Study {
    name: "lim2022",
    citation: "Lim: A simulation study on TCP performance for constrained IoT networks, \
               November 2022",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: None,
};

const TERMS: &[(&str, &str)] = &[
    (
        "uIP",
        "uIP's TCP of Contiki 3.0: one segment of 48 bytes in flight. The first timeout of a \
         segment follows from round-trip times in ticks of half a second; later timeouts are three \
         ticks, doubled each time, at most four times.",
    ),
    (
        "Lim",
        "uIP's TCP with the timer of the author's earlier work: round-trip times of retransmitted \
         segments also count, the estimate limits how often a timeout is doubled, and each timeout \
         has a random factor. The constants of this timer are not published; those here are \
         assumptions.",
    ),
    (
        "NullRDC, 8 Hz, 16 Hz",
        "NullRDC: radios that are always on. 8 Hz, 16 Hz: ContikiMAC with 8 or 16 wake-ups per \
         second. NullRDC and ContikiMAC are those of Contiki 3.0.",
    ),
    (
        "Redpoll",
        "The same mesh and the same MAC with Redpoll's own TCP at the nodes. The paper has no \
         numbers for this TCP, so these rows are of the kind `promises` and do not count as \
         reproductions.",
    ),
];

const PALETTE: &[(&str, Hue)] = &[
    ("uIP", Hue::Blue),
    ("Lim", Hue::Orange),
    ("Redpoll", Hue::Vermilion),
    ("geometry", Hue::Grey),
];

fn figures() -> Vec<Figure> {
    let mut figures = vec![hidden::figure_1()];
    figures.extend(scenes::LOADS.map(|load| goodput::figure_2(&load)));
    figures.extend(scenes::LOADS.map(|load| retransmissions::figure_3(&load)));
    figures.extend(scenes::LOADS.map(|load| fairness::figure_4(&load)));
    figures.push(redpoll::figure());
    figures.push(sources::sources());
    figures
}
