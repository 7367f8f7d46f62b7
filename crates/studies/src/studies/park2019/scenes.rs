//! The paper's two testbeds, and the properties of their nodes.

use std::fmt::Write as _;

use redpoll_experiments::{Case, Scene};

/// Keys of all scenes.
///
/// From the paper: 30 nodes and a border router; CC2420 radios; BLIP and TinyRPL of TinyOS 2.1.2
/// mostly unchanged; a Linux host behind the border router; segments of 38 bytes in frames of 126
/// bytes. The paper counts uncompressed headers, which 27 additional bytes per frame represent
/// here.
///
/// From TinyOS's sources:
/// - A node holds three packets, its own and forwarded ones.
/// - A frame has five attempts, 100.6 ms apart without randomness. The first backoff is up to 10
///   ms, and each one after a busy channel up to 2.4 ms, without a limit. CCA is at -77 dBm.
/// - Objective function zero counts hops, over links with an ETX of up to 3; a link's ETX is 1
///   until something was sent over it.
/// - The DIO interval is 256 ms to 262 s without suppression. Each node sends a DAO every 10 s, and
///   routers forward each DAO separately.
/// - Packets from the host have no RPL headers (here 8 bytes).
/// - The border router is a mote on a serial line of 115,200 Bd with room for one packet.
///
/// From TOSSIM's link layer model and the article behind it (Zuniga and Krishnamachari, ACM TOSN
/// 3(2), 2007): 55 dB over the first metre, an exponent of 3.0 and shadowing of 3.8 dB for the
/// aisle of a building, and the variation of power and noise between nodes.
///
/// Assumptions:
/// - Crystals are within 20 ppm. The figures show no lengths, so the positions are assumed.
/// - A byte takes 28 us between processor and radio, a full frame 3.5 ms.
/// - The mote spends 5 ms on a packet from the serial line. It has room for all routes.
/// - BLIP has the two corrections of Kim et al. 2015, of the same group, and sequence numbers that
///   differ between connections. It has one write outstanding, as the paper describes its final
///   state.
/// - A node that lost its connection opens another one after 3 s and continues at the same byte.
/// - Links do not fade, because with fading UDP would lose packets at any load.
const COMMON: &str = r#"
duration = "90 min"
routing = "rpl"

[clock]
drift_ppm = 20

[topology]
kind = "positions"

[medium]
model = "sinr"
reference_loss = "55 dB"
path_loss_exponent = 3.0
shadowing_sigma = "3.8 dB"
tx_power_sigma = "2.45 dB"
noise_sigma = "1.92 dB"
power_noise_correlation = -0.7
co_channel = "2.5 dB"
cca_threshold = "-77 dBm"

[radio]
model = "cc2420"
spi_time_per_byte = "28 us"

[mac]
backoff = "tinyos"
max_frame_retries = 4
link_retry_delay = "0 ms"
link_retry_pause = "100586 us"
security_bytes = 27

[lowpan]
slots = 3

[border]
queue = 0
serial_rate = 115200
serial_turn = "5 ms"

[rpl]
mode = "storing"
objective = "tinyrpl-of0"
dio_interval_min = 8
dio_interval_doublings = 10
dio_redundancy = 0
dis_interval = "3 s"
initial_etx = 1
probe_interval = "1 h"
tunnels = false
dao_ack = false
dao_delay = "250 ms"
dao_interval = "9766 ms"
dao_targets = 1
lifetime = "17 min"
routes = 32

[tcp]
connections = 64
"#;

/// Number of nodes, not counting the border router.
pub const NODES: usize = 30;
/// Number of nodes of testbed-1 in the room, which come first; the others are in the corridor.
pub const IN_ROOM: usize = 12;
pub const BYTES: f64 = 19_000.0;
/// Start of all flows in seconds; the mesh forms in the ten minutes before.
pub const BEGIN_S: f64 = 600.0;
pub const FLOWS: &str = "upload";
pub const READINGS: &str = "readings";

/// D_init of all runs with TAiM. The paper has no number: its authors chose one by looking at
/// bursts on the serial line. This value is calibrated. Among 12, 20, 30 and 50 ms it is the
/// greatest with which all nodes together sent 0.97 of the bytes that they send without TAiM (seeds
/// 1 to 4, without TinyOS's backoffs and parents; with both they send 0.86, over ten seeds).
pub const D_INIT: &str = "30 ms";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Testbed {
    /// A room with four by three nodes, 2 m apart, with the border router at its wall, and a
    /// corridor along it with eighteen nodes, 2 m apart.
    One,
    /// Six by five nodes, 1.8 m apart, with the border router next to the middle row.
    Two,
}

impl Testbed {
    fn power(self) -> &'static str {
        match self {
            // Transmit power from the paper's text; a caption has -12 dBm.
            Testbed::One => "-15 dBm",
            Testbed::Two => "-25 dBm",
        }
    }

    /// Returns the positions of the border router and of the nodes, in decimetres.
    fn places(self) -> ((usize, usize), Vec<(usize, usize)>) {
        match self {
            Testbed::One => {
                let room = (0..IN_ROOM).map(|at| (10 + at % 4 * 20, 10 + at / 4 * 20));
                let corridor = (0..NODES - IN_ROOM).map(|at| (10 + at * 20, 70 + at % 2 * 10));
                ((0, 20), room.chain(corridor).collect())
            }
            Testbed::Two => {
                let lattice = (0..NODES).map(|at| (18 + at % 6 * 18, at / 6 * 18));
                ((0, 36), lattice.collect())
            }
        }
    }

    fn text(self) -> String {
        let (border, nodes) = self.places();
        let place =
            |(x, y): (usize, usize)| format!("position = [\"{} cm\", \"{} cm\"]\n", x * 10, y * 10);
        let border = place(border);
        let mut text = format!("{COMMON}\n[nodes.node-1]\nrole = \"border\"\n{border}");
        for (at, node) in nodes.into_iter().enumerate() {
            let _ = write!(text, "\n[nodes.node-{}]\n{}", at + 2, place(node));
        }
        text
    }

    /// Returns the case in which all nodes send 19,000 bytes to the server over BLIP.
    pub fn tcp(self) -> Case {
        let scene = Scene {
            name: match self {
                Testbed::One => "testbed-1",
                Testbed::Two => "testbed-2",
            }
            .into(),
            text: self.text() + &uploads(),
        };
        Case::new(scene)
            .set("medium.tx_power", self.power())
            .set("tcp.transport", "blip")
            .set("border.host_transport", "linux")
            .set("rivals.blip_corrections", "counter, syn, numbers")
            .set("rivals.blip_mss", "38 B")
            .set("rivals.blip_buffer", "38 B")
    }

    /// Returns the testbed's flows with TAiM at the border router.
    pub fn taim(self) -> Case {
        taim(self.tcp())
    }

    /// Returns the case with traffic in both directions. A server with Linux's TCP sends to some
    /// nodes, which have the window of Kim et al. 2015. The other nodes send UDP datagrams.
    pub fn down(self) -> Case {
        let scene = Scene {
            name: "testbed-1-down".into(),
            text: self.text() + &both_ways(),
        };
        Case::new(scene)
            .set("duration", "20 min")
            .set("medium.tx_power", self.power())
            .set("tcp.transport", "blip")
            .set("border.host_transport", "linux")
            .set("rivals.linux_gso", "false")
            .set("rivals.blip_corrections", "counter, syn, numbers")
            .set("rivals.blip_window", "40 B")
    }

    /// Returns the case in which all nodes send `rate` datagrams per second to the border router.
    pub fn udp(self, rate: f64) -> Case {
        let scene = Scene {
            name: "testbed-1-udp".into(),
            text: self.text() + &readings(),
        };
        let interval = format!("{:.0} ms", 1_000.0 / rate);
        Case::new(scene)
            .set("duration", "20 min")
            .set("medium.tx_power", self.power())
            .set("apps.readings.interval", interval)
    }
}

/// Number of nodes of testbed-1 that receive packets in [`Testbed::down`].
const SENT_TO: usize = 15;

/// Returns the apps in TOML: each of the first nodes receives a packet of 39 bytes a second, as in
/// Kim et al. 2015, and each of the others sends a datagram every five seconds.
fn both_ways() -> String {
    let name = |node: usize| format!("\"node-{node}\"");
    let names = |nodes: std::ops::Range<usize>| nodes.map(name).collect::<Vec<_>>().join(", ");
    let (to, from) = (2..SENT_TO + 2, SENT_TO + 2..NODES + 2);
    let mut text = format!(
        r#"
[apps.sink]
type = "bulk-sink"
on = [{}]
port = 9000

[apps.readings]
type = "sensor"
transport = "udp"
on = [{}]
to = "border:9000"
reading = "62 B"
interval = "5 s"
queue = 4
start = "10 min"
start_spread = "5 s"
"#,
        names(to.clone()),
        names(from)
    );
    for node in to {
        let _ = write!(
            text,
            r#"
[apps.down-{node}]
type = "sensor"
transport = "tcp"
on = "host"
to = "node-{node}:9000"
reading = "39 B"
interval = "1 s"
queue = 4
start = "10 min"
start_spread = "1 s"
"#
        );
    }
    text
}

/// Four nodes in a line after the border router, one to four hops away, which send as much as they
/// can to the server. Each node receives only from its neighbours, and only collisions lose frames.
const LINE: &str = r#"
duration = "190 s"

[topology]
kind = "line"
nodes = 5
spacing = "40 m"

[nodes.node-1]
role = "border"

[apps.sink]
type = "bulk-sink"
on = "host"
port = 9000

[apps.upload]
type = "bulk-sender"
on = ["node-2", "node-3", "node-4", "node-5"]
to = "host:9000"
start = "10 s"
start_spread = "1 s"
"#;

/// Start of the line's flows, in seconds.
pub const LINE_BEGIN_S: u32 = 10;
pub const LINE_NODES: usize = 4;

/// Returns the line with Redpoll's default TCP at nodes and server.
pub fn line() -> Case {
    Case::new(Scene {
        name: "line-4".into(),
        text: LINE.into(),
    })
}

/// Returns the line with one segment of 38 bytes in flight, as in BLIP, and a server that
/// acknowledges each segment at once. With BLIP's own timers all four flows have the same speed.
pub fn line_of_one_segment() -> Case {
    line()
        .set("tcp.transport", "one-segment")
        .set("tcp.ack_every", "1")
        .set("rivals.segment_mss", "38 B")
}

/// The line in which the first and the third node have one segment of 462 bytes in flight, the
/// length of Redpoll's own segments, and the others have Redpoll's default TCP.
const LINE_OF_BOTH: &str = r#"
duration = "190 s"

[rivals]
segment_mss = "462 B"

[topology]
kind = "line"
nodes = 5
spacing = "40 m"

[nodes.node-1]
role = "border"

[nodes.node-2]
transport = "one-segment"

[nodes.node-4]
transport = "one-segment"

[apps.sink]
type = "bulk-sink"
on = "host"
port = 9000

[apps.one]
type = "bulk-sender"
on = ["node-2", "node-4"]
to = "host:9000"
start = "10 s"
start_spread = "1 s"

[apps.others]
type = "bulk-sender"
on = ["node-3", "node-5"]
to = "host:9000"
start = "10 s"
start_spread = "1 s"
"#;

pub fn line_of_both() -> Case {
    Case::new(Scene {
        name: "line-4-both".into(),
        text: LINE_OF_BOTH.into(),
    })
}

/// The rule by which the border router decides when it forwards a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtBorder {
    /// No rule: the border router forwards packets at once.
    Unruled,
    /// TAiM, with the D_init of the other figures.
    Taim,
    /// Deficit round robin, one packet per D_init.
    Drr,
    /// FQ-CoDel, one packet per D_init.
    FqCodel,
    FqCodelAlone,
    Lead,
}

impl AtBorder {
    pub const ALL: [AtBorder; 6] = [
        AtBorder::Unruled,
        AtBorder::Taim,
        AtBorder::Drr,
        AtBorder::FqCodel,
        AtBorder::FqCodelAlone,
        AtBorder::Lead,
    ];

    pub fn name(self) -> &'static str {
        match self {
            AtBorder::Unruled => "without",
            AtBorder::Taim => "TAiM",
            AtBorder::Drr => "DRR",
            AtBorder::FqCodel => "FQ-CoDel",
            AtBorder::FqCodelAlone => "FQ-CoDel, no shaper",
            AtBorder::Lead => "lead",
        }
    }

    pub fn of(self, case: Case) -> Case {
        let fair_queue = |kind, spacing| {
            let case = case.clone().set("border.fair_queue", kind);
            case.set("fair_queue.spacing", spacing)
        };
        match self {
            AtBorder::Unruled => case,
            AtBorder::Taim => taim(case),
            AtBorder::Drr => fair_queue("drr", D_INIT),
            AtBorder::FqCodel => fair_queue("fq-codel", D_INIT),
            AtBorder::FqCodelAlone => fair_queue("fq-codel", "0 ms"),
            AtBorder::Lead => case.set("border.taim", "true").set("taim.policy", "lead"),
        }
    }
}

pub fn taim(case: Case) -> Case {
    case.set("border.taim", "true")
        .set("taim.initial_delay", D_INIT)
}

fn all_nodes() -> String {
    let names: Vec<String> = (2..NODES + 2)
        .map(|node| format!("\"node-{node}\""))
        .collect();
    names.join(", ")
}

fn uploads() -> String {
    format!(
        r#"
[apps.sink]
type = "bulk-sink"
on = "host"
port = 9000

[apps.upload]
type = "bulk-sender"
on = [{}]
to = "host:9000"
total = "19000 B"
resume = true
start = "10 min"
start_spread = "1 s"
"#,
        all_nodes()
    )
}

/// Returns apps whose datagrams need frames as long as the frames of a segment.
fn readings() -> String {
    format!(
        r#"
[apps.readings]
type = "sensor"
transport = "udp"
on = [{}]
to = "border:9000"
reading = "62 B"
queue = 4
start = "10 min"
"#,
        all_nodes()
    )
}
