//! TAiM at the border router.

use redpoll_assist::taim::{Params, Share};

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::keys;
use crate::scenario::model::TaimParams;

/// What `border.taim` and the table `taim` say.
pub(super) fn taim(values: &Values<'_>) -> Result<Option<TaimParams>, ScenarioError> {
    if !values.flag("border.taim") {
        let mut paths = keys::all().map(|key| key.path);
        let given = paths.find(|path| path.starts_with("taim.") && values.has(path));
        return match given {
            None => Ok(None),
            Some(path) => {
                let problem = "has no meaning without TAiM; allowed: with border.taim = true";
                Err(values.error(path, problem))
            }
        };
    }
    let share = |path| Share::from_millionths((values.real(path) * 1e6).round() as u32);
    Ok(Some(TaimParams {
        params: Params {
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
        },
        flows: values.small("taim.flows"),
        packets: values.small("taim.packets"),
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
        let error = taim(&[("taim.ratio", "3")]).unwrap_err().to_string();
        assert!(
            error.contains("taim.ratio: has no meaning without TAiM"),
            "{error}"
        );
    }
}
