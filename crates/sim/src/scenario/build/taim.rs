//! Builds TAiM or fair queueing at the border router, and `spare`, the border router's assistant
//! for nodes with small windows.

use redpoll_assist::taim::{Lead, Params, Policy, Share};

use crate::fair_queue::{CoDel, FairQueueParams};
use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::keys;
use crate::scenario::model::{SpareParams, TaimParams};

pub(super) fn taim(values: &Values<'_>) -> Result<Option<TaimParams>, ScenarioError> {
    if !values.flag("border.taim") {
        let problem = "has no meaning without TAiM; allowed: with border.taim = true";
        return none_of(values, "taim.", problem);
    }
    let share = |path| Share::from_millionths((values.real(path) * 1e6).round() as u32);
    Ok(Some(TaimParams {
        params: Params {
            policy: policy(values)?,
            initial_delay: values.duration("taim.initial_delay"),
            min_delay: values.duration("taim.min_delay"),
            period: values.duration("taim.period"),
            increase: share("taim.increase"),
            decrease: share("taim.decrease"),
            ratio: values.small("taim.ratio"),
            throughput_weight: share("taim.throughput_weight"),
            waiting_weight: share("taim.waiting_weight"),
            active: values.duration("taim.active"),
            min_rto: values.duration("taim.min_rto"),
            flow_packets: values.small("taim.flow_packets"),
            max_wait: values.time("taim.max_wait"),
            contention: None,
        },
        flows: values.small("taim.flows"),
        packets: values.small("taim.packets"),
    }))
}

/// Returns `None` for the unused `table`, or an error with `problem` if one of its keys is set.
fn none_of<T>(values: &Values<'_>, table: &str, problem: &str) -> Result<Option<T>, ScenarioError> {
    let mut paths = keys::all().map(|key| key.path);
    match paths.find(|path| path.starts_with(table) && values.has(path)) {
        None => Ok(None),
        Some(path) => Err(values.error(path, problem)),
    }
}

pub(super) fn spare(values: &Values<'_>) -> Result<Option<SpareParams>, ScenarioError> {
    if !values.flag("border.spare_one_segment") {
        let problem =
            "has no meaning where border.spare_one_segment is false; allowed: where it is true";
        return none_of(values, "spare.", problem);
    }
    Ok(Some(SpareParams {
        flows: values.small("spare.flows"),
        room: values.bytes("spare.room").unwrap_or(640) as u16,
    }))
}

fn policy(values: &Values<'_>) -> Result<Policy, ScenarioError> {
    if values.text("taim.policy") == "taim" {
        for path in ["taim.slack", "taim.gain", "taim.max_hold"] {
            if values.has(path) {
                let problem = "has no meaning with taim.policy = \"taim\"; allowed: with \
                    taim.policy = \"lead\"";
                return Err(values.error(path, problem));
            }
        }
        return Ok(Policy::Taim);
    }
    let default = Lead::default();
    let gain = values.number("taim.gain");
    Ok(Policy::Lead(Lead {
        slack: values
            .count("taim.slack")
            .map_or(default.slack, |it| it as u32),
        gain: gain.map_or(default.gain, |it| {
            Share::from_millionths((it * 1e6).round() as u32)
        }),
        max_hold: values.time("taim.max_hold").unwrap_or(default.max_hold),
        ..default
    }))
}

pub(super) fn fair_queue(values: &Values<'_>) -> Result<Option<FairQueueParams>, ScenarioError> {
    let kind = values.text("border.fair_queue");
    if kind == "none" {
        let problem = "has no meaning without fair queueing; allowed: with border.fair_queue = \"drr\" or \"fq-codel\"";
        return none_of(values, "fair_queue.", problem);
    }
    if values.flag("border.taim") {
        let problem = "has no meaning together with TAiM; allowed: one of the two";
        return Err(values.error("border.fair_queue", problem));
    }
    Ok(Some(FairQueueParams {
        spacing: values.duration("fair_queue.spacing"),
        longest_spacing: values.time("fair_queue.longest_spacing"),
        quantum: values.bytes("fair_queue.quantum").unwrap_or(1_280) as u32,
        codel: (kind == "fq-codel").then(|| CoDel {
            target: values.duration("fair_queue.target"),
            interval: values.duration("fair_queue.interval"),
        }),
        packets: values.small("fair_queue.packets"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn the_defaults_of_the_keys_are_those_of_the_engine() {
        let taim = |set: &[(&str, &str)]| {
            let set: Vec<_> = set
                .iter()
                .map(|(k, v)| (k.to_string(), v.to_string()))
                .collect();
            Scenario::load("office", &set).map(|scenario| scenario.border.taim)
        };
        assert_eq!(taim(&[]).unwrap(), None);
        let on = taim(&[("border.taim", "true")]).unwrap();
        assert_eq!(on.map(|taim| taim.params), Some(Params::default()));
        let lead = taim(&[("border.taim", "true"), ("taim.policy", "lead")]).unwrap();
        let policy = lead.map(|taim| taim.params.policy);
        assert_eq!(policy, Some(Policy::Lead(Lead::default())));
        for (set, problem) in [
            (
                &[("fair_queue.packets", "3")][..],
                "fair_queue.packets: has no meaning",
            ),
            (
                &[("spare.flows", "3")],
                "spare.flows: has no meaning where border.spare_one_segment is false; allowed: \
                 where it is true",
            ),
            (
                &[("border.taim", "true"), ("taim.slack", "9")],
                "taim.slack: has no meaning",
            ),
            (
                &[("border.taim", "true"), ("border.fair_queue", "drr")],
                "border.fair_queue: has no meaning together with TAiM",
            ),
        ] {
            let error = taim(set).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        let error = taim(&[("taim.ratio", "3")]).unwrap_err().to_string();
        assert!(
            error.contains("taim.ratio: has no meaning without TAiM"),
            "{error}"
        );
    }
}
