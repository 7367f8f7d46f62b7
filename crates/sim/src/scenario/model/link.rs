//! The MAC, its security, sleepy nodes and 6LoWPAN.

use redpoll_base::Duration;
use redpoll_lowpan::RedConfig;
use redpoll_mac::security::{Key, SecurityLevel};
use redpoll_mac::{Ifs, Promised};
use redpoll_replay::DutyConfig;
use redpoll_stack::PollConfig;

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
    /// Backoffs are those of TinyOS's driver for the CC2420.
    pub tinyos_backoff: bool,
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
