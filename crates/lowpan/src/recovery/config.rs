//! The parameters, memory and counters of selective fragment recovery.

use redpoll_base::{Duration, Memory};

use super::{Incoming, Outgoing, SwitchedPath};

/// Parameters of selective fragment recovery, by their names in RFC 8931 §7.1.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecoveryConfig {
    /// Window_Size: number of fragments in a window, 1 to 32. The last fragment of each window
    /// requests an acknowledgment. Default 32: the whole datagram is one window.
    pub window: u8,
    /// MinFragmentSize in bytes: if frames carry less, plain fragments are sent. Default 40.
    pub min_fragment: u16,
    /// MaxFragmentSize and OptFragmentSize in bytes, at most 511, the default. A frame may carry
    /// less.
    pub max_fragment: u16,
    /// MinARQTimeOut: shortest wait for an acknowledgment. The RFC gives no value, but requires
    /// more than the longest round trip. `None`, the default, means 9/8 of the longest recent round
    /// trip, whatever the number of hops, and at least 100 ms.
    pub arq_timeout_min: Option<Duration>,
    /// OptARQTimeOut: wait for an acknowledgment while no round trip is known. Default 500 ms.
    pub arq_timeout: Duration,
    /// MaxARQTimeOut: longest wait for an acknowledgment. Default 2 s.
    pub arq_timeout_max: Duration,
    /// MaxFragRetries: number of rounds that retransmit fragments of a datagram. Default 3.
    pub fragment_retries: u8,
    /// MaxDatagramRetries: number of restarts of a datagram. Default 1.
    pub datagram_retries: u8,
    /// UseECN: whether congestion reduces the window of a datagram to one fragment. Default true.
    pub use_ecn: bool,
    /// Lifetime of the record of a complete datagram, whose repeated fragments are acknowledged
    /// again. The RFC suggests a round trip; the lifetime must exceed the sender's timeouts.
    /// Default 2 s.
    pub linger: Duration,
}

impl RecoveryConfig {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        RecoveryConfig {
            window: 32,
            min_fragment: 40,
            max_fragment: LARGEST,
            arq_timeout_min: None,
            arq_timeout: Duration::from_millis(500),
            arq_timeout_max: Duration::from_secs(2),
            fragment_retries: 3,
            datagram_retries: 1,
            use_ecn: true,
            linger: Duration::from_secs(2),
        }
    }
}

/// RFC 8931 §7.1: MaxFragmentSize "MUST be less than 512".
pub(super) const LARGEST: u16 = 511;

/// The memory of selective fragment recovery; at most 254 entries of each table are used.
pub struct RecoveryMemory<M: Memory> {
    /// One entry for each datagram that this node is sending, filled with [`Outgoing::EMPTY`].
    pub outgoing: M::Table<Outgoing>,
    /// One entry for each datagram that is arriving or has recently arrived, filled with
    /// [`Incoming::EMPTY`].
    pub incoming: M::Table<Incoming>,
    /// One entry for each datagram in transit, filled with [`SwitchedPath::EMPTY`].
    pub paths: M::Table<SwitchedPath>,
}

/// Counters of recovery. They wrap after 2³² events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryCounters {
    /// Datagrams sent in recoverable fragments.
    pub datagrams: u32,
    /// Retransmitted fragments.
    pub repeated: u32,
    /// Restarted datagrams.
    pub restarted: u32,
    /// Acknowledgments sent or forwarded.
    pub acknowledgments: u32,
    /// Refusals of datagrams, including refusals that were not sent.
    pub refused: u32,
    /// Expired waits for an acknowledgment.
    pub timeouts: u32,
    /// Acknowledgments that reported congestion.
    pub congested: u32,
    /// Mean recent round trip in microseconds, from the end of a fragment that requests an
    /// acknowledgment until the acknowledgment arrives. Zero before the first sample.
    pub round_trip_us: u32,
    /// Longest round trip since the start, in microseconds.
    pub longest_round_trip_us: u32,
}
