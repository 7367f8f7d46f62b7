//! Firmware update over the air: 386,000 bytes to a leaf three hops away, by HTTP with ranges over
//! Redpoll's TCP, by CoAP's Block1 and Q-Block1, and by Matter's BDX.
//!
//! The study reproduces no paper: `criteria.toml` has Redpoll's targets, and `scenes` has the nodes
//! and links.

mod bound;
mod faults;
mod probes;
mod read;
mod scenes;
mod sensitivity;
mod speed;

use redpoll_experiments::Figure;
use redpoll_experiments::{Hue, Study};

pub const STUDY: Study = Study {
    name: "ota",
    citation: "Not from a paper: a firmware image of 386,000 bytes over three hops, by four \
        protocols under the same conditions",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: None,
};

const TERMS: &[(&str, &str)] = &[
    (
        "TCP",
        "HTTP/1.1 over one connection of Redpoll's TCP; if the connection is lost, another one \
         fetches the missing range. At most three segments of 1,200 bytes are in flight.",
    ),
    (
        "Block1",
        "CoAP's confirmable PUTs of one block of 1,024 bytes at a time (RFC 7959), with RFC \
         7252's parameters, after the leaf has announced itself.",
    ),
    (
        "Q-Block",
        "CoAP's Q-Block1, ten blocks of 1,024 bytes at a time, with RFC 9177's parameters. \
         \"Q-Block tuned\" has a NON_TIMEOUT of 1 s instead of 2 s.",
    ),
    (
        "BDX",
        "Matter's bulk data exchange: a block of 1,024 bytes for each query, over Matter's \
         reliable messages with a retransmission interval of 300 ms, unencrypted. \"BDX tuned\" \
         has an interval of 1 s.",
    ),
    (
        "frames lost",
        "Share of all frames, including link acknowledgments, that are lost at their receiver in \
         addition to those that collide.",
    ),
    (
        "bytes sent more than once",
        "Bytes that the source sent in excess of the image's length, in percent of this length. \
         The causes are retransmissions of the transport and repeated requests.",
    ),
    (
        "charge",
        "Charge that the leaf's radio uses from the first request until the image is in its \
         flash, per megabyte.",
    ),
];

const PALETTE: &[(&str, Hue)] = &[
    ("TCP", Hue::Blue),
    ("Block1", Hue::Green),
    ("Q-Block", Hue::Orange),
    ("Q-Block tuned", Hue::Vermilion),
    ("BDX", Hue::Purple),
    ("BDX tuned", Hue::Sky),
    ("bound", Hue::Grey),
];

fn figures() -> Vec<Figure> {
    vec![
        speed::awake(),
        speed::sleepy(),
        faults::awake(),
        faults::sleepy(),
        sensitivity::settings(),
    ]
}
