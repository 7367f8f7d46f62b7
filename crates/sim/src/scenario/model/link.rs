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
    pub pan_id: u16,
    /// Whether frames carry EUI-64s instead of short addresses.
    pub extended: bool,
    /// Retries after the first transmission (macMaxFrameRetries).
    pub max_frame_retries: u8,
    pub min_be: u8,
    pub max_be: u8,
    pub max_csma_backoffs: u8,
    /// Whether backoffs follow TinyOS's driver for the CC2420.
    pub tinyos_backoff: bool,
    pub ifs: Ifs,
    /// Upper bound of the random wait after a failed transmission, in addition to the next CSMA
    /// backoff (`d` of Kumar et al.).
    pub link_retry_delay: Duration,
    /// Constant part of the wait after a failed transmission.
    pub link_retry_pause: Duration,
    /// Whether the receiver is off during backoffs.
    pub deaf_backoff: bool,
    pub security_bytes: u8,
    /// Channel access of frames that the previous frame announced with its frame pending bit.
    pub promised: Promised,
    pub duty: Option<DutyParams>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityParams {
    /// Level of sent frames, and lowest level of accepted frames.
    pub level: SecurityLevel,
    /// The network's key. It is not printed.
    pub key: Key,
    /// Frame counters reserved in flash at a time.
    pub counter_stretch: u32,
    /// Number of neighbours whose frame counters a node remembers.
    pub neighbours: u8,
}

/// Key of a node. It is not printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NodeKey {
    Network,
    Own([u8; 16]),
    /// The node has no key: its frames are unsecured, and it cannot open secured frames.
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
    /// Method, Contiki release, check rate and options.
    pub config: DutyConfig,
    /// Whether the border router's receiver is always on.
    pub border_stays_awake: bool,
    /// Whether radios report frames for other nodes.
    pub overhears: bool,
}

/// Parameters of sleepy nodes and their parents, the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SleepyParams {
    pub poll: PollConfig,
    /// Longest time for which a datagram waits for a sleepy node.
    pub persistence: Duration,
    /// Maximum number of datagrams that wait for one sleepy node.
    pub limit: u8,
    /// Link retries of frames to sleepy nodes and of data requests.
    pub retries: u8,
    /// Upper bound of the random wait before each of the link `retries`.
    pub retry_delay: Duration,
    /// Unsuccessful data requests after which a datagram is dropped.
    pub polls: u8,
    /// Whether one data request fetches all waiting datagrams.
    pub burst: bool,
    /// Whether a frame for a listening sleepy node preempts a frame that waits for its next
    /// attempt.
    pub preempt: bool,
    /// Consecutive unacknowledged frames and data requests after which a node leaves its parent.
    pub parent_failures: u8,
}

/// 6LoWPAN parameters, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LowpanParams {
    /// Longest time for which an incomplete datagram waits for its next fragment.
    pub reassembly_timeout: Duration,
    /// Datagram slots, shared by reassembly, forwarding and local packets.
    pub slots: u8,
    pub slot_bytes: u16,
    /// Whether the destination reassembles packets that IPv6 has fragmented.
    pub join_fragments: bool,
    /// Whether the rest of a datagram is dropped after one frame is lost.
    pub drop_rest: bool,
    pub fragment_pending: bool,
    /// Whether the last fragment of a sleepy node's segment announces the next segment.
    pub segment_pending: bool,
    /// Maximum number of fragments that wait in a router which forwards them individually; `None`:
    /// routers reassemble.
    pub forwarded_fragments: Option<u8>,
    /// Selective recovery of fragments, only if routers forward them individually.
    pub recovery: Option<RecoveryParams>,
    /// Pause between two fragments of a datagram if routers forward fragments individually.
    pub fragment_gap: Duration,
    /// Pause after a datagram that the next hop forwards, per frame of the datagram.
    pub pause: Duration,
    /// Random early detection.
    pub red: Option<RedConfig>,
}

/// Selective fragment recovery, by the names of RFC 8931 §7.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryParams {
    pub window: u8,
    /// OptARQTimeOut.
    pub arq_timeout: Duration,
    pub arq_timeout_min: Option<Duration>,
    pub fragment_retries: u8,
    pub datagram_retries: u8,
}
