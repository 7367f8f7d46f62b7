//! Transfer of a firmware image to a device of a Thread network: OpenThread's own TCP (TCPlp),
//! Redpoll's TCP over OpenThread's IPv6, and OpenThread's block-wise CoAP, in the same firmware.
//!
//! The study reproduces no paper: `criteria.toml` has Redpoll's targets, and `scenes` has the nodes
//! and links. The runs need OpenThread as a module (`make thread`).

mod awake;
mod by_loss;
mod fleet;
mod hops;
mod lock;
mod probes;
mod read;
mod router;
mod scenes;
mod sleepy;

use redpoll_experiments::Figure;
use redpoll_experiments::{Hue, Study};

pub const STUDY: Study = Study {
    name: "thread",
    citation: "Not from a paper: transfers between nodes of OpenThread by its own TCP (TCPlp), by \
        Redpoll's TCP in the same firmware image, and by OpenThread's block-wise CoAP",
    terms: TERMS,
    palette: PALETTE,
    criteria: include_str!("criteria.toml"),
    figures,
    over_links: None,
};

const TERMS: &[(&str, &str)] = &[
    (
        "TCPlp as shipped",
        "OpenThread's own TCP with OpenThread's defaults: a buffer of 2,309 bytes in each \
         direction, 462 bytes of payload in a full segment, acknowledgments delayed by up to \
         100 ms.",
    ),
    (
        "TCPlp, best settings",
        "OpenThread's own TCP with a buffer of 3,695 bytes in each direction, OpenThread's larger \
         size. Sleepy leaves poll every 100 ms during the transfer, as the authors of TCPlp \
         propose.",
    ),
    (
        "Redpoll, TCPlp's sizes",
        "Redpoll's TCP above OpenThread's IPv6 with the buffers and the segments of TCPlp as \
         shipped.",
    ),
    (
        "Redpoll",
        "Redpoll's TCP above OpenThread's IPv6 with an MSS of 1,200 bytes (1,188 bytes of data and \
         12 of options in each segment), buffers for four such segments, and acknowledgments \
         delayed by up to 450 ms.",
    ),
    (
        "CoAP",
        "OpenThread's confirmable PUTs of one block of 1,024 bytes at a time (RFC 7959), with RFC \
         7252's parameters.",
    ),
    (
        "frames lost",
        "Share of all frames, including link acknowledgments, that are lost at their receiver in \
         addition to those that collide. OpenThread sends a frame up to 16 times.",
    ),
    (
        "aborts",
        "Connections or requests that failed before the last byte; the sender then began again from \
         the first byte.",
    ),
    (
        "longest pause",
        "Longest time without an arrival at the receiver between the first and the last byte; up to \
         0.1 s too long, because the run is sampled every 0.1 s.",
    ),
    (
        "charge",
        "Charge that the leaf's radio uses from the beginning of the transfer until the last byte \
         has arrived, per kilobyte.",
    ),
];

const PALETTE: &[(&str, Hue)] = &[
    ("TCPlp as shipped", Hue::Vermilion),
    ("TCPlp, best settings", Hue::Orange),
    ("Redpoll, TCPlp's sizes", Hue::Sky),
    ("Redpoll", Hue::Blue),
    ("CoAP", Hue::Green),
];

fn figures() -> Vec<Figure> {
    let mut figures = vec![
        hops::figure(0),
        hops::figure(10),
        awake::ftd(),
        awake::med(),
    ];
    figures.extend(sleepy::figures());
    figures.extend([
        fleet::figure(),
        router::figure(),
        lock::figure(0),
        lock::figure(10),
    ]);
    figures
}
