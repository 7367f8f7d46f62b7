//! Nodes with firmware that has a console: its lines, and the set-up of nodes of OpenThread.

use redpoll_base::Duration;

use crate::scenario::check::{NamedFile, Values};
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{ConsoleLine, Interface, NodeSpec, Role, ThreadTcp};
use crate::scenario::units;

const LONGEST: Duration = Duration::from_secs(1_000 * 24 * 3_600);
const MODULE: &str = "thread.module";
const NETWORK_NAME: &str = "thread.network_name";
/// Longest network name in bytes: `OT_NETWORK_NAME_MAX_SIZE` of OpenThread.
const NETWORK_NAME_MAX: usize = 16;

pub(super) fn set_up(values: &Values<'_>, nodes: &mut [NodeSpec]) -> Result<(), ScenarioError> {
    for node in nodes {
        if values.text(&format!("nodes.{}.kind", node.name)) == "openthread" {
            set_up_thread(values, node)?;
        }
        node.console.extend(lines(values, node)?);
    }
    Ok(())
}

fn lines(values: &Values<'_>, node: &NodeSpec) -> Result<Vec<ConsoleLine>, ScenarioError> {
    let key = format!("nodes.{}.console", node.name);
    let texts = values.texts(&key);
    if !texts.is_empty() && node.interface == Interface::Cooja {
        let problem = "got lines, but the firmware's interface has no console; allowed: interface = \"redpoll\" or kind = \"openthread\"";
        return Err(values.error(&key, problem));
    }
    let line = |text: &String| {
        let (at, line) = text.split_once(": ")?;
        let at = units::time(at, Duration::ZERO, LONGEST).ok()?;
        let text = line.trim().to_owned();
        (!text.is_empty()).then_some(ConsoleLine { at, text })
    };
    let read = |text: &String| {
        let wrong =
            || format!("got \"{text}\"; allowed: a time and a line such as \"10 s: state\"");
        line(text).ok_or_else(|| values.error(&key, wrong()))
    };
    texts.iter().map(read).collect()
}

/// Sets up a node of OpenThread by lines of its console: the dataset, the role, and the start.
fn set_up_thread(values: &Values<'_>, node: &mut NodeSpec) -> Result<(), ScenarioError> {
    if !values.has(MODULE) {
        let problem =
            "is missing; allowed: the file that `make thread` builds, target/thread/openthread.so";
        return Err(values.error(MODULE, problem));
    }
    node.module = Some(match values.named_file(MODULE) {
        NamedFile::OnDisk(path) => path,
        NamedFile::BuiltIn(name) => name.into(),
    });
    node.interface = Interface::Redpoll;
    node.thread = Some(match values.text("thread.tcp").as_str() {
        "tcplp" => ThreadTcp::Tcplp,
        "coap" => ThreadTcp::Coap,
        _ => ThreadTcp::Redpoll,
    });
    let mode = match (node.role, node.sleepy) {
        (Role::Router, false) => "rdn",
        (Role::Leaf, false) => "rn",
        (Role::Leaf, true) => "-",
        _ => {
            let key = format!("nodes.{}.role", node.name);
            let problem = "got a role that OpenThread lacks; allowed: router, leaf, or leaf with sleepy = true";
            return Err(values.error(&key, problem));
        }
    };
    let name = values.text(NETWORK_NAME);
    if name.len() > NETWORK_NAME_MAX {
        let problem = format!(
            "got a name of {} bytes; allowed: at most {NETWORK_NAME_MAX} bytes",
            name.len()
        );
        return Err(values.error(NETWORK_NAME, problem));
    }
    let mut lines = vec![
        "dataset clear".to_owned(),
        "dataset activetimestamp 1".to_owned(),
        "dataset channel 26".to_owned(),
        "dataset channelmask 0x07fff800".to_owned(),
        format!(
            "dataset panid 0x{:04x}",
            values.small::<u16>("thread.pan_id")
        ),
        "dataset extpanid 7265647000000001".to_owned(),
        format!("dataset networkname {name}"),
        format!("dataset networkkey {}", values.text("thread.network_key")),
        "dataset meshlocalprefix fd72:6564:7468::".to_owned(),
        "dataset commit active".to_owned(),
        format!(
            "childtimeout {}",
            values.duration("thread.child_timeout").as_millis() / 1_000
        ),
        format!("mode {mode}"),
    ];
    if node.sleepy {
        let poll = values.duration("thread.poll_period").as_millis();
        lines.push(format!("pollperiod {poll}"));
    }
    // The node's mesh-local EID becomes its address. An end device registers no other address of
    // this prefix at its parent.
    lines.push(format!("mliid {:016x}", node.short));
    lines.push("ifconfig up".to_owned());
    lines.push("thread start".to_owned());
    let at = Duration::ZERO;
    node.console = lines
        .into_iter()
        .map(|text| ConsoleLine { at, text })
        .collect();
    Ok(())
}
