//! Routers that keep copies of segments.

use redpoll_assist::cache::{Choice, Params};

use crate::radio::Overhears;
use crate::scenario::check::{Values, unknown};
use crate::scenario::error::ScenarioError;
use crate::scenario::keys;
use crate::scenario::model::{CacheParams, NodeSpec, Role};
use crate::scenario::routing::Routing;

const ON: &str = "cache.on";

pub(super) fn cache(
    values: &Values<'_>,
    nodes: &[NodeSpec],
    routing: &Routing,
) -> Result<Option<CacheParams>, ScenarioError> {
    if !values.has(ON) {
        let mut paths = keys::all().map(|key| key.path);
        let given = paths.find(|path| path.starts_with("cache.") && values.has(path));
        return match given {
            None => Ok(None),
            Some(path) => {
                let problem = "has no meaning without a cache; allowed: with cache.on";
                Err(values.error(path, problem))
            }
        };
    }
    if routing.rpl().is_some() {
        // With RPL, every packet has an extension header, and caches ignore such packets.
        let problem = "has no meaning where routing is rpl; allowed: with routing = \"fixed\"";
        return Err(values.error(ON, problem));
    }
    Ok(Some(CacheParams {
        on: on(values, nodes)?,
        params: params(values)?,
        overhears: match values.flag("cache.overhears") {
            true => Overhears::All,
            false => Overhears::Own,
        },
        flows: values.small("cache.flows"),
        packets: values.small("cache.packets"),
        packet_bytes: values.real("cache.packet_size") as u16,
    }))
}

/// Returns the parameters of the chosen rules. Keys of the scenario replace some of these
/// parameters.
fn params(values: &Values<'_>) -> Result<Params, ScenarioError> {
    let rules = values.text("cache.rules");
    let of_rules = match rules.as_str() {
        "dtc" => Params::dtc(),
        "tss" => Params::tss(),
        _ => Params::cctrl(),
    };
    for (path, of) in [
        ("cache.others", "dtc"),
        ("cache.locks", "dtc"),
        ("cache.acknowledge_again", "tss"),
    ] {
        if values.has(path) && rules != of {
            let problem = format!(
                "has no meaning with these cache.rules; allowed: with cache.rules = \"{of}\""
            );
            return Err(values.error(path, problem));
        }
    }
    let flag = |path, default| match values.has(path) {
        true => values.flag(path),
        false => default,
    };
    Ok(Params {
        initial_rtt: values.duration("cache.initial_rtt"),
        rtt_weight: values.small("cache.rtt_weight"),
        timeout_tenths: match values.number("cache.timeout_factor") {
            Some(factor) => (factor * 10.0).round() as u16,
            None => of_rules.timeout_tenths,
        },
        max_wait: values.time("cache.max_wait").unwrap_or(of_rules.max_wait),
        segments: match values.has("cache.segments") {
            true => values.small("cache.segments"),
            false => of_rules.segments,
        },
        choice: match (of_rules.choice, values.number("cache.others")) {
            (Choice::Newest { .. }, Some(share)) => Choice::Newest {
                others_percent: (share * 100.0).round() as u8,
            },
            (choice, _) => choice,
        },
        locks: flag("cache.locks", of_rules.locks),
        acknowledges_again: flag("cache.acknowledge_again", of_rules.acknowledges_again),
        regenerates: values.flag("cache.regenerate"),
        by_activity: values.flag("cache.by_activity"),
        ..of_rules
    })
}

fn on(values: &Values<'_>, nodes: &[NodeSpec]) -> Result<Vec<usize>, ScenarioError> {
    let mut on: Vec<usize> = Vec::new();
    let of_role = |role: Option<Role>| {
        let nodes = nodes.iter().enumerate();
        let nodes = nodes.filter(move |(_, node)| role.is_none_or(|role| node.role == role));
        nodes.map(|(index, _)| index)
    };
    for text in values.texts(ON) {
        match text.as_str() {
            "every node" => on.extend(of_role(None)),
            "every router" => on.extend(of_role(Some(Role::Router))),
            name => match nodes.iter().position(|node| node.name == name) {
                Some(index) => on.push(index),
                None => {
                    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
                    return Err(values.error(ON, unknown("node", name, &names)));
                }
            },
        }
    }
    on.sort_unstable();
    on.dedup();
    Ok(on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn cache(set: &[(&str, &str)]) -> Result<Option<CacheParams>, String> {
        let set = set.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        let set: Vec<_> = set.collect();
        let scenario = Scenario::load("office", &set).map_err(|error| error.to_string())?;
        Ok(scenario.cache)
    }

    #[test]
    fn the_defaults_of_the_keys_are_those_of_the_engine() {
        assert_eq!(cache(&[]).unwrap(), None);
        let on = cache(&[("cache.on", "every node")]).unwrap().unwrap();
        assert_eq!(on.params, Params::default());
        let rules = |name| {
            let on = cache(&[("cache.on", "every node"), ("cache.rules", name)]);
            on.unwrap().unwrap().params
        };
        assert_eq!(rules("dtc"), Params::dtc());
        assert_eq!(rules("tss"), Params::tss());
        let routers = cache(&[("cache.on", "every router")]).unwrap().unwrap();
        assert!(!routers.on.is_empty() && routers.on.len() < on.on.len());
    }

    #[test]
    fn inconsistent_cache_keys_are_refused() {
        let refused = |set: &[(&str, &str)]| cache(set).unwrap_err();
        let error = refused(&[("cache.segments", "2")]);
        assert!(error.contains("has no meaning without a cache"), "{error}");
        let error = refused(&[("cache.on", "every node"), ("cache.locks", "true")]);
        assert!(error.contains("cache.rules = \"dtc\""), "{error}");
        let error = refused(&[("cache.on", "nobody")]);
        assert!(error.contains("nobody"), "{error}");
        let error = refused(&[("cache.on", "every node"), ("routing", "rpl")]);
        assert!(error.contains("cache.on"), "{error}");
    }
}
