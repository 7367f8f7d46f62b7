//! Hurni, Bürgi, Anwander, Braun: TCP performance optimizations for wireless sensor networks
//! (2012).
//!
//! The paper's curves have no numbers beside them: what its text says of them is judged.
//! What it leaves open is in `scenes`, each choice with its reason.

mod beyond;
mod dual;
mod energy;
mod fading;
mod overall;
mod probes;
mod rules;
mod scenes;
mod throughput;
mod trace;

use crate::engine::figure::Figure;
use crate::engine::study::{Hue, Study};

/// The study.
pub const STUDY: Study = Study {
    name: "hurni2012",
    citation: "Hurni, Bürgi, Anwander, Braun: TCP performance optimizations for wireless sensor \
               networks, EWSN, February 2012",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: None,
};

const TERMS: &[(&str, &str)] = &[
    (
        "unmodified",
        "uIP's TCP as of Contiki 2.5, one segment of 16 bytes under way, over a chain of routers \
         that only pass on.",
    ),
    (
        "cctrl",
        "The same with a cache of segments in every router: what is not acknowledged after three \
         round-trip times is sent again from there, and what was acknowledged already is \
         answered from there.",
    ),
    (
        "activity",
        "The cache sends after two thirds of that time if nothing was heard for a round-trip \
         time, not even for others.",
    ),
    (
        "dual",
        "The application has two connections, so two segments are under way.",
    ),
    ("all", "cctrl, activity and dual together."),
    (
        "DTC, TSS",
        "A cache by the rules of Distributed TCP Caching (2004): the newest segment is kept, and \
         sent again after one and a half round-trip times or when its receiver asks for it; and \
         of TCP Support for Sensor networks (2007): a segment waits until the next hop was heard \
         passing on the one before it.",
    ),
    (
        "NullMAC, X-MAC, ContikiMAC, LPP",
        "Contiki's ways of access to the medium: radios always on; strobes before each frame; \
         frames repeated at the phase of their receiver; receivers that say when they listen. \
         NullMAC has no link acknowledgments.",
    ),
    (
        "beyond",
        "The same chain and the same MAC with Redpoll's own TCP and its own headers, without \
         and with the cache. The paper has no numbers for it: its rows are promises of the \
         project's, and count in no headline.",
    ),
];

const PALETTE: &[(&str, Hue)] = &[
    ("unmodified", Hue::Grey),
    ("cctrl", Hue::Blue),
    ("cctrl + activity", Hue::Green),
    ("dual", Hue::Orange),
    ("cctrl + dual", Hue::Purple),
    ("all", Hue::Vermilion),
    ("NullMAC", Hue::Blue),
    ("X-MAC", Hue::Orange),
    ("ContikiMAC", Hue::Vermilion),
    ("LPP", Hue::Green),
    ("DTC", Hue::Green),
    ("TSS", Hue::Orange),
    ("uIP", Hue::Blue),
    ("beyond", Hue::Vermilion),
    ("beyond + cctrl", Hue::Purple),
    ("beyond + DTC", Hue::Green),
    ("beyond + TSS", Hue::Orange),
    ("node 2", Hue::Blue),
    ("node 3", Hue::Sky),
    ("node 4", Hue::Green),
    ("node 5", Hue::Orange),
    ("node 6", Hue::Vermilion),
];

fn figures() -> Vec<Figure> {
    let mut figures = vec![trace::figure_3()];
    figures.extend(scenes::MACS.map(throughput::figure_6));
    figures.push(throughput::figure_6e());
    figures.extend(scenes::MACS.map(energy::figure_7));
    figures.extend(scenes::MACS.map(dual::figure_8));
    figures.push(overall::figure_9());
    figures.push(overall::figure_10());
    figures.push(fading::fading());
    figures.push(beyond::beyond());
    figures.push(rules::rules());
    figures
}
