//! The paper's two testbeds, and what their nodes are.

use std::fmt::Write as _;

use redpoll_experiments::{Case, Scene};

/// What all scenes have.
///
/// From the paper: 30 nodes and a border router, CC2420 radios, BLIP and TinyRPL of TinyOS
/// 2.1.2 mostly as they are, a Linux host behind the border router; segments of 38 bytes in
/// frames of 126 bytes, for it counts headers that are not compressed (here 27 bytes more
/// a frame stand for that).
///
/// From TinyOS's sources: three packets in a node, whether it sends or forwards them; five
/// attempts a frame, 100.6 ms apart with nothing random; backoffs of up to 10 ms first and of
/// up to 2.4 ms after a busy channel, as often as it is; CCA at -77 dBm; objective function zero
/// that counts hops, over links of an ETX of up to 3, which are taken for 1 until something
/// was sent over them; a DIO interval from 256 ms to 262 s without suppression; each node's DAO
/// each 10 s, passed on by itself; packets from the host without RPL's headers (here with 8
/// bytes of them); a border router made of a mote at a serial line of 115,200 Bd that has room
/// for one packet at a time.
///
/// From TOSSIM's link layer model and the article behind it (Zuniga and Krishnamachari, ACM
/// TOSN 3(2), 2007): 55 dB over the first metre, exponent 3.0 and shadowing of 3.8 dB for
/// the aisle of a building, and how powers and noise of nodes differ.
///
/// Assumptions: crystals within 20 ppm; where the nodes stand (the figures show no lengths); 28 us a byte between
/// processor and radio, 3.5 ms a full frame; 5 ms that the mote has to do with a packet from
/// the serial line; room for all routes;
/// the two corrections of BLIP that Kim et al. 2015 made, of the same group, and sequence
/// numbers that differ between connections; one write outstanding, as the paper says that
/// BLIP has in the end; a node whose connection was lost opens another after 3 s and goes
/// on where it was. Links do not fade: UDP's would lose packets at any load.
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

/// Nodes beside the border router.
pub const NODES: usize = 30;
/// Of testbed-1 the first so many stand in the room, the others in the corridor.
pub const IN_ROOM: usize = 12;
/// What each sends, in bytes.
pub const BYTES: f64 = 19_000.0;
/// When all begin, in seconds: ten minutes are for the mesh to form.
pub const BEGIN_S: f64 = 600.0;
/// What the flows' names begin with.
pub const FLOWS: &str = "upload";
/// The flows of datagrams.
pub const READINGS: &str = "readings";

/// D_init of all runs with TAiM, for which the paper has no number: it chose one by looking
/// at bursts on the serial line. It is calibrated: of 12, 20, 30 and 50 ms the greatest with
/// which the nodes together got 0.97 of what they got without TAiM, with seeds 1 to 4, before the
/// scenes had TinyOS's backoffs and parents. With those they get 0.86 over ten seeds.
pub const D_INIT: &str = "30 ms";

/// A testbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Testbed {
    /// A room of four by three nodes, 2 m apart, the border router at its wall, and a
    /// corridor of eighteen nodes along it, 2 m apart.
    One,
    /// Six by five nodes, 1.8 m apart, the border router beside the middle row.
    Two,
}

impl Testbed {
    fn power(self) -> &'static str {
        match self {
            // The text; a caption has -12 dBm.
            Testbed::One => "-15 dBm",
            Testbed::Two => "-25 dBm",
        }
    }

    /// The border router and the nodes, in decimetres.
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

    /// All nodes send 19,000 bytes to the server, as BLIP does.
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

    /// The testbed's flows with TAiM at the border router.
    pub fn taim(self) -> Case {
        taim(self.tcp())
    }

    /// Some nodes are sent packets by a server with Linux's rules, and have Kim et al.'s
    /// window; the others send datagrams.
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

    /// All nodes send so many datagrams a second to the border router.
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

/// How many nodes of testbed-1 are sent packets, where others send datagrams.
const SENT_TO: usize = 15;

/// A packet of 39 bytes a second for each of the first nodes, as Kim et al. 2015 had them, and a
/// datagram each five seconds from each of the others.
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

/// Four nodes in a line behind the border router, each of which sends what it can to the
/// server: one hop away, two, three and four. They hear their neighbours alone; nothing is lost
/// but where two of them send at once.
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

/// When the nodes of the line begin, in seconds.
pub const LINE_BEGIN_S: u32 = 10;
/// Nodes that send there.
pub const LINE_NODES: usize = 4;

/// The line, with Redpoll's TCP at nodes and server as it is shipped.
pub fn line() -> Case {
    Case::new(Scene {
        name: "line-4".into(),
        text: LINE.into(),
    })
}

/// The line with one segment of 38 bytes under way, as BLIP has, and a server that acknowledges
/// each at once. With BLIP's own timers all four flows are as fast.
pub fn line_of_one_segment() -> Case {
    line()
        .set("tcp.transport", "one-segment")
        .set("tcp.ack_every", "1")
        .set("rivals.segment_mss", "38 B")
}

/// The line, of which the first and the third node have one segment of 462 bytes under way, as
/// long as Redpoll's own, and the others Redpoll's TCP as it is shipped.
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

/// See [`LINE_OF_BOTH`].
pub fn line_of_both() -> Case {
    Case::new(Scene {
        name: "line-4-both".into(),
        text: LINE_OF_BOTH.into(),
    })
}

/// Who decides at the border router when packets cross it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtBorder {
    /// Nobody: they cross at once.
    Nobody,
    /// TAiM, with the D_init of the other figures.
    Taim,
    /// Deficit round robin, a packet each D_init.
    Drr,
    /// FQ-CoDel, a packet each D_init.
    FqCodel,
    /// FQ-CoDel without a shaper.
    FqCodelAlone,
    /// TAiM's successor.
    Lead,
}

impl AtBorder {
    /// All of them.
    pub const ALL: [AtBorder; 6] = [
        AtBorder::Nobody,
        AtBorder::Taim,
        AtBorder::Drr,
        AtBorder::FqCodel,
        AtBorder::FqCodelAlone,
        AtBorder::Lead,
    ];

    /// The name of its series.
    pub fn name(self) -> &'static str {
        match self {
            AtBorder::Nobody => "without",
            AtBorder::Taim => "TAiM",
            AtBorder::Drr => "DRR",
            AtBorder::FqCodel => "FQ-CoDel",
            AtBorder::FqCodelAlone => "FQ-CoDel, no shaper",
            AtBorder::Lead => "lead",
        }
    }

    /// `case` with it.
    pub fn of(self, case: Case) -> Case {
        let fair_queue = |kind, spacing| {
            let case = case.clone().set("border.fair_queue", kind);
            case.set("fair_queue.spacing", spacing)
        };
        match self {
            AtBorder::Nobody => case,
            AtBorder::Taim => taim(case),
            AtBorder::Drr => fair_queue("drr", D_INIT),
            AtBorder::FqCodel => fair_queue("fq-codel", D_INIT),
            AtBorder::FqCodelAlone => fair_queue("fq-codel", "0 ms"),
            AtBorder::Lead => case.set("border.taim", "true").set("taim.policy", "lead"),
        }
    }
}

/// A case with TAiM.
pub fn taim(case: Case) -> Case {
    case.set("border.taim", "true")
        .set("taim.initial_delay", D_INIT)
}

fn everybody() -> String {
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
        everybody()
    )
}

/// Datagrams whose frames are as long as those of a segment.
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
        everybody()
    )
}
