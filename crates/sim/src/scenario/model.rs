//! What a scenario says, checked and resolved: plain data for the simulator
//! and for `redpoll up`. How it is written in TOML is the business of
//! the modules beside this one and documented in `docs/scenario.md`.

use std::path::PathBuf;

use redpoll_base::{Addr, Duration};
use redpoll_lowpan::{RedConfig, mss_for_frames};
use redpoll_mac::security::{Key, SecurityLevel};
use redpoll_mac::{DutyConfig, Ifs, Promised};
use redpoll_rivals::blip::BlipConfig;
use redpoll_rivals::linux::LinuxConfig;
use redpoll_rivals::uip::UipConfig;
use redpoll_stack::PollConfig;
use redpoll_tcp::{CongestionChoice, EcnUse};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use super::routing::Routing;
use crate::medium::{LinkSource, NoiseSource, RadioSpec};
use crate::{energy, fault, medium, radio};

/// The most connections of a node, those for forwards included: a connection's index
/// has eight bits, and the tables are walked with one more step than they are long.
pub const CONNECTIONS_MAX: u16 = 254;

/// A mesh, its radio conditions, its traffic and how long to run it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name, as in results; the file's stem unless `name` is set.
    pub name: String,
    /// Virtual time to simulate; `redpoll up` ignores it.
    pub duration: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// How radio waves travel.
    pub medium: medium::Config,
    /// The radio chip, the same in every node.
    pub radio: radio::Config,
    /// IEEE 802.15.4 MAC parameters.
    pub mac: MacParams,
    /// How sleepy nodes and their parents go about it.
    pub sleepy: SleepyParams,
    /// What processors and batteries are like.
    pub energy: energy::Params,
    /// 6LoWPAN parameters.
    pub lowpan: LowpanParams,
    /// Transport parameters.
    pub tcp: TcpParams,
    /// Where routes come from.
    pub routing: Routing,
    /// Routers drop what they have passed on already, as uIP's.
    pub uip_forwarding: bool,
    /// Routers that keep copies of segments.
    pub cache: Option<CacheParams>,
    /// Nodes with firmware of others.
    pub modules: ModuleParams,
    /// How frames are protected, if they are.
    pub security: Option<SecurityParams>,
    /// Nodes that run elsewhere.
    pub external: ExternalParams,
    /// Where the mesh meets the rest of the world.
    pub border: BorderParams,
    /// The nodes, in the order of their short addresses.
    pub nodes: Vec<NodeSpec>,
    /// The host behind the border router, where the run simulates it: it has
    /// apps. Its index is that after the last node's.
    pub host: Option<NodeSpec>,
    /// Where the links come from: positions and the medium, a list, or
    /// measurements.
    pub links: LinkSource,
    /// What noise is taken from, in the SINR medium; `None`: it is constant.
    pub noise: Option<NoiseSource>,
    /// Each node's clock is wrong by a share drawn evenly between minus and plus
    /// this, in millionths.
    pub clock_drift_ppm: f64,
    /// Who else is on the air.
    pub interferers: Vec<medium::Interferer>,
    /// What is to go wrong, and when.
    pub faults: Vec<fault::Spec>,
    /// The files on disk that all this was read from, the scenario's own first.
    pub files: Vec<PathBuf>,
}

/// IEEE 802.15.4 MAC parameters, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MacParams {
    /// PAN identifier.
    pub pan_id: u16,
    /// Frames carry EUI-64s, not short addresses.
    pub extended: bool,
    /// Retries after the first transmission (macMaxFrameRetries).
    pub max_frame_retries: u8,
    /// macMinBE.
    pub min_be: u8,
    /// macMaxBE.
    pub max_be: u8,
    /// macMaxCSMABackoffs.
    pub max_csma_backoffs: u8,
    /// How the interframe space is kept.
    pub ifs: Ifs,
    /// d: after a failed transmission wait a time drawn evenly from zero to
    /// this, in addition to the next CSMA backoff.
    pub link_retry_delay: Duration,
    /// A constant part of that wait.
    pub link_retry_pause: Duration,
    /// The receiver is off during backoffs.
    pub deaf_backoff: bool,
    /// Bytes of link security in each frame.
    pub security_bytes: u8,
    /// How frames go out that the frame before them promised.
    pub promised: Promised,
    /// How nodes save radio time, if they do.
    pub duty: Option<DutyParams>,
}

/// Link-layer security, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityParams {
    /// What is sent, and the least that is taken.
    pub level: SecurityLevel,
    /// The network's key, which is not printed.
    pub key: Key,
    /// Frame counters that are reserved at a time.
    pub counter_stretch: u32,
    /// Neighbours whose frame counters a node remembers.
    pub neighbours: u8,
}

/// The key of a node. It is not printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NodeKey {
    /// The network's.
    Network,
    /// Another one.
    Own([u8; 16]),
    /// None: its frames are not protected, nor are others opened.
    None,
}

impl std::fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NodeKey::Network => "Network",
            NodeKey::Own(_) => "Own",
            NodeKey::None => "None",
        })
    }
}

/// The six bytes before the short address in the EUI-64 of every node of ours.
pub const EUI64_PREFIX: [u8; 6] = [0x02, 0x72, 0x70, 0, 0, 0];

/// A duty-cycled MAC, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DutyParams {
    /// Method, release and rate.
    pub config: DutyConfig,
    /// The border router's receiver is always on.
    pub border_stays_awake: bool,
    /// Radios pass on frames for other nodes.
    pub overhears: bool,
}

/// Sleepy nodes and their parents, the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SleepyParams {
    /// When sleepy nodes ask.
    pub poll: PollConfig,
    /// How long a datagram waits for a sleepy node.
    pub persistence: Duration,
    /// Datagrams that wait for one sleepy node.
    pub limit: u8,
    /// Link retries of frames to sleepy nodes and of data requests.
    pub retries: u8,
    /// d for those.
    pub retry_delay: Duration,
    /// Requests in vain that end a datagram.
    pub polls: u8,
    /// Everything that waits follows one request.
    pub burst: bool,
    /// Frames make way for those to a node that listens.
    pub preempt: bool,
    /// Failures in a row that end a parent's service.
    pub parent_failures: u8,
}

/// 6LoWPAN parameters, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LowpanParams {
    /// How long an incomplete datagram may wait for its next fragment.
    pub reassembly_timeout: Duration,
    /// Datagram slots: reassembly, forwarding and local packets share them.
    pub slots: u8,
    /// Bytes of one datagram slot.
    pub slot_bytes: u16,
    /// Packets that IPv6 has cut are put together by the node they are for.
    pub join_fragments: bool,
    /// The rest of a datagram is dropped once one frame is lost.
    pub drop_rest: bool,
    /// All fragments but the last promise another.
    pub fragment_pending: bool,
    /// The last fragment of a sleepy node's segment promises the next segment.
    pub segment_pending: bool,
    /// Fragments that wait at most in a router that forwards them as they come;
    /// `None`: routers reassemble.
    pub forwarded_fragments: Option<u8>,
    /// Fragments are recovered one by one; only if they are forwarded so.
    pub recovery: Option<RecoveryParams>,
    /// How long a datagram's next fragment waits if routers forward so.
    pub fragment_gap: Duration,
    /// Pause for each frame of a datagram that its addressee forwards.
    pub pause: Duration,
    /// Random early detection.
    pub red: Option<RedConfig>,
}

/// Selective fragment recovery, by the names of RFC 8931 §7.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryParams {
    /// Window_Size.
    pub window: u8,
    /// OptARQTimeOut.
    pub arq_timeout: Duration,
    /// MinARQTimeOut.
    pub arq_timeout_min: Option<Duration>,
    /// MaxFragRetries.
    pub fragment_retries: u8,
    /// MaxDatagramRetries.
    pub datagram_retries: u8,
}

/// How large a full segment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mss {
    /// As much payload as surely fits into this many full frames.
    Frames(u8),
    /// So many bytes of payload.
    Bytes(u16),
}

/// Transport parameters, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpParams {
    /// Payload of a full segment.
    pub mss: Mss,
    /// Bytes of the longest compressed IPv6 header: 13 where nothing leaves
    /// the mesh, else 27; with RPL its packet information, 8 bytes, behind it.
    pub compressed_header_max: u16,
    /// Bytes of the send buffer of a connection.
    pub send_buffer: u32,
    /// Bytes of the receive buffer of a connection: its largest window.
    pub receive_buffer: u32,
    /// Nagle's algorithm (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// The timestamps option (RFC 7323).
    pub timestamps: bool,
    /// How long an acknowledgment may wait (RFC 9293 §3.8.6.3); zero sends
    /// every one at once.
    pub delayed_ack: Duration,
    /// An acknowledgment at the latest at every so many full segments.
    pub ack_every: u8,
    /// RTO before the first sample (RFC 6298 §2.1).
    pub initial_rto: Duration,
    /// Lower bound of the RTO (RFC 6298 §2.4).
    pub min_rto: Duration,
    /// Upper bound of the RTO (RFC 6298 §2.5).
    pub max_rto: Duration,
    /// Retransmissions of one segment before the connection fails.
    pub max_retries: u8,
    /// Retransmissions of a SYN before the attempt fails.
    pub syn_retries: u8,
    /// Keepalive probes; `None` is off.
    pub keepalive: Option<Keepalive>,
    /// How long TIME-WAIT lasts (twice the MSL).
    pub time_wait: Duration,
    /// Servers whose Fast Open a node remembers (RFC 7413 §4.1.3). No key: no app of a
    /// scenario opens with data.
    pub fast_open_servers: u8,
    /// Offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Who asks for explicit congestion notification (RFC 3168).
    pub ecn: EcnUse,
    /// Which congestion control.
    pub congestion: CongestionChoice,
    /// Which mechanisms find and repair losses.
    pub repair: LossRepair,
    /// Added to every estimated retransmission timeout.
    pub rto_margin: Duration,
    /// TCP hears that the link has given a segment up.
    pub link_feedback: bool,
    /// Segments are made as soon as TCP may send, and wait in slots.
    pub queue_window: bool,
    /// Bytes that a frame carries behind its MAC header.
    pub frame_payload: u16,
}

/// Which mechanisms find and repair losses. Without any of them three duplicates and the
/// timer do (RFC 6582, 6675), as in FreeBSD 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossRepair {
    /// Loss detection by time (RFC 8985).
    pub rack: bool,
    /// Tail loss probes (RFC 8985 §7), with `rack` alone.
    pub tail_probes: bool,
    /// Proportional rate reduction (RFC 9937).
    pub prr: bool,
    /// Doubts about a timeout (RFC 5682).
    pub f_rto: bool,
}

/// Keepalive probes (RFC 9293 §3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Unanswered probes before the connection fails.
    pub count: u8,
}

/// The longest compressed IPv6 header between two nodes of the mesh, in bytes
/// (RFC 6282 §3.1): encoding 2, contexts 1, traffic class and flow label 4, next
/// header 1, hop limit 1, and of either address the last two bytes.
pub const HEADER_MAX_INSIDE: u16 = 13;
/// That of a packet whose other end is outside: one of the addresses in full.
pub const HEADER_MAX_OUTSIDE: u16 = 27;
/// Bytes of the TCP header without options.
const TCP_HEADER: u16 = 20;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u16 = 12;

impl TcpParams {
    /// Payload bytes of a full segment.
    ///
    /// For [`Mss::Frames`] it is what fits whatever a header of the mesh takes,
    /// compressed to [`compressed_header_max`](Self::compressed_header_max)
    /// bytes at worst.
    pub fn payload_bytes(&self) -> u16 {
        match self.mss {
            Mss::Bytes(bytes) => bytes,
            Mss::Frames(n) => {
                let header_max = usize::from(self.compressed_header_max);
                let capacity = usize::from(self.frame_payload);
                let beside_timestamps = mss_for_frames(n.max(1), header_max, capacity);
                beside_timestamps + TIMESTAMPS - self.options_bytes()
            }
        }
    }

    /// Bytes of the IPv6 packet, not compressed, that carries a full segment.
    pub fn packet_bytes(&self) -> u16 {
        const IPV6_HEADER: u16 = 40;
        let headers = IPV6_HEADER + TCP_HEADER;
        headers.saturating_add(self.announced_mss())
    }

    /// The value of the MSS option: payload and options, without the fixed
    /// header (RFC 6691 §2), so that a full segment carries
    /// [`payload_bytes`](Self::payload_bytes).
    pub fn announced_mss(&self) -> u16 {
        self.payload_bytes().saturating_add(self.options_bytes())
    }

    fn options_bytes(&self) -> u16 {
        if self.timestamps { TIMESTAMPS } else { 0 }
    }
}

/// Where the mesh meets the rest of the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BorderParams {
    /// The mesh's /64 prefix; 6LoWPAN context 0.
    pub prefix: Addr,
    /// The address of the host behind the border router: what `host` means in
    /// an app's `to`.
    pub host: Addr,
    /// How long a packet takes between the border router and a simulated host.
    pub host_delay: Duration,
    /// Packets from the host that wait at most until the border router has room.
    pub queue: usize,
    /// TAiM between mesh and host.
    pub taim: Option<TaimParams>,
    /// A serial line between the border router's radio and its host side.
    pub serial: Option<SerialParams>,
}

/// A serial line between a mote and a computer, which together are the border router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SerialParams {
    /// Bits a second; ten carry a byte.
    pub rate: u32,
    /// How long the mote has to do with a packet before it can take the next one.
    pub turn: Duration,
}

/// TAiM at the border router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaimParams {
    /// How it decides.
    pub params: redpoll_assist::taim::Params,
    /// Flows that there is room for.
    pub flows: u16,
    /// Packets that may wait.
    pub packets: u16,
}

/// Copies of segments in routers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheParams {
    /// The nodes that have them.
    pub on: Vec<usize>,
    /// How they decide.
    pub params: redpoll_assist::cache::Params,
    /// Connections that each has room for.
    pub flows: u16,
    /// Segments that each has room for.
    pub packets: u16,
    /// Bytes of the longest packet of those.
    pub packet_bytes: u16,
}

/// What a node is to the mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Joins the mesh to the host, and forwards.
    Border,
    /// Forwards for others.
    Router,
    /// Does not forward.
    Leaf,
}

impl Role {
    /// The word for it in a scenario.
    pub const fn word(self) -> &'static str {
        match self {
            Role::Border => "border",
            Role::Router => "router",
            Role::Leaf => "leaf",
        }
    }
}

/// Which TCP a node has.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum TransportSpec {
    /// Redpoll's own.
    #[default]
    Redpoll,
    /// One unacknowledged segment a connection, as uIP's.
    Uip(UipConfig),
    /// BLIP's.
    Blip {
        /// What can be chosen of it.
        config: BlipConfig,
        /// Bytes of a connection's transmit buffer.
        buffer: u16,
    },
    /// One that behaves as Linux's.
    Linux {
        /// What can be chosen of it.
        config: LinuxConfig,
        /// Bytes of a connection's send buffer, and of its receive buffer.
        buffer: u16,
    },
}

/// Nodes with firmware of others, the same for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModuleParams {
    /// How long one waits between two looks at what it waits for.
    pub quantum: Duration,
    /// How long one may run without waiting for anything, in real time.
    pub patience: std::time::Duration,
}

/// Nodes that run elsewhere, the same for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExternalParams {
    /// How long one may leave a request without an answer, in real time.
    pub patience: std::time::Duration,
}

/// One node.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeSpec {
    /// Unique name, as in results.
    pub name: String,
    /// Short address, 1 to 0xfffd.
    pub short: u16,
    /// Extended address, big-endian as it is printed.
    pub eui64: [u8; 8],
    /// Where it stands, in metres.
    pub position_m: (f64, f64),
    /// What it is to the mesh.
    pub role: Role,
    /// Sleeps between its frames; a leaf.
    pub sleepy: bool,
    /// The file of its firmware, if that is not ours.
    pub module: Option<PathBuf>,
    /// The address of the stream of bytes to it, if it runs elsewhere.
    pub line: Option<String>,
    /// What sets its radio apart.
    pub radio: RadioSpec,
    /// By how much its clock is fast, in millionths; `None`: drawn.
    pub drift_ppm: Option<f64>,
    /// Its key.
    pub key: NodeKey,
    /// Which TCP it has.
    pub transport: TransportSpec,
    /// Connections that it has memory for.
    pub connections: u16,
    /// Connections beside those, which its apps' peers cannot take: for ports of a
    /// host that are forwarded through it.
    pub forwards: u16,
    /// What runs on it.
    pub apps: Vec<AppSpec>,
}

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
    /// The same with Q-Block1 (RFC 9177): many blocks at a time.
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
    /// The same with CoCoA's timeouts.
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
    /// A node: index into [`Scenario::nodes`].
    Node(usize),
    /// The host behind the border router, or an address beyond it.
    Outside,
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
    fn serves(&self, sender: &AppKind) -> bool {
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
    pub const fn word(&self) -> &'static str {
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

impl Scenario {
    /// The global address of node `index`: the prefix and the interface
    /// identifier made of its link-layer address (RFC 4944 §6).
    ///
    /// Of the simulated host, its own.
    pub fn address(&self, index: usize) -> Option<Addr> {
        if Some(index) == self.host_index() {
            return Some(self.border.host);
        }
        let iid = addr::iid_of(self.link_address(index)?)?;
        Some(addr::from_prefix_and_iid(&self.border.prefix, iid))
    }

    /// The link-layer address of node `index`.
    pub fn link_address(&self, index: usize) -> Option<Address> {
        let node = self.nodes.get(index)?;
        Some(match self.mac.extended {
            true => Address::Extended(node.eui64),
            false => Address::Short(node.short),
        })
    }

    /// The index of the simulated host, if there is one.
    pub fn host_index(&self) -> Option<usize> {
        self.host.as_ref().map(|_| self.nodes.len())
    }

    /// All nodes and behind them the simulated host: whatever has apps.
    pub fn places(&self) -> impl Iterator<Item = &NodeSpec> {
        self.nodes.iter().chain(&self.host)
    }

    /// The same, to be changed.
    pub fn places_mut(&mut self) -> impl Iterator<Item = &mut NodeSpec> {
        self.nodes.iter_mut().chain(&mut self.host)
    }

    /// The node, or the simulated host, with this index.
    pub fn place(&self, index: usize) -> Option<&NodeSpec> {
        self.places().nth(index)
    }

    /// The index of what stands at `target`'s end, if it is simulated.
    pub fn index_of(&self, target: &Target) -> Option<usize> {
        match target.host {
            TargetHost::Node(index) => Some(index),
            TargetHost::Outside if target.addr == self.border.host => self.host_index(),
            TargetHost::Outside => None,
        }
    }

    /// Whether an app that sends has somebody at the far end in virtual time.
    pub fn is_served(&self, app: &AppSpec) -> bool {
        let Some(target) = app.kind.target() else {
            return true;
        };
        let far = self.index_of(target).and_then(|index| self.place(index));
        far.is_some_and(|far| {
            if far.module.is_some() || far.line.is_some() {
                // What its firmware takes is not for us to say.
                return true;
            }
            let counts_by_itself = matches!(app.kind, AppKind::Sensor(sensor)
                if sensor.transport.is_udp() && !sensor.transport.is_coap());
            counts_by_itself || far.apps.iter().any(|other| other.kind.serves(&app.kind))
        })
    }

    /// The index of the node called `name`.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// The border router, if the scenario has one.
    pub fn border_router(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.role == Role::Border)
    }
}

/// `prefix` (its first 64 bits) with the interface identifier
/// `0000:00ff:fe00:SSSS` of a short address (RFC 4944 §6, RFC 6282 §3.2.2).
pub fn global_address(prefix: &Addr, short: u16) -> Addr {
    let [high, low] = short.to_be_bytes();
    let [p0, p1, p2, p3, p4, p5, p6, p7, ..] = prefix.0;
    Addr([
        p0, p1, p2, p3, p4, p5, p6, p7, 0, 0, 0, 0xff, 0xfe, 0, high, low,
    ])
}
