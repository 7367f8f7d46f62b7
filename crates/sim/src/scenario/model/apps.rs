//! Applications on the nodes.

use redpoll_base::{Addr, Duration};

#[derive(Clone, PartialEq, Debug)]
pub struct AppSpec {
    /// Name of the flow in results: the app's name in the scenario, with a slash and the node's
    /// name if it runs on several nodes.
    pub name: String,
    /// Earliest start, after the beginning of the run.
    pub start: Duration,
    /// Length of the period that begins at the earliest start; the start is drawn from this period
    /// with uniform distribution.
    pub start_spread: Duration,
    /// Commands under which the application runs.
    pub when: When,
    pub kind: AppKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `redpoll run` and `redpoll up`.
    Always,
    /// Only `redpoll run`, in virtual time.
    Run,
    /// Only `redpoll up`, in real time with a host.
    Up,
    /// Only `redpoll up --demo`, which starts the app's peer.
    Demo,
    /// Under no command, unless `--set apps.NAME.when=always` enables the application.
    Never,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AppKind {
    /// Serves a page at `/` and a file at `/file` over HTTP/1.1.
    HttpServer { port: u16, file_bytes: u64 },
    /// Serves a page at `/`, a file at `/file` and a writable resource at `/store` over CoAP.
    CoapServer {
        port: u16,
        file_bytes: u64,
        /// Largest block in bytes, 16 to 1024.
        block: u16,
    },
    /// Returns the bytes of each connection to the sender (RFC 862).
    Echo { port: u16 },
    /// Connects and sends as fast as TCP allows.
    BulkSender {
        to: Target,
        /// Number of bytes until the app closes the connection; `None` sends until the run ends.
        bytes: Option<u64>,
        /// Pause before another attempt after a connection failed.
        retry: Duration,
        /// Whether a new connection carries only the bytes not acknowledged on earlier connections.
        resumes: bool,
    },
    /// Accepts connections and reads all data.
    BulkSink {
        port: u16,
        /// Bytes per second that the app reads from each connection; `None` without a limit.
        read_rate: Option<u64>,
    },
    /// Takes a reading at every interval, and sends the readings one by one or in batches.
    Sensor(SensorSpec),
    /// Requests the same resource from a server periodically.
    Client(ClientSpec),
    /// Publishes readings to an MQTT 3.1.1 broker, in batches.
    MqttSensor {
        to: Target,
        /// Topic, in which `{node}` is replaced by the node's name.
        topic: String,
        /// Quality of service, 0 or 1.
        qos: u8,
        bytes: u16,
        interval: Duration,
        /// Number of readings that are sent together.
        batch: u16,
        /// Maximum number of readings that wait to be sent or acknowledged; the app drops and
        /// counts any further reading.
        queue: u16,
        /// MQTT keep alive; zero disables it.
        keep_alive: Duration,
        /// Pause after a lost connection or a failed attempt, before the next attempt.
        reconnect: Duration,
    },
    /// Offers an image to leaves that request it.
    ImageSource(ImageSourceSpec),
    /// Fetches an image to its flash, and resumes after failures and restarts.
    ImageLeaf(ImageLeafSpec),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageProtocol {
    /// HTTP/1.1 with ranges: the leaf requests the missing bytes.
    Http,
    /// CoAP's Block1 (RFC 7959): the source sends block after block to each registered leaf.
    Block1,
    /// CoAP's Q-Block1 (RFC 9177): the source sends many blocks at a time.
    QBlock,
    /// Matter's bulk data exchange: the leaf requests block after block.
    Bdx,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageSourceSpec {
    pub port: u16,
    pub protocol: ImageProtocol,
    pub bytes: u64,
    pub block: u16,
    pub quick: QuickSpec,
    /// Retransmission interval of MRP, Matter's message reliability protocol (SAI, session active
    /// interval).
    pub interval: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageLeafSpec {
    pub to: Target,
    pub protocol: ImageProtocol,
    pub page: u16,
    /// Pause after a failed attempt.
    pub retry: Duration,
    /// Time without an arriving block or byte after which the leaf requests again.
    pub patience: Duration,
    pub block: u16,
    pub quick: QuickSpec,
    /// Retransmission interval of MRP, Matter's message reliability protocol (SAI, session active
    /// interval).
    pub interval: Duration,
}

/// Parameters of RFC 9177 §7.2, from which the other parameters follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuickSpec {
    pub max_payloads: u16,
    pub non_timeout: Duration,
}

/// A client of an HTTP or CoAP server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientSpec {
    pub to: Target,
    pub protocol: ClientProtocol,
    /// Time between the beginnings of two requests; a longer request delays the next one.
    pub interval: Duration,
    /// Number of requests; `None` continues until the run ends.
    pub count: Option<u32>,
    /// Largest requested block, with CoAP.
    pub block: u16,
    /// Pause after a failed request.
    pub retry: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientProtocol {
    /// HTTP/1.1, with a connection for each request.
    Http,
    /// Confirmable messages of CoAP.
    Coap,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SensorSpec {
    pub to: Target,
    pub transport: SensorTransport,
    pub bytes: u16,
    pub interval: Duration,
    /// Number of readings that are collected before one message is sent.
    pub batch: u16,
    /// Maximum number of readings that wait for the transport; the app drops and counts any further
    /// reading.
    pub queue: u16,
    /// Pause before another attempt after a connection failed or a server refused readings.
    pub reconnect: Duration,
    /// Bytes of readings in a message of CoAP or of the ideal protocol.
    pub message: u16,
    /// Whether CoAP sends all due readings as one body, in blocks of `message` bytes.
    pub blockwise: bool,
    /// Time between two messages of `Unreliable` or `Ideal`.
    pub spacing: Duration,
    pub cocoa: CocoaReading,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SensorTransport {
    Udp,
    Tcp,
    /// Confirmable messages of CoAP.
    Coap,
    /// Confirmable messages of CoAP with CoCoA's timeouts.
    Cocoa,
    /// Non-confirmable messages of CoAP.
    Unreliable,
    /// A protocol that learns of losses without messages.
    Ideal,
}

impl SensorTransport {
    pub const fn is_coap(self) -> bool {
        matches!(
            self,
            SensorTransport::Coap | SensorTransport::Cocoa | SensorTransport::Unreliable
        )
    }

    pub const fn is_udp(self) -> bool {
        !matches!(self, SensorTransport::Tcp)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CocoaReading {
    /// The text of draft-ietf-core-cocoa-03.
    #[default]
    Draft,
    Contiki,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    pub host: TargetHost,
    pub addr: Addr,
    pub port: u16,
}

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
    /// Returns whether the app has state in flash, with which it continues after a restart.
    pub(crate) fn outlives_restart(&self) -> bool {
        matches!(self, AppKind::ImageLeaf(_))
    }

    /// Returns the destination, if the app sends on its own initiative.
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
            (AppKind::BulkSink { port, .. }, AppKind::Sensor(sensor)) => {
                !sensor.transport.is_udp() && *port == target.port
            }
            (AppKind::BulkSink { port, .. }, AppKind::BulkSender { .. }) => *port == target.port,
            (AppKind::ImageSource(source), AppKind::ImageLeaf(leaf)) => {
                source.protocol == leaf.protocol && source.port == target.port
            }
            _ => false,
        }
    }

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
