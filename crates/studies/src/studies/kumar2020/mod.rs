//! Kumar, Andersen, Kim, Culler: Performant TCP for Low-Power Wireless Networks (NSDI 2020).
//!
//! The study omits appendix A.4 and table 8, which need other platforms or sources.
//!
//! Series called `testbed` have the paper's link as far as it is known (`vocabulary::profiles`);
//! `Redpoll` is the same scenario with Redpoll's own defaults.

mod bound;
mod buffer_size;
mod day;
mod earlier_stacks;
mod exchange;
mod features;
mod flows;
mod fragments;
mod goodput;
mod headers;
mod ideal;
mod memory;
mod model;
mod power;
mod processor;
mod retry_delay;
mod scenes;
mod segment_size;
mod sensors;
mod techniques;
mod web;

use redpoll_experiments::Figure;
use redpoll_experiments::{Hue, Study};

pub const STUDY: Study = Study {
    name: "kumar2020",
    citation: "Kumar, Andersen, Kim, Culler: Performant TCP for Low-Power Wireless Networks, \
               NSDI 2020",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: None,
};

const TERMS: &[(&str, &str)] = &[
    (
        "testbed",
        "The paper's node: FreeBSD's recovery and timeouts, the whole window queued in 50 message \
         buffers, no feedback from the link, the paper's link as far as it is known, and an \
         operating system's time for each packet, chosen from section 6.3 alone. Series named as \
         in the paper (TCP, CoAP, uplink, 1 hop, ...) are also of this node.",
    ),
    (
        "Redpoll",
        "The same scenario with Redpoll's own node as shipped. The paper has no numbers for \
         this node, so these rows are of the kind `promises` and do not count as reproductions.",
    ),
    (
        "ideal",
        "Sense-and-send without acknowledgments and polls, calculated as in the paper's section \
         8.2.2, and simulated.",
    ),
    (
        "d",
        "The link retry delay: after an unacknowledged frame, a node waits for a random time \
         between zero and d before the next attempt.",
    ),
];

const PALETTE: &[(&str, Hue)] = &[
    ("testbed", Hue::Blue),
    ("Redpoll", Hue::Vermilion),
    ("TCP", Hue::Blue),
    ("HTTP", Hue::Blue),
    ("CoAP", Hue::Orange),
    ("CoCoA", Hue::Green),
    ("ideal", Hue::Grey),
    ("uplink", Hue::Blue),
    ("downlink", Hue::Green),
    ("1 hop", Hue::Sky),
    ("3 hops", Hue::Purple),
    ("equation 1", Hue::Green),
    ("equation 2", Hue::Purple),
    ("bound", Hue::Grey),
    ("off", Hue::Grey),
    ("on", Hue::Blue),
    ("fast", Hue::Blue),
    ("uIP 3.0", Hue::Purple),
    ("BLIP", Hue::Green),
    ("timeouts", Hue::Vermilion),
];

fn figures() -> Vec<Figure> {
    vec![
        techniques::table_1(),
        memory::table_3(),
        headers::table_5(),
        segment_size::figure_3a(),
        buffer_size::figure_3b(),
        exchange::figure_4a(),
        goodput::figure_4b(),
        goodput::section_6_3(),
        earlier_stacks::table_6(),
        retry_delay::figure_5a(),
        retry_delay::figure_5b(),
        retry_delay::figure_5c(),
        retry_delay::figure_5d(),
        retry_delay::figure_6a(),
        retry_delay::figure_6b(),
        goodput::section_7_2(),
        model::equations(),
        web::figure_7(),
        web::figure_8a(),
        web::figure_8b(),
        power::section_8_1_3(),
        sensors::figure_9(),
        sensors::figure_10(),
        day::table_7(),
        processor::table_7(),
        day::figure_11(),
        flows::figure_12(),
        features::table_9(),
        fragments::fragments(),
    ]
}
