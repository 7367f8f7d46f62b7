//! Figures 4 and 9: links, queues and routes.

use super::read::{LINK_ETX, QUEUE_LOSS, link_etx, queue_loss};
use super::redpoll::heaviest;
use super::scenes::{HEAVY, LIGHT, TCP_DOWN, TCP_UP, Traffic, UDP_DOWN, UDP_UP, case, line};
use redpoll_experiments::{At, Figure, Metric, Reading, Run, VERDICT};

const LOAD: &str = "offered load, packets per minute and node";
const FRAMES: Metric = Metric::new("frames of all nodes", "per second");
const RESETS: Metric = Metric::new("Trickle resets", "per node and hour");
const DIOS: Metric = Metric::new("DIOs sent", "per node and hour");
const DAOS: Metric = Metric::new("DAOs sent", "per node and hour");
const CHANGES: Metric = Metric::new("changes of parent", "per node and hour");

const HOURS: f64 = 40.0 / 60.0;

fn greatest(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

pub fn figure_4a() -> Figure {
    let mut figure = Figure::new("4a", "Link ETX").x_label(LOAD).about(
        "Thirty nodes, five hops: transmissions of frames divided by the number of new frames, \
         over all nodes together. The paper shows the value of each node.",
    );
    let lines = Traffic::ALL.map(|traffic| line(&mut figure, LINK_ETX, traffic, link_etx));
    for (traffic, line) in Traffic::ALL.into_iter().zip(&lines) {
        let at = At::new(VERDICT, traffic.name);
        figure
            .made_of_all(
                at,
                Metric::new("greatest link ETX over all loads", ""),
                &line.all(),
                greatest,
            )
            .judged(format!("{}-low", traffic.word));
    }
    let frames = Traffic::ALL.map(|traffic| {
        let heavy = case(traffic, HEAVY);
        let row = figure.point(At::new(traffic.name, HEAVY), FRAMES, &heavy, |run| {
            Ok(run.node_sum("node", "/frames_sent")? / run.number("/simulated_s")?)
        });
        row.handle()
    });
    let [udp_up, udp_down, tcp_up, tcp_down] = &lines;
    figure
        .verdict(
            "link ETX, UDP down minus the greatest of the other three kinds of traffic",
            [udp_down, udp_up, tcp_up, tcp_down].map(|line| line.at(HEAVY)),
            |[worst, others @ ..]| worst - greatest(&others),
        )
        .judged("udp-down-worst")
        .cause(
            "only collisions cause retransmissions here, and TCP, which sends the most frames, \
             has the most collisions",
            &frames,
        );
    // Rows with shadowing by walls, which creates links of intermediate quality.
    for traffic in Traffic::ALL {
        let walls = case(traffic, HEAVY).set("medium.shadowing_sigma", "4 dB");
        let at = At::new(format!("{}, shadowing of 4 dB", traffic.name), HEAVY);
        figure.point(at, LINK_ETX, &walls, link_etx);
    }
    figure
}

pub fn figure_4b() -> Figure {
    let mut figure = Figure::new("4b", "Packets lost at queues")
        .x_label(LOAD)
        .about(
            "The runs of figure 4a: packets that nodes, except the border router, dropped because \
             their queues of ten slots were full, as a share of the packets that applications \
             made.",
        );
    let lines = Traffic::ALL.map(|traffic| line(&mut figure, QUEUE_LOSS, traffic, queue_loss));
    let ours = figure.point(
        At::new("Redpoll", HEAVY),
        QUEUE_LOSS,
        &heaviest(TCP_UP),
        queue_loss,
    );
    let ours = ours.handle();
    for (traffic, line) in Traffic::ALL.into_iter().zip(&lines) {
        let at = At::new(VERDICT, traffic.name);
        let entry = figure
            .made_of_all(
                at,
                Metric::new("greatest loss at queues over all loads, in %", ""),
                &line.all(),
                greatest,
            )
            .judged(format!("{}-negligible", traffic.word));
        if traffic == TCP_UP {
            entry.cause(
                "every three seconds, and with each new packet, BLIP retransmits all \
                 unacknowledged data; Redpoll's TCP in its place loses less and delivers more",
                &[line.at(HEAVY), ours],
            );
        }
    }
    let [_, _, up, down] = &lines;
    figure
        .difference(
            "share of TCP's packets lost at queues, in %, upstream minus downstream",
            up.at(HEAVY),
            down.at(HEAVY),
        )
        .judged("tcp-up-over-down");
    figure
}

fn by_the_hour(run: &Run, pointer: &str) -> Reading {
    let nodes = run.nodes("node")?.len() as f64;
    Ok(run.node_sum("node", pointer)? / nodes / HOURS)
}

pub fn figure_9() -> Figure {
    let mut figure = Figure::new("9", "RPL's messages and changes of parent")
        .x_label(LOAD)
        .about(
            "The runs of figure 4a: DIOs and DAOs that a node sends per hour, including forwarded \
             ones, and changes of its preferred parent per hour. The numbers include the forming \
             of the mesh.",
        );
    let resets = Traffic::ALL.map(|traffic| {
        let heavy = case(traffic, HEAVY);
        let row = figure.point(At::new(traffic.name, HEAVY), RESETS, &heavy, |run| {
            by_the_hour(run, "/rpl/trickle_resets")
        });
        row.handle()
    });
    for (metric, pointer, what, id) in [
        (DIOS, "/rpl/sent/dio", "DIOs sent, ratio TCP / UDP", "dio"),
        (DAOS, "/rpl/sent/dao", "DAOs sent, ratio TCP / UDP", "dao"),
        (
            CHANGES,
            "/rpl/parent_changes",
            "changes of parent per node and hour, TCP minus UDP, absolute value",
            "parent-changes",
        ),
    ] {
        let read = move |run: &Run| by_the_hour(run, pointer);
        let lines = Traffic::ALL.map(|traffic| line(&mut figure, metric, traffic, read));
        let of = |wanted: [Traffic; 2]| {
            let pairs = Traffic::ALL.into_iter().zip(&lines);
            let lines = pairs.filter(move |(traffic, _)| wanted.contains(traffic));
            lines.flat_map(|(_, line)| line.some([LIGHT, HEAVY]))
        };
        let all: Vec<_> = of([TCP_UP, TCP_DOWN])
            .chain(of([UDP_UP, UDP_DOWN]))
            .collect();
        figure
            .verdict_of_all(what, &all, move |all| {
                let (tcp, udp) = all.split_at(all.len() / 2);
                let count = tcp.len() as f64;
                let [tcp, udp] = [tcp, udp].map(|them| them.iter().sum::<f64>() / count);
                if metric == CHANGES {
                    (tcp - udp).abs()
                } else {
                    tcp / udp
                }
            })
            .judged(id)
            .cause(
                "Redpoll resets Trickle if the direction of a packet contradicts the ranks, or if \
                 a route leads to no node (RFC 6550 §11.2). Full queues cause both. TinyRPL resets \
                 Trickle only for packets that contradict the ranks, which are rare",
                &resets,
            );
    }
    figure
}
