//! The paper's traffic over measured links: separates findings that depend on the paper's building
//! from those that depend on its stacks.

use redpoll_sim::{Scenario, World};

use super::read::{
    FLOWS, SEGMENTS, TCP_ETX, THROUGHPUT, by_hops, segments_a_packet, tcp_etx, throughput,
};
use super::scenes::{
    HEAVY, LIGHT, NODES, TCP_DOWN, TCP_UP, Traffic, UDP_DOWN, UDP_UP, case, case_over,
};
use crate::vocabulary::read::{JAIN, RATIO, fairness};
use redpoll_experiments::{
    At, Case, Figure, Handle, LinksError, MeasuredLinks, Metric, Reading, Run, mean, numbers,
};

const BUILDING: &str = "building";
const MEASURED: &str = "measured";

pub fn figure(links: &MeasuredLinks) -> Result<Figure, LinksError> {
    let mesh = Mesh::over(links)?;
    let mut figure = Figure::new("measured", "The same traffic over measured links")
        .about(
            "In the paper's building, each of thirty nodes sends or receives 60 packets a minute, \
             or 10 in the rows of light load. In the measured mesh, the nodes that have a \
             route over RPL to the best connected node of the file of links send or receive \
             together as many packets a minute as the building's thirty nodes together. If the name of a row begins with the number of a figure, compare \
             the row with the expected value in that figure. A result that depends only on the TCP \
             stacks should be the same in both meshes.",
        )
        .aside();
    findings(&mut figure, BUILDING, &case);
    findings(&mut figure, MEASURED, &|traffic, load| {
        mesh.case(traffic, load)
    });
    Ok(figure)
}

fn findings(figure: &mut Figure, x: &'static str, case: &dyn Fn(Traffic, u32) -> Case) {
    let mut row = |name: &str, metric, case: &Case, read: fn(&Run) -> Reading| -> Handle {
        figure.point(At::new(name, x), metric, case, read).handle()
    };
    let jain = |run: &Run| fairness(run, FLOWS);
    let rtt = |run: &Run| mean(&numbers(&run.flows(FLOWS)?, "/rtt_ms/p50")?);
    let heavy = |traffic| case(traffic, HEAVY);
    let [udp_up, udp_down, tcp_up, tcp_down] = Traffic::ALL.map(heavy);
    let [ours_up, ours_down] =
        [&tcp_up, &tcp_down].map(|case| case.clone().set("tcp.transport", "redpoll"));

    let mut much = Vec::new();
    let mut fair = Vec::new();
    for (name, case) in [
        (UDP_UP.name, &udp_up),
        (UDP_DOWN.name, &udp_down),
        (TCP_UP.name, &tcp_up),
        (TCP_DOWN.name, &tcp_down),
        ("Redpoll, up", &ours_up),
        ("Redpoll, down", &ours_down),
    ] {
        much.push(row(name, THROUGHPUT, case, throughput));
        fair.push(row(name, JAIN, case, jain));
    }
    let etx = [
        (TCP_UP, LIGHT),
        (TCP_DOWN, LIGHT),
        (TCP_UP, HEAVY),
        (TCP_DOWN, HEAVY),
    ];
    let etx = etx.map(|(traffic, load)| {
        let name = format!("{}, {load} packets a minute", traffic.name);
        row(&name, TCP_ETX, &case(traffic, load), tcp_etx)
    });
    row(
        "figure 6b: TCP down",
        SEGMENTS,
        &tcp_down,
        segments_a_packet,
    );
    let by_hops_name = Metric::new("correlation with hop distance", "");
    let delivered = |run: &Run| by_hops(run, "/readings/delivered");
    row(
        "figure 7: throughput, TCP up",
        by_hops_name,
        &tcp_up,
        delivered,
    );
    row(
        "figure 7: throughput, TCP down",
        by_hops_name,
        &tcp_down,
        delivered,
    );
    row("figure 8: RTT", by_hops_name, &tcp_down, |run| {
        by_hops(run, "/rtt_ms/p50")
    });
    let median = Metric::new("median RTT", "ms");
    let slow = row(
        "figure 8: RTT of TCP down, heavy load",
        median,
        &tcp_down,
        rtt,
    );
    let quick = row(
        "figure 8: RTT of TCP down, light load",
        median,
        &case(TCP_DOWN, LIGHT),
        rtt,
    );

    let difference = Metric::new("difference", "");
    let [udp_up, udp_down, tcp_up, tcp_down, ours_up, ours_down] = much[..] else {
        unreachable!("the loop above adds six rows of throughput");
    };
    for (name, over, under) in [
        ("figure 5b: throughput, ratio UDP / TCP, up", udp_up, tcp_up),
        (
            "figure 5b: throughput, ratio UDP / TCP, down",
            udp_down,
            tcp_down,
        ),
        (
            "figure 5b: throughput, TCP, ratio up / down",
            tcp_up,
            tcp_down,
        ),
        ("figure 8: RTT, ratio heavy load / light load", slow, quick),
        (
            "figure 5b: throughput, ratio Redpoll's TCP / UDP, up",
            ours_up,
            udp_up,
        ),
        (
            "figure 5b: throughput, ratio Redpoll's TCP / UDP, down",
            ours_down,
            udp_down,
        ),
    ] {
        figure.made(At::new(name, x), RATIO, [over, under], |[over, under]| {
            over / under
        });
    }
    for (name, more, less) in [
        (
            "figure 5b: Jain's index of UDP minus that of TCP, up",
            fair[0],
            fair[2],
        ),
        (
            "figure 5b: Jain's index of UDP minus that of TCP, down",
            fair[1],
            fair[3],
        ),
        (
            "figure 6a: TCP ETX at light load, down minus up",
            etx[1],
            etx[0],
        ),
        (
            "figure 6a: TCP ETX at heavy load, up minus down",
            etx[2],
            etx[3],
        ),
    ] {
        figure.made(
            At::new(name, x),
            difference,
            [more, less],
            |[more, less]| more - less,
        );
    }
}

struct Mesh {
    /// The table `topology` in TOML, without its key `file`, whose value is in the field `file`.
    text: String,
    file: String,
    /// Nodes with traffic: all that have a route to the border router.
    nodes: Vec<String>,
}

impl Mesh {
    /// Reads `links` and makes the best connected node the border router.
    fn over(links: &MeasuredLinks) -> Result<Mesh, LinksError> {
        let absolute = std::path::absolute(&links.file).unwrap_or_else(|_| links.file.clone());
        let file = absolute
            .to_str()
            .ok_or_else(|| LinksError::Path(links.file.clone()))?
            .to_owned();
        let text = format!("\n[topology]\nkind = \"k7\"\nchannel = {}\n", links.channel);
        let change = ("topology.file".to_owned(), file.clone());
        let plain = format!("{text}\n[medium]\nmodel = \"sinr\"\n");
        let scenario = Scenario::parse("measured", &plain, &[change])?;
        let border = scenario.border_router();
        let report = World::new(&scenario, 1)?.report();
        let reached = report.nodes.iter().enumerate();
        let nodes: Vec<String> = reached
            .filter(|(index, node)| Some(*index) != border && node.hops.is_some())
            .map(|(_, node)| node.name.clone())
            .collect();
        if nodes.is_empty() {
            Err(LinksError::Alone {
                file: links.file.clone(),
                channel: links.channel,
            })
        } else {
            Ok(Mesh { text, file, nodes })
        }
    }

    /// Returns half an hour of traffic, with as many packets in total as in the building at `load`.
    fn case(&self, traffic: Traffic, load: u32) -> Case {
        let share = self.nodes.len() as f64 / NODES as f64;
        let interval_ms = (60_000.0 * share / f64::from(load)).round() as u32;
        let name = traffic.over_links;
        case_over(name, &self.text, &self.nodes, traffic, interval_ms)
            .set("topology.file", &self.file)
            .set("rpl.routes", self.nodes.len() + 2)
    }
}
