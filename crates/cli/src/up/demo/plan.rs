//! The nodes and addresses of a scenario for the demonstration.

use std::net::{Ipv6Addr, SocketAddrV6};

use redpoll_sim::{AppKind, Scenario, Target, TargetHost, World};

use super::StepFailure;
use crate::up::environment::Environment;
use crate::up::join::Way;

#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) address: Ipv6Addr,
    pub(super) hops: usize,
    pub(super) port: u16,
}

#[derive(Debug)]
pub(super) struct Upload {
    pub(super) node: String,
    pub(super) bytes: u64,
    pub(super) server: SocketAddrV6,
}

#[derive(Debug)]
pub(super) struct Readings {
    pub(super) node: String,
    pub(super) topic: String,
    pub(super) bytes: u16,
    pub(super) batch: u16,
    pub(super) interval: redpoll_base::Duration,
    pub(super) broker: SocketAddrV6,
}

impl Readings {
    pub(super) fn batch_time(&self) -> std::time::Duration {
        std::time::Duration::from_micros(self.interval.times(self.batch.into()).as_micros())
    }
}

/// The parts of a scenario that the demonstration uses on this host.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) server: Server,
    pub(super) file_bytes: u64,
    pub(super) upload: Option<Upload>,
    pub(super) readings: Option<Readings>,
    /// Whether the host's own network reaches the mesh.
    pub(super) host_is_joined: bool,
    /// Host port that is forwarded to the server's port, if any.
    pub(super) forwarded_port: Option<u16>,
}

impl Plan {
    pub(super) fn make(
        scenario: &Scenario,
        environment: &Environment,
    ) -> Result<Plan, StepFailure> {
        let (server, file_bytes) =
            server(scenario).ok_or("no node of this scenario serves HTTP")?;
        let forwarded = environment
            .forwards
            .iter()
            .find(|f| f.node == server.name && f.node_port == server.port);
        let host_is_joined = environment.way != Way::Forward;
        let forwarded_port = forwarded.map(|f| f.host_port);
        if !host_is_joined && forwarded_port.is_none() {
            return Err(format!(
                "this computer has no route to {}: use --forward 8080:{}:{}",
                server.name, server.name, server.port
            )
            .into());
        }
        let outside = |target: &Target| {
            target.host == TargetHost::Outside && target.addr == scenario.border.host
        };
        let socket = |target: &Target| SocketAddrV6::new(environment.host, target.port, 0, 0);
        let mut plan = Plan {
            server,
            file_bytes,
            upload: None,
            readings: None,
            host_is_joined,
            forwarded_port,
        };
        for node in &scenario.nodes {
            for app in &node.apps {
                match &app.kind {
                    AppKind::BulkSender {
                        to,
                        bytes: Some(bytes),
                        ..
                    } if outside(to) => {
                        plan.upload = Some(Upload {
                            node: node.name.clone(),
                            bytes: *bytes,
                            server: socket(to),
                        });
                    }
                    AppKind::MqttSensor {
                        to,
                        topic,
                        bytes,
                        batch,
                        interval,
                        ..
                    } if outside(to) => {
                        plan.readings = Some(Readings {
                            node: node.name.clone(),
                            topic: topic.replace("{node}", &node.name),
                            bytes: *bytes,
                            batch: *batch,
                            interval: *interval,
                            broker: socket(to),
                        });
                    }
                    _ => {}
                }
            }
        }
        Ok(plan)
    }

    pub(super) fn upload_title(&self) -> String {
        match &self.upload {
            Some(upload) => format!(
                "{} uploads {} KiB to a TCP server on this computer",
                upload.node,
                upload.bytes / 1024
            ),
            None => "an upload to a TCP server on this computer".to_owned(),
        }
    }

    pub(super) fn readings_title(&self) -> String {
        match &self.readings {
            Some(readings) => format!(
                "sensor readings of {} to an MQTT broker on this computer",
                readings.node
            ),
            None => "sensor readings to an MQTT broker on this computer".to_owned(),
        }
    }

    pub(super) fn server_url(&self) -> String {
        match self.forwarded_port {
            Some(port) if !self.host_is_joined => format!("http://127.0.0.1:{port}"),
            _ if self.server.port == 80 => format!("http://[{}]", self.server.address),
            _ => format!("http://[{}]:{}", self.server.address, self.server.port),
        }
    }

    /// Returns the reason for which a step that needs an interface is skipped.
    pub(super) fn needs_tun(&self) -> String {
        "this step needs a network interface, which this user may not create; run the demo as root"
            .to_owned()
    }
}

/// Returns the HTTP server to show, and the size of its file: the first one four hops away, or
/// otherwise the farthest one.
pub(super) fn server(scenario: &Scenario) -> Option<(Server, u64)> {
    let servers = scenario
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(index, node)| {
            let (port, file_bytes) = node.apps.iter().find_map(|app| match app.kind {
                AppKind::HttpServer { port, file_bytes } => Some((port, file_bytes)),
                _ => None,
            })?;
            let server = Server {
                name: node.name.clone(),
                address: scenario.address(index)?.into(),
                hops: 0,
                port,
            };
            Some((index, server, file_bytes))
        });
    let world = World::new(scenario, scenario.seed).ok()?;
    let routes = world.routes();
    let reached = servers.filter_map(|(index, server, file_bytes)| {
        let hops = routes.nodes.get(index)?.hops_to_root?;
        Some((Server { hops, ..server }, file_bytes))
    });
    reached.min_by_key(|(server, _)| (server.hops != 4, std::cmp::Reverse(server.hops)))
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} hops away", self.name, self.hops)
    }
}
