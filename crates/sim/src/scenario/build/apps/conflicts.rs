//! Checks that the applications of a scenario fit together: ports, and senders with their far ends.

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{
    AppKind, AppSpec, ClientProtocol, ImageProtocol, Scenario, TargetHost, When,
};

pub(super) fn check(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    check_ports(values, scenario)?;
    check_datagram_ports(values, scenario)?;
    check_ends(values, scenario)
}

/// Returns the path of the app's table in the scenario file, derived from the flow's name.
fn table_of(spec: &AppSpec) -> String {
    let name = spec.name.split('/').next().unwrap_or(&spec.name);
    format!("apps.{name}")
}

/// Protocol whose ports are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Tcp,
    Udp,
}

fn listens_on(kind: &AppKind) -> Option<(Protocol, u16)> {
    match kind {
        AppKind::HttpServer { port, .. }
        | AppKind::BulkSink { port, .. }
        | AppKind::Echo { port } => Some((Protocol::Tcp, *port)),
        AppKind::CoapServer { port, .. } => Some((Protocol::Udp, *port)),
        AppKind::ImageSource(source) => Some(match source.protocol {
            ImageProtocol::Http => (Protocol::Tcp, source.port),
            _ => (Protocol::Udp, source.port),
        }),
        _ => None,
    }
}

fn check_ports(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    for node in scenario.places() {
        let mut taken: Vec<((Protocol, u16), &AppSpec)> = Vec::new();
        for app in &node.apps {
            let Some(port) = listens_on(&app.kind) else {
                continue;
            };
            if let Some((_, other)) = taken.iter().find(|(other, _)| *other == port) {
                let port = port.1;
                let problem = format!(
                    "got {port}, which {} already uses on {}; allowed: another port",
                    other.name, node.name
                );
                return Err(values.error(&format!("{}.port", table_of(app)), problem));
            }
            taken.push((port, app));
        }
    }
    Ok(())
}

/// Refuses plain datagrams to a port where a CoAP server would get them.
fn check_datagram_ports(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    for app in scenario.places().flat_map(|place| &place.apps) {
        let AppKind::Sensor(sensor) = &app.kind else {
            continue;
        };
        if !sensor.transport.is_udp() || sensor.transport.is_coap() {
            continue;
        }
        let far = scenario.index_of(&sensor.to);
        let far = far.and_then(|index| scenario.place(index));
        let port = sensor.to.port;
        let is_taken = |other: &&AppSpec| {
            other.when != When::Never && listens_on(&other.kind) == Some((Protocol::Udp, port))
        };
        if let Some(server) = far.and_then(|far| far.apps.iter().find(is_taken)) {
            let problem = format!(
                "got port {port}, which {} already uses; allowed: another port",
                server.name
            );
            return Err(values.error(&format!("{}.to", table_of(app)), problem));
        }
    }
    Ok(())
}

/// Refuses senders whose data no application at the far node accepts. TCP needs a listener. Plain
/// datagrams need no application, because the far node counts them by itself.
fn check_ends(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    for app in scenario.places().flat_map(|place| &place.apps) {
        // Senders to destinations outside the simulation are not checked: a real host has to accept
        // their data.
        let Some((to, TargetHost::Node(far))) = app.kind.target().map(|to| (to, to.host)) else {
            continue;
        };
        if scenario.is_served(app) {
            continue;
        }
        let (far, port) = (&scenario.nodes[far].name, to.port);
        let server = match app.kind {
            AppKind::MqttSensor { .. } => {
                let problem = format!(
                    "got {far}, a node, which cannot be an MQTT broker; allowed: host:port or \
                     [address]:port"
                );
                return Err(values.error(&format!("{}.to", table_of(app)), problem));
            }
            AppKind::Sensor(sensor) if sensor.transport.is_coap() => "coap-server",
            AppKind::Client(client) if client.protocol == ClientProtocol::Coap => "coap-server",
            AppKind::Client(_) => "http-server",
            AppKind::ImageLeaf(_) => "image-source with the same protocol",
            _ => "bulk-sink",
        };
        let problem = format!(
            "got port {port} of {far}, where no {server} listens; allowed: the port of a \
             {server}, or host:port"
        );
        return Err(values.error(&format!("{}.to", table_of(app)), problem));
    }
    Ok(())
}
