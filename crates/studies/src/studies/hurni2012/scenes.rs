//! The paper's chain, its four MACs and its six variants.

use std::fmt::Write as _;

use redpoll_experiments::{Case, Scene};
use redpoll_experiments::{Figure, Gap, Handle, Line, Metric, Reading, Run};

/// Share in percent of the frames that arrive over each link of the chain while no other node
/// sends. The paper gives 75 % and more. This value is calibrated only by the rows
/// `6e/nullmac-least` and `6e/nullmac-greatest`: the greatest whole percent with which both hold.
const LINK_PERCENT: u32 = 95;
/// Share in percent of the frames that arrive over better links, for comparison.
const BETTER_PERCENT: u32 = 99;

/// Pairs of nodes two hops apart whose frames disturb each other. The paper names the pair 3 and 5
/// as an example of "some" such pairs.
const NEAR: [(u32, u32); 3] = [(1, 3), (3, 5), (5, 7)];

/// Keys of all scenes: seven nodes in a chain with the receiver at its end.
///
/// Settings that the paper leaves open, and that are chosen here:
/// - Contiki 2.5 with its defects.
/// - X-MAC is its `cxmac.c`. Frames after the strobes are not acknowledged, as the paper says.
/// - NullMAC has no link acknowledgments, as on these nodes.
/// - Three transmissions per frame, given routes, one queue of eight packets, crystals within 20
///   ppm.
/// - Frames have the paper's 79 and 63 bytes, including the synchronisation header;
///   `mac.security_bytes` adds the difference to the compressed headers here. Frames of the first
///   and the last hop are two or three bytes shorter; X-MAC's strobes and LPP's probes are fifteen
///   longer. ContikiMAC's own header adds two bytes, LPP's six.
const COMMON: &str = r#"
duration = "600 s"

[clock]
drift_ppm = 20

[radio]
model = "cc2420"

[mac]
release = "contiki-2.5"
transmissions = 3
security_bytes = 15

[lowpan]
slots = 8

[tcp]
transport = "uip-2.5"

[rivals]
uip_mss = "16 B"
uip_forwarding = true

[apps.sink]
type = "bulk-sink"
on = "node-1"
port = 5001

[apps.first]
type = "bulk-sender"
to = "node-1:5001"
on = "node-7"

[apps.second]
type = "bulk-sender"
to = "node-1:5001"
on = "node-7"
when = "never"
"#;

/// The chain with a radio model and given routes.
const FADING: &str = r#"
[topology]
kind = "line"
nodes = 7
spacing = "10 m"

[medium]
model = "sinr"
tx_power = "-15 dBm"
sensitivity = "-94 dBm"
cca_threshold = "-90 dBm"
fading = "rician"
coherence_time = "1 ms"
"#;

const SEGMENT: f64 = 16.0;

const NODES: u32 = 7;

pub const HOPS: [u32; 5] = [2, 3, 4, 5, 6];

fn scene(percent: u32) -> Scene {
    let mut links: Vec<String> = (1..NODES)
        .map(|node| format!("\"node-{node} <-> node-{}, {percent} %\"", node + 1))
        .collect();
    links.extend(NEAR.map(|(a, b)| format!("\"node-{a} <-> node-{b}, 0 %\"")));
    let mut text = format!(
        "{COMMON}\n[topology]\nkind = \"links\"\nlinks = [\n    {},\n]\n",
        links.join(",\n    ")
    );
    for node in 1..=NODES {
        let _ = write!(text, "\n[nodes.node-{node}]\nrole = \"router\"\n");
    }
    Scene {
        name: match percent {
            LINK_PERCENT => "chain-7",
            _ => "chain-7-better",
        }
        .into(),
        text,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mac {
    pub name: &'static str,
    pub word: &'static str,
    pub letter: &'static str,
    access: &'static str,
    /// Whether radios accept frames for other nodes, which an address filter would drop. The paper
    /// says that nodes hear X-MAC's strobes for other nodes, which reserve the channel.
    overhears: bool,
}

pub const NULLMAC: Mac = Mac {
    name: "NullMAC",
    word: "nullmac",
    letter: "a",
    access: "nullrdc",
    overhears: false,
};
/// The sender transmits strobes before each frame.
pub const XMAC: Mac = Mac {
    name: "X-MAC",
    word: "xmac",
    letter: "b",
    access: "cx-mac",
    overhears: true,
};
/// The sender repeats each frame, at the known wake-up time of the receiver.
pub const CONTIKIMAC: Mac = Mac {
    name: "ContikiMAC",
    word: "contikimac",
    letter: "c",
    access: "contikimac",
    overhears: false,
};
/// LPP, whose receiver announces the times at which it listens.
pub const LPP: Mac = Mac {
    name: "LPP",
    word: "lpp",
    letter: "d",
    access: "lpp",
    overhears: false,
};
pub const MACS: [Mac; 4] = [NULLMAC, XMAC, CONTIKIMAC, LPP];

/// The techniques that a variant adds to uIP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    pub name: &'static str,
    cache: bool,
    activity: bool,
    dual: bool,
}

pub const UNMODIFIED: Variant = Variant {
    name: "unmodified",
    cache: false,
    activity: false,
    dual: false,
};
pub const CCTRL: Variant = Variant {
    name: "cctrl",
    cache: true,
    ..UNMODIFIED
};
/// The cache, with timeouts that depend on the overheard activity.
pub const ACTIVITY: Variant = Variant {
    name: "cctrl + activity",
    activity: true,
    ..CCTRL
};
pub const DUAL: Variant = Variant {
    name: "dual",
    dual: true,
    ..UNMODIFIED
};
pub const CCTRL_DUAL: Variant = Variant {
    name: "cctrl + dual",
    dual: true,
    ..CCTRL
};
/// Two connections and the cache with activity monitoring.
pub const ALL: Variant = Variant {
    name: "all",
    dual: true,
    ..ACTIVITY
};
pub const VARIANTS: [Variant; 6] = [UNMODIFIED, CCTRL, ACTIVITY, DUAL, CCTRL_DUAL, ALL];

/// Returns ten minutes in which the node at this hop distance sends as much as it can.
pub fn case(mac: Mac, variant: Variant, hops: u32) -> Case {
    let sender = format!("node-{}", hops + 1);
    let case = Case::new(scene(LINK_PERCENT)).set("mac.access", mac.access);
    let case = if mac.overhears {
        case.set("mac.overhears", "true")
    } else {
        case
    };
    let case = case
        .set("apps.first.on", &sender)
        .set("apps.second.on", &sender);
    variant.of(case)
}

impl Variant {
    pub fn of(self, case: Case) -> Case {
        let case = if self.cache {
            case.set("cache.on", "every node")
                .set("cache.by_activity", self.activity)
        } else {
            case
        };
        if self.dual {
            case.set("apps.second.when", "always")
        } else {
            case
        }
    }
}

pub fn over_better_links(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).in_scene(scene(BETTER_PERCENT))
}

/// Returns [`case`] over fading links, where radios receive the stronger of two frames.
///
/// Nodes are 10 m apart: a frame arrives at the next node with 15 dB over the noise, and at the
/// second next node only if the gain is high. The gain differs from frame to frame. Power and gain
/// are calibrated: with them NullMAC carried two to three times as much as X-MAC, in a model whose
/// processor is not blocked while it sends. The channel is busy from -90 dBm on, as in Contiki 3.0.
/// With the -77 dBm of Contiki 2.5 no node would hear another, and ContikiMAC, whose receivers wake
/// up by this test, would carry nothing.
pub fn over_fading_links(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).in_scene(Scene {
        name: "chain-7-fading".into(),
        text: format!("{COMMON}{FADING}"),
    })
}

/// Returns the chain with one transmission per frame.
pub fn without_retries(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).set("mac.transmissions", 1)
}

/// Returns the chain with a cache that retransmits after half of the paper's time.
pub fn with_early_copies(mac: Mac, hops: u32) -> Case {
    case(mac, CCTRL, hops).set("cache.timeout_factor", 1.5)
}

/// Returns the chain with caches that do not overhear frames for other nodes, as with the radio's
/// address decoding. Contiki 2.5 enables it on these nodes, but the paper says that nodes hear
/// these frames.
pub fn with_filter(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).set("cache.overhears", "false")
}

/// Returns the chain with routers that forward packets they have already forwarded.
pub fn without_memory(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).set("rivals.uip_forwarding", "false")
}

/// Returns the chain with Redpoll's TCP and headers, without or with the cache.
///
/// The segment size depends on the MAC: one frame over NullMAC and X-MAC, which never retransmit a
/// lost frame; 48 bytes, uIP's maximum on these nodes, over ContikiMAC; the default over LPP.
pub fn redpoll(mac: Mac, hops: u32, cache: bool) -> Case {
    let case = redpoll_by_default(mac, hops, cache);
    match mac {
        NULLMAC | XMAC => case.set("tcp.mss", "1 frames"),
        CONTIKIMAC => case.set("tcp.mss", "48 B"),
        _ => case,
    }
}

/// Returns the chain with Redpoll's TCP and segments of five frames.
pub fn redpoll_by_default(mac: Mac, hops: u32, cache: bool) -> Case {
    let variant = Variant {
        cache,
        ..UNMODIFIED
    };
    case(mac, variant, hops)
        .set("tcp.transport", "redpoll")
        .set("rivals.uip_forwarding", "false")
        .set("mac.security_bytes", 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub name: &'static str,
    pub word: &'static str,
}

pub const EARLIER: [Rules; 2] = [
    Rules {
        name: "DTC",
        word: "dtc",
    },
    Rules {
        name: "TSS",
        word: "tss",
    },
];

pub fn tss_quiet(case: Case) -> Case {
    EARLIER[1].of(case).set("cache.acknowledge_again", "false")
}

impl Rules {
    /// Adds a cache with these rules to every router of `case`.
    pub fn of(self, case: Case) -> Case {
        let case = case.set("cache.on", "every node");
        case.set("cache.rules", self.word)
    }
}

pub const SEGMENTS: Metric = Metric::new("segments", "");
/// Radio-on time of the sender, the receiver and the routers between them, per received segment.
pub const RADIO: Metric = Metric::new("radio on", "s per segment");

pub fn segments(run: &Run) -> Reading {
    Ok(bytes(run)? / SEGMENT)
}

pub fn bytes(run: &Run) -> Reading {
    run.flow_sum("", "/delivered_bytes")
}

/// Returns the radio-on time of all nodes from the sender to the receiver, in seconds.
pub fn radio_on(run: &Run) -> Reading {
    let flows = run.flows("")?;
    let from = flows.first().and_then(|flow| flow["from"].as_str());
    let nodes = run.nodes("node")?;
    let sender = nodes.iter().position(|node| node["name"].as_str() == from);
    let sender = sender.ok_or(Gap::Nothing)?;
    let shares = redpoll_experiments::numbers(&nodes[..=sender], "/radio_duty_cycle")?;
    Ok(shares.iter().sum::<f64>() * run.number("/simulated_s")?)
}

pub fn radio_on_a_segment(run: &Run) -> Reading {
    let segments = segments(run)?;
    if segments > 0.0 {
        Ok(radio_on(run)? / segments)
    } else {
        Err(Gap::Nothing)
    }
}

pub fn line(
    figure: &mut Figure,
    series: &str,
    metric: Metric,
    case: impl Fn(u32) -> Case,
    read: fn(&Run) -> Reading,
) -> Line {
    let cases = HOPS.map(|hops| (hops, case(hops)));
    figure.line(series, metric, cases, read)
}

/// Adds a line with a point for each of 2 to 6 hops. The study's page collapses the rows of these
/// points.
pub fn aside(
    figure: &mut Figure,
    series: &str,
    metric: Metric,
    case: impl Fn(u32) -> Case,
    read: fn(&Run) -> Reading,
) -> Line {
    let line = line(figure, series, metric, case, read);
    for handle in line.all() {
        figure.row(handle).aside();
    }
    line
}

/// Copies that the caches sent per hundred segments that arrived.
pub const COPIES: Metric = Metric::new("copies sent", "per 100 segments");
/// Share of time with the radio on, over the nodes from sender to receiver.
pub const ON: Metric = Metric::new("radio on", "%");

pub fn copies(run: &Run) -> Reading {
    let segments = segments(run)?;
    if segments > 0.0 {
        Ok(100.0 * run.node_sum("node", "/cache/repeated")? / segments)
    } else {
        Err(Gap::Nothing)
    }
}

pub fn on(run: &Run) -> Reading {
    let flows = run.flows("")?;
    let from = flows.first().and_then(|flow| flow["from"].as_str());
    let nodes: f64 = from
        .and_then(|name| name.strip_prefix("node-")?.parse().ok())
        .ok_or(Gap::Nothing)?;
    Ok(100.0 * radio_on(run)? / (nodes * run.number("/simulated_s")?))
}

/// Returns the rows of two series at the same numbers of hops: first all of `one`, then all of
/// `other`.
pub fn beside(one: &Line, other: &Line, hops: &[u32]) -> Vec<Handle> {
    let of = |line: &Line| line.some(hops.iter().copied());
    of(one).into_iter().chain(of(other)).collect()
}

/// Returns the ratios of `one` to `other` for the values of the rows from [`beside`], one ratio per
/// number of hops.
pub fn ratios(all: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let (one, other) = all.split_at(all.len() / 2);
    one.iter().zip(other).map(|(one, other)| one / other)
}

pub fn ratio_of_means(all: &[f64]) -> f64 {
    let (one, other) = all.split_at(all.len() / 2);
    one.iter().sum::<f64>() / other.iter().sum::<f64>()
}

pub fn least(all: &[f64]) -> f64 {
    ratios(all).fold(f64::INFINITY, f64::min)
}

pub fn greatest(all: &[f64]) -> f64 {
    ratios(all).fold(f64::NEG_INFINITY, f64::max)
}
