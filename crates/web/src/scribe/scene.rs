//! The constants of a run, and values that change rarely.

use std::net::Ipv6Addr;

use redpoll_sim::drill::ATTACKS;
use redpoll_sim::{FaultRule, LinkSource, MediumConfig, Scenario, World};

use crate::message::{Hello, InterfererInfo, LossInfo, Mode, NodeInfo, Scene, VERSION};

pub(super) fn hello(scenario: &Scenario, mode: Mode) -> Hello {
    let nodes = scenario.nodes.iter().enumerate().map(|(index, node)| {
        let address = scenario.address(index).map(Ipv6Addr::from);
        let apps = node.apps.iter();
        NodeInfo {
            name: node.name.clone(),
            role: if node.attacker {
                "attacker".to_owned()
            } else {
                node.role.to_string()
            },
            sleepy: node.sleepy,
            address: address.map_or_else(String::new, |address| address.to_string()),
            apps: apps.map(|app| app.kind.to_string()).collect(),
        }
    });
    let ends = match mode {
        Mode::Up => None,
        Mode::Run | Mode::View => Some(scenario.duration.as_micros()),
    };
    Hello {
        version: VERSION,
        scenario: scenario.name.clone(),
        mode,
        duration_us: ends,
        prefix: Ipv6Addr::from(scenario.border.prefix).to_string(),
        host: scenario
            .border_router()
            .map(|_| Ipv6Addr::from(scenario.border.host).to_string()),
        ranges_m: ranges(scenario),
        is_movable: matches!(scenario.links, LinkSource::Positions),
        slots: scenario.lowpan.slots.into(),
        nodes: nodes.collect(),
        outcomes: super::outcomes(),
        messages: Vec::new(),
        attacks: attacks(scenario, mode),
        host_apps: host_apps(scenario, mode),
    }
}

/// Returns the attacks that a viewer can start. There are none in a recording, and none in real
/// time, when the host's packets come from the computer behind the border router.
fn attacks(scenario: &Scenario, mode: Mode) -> Vec<[String; 3]> {
    if mode != Mode::Run {
        return Vec::new();
    }
    let attacks = ATTACKS.iter().filter(|attack| attack.fits(scenario));
    attacks
        .map(|attack| {
            // The same word for the side as in the drill's results.
            let side = serde_json::to_value(attack.side).unwrap_or_default();
            let side = side.as_str().unwrap_or_default();
            [attack.name, attack.what, side].map(str::to_owned)
        })
        .collect()
}

/// Returns the type and the receiving node of each app of the host that sends to a node.
fn host_apps(scenario: &Scenario, mode: Mode) -> Vec<[String; 2]> {
    if mode == Mode::Up {
        return Vec::new();
    }
    let apps = scenario.host.iter().flat_map(|host| &host.apps);
    let sending = apps.filter_map(|app| {
        let to = app.kind.target()?.addr;
        let node = (0..scenario.nodes.len()).find(|node| scenario.address(*node) == Some(to))?;
        Some([app.kind.to_string(), scenario.nodes[node].name.clone()])
    });
    sending.collect()
}

/// Returns two distances in metres: up to the first, a frame is received; up to the second, it
/// disturbs other frames. `None` if the medium has no fixed distances.
fn ranges(scenario: &Scenario) -> Option<[f64; 2]> {
    match (&scenario.medium, &scenario.links) {
        (MediumConfig::UnitDisk(disk), LinkSource::Positions) => {
            Some([disk.transmission_range_m, disk.interference_range_m])
        }
        _ => None,
    }
}

pub(super) fn of(world: &World) -> Scene {
    let scenario = world.scenario();
    let nodes = 0..scenario.nodes.len();
    let pairs = nodes.flat_map(|from| {
        let there = world.air().neighbours(from).into_iter();
        there.map(move |there| [from as u32, there.node as u32])
    });
    let is_distance = matches!(scenario.medium, MediumConfig::UnitDisk(_));
    let others = world.air().medium().interferers();
    Scene {
        links: pairs.filter(|[from, to]| from < to).collect(),
        interferers: others
            .map(|(course, _)| {
                let spec = course.spec();
                InterfererInfo {
                    name: spec.name.clone(),
                    x: spec.position_m.0,
                    y: spec.position_m.1,
                    range: is_distance.then_some(spec.range_m),
                    busy: if course.is_silenced() { 0.0 } else { spec.busy },
                }
            })
            .collect(),
        losses: losses(world),
    }
}

/// Returns which frames are lost on purpose at the moment.
fn losses(world: &World) -> Vec<LossInfo> {
    let number = |node: Option<usize>| node.map_or(-1, |node| node as i32);
    let rules = world.air().faults().rules(world.now());
    let losses = rules.filter_map(|rule| match rule {
        FaultRule::DropFrames {
            from,
            to,
            probability,
            ..
        } => Some(LossInfo {
            from: number(*from),
            to: number(*to),
            share: *probability,
        }),
        _ => None,
    });
    losses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_the_sides_of_attacks_and_the_receivers_of_the_host() {
        let forms: [&[(&str, &str)]; 4] = [
            &[],
            &[("rpl.mode", "non-storing")],
            &[
                ("lowpan.fragment_forwarding", "true"),
                ("lowpan.fragment_recovery", "true"),
            ],
            &[
                ("security.level", "enc-mic-32"),
                ("security.key", "000102030405060708090a0b0c0d0e0f"),
            ],
        ];
        let greetings = forms.map(|form| {
            let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            let settings: Vec<_> = form.iter().map(own).collect();
            hello(&Scenario::load("intruder", &settings).unwrap(), Mode::Run)
        });
        let [plain, ..] = &greetings;
        let on = |side: &str| plain.attacks.iter().filter(|it| it[2] == side).count();
        assert_eq!([plain.attacks.len(), on("host"), on("air")], [30, 15, 15]);
        let all = greetings.iter().flat_map(|it| &it.attacks);
        let names: std::collections::BTreeSet<&str> = all.map(|it| it[0].as_str()).collect();
        assert_eq!(names.len(), 39);
        assert_eq!(
            plain.host_apps,
            [["bulk-sender", "leaf"].map(str::to_owned)]
        );
    }
}
