//! The paper's building, its four kinds of traffic and three loads.

use std::fmt::Write as _;

use redpoll_experiments::{Case, Scene};
use redpoll_experiments::{Figure, Line, Metric, Reading, Run};

/// What all scenes have, beside [`SOURCES`].
///
/// From the paper: -22 dBm with 5 dB of antenna gain, five hops, ten datagrams in a node's
/// queue, a mote at a serial line as border router.
///
/// From TinyOS 2.1.2 and its driver of the CC2420: five attempts; a first
/// backoff of up to 9.8 ms, without exponent, and hardly a limit (later ones of up to 2.4 ms
/// are as long as the first here); Trickle from 0.25 to 256 s without suppression; 150 bytes
/// of transmit buffer in its example.
///
/// *From memory*: -77 dBm for a busy channel, the chip's own value, beside frames that the
/// radio follows; about 3.5 ms for the way of a full frame over the SPI bus.
///
/// Chosen here: crystals within 20 ppm; where the nodes stand; a path loss exponent of 3.2, with which -95 dBm are
/// left after 15 m; ten datagrams at the border router as well, where what the serial line
/// brings beyond them is lost; 39 bytes a packet, as Park and Paek have it with the same
/// stack; an application that holds four packets and drops further ones; BLIP's constant
/// sequence numbers corrected beside what the authors corrected, since a connection that is
/// opened again takes bytes of the one before for its own, as the oracle shows; ten minutes
/// in which the mesh forms, and half an hour of traffic. With seven hops the power is the
/// same, where the paper has -17 dBm in another part of its building.
///
/// Not modelled: TinyRPL's estimate of a link, which weighs each new sample a fifth, where here
/// it is a quarter and then a sixteenth, and forgets a link beyond an ETX of 3; packets from the
/// host without any option of RPL's; a lifetime of routes that ends after 16 to 18 minutes.
const COMMON: &str = r#"
duration = "40 min"
routing = "rpl"

[clock]
drift_ppm = 20

[medium]
model = "sinr"
cca_threshold = "-77 dBm"

[radio]
model = "cc2420"
spi_time_per_byte = "27 us"

[mac]
min_be = 5
max_be = 5
max_csma_backoffs = 20
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
dio_interval_doublings = 10
dio_redundancy = 0
dao_ack = false
lifetime = "20 min"
routes = 32

[tcp]
connections = 200
"#;

/// Something of TinyOS's that the scenes first did without.
pub struct Source {
    /// Its name in series.
    pub name: &'static str,
    keys: &'static [(&'static str, &'static str)],
}

/// TinyOS 2.1.2 where [`COMMON`] has something else, each by itself in figure `sources`.
pub const SOURCES: [Source; 5] = [
    Source {
        name: "100.6 ms between attempts",
        keys: &[
            ("mac.link_retry_delay", "0 ms"),
            ("mac.link_retry_pause", "100586 us"),
        ],
    },
    // 10,000 to 11,000 binary milliseconds, each node's passed on by itself, at most 256 ms
    // after the first of several.
    Source {
        name: "DAOs each ten seconds",
        keys: &[
            ("rpl.dao_interval", "9766 ms"),
            ("rpl.dao_targets", "1"),
            ("rpl.dao_delay", "250 ms"),
        ],
    },
    // PppRouter at 115,200 Bd. The paper names it, and not the rate. No source says how long
    // the mote has to do with a packet.
    Source {
        name: "a serial line",
        keys: &[
            ("border.serial_rate", "115200"),
            ("border.serial_turn", "0 ms"),
        ],
    },
    // Linux's packets go down as they are; here with 8 bytes instead of 48.
    Source {
        name: "no outer headers",
        keys: &[("rpl.tunnels", "false")],
    },
    // TinyRPL measures links by what it has to send alone.
    Source {
        name: "links rated as in TinyRPL",
        keys: &[
            ("rpl.initial_etx", "1"),
            ("rpl.switch_threshold", "0.5"),
            ("rpl.probe_interval", "1 h"),
        ],
    },
];

/// The serial line with the assumption of other scenes, 5 ms that the mote has to do with each
/// packet, within which the next one is lost. It was in the first run of all sources: of UDP
/// downstream 37 % were lost, half of the nodes lost all, and others none, for packets that
/// come at the same moment of each second meet the same fate. The paper has the losses of all
/// nodes alike, and at a queue.
pub const SLOW_SERIAL: Source = Source {
    name: "a serial line, 5 ms a packet",
    keys: &[
        ("border.serial_rate", "115200"),
        ("border.serial_turn", "5 ms"),
    ],
};

/// Those of them that the scenes have: where the paper is silent its release of TinyOS counts,
/// whatever the rows become by it.
const TAKEN: &[Source] = &SOURCES;

/// What makes the links of a building.
const PATH_LOSS: [(&str, &str); 2] = [
    ("medium.tx_power", "-17 dBm"),
    ("medium.path_loss_exponent", "3.2"),
];

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
    /// As many hops, but one node carries everything: it alone reaches the border router,
    /// before six columns of five.
    Neck,
}

impl Building {
    fn border(self) -> (u32, u32) {
        match self {
            Building::FiveHops => (0, 25),
            Building::SevenHops => (0, 15),
            Building::Neck => (0, 20),
        }
    }

    fn nodes(self) -> Vec<(u32, u32)> {
        let (columns, rows) = match self {
            Building::FiveHops => (5, 6),
            Building::SevenHops => (7, 4),
            Building::Neck => (6, 5),
        };
        let first = match self {
            Building::Neck => 2,
            _ => 1,
        };
        let grid = (0..columns * rows).map(|at| (10 * (at / rows + first), 10 * (at % rows)));
        let neck = (self == Building::Neck).then_some((10, 20));
        let more = [(25, 15), (45, 15)];
        neck.into_iter()
            .chain(grid)
            .chain(more)
            .take(NODES)
            .collect()
    }

    fn text(self) -> String {
        let (x, y) = self.border();
        let mut text = format!(
            "\n[topology]\nkind = \"positions\"\n\n[nodes.node-1]\nrole = \"border\"\nposition = [\"{x} m\", \"{y} m\"]\n"
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
    /// The names of its scenes with five hops, with seven, and with a neck.
    scenes: [&'static str; 3],
    /// The name of its scene over measured links.
    pub over_links: &'static str,
    is_tcp: bool,
    is_up: bool,
}

/// To the server, without acknowledgments.
pub const UDP_UP: Traffic = Traffic {
    name: "UDP up",
    word: "udp-up",
    scenes: ["five-hops-udp-up", "seven-hops-udp-up", "neck-udp-up"],
    over_links: "measured-udp-up",
    is_tcp: false,
    is_up: true,
};
/// From the server, without acknowledgments.
pub const UDP_DOWN: Traffic = Traffic {
    name: "UDP down",
    word: "udp-down",
    scenes: ["five-hops-udp-down", "seven-hops-udp-down", "neck-udp-down"],
    over_links: "measured-udp-down",
    is_tcp: false,
    is_up: false,
};
/// To the server.
pub const TCP_UP: Traffic = Traffic {
    name: "TCP up",
    word: "tcp-up",
    scenes: ["five-hops-tcp-up", "seven-hops-tcp-up", "neck-tcp-up"],
    over_links: "measured-tcp-up",
    is_tcp: true,
    is_up: true,
};
/// From the server.
pub const TCP_DOWN: Traffic = Traffic {
    name: "TCP down",
    word: "tcp-down",
    scenes: ["five-hops-tcp-down", "seven-hops-tcp-down", "neck-tcp-down"],
    over_links: "measured-tcp-down",
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
            Building::Neck => self.scenes[2],
        }
    }

    /// The apps, at each of `nodes`.
    fn apps(self, nodes: &[String]) -> String {
        let on: Vec<String> = nodes.iter().map(|node| format!("\"{node}\"")).collect();
        let on = on.join(", ");
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
            let (sink, to) = if self.is_tcp {
                (sink("\"host\""), "host:9000")
            } else {
                (String::new(), "border:9000")
            };
            return format!("{sink}\n[apps.readings]\n{sensor}\non = [{on}]\nto = \"{to}\"\n");
        }
        let mut text = sink(&format!("[{on}]"));
        for node in nodes {
            let app = app_of(node);
            let _ = write!(
                text,
                "\n[apps.{app}]\n{sensor}\non = \"host\"\nto = \"{node}:9000\"\n"
            );
        }
        text
    }
}

/// The app that sends to `node`.
fn app_of(node: &str) -> String {
    format!("readings-{}", node.trim_start_matches("node-"))
}

/// TinyOS's own window.
const STOCK_WINDOW: &str = "200 B";
/// The name of series with it.
pub const STOCK: &str = "TCP down, a window of 200 bytes";

/// Packets a minute that each node makes, or that are made for it.
pub const LOADS: [u32; 3] = [10, 30, 60];
/// The heaviest load.
pub const HEAVY: u32 = 60;
/// A load that the paper does not have.
pub const FULLER: u32 = 90;
/// The heaviest of those that the paper does not have.
pub const FULLEST: u32 = 120;
/// The lightest.
pub const LIGHT: u32 = 10;

/// The window of BLIP's TCP, *calibrated*. TinyOS announces 200 bytes. The paper says that
/// Linux has "at most one TCP packet" on its way to a node, which with packets of 39 bytes
/// is not so with 200, and that it cuts packets into pieces of "8 bytes". Linux's segments
/// have 48 bytes at least (`docs/rivals.md`), and 48 less 8 is 40: also what the 88 bytes of
/// headers leave of a frame. Other windows with other packets leave 8 as well. Rows with
/// [`STOCK_WINDOW`] stand beside those that depend on it.
const WINDOW: &str = "40 B";

/// Half an hour of traffic over a mesh: a scene called `name`, of the nodes that `mesh`
/// describes, to or from each of `nodes`, with what is [`TAKEN`].
pub fn case_over(
    name: &'static str,
    mesh: &str,
    nodes: &[String],
    traffic: Traffic,
    interval_ms: u32,
) -> Case {
    TAKEN
        .iter()
        .fold(plain(name, mesh, nodes, traffic, interval_ms), with)
}

/// `case` with what a source has.
fn with(case: Case, source: &Source) -> Case {
    case.with(source.keys)
}

fn plain(
    name: &'static str,
    mesh: &str,
    nodes: &[String],
    traffic: Traffic,
    interval_ms: u32,
) -> Case {
    let scene = Scene {
        name: name.into(),
        text: format!("{COMMON}{mesh}{}", traffic.apps(nodes)),
    };
    let interval = format!("{interval_ms} ms");
    let case = Case::new(scene);
    let case = if traffic.is_up {
        case.set("apps.readings.interval", interval)
    } else {
        nodes.iter().fold(case, |case, node| {
            case.set(&format!("apps.{}.interval", app_of(node)), &interval)
        })
    };
    if traffic.is_tcp {
        case.set("tcp.transport", "blip")
            .set("border.host_transport", "linux")
            .set("rivals.blip_corrections", "counter, syn, numbers")
            // Linux 4.17 is of 2018.
            .set("rivals.linux_gso", "false")
            .set("rivals.blip_window", WINDOW)
    } else {
        case
    }
}

/// Half an hour of traffic in a building.
pub fn case_in(building: Building, traffic: Traffic, load: u32) -> Case {
    let (name, text) = (traffic.scene(building), building.text());
    case_over(name, &text, &names(), traffic, 60_000 / load).with(&PATH_LOSS)
}

/// Share of the frames that every link loses in [`lossy`].
pub const LOST: &str = "10 %";

/// `case` over links that lose frames at random, whoever else sends: as other networks, walls and
/// people in a building make them, of which the paper does not say how much there was.
pub fn lossy(case: Case) -> Case {
    case.set("faults.air.type", "drop-frames")
        .set("faults.air.share", LOST)
}

/// The names of the nodes of a building.
fn names() -> Vec<String> {
    (2..NODES + 2).map(|node| format!("node-{node}")).collect()
}

/// The heaviest load in the building with five hops, with these sources alone.
pub fn case_by(sources: &[Source], traffic: Traffic) -> Case {
    let building = Building::FiveHops;
    let (name, text) = (traffic.scene(building), building.text());
    let first = plain(name, &text, &names(), traffic, 60_000 / HEAVY).with(&PATH_LOSS);
    sources.iter().fold(first, with)
}

/// Half an hour of traffic in the building with five hops.
pub fn case(traffic: Traffic, load: u32) -> Case {
    case_in(Building::FiveHops, traffic, load)
}

/// A case with Redpoll's TCP at the nodes. It opens no connection twice, so a place needs
/// room for one with each node, and no more is looked through at every event.
pub fn ours(case: &Case) -> Case {
    let case = case.clone().set("tcp.transport", "redpoll");
    case.set("tcp.connections", 64)
}

/// The heaviest load downstream, with TinyOS's own window.
pub fn stock() -> Case {
    case(TCP_DOWN, HEAVY).set("rivals.blip_window", STOCK_WINDOW)
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
