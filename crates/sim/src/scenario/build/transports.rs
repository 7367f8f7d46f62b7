//! Builds the TCP implementation of each node.

use redpoll_replay::CongestionChoice;
use redpoll_rivals::blip::{BlipConfig, Corrections};
use redpoll_rivals::linux::LinuxConfig;
use redpoll_rivals::uip::{Standard, Timing, UipConfig, Weak};

use crate::scenario::check::{Values, unknown};
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{CongestionSpec, NodeSpec, TransportSpec};

pub(super) fn transports(values: &Values<'_>, nodes: &mut [NodeSpec]) -> Result<(), ScenarioError> {
    let for_all = transport(values, "tcp.transport")?;
    for node in nodes {
        let key = format!("nodes.{}.transport", node.name);
        node.transport = match values.has(&key) {
            true => transport(values, &key)?,
            false => for_all.clone(),
        };
        let key = format!("nodes.{}.congestion", node.name);
        node.congestion = match values.has(&key) {
            true => congestion(values, &key),
            false => congestion(values, "tcp.congestion"),
        };
    }
    Ok(())
}

pub(super) fn congestion(values: &Values<'_>, key: &str) -> CongestionSpec {
    CongestionSpec::Engine(match values.text(key).as_str() {
        "newreno" => CongestionChoice::NewReno,
        "cubic" => CongestionChoice::Cubic,
        "off" => CongestionChoice::Off,
        given => return CongestionSpec::Given(given.to_owned()),
    })
}

pub(super) fn transport(values: &Values<'_>, key: &str) -> Result<TransportSpec, ScenarioError> {
    Ok(match values.text(key).as_str() {
        "uip-2.5" | "uip-2.7" => TransportSpec::Uip(UipConfig {
            answers_syn: false,
            ..uip(values)
        }),
        "uip-3.0" => TransportSpec::Uip(uip(values)),
        "uip-lim" => TransportSpec::Uip(UipConfig {
            timing: Timing::Weak(weak(values)?),
            ..uip(values)
        }),
        "one-segment" => TransportSpec::Uip(one_segment(values)),
        "blip" => TransportSpec::Blip {
            config: blip(values)?,
            buffer: values.real("rivals.blip_buffer") as u16,
        },
        "linux" => TransportSpec::Linux {
            config: linux(values),
            buffer: values.real("rivals.linux_buffer") as u16,
        },
        "smoltcp" => return smoltcp(values, key),
        _ => TransportSpec::Redpoll,
    })
}

#[cfg(feature = "smoltcp")]
fn smoltcp(values: &Values<'_>, _key: &str) -> Result<TransportSpec, ScenarioError> {
    Ok(TransportSpec::Smoltcp {
        reno: values.flag("rivals.smoltcp_reno"),
    })
}

#[cfg(not(feature = "smoltcp"))]
fn smoltcp(values: &Values<'_>, key: &str) -> Result<TransportSpec, ScenarioError> {
    let problem = "this program was built without smoltcp; build it with the feature `smoltcp` \
                   (`cargo build --release --package redpoll --features smoltcp`, Rust 1.91)";
    Err(values.error(key, problem))
}

fn uip(values: &Values<'_>) -> UipConfig {
    let mss = values.real("rivals.uip_mss") as u16;
    UipConfig {
        mss,
        window: values
            .number("rivals.uip_window")
            .map_or(mss, |window| window as u16),
        polls: values.flag("rivals.uip_polls"),
        numbers: values.flag("rivals.uip_forwarding"),
        ..UipConfig::default()
    }
}

fn one_segment(values: &Values<'_>) -> UipConfig {
    let mss = values.real("rivals.segment_mss") as u16;
    UipConfig {
        mss,
        window: mss,
        timing: Timing::Standard(Standard {
            initial: values.duration("tcp.initial_rto"),
            min: values.duration("tcp.min_rto"),
            max: values.duration("tcp.max_rto"),
        }),
        heeds_syn: true,
        ..UipConfig::default()
    }
}

fn weak(values: &Values<'_>) -> Result<Weak, ScenarioError> {
    const LIMITS: &str = "rivals.lim_limits";
    let of_256 = |key: &str| (values.real(key) * 256.0).round() as u16;
    let text = values.text(LIMITS);
    let mut limits = [(0, 0); 4];
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let pairs = parts.iter().map(|part| {
        let (ticks, times) = part.split_once(':')?;
        Some((ticks.trim().parse().ok()?, times.trim().parse().ok()?))
    });
    let pairs: Option<Vec<(u16, u8)>> = pairs.collect();
    let fits = |pairs: &Vec<(u16, u8)>| {
        let ascend = pairs.windows(2).all(|two| two[0].0 < two[1].0);
        (1..=4).contains(&pairs.len()) && ascend && pairs.iter().all(|(_, times)| *times <= 8)
    };
    let Some(pairs) = pairs.filter(fits) else {
        let problem = format!(
            "got \"{text}\"; allowed: one to four pairs TICKS:DOUBLINGS with ascending ticks and 0 \
             to 8 doublings, such as \"4:4, 8:3\""
        );
        return Err(values.error(LIMITS, problem));
    };
    for (index, limit) in limits.iter_mut().enumerate() {
        *limit = *pairs.get(index).or(pairs.last()).unwrap_or(&(0, 0));
    }
    Ok(Weak {
        strong_weight: of_256("rivals.lim_strong_weight"),
        weak_weight: of_256("rivals.lim_weak_weight"),
        dither: (
            of_256("rivals.lim_dither_min"),
            of_256("rivals.lim_dither_max"),
        ),
        limits,
        ..Weak::default()
    })
}

fn linux(values: &Values<'_>) -> LinuxConfig {
    LinuxConfig {
        cubic: values.text("rivals.linux_congestion") == "cubic",
        initial_window: values.small("rivals.linux_initial_window"),
        min_rto: values.duration("rivals.linux_min_rto"),
        delayed_ack: values.duration("rivals.linux_delayed_ack"),
        nagle: values.flag("rivals.linux_nagle"),
        gso: values.flag("rivals.linux_gso"),
        ..LinuxConfig::default()
    }
}

fn blip(values: &Values<'_>) -> Result<BlipConfig, ScenarioError> {
    const CORRECTIONS: &str = "rivals.blip_corrections";
    let mut corrections = Corrections::NONE;
    let text = values.text(CORRECTIONS);
    for name in text.split(',').map(str::trim) {
        if name != "none" && !corrections.set(name) {
            let problem = unknown("correction", name, &Corrections::NAMES);
            return Err(values.error(CORRECTIONS, problem));
        }
    }
    Ok(BlipConfig {
        mss: values.real("rivals.blip_mss") as u16,
        window: values.real("rivals.blip_window") as u16,
        rto: values.small("rivals.blip_rto"),
        give_up: values.small("rivals.blip_give_up"),
        corrections,
    })
}
