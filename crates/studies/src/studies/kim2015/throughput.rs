//! Figures 5b and 6: throughput and its cost.

use super::read::{FLOWS, SEGMENTS, TCP_ETX, THROUGHPUT, segments_a_packet, tcp_etx, throughput};
use super::scenes::{
    FULLER, HEAVY, LIGHT, STOCK, TCP_DOWN, TCP_UP, Traffic, UDP_UP, case, line, stock,
};
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{At, Figure};

const LOAD: &str = "offered load, packets per minute and node";

pub fn figure_5b() -> Figure {
    let mut figure = Figure::new("5b", "Throughput").x_label(LOAD).about(
        "Packets of 39 bytes that arrived per minute, mean over the nodes, and the nodes' Jain's \
         index.",
    );
    let [udp_up, udp_down, tcp_up, tcp_down] =
        Traffic::ALL.map(|traffic| line(&mut figure, THROUGHPUT, traffic, throughput));
    let jain =
        Traffic::ALL.map(|traffic| line(&mut figure, JAIN, traffic, |run| fairness(run, FLOWS)));
    figure.point(At::new(STOCK, HEAVY), THROUGHPUT, &stock(), throughput);
    figure.point(At::new(STOCK, HEAVY), JAIN, &stock(), |run| {
        fairness(run, FLOWS)
    });
    figure
        .ratio(
            "throughput upstream, ratio UDP / TCP",
            udp_up.at(HEAVY),
            tcp_up.at(HEAVY),
        )
        .judged("udp-over-tcp-up");
    figure
        .ratio(
            "throughput downstream, ratio UDP / TCP",
            udp_down.at(HEAVY),
            tcp_down.at(HEAVY),
        )
        .judged("udp-over-tcp-down");
    figure
        .ratio(
            "throughput of TCP, ratio upstream / downstream",
            tcp_up.at(HEAVY),
            tcp_down.at(HEAVY),
        )
        .judged("tcp-up-over-down");
    let [udp_up, udp_down, tcp_up, tcp_down] = jain.map(|line| line.at(HEAVY));
    let fuller = [UDP_UP, TCP_UP].map(|traffic| {
        let case = case(traffic, FULLER);
        let row = figure.point(At::new(traffic.name, FULLER), JAIN, &case, |run| {
            fairness(run, FLOWS)
        });
        row.handle()
    });
    figure
        .of("UDP up, Jain's index", udp_up)
        .judged("udp-up-fair");
    figure
        .of("UDP down, Jain's index", udp_down)
        .judged("udp-down-fair");
    figure
        .difference("Jain's index upstream, UDP minus TCP", udp_up, tcp_up)
        .judged("tcp-up-unfair")
        .cause(
            "at 60 packets a minute all nodes get nearly their offered load, with similar \
             shortfalls; at 90 their shares differ",
            &fuller,
        );
    figure
        .difference("Jain's index downstream, UDP minus TCP", udp_down, tcp_down)
        .judged("tcp-down-unfair");
    figure
}

pub fn figure_6a() -> Figure {
    let mut figure = Figure::new("6a", "TCP ETX").x_label(LOAD).about(
        "How many times each byte that arrived was sent end to end, including \
            retransmissions.",
    );
    let up = line(&mut figure, TCP_ETX, TCP_UP, tcp_etx);
    let down = line(&mut figure, TCP_ETX, TCP_DOWN, tcp_etx);
    figure
        .difference(
            "TCP ETX at light load, downstream minus upstream",
            down.at(LIGHT),
            up.at(LIGHT),
        )
        .judged("light");
    figure
        .difference(
            "TCP ETX at heavy load, upstream minus downstream",
            up.at(HEAVY),
            down.at(HEAVY),
        )
        .judged("heavy");
    figure
}

pub fn figure_6b() -> Figure {
    let mut figure = Figure::new("6b", "Segments for each packet")
        .x_label(LOAD)
        .about(
            "All segments with data, including retransmissions and parts of packets, for each \
             packet that arrived. The server splits packets into small segments when the node's \
             window, one segment, is smaller than the data to send.",
        );
    line(&mut figure, SEGMENTS, TCP_UP, segments_a_packet);
    let down = line(&mut figure, SEGMENTS, TCP_DOWN, segments_a_packet);
    figure.point(At::new(STOCK, HEAVY), SEGMENTS, &stock(), segments_a_packet);
    figure
        .of("segments per packet downstream, heavy load", down.at(HEAVY))
        .judged("linux-overhead");
    figure
}
