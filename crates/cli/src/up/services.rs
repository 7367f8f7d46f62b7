//! The services that cross the border of the mesh: ports of this computer that are forwarded to
//! nodes (`--forward`), and services outside the mesh that nodes may reach (`--expose`).

use redpoll_border::Splice;
use redpoll_linux::forward::{ForwardSpec, Forwarder};
use redpoll_linux::reach::{Attempt, Service};
use redpoll_sim::{CONNECTIONS_MAX, Scenario, TargetHost};

use super::{UpArgs, demo, failed, unusable};
use crate::failure::Failure;

/// Reserves connections of the border router for `--forward`, in addition to those of its apps:
/// twice as many as can be forwarded at a time, because some are being closed.
pub(super) fn reserve_forwards(args: &UpArgs, scenario: &mut Scenario) {
    if args.forward.is_empty() && !args.demo {
        return;
    }
    let border = scenario.border_router();
    if let Some(node) = border.and_then(|index| scenario.nodes.get_mut(index)) {
        let wanted = 2 * Forwarder::<Splice>::MAX_PAIRS as u16;
        node.forwards = wanted.min(CONNECTIONS_MAX - node.connections.min(CONNECTIONS_MAX));
    }
}

pub(super) fn listen(
    args: &UpArgs,
    scenario: &Scenario,
) -> Result<(Forwarder<Splice>, Vec<ForwardSpec>), Failure> {
    let mut forwarder = Forwarder::new();
    let mut forwards = Vec::new();
    let mut specs = Vec::new();
    for text in &args.forward {
        let spec = text.parse::<ForwardSpec>();
        specs.push(spec.map_err(|e| unusable(format!("--forward: {e}")))?);
    }
    if args.demo {
        specs.extend(demo::forward(scenario));
    }
    for spec in specs {
        let address = scenario
            .node(&spec.node)
            .and_then(|index| scenario.address(index));
        let Some(address) = address else {
            let names: Vec<&str> = scenario
                .nodes
                .iter()
                .map(|node| node.name.as_str())
                .collect();
            let line = format!(
                "--forward: there is no node {}; allowed: {}",
                spec.node,
                names.join(", ")
            );
            return Err(unusable(line));
        };
        let target = std::net::SocketAddrV6::new(address.into(), spec.node_port, 0, 0);
        let host_port = forwarder.listen(spec.host_port, target).map_err(failed)?;
        forwards.push(ForwardSpec { host_port, ..spec });
    }
    Ok((forwarder, forwards))
}

/// Returns the services outside the mesh that its nodes may reach: the targets of the scenario's
/// applications, and those of `--expose`.
pub(super) fn exposed(args: &UpArgs, scenario: &Scenario) -> Vec<Service> {
    let apps = scenario.nodes.iter().flat_map(|node| &node.apps);
    let targets = apps.filter_map(|app| app.kind.target());
    let outside = targets.filter(|target| target.host == TargetHost::Outside);
    let mut services: Vec<Service> = outside
        .map(|target| Service {
            addr: Some(target.addr.into()),
            protocol: None,
            port: Some(target.port),
        })
        .collect();
    services.extend(&args.expose);
    services.dedup();
    services
}

/// Returns a line about a service that a node was not allowed to reach, and how to allow it.
pub(super) fn withheld(attempt: &Attempt) -> String {
    let Attempt { node, service } = attempt;
    format!(
        "packets from {node} to {service} are dropped, because nodes are not allowed to reach \
         that service; to allow it: --expose {service}"
    )
}
