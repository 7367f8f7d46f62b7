//! Builds the faults of a scenario.

use redpoll_base::{Duration, Instant};

use crate::fault::{FrameKind, Rule, Spec};
use crate::scenario::check::{Values, unknown};
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{AppKind, AppSpec, ClientProtocol, NodeSpec, Role, SensorTransport};
use crate::scenario::routing::Routing;

pub(super) fn faults(
    values: &Values<'_>,
    nodes: &[NodeSpec],
    routing: &Routing,
) -> Result<Vec<Spec>, ScenarioError> {
    let names = values.names("faults").iter();
    let specs: Result<Vec<Spec>, _> = names.map(|name| fault(values, nodes, name)).collect();
    let specs = specs?;
    for (name, spec) in values.names("faults").iter().zip(&specs) {
        if let Rule::NodeRestart { node } = spec.rule {
            check_restart(values, name, nodes.get(node), routing)?;
        }
    }
    Ok(specs)
}

/// Refuses restarts that a run cannot carry out. Only apps over TCP and image-leaf apps can
/// restart, and with fixed routes only leaves get their routes again.
fn check_restart(
    values: &Values<'_>,
    name: &str,
    node: Option<&NodeSpec>,
    routing: &Routing,
) -> Result<(), ScenarioError> {
    let problem = match node {
        Some(node) if node.apps.iter().any(|app| !can_restart(app)) => format!(
            "got {}, on which other apps run; allowed: a node whose apps are image-leaf, bulk-sender, \
             bulk-sink, http-client, http-server, echo, or a sensor with transport = \"tcp\"",
            node.name
        ),
        Some(node) if routing.rpl().is_none() && node.role != Role::Leaf => {
            let problem = "got node-restart, but with routing = \"fixed\" only leaves can \
                           restart; allowed: node-restart of a leaf, or routing = \"rpl\"";
            return Err(values.error(&format!("faults.{name}.type"), problem));
        }
        _ => return Ok(()),
    };
    Err(values.error(&format!("faults.{name}.node"), problem))
}

fn can_restart(app: &AppSpec) -> bool {
    match &app.kind {
        AppKind::Sensor(sensor) => sensor.transport == SensorTransport::Tcp,
        AppKind::Client(client) => client.protocol == ClientProtocol::Http,
        AppKind::ImageLeaf(_)
        | AppKind::BulkSender { .. }
        | AppKind::BulkSink { .. }
        | AppKind::HttpServer { .. }
        | AppKind::Echo { .. } => true,
        _ => false,
    }
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
        "corrupt-frames" => Rule::CorruptFrames {
            from: node("sender")?,
            to: node("receiver")?,
            probability,
        },
        "drop-packets" => Rule::DropPackets { probability },
        "duplicate-packets" => Rule::DuplicatePackets { probability },
        "reorder-packets" => Rule::ReorderPackets {
            probability,
            delay: values.duration(&key("delay")),
        },
        "clock-step" => Rule::ClockStep {
            node: node("node")?.unwrap_or_default(),
            by: values.duration(&key("by")),
        },
        "node-restart" => Rule::NodeRestart {
            node: node("node")?.unwrap_or_default(),
        },
        // The schema requires the key `node`, so no default is used.
        _ => Rule::NodeOff {
            node: node("node")?.unwrap_or_default(),
        },
    };
    let from = Instant::ZERO + values.duration(&key("from"));
    let until = match values.time(&key("until")) {
        // A clock step happens once, so this fault ends directly after its beginning.
        _ if matches!(rule, Rule::ClockStep { .. }) => from + Duration::from_micros(1),
        Some(time) => Instant::ZERO + time,
        None => Instant::FAR_FUTURE,
    };
    if until <= from {
        let problem = "`until` is not later than `from`; allowed: `until` later than `from`, or \
                       `until` = \"the end\"";
        let last = if values.has(&key("until")) {
            "until"
        } else {
            "from"
        };
        return Err(values.error(&key(last), problem));
    }
    Ok(Spec { from, until, rule })
}
