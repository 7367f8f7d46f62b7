//! What is to go wrong.

use redpoll_base::Instant;

use crate::fault::{FrameKind, Rule, Spec};
use crate::scenario::check::{Values, unknown};
use crate::scenario::error::ScenarioError;
use crate::scenario::model::NodeSpec;

/// The faults that `values` describe, in the file's order.
pub(super) fn faults(values: &Values<'_>, nodes: &[NodeSpec]) -> Result<Vec<Spec>, ScenarioError> {
    values
        .names("faults")
        .iter()
        .map(|name| fault(values, nodes, name))
        .collect()
}

fn fault(values: &Values<'_>, nodes: &[NodeSpec], name: &str) -> Result<Spec, ScenarioError> {
    let key = |last| format!("faults.{name}.{last}");
    let node = |last| {
        let path = key(last);
        if !values.has(&path) {
            return Ok(None);
        }
        let name = values.text(&path);
        match nodes.iter().position(|node| node.name == name) {
            Some(index) => Ok(Some(index)),
            None => {
                let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
                Err(values.error(&path, unknown("node", &name, &names)))
            }
        }
    };
    let probability = values.real(&key("share"));
    let rule = match values.text(&key("type")).as_str() {
        "drop-frames" => Rule::DropFrames {
            from: node("sender")?,
            to: node("receiver")?,
            kind: match values.text(&key("frames")).as_str() {
                "data" => FrameKind::Data,
                "ack" => FrameKind::Ack,
                _ => FrameKind::Any,
            },
            probability,
        },
        "lose-frames" => Rule::LoseFrames {
            from: node("sender")?,
            to: node("receiver")?,
            probability,
        },
        "duplicate-frames" => Rule::DuplicateFrames {
            from: node("sender")?,
            to: node("receiver")?,
            probability,
        },
        "drop-packets" => Rule::DropPackets { probability },
        "duplicate-packets" => Rule::DuplicatePackets { probability },
        // The check has made sure that it is there.
        _ => Rule::NodeOff {
            node: node("node")?.unwrap_or_default(),
        },
    };
    let from = Instant::ZERO + values.duration(&key("from"));
    let until = match values.time(&key("until")) {
        Some(time) => Instant::ZERO + time,
        None => Instant::FAR_FUTURE,
    };
    if until <= from {
        let problem = "got a time that is not after `from`; allowed: later than `from`, or \
                       \"the end\"";
        let last = if values.has(&key("until")) {
            "until"
        } else {
            "from"
        };
        return Err(values.error(&key(last), problem));
    }
    Ok(Spec { from, until, rule })
}
