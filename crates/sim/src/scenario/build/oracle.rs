//! Builds the oracle's demands.

use redpoll_base::Duration;

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::OracleParams;

pub(super) fn params(values: &Values<'_>) -> Result<OracleParams, ScenarioError> {
    let apps_end = values.time("oracle.apps_end");
    let latest = values.duration("duration").minus(OracleParams::REST);
    if apps_end.is_some_and(|end| end > latest) {
        let problem = format!(
            "got a time later than {} s; allowed: at least {} s before the end of the run \
             (duration)",
            latest.as_millis() / 1_000,
            OracleParams::REST.as_millis() / 1_000
        );
        return Err(values.error("oracle.apps_end", problem));
    }
    Ok(OracleParams {
        apps_end: apps_end.filter(|end| *end > Duration::ZERO),
        patience: values.time("oracle.patience"),
        events: values.count("oracle.events"),
    })
}
