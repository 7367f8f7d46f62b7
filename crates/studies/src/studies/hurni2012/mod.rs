//! Hurni, Bürgi, Anwander, Braun: TCP performance optimizations for wireless sensor networks
//! (2012).
//!
//! The paper's curves have no numbers, so the criteria judge the statements of its text. `scenes`
//! lists each parameter that the paper does not state, with the reason for the chosen value.

mod dual;
mod energy;
mod fading;
mod overall;
mod probes;
mod redpoll;
mod rules;
mod scenes;
mod throughput;
mod trace;

use redpoll_experiments::Figure;
use redpoll_experiments::{Hue, Study};

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
        "uIP's TCP of Contiki 2.5, with one segment of 16 bytes in flight, over a chain of \
         routers that only forward.",
    ),
    (
        "cctrl",
        "Unmodified uIP with a cache of segments in every router. The cache retransmits a segment \
         that is not acknowledged within three round-trip times, and answers a segment that was \
         already acknowledged.",
    ),
    (
        "activity",
        "The cache retransmits after two instead of three round-trip times if the router heard \
         no frame for a round-trip time, not even one for another node.",
    ),
    (
        "dual",
        "The application has two connections, so two segments are in flight.",
    ),
    ("all", "cctrl, activity and dual together."),
    (
        "DTC, TSS",
        "Caches by the rules of two papers. Distributed TCP Caching (2004) keeps the newest \
         segment, and retransmits it after one and a half round-trip times or on a request from \
         the receiver. TCP Support for Sensor networks (2007) holds a segment until it overhears \
         the next hop forwarding the previous one.",
    ),
    (
        "NullMAC, X-MAC, ContikiMAC, LPP",
        "Contiki's methods of medium access. NullMAC: radios are always on, without link \
         acknowledgments. X-MAC: strobes precede each frame. ContikiMAC: a sender repeats a frame \
         from shortly before the receiver's expected wake-up until a copy is acknowledged. LPP: receivers announce that they listen.",
    ),
    (
        "Redpoll",
        "The same chain and the same MACs with Redpoll's own TCP and headers, without and with the \
         cache. The paper has no numbers for this TCP, so no row counts as a reproduction: rows \
         without the cache are of the kind `promises`, and rows that compare it with and without \
         the cache are of the kind `explains`.",
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
    ("Redpoll", Hue::Vermilion),
    ("Redpoll + cctrl", Hue::Purple),
    ("Redpoll + DTC", Hue::Green),
    ("Redpoll + TSS", Hue::Orange),
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
    figures.push(redpoll::figure());
    figures.push(rules::rules());
    figures
}
