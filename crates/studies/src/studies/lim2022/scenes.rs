//! The paper's grid, its three MACs and its two timers.

use redpoll_experiments::{At, Case, Scene};
use redpoll_experiments::{Entry, Figure, Handle, Line, Metric, Reading, Run, VERDICT};

/// Keys of all scenes: four by four nodes, 40 m apart, with the border router in a corner. The 15
/// other nodes send segments of 48 bytes to a server behind the border router. The server's TCP
/// follows the rules of Linux.
///
/// Settings that the paper leaves open, and that are chosen here:
/// - The mesh forms for 60 s, and the nodes start one after the other during the next 10 s.
/// - A node makes readings at fixed intervals with its own phase. Its application's queue holds all
///   waiting readings.
/// - The border router holds four packets, and drops packets from the serial line if it is full.
/// - RPL is that of Contiki 3.0, with [`SOURCES`]. Carriers are sensed up to [`CARRIER_SENSE`].
const GRID: &str = r#"
duration = "670 s"
routing = "rpl"

[topology]
kind = "grid"
columns = 4
rows = 4
spacing = "40 m"

[medium]
model = "unit-disk"
interference_range = "100 m"

[rpl]
mode = "storing"
dio_interval_min = 12
dio_interval_doublings = 8
dio_redundancy = 10
min_hop_rank_increase = 256
max_rank_increase = 1792
dao_ack = false
dtsn_each_dio = true
dao_delay = "4 s"
probe_interval = "120 s"
dis_interval = "60 s"
routes = 20

[lowpan]
slots = 4

[border]
queue = 0

[tcp]
connections = 200

[nodes.node-1]
role = "border"

[apps.server]
type = "bulk-sink"
on = "host"
port = 9000

[apps.readings]
type = "sensor"
on = [
    "node-2", "node-3", "node-4", "node-5", "node-6", "node-7", "node-8", "node-9",
    "node-10", "node-11", "node-12", "node-13", "node-14", "node-15", "node-16",
]
to = "host:9000"
transport = "tcp"
reading = "48 B"
queue = 1024
start = "60 s"
start_spread = "10 s"
"#;

/// Carrier sense range as a share of the transmission range. Cooja's signal falls linearly from -10
/// dBm at the sender to -95 dBm at the end of the range. The emulated radio gets whole dBm, rounded
/// towards zero, and senses signals of at least the -90 dBm of Contiki 3.0, so up to the point
/// where the signal is -91 dBm.
const CARRIER_SENSE: f64 = (91.0 - 10.0) / (95.0 - 10.0);

pub const RANGES: [u32; 6] = [50, 60, 70, 80, 90, 100];

#[derive(Clone, Copy)]
pub struct Load {
    pub letter: &'static str,
    pub a_minute: u32,
}

pub const LOADS: [Load; 3] = [
    Load {
        letter: "a",
        a_minute: 5,
    },
    Load {
        letter: "b",
        a_minute: 10,
    },
    Load {
        letter: "c",
        a_minute: 20,
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mac {
    /// Radios always on; each frame has one channel assessment and at most one transmission.
    NullRdc,
    /// ContikiMAC with this number of wake-ups per second.
    ContikiMac(u32),
}

impl Mac {
    pub const ALL: [Mac; 3] = [Mac::NullRdc, Mac::ContikiMac(8), Mac::ContikiMac(16)];

    pub fn name(self) -> String {
        match self {
            Mac::NullRdc => "NullRDC".to_owned(),
            Mac::ContikiMac(hz) => format!("{hz} Hz"),
        }
    }

    pub fn word(self) -> String {
        self.name().to_lowercase().replace(' ', "")
    }

    fn of(self, case: Case) -> Case {
        let case = case.set("mac.release", "contiki-3.0");
        match self {
            Mac::NullRdc => case.set("mac.access", "nullrdc"),
            Mac::ContikiMac(hz) => case
                .set("mac.access", "contikimac")
                .set("mac.check_rate", hz)
                // Contiki's border router keeps its radio on.
                .set("mac.border_awake", "true"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    pub name: &'static str,
    pub word: &'static str,
    transport: &'static str,
}

pub const UIP: Tcp = Tcp {
    name: "uIP",
    word: "uip",
    transport: "uip-3.0",
};
/// uIP with the retransmission timer of the author's earlier work.
pub const LIM: Tcp = Tcp {
    name: "Lim",
    word: "lim",
    transport: "uip-lim",
};
pub const REDPOLL: Tcp = Tcp {
    name: "Redpoll",
    word: "redpoll",
    transport: "redpoll",
};
/// Reason for which a statement holds for only one of the two timers.
pub const OTHER_TIMER: &str = "the paper does not state whether its figures use uIP's or Lim's \
    timer; with the other of the two timers, this row holds";

pub const TIMERS: [Tcp; 2] = [UIP, LIM];

/// A property of Contiki 3.0 that differs from [`GRID`], and the scenario keys that imitate it.
pub struct Source {
    pub name: &'static str,
    keys: &'static [(&'static str, &'static str)],
}

/// Properties of Contiki 3.0 that differ from [`GRID`]. Figure `sources` shows the effect of each.
///
/// Contiki's nodes have addresses of 8 bytes. The frame of a segment has 103 bytes at its source
/// and 120 when forwarded, that of an acknowledgment downwards 64 to 72. With short addresses and
/// without outer headers the lengths here are 106 and 109, 59 and 61. With addresses of 8 bytes
/// they are 126 and 127, 71 and 79, because the host has no compressible prefix and a source adds
/// RPL's option itself. With short addresses and 8 more bytes per frame they are 114 and 117, 67
/// and 69. Over the hops of this grid, a segment and its acknowledgment together then have as many
/// bytes as in Contiki.
pub const SOURCES: [Source; 3] = [
    Source {
        name: "frames as long as Contiki's",
        keys: &[("mac.security_bytes", "8")],
    },
    // Routers add headers to the packet itself, without a tunnel.
    Source {
        name: "no outer headers",
        keys: &[("rpl.tunnels", "false")],
    },
    Source {
        name: "a hysteresis of 0.5 ETX for parents",
        keys: &[("rpl.switch_threshold", "0.5")],
    },
];

/// A rejected way to make frames as long as Contiki's: with it, the frames are longer.
pub const ADDRESSES: Source = Source {
    name: "addresses of 8 bytes",
    keys: &[("mac.addresses", "extended")],
};

/// Properties of Contiki 3.0 that the scenes use. If the paper does not state a value, that of its
/// release of Contiki is used, whatever the effect on the rows.
const ADOPTED: &[Source] = &SOURCES;

/// Returns ten minutes of the grid with the properties of Contiki in [`ADOPTED`].
pub fn case(tcp: Tcp, mac: Mac, load: Load, range_m: u32) -> Case {
    case_by(ADOPTED, tcp, mac, load, range_m)
}

/// Returns ten minutes of the grid with no other properties of Contiki than `sources`.
pub fn case_by(sources: &[Source], tcp: Tcp, mac: Mac, load: Load, range_m: u32) -> Case {
    let scene = Scene {
        name: "grid-4x4".into(),
        text: GRID.to_owned(),
    };
    let carrier_m = CARRIER_SENSE * f64::from(range_m);
    let interval_ms = 60_000 / load.a_minute;
    let first = mac
        .of(Case::new(scene))
        .set("medium.transmission_range", format!("{range_m} m"))
        .set("medium.carrier_sense_range", format!("{carrier_m:.1} m"))
        .set("tcp.transport", tcp.transport)
        .set("border.host_transport", "linux")
        .set("apps.readings.interval", format!("{interval_ms} ms"));
    sources
        .iter()
        .fold(first, |case, source| case.with(source.keys))
}

/// Returns a case of the figures in which carriers are sensed as far as frames reach.
pub fn with_full_sense(tcp: Tcp, mac: Mac, load: Load, range_m: u32) -> Case {
    case(tcp, mac, load, range_m).set("medium.carrier_sense_range", format!("{range_m} m"))
}

/// Adds a line over all ranges for a TCP over a MAC.
fn line(
    figure: &mut Figure,
    metric: Metric,
    tcp: Tcp,
    mac: Mac,
    load: Load,
    read: impl Fn(&Run) -> Reading + Clone + 'static,
) -> Line {
    let series = format!("{}, {}", tcp.name, mac.name());
    let cases = RANGES.map(|range_m| (range_m, case(tcp, mac, load, range_m)));
    figure.line(&series, metric, cases, read)
}

/// Adds lines over all ranges for each timer, in the order of [`TIMERS`], and each MAC.
pub fn lines(
    figure: &mut Figure,
    metric: Metric,
    load: Load,
    read: impl Fn(&Run) -> Reading + Clone + 'static,
) -> [[Line; 3]; 2] {
    TIMERS.map(|tcp| Mac::ALL.map(|mac| line(figure, metric, tcp, mac, load, read.clone())))
}

pub fn segments(run: &Run) -> Reading {
    run.flow_sum("readings", "/readings/delivered")
}

/// Adds a verdict of a figure about a TCP, computed from the rows of this TCP.
pub fn verdict<'f>(
    figure: &'f mut Figure,
    tcp: &'static str,
    what: &'static str,
    of: &[Handle],
    make: impl Fn(&[f64]) -> f64 + 'static,
) -> Entry<'f> {
    figure.made_of_all(At::new(VERDICT, tcp), Metric::new(what, ""), of, make)
}
