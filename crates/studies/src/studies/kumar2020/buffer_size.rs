//! Goodput and round-trip time by buffer size (the paper's §6.2).

use super::scenes::{downlink, uplink};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{GOODPUT, RTT, goodput, rtt};
use redpoll_experiments::{Case, Figure};

pub fn figure_3b() -> Figure {
    let mut figure = Figure::new("3b", "Goodput against the size of a buffer")
        .x_label("buffer in segments of 462 B")
        .about(
            "One hop to a border router, and a round-trip time of 12 ms from there to a server; \
             d = 40 ms. The size is that of the send buffer for uplink and of the receive buffer \
             for downlink; the other buffer has six segments. In the paper goodput is level from \
             three to four segments on; downlink with one segment is unusually good because a \
             full receive buffer turns delayed ACK off.",
        );
    let sizes = || (1..=6_u32).map(|segments| (segments, format!("{} B", segments * 462)));
    let up = |case: Case, bytes: &str| {
        case.set("tcp.send_buffer", bytes)
            .set("tcp.receive_buffer", "2772 B")
    };
    let down = |case: Case, bytes: &str| {
        case.set("tcp.receive_buffer", bytes)
            .set("tcp.send_buffer", "2772 B")
    };
    let ups = || sizes().map(|(x, bytes)| (x, up(tcplp(uplink()), &bytes)));
    let downs = || sizes().map(|(x, bytes)| (x, down(tcplp(downlink()), &bytes)));
    let own = || sizes().map(|(x, bytes)| (x, up(uplink(), &bytes)));
    let up = figure.line("uplink", GOODPUT, ups(), goodput);
    let up_rtt = figure.line("uplink", RTT, ups(), rtt);
    let down = figure.line("downlink", GOODPUT, downs(), goodput);
    let down_rtt = figure.line("downlink", RTT, downs(), rtt);
    figure.line("Redpoll", GOODPUT, own(), goodput);
    figure.line("Redpoll", RTT, own(), rtt);
    figure
        .ratio(
            "uplink: goodput with a buffer of 3 segments / goodput with a buffer of 4 segments",
            up.at(3),
            up.at(4),
        )
        .judged("uplink-3-over-4");
    figure
        .ratio(
            "uplink: goodput with a buffer of 6 segments / goodput with a buffer of 4 segments",
            up.at(6),
            up.at(4),
        )
        .judged("uplink-6-over-4");
    figure
        .ratio(
            "uplink: goodput with a buffer of 4 segments / goodput with a buffer of 1 segment",
            up.at(4),
            up.at(1),
        )
        .judged("uplink-4-over-1");
    figure
        .ratio(
            "downlink: goodput with a buffer of 3 segments / goodput with a buffer of 4 segments",
            down.at(3),
            down.at(4),
        )
        .judged("downlink-3-over-4");
    figure
        .ratio(
            "downlink: goodput with a buffer of 6 segments / goodput with a buffer of 4 segments",
            down.at(6),
            down.at(4),
        )
        .judged("downlink-6-over-4");
    figure
        .ratio(
            "goodput with a buffer of 1 segment, ratio downlink / uplink",
            down.at(1),
            up.at(1),
        )
        .judged("1-downlink-over-uplink");
    figure
        .ratio(
            "RTT with a buffer of 1 segment, ratio downlink / uplink",
            down_rtt.at(1),
            up_rtt.at(1),
        )
        .paper(0.54)
        .judged("1-rtt-downlink-over-uplink");
    figure
}
