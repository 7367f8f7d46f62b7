//! The nodes of a scenario and the links between them.

use std::path::PathBuf;
use std::sync::Arc;

use super::security;
use crate::foreign;
use crate::measured::K7;
use crate::medium::{LinkSource, ListedLink, Measured, RadioSpec};
use crate::scenario::check::{NamedFile, Values, unknown};
use crate::scenario::error::ScenarioError;
use crate::scenario::files;
use crate::scenario::layout::{self, tree_size};
use crate::scenario::model::{
    CongestionSpec, EUI64_PREFIX, Interface, NodeSpec, Role, TransportSpec,
};
use crate::scenario::units::Measure;

/// Largest number of nodes: each takes about 60 KB, and all routes are computed before a run.
const MOST_NODES: usize = 10_000;

/// Thermal noise at 290 K in 2 MHz: kTB.
const THERMAL_DBM: f64 = -110.97;

type Nodes = (Vec<NodeSpec>, LinkSource);

pub(super) fn nodes(values: &Values<'_>) -> Result<Nodes, ScenarioError> {
    let kind = values.text("topology.kind");
    let spacing = values.real("topology.spacing");
    let mut links = LinkSource::Positions;
    let positions = match kind.as_str() {
        "line" => layout::line(values.small("topology.nodes"), spacing),
        "grid" => {
            let columns: usize = values.small("topology.columns");
            let rows: usize = values.small("topology.rows");
            check_number(values, "topology.rows", Some(columns * rows))?;
            layout::grid(columns, rows, spacing)
        }
        "tree" => {
            let depth = values.small("topology.depth");
            let children = values.small("topology.children");
            check_number(values, "topology.depth", tree_size(depth, children))?;
            let tree = layout::tree(depth, children, spacing);
            let link = |(a, b)| ListedLink {
                a,
                b,
                success_ratio: 1.0,
            };
            links = LinkSource::Listed(tree.links.into_iter().map(link).collect());
            tree.positions
        }
        "k7" => return measured_nodes(values),
        _ => return listed_nodes(values, &kind),
    };
    let names: Vec<String> = (1..=positions.len())
        .map(|number| format!("node-{number}"))
        .collect();
    check_names(values, &names)?;
    let nodes = names.into_iter().zip(positions);
    let nodes = nodes
        .enumerate()
        .map(|(index, (name, at))| node(values, index, name, at));
    Ok((checked(values, nodes.collect())?, links))
}

fn check_number(
    values: &Values<'_>,
    key: &str,
    number: Option<usize>,
) -> Result<(), ScenarioError> {
    match number {
        Some(number) if number <= MOST_NODES => Ok(()),
        _ => Err(values.error(
            key,
            format!(
                "makes too many nodes; allowed: up to {MOST_NODES}, because each takes some 60 KB \
                 of memory, and routes to all of them are computed before a run"
            ),
        )),
    }
}

/// Refuses tables of nodes that do not exist.
fn check_names(values: &Values<'_>, names: &[String]) -> Result<(), ScenarioError> {
    let unknown_name = values
        .names("nodes")
        .iter()
        .find(|name| !names.contains(name));
    match unknown_name {
        None => Ok(()),
        Some(name) => {
            let path = format!("nodes.{name}");
            Err(values.error(&path, unknown("node", name, names)))
        }
    }
}

fn measured_nodes(values: &Values<'_>) -> Result<Nodes, ScenarioError> {
    let channel = values.small("topology.channel");
    let k7 = files::read(values, files::LINKS, |reader| K7::read(reader, channel))?;
    let from = values.duration("topology.from");
    if from > k7.length {
        let show = |time: redpoll_base::Duration| Measure::Time.show(time.as_micros() as f64);
        let problem = format!(
            "got {}; allowed: at most {}, the time of the file's last row of this channel",
            show(from),
            show(k7.length)
        );
        return Err(values.error("topology.from", problem));
    }
    let measured = Measured::new(k7, from);
    let name = |id: &String| match id.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("node-{id}"),
        false => id.clone(),
    };
    let names: Vec<String> = measured.names().iter().map(name).collect();
    check_names(values, &names)?;
    let nodes = names.into_iter().enumerate();
    let mut nodes: Vec<NodeSpec> = nodes
        .map(|(index, name)| node(values, index, name, (0.0, 0.0)))
        .collect();
    if nodes.iter().all(|node| node.role != Role::Border) {
        nodes[measured.best_connected()].role = Role::Border;
    }
    let links = LinkSource::Measured(Arc::new(measured));
    Ok((checked(values, nodes)?, links))
}

fn listed_nodes(values: &Values<'_>, kind: &str) -> Result<Nodes, ScenarioError> {
    let names = values.names("nodes");
    if names.is_empty() || names.len() > MOST_NODES {
        let problem = format!(
            "got {} [nodes.NAME] tables; allowed with topology.kind = \"{kind}\": from 1 to \
             {MOST_NODES}",
            names.len()
        );
        return Err(values.error("topology.kind", problem));
    }
    let mut nodes = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let key = format!("nodes.{name}.position");
        if kind == "positions" && !values.has(&key) {
            let problem = "is missing; allowed: two lengths such as [\"10 m\", \"25.5 m\"]";
            return Err(values.error(&key, problem));
        }
        nodes.push(node(values, index, name.clone(), (0.0, 0.0)));
    }
    let links = match kind {
        "links" => LinkSource::Listed(listed_links(values, names)?),
        _ => LinkSource::Positions,
    };
    Ok((checked(values, nodes)?, links))
}

fn node(values: &Values<'_>, index: usize, name: String, generated: (f64, f64)) -> NodeSpec {
    let key = |last| format!("nodes.{name}.{last}");
    let module = match values.has(&key("module")) {
        true => Some(values.named_file(&key("module"))),
        false => None,
    };
    let module = module.map(|file| match file {
        NamedFile::OnDisk(path) => path,
        NamedFile::BuiltIn(name) => PathBuf::from(name),
    });
    let short = match values.count(&key("short_address")) {
        Some(short) => short as u16,
        None => (index + 1) as u16,
    };
    NodeSpec {
        short,
        eui64: match module {
            Some(_) => foreign::eui64(short),
            None => eui64(short),
        },
        interface: match values.text(&key("interface")).as_str() {
            "redpoll" => Interface::Redpoll,
            _ => Interface::Cooja,
        },
        console: Vec::new(),
        thread: None,
        module,
        line: match values.has(&key("line")) {
            true => Some(values.text(&key("line"))),
            false => None,
        },
        attacker: values.text(&key("kind")) == "attacker",
        position_m: values.position(&key("position")).unwrap_or(generated),
        role: match values.text(&key("role")).as_str() {
            "border" => Role::Border,
            "leaf" => Role::Leaf,
            _ => Role::Router,
        },
        sleepy: values.flag(&key("sleepy")),
        radio: RadioSpec {
            tx_power_dbm: values.number(&key("tx_power")),
            noise_floor_dbm: values
                .number(&key("noise_figure"))
                .map(|figure| THERMAL_DBM + figure),
        },
        drift_ppm: values.number(&key("drift_ppm")),
        key: security::node_key(values, &name),
        transport: TransportSpec::default(),
        congestion: CongestionSpec::default(),
        connections: 0,
        forwards: 0,
        apps: Vec::new(),
        name,
    }
}

/// Returns a locally administered EUI-64 that contains the short address.
fn eui64(short: u16) -> [u8; 8] {
    let [high, low] = short.to_be_bytes();
    let [a, b, c, d, e, f] = EUI64_PREFIX;
    [a, b, c, d, e, f, high, low]
}

/// Refuses duplicate short addresses, sleepy nodes other than leaves, and a second border router.
fn checked(values: &Values<'_>, nodes: Vec<NodeSpec>) -> Result<Vec<NodeSpec>, ScenarioError> {
    let mut by_address: Vec<&NodeSpec> = nodes.iter().collect();
    by_address.sort_by_key(|node| node.short);
    for pair in by_address.windows(2) {
        if let [one, other] = pair
            && one.short == other.short
        {
            let path = format!("nodes.{}.short_address", other.name);
            let problem = format!(
                "got {}, which {} already has; allowed: an unused address",
                other.short, one.name
            );
            return Err(values.error(&path, problem));
        }
    }
    if let Some(node) = nodes
        .iter()
        .find(|node| node.sleepy && node.role != Role::Leaf)
    {
        let path = format!("nodes.{}.sleepy", node.name);
        let problem = format!(
            "has no meaning where role is {}; allowed: with role leaf",
            node.role.word()
        );
        return Err(values.error(&path, problem));
    }
    let mut borders = nodes.iter().filter(|node| node.role == Role::Border);
    if let (Some(first), Some(second)) = (borders.next(), borders.next()) {
        let path = format!("nodes.{}.role", second.name);
        let problem = format!(
            "got a second border router in addition to {}; allowed: at most one",
            first.name
        );
        return Err(values.error(&path, problem));
    }
    Ok(nodes)
}

fn listed_links(values: &Values<'_>, names: &[String]) -> Result<Vec<ListedLink>, ScenarioError> {
    const KEY: &str = "topology.links";
    let mut links: Vec<ListedLink> = Vec::new();
    for text in values.texts(KEY) {
        let wrong = || {
            let allowed = "\"a <-> b\" or \"a <-> b, 90 %\"";
            values.error(KEY, format!("got \"{text}\"; allowed: {allowed}"))
        };
        let (ends, ratio) = match text.split_once(',') {
            Some((ends, ratio)) => {
                let ratio = Measure::Share.parse(ratio).ok();
                let ratio = ratio.filter(|ratio| (0.0..=1.0).contains(ratio));
                (ends, ratio.ok_or_else(wrong)?)
            }
            None => (text.as_str(), 1.0),
        };
        let (a, b) = ends.split_once("<->").ok_or_else(wrong)?;
        let find = |name: &str| {
            names
                .iter()
                .position(|known| known == name)
                .ok_or_else(|| values.error(KEY, unknown("node", name, names)))
        };
        let (a, b) = (find(a.trim())?, find(b.trim())?);
        if a == b
            || links
                .iter()
                .any(|link| (link.a, link.b) == (a.min(b), a.max(b)))
        {
            let allowed = "each pair of different nodes once";
            return Err(values.error(KEY, format!("got \"{text}\"; allowed: {allowed}")));
        }
        links.push(ListedLink {
            a: a.min(b),
            b: a.max(b),
            success_ratio: ratio,
        });
    }
    Ok(links)
}
