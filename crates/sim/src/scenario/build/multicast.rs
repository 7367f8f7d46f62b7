//! Forwarding of packets to multicast groups.

use redpoll_assist::multicast::Params;

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::keys;
use crate::scenario::model::MulticastParams;

const FORWARDING: &str = "multicast.forwarding";

pub(super) fn multicast(values: &Values<'_>) -> Result<Option<MulticastParams>, ScenarioError> {
    let is_flooding = match values.text(FORWARDING).as_str() {
        "mpl" => false,
        "flooding" => true,
        _ => return refuse_others(values),
    };
    let given = |path, usual| match values.has(path) {
        true => values.small(path),
        false => usual,
    };
    let (k, expirations) = match is_flooding {
        true => (u8::MAX, 1),
        false => (1, 3),
    };
    let params = Params::default().with(|it| {
        it.imin = values.duration("multicast.imin");
        it.imax = it.imin;
        it.k = given("multicast.k", k);
        it.expirations = given("multicast.expirations", expirations);
        it.interval = values.duration("multicast.interval");
        it.burst = values.small("multicast.burst");
    });
    Ok(Some(MulticastParams {
        params,
        groups: values.small("multicast.groups"),
        seeds: values.small("multicast.seeds"),
        messages: values.small("multicast.messages"),
        message_bytes: values.real("multicast.message_size") as u16,
    }))
}

/// Refuses the keys `multicast.*` other than `multicast.forwarding`, for a scenario whose nodes do
/// not forward multicast packets.
fn refuse_others(values: &Values<'_>) -> Result<Option<MulticastParams>, ScenarioError> {
    let mut paths = keys::all().map(|key| key.path);
    let is_other = |path: &str| path.starts_with("multicast.") && path != FORWARDING;
    match paths.find(|path| is_other(path) && values.has(path)) {
        None => Ok(None),
        Some(path) => {
            let problem = "has no meaning without forwarding to groups; allowed: with \
                multicast.forwarding = \"mpl\"";
            Err(values.error(path, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    fn params(set: &[(&str, &str)]) -> Result<Option<(u8, u8)>, String> {
        let set: Vec<_> = set
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let scenario = Scenario::load("line-3", &set).map_err(|error| error.to_string())?;
        let params = scenario.multicast.map(|it| it.params);
        Ok(params.map(|it| (it.k, it.expirations)))
    }

    #[test]
    fn flooding_is_one_transmission_without_suppression() {
        assert_eq!(params(&[]).unwrap(), None);
        let of = |name| params(&[("multicast.forwarding", name)]).unwrap();
        assert_eq!(of("mpl"), Some((1, 3)));
        assert_eq!(of("flooding"), Some((255, 1)));
        let mixed = params(&[("multicast.forwarding", "flooding"), ("multicast.k", "2")]);
        assert_eq!(mixed.unwrap(), Some((2, 1)));
    }

    #[test]
    fn keys_without_forwarding_are_refused() {
        let error = params(&[("multicast.k", "2")]).unwrap_err();
        assert!(error.contains("multicast.forwarding = \"mpl\""), "{error}");
    }
}
