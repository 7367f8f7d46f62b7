//! Builds the interferers of a scenario.

use crate::medium::{Interferer, Lengths};
use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;

pub(super) fn interferers(values: &Values<'_>) -> Result<Vec<Interferer>, ScenarioError> {
    let names = values.names("interferers").iter();
    names.map(|name| interferer(values, name)).collect()
}

fn interferer(values: &Values<'_>, name: &str) -> Result<Interferer, ScenarioError> {
    let key = |last: &str| format!("interferers.{name}.{last}");
    let hours = (
        values.duration(&key("from")),
        values.duration(&key("until")),
    );
    if hours.1 <= hours.0 {
        let problem = "`until` is not later than `from`; allowed: `until` later than `from`";
        let last = match values.has(&key("until")) {
            true => "until",
            false => "from",
        };
        return Err(values.error(&key(last), problem));
    }
    Ok(Interferer {
        name: name.to_owned(),
        position_m: values.position(&key("position")).unwrap_or_default(),
        power_dbm: values.real(&key("power")),
        range_m: values.real(&key("range")),
        burst: values.duration(&key("burst")),
        busy: values.real(&key("busy")),
        lengths: match values.text(&key("lengths")).as_str() {
            "constant" => Lengths::Constant,
            "pareto" => Lengths::Pareto {
                shape: values.real(&key("shape")),
            },
            _ => Lengths::Exponential,
        },
        hours,
        session: values.time(&key("session")),
        session_share: values.real(&key("session_share")),
    })
}
