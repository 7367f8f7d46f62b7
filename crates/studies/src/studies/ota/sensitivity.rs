//! Results with other settings of the link and of TCP, some of which deviate from the standards.

use super::probes::Transfer;
use super::read::{CHARGE, TIME, TWICE, charge, time, twice};
use super::scenes::{self, By, lossy};
use redpoll_experiments::{At, Case, Figure};

type Setting = (&'static str, &'static [(&'static str, &'static str)]);

const LINK: [Setting; 9] = [
    ("none", &[]),
    ("macMinBE 3, the standard's default", &[("mac.min_be", "3")]),
    (
        "7 retries (the standard's maximum), no retry delay",
        &[
            ("mac.max_frame_retries", "7"),
            ("mac.link_retry_delay", "0 ms"),
        ],
    ),
    ("no retry delay", &[("mac.link_retry_delay", "0 ms")]),
    (
        "Redpoll's defaults: 10 retries, delay of up to 40 ms",
        &[
            ("mac.max_frame_retries", "10"),
            ("mac.link_retry_delay", "40 ms"),
        ],
    ),
    (
        "15 retries, as in OpenThread",
        &[("mac.max_frame_retries", "15")],
    ),
    (
        "fragments forwarded (RFC 8930)",
        &[("lowpan.fragment_forwarding", "true")],
    ),
    (
        "macMinBE + 1 for the first frame of a datagram, macMinBE - 1 for its other frames",
        &[("mac.be_by_queue", "true")],
    ),
    (
        "all fragments of a datagram after one backoff, which violates IEEE 802.15.4",
        &[("lowpan.fragment_burst", "true")],
    ),
];

const TCP: [Setting; 9] = [
    (
        "segments of 5 frames",
        &[
            ("tcp.mss", "487 B"),
            ("tcp.send_buffer", "3409 B"),
            ("tcp.receive_buffer", "3409 B"),
        ],
    ),
    (
        "segments of 1,000 bytes",
        &[
            ("tcp.mss", "1000 B"),
            ("tcp.send_buffer", "3000 B"),
            ("tcp.receive_buffer", "3000 B"),
        ],
    ),
    (
        "two segments in flight",
        &[
            ("tcp.send_buffer", "2400 B"),
            ("tcp.receive_buffer", "2400 B"),
        ],
    ),
    (
        "four segments in flight, an acknowledgment for every fourth",
        &[
            ("tcp.send_buffer", "4800 B"),
            ("tcp.receive_buffer", "4800 B"),
            ("tcp.ack_every", "4"),
        ],
    ),
    (
        "an acknowledgment for each segment",
        &[("tcp.ack_every", "1")],
    ),
    (
        "acknowledgments delayed by up to 200 ms",
        &[("tcp.delayed_ack", "200 ms")],
    ),
    ("no timestamps", &[("tcp.timestamps", "false")]),
    ("RED in relays", &[("lowpan.red", "true")]),
    (
        "settings of the study's first version: two segments of 1,000 bytes, acknowledgments \
         delayed by up to 200 ms, macMinBE 3",
        &[
            ("tcp.mss", "1000 B"),
            ("tcp.send_buffer", "2000 B"),
            ("tcp.receive_buffer", "2000 B"),
            ("tcp.delayed_ack", "200 ms"),
            ("tcp.max_retries", "12"),
            ("mac.min_be", "3"),
        ],
    ),
];

fn rows(figure: &mut Figure, by: By, (name, changes): &Setting) {
    for (where_, base) in [("awake", scenes::awake()), ("sleepy", scenes::sleepy())] {
        for percent in [0, 10] {
            let case: Case = lossy(by.of(base.clone()), percent).with(changes);
            let case = case.probe(Transfer);
            let at = || At::new(format!("{}, {where_}, {percent} % lost", by.name()), *name);
            figure.point(at(), TIME, &case, time);
            figure.point(at(), TWICE, &case, twice);
            figure.seen(at(), CHARGE, &case, |_, found| charge(found));
        }
    }
}

/// Shows the transfers with one setting changed at a time.
pub fn settings() -> Figure {
    let mut figure = Figure::new("settings", "Other settings of the link, and of TCP")
        .x_label("changed setting")
        .about(
            "The transfers of the figures `awake` and `sleepy`, with one setting changed in each \
             row. \"none\" changes no setting.",
        )
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
