//! Builds the applications of a scenario and puts them on their nodes.

use std::net::Ipv6Addr;

use crate::medium::RadioSpec;
use crate::scenario::check::{Values, unknown};
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{
    AppKind, AppSpec, ClientProtocol, ClientSpec, CocoaReading, CongestionSpec, ImageLeafSpec,
    ImageProtocol, ImageSourceSpec, Interface, NodeKey, NodeSpec, QuickSpec, Role, Scenario,
    SensorSpec, SensorTransport, Target, TargetHost, TransportSpec, When,
};

pub(super) fn add(values: &Values<'_>, scenario: &mut Scenario) -> Result<(), ScenarioError> {
    for name in values.names("apps") {
        let app = App {
            values,
            scenario,
            path: format!("apps.{name}"),
        };
        let spec = AppSpec {
            name: name.clone(),
            start: values.duration(&app.key("start")),
            start_spread: values.duration(&app.key("start_spread")),
            when: app.when(),
            kind: app.kind()?,
        };
        let nodes = app.nodes(spec.kind.target())?;
        let several = nodes.len() > 1;
        for index in nodes {
            if index >= scenario.nodes.len() {
                scenario.host.get_or_insert_with(host);
            }
            let Some(node) = scenario.places_mut().nth(index) else {
                continue;
            };
            let mut spec = spec.clone();
            if several {
                spec.name = format!("{name}/{}", node.name);
            }
            if let AppKind::MqttSensor { topic, .. } = &mut spec.kind {
                *topic = topic.replace("{node}", &node.name);
            }
            node.apps.push(spec);
        }
    }
    check_ports(values, scenario)?;
    check_datagram_ports(values, scenario)?;
    check_ends(values, scenario)
}

/// Returns the host behind the border router. Its position and link addresses are unused.
fn host() -> NodeSpec {
    NodeSpec {
        name: HOST.to_owned(),
        short: 0xfffd,
        eui64: [0; 8],
        module: None,
        interface: Interface::default(),
        console: Vec::new(),
        thread: None,
        line: None,
        attacker: false,
        position_m: (0.0, 0.0),
        role: Role::Leaf,
        sleepy: false,
        radio: RadioSpec::default(),
        drift_ppm: Some(0.0),
        key: NodeKey::Network,
        transport: TransportSpec::default(),
        congestion: CongestionSpec::default(),
        connections: 0,
        forwards: 0,
        apps: Vec::new(),
    }
}

const HOST: &str = "host";
/// Name of the border router in `on` and `to`, whatever the name of its node.
const BORDER: &str = "border";

struct App<'a, 'f> {
    values: &'a Values<'f>,
    scenario: &'a Scenario,
    path: String,
}

impl App<'_, '_> {
    fn key(&self, last: &str) -> String {
        format!("{}.{last}", self.path)
    }

    fn when(&self) -> When {
        match self.values.text(&self.key("when")).as_str() {
            "run" => When::Run,
            "up" => When::Up,
            "demo" => When::Demo,
            "never" => When::Never,
            _ => When::Always,
        }
    }

    fn kind(&self) -> Result<AppKind, ScenarioError> {
        let values = self.values;
        let kind = values.text(&self.key("type"));
        Ok(match kind.as_str() {
            "http-server" => AppKind::HttpServer {
                port: self.port_or(80),
                file_bytes: values.bytes(&self.key("file")).unwrap_or_default(),
            },
            "coap-server" => AppKind::CoapServer {
                port: self.port_or(5_683),
                block: self.block(),
                file_bytes: values.bytes(&self.key("file")).unwrap_or_default(),
            },
            "bulk-sink" => match values.count(&self.key("port")) {
                Some(port) => AppKind::BulkSink {
                    port: port as u16,
                    read_rate: values.bytes(&self.key("read_rate")),
                },
                None => {
                    let problem = "is missing; allowed: a whole number from 1 to 65535";
                    return Err(values.error(&self.key("port"), problem));
                }
            },
            "echo" => AppKind::Echo {
                port: self.port_or(7),
            },
            "bulk-sender" => AppKind::BulkSender {
                to: self.target()?,
                bytes: values.bytes(&self.key("total")),
                retry: values.duration(&self.key("retry")),
                resumes: values.flag(&self.key("resume")),
            },
            "sensor" => AppKind::Sensor(self.sensor()?),
            "http-client" => AppKind::Client(self.client(ClientProtocol::Http)?),
            "coap-client" => AppKind::Client(self.client(ClientProtocol::Coap)?),
            "image-source" => AppKind::ImageSource(self.image_source()),
            "image-leaf" => AppKind::ImageLeaf(self.image_leaf()?),
            _ => self.mqtt_sensor()?,
        })
    }

    fn port_or(&self, usual: u16) -> u16 {
        let port = self.values.count(&self.key("port"));
        port.map_or(usual, |port| port as u16)
    }

    fn block(&self) -> u16 {
        let text = self.values.text(&self.key("block"));
        let number = text.split(' ').next().unwrap_or_default();
        number.parse().unwrap_or_default()
    }

    fn client(&self, protocol: ClientProtocol) -> Result<ClientSpec, ScenarioError> {
        let values = self.values;
        Ok(ClientSpec {
            to: self.target()?,
            protocol,
            interval: values.duration(&self.key("interval")),
            count: values.count(&self.key("count")).map(|count| count as u32),
            block: self.block(),
            retry: values.duration(&self.key("retry")),
        })
    }

    fn image_protocol(&self) -> ImageProtocol {
        match self.values.text(&self.key("protocol")).as_str() {
            "block1" => ImageProtocol::Block1,
            "q-block" => ImageProtocol::QBlock,
            "bdx" => ImageProtocol::Bdx,
            _ => ImageProtocol::Http,
        }
    }

    fn quick(&self) -> QuickSpec {
        let max_payloads = self.values.count(&self.key("max_payloads"));
        QuickSpec {
            max_payloads: max_payloads.map_or(1, |count| count as u16),
            non_timeout: self.values.duration(&self.key("non_timeout")),
        }
    }

    fn image_source(&self) -> ImageSourceSpec {
        let protocol = self.image_protocol();
        let usual = match protocol {
            ImageProtocol::Http => 80,
            ImageProtocol::Block1 | ImageProtocol::QBlock => 5_683,
            ImageProtocol::Bdx => 5_540,
        };
        ImageSourceSpec {
            port: self.port_or(usual),
            protocol,
            bytes: self.values.bytes(&self.key("file")).unwrap_or_default(),
            block: self.block(),
            quick: self.quick(),
            interval: self.values.duration(&self.key("message_interval")),
        }
    }

    fn image_leaf(&self) -> Result<ImageLeafSpec, ScenarioError> {
        let values = self.values;
        let (page, block) = (values.real(&self.key("page")) as u16, self.block());
        let protocol = self.image_protocol();
        if page > block && protocol != ImageProtocol::Http {
            let problem = format!("got {page} B; allowed: at most {block} B, the value of `block`");
            return Err(values.error(&self.key("page"), problem));
        }
        Ok(ImageLeafSpec {
            to: self.target()?,
            protocol,
            page,
            retry: values.duration(&self.key("retry")),
            patience: values.duration(&self.key("patience")),
            block,
            quick: self.quick(),
            interval: values.duration(&self.key("message_interval")),
        })
    }

    fn sensor(&self) -> Result<SensorSpec, ScenarioError> {
        let values = self.values;
        let transport = match values.text(&self.key("transport")).as_str() {
            "tcp" => SensorTransport::Tcp,
            "coap" => SensorTransport::Coap,
            "cocoa" => SensorTransport::Cocoa,
            "unreliable" => SensorTransport::Unreliable,
            "ideal" => SensorTransport::Ideal,
            _ => SensorTransport::Udp,
        };
        let usual_queue = if transport.is_coap() { 104 } else { 64 };
        let (batch, queue) = self.batch_and_queue(1, usual_queue)?;
        let bytes = values.real(&self.key("reading")) as u16;
        let message = values.real(&self.key("message")) as u16;
        let blockwise = values.flag(&self.key("blockwise"));
        if message < bytes && !blockwise {
            let problem =
                format!("got {message} B; allowed: at least {bytes} B, the value of `reading`");
            return Err(values.error(&self.key("message"), problem));
        }
        Ok(SensorSpec {
            to: self.target()?,
            transport,
            bytes,
            interval: values.duration(&self.key("interval")),
            batch,
            queue,
            reconnect: values.duration(&self.key("reconnect")),
            message,
            blockwise,
            spacing: values.duration(&self.key("spacing")),
            cocoa: match values.text(&self.key("cocoa")).as_str() {
                "contiki" => CocoaReading::Contiki,
                _ => CocoaReading::Draft,
            },
        })
    }

    fn batch_and_queue(
        &self,
        usual_batch: u16,
        usual_queue: u16,
    ) -> Result<(u16, u16), ScenarioError> {
        let values = self.values;
        let read = |key, usual| {
            let count = values.count(&self.key(key));
            count.map_or(usual, |count| count as u16)
        };
        let (batch, queue) = (read("batch", usual_batch), read("queue", usual_queue));
        if queue < batch {
            if values.has(&self.key("queue")) {
                let problem =
                    format!("got {queue}; allowed: at least {batch}, the value of `batch`");
                return Err(values.error(&self.key("queue"), problem));
            }
            let problem = format!("got {batch}; allowed: at most {queue}, the value of `queue`");
            return Err(values.error(&self.key("batch"), problem));
        }
        Ok((batch, queue))
    }

    fn mqtt_sensor(&self) -> Result<AppKind, ScenarioError> {
        let values = self.values;
        let (batch, queue) = self.batch_and_queue(8, 64)?;
        let topic = values.text(&self.key("topic"));
        if topic.contains(['#', '+', '\0']) || topic.len() > 64 {
            let problem =
                format!("got \"{topic}\"; allowed: up to 64 bytes without #, + and zero bytes");
            return Err(values.error(&self.key("topic"), problem));
        }
        Ok(AppKind::MqttSensor {
            to: self.target()?,
            topic,
            qos: values.small(&self.key("qos")),
            bytes: values.real(&self.key("reading")) as u16,
            interval: values.duration(&self.key("interval")),
            batch,
            queue,
            keep_alive: values.duration(&self.key("keep_alive")),
            reconnect: values.duration(&self.key("reconnect")),
        })
    }

    fn target(&self) -> Result<Target, ScenarioError> {
        let key = self.key("to");
        let text = self.values.text(&key);
        let wrong = || {
            let allowed = "\"node:port\", \"border:port\", \"host:port\" or \"[address]:port\", \
                port from 1 to 65535";
            self.values
                .error(&key, format!("got \"{text}\"; allowed: {allowed}"))
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(wrong)?;
        if host == HOST {
            let addr = self.scenario.border.host;
            return Ok(Target {
                host: TargetHost::Outside,
                addr,
                port,
            });
        }
        if let Some(addr) = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let addr: Ipv6Addr = addr.parse().map_err(|_| wrong())?;
            let addr = addr.into();
            // If a simulated node has this address, the node is the target.
            let node = (0..self.scenario.nodes.len())
                .find(|index| self.scenario.address(*index) == Some(addr));
            let host = node.map_or(TargetHost::Outside, TargetHost::Node);
            return Ok(Target { host, addr, port });
        }
        match self.node(host) {
            Some(index) => {
                let addr = self.scenario.address(index).unwrap_or_default();
                Ok(Target {
                    host: TargetHost::Node(index),
                    addr,
                    port,
                })
            }
            None => {
                let names = std::iter::once(HOST);
                let names = names.chain(self.scenario.nodes.iter().map(|node| node.name.as_str()));
                let names: Vec<&str> = names.collect();
                Err(self.values.error(&key, unknown("node", host, &names)))
            }
        }
    }

    /// Returns the node called `name`; `border` is the border router unless a node has that name.
    fn node(&self, name: &str) -> Option<usize> {
        let border = || match name {
            BORDER => self.scenario.border_router(),
            _ => None,
        };
        self.scenario.node(name).or_else(border)
    }

    fn nodes(&self, target: Option<&Target>) -> Result<Vec<usize>, ScenarioError> {
        let key = self.key("on");
        let all = || 0..self.scenario.nodes.len();
        let of_role = |role| all().filter(move |index| self.scenario.nodes[*index].role == role);
        let texts = self.values.texts(&key);
        let mut nodes: Vec<usize> = Vec::new();
        for text in &texts {
            match text.as_str() {
                "every node" => nodes.extend(all()),
                "every router" => nodes.extend(of_role(Role::Router)),
                "every leaf" => nodes.extend(of_role(Role::Leaf)),
                "every other node" => {
                    let far_end = target.map(|target| target.host);
                    nodes.extend(all().filter(|index| far_end != Some(TargetHost::Node(*index))));
                }
                HOST if self.scenario.border_router().is_none() => {
                    let problem = "got host, but no node has role = \"border\"; allowed: \
                                   names and groups of nodes, or host with a border router";
                    return Err(self.values.error(&key, problem));
                }
                HOST => nodes.push(self.scenario.nodes.len()),
                name => match self.node(name) {
                    Some(index) => nodes.push(index),
                    None => {
                        let names: Vec<&str> = self
                            .scenario
                            .nodes
                            .iter()
                            .map(|node| node.name.as_str())
                            .collect();
                        return Err(self.values.error(&key, unknown("node", name, &names)));
                    }
                },
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            let problem = format!(
                "got \"{}\", but no node matches; allowed: names and groups of nodes that match at least one node",
                texts.join("\", \"")
            );
            return Err(self.values.error(&key, problem));
        }
        let far_end = target.and_then(|target| match target.host {
            TargetHost::Node(index) => Some(index),
            TargetHost::Outside => {
                (target.addr == self.scenario.border.host).then_some(self.scenario.nodes.len())
            }
        });
        if let Some(far_end) = far_end.filter(|far_end| nodes.contains(far_end)) {
            let name = self.scenario.nodes.get(far_end);
            let problem = format!(
                "got {}, the destination of the app; allowed: nodes other than the destination, \
                 such as \"every other node\", which selects all except the destination",
                name.map_or(HOST, |node| &node.name)
            );
            return Err(self.values.error(&key, problem));
        }
        Ok(nodes)
    }
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
        // A sender to a host that is not simulated needs a real host.
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
