//! The paper's building, its four kinds of traffic and its three loads.

use std::fmt::Write as _;

use redpoll_experiments::{Case, Scene};
use redpoll_experiments::{Figure, Line, Metric, Reading, Run};

/// Keys of all scenes, without [`SOURCES`].
///
/// From the paper: -22 dBm with an antenna gain of 5 dB; five hops; ten datagrams in a node's
/// queue; a mote on a serial line as border router.
///
/// From TinyOS 2.1.2 and its driver of the CC2420: five attempts per frame; a first backoff of up
/// to 9.8 ms without exponent, and almost no limit of backoffs (later backoffs are up to 2.4 ms
/// there, and as long as the first one here); Trickle from 0.25 to 256 s without suppression; the
/// 150 bytes of transmit buffer of its example.
///
/// *From memory*: -77 dBm for a busy channel, the chip's default, in addition to frames that the
/// radio receives; about 3.5 ms to move a full frame over the SPI bus.
///
/// Chosen here:
/// - Crystals are within 20 ppm.
/// - The positions of the nodes, and a path loss exponent of 3.2, which leaves -95 dBm after 15 m.
/// - The border router also holds ten datagrams, and drops packets from the serial line if its
///   queue is full.
/// - A packet has 39 bytes, as in Park and Paek with the same stack. An application holds four
///   packets and drops new ones in excess of that.
/// - BLIP's constant sequence numbers are corrected in addition to the authors' corrections.
///   Without this, a reopened connection accepts bytes of the previous one, as the oracle shows.
/// - The mesh forms for ten minutes before half an hour of traffic.
/// - The power for seven hops is that for five; the paper has -17 dBm in another part of its
///   building.
///
/// Not modelled: TinyRPL's link estimate, which weighs each new sample by a fifth (here by a
/// quarter, then a sixteenth) and forgets links with an ETX above 3; packets from the host without
/// any RPL option; routes whose lifetime ends after 16 to 18 minutes.
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

/// A value of TinyOS that [`COMMON`] lacks.
pub struct Source {
    pub name: &'static str,
    keys: &'static [(&'static str, &'static str)],
}

/// Values of TinyOS 2.1.2 that differ from [`COMMON`]; the figure `sources` shows their effects.
pub const SOURCES: [Source; 5] = [
    Source {
        name: "100.6 ms between link attempts",
        keys: &[
            ("mac.link_retry_delay", "0 ms"),
            ("mac.link_retry_pause", "100586 us"),
        ],
    },
    // TinyRPL sends a DAO every 10,000 to 11,000 binary milliseconds. A router forwards each
    // node's DAO separately, at most 256 ms after the first DAO arrived.
    Source {
        name: "a DAO every ten seconds",
        keys: &[
            ("rpl.dao_interval", "9766 ms"),
            ("rpl.dao_targets", "1"),
            ("rpl.dao_delay", "250 ms"),
        ],
    },
    // PppRouter at 115,200 Bd. The paper names PppRouter but not the rate, and no source states the
    // mote's time per packet.
    Source {
        name: "a serial line",
        keys: &[
            ("border.serial_rate", "115200"),
            ("border.serial_turn", "0 ms"),
        ],
    },
    // TinyOS forwards packets from Linux unchanged. Here, RPL's headers add 8 bytes to a packet
    // without a tunnel, and 48 bytes with a tunnel.
    Source {
        name: "no outer headers",
        keys: &[("rpl.tunnels", "false")],
    },
    // TinyRPL measures a link only by the frames that it sends for other purposes.
    Source {
        name: "link costs measured as in TinyRPL",
        keys: &[
            ("rpl.initial_etx", "1"),
            ("rpl.switch_threshold", "0.5"),
            ("rpl.probe_interval", "1 h"),
        ],
    },
];

/// The serial line with an assumption of other scenes: the mote takes 5 ms per packet and loses a
/// packet that arrives during this time. UDP downstream then loses 37 %: half of the nodes lose all
/// packets and the others none, because packets of a node always arrive at the same moment of a
/// second. In the paper all nodes lose similar shares, in a queue.
pub const SLOW_SERIAL: Source = Source {
    name: "a serial line, 5 ms per packet",
    keys: &[
        ("border.serial_rate", "115200"),
        ("border.serial_turn", "5 ms"),
    ],
};

/// Values of TinyOS that the scenes use. If the paper does not state a value, that of its release
/// of TinyOS is used, whatever the effect on the rows.
const ADOPTED: &[Source] = &SOURCES;

/// Keys that determine the links of a building.
const PATH_LOSS: [(&str, &str); 2] = [
    ("medium.tx_power", "-17 dBm"),
    ("medium.path_loss_exponent", "3.2"),
];

/// Number of nodes, not counting the border router.
pub const NODES: usize = 30;

/// Positions of the nodes and of the border router, in metres.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Building {
    /// Five columns of six nodes, 10 m apart, with the border router next to the middle of the
    /// first column: five hops to the farthest node.
    FiveHops,
    /// Seven columns of four nodes and two more nodes, with the border router next to the first
    /// column: seven hops to the farthest node.
    SevenHops,
    /// Seven hops, but one node forwards all traffic: only that node reaches the border router, and
    /// six columns of five nodes are behind it.
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

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    pub name: &'static str,
    pub word: &'static str,
    /// The names of the scenes with five hops, with seven hops, and with [`Building::Neck`].
    scenes: [&'static str; 3],
    pub over_links: &'static str,
    is_tcp: bool,
    is_up: bool,
}

/// Datagrams to the server, which are not acknowledged.
pub const UDP_UP: Traffic = Traffic {
    name: "UDP up",
    word: "udp-up",
    scenes: ["five-hops-udp-up", "seven-hops-udp-up", "neck-udp-up"],
    over_links: "measured-udp-up",
    is_tcp: false,
    is_up: true,
};
/// Datagrams from the server, which are not acknowledged.
pub const UDP_DOWN: Traffic = Traffic {
    name: "UDP down",
    word: "udp-down",
    scenes: ["five-hops-udp-down", "seven-hops-udp-down", "neck-udp-down"],
    over_links: "measured-udp-down",
    is_tcp: false,
    is_up: false,
};
pub const TCP_UP: Traffic = Traffic {
    name: "TCP up",
    word: "tcp-up",
    scenes: ["five-hops-tcp-up", "seven-hops-tcp-up", "neck-tcp-up"],
    over_links: "measured-tcp-up",
    is_tcp: true,
    is_up: true,
};
pub const TCP_DOWN: Traffic = Traffic {
    name: "TCP down",
    word: "tcp-down",
    scenes: ["five-hops-tcp-down", "seven-hops-tcp-down", "neck-tcp-down"],
    over_links: "measured-tcp-down",
    is_tcp: true,
    is_up: false,
};

impl Traffic {
    pub const ALL: [Traffic; 4] = [UDP_UP, UDP_DOWN, TCP_UP, TCP_DOWN];

    fn scene(self, building: Building) -> &'static str {
        match building {
            Building::FiveHops => self.scenes[0],
            Building::SevenHops => self.scenes[1],
            Building::Neck => self.scenes[2],
        }
    }

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
            // The border router receives the datagrams, because a simulated host receives none.
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

fn app_of(node: &str) -> String {
    format!("readings-{}", node.trim_start_matches("node-"))
}

/// TinyOS's default window.
const STOCK_WINDOW: &str = "200 B";
pub const STOCK: &str = "TCP down, a window of 200 bytes";

/// Packets per minute that each node sends or receives.
pub const LOADS: [u32; 3] = [10, 30, 60];
pub const HEAVY: u32 = 60;
/// A load that the paper does not have, in packets per minute and node.
pub const FULLER: u32 = 90;
/// The heaviest load, which the paper does not have, in packets per minute and node.
pub const FULLEST: u32 = 120;
pub const LIGHT: u32 = 10;

/// The window of BLIP's TCP, *calibrated*. The paper says that Linux has "at most one TCP packet"
/// on its way to a node and cuts packets into pieces of "8 bytes". Neither is possible with
/// TinyOS's window of 200 bytes and packets of 39 bytes. Linux's limit for the length of a segment
/// is at least 48 bytes (`docs/rivals.md`); a window of 40 bytes cuts 8 bytes off a segment of 48
/// bytes. Other windows with other packets also leave 8 bytes. The figures therefore also have rows
/// with [`STOCK_WINDOW`].
const WINDOW: &str = "40 B";

/// Returns half an hour of traffic over the mesh described by `mesh`, to or from each of `nodes`,
/// with the keys of [`ADOPTED`]. The scene is called `name`.
pub fn case_over(
    name: &'static str,
    mesh: &str,
    nodes: &[String],
    traffic: Traffic,
    interval_ms: u32,
) -> Case {
    ADOPTED
        .iter()
        .fold(plain(name, mesh, nodes, traffic, interval_ms), with)
}

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
            // Linux keeps data in pieces of several segments since 4.17 (2018); the paper's Linux
            // is older.
            .set("rivals.linux_gso", "false")
            .set("rivals.blip_window", WINDOW)
    } else {
        case
    }
}

pub fn case_in(building: Building, traffic: Traffic, load: u32) -> Case {
    let (name, text) = (traffic.scene(building), building.text());
    case_over(name, &text, &names(), traffic, 60_000 / load).with(&PATH_LOSS)
}

/// Share of frames that every link loses in [`lossy`].
pub const LOST: &str = "10 %";

/// Makes every link of `case` lose frames at random, in addition to collisions. Other networks,
/// walls and people cause such losses in a building; the paper does not state how many.
pub fn lossy(case: Case) -> Case {
    case.set("faults.air.type", "drop-frames")
        .set("faults.air.share", LOST)
}

fn names() -> Vec<String> {
    (2..NODES + 2).map(|node| format!("node-{node}")).collect()
}

/// Returns the paper's heaviest load in the building with five hops, with no other values of TinyOS
/// than `sources`.
pub fn case_by(sources: &[Source], traffic: Traffic) -> Case {
    let building = Building::FiveHops;
    let (name, text) = (traffic.scene(building), building.text());
    let first = plain(name, &text, &names(), traffic, 60_000 / HEAVY).with(&PATH_LOSS);
    sources.iter().fold(first, with)
}

/// Returns half an hour of traffic in the building with five hops.
pub fn case(traffic: Traffic, load: u32) -> Case {
    case_in(Building::FiveHops, traffic, load)
}

/// Replaces the TCP of the nodes by Redpoll's TCP. Because it never opens a second connection for a
/// flow, the table of connections is small; a larger table would cost time at every event.
pub fn ours(case: &Case) -> Case {
    let case = case.clone().set("tcp.transport", "redpoll");
    case.set("tcp.connections", 64)
}

/// Returns the paper's heaviest load downstream with TinyOS's default window.
pub fn stock() -> Case {
    case(TCP_DOWN, HEAVY).set("rivals.blip_window", STOCK_WINDOW)
}

pub fn line(
    figure: &mut Figure,
    metric: Metric,
    traffic: Traffic,
    read: impl Fn(&Run) -> Reading + Clone + 'static,
) -> Line {
    let cases = LOADS.map(|load| (load, case(traffic, load)));
    figure.line(traffic.name, metric, cases, read)
}
