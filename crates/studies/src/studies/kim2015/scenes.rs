//! The paper's building, its four kinds of traffic and three loads.

use std::fmt::Write as _;

use crate::engine::case::{Case, Scene};
use crate::engine::figure::{Figure, Line, Metric};
use crate::engine::run::{Reading, Run};

/// What all scenes have.
///
/// Left open by the paper, and chosen here: 39 bytes a packet, which fill one frame; no
/// transmit buffer beyond the 150 bytes of TinyOS's TCPEcho, behind which an application
/// holds four packets and drops further ones; ten datagrams in a node's queue, also at
/// the border router, where what the serial line brings beyond them is lost; five attempts
/// 100 ms apart, as TinyOS's link layer makes them; BLIP's constant sequence numbers
/// corrected beside what the authors corrected, since a connection that is opened again
/// takes bytes of the one before for its own, as the oracle shows; RPL as of TinyRPL where
/// it is known; ten minutes in which the mesh forms, and half an hour of traffic.
const COMMON: &str = r#"
duration = "40 min"
routing = "rpl"

[topology]
kind = "positions"

[medium]
model = "unit-disk"
transmission_range = "15 m"
interference_range = "24 m"
carrier_sense_range = "20 m"

[mac]
max_frame_retries = 4
link_retry_delay = "100 ms"

[lowpan]
slots = 10

[border]
queue = 0

[rpl]
mode = "storing"
objective = "mrhof"
dio_interval_min = 8
dio_interval_doublings = 12
dao_ack = false
lifetime = "20 min"
routes = 32

[tcp]
connections = 200
"#;

/// Nodes beside the border router.
pub const NODES: usize = 30;

/// Where the nodes stand, in metres, and the border router.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Building {
    /// Five columns of six, 10 m apart, and the border router beside the middle of the
    /// first: five hops to the farthest.
    FiveHops,
    /// Seven columns of four and two nodes more, the border router beside the first:
    /// seven hops to the farthest.
    SevenHops,
}

impl Building {
    fn border(self) -> (u32, u32) {
        match self {
            Building::FiveHops => (0, 25),
            Building::SevenHops => (0, 15),
        }
    }

    fn nodes(self) -> Vec<(u32, u32)> {
        let (columns, rows) = match self {
            Building::FiveHops => (5, 6),
            Building::SevenHops => (7, 4),
        };
        let grid = (0..columns * rows).map(|at| (10 * (at / rows + 1), 10 * (at % rows)));
        grid.chain([(25, 15), (45, 15)]).take(NODES).collect()
    }

    fn text(self) -> String {
        let (x, y) = self.border();
        let mut text = format!(
            "{COMMON}\n[nodes.node-1]\nrole = \"border\"\nposition = [\"{x} m\", \"{y} m\"]\n"
        );
        for (at, (x, y)) in self.nodes().into_iter().enumerate() {
            let _ = write!(
                text,
                "\n[nodes.node-{}]\nposition = [\"{x} m\", \"{y} m\"]\n",
                at + 2
            );
        }
        text
    }
}

/// A kind of traffic.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Its name in series.
    pub name: &'static str,
    /// Its word in the criteria.
    pub word: &'static str,
    /// The names of its scenes with five hops and with seven.
    scenes: [&'static str; 2],
    is_tcp: bool,
    is_up: bool,
}

/// To the server, without acknowledgments.
pub const UDP_UP: Traffic = Traffic {
    name: "UDP up",
    word: "udp-up",
    scenes: ["five-hops-udp-up", "seven-hops-udp-up"],
    is_tcp: false,
    is_up: true,
};
/// From the server, without acknowledgments.
pub const UDP_DOWN: Traffic = Traffic {
    name: "UDP down",
    word: "udp-down",
    scenes: ["five-hops-udp-down", "seven-hops-udp-down"],
    is_tcp: false,
    is_up: false,
};
/// To the server.
pub const TCP_UP: Traffic = Traffic {
    name: "TCP up",
    word: "tcp-up",
    scenes: ["five-hops-tcp-up", "seven-hops-tcp-up"],
    is_tcp: true,
    is_up: true,
};
/// From the server.
pub const TCP_DOWN: Traffic = Traffic {
    name: "TCP down",
    word: "tcp-down",
    scenes: ["five-hops-tcp-down", "seven-hops-tcp-down"],
    is_tcp: true,
    is_up: false,
};

impl Traffic {
    /// All of them.
    pub const ALL: [Traffic; 4] = [UDP_UP, UDP_DOWN, TCP_UP, TCP_DOWN];

    fn scene(self, building: Building) -> &'static str {
        match building {
            Building::FiveHops => self.scenes[0],
            Building::SevenHops => self.scenes[1],
        }
    }

    fn apps(self) -> String {
        let nodes: Vec<String> = (2..NODES + 2)
            .map(|node| format!("\"node-{node}\""))
            .collect();
        let nodes = nodes.join(", ");
        let transport = if self.is_tcp { "tcp" } else { "udp" };
        let sensor = format!(
            "type = \"sensor\"\ntransport = \"{transport}\"\nreading = \"39 B\"\nqueue = 4\nstart = \"9 min\"\nstart_spread = \"1 min\""
        );
        let sink = |on: &str| {
            let sink = format!("\n[apps.sink]\ntype = \"bulk-sink\"\non = {on}\nport = 9000\n");
            if self.is_tcp { sink } else { String::new() }
        };
        if self.is_up {
            // Datagrams are counted at the border router: a simulated host takes none.
            let (sink, to) = match self.is_tcp {
                true => (sink("\"host\""), "host:9000"),
                false => (String::new(), "border:9000"),
            };
            return format!("{sink}\n[apps.readings]\n{sensor}\non = [{nodes}]\nto = \"{to}\"\n");
        }
        let mut text = sink(&format!("[{nodes}]"));
        for node in 2..NODES + 2 {
            let _ = write!(
                text,
                "\n[apps.readings-{node}]\n{sensor}\non = \"host\"\nto = \"node-{node}:9000\"\n"
            );
        }
        text
    }
}

/// Packets a minute that each node makes, or that are made for it.
pub const LOADS: [u32; 3] = [10, 30, 60];
/// The heaviest load.
pub const HEAVY: u32 = 60;
/// The lightest.
pub const LIGHT: u32 = 10;

/// Half an hour of traffic in a building.
pub fn case_in(building: Building, traffic: Traffic, load: u32) -> Case {
    let scene = Scene {
        name: traffic.scene(building),
        text: building.text() + &traffic.apps(),
    };
    let interval = format!("{} ms", 60_000 / load);
    let case = Case::new(scene);
    let case = match traffic.is_up {
        true => case.set("apps.readings.interval", interval),
        false => (2..NODES + 2).fold(case, |case, node| {
            case.set(&format!("apps.readings-{node}.interval"), &interval)
        }),
    };
    match traffic.is_tcp {
        true => case
            .set("tcp.transport", "blip")
            .set("border.host_transport", "linux")
            .set("rivals.blip_corrections", "counter, syn, numbers"),
        false => case,
    }
}

/// Half an hour of traffic in the building with five hops.
pub fn case(traffic: Traffic, load: u32) -> Case {
    case_in(Building::FiveHops, traffic, load)
}

/// A line over all loads.
pub fn line(
    figure: &mut Figure,
    metric: Metric,
    traffic: Traffic,
    read: impl Fn(&Run) -> Reading + Clone + 'static,
) -> Line {
    let cases = LOADS.map(|load| (load, case(traffic, load)));
    figure.line(traffic.name, metric, cases, read)
}
