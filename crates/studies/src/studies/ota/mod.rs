//! An image over the air: 386,000 bytes to a leaf three hops away, by HTTP with ranges over
//! Redpoll's TCP, by CoAP's Block1 and Q-Block1, and by Matter's BDX.
//!
//! No paper stands behind it. What is promised is in `criteria.toml`, what nodes and links are
//! like in `scenes`.

mod bound;
mod faults;
mod probes;
mod read;
mod scenes;
mod sensitivity;
mod speed;

use crate::engine::figure::Figure;
use crate::engine::study::{Hue, Study};

/// The study.
pub const STUDY: Study = Study {
    name: "ota",
    citation: "No paper: a firmware image of 386,000 bytes over three hops, by four protocols \
               under the same rules",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: None,
};

const TERMS: &[(&str, &str)] = &[
    (
        "TCP",
        "HTTP/1.1 over Redpoll's TCP, a connection; after it was lost another one, for the range \
         that is missing. Three segments of 1,200 bytes are under way at most.",
    ),
    (
        "Block1",
        "CoAP's confirmable PUT of a block of 1,024 bytes after another (RFC 7959), with \
         RFC 7252's parameters, once the leaf has said that it is there.",
    ),
    (
        "Q-Block",
        "CoAP's Q-Block1 (RFC 9177), ten blocks of 1,024 bytes at a time, with its parameters; \
         tuned: NON_TIMEOUT of 1 s instead of 2.",
    ),
    (
        "BDX",
        "Matter's bulk data exchange: a block of 1,024 bytes for each query, over its reliable \
         messages with a retransmission interval of 300 ms, in the clear; tuned: 1 s.",
    ),
    (
        "frames lost",
        "The share of all frames, acknowledgments of the link included, that their receiver \
         does not get, beside those that collide.",
    ),
    (
        "sent twice",
        "What the source has sent of the image beyond its length, whatever for: retransmissions \
         of its transport, and what was asked for again. In percent of the image.",
    ),
    (
        "charge",
        "What the leaf's radio takes from when it asks first until the image is in its flash, \
         for a megabyte.",
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
