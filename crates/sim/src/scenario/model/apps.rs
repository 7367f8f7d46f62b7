//! What runs on the nodes.

use redpoll_base::{Addr, Duration};

/// An application on a node.
#[derive(Clone, PartialEq, Debug)]
pub struct AppSpec {
    /// The name of its flow in results: the app's name in the scenario, and
    /// if it runs on several nodes, a slash and the node's name.
    pub name: String,
    /// When it starts at the earliest, after the beginning of the run.
    pub start: Duration,
    /// It starts at a random moment of a span of this length.
    pub start_spread: Duration,
    /// Under which commands it runs.
    pub when: When,
    /// What it does.
    pub kind: AppKind,
}

/// Under which commands an app runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `redpoll run` and `redpoll up`.
    Always,
    /// Only in virtual time.
    Run,
    /// Only in real time, with a host.
    Up,
    /// Not at all: switched on with `--set apps.NAME.when=always`.
    Never,
}

/// What an application does.
#[derive(Clone, PartialEq, Debug)]
pub enum AppKind {
    /// Serves a page at `/` and a file at `/file` over HTTP/1.1.
    HttpServer {
        /// TCP port to listen on.
        port: u16,
        /// Bytes of `/file`.
        file_bytes: u64,
    },
    /// Serves a page at `/`, a file at `/file` and a place for others' content
    /// at `/store` over CoAP.
    CoapServer {
        /// UDP port.
        port: u16,
        /// Bytes of `/file`.
        file_bytes: u64,
        /// The largest block in bytes, 16 to 1024.
        block: u16,
    },
    /// Sends back what connections bring (RFC 862).
    Echo {
        /// TCP port to listen on.
        port: u16,
    },
    /// Connects and sends as fast as TCP lets it.
    BulkSender {
        /// Where to.
        to: Target,
        /// How much, then it closes; `None` sends until the run ends.
        bytes: Option<u64>,
        /// Pause before another attempt when the connection could not be
        /// opened or failed.
        retry: Duration,
        /// A new connection carries only what was not acknowledged on those before.
        resumes: bool,
    },
    /// Accepts connections and reads as fast as it can.
    BulkSink {
        /// TCP port to listen on.
        port: u16,
    },
    /// Sends a reading at every interval, one by one or in batches.
    Sensor(SensorSpec),
    /// Asks a server for the same resource again and again.
    Client(ClientSpec),
    /// Publishes readings to an MQTT 3.1.1 broker, in batches.
    MqttSensor {
        /// The broker.
        to: Target,
        /// Topic; `{node}` stands for the node's name.
        topic: String,
        /// Quality of service, 0 or 1.
        qos: u8,
        /// Bytes of a reading.
        bytes: u16,
        /// Time between readings.
        interval: Duration,
        /// Readings sent together.
        batch: u16,
        /// Readings that wait at most; further ones are counted and dropped.
        queue: u16,
        /// MQTT keep alive; zero is off.
        keep_alive: Duration,
        /// Pause before connecting again.
        reconnect: Duration,
    },
    /// Has an image for leaves that ask for it.
    ImageSource(ImageSourceSpec),
    /// Fetches an image to its flash, and goes on with it after whatever happens.
    ImageLeaf(ImageLeafSpec),
}

/// How an image gets to a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageProtocol {
    /// HTTP/1.1 with ranges: the leaf asks for what it has not.
    Http,
    /// CoAP's Block1 (RFC 7959): the source puts block after block, once the leaf has said
    /// that it is there.
    Block1,
    /// CoAP's Q-Block1 (RFC 9177): the source puts many blocks at a time.
    QBlock,
    /// Matter's bulk data exchange: the leaf asks for block after block.
    Bdx,
}

/// Who has an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageSourceSpec {
    /// Port to listen on, of TCP or UDP.
    pub port: u16,
    /// What it speaks.
    pub protocol: ImageProtocol,
    /// Bytes of the image.
    pub bytes: u64,
    /// Bytes of a block.
    pub block: u16,
    /// What Q-Block goes by.
    pub quick: QuickSpec,
    /// MRP's retransmission interval (SAI).
    pub interval: Duration,
}

/// Who fetches an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageLeafSpec {
    /// The source.
    pub to: Target,
    /// What it speaks.
    pub protocol: ImageProtocol,
    /// Bytes of a page of flash.
    pub page: u16,
    /// Pause behind an attempt that failed.
    pub retry: Duration,
    /// It asks again when nothing has come for so long.
    pub patience: Duration,
    /// Bytes of a block that it asks for.
    pub block: u16,
    /// What Q-Block goes by.
    pub quick: QuickSpec,
    /// MRP's retransmission interval (SAI).
    pub interval: Duration,
}

/// Parameters of RFC 9177 §7.2; the others follow from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuickSpec {
    /// MAX_PAYLOADS.
    pub max_payloads: u16,
    /// NON_TIMEOUT.
    pub non_timeout: Duration,
}

/// A client of an HTTP or CoAP server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientSpec {
    /// The server.
    pub to: Target,
    /// What it speaks.
    pub protocol: ClientProtocol,
    /// Time between the beginnings of two requests; a request that takes
    /// longer puts the next one off.
    pub interval: Duration,
    /// Requests, then it stops; `None` goes on until the run ends.
    pub count: Option<u32>,
    /// CoAP: the largest block that it asks for.
    pub block: u16,
    /// Pause after a failure.
    pub retry: Duration,
}

/// What a client speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientProtocol {
    /// HTTP/1.1, a connection a request.
    Http,
    /// CoAP's confirmable messages.
    Coap,
}

/// A sensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SensorSpec {
    /// Where to.
    pub to: Target,
    /// What carries the readings.
    pub transport: SensorTransport,
    /// Bytes of a reading.
    pub bytes: u16,
    /// Time between readings.
    pub interval: Duration,
    /// Readings collected before any is sent.
    pub batch: u16,
    /// Readings that wait at most; further ones are counted and dropped.
    pub queue: u16,
    /// Pause before another attempt after a connection failed or a server
    /// refused readings.
    pub reconnect: Duration,
    /// Bytes of readings in a message of CoAP or of the ideal protocol.
    pub message: u16,
    /// CoAP sends all that is due as one body, in blocks of `message`.
    pub blockwise: bool,
    /// Time between messages that nobody acknowledges.
    pub spacing: Duration,
    /// Which CoCoA.
    pub cocoa: CocoaReading,
}

/// What carries a sensor's readings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SensorTransport {
    /// One datagram a reading.
    Udp,
    /// One connection for all.
    Tcp,
    /// CoAP's confirmable messages.
    Coap,
    /// CoAP's confirmable messages with CoCoA's timeouts.
    Cocoa,
    /// CoAP's messages that are not confirmable.
    Unreliable,
    /// A protocol that learns of losses without asking.
    Ideal,
}

impl SensorTransport {
    /// Whether it speaks CoAP.
    pub const fn is_coap(self) -> bool {
        matches!(
            self,
            SensorTransport::Coap | SensorTransport::Cocoa | SensorTransport::Unreliable
        )
    }

    /// Whether it is carried by UDP.
    pub const fn is_udp(self) -> bool {
        !matches!(self, SensorTransport::Tcp)
    }
}

/// How CoCoA is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CocoaReading {
    /// As draft-ietf-core-cocoa-03 has it.
    #[default]
    Draft,
    /// As Contiki's `cocoa.c` has it.
    Contiki,
}

/// Where an app sends to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// What stands at the far end.
    pub host: TargetHost,
    /// Its address.
    pub addr: Addr,
    /// Its port.
    pub port: u16,
}

/// What stands at the far end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetHost {
    /// A node: index into [`Scenario::nodes`](super::Scenario::nodes).
    Node(usize),
    /// The host behind the border router, or an address beyond it.
    Outside,
}

impl std::fmt::Display for AppKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl AppKind {
    /// Where the app sends to, if it sends on its own account.
    pub fn target(&self) -> Option<&Target> {
        match self {
            AppKind::BulkSender { to, .. }
            | AppKind::Sensor(SensorSpec { to, .. })
            | AppKind::Client(ClientSpec { to, .. })
            | AppKind::ImageLeaf(ImageLeafSpec { to, .. })
            | AppKind::MqttSensor { to, .. } => Some(to),
            AppKind::ImageSource(_)
            | AppKind::HttpServer { .. }
            | AppKind::CoapServer { .. }
            | AppKind::BulkSink { .. }
            | AppKind::Echo { .. } => None,
        }
    }

    /// Whether it is the far end that `sender` needs.
    pub(super) fn serves(&self, sender: &AppKind) -> bool {
        let Some(target) = sender.target() else {
            return false;
        };
        match (self, sender) {
            (AppKind::CoapServer { port, .. }, AppKind::Sensor(sensor)) => {
                sensor.transport.is_coap() && *port == target.port
            }
            (AppKind::CoapServer { port, .. }, AppKind::Client(client)) => {
                client.protocol == ClientProtocol::Coap && *port == target.port
            }
            (AppKind::HttpServer { port, .. }, AppKind::Client(client)) => {
                client.protocol == ClientProtocol::Http && *port == target.port
            }
            (AppKind::BulkSink { port }, AppKind::Sensor(sensor)) => {
                !sensor.transport.is_udp() && *port == target.port
            }
            (AppKind::BulkSink { port }, AppKind::BulkSender { .. }) => *port == target.port,
            (AppKind::ImageSource(source), AppKind::ImageLeaf(leaf)) => {
                source.protocol == leaf.protocol && source.port == target.port
            }
            _ => false,
        }
    }

    /// The word for it in a scenario.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            AppKind::HttpServer { .. } => "http-server",
            AppKind::CoapServer { .. } => "coap-server",
            AppKind::BulkSender { .. } => "bulk-sender",
            AppKind::BulkSink { .. } => "bulk-sink",
            AppKind::Echo { .. } => "echo",
            AppKind::Sensor(_) => "sensor",
            AppKind::Client(client) => match client.protocol {
                ClientProtocol::Http => "http-client",
                ClientProtocol::Coap => "coap-client",
            },
            AppKind::MqttSensor { .. } => "mqtt-sensor",
            AppKind::ImageSource(_) => "image-source",
            AppKind::ImageLeaf(_) => "image-leaf",
        }
    }
}
