//! Builds the applications of a scenario and puts them on their nodes.

mod conflicts;
mod images;
mod places;
mod sensors;

use crate::medium::RadioSpec;
use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{
    AppKind, AppSpec, ClientProtocol, ClientSpec, CongestionSpec, Interface, NodeKey, NodeSpec,
    Role, Scenario, TransportSpec, When,
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
    conflicts::check(values, scenario)
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

/// Name that the keys `on` and `to` of an app use for the host behind the border router.
const HOST: &str = "host";

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
}
