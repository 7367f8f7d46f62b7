//! The paper's chain, its four MACs and six variants.

use std::fmt::Write as _;

use redpoll_experiments::{Case, Scene};
use redpoll_experiments::{Figure, Gap, Handle, Line, Metric, Reading, Run};

/// Share of the frames that arrive over each link of the chain while nothing else is sent,
/// in percent. The paper gives 75 % and more; this is calibrated by the rows
/// `6e/nullmac-least` and `6e/nullmac-greatest`, and by no other: the best whole percent with
/// which both hold.
const LINK_PERCENT: u32 = 95;
/// Share of the frames that arrive over better links, to compare with, in percent.
const BETTER_PERCENT: u32 = 99;

/// Pairs that hear each other over one node, and whose frames destroy each other's: the
/// paper names 3 and 5 as one of "some".
const NEAR: [(u32, u32); 3] = [(1, 3), (3, 5), (5, 7)];

/// Seven nodes in a chain, the receiver at its end.
///
/// Left open by the paper, and chosen here: Contiki 2.5 with its defects; X-MAC as its
/// `cxmac.c`, whose frames behind the strobes are not acknowledged, as the paper says they
/// are not; NullMAC without link acknowledgments, as it is on these nodes; three
/// transmissions; given routes; one queue of eight packets; crystals within 20 ppm. Frames have the paper's 79 and
/// 63 bytes, their synchronisation header included, by what `mac.security_bytes` adds to
/// the compressed headers here; those of the first and the last hop are two or three bytes
/// shorter, X-MAC's strobes and LPP's probes fifteen longer; by headers of their own, ContikiMAC's
/// frames are two bytes longer and LPP's six.
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

/// The chain with a radio model of its own, and given routes as well.
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

/// Bytes of a segment.
const SEGMENT: f64 = 16.0;

/// Nodes of the chain.
const NODES: u32 = 7;

/// Hops from sender to receiver.
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

/// A MAC of the paper.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mac {
    /// Its name in series.
    pub name: &'static str,
    /// Its word in the criteria.
    pub word: &'static str,
    /// The letter behind its figures' numbers.
    pub letter: &'static str,
    access: &'static str,
    /// Radios pass on frames for others, which their filter would keep back: the paper says
    /// that X-MAC's strobes for other nodes are heard, and reserve the channel.
    overhears: bool,
}

/// Radios always on.
pub const NULLMAC: Mac = Mac {
    name: "NullMAC",
    word: "nullmac",
    letter: "a",
    access: "nullrdc",
    overhears: false,
};
/// Strobes before each frame.
pub const XMAC: Mac = Mac {
    name: "X-MAC",
    word: "xmac",
    letter: "b",
    access: "cx-mac",
    overhears: true,
};
/// Frames that are repeated, at known phases.
pub const CONTIKIMAC: Mac = Mac {
    name: "ContikiMAC",
    word: "contikimac",
    letter: "c",
    access: "contikimac",
    overhears: false,
};
/// Receivers that say when they listen.
pub const LPP: Mac = Mac {
    name: "LPP",
    word: "lpp",
    letter: "d",
    access: "lpp",
    overhears: false,
};
/// All of them.
pub const MACS: [Mac; 4] = [NULLMAC, XMAC, CONTIKIMAC, LPP];

/// What helps uIP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Its name in series.
    pub name: &'static str,
    cache: bool,
    activity: bool,
    dual: bool,
}

/// Nothing.
pub const UNMODIFIED: Variant = Variant {
    name: "unmodified",
    cache: false,
    activity: false,
    dual: false,
};
/// The cache.
pub const CCTRL: Variant = Variant {
    name: "cctrl",
    cache: true,
    ..UNMODIFIED
};
/// The cache, whose timeouts depend on what is heard.
pub const ACTIVITY: Variant = Variant {
    name: "cctrl + activity",
    activity: true,
    ..CCTRL
};
/// Two connections.
pub const DUAL: Variant = Variant {
    name: "dual",
    dual: true,
    ..UNMODIFIED
};
/// Two connections, and the cache.
pub const CCTRL_DUAL: Variant = Variant {
    name: "cctrl + dual",
    dual: true,
    ..CCTRL
};
/// All of it.
pub const ALL: Variant = Variant {
    name: "all",
    dual: true,
    ..ACTIVITY
};
/// All variants.
pub const VARIANTS: [Variant; 6] = [UNMODIFIED, CCTRL, ACTIVITY, DUAL, CCTRL_DUAL, ALL];

/// Ten minutes in which a node as many hops away sends as much as it can.
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
    /// `case` with this help.
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

/// The same over links of which 99 % of the frames arrive.
pub fn over_better_links(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).in_scene(scene(BETTER_PERCENT))
}

/// The same over links that fade, where radios receive the stronger of two frames.
///
/// Nodes stand 10 m apart, so that a frame arrives with 15 dB over the noise, and reach over one
/// node when the gain is high; the gain is another for each frame. Power and gain are where
/// NullMAC carried two to three times what X-MAC did, before its processor was kept from all else
/// while it sends, so what comes of them is calibrated. The channel counts as busy
/// from -90 dBm on, as in Contiki 3.0: from 2.5's -77 dBm on no node would hear another, and
/// ContikiMAC, whose receivers wake up by that, would carry nothing.
pub fn over_fading_links(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).in_scene(Scene {
        name: "chain-7-fading".into(),
        text: format!("{COMMON}{FADING}"),
    })
}

/// The chain with links that send nothing again.
pub fn without_retries(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).set("mac.transmissions", 1)
}

/// The chain with the cache, whose copies leave after half of the time that the paper gives.
pub fn with_early_copies(mac: Mac, hops: u32) -> Case {
    case(mac, CCTRL, hops).set("cache.timeout_factor", 1.5)
}

/// The chain with caches that hear nothing of frames for other nodes, as where the radio's
/// address decoding is on: it is in Contiki 2.5 on these nodes, but the paper says that frames
/// for others are heard.
pub fn with_filter(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).set("cache.overhears", "false")
}

/// The chain with routers that pass on what they have passed on already.
pub fn without_memory(mac: Mac, variant: Variant, hops: u32) -> Case {
    case(mac, variant, hops).set("rivals.uip_forwarding", "false")
}

/// The chain with Redpoll's TCP and its own headers, without or with the cache.
///
/// Its segments suit the MAC: one frame over NullMAC and X-MAC, where a lost frame is sent by
/// nobody again, and 48 bytes over ContikiMAC, as many as uIP's own have on these nodes at most.
pub fn beyond(mac: Mac, hops: u32, cache: bool) -> Case {
    let case = beyond_by_default(mac, hops, cache);
    match mac {
        NULLMAC | XMAC => case.set("tcp.mss", "1 frames"),
        CONTIKIMAC => case.set("tcp.mss", "48 B"),
        _ => case,
    }
}

/// The chain with Redpoll's TCP and segments of five frames.
pub fn beyond_by_default(mac: Mac, hops: u32, cache: bool) -> Case {
    let variant = Variant {
        cache,
        ..UNMODIFIED
    };
    case(mac, variant, hops)
        .set("tcp.transport", "redpoll")
        .set("rivals.uip_forwarding", "false")
        .set("mac.security_bytes", 0)
}

/// Whose rules a cache follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Their name in series.
    pub name: &'static str,
    /// Their word in the criteria.
    pub word: &'static str,
}

/// The rules that the paper's came after.
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

/// TSS without the acknowledgments that it repeats.
pub fn tss_quiet(case: Case) -> Case {
    EARLIER[1].of(case).set("cache.acknowledge_again", "false")
}

impl Rules {
    /// `case` with a cache in every router that follows these rules.
    pub fn of(self, case: Case) -> Case {
        let case = case.set("cache.on", "every node");
        case.set("cache.rules", self.word)
    }
}

/// What the receiver received.
pub const SEGMENTS: Metric = Metric::new("segments", "");
/// Time for which the radios of sender, receiver and those between them were on, for each
/// segment that the receiver received.
pub const RADIO: Metric = Metric::new("radio on", "s a segment");

/// [`SEGMENTS`], of 16 bytes.
pub fn segments(run: &Run) -> Reading {
    Ok(bytes(run)? / SEGMENT)
}

/// Bytes that the receiver received.
pub fn bytes(run: &Run) -> Reading {
    run.flow_sum("", "/delivered_bytes")
}

/// Seconds for which the radios were on from the sender to the receiver.
pub fn radio_on(run: &Run) -> Reading {
    let flows = run.flows("")?;
    let from = flows.first().and_then(|flow| flow["from"].as_str());
    let nodes = run.nodes("node")?;
    let sender = nodes.iter().position(|node| node["name"].as_str() == from);
    let sender = sender.ok_or(Gap::Nothing)?;
    let shares = redpoll_experiments::numbers(&nodes[..=sender], "/radio_duty_cycle")?;
    Ok(shares.iter().sum::<f64>() * run.number("/simulated_s")?)
}

/// [`RADIO`].
pub fn radio_on_a_segment(run: &Run) -> Reading {
    let segments = segments(run)?;
    if segments > 0.0 {
        Ok(radio_on(run)? / segments)
    } else {
        Err(Gap::Nothing)
    }
}

/// A line over all hops.
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

/// A line by hops, folded away on the page.
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

/// Copies that the caches sent, for a hundred segments that arrived.
pub const COPIES: Metric = Metric::new("copies sent", "for 100 segments");
/// Share of the time in which the radios from sender to receiver were on.
pub const ON: Metric = Metric::new("radio on", "%");

/// [`COPIES`].
pub fn copies(run: &Run) -> Reading {
    let segments = segments(run)?;
    if segments > 0.0 {
        Ok(100.0 * run.node_sum("node", "/cache/repeated")? / segments)
    } else {
        Err(Gap::Nothing)
    }
}

/// [`ON`].
pub fn on(run: &Run) -> Reading {
    let flows = run.flows("")?;
    let from = flows.first().and_then(|flow| flow["from"].as_str());
    let nodes: f64 = from
        .and_then(|name| name.strip_prefix("node-")?.parse().ok())
        .ok_or(Gap::Nothing)?;
    Ok(100.0 * radio_on(run)? / (nodes * run.number("/simulated_s")?))
}

/// Numbers of two lines at the same hops, side by side.
pub fn beside(one: &Line, other: &Line, hops: &[u32]) -> Vec<Handle> {
    let of = |line: &Line| line.some(hops.iter().copied());
    of(one).into_iter().chain(of(other)).collect()
}

/// The ratios of what [`beside`] gave, hop by hop.
pub fn ratios(all: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let (one, other) = all.split_at(all.len() / 2);
    one.iter().zip(other).map(|(one, other)| one / other)
}

/// The ratio of the means of what [`beside`] gave.
pub fn ratio_of_means(all: &[f64]) -> f64 {
    let (one, other) = all.split_at(all.len() / 2);
    one.iter().sum::<f64>() / other.iter().sum::<f64>()
}

/// The least of the ratios.
pub fn least(all: &[f64]) -> f64 {
    ratios(all).fold(f64::INFINITY, f64::min)
}

/// The greatest of them.
pub fn greatest(all: &[f64]) -> f64 {
    ratios(all).fold(f64::NEG_INFINITY, f64::max)
}
