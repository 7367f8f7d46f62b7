//! The text that `redpoll up` prints when the mesh starts.

use std::fmt::Write;
use std::net::Ipv6Addr;

use redpoll_linux::namespace;
use redpoll_linux::reach::{Reach, Service};
use redpoll_sim::{AppKind, NodeSpec, Scenario};

use super::environment::Environment;
use super::join::{Joined, Way};

/// Lists how the mesh is joined, services that nodes may reach, the nodes, and port forwards.
pub(super) fn text(
    scenario: &Scenario,
    joined: &Joined,
    environment: &Environment,
    reach: &Reach,
) -> String {
    let mut text = format!(
        "{}: {} nodes, in real time\n",
        scenario.name,
        scenario.nodes.len()
    );
    if let Some(because) = &joined.because {
        let _ = writeln!(text, "{}", sentence(because));
    }
    let interface = joined.tun.as_ref().map_or("", |tun| tun.name());
    let _ = match joined.way {
        Way::Tun => writeln!(
            text,
            "Connected to this computer by the TUN interface {interface}."
        ),
        Way::Namespace => writeln!(
            text,
            "Connected by the TUN interface {interface} inside its own network namespace: only \
             programs in that namespace reach the mesh.\nTo enter it from another terminal: \
             nsenter {} -t {}",
            if namespace::is_of_a_user() {
                "--preserve-credentials -U -n"
            } else {
                "-n"
            },
            std::process::id()
        ),
        Way::Forward => writeln!(
            text,
            "Without an interface: this computer reaches the mesh through forwarded ports only."
        ),
    };
    if joined.way != Way::Forward {
        let prefix = Ipv6Addr::from(scenario.border.prefix);
        let _ = writeln!(
            text,
            "Prefix {prefix}/64, this computer is {}.",
            environment.host
        );
        let services: Vec<String> = reach.exposed().iter().map(Service::to_string).collect();
        let _ = match services.as_slice() {
            [] => writeln!(
                text,
                "Nodes may answer packets from outside the mesh, but may not open connections to services there (--expose names services that they may use)."
            ),
            services => writeln!(
                text,
                "Nodes may reach these services outside the mesh: {} (--expose allows more).",
                services.join(", ")
            ),
        };
    }
    let width = scenario
        .nodes
        .iter()
        .map(|node| node.name.len())
        .max()
        .unwrap_or(0);
    for (index, node) in scenario.nodes.iter().enumerate() {
        let Some(address) = scenario.address(index) else {
            continue;
        };
        let address = Ipv6Addr::from(address).to_string();
        let line = format!("  {:width$}  {address:27}  {}", node.name, about(node));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for forward in &environment.forwards {
        let _ = writeln!(
            text,
            "Forwarded: 127.0.0.1:{} -> {}:{}",
            forward.host_port, forward.node, forward.node_port
        );
    }
    text
}

fn about(node: &NodeSpec) -> String {
    let mut words = vec![node.role.to_string()];
    for app in &node.apps {
        words.push(match &app.kind {
            AppKind::HttpServer { port: 80, .. } => "http".to_owned(),
            AppKind::HttpServer { port, .. } => format!("http on port {port}"),
            AppKind::CoapServer { port: 5683, .. } => "coap".to_owned(),
            AppKind::CoapServer { port, .. } => format!("coap on port {port}"),
            AppKind::BulkSink { port, .. } => format!("accepts bytes on port {port}"),
            AppKind::Echo { port } => format!("echoes on port {port}"),
            sender => sender.to_string(),
        });
    }
    words.join(", ")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|c| c.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
