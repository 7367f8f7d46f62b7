//! What comes out with other settings of the link and of TCP, by the standard and against it.

use super::probes::Transfer;
use super::read::{CHARGE, TIME, TWICE, charge, time, twice};
use super::scenes::{self, By, lossy};
use crate::engine::case::Case;
use crate::engine::figure::Figure;

/// A setting's name, and what it changes.
type Setting = (&'static str, &'static [(&'static str, &'static str)]);

/// Of the link: for all protocols.
const LINK: [Setting; 8] = [
    ("as it is", &[]),
    (
        "802.15.4: 7 retries, no delay",
        &[
            ("mac.max_frame_retries", "7"),
            ("mac.link_retry_delay", "0 ms"),
        ],
    ),
    ("no retry delay", &[("mac.link_retry_delay", "0 ms")]),
    (
        "as shipped: 10 retries, 40 ms",
        &[
            ("mac.max_frame_retries", "10"),
            ("mac.link_retry_delay", "40 ms"),
        ],
    ),
    (
        "15 retries, as OpenThread",
        &[("mac.max_frame_retries", "15")],
    ),
    (
        "fragments passed on (RFC 8930)",
        &[("lowpan.fragment_forwarding", "true")],
    ),
    ("backoffs by queue", &[("mac.be_by_queue", "true")]),
    (
        "bursts, against the standard",
        &[("lowpan.fragment_burst", "true")],
    ),
];

/// Of TCP.
const TCP: [Setting; 6] = [
    (
        "segments of 5 frames",
        &[
            ("tcp.mss", "487 B"),
            ("tcp.send_buffer", "1948 B"),
            ("tcp.receive_buffer", "1948 B"),
        ],
    ),
    (
        "three segments under way",
        &[
            ("tcp.send_buffer", "3000 B"),
            ("tcp.receive_buffer", "3000 B"),
        ],
    ),
    (
        "four segments under way, an acknowledgment for four",
        &[
            ("tcp.send_buffer", "4000 B"),
            ("tcp.receive_buffer", "4000 B"),
            ("tcp.ack_every", "4"),
            ("tcp.delayed_ack", "500 ms"),
        ],
    ),
    ("an acknowledgment for each", &[("tcp.ack_every", "1")]),
    ("no timestamps", &[("tcp.timestamps", "false")]),
    ("RED in relays", &[("lowpan.red", "true")]),
];

fn rows(figure: &mut Figure, by: By, (name, changes): &Setting) {
    for (where_, base) in [("awake", scenes::awake()), ("sleepy", scenes::sleepy())] {
        for percent in [0, 10] {
            let case: Case = lossy(by.of(base.clone()), percent).with(changes);
            let case = case.probe(Transfer);
            let at = || (format!("{}, {where_}, {percent} % lost", by.name()), *name);
            figure.point(at(), TIME, &case, time);
            figure.point(at(), TWICE, &case, twice);
            figure.seen(at(), CHARGE, &case, |_, found| charge(found));
        }
    }
}

/// One setting changed at a time.
pub fn settings() -> Figure {
    let mut figure = Figure::new("settings", "Other settings of the link, and of TCP")
        .x_label("what is changed")
        .about("The transfers of figures awake and sleepy with one thing changed.")
        .aside();
    for by in [By::Tcp, By::Block1, By::QBlock, By::BdxTuned] {
        for setting in &LINK {
            rows(&mut figure, by, setting);
        }
    }
    for setting in &TCP {
        rows(&mut figure, By::Tcp, setting);
    }
    figure
}
