//! Redpoll's TCP at the nodes.

use super::read::{FLOWS, SEGMENTS, THROUGHPUT, segments_a_packet, throughput};
use super::scenes::{HEAVY, TCP_DOWN, TCP_UP, Traffic, UDP_DOWN, UDP_UP, case, ours};
use crate::vocabulary::probes::air::Pieces;
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{At, Figure, Metric, Probed, VERDICT};

const SMALL: Metric = Metric::new(
    "share of the server's data segments with at most 8 bytes of data",
    "%",
);
/// Segments with data that the border router sends to the nodes: those of the server.
const FROM_SERVER: Pieces = Pieces { from: 0, small: 8 };
/// Seeds of the rows with BLIP's small segments, which serve only for comparison.
const SEEDS: u64 = 3;

/// Returns the paper's heaviest load of `traffic`, with Redpoll's TCP at the nodes.
pub fn heaviest(traffic: Traffic) -> Probed<Pieces> {
    ours(&case(traffic, HEAVY)).probe(FROM_SERVER)
}

pub fn figure() -> Figure {
    let mut figure = Figure::new("redpoll", "Redpoll's TCP over RPL")
        .about(
            "60 packets per minute and node, with Redpoll's TCP (series `Redpoll`) at the nodes \
             and a TCP with Linux's rules at the server; the rows of UDP and BLIP's TCP are those \
             of figure 5b.",
        )
        .aside();
    let pairs = [("up", UDP_UP, TCP_UP), ("down", UDP_DOWN, TCP_DOWN)];
    for (way, udp, tcp) in pairs {
        let ours = heaviest(tcp);
        let at = |name: &str| format!("{name}, {way}");
        let least = figure
            .point(
                At::new(at("UDP"), way),
                THROUGHPUT,
                &case(udp, HEAVY),
                throughput,
            )
            .handle();
        figure.point(
            At::new(at("BLIP"), way),
            THROUGHPUT,
            &case(tcp, HEAVY),
            throughput,
        );
        let most = figure
            .point(At::new(at("Redpoll"), way), THROUGHPUT, &ours, throughput)
            .handle();
        let jain = figure
            .point(At::new(at("Redpoll"), way), JAIN, &ours, |run| {
                fairness(run, FLOWS)
            })
            .handle();
        figure
            .made(
                At::new(VERDICT, way),
                Metric::new("throughput, ratio Redpoll's TCP / UDP", ""),
                [most, least],
                |[most, least]| most / least,
            )
            .judged(format!("{way}-throughput"));
        figure
            .made(
                At::new(VERDICT, way),
                Metric::new("Jain's index", ""),
                [jain],
                |[jain]| jain,
            )
            .judged(format!("{way}-fair"));
        if way == "down" {
            let blip = case(tcp, HEAVY).at_most_seeds(SEEDS).probe(FROM_SERVER);
            let [_, small] = [("BLIP", &blip), ("Redpoll", &ours)].map(|(name, case)| {
                figure
                    .seen(At::new(at(name), way), SMALL, case, |_, seen| {
                        seen.small_percent()
                    })
                    .handle()
            });
            figure
                .of(
                    "share of the server's data segments with at most 8 bytes of data",
                    small,
                )
                .judged("no-8-byte-segments");
            let segments = figure
                .point(
                    At::new(at("Redpoll"), way),
                    SEGMENTS,
                    &ours,
                    segments_a_packet,
                )
                .handle();
            figure
                .of("segments per packet", segments)
                .judged("no-small-segments");
        }
    }
    figure
}
